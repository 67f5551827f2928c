package dev.firn.bench.sidebyside;

import java.io.IOException;
import java.math.BigDecimal;
import java.nio.file.Path;
import java.time.Instant;
import java.time.LocalDate;
import java.time.ZoneOffset;
import java.util.ArrayList;
import java.util.LinkedHashSet;
import java.util.List;
import java.util.Map;
import java.util.Set;
import java.util.SplittableRandom;
import java.util.UUID;
import java.util.stream.Collectors;
import java.util.stream.IntStream;
import org.apache.iceberg.FileFormat;
import org.apache.iceberg.Schema;
import org.apache.iceberg.Table;
import org.apache.iceberg.data.GenericFileWriterFactory;
import org.apache.iceberg.data.GenericRecord;
import org.apache.iceberg.data.Record;
import org.apache.iceberg.deletes.EqualityDeleteWriter;
import org.apache.iceberg.io.DataWriter;
import org.apache.iceberg.io.OutputFileFactory;
import org.apache.spark.sql.Dataset;
import org.apache.spark.sql.Row;
import org.apache.spark.sql.SparkSession;
import org.apache.spark.sql.catalyst.analysis.NoSuchTableException;

/**
 * Makes the table of each case, with Spark and, for what Flink would write, with Iceberg's writers.
 * Every value is a hash of the row's number, so that the same rows and seed make the same table.
 * Runs in a process of its own, as Spark's memory is not to be in the way of what is measured.
 */
public final class TableGenerator {
  /** To be raised whenever other tables are made: those of before are made anew. */
  static final int VERSION = 1;

  private static final List<String> WORDS =
      List.of(
          ("acid basin cedar delta ember fjord glade harbor inlet juniper kettle lagoon meadow nectar"
                  + " orchard prairie quarry ravine savanna tundra upland valley willow xylem yonder"
                  + " zephyr alder birch canyon dune estuary forest glacier heath island jungle knoll"
                  + " loch marsh nunatak oasis peat quartz reef steppe thicket umber volcano wetland"
                  + " arroyo bluff crevasse drift esker fen gorge hollow icefall karst moraine"
                  + " outcrop pond ridge serac talus")
              .split(" "));
  private static final List<String> MODES =
      List.of("air", "barge", "courier", "mail", "rail", "sea freight", "truck");
  private static final int DAYS = 2_500;
  private static final int PARTITION_DAYS = 16;
  private static final int BUCKETS = 4;
  private static final int UPSERT_COMMITS = 20;
  private static final int UPSERT_KEYS = 10_000;
  private static final int WIDE_COLUMNS = 200;

  private static final String COLUMNS =
      "k BIGINT NOT NULL, part INT, ship_date DATE, event_ts TIMESTAMP, price DECIMAL(12, 2),"
          + " weight DOUBLE, mode STRING, uid STRING, note STRING, returned BOOLEAN";
  private static final String NESTED_COLUMNS =
      "k BIGINT NOT NULL, event_ts TIMESTAMP,"
          + " customer STRUCT<name: STRING, address: STRUCT<city: STRING, zip: INT>>,"
          + " items ARRAY<STRUCT<sku: STRING, quantity: INT, price: DECIMAL(10, 2)>>,"
          + " tags ARRAY<STRING>, attributes MAP<STRING, STRING>";

  private final SparkSession spark;
  private final Warehouse warehouse;
  private final long wantedRows;
  private final long seed;

  private TableGenerator(SparkSession spark, Warehouse warehouse, long wantedRows, long seed) {
    this.spark = spark;
    this.warehouse = warehouse;
    this.wantedRows = wantedRows;
    this.seed = seed;
  }

  /**
   * Takes the warehouse's directory, one for scratch, threads, rows, seed and the cases' labels.
   * Prints the label of each table that is done.
   */
  public static void main(String[] args) throws Exception {
    Warehouse warehouse = new Warehouse(Path.of(args[0]));
    SparkSession spark =
        SparkSessions.start(warehouse, Integer.parseInt(args[2]), Path.of(args[1]));
    try {
      TableGenerator generator =
          new TableGenerator(spark, warehouse, Long.parseLong(args[3]), Long.parseLong(args[4]));
      for (String label : List.of(args).subList(5, args.length)) {
        generator.generate(Case.of(label));
        System.out.println(label);
      }
    } finally {
      spark.stop();
    }
  }

  private void generate(Case which) throws IOException, NoSuchTableException {
    String table = SparkSessions.CATALOG + "." + Warehouse.NAMESPACE + "." + which.tableName();
    create(which, table);
    long rows = which.rows(wantedRows);
    switch (which) {
      case CLEAN, EQUALITY_DELETES -> orders(0, rows, 64).writeTo(table).append();
      case POSITION_DELETES, DELETION_VECTORS -> {
        orders(0, rows, 64).writeTo(table).append();
        deleteScattered(table);
      }
      case CLUSTERED_DELETES -> {
        orders(0, rows, 64).writeTo(table).append();
        spark.sql(
            String.format(
                "DELETE FROM %s WHERE k >= %d AND k < %d AND pmod(%s, 2) = 0",
                table, rows * 40 / 100, rows * 45 / 100, hash("k", 77)));
      }
      case SORT, Z_ORDER -> shuffled(rows).writeTo(table).append();
      case PARTITIONS -> {
        // Each append leaves a file in every partition.
        for (int i = 0; i < 4; i++) {
          partitioned(rows * i / 4, rows * (i + 1) / 4).writeTo(table).append();
        }
        deleteScattered(table);
      }
      case WIDE -> wide(rows).writeTo(table).append();
      case NESTED -> {
        nested(rows).writeTo(table).append();
        deleteScattered(table);
      }
      case TINY -> {
        // A writer looks at the size of its file every 1,000 rows, and then begins another.
        orders(0, rows, 20).writeTo(table).option("target-file-size-bytes", "1").append();
      }
      case HUGE ->
          orders(0, rows, 1)
              .writeTo(table)
              .option("target-file-size-bytes", Long.toString(Long.MAX_VALUE))
              .append();
    }
    if (which == Case.SORT) {
      // Only now, so that the writer has not sorted them.
      spark.sql("ALTER TABLE " + table + " WRITE ORDERED BY ship_date, k");
    }
    if (which == Case.EQUALITY_DELETES) {
      upsert(warehouse.table(which), rows);
    }
  }

  private void create(Case which, String table) throws IOException {
    spark.sql(
        "CREATE NAMESPACE IF NOT EXISTS " + SparkSessions.CATALOG + "." + Warehouse.NAMESPACE);
    Warehouse.delete(warehouse.tableDirectory(which));
    String columns =
        switch (which) {
          case NESTED -> NESTED_COLUMNS;
          case WIDE ->
              IntStream.range(0, WIDE_COLUMNS)
                  .mapToObj(i -> "c" + i + " " + wideType(i))
                  .collect(Collectors.joining(", "));
          default -> COLUMNS;
        };
    spark.sql(
        "CREATE TABLE "
            + table
            + " ("
            + columns
            + ") USING iceberg"
            + (which == Case.PARTITIONS
                ? " PARTITIONED BY (days(event_ts), bucket(" + BUCKETS + ", k))"
                : "")
            + " TBLPROPERTIES ('write.parquet.compression-codec' = 'zstd',"
            + " 'write.delete.mode' = 'merge-on-read', 'write.delete.granularity' = '"
            + (which == Case.PARTITIONS ? "partition" : "file")
            + "', 'format-version' = '"
            + (which == Case.DELETION_VECTORS ? 3 : 2)
            + "')");
  }

  /**
   * A pseudo-random long for a row: {@code of} is an expression, {@code salt} tells columns apart.
   */
  private String hash(String of, int salt) {
    return "xxhash64(" + of + ", " + (seed * 1_000 + salt) + "L)";
  }

  private static String quotedArray(List<String> texts) {
    return "array('" + String.join("', '", texts) + "')";
  }

  /** Rows of a table of ordinary width with keys from {@code from}, in order, in so many files. */
  private Dataset<Row> orders(long from, long to, int files) {
    return orders(from, to, files, "id", DAYS);
  }

  private Dataset<Row> shuffled(long rows) {
    return orders(0, rows, 64, "pmod(h0, " + rows + "L)", DAYS);
  }

  private Dataset<Row> partitioned(long from, long to) {
    return orders(from, to, 4, "id", PARTITION_DAYS);
  }

  private Dataset<Row> orders(long from, long to, int files, String key, int days) {
    List<String> hashes = new ArrayList<>(List.of("id"));
    for (int i = 0; i < 6; i++) {
      hashes.add(hash("id", i) + " AS h" + i);
    }
    hashes.add(quotedArray(WORDS) + " AS words");
    hashes.add(quotedArray(MODES) + " AS modes");
    String note =
        IntStream.range(0, 5)
            .mapToObj(i -> "words[cast(shiftright(h4, " + 6 * i + ") & 63 AS INT)]")
            .collect(Collectors.joining(", ", "concat_ws(' ', ", ")"));
    return spark
        .range(from, to, 1, files)
        .selectExpr(hashes.toArray(String[]::new))
        .selectExpr(
            "coalesce(" + key + ", 0L) AS k",
            "if(h5 & 15 = 0, null, cast(pmod(h1, 200000) AS INT)) AS part",
            "date_add(DATE '1992-01-01', cast(pmod(shiftright(h1, 20), "
                + DAYS
                + ") AS INT))"
                + " AS ship_date",
            "timestamp_micros(694224000000000L + pmod(h2, "
                + days
                + "L * 86400000) * 1000)"
                + " AS event_ts",
            "cast(cast(pmod(shiftright(h3, 8), 10000000) AS DECIMAL(12, 0)) / 100"
                + " AS DECIMAL(12, 2)) AS price",
            "if(h5 & 240 = 0, null, cast(pmod(shiftright(h3, 30), 50000000) AS DOUBLE) / 1000)"
                + " AS weight",
            "modes[cast(pmod(shiftright(h5, 8), 7) AS INT)] AS mode",
            "lower(concat_ws('-', substr(hex(h0), 1, 8), substr(hex(h0), 9, 4),"
                + " substr(hex(h0), 13, 4), substr(hex(h2), 1, 4), substr(hex(h2), 5, 12))) AS uid",
            "if(h5 & 3840 = 0, null, " + note + ") AS note",
            "h5 & 4096 = 0 AS returned");
  }

  private static String wideType(int column) {
    return switch (column % 4) {
      case 0 -> "BIGINT";
      case 1 -> "DOUBLE";
      case 2 -> "STRING";
      default -> "INT";
    };
  }

  private Dataset<Row> wide(long rows) {
    String[] columns =
        IntStream.range(0, WIDE_COLUMNS)
            .mapToObj(
                i -> {
                  String hash = hash("id", i);
                  String value =
                      switch (i % 4) {
                        case 0 -> "pmod(" + hash + ", 16777216)";
                        case 1 -> "cast(pmod(" + hash + ", 100000) AS DOUBLE) / 100";
                        case 2 -> "concat('value ', pmod(" + hash + ", 500))";
                        default -> "cast(pmod(" + hash + ", 100) AS INT)";
                      };
                  return value + " AS c" + i;
                })
            .toArray(String[]::new);
    return spark.range(0, rows, 1, 16).selectExpr(columns);
  }

  /** Of every list and map some are null, some empty. */
  private Dataset<Row> nested(long rows) {
    String words = quotedArray(WORDS);
    return spark
        .range(0, rows, 1, 32)
        .selectExpr("id", hash("id", 0) + " AS h0", hash("id", 1) + " AS h1", words + " AS words")
        .selectExpr(
            "id AS k",
            "timestamp_micros(694224000000000L + pmod(h0, "
                + DAYS
                + "L * 86400000) * 1000)"
                + " AS event_ts",
            "if(h1 & 31 = 0, null, named_struct('name', concat('customer ', pmod(h0, 100000)),"
                + " 'address', if(h1 & 32 = 0, null, named_struct("
                + "'city', words[cast(pmod(h1, 64) AS INT)],"
                + " 'zip', cast(10000 + pmod(h1, 90000) AS INT))))) AS customer",
            "CASE WHEN h1 & 448 = 0 THEN null WHEN h1 & 448 = 64 THEN array() ELSE"
                + " transform(sequence(1, 1 + cast(pmod(h1, 4) AS INT)), i -> named_struct("
                + "'sku', concat('sku-', pmod(xxhash64(h0, i), 50000)),"
                + " 'quantity', cast(1 + pmod(xxhash64(i, h0), 9) AS INT),"
                + " 'price', cast(pmod(xxhash64(h1, i), 100000) / 100 AS DECIMAL(10, 2)))) END"
                + " AS items",
            "CASE WHEN h1 & 3584 = 0 THEN null WHEN h1 & 3584 = 512 THEN array() ELSE"
                + " transform(sequence(1, 1 + cast(pmod(h0, 3) AS INT)), i ->"
                + " words[cast(pmod(xxhash64(h0, i, 7), 64) AS INT)]) END AS tags",
            "CASE WHEN h1 & 28672 = 0 THEN null ELSE map_from_arrays("
                + "transform(sequence(1, 1 + cast(pmod(h1, 3) AS INT)), i -> concat('attr', i)),"
                + " transform(sequence(1, 1 + cast(pmod(h1, 3) AS INT)), i ->"
                + " if(pmod(h0, 5) = i, null, concat('value ', pmod(xxhash64(h1, i, 9), 1000)))))"
                + " END AS attributes");
  }

  /** Deletes 5 % of the rows, scattered over all files: 2 %, 2 % and 1 % in three commits. */
  private void deleteScattered(String table) {
    int[] thousandths = {0, 20, 40, 50};
    String hash = "pmod(" + hash("k", 77) + ", 1000)";
    for (int i = 1; i < thousandths.length; i++) {
      spark.sql(
          String.format(
              "DELETE FROM %s WHERE %s >= %d AND %s < %d",
              table, hash, thousandths[i - 1], hash, thousandths[i]));
    }
  }

  /** Each checkpoint of a Flink job adds a file of new rows and one of the keys they replace. */
  private void upsert(Table table, long rows) throws IOException {
    Schema keySchema = table.schema().select("k");
    GenericFileWriterFactory writers =
        new GenericFileWriterFactory.Builder(table)
            .dataFileFormat(FileFormat.PARQUET)
            .dataSchema(table.schema())
            .deleteFileFormat(FileFormat.PARQUET)
            .equalityFieldIds(new int[] {table.schema().findField("k").fieldId()})
            .equalityDeleteRowSchema(keySchema)
            .build();
    long keys = Math.min(UPSERT_KEYS, Math.max(1, rows / 100));
    for (int commit = 0; commit < UPSERT_COMMITS; commit++) {
      SplittableRandom random = new SplittableRandom(seed * 1_000 + commit);
      Set<Long> replaced = new LinkedHashSet<>();
      while (replaced.size() < keys) {
        replaced.add(random.nextLong(rows));
      }
      OutputFileFactory files =
          OutputFileFactory.builderFor(table, 0, commit)
              .operationId("upsert")
              .format(FileFormat.PARQUET)
              .build();
      DataWriter<Record> data = writers.newDataWriter(files.newOutputFile(), table.spec(), null);
      EqualityDeleteWriter<Record> deletes =
          writers.newEqualityDeleteWriter(files.newOutputFile(), table.spec(), null);
      try (data;
          deletes) {
        for (long key : replaced) {
          deletes.write(GenericRecord.create(keySchema).copy(Map.of("k", key)));
          data.write(order(table.schema(), key, random));
        }
      }
      table.newRowDelta().addRows(data.toDataFile()).addDeletes(deletes.toDeleteFile()).commit();
    }
  }

  private static Record order(Schema schema, long key, SplittableRandom random) {
    GenericRecord order = GenericRecord.create(schema);
    order.setField("k", key);
    order.setField("part", random.nextInt(200_000));
    order.setField("ship_date", LocalDate.of(1992, 1, 1).plusDays(random.nextInt(DAYS)));
    order.setField(
        "event_ts",
        Instant.ofEpochMilli(694_224_000_000L + random.nextLong(DAYS * 86_400_000L))
            .atOffset(ZoneOffset.UTC));
    order.setField("price", BigDecimal.valueOf(random.nextLong(10_000_000), 2));
    order.setField("weight", random.nextInt(50_000_000) / 1_000d);
    order.setField("mode", MODES.get(random.nextInt(MODES.size())));
    order.setField("uid", new UUID(random.nextLong(), random.nextLong()).toString());
    order.setField(
        "note",
        random.ints(5, 0, WORDS.size()).mapToObj(WORDS::get).collect(Collectors.joining(" ")));
    order.setField("returned", random.nextBoolean());
    return order;
  }
}
