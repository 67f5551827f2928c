package dev.firn.spark;

import static org.assertj.core.api.Assertions.assertThat;

import com.fasterxml.jackson.databind.JsonNode;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.List;
import java.util.Locale;
import java.util.stream.Stream;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.Arguments;
import org.junit.jupiter.params.provider.MethodSource;

/**
 * Spark writes to a table when Firn has planned and rewritten, and is about to commit. A twin table
 * to which Spark does the same without a compaction says what the rows must be.
 */
class SparkWritesTest {
  private static final String MERGE_ON_READ = "merge-on-read";
  private static final String COPY_ON_WRITE = "copy-on-write";

  /** The rows that a statement deletes or replaces: some of the first of four files. */
  private static final String TOUCHED = "id % 7 = 2 and id < 100";

  private enum Statement {
    DELETE("delete from TABLE where " + TOUCHED),
    UPDATE("update TABLE set note = concat(note, ' updated') where " + TOUCHED),
    MERGE(
        "merge into TABLE t using (select id from range(0, 100) where "
            + TOUCHED
            + " union all select id from range(1000, 1010)) s on t.id = s.id"
            + " when matched and s.id % 2 = 0 then delete"
            + " when matched then update set note = 'merged'"
            + " when not matched then insert (id, note) values (s.id, 'new')");

    private final String text;

    Statement(String text) {
      this.text = text;
    }

    String on(String table) {
      return text.replace("TABLE", table);
    }
  }

  static Stream<Arguments> writes() {
    List<Arguments> all = new ArrayList<>();
    for (int formatVersion : new int[] {2, 3}) {
      for (String mode : List.of(MERGE_ON_READ, COPY_ON_WRITE)) {
        for (Statement statement : Statement.values()) {
          all.add(Arguments.of(statement, mode, formatVersion));
        }
      }
    }
    return all.stream();
  }

  @ParameterizedTest(name = "{0}, {1}, format version {2}")
  @MethodSource("writes")
  void aWriteBetweenPlanAndCommitIsInForce(Statement statement, String mode, int formatVersion)
      throws Exception {
    String name = statement.name().toLowerCase(Locale.ROOT) + "_" + mode.charAt(0) + formatVersion;
    String table = "lake.db." + name;
    String twin = table + "_twin";
    Spark spark = new Spark();
    make(spark, table, statement, mode, formatVersion);
    make(spark, twin, statement, mode, formatVersion);
    long touched = spark.number("select count(*) from " + table + " where " + TOUCHED);
    assertThat(touched).isPositive();

    Path held = Path.of("target", name + ".held").toAbsolutePath();
    Path release = Path.of("target", name + ".release").toAbsolutePath();
    Files.deleteIfExists(held);
    Files.deleteIfExists(release);
    List<String> options =
        new ArrayList<>(
            List.of(
                "--catalog-property=catalog-impl=" + HeldCatalog.class.getName(),
                "--catalog-property=" + HeldCatalog.HELD + "=" + held,
                "--catalog-property=" + HeldCatalog.RELEASE + "=" + release,
                "--warehouse=" + Spark.WAREHOUSE,
                "--rewrite-all"));
    if (statement == Statement.UPDATE) {
      options.add("--sort=note desc, id"); // rows of one input are apart in the output
    }
    FirnRun firn = FirnRun.compact("db." + name, options);
    JsonNode report;
    try {
      spark.sql(statement.on(twin)); // while Firn starts
      firn.awaitFile(held);
      spark.sql(statement.on(table));
      Files.createFile(release);
      report = firn.report();
    } finally {
      firn.stop();
    }

    assertThat(report.at("/snapshots_committed").size()).isEqualTo(1);
    assertThat(report.at("/groups/failed").asInt()).isZero();
    assertThat(report.at("/rows/carried_over").asLong())
        .isEqualTo(mode.equals(MERGE_ON_READ) ? touched : 0);
    Spark after = new Spark();
    String live =
        formatVersion < 3
            ? "select * from %s"
            : "select *, _row_id, _last_updated_sequence_number from %s";
    assertThat(after.rows(live.formatted(table))).isEqualTo(after.rows(live.formatted(twin)));
    assertThat(after.number("select count(*) from " + table + ".data_files"))
        .isLessThan(after.number("select count(*) from " + twin + ".data_files"));

    // Row ids of rows added from here on depend on how many were given before.
    for (String each : List.of(table, twin)) {
      after.sql("delete from " + each + " where id % 11 = 5");
      after.sql(
          "merge into "
              + each
              + " t using (select id * 5 id from range(0, 60)) s on t.id = s.id"
              + " when matched and s.id % 3 = 0 then delete"
              + " when matched then update set note = concat(note, ' again')"
              + " when not matched then insert (id, note) values (s.id, 'late')");
    }
    String lineage = formatVersion < 3 ? "" : ", if(note = 'late', null, _row_id)";
    Spark last = new Spark();
    assertThat(last.rows("select *" + lineage + " from " + table))
        .isEqualTo(last.rows("select *" + lineage + " from " + twin));
  }

  /** Four files, some of whose rows are deleted on read. */
  private static void make(
      Spark spark, String table, Statement statement, String mode, int formatVersion) {
    // On format version 2 a delete file is of one data file, or holds positions of several.
    String granularity = statement == Statement.DELETE ? "partition" : "file";
    spark.sql(
        "create table "
            + table
            + " using iceberg tblproperties ('format-version' = '"
            + formatVersion
            + "', 'write.delete.granularity' = '"
            + granularity
            + "', 'write.delete.mode' = 'merge-on-read', 'write.update.mode' = '"
            + mode
            + "', 'write.merge.mode' = '"
            + mode
            + "') as select id, concat('note ', id % 13) note from range(0, 240, 1, 4)");
    spark.sql("delete from " + table + " where id % 9 = 4");
    if (mode.equals(COPY_ON_WRITE)) {
      spark.sql(
          "alter table " + table + " set tblproperties ('write.delete.mode' = '" + mode + "')");
    }
  }
}
