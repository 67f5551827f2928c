package dev.firn.io;

import java.net.URI;
import java.nio.file.Path;
import java.util.HashMap;
import java.util.Map;
import java.util.Properties;
import org.gaul.s3proxy.BlobStores;
import org.gaul.s3proxy.S3Proxy;
import software.amazon.awssdk.auth.credentials.AwsBasicCredentials;
import software.amazon.awssdk.auth.credentials.StaticCredentialsProvider;
import software.amazon.awssdk.core.sync.RequestBody;
import software.amazon.awssdk.regions.Region;
import software.amazon.awssdk.services.s3.S3Client;

/** An S3 server on loopback that checks signatures, with its files in a directory. */
final class S3Server implements AutoCloseable {
  static final String KEY = "lab-key";
  static final String SECRET = "lab-secret";

  private final S3Proxy server;
  private final S3Client client;

  S3Server(Path directory, String... buckets) throws Exception {
    Properties properties = new Properties();
    properties.setProperty("s3proxy.endpoint", "http://127.0.0.1:0");
    properties.setProperty("s3proxy.authorization", "aws-v2-or-v4");
    properties.setProperty("s3proxy.identity", KEY);
    properties.setProperty("s3proxy.credential", SECRET);
    properties.setProperty("jclouds.filesystem.basedir", directory.toString());
    server =
        S3Proxy.Builder.fromProperties(properties)
            .blobStore(BlobStores.create("filesystem-nio2", properties))
            .ignoreUnknownHeaders(true)
            .build();
    server.start();
    while (!server.getState().equals("STARTED")) {
      Thread.sleep(5);
    }
    client =
        S3Client.builder()
            .endpointOverride(URI.create("http://127.0.0.1:" + port()))
            .region(Region.US_EAST_1)
            .forcePathStyle(true)
            .credentialsProvider(
                StaticCredentialsProvider.create(AwsBasicCredentials.create(KEY, SECRET)))
            .build();
    for (String bucket : buckets) {
      client.createBucket(b -> b.bucket(bucket));
    }
  }

  int port() {
    return server.getPort();
  }

  void put(String bucket, String key, byte[] bytes) {
    client.putObject(b -> b.bucket(bucket).key(key), RequestBody.fromBytes(bytes));
  }

  /** What a FileIO needs to reach the server, or a proxy before it, at a port. */
  static Map<String, String> properties(int port) {
    Map<String, String> properties = new HashMap<>();
    properties.put("s3.endpoint", "http://127.0.0.1:" + port);
    properties.put("s3.path-style-access", "true");
    properties.put("s3.access-key-id", KEY);
    properties.put("s3.secret-access-key", SECRET);
    properties.put("client.region", "us-east-1");
    properties.put("s3.retry.num-retries", "0");
    return properties;
  }

  @Override
  public void close() throws Exception {
    client.close();
    server.stop();
  }
}
