package dev.firn.engine.cli;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assumptions.assumeThat;

import dev.firn.testdata.TableFiles;
import java.io.IOException;
import java.nio.file.AccessDeniedException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.Comparator;
import java.util.HexFormat;
import java.util.List;
import java.util.Map;
import java.util.Random;
import java.util.TreeSet;
import java.util.concurrent.TimeUnit;
import java.util.stream.Collectors;
import java.util.stream.Stream;
import org.apache.hadoop.conf.Configuration;
import org.apache.iceberg.PartitionSpec;
import org.apache.iceberg.Schema;
import org.apache.iceberg.Table;
import org.apache.iceberg.catalog.Catalog;
import org.apache.iceberg.catalog.TableIdentifier;
import org.apache.iceberg.data.Record;
import org.apache.iceberg.hadoop.HadoopCatalog;
import org.apache.iceberg.types.Types;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.BeforeAll;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;
import org.junit.jupiter.params.provider.ValueSource;

/**
 * Sorts whose scratch directory fails them: the command ends with exit code 7 and says what, where,
 * why and what to do; the table and its directory are as they were, and nothing is left in scratch.
 * One group has written its outputs before the other, which does not fit into memory, fails.
 */
class ScratchFaultsTest {
  private static final Schema SCHEMA =
      new Schema(
          Types.NestedField.required(1, "id", Types.LongType.get()),
          Types.NestedField.required(2, "part", Types.IntegerType.get()),
          Types.NestedField.required(3, "payload", Types.StringType.get()));
  private static final int ROWS = 10_000;
  private static final int ROW_BYTES = 1000;

  @TempDir static Path shared;
  private static TreeSet<Path> before = new TreeSet<>();

  @TempDir Path scratch;
  private FaultyDisk disk;
  private CapturedTerminal terminal;
  private boolean mounted;

  @BeforeAll
  static void makeTable() throws IOException {
    try (HadoopCatalog catalog =
        new HadoopCatalog(new Configuration(), shared.resolve("wh").toString())) {
      Table table =
          ((Catalog) catalog)
              .createTable(
                  TableIdentifier.of("db", "wide"),
                  SCHEMA,
                  PartitionSpec.builderFor(SCHEMA).identity("part").build());
      TableFiles files = TableFiles.of(table).rowGroupRows(250);
      files.append(rows(20, 0));
      files.append(rows(20, 0));
      files.append(rows(ROWS, 1));
      files.append(rows(ROWS, 1));
    }
    before = files(shared);
  }

  /** Rows whose texts do not shrink, in no order. */
  private static List<Record> rows(int count, int part) {
    Random random = new Random(count);
    byte[] text = new byte[ROW_BYTES / 2];
    List<Record> rows = new ArrayList<>();
    for (int i = 0; i < count; i++) {
      random.nextBytes(text);
      rows.add(
          dev.firn.testdata.Rows.row(
              SCHEMA, random.nextLong(), part, HexFormat.of().formatHex(text)));
    }
    return rows;
  }

  private static TreeSet<Path> files(Path directory) throws IOException {
    try (Stream<Path> files = Files.walk(directory)) {
      return files
          .filter(file -> !file.equals(directory))
          .collect(Collectors.toCollection(TreeSet::new));
    }
  }

  @BeforeEach
  void useDisk() {
    disk = FaultyDisk.of(scratch);
    terminal =
        new CapturedTerminal(
            disk.at(scratch),
            Map.of(
                "FIRN_CATALOG_LOCAL_TYPE",
                "hadoop",
                "FIRN_CATALOG_LOCAL_WAREHOUSE",
                shared.resolve("wh").toString()));
  }

  @AfterEach
  void unmount() throws Exception {
    if (mounted) {
      assertThat(run("umount", scratch.toString())).isZero();
    }
  }

  private int sort(Path scratchDirectory) {
    return terminal.run(
        "compact",
        "db.wide",
        "--sort=id",
        "--rewrite-all",
        "--rewrite-job-order=bytes-asc",
        "--memory=40m",
        "--scratch=" + scratchDirectory);
  }

  /** The command has failed as it should. */
  private void check(int exitCode, String... says) throws IOException {
    String all = terminal.out() + terminal.err();
    assertThat(exitCode).as("%s", all).isEqualTo(7);
    assertThat(all).contains(says).doesNotContain("\tat ");
    assertThat(terminal.lastErrLine())
        .isEqualTo("firn: memory or disk does not suffice, nothing was committed (exit code 7)");
    assertThat(files(shared)).as("files of the table").isEqualTo(before);
    assertThat(files(scratch)).as("scratch").isEmpty();
  }

  @ParameterizedTest
  @CsvSource({"firn-sort-, 0", "firn-sort-, 3", "view-, 0", "view-, 1", "view-, 20"})
  void aDiskThatIsFull(String files, int writes) throws IOException {
    disk.fullAfter(writes, files);
    int exitCode = sort(scratch);
    assertThat(disk.faults()).isPositive();
    check(
        exitCode,
        files.startsWith("view") ? "Cannot write row group " : "Cannot write rows that are being",
        " to " + scratch,
        files,
        "No space left on device",
        files.startsWith("view") ? "scratch file is removed" : "scratch files are removed",
        "Free space there");
  }

  @Test
  void aRealDiskThatIsFull() throws Exception {
    mount("size=3m");
    check(
        sort(scratch),
        "Cannot write ",
        " to " + scratch,
        "No space left on device",
        "removed",
        "Free space there");
  }

  private void mount(String options) throws Exception {
    assumeThat(Files.exists(Path.of("/proc/mounts"))).isTrue();
    mounted = run("mount", "-t", "tmpfs", "-o", options, "tmpfs", scratch.toString()) == 0;
    assumeThat(mounted).as("this test may mount").isTrue();
  }

  private static int run(String... command) throws IOException, InterruptedException {
    Process process =
        new ProcessBuilder(command)
            .redirectErrorStream(true)
            .redirectOutput(ProcessBuilder.Redirect.DISCARD)
            .start();
    assertThat(process.waitFor(30, TimeUnit.SECONDS)).isTrue();
    return process.exitValue();
  }

  @Test
  void aDirectoryThatIsNotThere() throws IOException {
    Path missing = scratch.resolve("none");
    check(
        sort(missing),
        "Cannot write what does not fit into memory to " + missing,
        "NoSuchFileException",
        "Nothing was started",
        "--scratch another directory");
    Path file = Files.writeString(shared.resolve("file"), "");
    try {
      assertThat(sort(file)).isEqualTo(7);
      assertThat(terminal.err()).contains("NotDirectoryException: " + file);
    } finally {
      Files.delete(file);
    }
  }

  @Test
  void aDirectoryThatCannotBeWrittenTo() throws Exception {
    mount("ro");
    check(
        sort(scratch),
        "Cannot write what does not fit into memory to " + scratch,
        "AccessDeniedException",
        "Nothing was started",
        "--scratch another directory");
  }

  /** As on a disk whose rights say otherwise than what comes of them. */
  @Test
  void aDirectoryThatRefusesFiles() throws IOException {
    disk.whenMade(
        "firn-",
        file -> {
          throw new AccessDeniedException(file.toString());
        });
    check(
        sort(scratch),
        "Cannot write what does not fit into memory to " + scratch,
        "AccessDeniedException",
        "No row was read",
        "--scratch another directory");
  }

  /** As when somebody tidies up, or a volume is taken away. */
  @ParameterizedTest
  @ValueSource(strings = {"firn-sort-", "view-"})
  void aDirectoryThatGoesAwayMeanwhile(String files) throws IOException {
    disk.whenMade(files, file -> deleteAll(file.getParent()));
    check(
        sort(scratch),
        "Cannot write row",
        " to " + scratch,
        "NoSuchFileException",
        "removed",
        files.startsWith("view") ? "--scratch another directory" : "Name a scratch directory");
  }

  private static void deleteAll(Path directory) throws IOException {
    if (Files.exists(directory)) {
      try (Stream<Path> files = Files.walk(directory)) {
        for (Path file : files.sorted(Comparator.reverseOrder()).toList()) {
          Files.deleteIfExists(file);
        }
      }
    }
  }

  @Test
  void aRunThatIsNotReadAsItWasWritten() throws IOException {
    disk.flipABitOfEachWrite("firn-sort-");
    int exitCode = sort(scratch);
    assertThat(disk.faults()).isPositive();
    check(
        exitCode,
        "Cannot read back rows that are being sorted from " + scratch,
        "firn-sort-",
        "the block at byte",
        "its rows incomplete",
        "Run it again");
  }
}
