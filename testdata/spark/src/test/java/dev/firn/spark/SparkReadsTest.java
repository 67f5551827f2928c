package dev.firn.spark;

import static org.assertj.core.api.Assertions.assertThat;

import com.fasterxml.jackson.databind.JsonNode;
import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.List;
import java.util.stream.Stream;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;
import org.junit.jupiter.params.provider.ValueSource;

/** What Spark reads from a table is the same before and after a compaction. */
class SparkReadsTest {
  private static final String COLUMNS =
      """
      id bigint not null, qty int, price decimal(12, 2), big decimal(30, 6), weight double,
      ratio float, flag boolean, day date, ts timestamp, local_ts timestamp_ntz, note string,
      raw binary, address struct<city: string, zip: int>, tags array<string>,
      counts map<string, int>, parts array<struct<sku: string, n: int>>
      """;

  /* A row is a function of its id. */
  private static final String VALUES =
      """
      id,
      if(id % 11 = 0, null, cast(id % 97 as int)) qty,
      cast(id * 1.25 as decimal(12, 2)) price,
      cast(id * -12345678901.123456 as decimal(30, 6)) big,
      case id % 13 when 0 then double('NaN') when 1 then -0.0D when 2 then null else id / 7D end
        weight,
      cast(id / 3D as float) ratio,
      if(id % 5 = 0, null, id % 2 = 0) flag,
      date_add(date '1969-12-20', cast(id as int)) day,
      timestamp_micros(id * 3600000001 - 86400000000) ts,
      cast(timestamp_micros(1700000000000000 + id) as timestamp_ntz) local_ts,
      if(id % 17 = 0, null, concat('n\u00f6te ', id * 7919 % 101)) note,
      unhex(lpad(hex(id), 8, '0')) raw,
      if(id % 19 = 0, null,
        named_struct('city', concat('c', id % 5), 'zip', if(id % 7 = 0, null, cast(id as int))))
        address,
      if(id % 23 = 0, null, slice(array('a', null, concat('x', id)), 1, cast(id % 4 as int))) tags,
      map('k', cast(id as int), concat('m', id % 3), null) counts,
      array(named_struct('sku', concat('s', id), 'n', cast(id as int)), null) parts
      """;

  @ParameterizedTest(name = "format version {0}, {1}")
  @CsvSource({
    "2, partitioned by (bucket(2; id); flag), partition",
    "2, '', file",
    "3, partitioned by (bucket(2; id); flag), file",
    "3, '', file"
  })
  void rowsAndLineageStayWhenPackedAndWhenSorted(
      int formatVersion, String partitioning, String deleteGranularity) throws Exception {
    String name = "reads_v" + formatVersion + (partitioning.isEmpty() ? "" : "_partitioned");
    String table = "lake.db." + name;
    Spark spark = new Spark();
    makeLivedIn(spark, table, formatVersion, partitioning.replace(';', ','), deleteGranularity);

    String live =
        formatVersion < 3
            ? "select * from " + table
            : "select *, _row_id, _last_updated_sequence_number from " + table;
    List<String> before = spark.rows(live);
    long snapshot = spark.number(currentSnapshot(table));
    long files = spark.number("select count(*) from " + table + ".data_files");
    assertThat(spark.number("select count(*) from " + table + ".delete_files")).isPositive();

    JsonNode packed = compact(name, "--rewrite-all", "--remove-dangling-deletes");
    assertThat(packed.at("/rows/deleted").asLong()).isPositive();
    assertThat(packed.at("/rows/written").asLong()).isEqualTo(before.size());
    Spark after = new Spark();
    assertThat(after.rows(live)).isEqualTo(before);
    assertThat(after.rows(live.replace(table, table + " version as of " + snapshot)))
        .isEqualTo(before);
    assertThat(after.number("select count(*) from " + table + ".data_files")).isLessThan(files);
    assertThat(after.number("select sum(record_count) from " + table + ".data_files"))
        .isEqualTo(before.size());
    if (deleteGranularity.equals("file")) {
      // Those of a partition from the snapshot compacted have the outputs' sequence number.
      assertThat(after.number("select count(*) from " + table + ".delete_files")).isZero();
    }
    assertThat(outOfOrder(after, table)).isPositive();
    long packedSnapshot = after.number(currentSnapshot(table));

    JsonNode sorted = compact(name, "--rewrite-all", "--sort=table", "--remove-dangling-deletes");
    assertThat(sorted.at("/rows/written").asLong()).isEqualTo(before.size());
    Spark last = new Spark();
    assertThat(last.rows(live)).isEqualTo(before);
    assertThat(last.rows(live.replace(table, table + " version as of " + packedSnapshot)))
        .isEqualTo(before);
    assertThat(last.number("select count(*) from " + table + ".delete_files")).isZero();
    assertThat(outOfOrder(last, table)).isZero();
  }

  @ParameterizedTest(name = "position deletes of a {0} before the upgrade")
  @ValueSource(strings = {"partition", "file"})
  void rowsAndLineageOfAnUpgradedTableStay(String deleteGranularity) throws Exception {
    String name = "upgraded_" + deleteGranularity;
    String table = "lake.db." + name;
    Spark spark = new Spark();
    spark.sql(
        "create table "
            + table
            + " (id bigint, part int, note string) using iceberg partitioned by (part)"
            + " tblproperties ('format-version' = '2', 'write.delete.mode' = 'merge-on-read',"
            + " 'write.update.mode' = 'merge-on-read', 'write.merge.mode' = 'copy-on-write',"
            + " 'write.delete.granularity' = '"
            + deleteGranularity
            + "')");
    String values = "id, cast(id % 2 as int) part, concat('note ', id * 7919 % 101) note";
    insert(spark, table, values, 0, 100);
    insert(spark, table, values, 100, 200);
    spark.sql("delete from " + table + " where id % 5 = 3");
    insert(spark, table, values, 200, 300);
    List<String> rowsBeforeUpgrade = spark.rows("select * from " + table);
    long snapshotBeforeUpgrade = spark.number(currentSnapshot(table));

    spark.sql("alter table " + table + " set tblproperties ('format-version' = '3')");
    insert(spark, table, values, 300, 400);
    spark.sql("delete from " + table + " where id % 10 = 7");
    spark.sql("update " + table + " set note = concat(note, '!') where id % 10 = 4 and id >= 100");
    spark.sql(
        "merge into "
            + table
            + " t using (select id from range(250, 450, 40)) s on t.id = s.id"
            + " when matched then update set note = 'merged'"
            + " when not matched then insert (id, part, note) values (s.id, 0, 'new')");
    assertThat(spark.number("select count(distinct file_format) from " + table + ".delete_files"))
        .as("position deletes in Parquet are there still, beside vectors")
        .isEqualTo(2);
    String live = "select *, _row_id, _last_updated_sequence_number from " + table;
    List<String> before = spark.rows(live);
    assertThat(spark.number("select count(distinct _row_id) from " + table))
        .isEqualTo(before.size());
    long files = spark.number("select count(*) from " + table + ".data_files");

    JsonNode packed = compact(name, "--rewrite-all", "--remove-dangling-deletes");
    assertThat(packed.at("/rows/deleted").asLong()).isPositive();
    assertThat(packed.at("/rows/written").asLong()).isEqualTo(before.size());
    Spark after = new Spark();
    assertThat(after.rows(live)).isEqualTo(before);
    assertThat(after.number("select count(*) from " + table + ".data_files")).isLessThan(files);
    assertThat(after.rows("select * from " + table + " version as of " + snapshotBeforeUpgrade))
        .isEqualTo(rowsBeforeUpgrade);

    after.sql("delete from " + table + " where id % 11 = 5");
    List<String> fewer = after.rows(live);
    assertThat(fewer.size()).isLessThan(before.size());
    compact(name, "--rewrite-all", "--sort=note desc, id", "--remove-dangling-deletes");
    Spark last = new Spark();
    assertThat(last.rows(live)).isEqualTo(fewer);
    assertThat(last.number("select count(*) from " + table + ".delete_files")).isZero();
  }

  @ParameterizedTest(name = "pages of version {0}")
  @ValueSource(strings = {"v1", "v2"})
  void splicedPagesAreReadThroughTheirIndexesAndBloomFilters(String pages) throws Exception {
    String name = "spliced_" + pages;
    String table = "lake.db." + name;
    Spark spark = new Spark();
    spark.sql(
        "create table "
            + table
            + " (id bigint not null, few string, many string, amount double, price decimal(30, 2),"
            + " day date, tags array<string>) using iceberg tblproperties ('format-version' = '2',"
            + " 'write.delete.mode' = 'merge-on-read', 'write.parquet.page-row-limit' = '100',"
            + " 'write.parquet.page-version' = '"
            + pages
            + "', 'write.parquet.bloom-filter-enabled.column.many' = 'true',"
            + " 'write.parquet.bloom-filter-enabled.column.id' = 'true')");
    String values =
        "id, if(id % 9 = 4, null, concat('f', id % 30)) few, concat('m', id * 7919 % 100003) many,"
            + " id / 8D amount, cast(id * 3.25 as decimal(30, 2)) price,"
            + " date_add(date '2020-01-01', cast(id div 100 as int)) day,"
            + " if(id % 7 = 0, null, slice(array('a', null, concat('x', id)), 1,"
            + " cast(id % 4 as int))) tags";
    insert(spark, table, values, 0, 2000);
    insert(spark, table, values, 2000, 3000);
    spark.sql("alter table " + table + " alter column id drop not null");
    insert(spark, table, values, 3000, 5000);
    spark.sql(
        "delete from " + table + " where id % 50 = 3 and id < 1200 or id between 2500 and 2600");
    List<String> filters =
        List.of(
            "true",
            "id = 1234",
            "id between 990 and 1105",
            "id > 4990 or id < 10",
            "many = concat('m', 4321 * 7919 % 100003)",
            "many = 'nowhere'",
            "few = 'f7' and id > 2300",
            "few is null and day = date '2020-01-15'",
            "amount >= 620.5",
            "price = 3250.00",
            "day < date '2020-01-03'");
    List<List<String>> before = new ArrayList<>();
    for (String filter : filters) {
      before.add(spark.rows("select * from " + table + " where " + filter));
    }

    JsonNode report = compact(name, "--rewrite-all", "--remove-dangling-deletes");
    assertThat(report.at("/moved/bytes_spliced").asLong()).isPositive();
    assertThat(report.at("/moved/bytes_transcoded").asLong()).isZero();
    Spark after = new Spark();
    List<String> files = after.rows("select file_path from " + table + ".data_files");
    assertThat(files).hasSize(1);
    String file = files.get(0).replaceAll("[{}']", "");
    for (int i = 0; i < filters.size(); i++) {
      String filter = " where " + filters.get(i);
      assertThat(after.rows("select * from " + table + filter)).as(filter).isEqualTo(before.get(i));
      assertThat(after.rows("select * from parquet.`" + file + "`" + filter))
          .as("%s by Spark's own reader", filter)
          .isEqualTo(before.get(i));
    }
  }

  /* Iceberg's vectorized reader refuses pages in encodings that it does not know, as those are that
  Spark has for booleans in pages of version 2. */
  @ParameterizedTest
  @ValueSource(strings = {"parquet-v1", "parquet-v2"})
  void theEncodingsThatAreAskedForAreReadByTheVectorizedReader(String encoding) throws Exception {
    String name = "encoded_" + encoding.replace('-', '_');
    String table = "lake.db." + name;
    Spark spark = new Spark();
    spark.sql(
        "create table "
            + table
            + " (id bigint not null, key string, few string, amount double, ratio float, at"
            + " timestamp, day date, flag boolean, price decimal(12, 2), total decimal(30, 2), code"
            + " binary) using iceberg tblproperties ('format-version' = '2',"
            + " 'write.parquet.page-row-limit' = '3000',"
            + " 'write.parquet.page-version' = '"
            + (encoding.equals("parquet-v1") ? "v2" : "v1")
            + "')");
    String values =
        "id, if(id % 10 = 4, null, format_string('customer/eu/%09d', id)) key,"
            + " concat('f', id % 30) few, cast(20 + sin(id / 900) as double) amount, if(id % 7 = 1,"
            + " null, cast(cos(id / 900) as float)) ratio,"
            + " if(id between 9000 and 13000, null, timestamp_micros(1700000000000000 + id * 1000003)) at,"
            + " date_add(date '2020-01-01', cast(id div 100 as int)) day, if(id % 13 = 5, null,"
            + " id % 5 = 0) flag, cast(id * 0.25 as decimal(12, 2)) price,"
            + " cast(id * 3.25 as decimal(30, 2)) total, cast(concat('c', id) as binary) code";
    insert(spark, table, values, 0, 9000);
    insert(spark, table, values, 9000, 20000);
    List<String> filters =
        List.of(
            "true",
            "id between 2990 and 3105",
            "key > 'customer/eu/000019'",
            "flag",
            "few is null");
    List<List<String>> before = new ArrayList<>();
    for (String filter : filters) {
      before.add(spark.rowsOneByOne("select * from " + table + " where " + filter));
    }

    compact(name, "--rewrite-all", "--sort=id", "--encoding=" + encoding);

    Spark after = new Spark();
    for (int i = 0; i < filters.size(); i++) {
      String filter = " where " + filters.get(i);
      assertThat(after.rows("select * from " + table + filter)).as(filter).isEqualTo(before.get(i));
    }
  }

  @ParameterizedTest
  @ValueSource(strings = {"g07-equality-deletes", "g07d-dropped-eq-column", "g07f-flink-upsert"})
  void equalityDeletesThatSparkAppliesAreApplied(String name) throws Exception {
    Path golden = Path.of("../golden");
    copy(golden.resolve(name), Spark.GOLDEN.resolve(name));
    String table = "golden.db.`" + name + "`";
    Spark spark = new Spark();
    List<String> before = spark.rows("select * from " + table);
    assertThat(before).hasSameSizeAs(Files.readAllLines(golden.resolve(name + ".expected.jsonl")));
    assertThat(spark.number("select count(*) from " + table + ".delete_files where content = 2"))
        .isPositive();

    JsonNode report =
        FirnRun.compact(
                "db." + name,
                List.of(
                    "--catalog-property=catalog-impl=" + GoldenCatalog.class.getName(),
                    "--warehouse=" + Spark.GOLDEN,
                    "--rewrite-all",
                    "--remove-dangling-deletes"))
            .report();

    assertThat(report.at("/rows/deleted").asLong()).isPositive();
    Spark after = new Spark();
    assertThat(after.rows("select * from " + table)).isEqualTo(before);
    assertThat(after.number("select count(*) from " + table + ".delete_files")).isZero();
  }

  /** Small files of two schemas, with deletes, updates and a merge on read. */
  private static void makeLivedIn(
      Spark spark, String table, int formatVersion, String partitioning, String deleteGranularity) {
    spark.sql(
        "create table "
            + table
            + " ("
            + COLUMNS
            + ") using iceberg "
            + partitioning
            + " tblproperties ('format-version' = '"
            + formatVersion
            + "', 'write.delete.mode' = 'merge-on-read', 'write.update.mode' = 'merge-on-read',"
            + " 'write.merge.mode' = 'merge-on-read', 'write.delete.granularity' = '"
            + deleteGranularity
            + "')");
    insert(spark, table, VALUES, 0, 300);
    spark.sql("delete from " + table + " where id % 29 = 4");
    insert(spark, table, VALUES, 300, 600);
    spark.sql("alter table " + table + " add column grade int after qty");
    spark.sql("alter table " + table + " add column address.country string");
    spark.sql("alter table " + table + " alter column qty type bigint");
    spark.sql("alter table " + table + " alter column ratio type double");
    spark.sql("alter table " + table + " alter column price type decimal(18, 2)");
    spark.sql("alter table " + table + " alter column parts.element.n type bigint");
    spark.sql("alter table " + table + " rename column note to remark");
    spark.sql("alter table " + table + " drop column day");
    spark.sql("alter table " + table + " add column day string");
    spark.sql("alter table " + table + " write locally ordered by remark desc nulls last, id");
    insert(
        spark,
        table,
        "id, cast(id as bigint) qty, cast(id % 6 as int) grade, price, big, weight,"
            + " cast(ratio as double) ratio, flag, ts, local_ts, note remark, raw,"
            + " if(address is null, null, named_struct('city', address.city, 'zip', address.zip,"
            + " 'country', 'x')) address, tags, counts,"
            + " transform(parts, p -> if(p is null, null, named_struct('sku', p.sku, 'n',"
            + " cast(p.n as bigint)))) parts, concat('day ', id) day from (select "
            + VALUES,
        600,
        900);
    spark.sql("delete from " + table + " where id % 10 = 3");
    spark.sql(
        "update "
            + table
            + " set remark = concat(remark, '!'), qty = qty + 1, address.zip = -1"
            + " where id % 10 = 5");
    spark.sql(
        "merge into "
            + table
            + " t using (select id * 7 id, id % 3 op from range(1, 160)) s on t.id = s.id"
            + " when matched and s.op = 0 then delete"
            + " when matched then update set t.qty = -s.id, t.tags = array('merged')"
            + " when not matched then insert (id, remark, flag) values (s.id, 'new', true)");
  }

  /** Two files, or two in every partition. */
  private static void insert(Spark spark, String table, String values, int from, int to) {
    spark.sql(
        "insert into "
            + table
            + " select "
            + values
            + " from range("
            + from
            + ", "
            + to
            + ", 1, 2)"
            + (values.contains("(select ") ? ")" : ""));
  }

  private static JsonNode compact(String name, String... options) throws Exception {
    List<String> all =
        Stream.concat(
                Stream.of("--type=hadoop", "--warehouse=" + Spark.WAREHOUSE), Stream.of(options))
            .toList();
    return FirnRun.compact("db." + name, all).report();
  }

  private static String currentSnapshot(String table) {
    return "select snapshot_id from " + table + ".refs where name = 'main'";
  }

  /** Rows that are before another of their file that the table's sort order puts first. */
  private static long outOfOrder(Spark spark, String table) {
    return spark.number(
        "select count(*) from (select remark, id, lag(remark) over file prior,"
            + " lag(id) over file prior_id from "
            + table
            + " window file as (partition by _file order by _pos)) where prior_id is not null and"
            + " (remark > prior or (prior is null and remark is not null)"
            + " or (remark <=> prior and id < prior_id))");
  }

  private static void copy(Path source, Path target) throws IOException {
    try (Stream<Path> files = Files.walk(source)) {
      for (Path file : files.sorted().toList()) {
        Path copy = target.resolve(source.relativize(file).toString());
        if (Files.isDirectory(file)) {
          Files.createDirectories(copy);
        } else {
          Files.copy(file, copy);
        }
      }
    }
  }
}
