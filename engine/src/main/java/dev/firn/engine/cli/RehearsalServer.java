package dev.firn.engine.cli;

import com.sun.net.httpserver.HttpExchange;
import com.sun.net.httpserver.HttpServer;
import java.io.ByteArrayOutputStream;
import java.io.IOException;
import java.io.InputStream;
import java.net.InetAddress;
import java.net.InetSocketAddress;
import java.nio.charset.StandardCharsets;
import java.util.Arrays;
import java.util.Map;
import java.util.concurrent.ConcurrentHashMap;
import java.util.concurrent.ExecutorService;
import java.util.concurrent.Executors;

/**
 * An object store and a catalog for {@link Rehearsal}, as far as S3's and Iceberg's clients ask for
 * one: objects in memory, and one table. Closing it stops it.
 */
final class RehearsalServer implements AutoCloseable {
  private static final String CATALOG = "/v1/";

  private final Map<String, byte[]> objects = new ConcurrentHashMap<>();
  private final ExecutorService threads = Executors.newFixedThreadPool(2);
  private final HttpServer server;
  private volatile String table = "{}";

  private RehearsalServer(HttpServer server) {
    this.server = server;
  }

  static RehearsalServer start() throws IOException {
    RehearsalServer started =
        new RehearsalServer(
            HttpServer.create(new InetSocketAddress(InetAddress.getLoopbackAddress(), 0), 0));
    started.server.createContext("/", started::answer);
    started.server.setExecutor(started.threads);
    started.server.start();
    return started;
  }

  String uri() {
    return "http://127.0.0.1:" + server.getAddress().getPort();
  }

  /** What the catalog gives for every table, in JSON. */
  void table(String json) {
    table = json;
  }

  private void answer(HttpExchange exchange) throws IOException {
    try (exchange) {
      String path = exchange.getRequestURI().getPath();
      if (path.startsWith(CATALOG)) {
        answerAsCatalog(exchange, path);
      } else {
        answerAsStore(exchange, path);
      }
    }
  }

  private void answerAsCatalog(HttpExchange exchange, String path) throws IOException {
    if (path.endsWith("/config")) {
      send(exchange, 200, "{\"defaults\":{},\"overrides\":{}}".getBytes(StandardCharsets.UTF_8));
    } else if (exchange.getRequestMethod().equals("GET")) {
      send(exchange, 200, table.getBytes(StandardCharsets.UTF_8));
    } else {
      exchange.sendResponseHeaders(204, -1);
    }
  }

  private void answerAsStore(HttpExchange exchange, String path) throws IOException {
    byte[] object = objects.get(path);
    switch (exchange.getRequestMethod()) {
      case "PUT" -> {
        objects.put(path, body(exchange));
        exchange.getResponseHeaders().add("ETag", "\"0\"");
        exchange.sendResponseHeaders(200, -1);
      }
      case "DELETE" -> {
        objects.remove(path);
        exchange.sendResponseHeaders(204, -1);
      }
      case "POST" -> send(exchange, 200, "<DeleteResult/>".getBytes(StandardCharsets.UTF_8));
      default -> {
        exchange.getResponseHeaders().add("ETag", "\"0\"");
        if (object == null) {
          exchange.sendResponseHeaders(404, -1);
        } else if (exchange.getRequestMethod().equals("HEAD")) {
          exchange.getResponseHeaders().add("Content-Length", String.valueOf(object.length));
          exchange.sendResponseHeaders(200, -1);
        } else {
          get(exchange, object);
        }
      }
    }
  }

  private static void get(HttpExchange exchange, byte[] object) throws IOException {
    String range = exchange.getRequestHeaders().getFirst("Range");
    if (range == null) {
      send(exchange, 200, object);
      return;
    }
    String[] ends = range.substring("bytes=".length()).split("-", 2);
    int last = object.length - 1;
    int from = ends[0].isEmpty() ? object.length - Integer.parseInt(ends[1]) : number(ends[0]);
    int to = ends[0].isEmpty() || ends[1].isEmpty() ? last : Math.min(last, number(ends[1]));
    exchange
        .getResponseHeaders()
        .add("Content-Range", "bytes " + from + "-" + to + "/" + object.length);
    send(exchange, 206, Arrays.copyOfRange(object, from, to + 1));
  }

  private static int number(String text) {
    return (int) Long.parseLong(text);
  }

  private static void send(HttpExchange exchange, int status, byte[] body) throws IOException {
    exchange.sendResponseHeaders(status, body.length == 0 ? -1 : body.length);
    exchange.getResponseBody().write(body);
  }

  /** What was sent, out of the chunks that Amazon's client signs or sums up one by one. */
  private static byte[] body(HttpExchange exchange) throws IOException {
    try (InputStream in = exchange.getRequestBody()) {
      byte[] sent = in.readAllBytes();
      if (exchange.getRequestHeaders().getFirst("x-amz-decoded-content-length") == null) {
        return sent;
      }
      ByteArrayOutputStream body = new ByteArrayOutputStream();
      int at = 0;
      while (at < sent.length) {
        int end = at;
        while (sent[end] != '\r') {
          end++;
        }
        String header = new String(sent, at, end - at, StandardCharsets.US_ASCII);
        int length = Integer.parseInt(header.split(";", 2)[0], 16);
        if (length == 0) {
          break;
        }
        body.write(sent, end + 2, length);
        at = end + 2 + length + 2;
      }
      return body.toByteArray();
    }
  }

  @Override
  public void close() {
    server.stop(0);
    threads.shutdownNow();
  }
}
