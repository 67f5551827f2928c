package dev.firn.engine;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assumptions.assumeThat;

import dev.firn.testdata.TableFiles;
import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.nio.file.StandardCopyOption;
import java.sql.SQLException;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.List;
import java.util.Map;
import java.util.stream.Collectors;
import java.util.stream.Stream;
import org.apache.hadoop.conf.Configuration;
import org.apache.iceberg.AppendFiles;
import org.apache.iceberg.DataFile;
import org.apache.iceberg.DataFiles;
import org.apache.iceberg.DeleteFile;
import org.apache.iceberg.MetricsConfig;
import org.apache.iceberg.PartitionSpec;
import org.apache.iceberg.Schema;
import org.apache.iceberg.Table;
import org.apache.iceberg.catalog.TableIdentifier;
import org.apache.iceberg.data.GenericRecord;
import org.apache.iceberg.data.Record;
import org.apache.iceberg.hadoop.HadoopCatalog;
import org.apache.iceberg.parquet.ParquetUtil;
import org.apache.iceberg.types.Types;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.condition.EnabledIfSystemProperty;
import org.junit.jupiter.api.io.TempDir;

/**
 * The memory contract (DESIGN 5): tables eight times as large as the memory are sorted, put on a
 * z-order curve and packed with equality deletes by a process which the kernel would kill if it
 * took more. Takes 13 GB of disk, so only with {@code -Dfirn.proof=true}.
 */
@EnabledIfSystemProperty(named = "firn.proof", matches = "true")
class MemoryProofTest {
  private static final int MEMORY_MIB = Integer.getInteger("firn.proof.memory-mib", 512);
  private static final long ROWS = Long.getLong("firn.proof.rows", 4_200_000);
  private static final int FILES = 16;
  private static final int ROW_GROUP_ROWS = Integer.getInteger("firn.proof.row-group-rows", 20_000);

  private static final Schema SCHEMA =
      new Schema(
          Types.NestedField.optional(1, "id", Types.LongType.get()),
          Types.NestedField.optional(2, "k", Types.IntegerType.get()),
          Types.NestedField.optional(3, "s", Types.StringType.get()),
          Types.NestedField.optional(4, "payload", Types.StringType.get()));

  @TempDir Path directory;

  @Test
  void tablesEightTimesTheMemoryAreSortedClusteredAndPackedInIt() throws Exception {
    long free = Files.getFileStore(directory).getUsableSpace();
    assumeThat(free).as("bytes of disk that are free").isGreaterThan(30L * MEMORY_MIB << 20);
    try (DuckDb duck = DuckDb.open();
        HadoopCatalog catalog =
            new HadoopCatalog(new Configuration(), directory.resolve("wh").toUri().toString());
        HardLimit limit = HardLimit.of((long) MEMORY_MIB << 20)) {
      List<DataFile> files = write(duck);
      long bytes = files.stream().mapToLong(DataFile::fileSizeInBytes).sum();
      assertThat(bytes).isGreaterThan(8L * MEMORY_MIB << 20);
      System.out.printf(
          "%d MB in %d files, %d rows, limit %d MiB (%s)%n",
          bytes >> 20, FILES, ROWS, MEMORY_MIB, limit.kind());

      String rows = "read_parquet('" + directory.resolve("in") + "/*.parquet')";
      compact(catalog, duck, limit, "sorted", files, 0, rows, "--sort", "k, s DESC, id");
      compact(catalog, duck, limit, "curved", files, 0, rows, "--zorder", "k, s, id");
      compact(catalog, duck, limit, "packed", files, 10, "(from " + rows + " where id % 10 != 0)");
    }
  }

  private List<DataFile> write(DuckDb duck) throws IOException, SQLException {
    Path in = Files.createDirectory(directory.resolve("in"));
    long perFile = ROWS / FILES;
    String payload =
        Stream.iterate(1, i -> i + 1)
            .limit(32)
            .map(i -> "md5((i * 37 + " + i + ")::varchar)")
            .collect(Collectors.joining(" || "));
    duck.run("set preserve_insertion_order = false");
    List<DataFile> files = new ArrayList<>();
    for (int f = 0; f < FILES; f++) {
      Path file = in.resolve("part-" + f + ".parquet");
      duck.run(
          "copy (select i as id, (hash(i) % 1000)::integer as k, 'customer-' || (hash(i + 7) % 100000)"
              + " as s, "
              + payload
              + " as payload from range("
              + f * perFile
              + ", "
              + (f + 1) * perFile
              + ") t(i)) to '"
              + file
              + "' (format parquet, compression uncompressed, row_group_size "
              + ROW_GROUP_ROWS
              + ", field_ids {id: 1, k: 2, s: 3, payload: 4})");
      files.add(
          DataFiles.builder(PartitionSpec.unpartitioned())
              .withPath(file.toUri().toString())
              .withFormat("parquet")
              .withFileSizeInBytes(Files.size(file))
              .withMetrics(
                  ParquetUtil.fileMetrics(
                      org.apache.iceberg.Files.localInput(file.toFile()),
                      MetricsConfig.getDefault()))
              .build());
    }
    return files;
  }

  /**
   * @param deletedOf every so many-th id is deleted; 0 for none
   */
  private void compact(
      HadoopCatalog catalog,
      DuckDb duck,
      HardLimit limit,
      String name,
      List<DataFile> files,
      int deletedOf,
      String expected,
      String... layout)
      throws Exception {
    Table table =
        catalog
            .buildTable(TableIdentifier.of("db", name), SCHEMA)
            .withProperty("write.parquet.compression-codec", "uncompressed")
            .withProperty("format-version", "2")
            .create();
    AppendFiles append = table.newAppend();
    files.forEach(append::appendFile);
    append.commit();
    if (deletedOf > 0) {
      delete(table, deletedOf);
    }
    Path log = directory.resolve(name + ".log");
    long started = System.nanoTime();
    int exitCode = limit.run(command(name, layout), environment(), log);
    String said = Files.readString(log);
    System.out.printf(
        "%s: %.1f s, at most %d MiB of memory%n%s%n",
        name, (System.nanoTime() - started) / 1e9, limit.peakBytes() >> 20, said);
    assertThat(exitCode).as("%s", said).isZero();

    Path data = directory.resolve("wh/db").resolve(name).resolve("data");
    String written = "read_parquet('" + data + "/*.parquet', filename=true, file_row_number=true)";
    String digest = "select sum(hash(id, k, s, payload))::varchar || ' ' || count(*) from ";
    assertThat(duck.text(digest + live(table, data))).isEqualTo(duck.text(digest + expected));
    if (name.equals("sorted")) {
      assertThat(
              duck.number(
                  "select count(*) from (select (k, id) as key, s, filename as f, k, id, lag(k)"
                      + " over w as pk, lag(s) over w as ps, lag(id) over w as pid from "
                      + written
                      + " window w as (partition by filename order by file_row_number)) where k < pk"
                      + " or (k = pk and s > ps) or (k = pk and s = ps and id < pid)"))
          .isZero();
    }
    try (Stream<Path> outputs = Files.list(data)) {
      for (Path output : outputs.toList()) {
        Files.delete(output);
      }
    }
    assertThat(directory.resolve("scratch")).isEmptyDirectory();
  }

  private static String live(Table table, Path data) {
    table.refresh();
    List<String> paths = new ArrayList<>();
    table
        .newScan()
        .planFiles()
        .forEach(
            task -> {
              assertThat(task.deletes()).isEmpty();
              Path path = TableBefore.path(task.file().location());
              assertThat(path.getParent()).isEqualTo(data);
              paths.add("'" + path + "'");
            });
    return "read_parquet([" + String.join(", ", paths) + "])";
  }

  private static void delete(Table table, int deletedOf) {
    int deleteFiles = 10;
    for (int d = 0; d < deleteFiles; d++) {
      List<Record> keys = new ArrayList<>();
      for (long id = (long) d * deletedOf; id < ROWS; id += (long) deleteFiles * deletedOf) {
        Record key = GenericRecord.create(SCHEMA);
        key.setField("id", id);
        keys.add(key);
      }
      DeleteFile file = TableFiles.of(table).equalityDeletes(List.of("id"), keys);
      TableFiles.of(table).rowDelta(List.of(), List.of(file));
    }
  }

  /**
   * The launcher, which sets the flags that are part of the contract, beside a lib folder that is
   * empty: the classes are those of this test.
   */
  private List<String> command(String name, String... layout) throws IOException {
    Path scratch = directory.resolve("scratch");
    Path home = directory.resolve("home");
    if (!Files.exists(home)) {
      Files.createDirectory(scratch);
      Files.createDirectories(home.resolve("lib"));
      Files.copy(Path.of("..", "firn"), home.resolve("firn"), StandardCopyOption.COPY_ATTRIBUTES);
    }
    List<String> command =
        new ArrayList<>(
            List.of(
                home.resolve("firn").toString(),
                "compact",
                "db." + name,
                "--type",
                "hadoop",
                "--warehouse",
                directory.resolve("wh").toUri().toString(),
                "--memory",
                MEMORY_MIB + "m",
                "--scratch",
                scratch.toString(),
                "--rewrite-all"));
    command.addAll(Arrays.asList(layout));
    return command;
  }

  private static Map<String, String> environment() {
    return Map.of(
        "JAVA_HOME", System.getProperty("java.home"),
        "FIRN_JAVA_OPTS", "",
        "FIRN_CLASSPATH", System.getProperty("java.class.path"));
  }
}
