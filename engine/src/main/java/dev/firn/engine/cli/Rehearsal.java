package dev.firn.engine.cli;

import java.io.IOException;
import java.io.PrintWriter;
import java.io.Writer;
import java.nio.charset.Charset;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.Comparator;
import java.util.List;
import java.util.Map;
import java.util.TreeMap;
import java.util.stream.Stream;
import org.apache.hadoop.conf.Configuration;
import org.apache.iceberg.AppendFiles;
import org.apache.iceberg.CatalogUtil;
import org.apache.iceberg.DataFile;
import org.apache.iceberg.HasTableOperations;
import org.apache.iceberg.PartitionSpec;
import org.apache.iceberg.Schema;
import org.apache.iceberg.Table;
import org.apache.iceberg.TableMetadata;
import org.apache.iceberg.TableMetadataParser;
import org.apache.iceberg.catalog.Catalog;
import org.apache.iceberg.catalog.Namespace;
import org.apache.iceberg.catalog.SupportsNamespaces;
import org.apache.iceberg.catalog.TableIdentifier;
import org.apache.iceberg.data.GenericRecord;
import org.apache.iceberg.data.Record;
import org.apache.iceberg.types.Types;

/**
 * Small tables compacted on this machine, so that the launcher can keep for later runs which
 * classes a run needs and how they are linked. Run by the launcher alone, which says why.
 */
final class Rehearsal {
  private static final String NAMESPACE = "rehearsal";
  private static final int FILES = 3;
  private static final int ROWS = 1000;
  private static final Schema SCHEMA =
      new Schema(
          Types.NestedField.required(1, "id", Types.LongType.get()),
          Types.NestedField.optional(2, "name", Types.StringType.get()),
          Types.NestedField.optional(3, "amount", Types.DoubleType.get()));

  private Rehearsal() {}

  /** Ends with exit code 0 if every command did. */
  public static void main(String[] args) throws IOException {
    Firn.logAsCommand();
    Path directory = Files.createTempDirectory("firn-rehearsal");
    int code;
    try {
      code = rehearse(directory, new PrintWriter(System.err, true, Charset.defaultCharset()));
    } finally {
      delete(directory);
    }
    System.exit(code);
  }

  static int rehearse(Path directory, PrintWriter err) throws IOException {
    try (RehearsalServer server = RehearsalServer.start()) {
      Map<String, String> store =
          Map.of(
              "io-impl", "org.apache.iceberg.aws.s3.S3FileIO",
              "s3.endpoint", server.uri(),
              "s3.path-style-access", "true",
              "s3.access-key-id", "none",
              "s3.secret-access-key", "none",
              "client.region", "us-east-1",
              "warehouse", "s3://rehearsal/warehouse");
      Map<String, String> remote = new TreeMap<>(store);
      remote.put("type", "jdbc");
      remote.put("uri", "jdbc:sqlite:" + directory.resolve("catalog.db"));
      remote.put("jdbc.schema-version", "V1");
      Map<String, String> rest = new TreeMap<>(store);
      rest.put("type", "rest");
      rest.put("uri", server.uri());
      Map<String, String> local =
          Map.of("type", "hadoop", "warehouse", directory.resolve("warehouse").toUri().toString());
      server.table(write(remote));
      write(local);
      return run("plan", rest, directory, err)
          | run("compact", remote, directory, err)
          | run("compact", local, directory, err);
    }
  }

  /** Makes a table and gives what a catalog says of it. */
  private static String write(Map<String, String> properties) throws IOException {
    Catalog catalog =
        CatalogUtil.buildIcebergCatalog(NAMESPACE, properties, new Configuration(false));
    try (AutoCloseable closing = catalog instanceof AutoCloseable it ? it : () -> {}) {
      if (catalog instanceof SupportsNamespaces namespaces) {
        namespaces.createNamespace(Namespace.of(NAMESPACE));
      }
      Table table =
          catalog.createTable(
              TableIdentifier.of(NAMESPACE, "t"),
              SCHEMA,
              PartitionSpec.unpartitioned(),
              Map.of("format-version", "2"));
      DemoWriter writer = new DemoWriter(table, "id");
      List<DataFile> files = new ArrayList<>();
      for (int file = 0; file < FILES; file++) {
        files.add(writer.data(rows(file)));
      }
      AppendFiles append = table.newAppend();
      files.forEach(append::appendFile);
      append.commit();
      Record key = GenericRecord.create(writer.keySchema());
      key.set(0, 1L);
      table
          .newRowDelta()
          .addDeletes(writer.positionDeletes(files.subList(0, 1), 10))
          .addDeletes(writer.equalityDeletes(List.of(key)))
          .commit();
      TableMetadata metadata = ((HasTableOperations) table).operations().current();
      return "{\"metadata-location\":\""
          + metadata.metadataFileLocation()
          + "\",\"metadata\":"
          + TableMetadataParser.toJson(metadata)
          + ",\"config\":{}}";
    } catch (IOException | RuntimeException e) {
      throw e;
    } catch (Exception e) {
      throw new IOException(e);
    }
  }

  private static List<Record> rows(int file) {
    List<Record> rows = new ArrayList<>(ROWS);
    for (int i = 0; i < ROWS; i++) {
      Record row = GenericRecord.create(SCHEMA);
      row.set(0, (long) file * ROWS + i);
      row.set(1, i % 7 == 0 ? null : "name " + i % 50);
      row.set(2, i / 3.0);
      rows.add(row);
    }
    return rows;
  }

  private static int run(
      String command, Map<String, String> properties, Path directory, PrintWriter err) {
    List<String> line = new ArrayList<>(Arrays.asList(command, NAMESPACE + ".t", "--rewrite-all"));
    properties.forEach(
        (key, value) -> line.addAll(List.of("--catalog-property", key + "=" + value)));
    line.addAll(List.of("--catalog", NAMESPACE, "--scratch", directory.toString()));
    Terminal silent =
        new Terminal(new PrintWriter(Writer.nullWriter()), err, false, Map.of(), directory);
    return Firn.run(silent, line.toArray(String[]::new));
  }

  private static void delete(Path directory) throws IOException {
    try (Stream<Path> files = Files.walk(directory)) {
      for (Path file : files.sorted(Comparator.reverseOrder()).toList()) {
        Files.delete(file);
      }
    }
  }
}
