package dev.firn.engine.cli;

import java.math.BigDecimal;
import java.time.LocalDateTime;
import java.time.OffsetDateTime;
import java.time.ZoneOffset;
import java.util.ArrayList;
import java.util.List;
import java.util.Locale;
import java.util.Map;
import java.util.SplittableRandom;
import org.apache.iceberg.AppendFiles;
import org.apache.iceberg.DataFile;
import org.apache.iceberg.PartitionSpec;
import org.apache.iceberg.RowDelta;
import org.apache.iceberg.Schema;
import org.apache.iceberg.SortOrder;
import org.apache.iceberg.Table;
import org.apache.iceberg.TableProperties;
import org.apache.iceberg.catalog.Catalog;
import org.apache.iceberg.catalog.TableIdentifier;
import org.apache.iceberg.data.GenericRecord;
import org.apache.iceberg.data.Record;
import org.apache.iceberg.types.Types;

/** The demo's two tables, with the same rows every time: days of appends, upserts and deletes. */
final class DemoTables {
  static final TableIdentifier ORDERS = TableIdentifier.of("demo", "orders");
  static final TableIdentifier EVENTS = TableIdentifier.of("demo", "events");

  private static final long SEED = 20_260_131;
  private static final LocalDateTime FIRST_DAY = LocalDateTime.of(2026, 1, 1, 0, 0);

  private static final Schema ORDERS_SCHEMA =
      new Schema(
          Types.NestedField.required(1, "id", Types.LongType.get()),
          Types.NestedField.required(2, "customer", Types.IntegerType.get()),
          Types.NestedField.optional(3, "status", Types.StringType.get()),
          Types.NestedField.optional(4, "amount", Types.DecimalType.of(12, 2)),
          Types.NestedField.required(5, "ts", Types.TimestampType.withZone()),
          Types.NestedField.optional(6, "note", Types.StringType.get()));

  private static final Schema EVENTS_SCHEMA =
      new Schema(
          Types.NestedField.required(1, "ts", Types.TimestampType.withZone()),
          Types.NestedField.required(2, "device", Types.IntegerType.get()),
          Types.NestedField.optional(3, "kind", Types.StringType.get()),
          Types.NestedField.optional(4, "reading", Types.DoubleType.get()));

  private static final String[] STATUS = {"placed", "paid", "packed", "shipped", "returned"};
  private static final String[] NOTES = {"", "gift wrap", "leave at the door", "call before"};
  private static final String[] KINDS = {"temperature", "humidity", "door", "battery"};

  private DemoTables() {}

  /**
   * {@code demo.orders}: twelve days of eight small files each, every other with an upsert of older
   * orders (an equality delete file and the new rows), every third with cancelled orders (a
   * position delete file). Sorted by customer and time, says the table; not one file is.
   */
  static Table orders(Catalog catalog) {
    Table table =
        catalog
            .buildTable(ORDERS, ORDERS_SCHEMA)
            .withSortOrder(SortOrder.builderFor(ORDERS_SCHEMA).asc("customer").asc("ts").build())
            .withProperties(
                Map.of(
                    TableProperties.FORMAT_VERSION, "2",
                    TableProperties.PARQUET_COMPRESSION, "zstd"))
            .create();
    DemoWriter writer = new DemoWriter(table, "id");
    SplittableRandom random = new SplittableRandom(SEED);
    int days = 12;
    int filesPerDay = 8;
    int rowsPerFile = 1_000;
    long id = 0;
    for (int day = 0; day < days; day++) {
      AppendFiles append = table.newFastAppend();
      List<DataFile> written = new ArrayList<>();
      for (int file = 0; file < filesPerDay; file++) {
        List<Record> rows = new ArrayList<>(rowsPerFile);
        for (int row = 0; row < rowsPerFile; row++) {
          rows.add(order(id++, day, random));
        }
        written.add(writer.data(rows));
      }
      written.forEach(append::appendFile);
      append.commit();
      if (day % 2 == 1 && day < days - 1) {
        upsert(table, writer, id, day, random);
      }
      if (day % 3 == 2 && day < days - 1) {
        RowDelta cancelled = table.newRowDelta();
        cancelled.addDeletes(writer.positionDeletes(written.subList(0, 4), 20));
        cancelled.commit();
      }
    }
    return table;
  }

  private static void upsert(
      Table table, DemoWriter writer, long ids, int day, SplittableRandom random) {
    List<Record> keys = new ArrayList<>();
    List<Record> rows = new ArrayList<>();
    long stride = ids / 400;
    for (long id = random.nextLong(stride); id < ids; id += stride) {
      GenericRecord key = GenericRecord.create(writer.keySchema());
      key.setField("id", id);
      keys.add(key);
      rows.add(order(id, day, random));
    }
    RowDelta delta = table.newRowDelta();
    delta.addRows(writer.data(rows)).addDeletes(writer.equalityDeletes(keys));
    delta.commit();
  }

  private static Record order(long id, int day, SplittableRandom random) {
    GenericRecord row = GenericRecord.create(ORDERS_SCHEMA);
    row.setField("id", id);
    row.setField("customer", random.nextInt(5_000));
    row.setField("status", STATUS[random.nextInt(STATUS.length)]);
    row.setField("amount", BigDecimal.valueOf(random.nextInt(100, 500_000), 2));
    row.setField("ts", time(day, random));
    String note = NOTES[random.nextInt(NOTES.length)];
    row.setField("note", note.isEmpty() ? null : note + " #" + random.nextInt(10_000));
    return row;
  }

  /**
   * {@code demo.events}: format version 3, a week of ten small files a day, partitioned by day,
   * with deletion vectors on half of the files of every other day.
   */
  static Table events(Catalog catalog) {
    Table table =
        catalog
            .buildTable(EVENTS, EVENTS_SCHEMA)
            .withPartitionSpec(PartitionSpec.builderFor(EVENTS_SCHEMA).day("ts").build())
            .withProperties(
                Map.of(
                    TableProperties.FORMAT_VERSION, "3",
                    TableProperties.PARQUET_COMPRESSION, "zstd"))
            .create();
    DemoWriter writer = new DemoWriter(table, "device");
    SplittableRandom random = new SplittableRandom(SEED);
    int filesPerDay = 10;
    int rowsPerFile = 800;
    for (int day = 0; day < 7; day++) {
      AppendFiles append = table.newFastAppend();
      List<DataFile> written = new ArrayList<>();
      for (int file = 0; file < filesPerDay; file++) {
        List<Record> rows = new ArrayList<>(rowsPerFile);
        for (int row = 0; row < rowsPerFile; row++) {
          rows.add(event(day, random));
        }
        written.add(writer.data(rows));
      }
      written.forEach(append::appendFile);
      append.commit();
      if (day % 2 == 0) {
        RowDelta deletes = table.newRowDelta();
        writer.deletionVectors(written.subList(0, filesPerDay / 2), 2).forEach(deletes::addDeletes);
        deletes.commit();
      }
    }
    return table;
  }

  private static Record event(int day, SplittableRandom random) {
    GenericRecord row = GenericRecord.create(EVENTS_SCHEMA);
    row.setField("ts", time(day, random));
    row.setField("device", random.nextInt(2_000));
    row.setField("kind", KINDS[random.nextInt(KINDS.length)].toUpperCase(Locale.ROOT));
    row.setField("reading", random.nextDouble(-20, 120));
    return row;
  }

  private static OffsetDateTime time(int day, SplittableRandom random) {
    return FIRST_DAY
        .plusDays(day)
        .plusNanos(random.nextLong(24L * 3_600_000_000L) * 1_000)
        .atOffset(ZoneOffset.UTC);
  }
}
