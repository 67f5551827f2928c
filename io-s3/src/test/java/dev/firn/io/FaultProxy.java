package dev.firn.io;

import java.io.BufferedInputStream;
import java.io.ByteArrayOutputStream;
import java.io.EOFException;
import java.io.IOException;
import java.io.InputStream;
import java.io.OutputStream;
import java.net.InetAddress;
import java.net.ServerSocket;
import java.net.Socket;
import java.nio.charset.StandardCharsets;
import java.util.List;
import java.util.Locale;
import java.util.concurrent.CopyOnWriteArrayList;
import java.util.concurrent.atomic.AtomicInteger;

/** Stands before an HTTP server on loopback and spoils answers on demand. */
final class FaultProxy implements AutoCloseable {

  /** One request as it came in. */
  record Request(int number, String head) {
    String header(String name) {
      return head.lines()
          .filter(l -> l.toLowerCase(Locale.ROOT).startsWith(name.toLowerCase(Locale.ROOT) + ":"))
          .map(l -> l.substring(name.length() + 1).trim())
          .findFirst()
          .orElse("");
    }

    String range() {
      return header("Range");
    }
  }

  /** Decides on a request; may block. */
  interface Fault {
    Answer on(Request request) throws Exception;
  }

  sealed interface Answer {
    /** The server's answer, its body cut off after some bytes. */
    record Pass(long bytesMax, String eTag) implements Answer {}

    /** An answer of the proxy's own. */
    record Own(int status, String headers, byte[] body) implements Answer {}

    static Answer pass() {
      return new Pass(Long.MAX_VALUE, "");
    }

    static Answer cutAfter(long bytes) {
      return new Pass(bytes, "");
    }

    static Answer passWithTag(String eTag) {
      return new Pass(Long.MAX_VALUE, eTag);
    }

    static Answer error(int status, String code) {
      return new Own(
          status,
          "Content-Type: application/xml\r\n",
          ("<?xml version=\"1.0\"?><Error><Code>"
                  + code
                  + "</Code><Message>told to</Message></Error>")
              .getBytes(StandardCharsets.UTF_8));
    }
  }

  private final ServerSocket server;
  private final int backend;
  private volatile Fault fault = request -> Answer.pass();
  private final AtomicInteger number = new AtomicInteger();
  private final AtomicInteger inFlight = new AtomicInteger();
  final AtomicInteger inFlightMost = new AtomicInteger();
  final List<Request> requests = new CopyOnWriteArrayList<>();

  FaultProxy(int backend) throws IOException {
    this.backend = backend;
    server = new ServerSocket(0, 200, InetAddress.getLoopbackAddress());
    Thread acceptor = new Thread(this::accept, "fault-proxy");
    acceptor.setDaemon(true);
    acceptor.start();
  }

  int port() {
    return server.getLocalPort();
  }

  FaultProxy with(Fault newFault) {
    fault = newFault;
    return this;
  }

  private void accept() {
    while (!server.isClosed()) {
      try {
        Socket client = server.accept();
        Thread worker = new Thread(() -> serve(client), "fault-proxy-connection");
        worker.setDaemon(true);
        worker.start();
      } catch (IOException e) {
        return;
      }
    }
  }

  private void serve(Socket client) {
    try (client;
        InputStream in = new BufferedInputStream(client.getInputStream());
        OutputStream out = client.getOutputStream()) {
      Request request = new Request(number.incrementAndGet(), head(in));
      requests.add(request);
      inFlightMost.accumulateAndGet(inFlight.incrementAndGet(), Math::max);
      try {
        answer(fault.on(request), request, out);
      } finally {
        inFlight.decrementAndGet();
      }
    } catch (Exception e) {
      // The client went away, which is its right.
    }
  }

  private void answer(Answer answer, Request request, OutputStream out) throws IOException {
    if (answer instanceof Answer.Own own) {
      String head =
          "HTTP/1.1 "
              + own.status()
              + " X\r\nConnection: close\r\nContent-Length: "
              + own.body().length
              + "\r\n"
              + own.headers()
              + "\r\n";
      out.write(head.getBytes(StandardCharsets.ISO_8859_1));
      out.write(own.body());
      out.flush();
    } else if (answer instanceof Answer.Pass pass) {
      try (Socket socket = new Socket(InetAddress.getLoopbackAddress(), backend);
          InputStream from = new BufferedInputStream(socket.getInputStream())) {
        OutputStream to = socket.getOutputStream();
        to.write((request.head() + "\r\n").getBytes(StandardCharsets.ISO_8859_1));
        to.flush();
        String head = head(from);
        if (!pass.eTag().isEmpty()) {
          head = head.replaceFirst("(?i)etag: [^\r]*", "ETag: " + pass.eTag());
        }
        long length = Long.parseLong(new Request(0, head).header("Content-Length"));
        String own = head.replaceFirst("(?i)\r\nconnection: [^\r]*", "") + "Connection: close\r\n";
        out.write((own + "\r\n").getBytes(StandardCharsets.ISO_8859_1));
        byte[] buffer = new byte[8192];
        for (long left = Math.min(length, pass.bytesMax()); left > 0; ) {
          int count = from.read(buffer, 0, (int) Math.min(buffer.length, left));
          if (count < 0) {
            break;
          }
          out.write(buffer, 0, count);
          left -= count;
        }
        out.flush();
      }
    }
  }

  /** The head of a message, each line with its end, without the empty line. */
  private static String head(InputStream in) throws IOException {
    ByteArrayOutputStream bytes = new ByteArrayOutputStream();
    int state = 0;
    while (state < 4) {
      int b = in.read();
      if (b < 0) {
        throw new EOFException();
      }
      bytes.write(b);
      state = b == (state % 2 == 0 ? '\r' : '\n') ? state + 1 : b == '\r' ? 1 : 0;
    }
    String all = bytes.toString(StandardCharsets.ISO_8859_1);
    return all.substring(0, all.length() - 2);
  }

  @Override
  public void close() throws IOException {
    server.close();
  }
}
