package dev.firn.engine.cli;

import static org.assertj.core.api.Assertions.assertThat;

import com.fasterxml.jackson.databind.JsonNode;
import com.fasterxml.jackson.databind.ObjectMapper;
import dev.firn.testdata.Rows;
import dev.firn.testdata.TableFiles;
import dev.firn.testdata.TableRows;
import io.zonky.test.db.postgres.embedded.EmbeddedPostgres;
import java.io.PrintWriter;
import java.io.StringWriter;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import org.apache.hadoop.conf.Configuration;
import org.apache.iceberg.CatalogUtil;
import org.apache.iceberg.DataFile;
import org.apache.iceberg.PartitionSpec;
import org.apache.iceberg.Schema;
import org.apache.iceberg.Table;
import org.apache.iceberg.catalog.Catalog;
import org.apache.iceberg.catalog.Namespace;
import org.apache.iceberg.catalog.SupportsNamespaces;
import org.apache.iceberg.catalog.TableIdentifier;
import org.apache.iceberg.data.Record;
import org.apache.iceberg.types.Types;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;

/** The command line against real servers: S3 with a REST catalog, PostgreSQL, SQLite, Hadoop. */
class CatalogServersTest {
  private static final Schema SCHEMA =
      new Schema(
          Types.NestedField.required(1, "id", Types.LongType.get()),
          Types.NestedField.optional(2, "region", Types.StringType.get()),
          Types.NestedField.optional(3, "amount", Types.DecimalType.of(12, 2)));

  @TempDir Path directory;

  @Test
  void restCatalogOnS3() throws Exception {
    try (LoopbackServers servers = new LoopbackServers(directory)) {
      Map<String, String> properties = new HashMap<>(servers.fileIoProperties());
      properties.put("type", "rest");
      properties.put("uri", servers.restUri());
      properties.put("warehouse", "s3://" + LoopbackServers.BUCKET + "/wh");
      compactsByCommandLine(properties);
    }
  }

  @Test
  void restCatalogOnS3WithTheDefaultFileIo() throws Exception {
    try (LoopbackServers servers = new LoopbackServers(directory)) {
      Map<String, String> properties = new HashMap<>(servers.fileIoProperties());
      properties.remove("io-impl");
      properties.put("type", "rest");
      properties.put("uri", servers.restUri());
      compactsByCommandLine(properties);
    }
  }

  @Test
  void jdbcOnPostgres() throws Exception {
    try (EmbeddedPostgres postgres = EmbeddedPostgres.start()) {
      compactsByCommandLine(
          Map.of(
              "type", "jdbc",
              "uri", postgres.getJdbcUrl("postgres", "postgres"),
              "jdbc.user", "postgres",
              "jdbc.schema-version", "V1",
              "warehouse", directory.resolve("wh").toUri().toString()));
    }
  }

  @Test
  void jdbcOnSqlite() throws Exception {
    compactsByCommandLine(
        Map.of(
            "type",
            "jdbc",
            "uri",
            "jdbc:sqlite:" + directory.resolve("catalog.db"),
            "jdbc.schema-version",
            "V1",
            "warehouse",
            directory.resolve("wh").toUri().toString()));
  }

  @Test
  void hadoop() throws Exception {
    compactsByCommandLine(
        Map.of("type", "hadoop", "warehouse", directory.resolve("wh").toUri().toString()));
  }

  /** Makes a table with all kinds of v2 deletes, plans and compacts it, and compares its rows. */
  private void compactsByCommandLine(Map<String, String> properties) throws Exception {
    Catalog catalog = CatalogUtil.buildIcebergCatalog("lab", properties, new Configuration());
    ((SupportsNamespaces) catalog).createNamespace(Namespace.of("db"));
    TableIdentifier name = TableIdentifier.of("db", "orders");
    Table table =
        catalog.createTable(
            name,
            SCHEMA,
            PartitionSpec.builderFor(SCHEMA).identity("region").build(),
            Map.of("format-version", "2"));
    TableFiles files = TableFiles.of(table);
    List<DataFile> written = new ArrayList<>();
    for (int file = 0; file < 6; file++) {
      for (String region : new String[] {"eu", "us/west %20", null}) {
        List<Record> rows = new ArrayList<>();
        for (int row = 0; row < 200; row++) {
          rows.add(
              Rows.row(
                  SCHEMA, file * 200L + row, region, new java.math.BigDecimal(row).setScale(2)));
        }
        written.add(files.append(rows));
      }
    }
    files.deletePositions(Map.of(written.get(0), new long[] {0, 7, 199}));
    files.upsert(
        List.of("id", "region"),
        List.of(Rows.row(SCHEMA, 5L, "eu", new java.math.BigDecimal("9.99"))));
    table.refresh();
    List<String> before = TableRows.live(table);

    Path config = directory.resolve("firn.yaml");
    StringBuilder yaml = new StringBuilder("default-catalog: lab\ncatalogs:\n  lab:\n");
    properties.forEach(
        (key, value) -> yaml.append("    ").append(key).append(": '").append(value).append("'\n"));
    Files.writeString(config, yaml);

    long snapshot = table.currentSnapshot().snapshotId();
    Outcome plan = firn("plan", "db.orders", "--config", config.toString(), "--output", "json");
    assertThat(plan.code()).as(plan.err()).isZero();
    table.refresh();
    assertThat(table.currentSnapshot().snapshotId()).as("plan writes nothing").isEqualTo(snapshot);

    Outcome compact =
        firn(
            "compact",
            "db.orders",
            "--config",
            config.toString(),
            "--output",
            "json",
            "--scratch",
            directory.toString(),
            "--memory",
            "1GiB",
            "--snapshot-property",
            "ticket=42");
    assertThat(compact.code()).as(compact.err()).isZero();
    JsonNode report = new ObjectMapper().readTree(compact.out());
    table.refresh();
    assertThat(TableRows.live(table)).isEqualTo(before);
    assertThat(report.at("/groups/committed").asInt()).isEqualTo(3);
    assertThat(report.at("/rows/written").asInt()).isEqualTo(before.size());
    assertThat(table.currentSnapshot().summary()).containsEntry("ticket", "42");
    assertThat(TableRows.dataFiles(table, table.currentSnapshot())).hasSize(3);

    Outcome again = firn("compact", "db.orders", "--config", config.toString(), "--output", "json");
    assertThat(again.code()).as(again.err()).isZero();
    assertThat(new ObjectMapper().readTree(again.out()).at("/groups/planned").asInt())
        .as("a second run plans nothing (M19)")
        .isZero();
  }

  private record Outcome(int code, String out, String err) {}

  private Outcome firn(String... args) {
    StringWriter out = new StringWriter();
    StringWriter err = new StringWriter();
    int code =
        Firn.run(
            new Terminal(
                new PrintWriter(out, true), new PrintWriter(err, true), false, Map.of(), directory),
            args);
    return new Outcome(code, out.toString(), err.toString());
  }
}
