package dev.firn.engine.cli;

import java.net.URI;
import java.nio.file.Path;
import java.util.HashMap;
import java.util.Map;
import java.util.Properties;
import org.apache.hadoop.conf.Configuration;
import org.apache.iceberg.CatalogUtil;
import org.apache.iceberg.catalog.Catalog;
import org.apache.iceberg.rest.RESTCatalogAdapter;
import org.apache.iceberg.rest.RESTCatalogServlet;
import org.eclipse.jetty.ee10.servlet.ServletContextHandler;
import org.eclipse.jetty.ee10.servlet.ServletHolder;
import org.eclipse.jetty.server.Server;
import org.eclipse.jetty.server.ServerConnector;
import org.gaul.s3proxy.BlobStores;
import org.gaul.s3proxy.S3Proxy;
import software.amazon.awssdk.auth.credentials.AwsBasicCredentials;
import software.amazon.awssdk.auth.credentials.StaticCredentialsProvider;
import software.amazon.awssdk.regions.Region;
import software.amazon.awssdk.services.s3.S3Client;

/** An S3 server and a REST catalog over it, on loopback, as users have them. */
final class LoopbackServers implements AutoCloseable {
  static final String BUCKET = "lake-warehouse";
  private static final String KEY = "lab-key";
  private static final String SECRET = "lab-secret";

  private final S3Proxy s3;
  private final Server rest;
  private final ServerConnector connector;

  LoopbackServers(Path directory) throws Exception {
    Properties properties = new Properties();
    properties.setProperty("s3proxy.endpoint", "http://127.0.0.1:0");
    properties.setProperty("s3proxy.authorization", "aws-v2-or-v4");
    properties.setProperty("s3proxy.identity", KEY);
    properties.setProperty("s3proxy.credential", SECRET);
    properties.setProperty("jclouds.filesystem.basedir", directory.toString());
    s3 =
        S3Proxy.Builder.fromProperties(properties)
            .blobStore(BlobStores.create("filesystem-nio2", properties))
            .ignoreUnknownHeaders(true)
            .build();
    s3.start();
    while (!s3.getState().equals("STARTED")) {
      Thread.sleep(5);
    }
    try (S3Client client =
        S3Client.builder()
            .endpointOverride(URI.create("http://127.0.0.1:" + s3.getPort()))
            .region(Region.US_EAST_1)
            .forcePathStyle(true)
            .credentialsProvider(
                StaticCredentialsProvider.create(AwsBasicCredentials.create(KEY, SECRET)))
            .build()) {
      client.createBucket(b -> b.bucket(BUCKET));
    }
    Map<String, String> backend = new HashMap<>(fileIoProperties());
    backend.put("catalog-impl", "org.apache.iceberg.jdbc.JdbcCatalog");
    backend.put("uri", "jdbc:sqlite:" + directory.resolve("rest-catalog.db"));
    backend.put("jdbc.schema-version", "V1");
    backend.put("warehouse", "s3://" + BUCKET + "/wh");
    Catalog catalog = CatalogUtil.buildIcebergCatalog("backend", backend, new Configuration());
    ServletContextHandler context = new ServletContextHandler(ServletContextHandler.NO_SESSIONS);
    context.addServlet(
        new ServletHolder(new RESTCatalogServlet(new RESTCatalogAdapter(catalog))), "/*");
    rest = new Server();
    connector = new ServerConnector(rest);
    connector.setHost("127.0.0.1");
    rest.addConnector(connector);
    rest.setHandler(context);
    rest.start();
  }

  String restUri() {
    return "http://127.0.0.1:" + connector.getLocalPort();
  }

  /** What S3FileIO needs to reach the server. */
  Map<String, String> fileIoProperties() {
    return Map.of(
        "io-impl",
        "org.apache.iceberg.aws.s3.S3FileIO",
        "s3.endpoint",
        "http://127.0.0.1:" + s3.getPort(),
        "s3.path-style-access",
        "true",
        "s3.access-key-id",
        KEY,
        "s3.secret-access-key",
        SECRET,
        "client.region",
        "us-east-1");
  }

  @Override
  public void close() throws Exception {
    rest.stop();
    s3.stop();
  }
}
