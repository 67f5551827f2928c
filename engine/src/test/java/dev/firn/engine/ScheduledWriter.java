package dev.firn.engine;

import dev.firn.commit.DanglingDeletes;
import dev.firn.engine.LogicalTable.Row;
import dev.firn.engine.Schedule.Op;
import dev.firn.testdata.TableFiles;
import dev.firn.testdata.TableRows;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.Collection;
import java.util.Collections;
import java.util.HashMap;
import java.util.HashSet;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.Objects;
import java.util.Random;
import java.util.Set;
import java.util.TreeMap;
import java.util.TreeSet;
import java.util.stream.LongStream;
import org.apache.iceberg.AppendFiles;
import org.apache.iceberg.ContentFile;
import org.apache.iceberg.DataFile;
import org.apache.iceberg.DeleteFile;
import org.apache.iceberg.DeleteFiles;
import org.apache.iceberg.FileContent;
import org.apache.iceberg.OverwriteFiles;
import org.apache.iceberg.PartitionField;
import org.apache.iceberg.PartitionKey;
import org.apache.iceberg.PartitionSpec;
import org.apache.iceberg.RewriteFiles;
import org.apache.iceberg.RowDelta;
import org.apache.iceberg.Schema;
import org.apache.iceberg.Snapshot;
import org.apache.iceberg.SnapshotRef;
import org.apache.iceberg.StructLike;
import org.apache.iceberg.Table;
import org.apache.iceberg.TableUtil;
import org.apache.iceberg.UpdateSchema;
import org.apache.iceberg.data.GenericRecord;
import org.apache.iceberg.data.InternalRecordWrapper;
import org.apache.iceberg.data.Record;
import org.apache.iceberg.expressions.Expressions;
import org.apache.iceberg.expressions.Literal;
import org.apache.iceberg.types.Type;
import org.apache.iceberg.types.TypeUtil;
import org.apache.iceberg.types.Types;
import org.jspecify.annotations.Nullable;

/**
 * A writer that commits to a branch with a handle of its own and tells the logical table what that
 * does. Nobody else may commit meanwhile.
 *
 * <p>Which rows a delete reaches is decided on the branch as it is, by identity, spec and partition
 * of the files that hold them. Writers sometimes use an older schema or spec of the table.
 */
final class ScheduledWriter {
  static final int ID = 1;
  static final int REGION = 2;
  static final int QUARTER = 3;
  static final int IDENTITY = 4;
  static final int NOTE = 5;

  /* Partition and sort columns are never dropped. */
  static final Schema SCHEMA =
      new Schema(
          Types.NestedField.required(ID, "id", Types.IntegerType.get()),
          Types.NestedField.optional(REGION, "region", Types.StringType.get()),
          Types.NestedField.optional(QUARTER, "quarter", Types.IntegerType.get()),
          Types.NestedField.required(IDENTITY, "identity", Types.LongType.get()),
          Types.NestedField.optional(NOTE, "note", Types.StringType.get()));

  private static final int LAST_KEPT_COLUMN = IDENTITY;
  private static final int IDS = 4;
  private static final int FIELDS_OF_SPEC_MAX = 2;

  private final Table table;
  private final String branch;
  private final LogicalTable model;
  private final Map<String, long[]> identitiesByFile;
  private final Path scratch;
  private final Random random;

  /**
   * @param table a handle that nobody else uses
   * @param identitiesByFile the rows of known files, by location; shared by all writers
   */
  ScheduledWriter(
      Table table,
      String branch,
      LogicalTable model,
      Map<String, long[]> identitiesByFile,
      Path scratch,
      Random random) {
    this.table = table;
    this.branch = branch;
    this.model = model;
    this.identitiesByFile = identitiesByFile;
    this.scratch = scratch;
    this.random = random;
  }

  /** Does it, if the table as it is allows it; says what was done. */
  String perform(Op op) {
    if (formatVersion() < 2 && NEEDS_DELETES.contains(op)) {
      return "nothing, version 1";
    }
    return switch (op) {
      case APPEND -> append();
      case UPSERT -> upsert();
      case DELETE_KEYS -> deleteKeys();
      case DELETE_POSITIONS -> deletePositions();
      case CONVERT_DELETES -> convertDeletes(true);
      case CONVERT_DELETES_BY_ROW_DELTA -> convertDeletes(false);
      case OVERWRITE -> overwrite();
      case DELETE_FILE -> deleteFile();
      case COMPACT -> compact();
      case COMPACT_BY_FIRN -> compactByFirn();
      case REMOVE_DANGLING -> {
        int removed = DanglingDeletes.remove(table, branch, "another");
        settle();
        yield removed + " delete files";
      }
      case REWRITE_MANIFESTS -> rewriteManifests();
      case CHANGE_SCHEMA -> changeSchema();
      case CHANGE_SPEC -> changeSpec();
      case CHANGE_ORDER -> {
        table.replaceSortOrder().desc(random.nextBoolean() ? "id" : "region").commit();
        yield table.sortOrder().toString().replace('\n', ' ');
      }
      case SET_PROPERTY -> {
        table.updateProperties().set("a.property", "" + random.nextInt(100)).commit();
        yield "a.property";
      }
      case UPGRADE -> upgrade();
      case EXPIRE -> expire();
      case ROLL_BACK -> rollBack();
      case COMMIT_TO_BRANCH -> commitToBranch();
    };
  }

  private static final Set<Op> NEEDS_DELETES =
      Set.of(
          Op.UPSERT,
          Op.DELETE_KEYS,
          Op.DELETE_POSITIONS,
          Op.CONVERT_DELETES,
          Op.CONVERT_DELETES_BY_ROW_DELTA,
          Op.REMOVE_DANGLING);

  /** Snapshots that this writer's tools made: none of them changes rows. */
  private void settle() {
    table.refresh();
    List<Snapshot> unknown = new ArrayList<>();
    table.snapshots().forEach(unknown::add);
    unknown.removeIf(model::knows);
    unknown.sort((one, other) -> Long.compare(one.timestampMillis(), other.timestampMillis()));
    if (formatVersion() >= 2) {
      unknown.sort((one, other) -> Long.compare(one.sequenceNumber(), other.sequenceNumber()));
    }
    unknown.forEach(model::holdsRowsOfParent);
  }

  private void holds(Map<Long, Row> rows) {
    table.refresh();
    Snapshot head = Objects.requireNonNull(table.snapshot(branch));
    if (model.knows(head)) {
      throw new IllegalStateException("Nothing was committed to " + branch);
    }
    model.holds(head, rows);
  }

  private int formatVersion() {
    return TableUtil.formatVersion(table);
  }

  private <T> T pick(Collection<T> from) {
    return new ArrayList<>(from).get(random.nextInt(from.size()));
  }

  private boolean oneIn(int count) {
    return random.nextInt(count) == 0;
  }

  private @Nullable Snapshot head() {
    return table.snapshot(branch);
  }

  // ---- where rows are

  /** Where a live row lies. */
  private record Place(DataFile file, int position) {}

  private List<DataFile> dataFiles() {
    Snapshot head = head();
    return head == null ? List.of() : TableRows.dataFiles(table, head);
  }

  private long[] identities(DataFile file) {
    return identitiesByFile.computeIfAbsent(
        file.location(),
        location ->
            TableRows.inFile(table, file).stream()
                .mapToLong(row -> (Long) row.getField("identity"))
                .toArray());
  }

  private Map<Long, Place> places(Map<Long, Row> rows) {
    Map<Long, Place> places = new HashMap<>();
    for (DataFile file : dataFiles()) {
      long[] identities = identities(file);
      for (int position = 0; position < identities.length; position++) {
        if (rows.containsKey(identities[position])) {
          places.put(identities[position], new Place(file, position));
        }
      }
    }
    return places;
  }

  private static boolean samePartition(ContentFile<?> one, ContentFile<?> other) {
    return one.specId() == other.specId() && tuple(one).equals(tuple(other));
  }

  private static List<String> tuple(ContentFile<?> file) {
    List<String> tuple = new ArrayList<>();
    for (int pos = 0; pos < file.partition().size(); pos++) {
      Object value = file.partition().get(pos, Object.class);
      tuple.add(value == null ? "null" : "=" + value);
    }
    return tuple;
  }

  private static String name(ContentFile<?> file) {
    return file.location()
        .replaceFirst(".*/", "")
        .replaceFirst("(-[0-9a-f]{8})[-0-9a-f]{28}", "$1");
  }

  // ---- rows

  /** The schema of a writer that may not have heard of the newest. */
  private Schema writerSchema() {
    return oneIn(6) ? pick(table.schemas().values()) : table.schema();
  }

  private PartitionSpec writerSpec() {
    return oneIn(6) ? pick(table.specs().values()) : table.spec();
  }

  private Row newRow(Schema schema) {
    Map<Integer, Object> values = new HashMap<>();
    long identity = model.newIdentity();
    for (Types.NestedField field : schema.columns()) {
      Object value = field.fieldId() == IDENTITY ? Long.valueOf(identity) : newValue(field);
      values.put(field.fieldId(), value);
    }
    return new Row(identity, values);
  }

  private @Nullable Object newValue(Types.NestedField field) {
    if (field.isOptional() && oneIn(5)) {
      return null;
    }
    return switch (field.fieldId()) {
      case ID -> LogicalTable.typed(random.nextInt(IDS), field.type());
      case REGION -> List.of("a", "b", "null").get(random.nextInt(7) / 3);
      default ->
          field.type().typeId() == Type.TypeID.STRING
              ? "n" + random.nextInt(3)
              : LogicalTable.typed(random.nextInt(2), field.type());
    };
  }

  private List<Row> newRows(Schema schema, int max) {
    List<Row> rows = new ArrayList<>();
    for (int i = 1 + random.nextInt(max); i > 0; i--) {
      rows.add(newRow(schema));
    }
    return rows;
  }

  private TableFiles files() {
    return TableFiles.of(table).branch(branch).codec("uncompressed").rowGroupRows(2);
  }

  /** Writes rows, one file for each partition that they belong to. */
  private Map<DataFile, List<Row>> write(Schema schema, PartitionSpec spec, List<Row> rows) {
    Map<PartitionKey, List<Row>> byPartition = new LinkedHashMap<>();
    PartitionKey key = new PartitionKey(spec, schema);
    for (Row row : rows) {
      key.partition(new InternalRecordWrapper(schema.asStruct()).wrap(row.in(schema)));
      byPartition.computeIfAbsent(key.copy(), copy -> new ArrayList<>()).add(row);
    }
    Map<DataFile, List<Row>> written = new LinkedHashMap<>();
    byPartition.forEach(
        (partition, part) -> {
          List<Record> records = part.stream().map(row -> row.in(schema)).toList();
          written.put(
              wrote(files().schema(schema).partition(spec, partition).data(records), part), part);
        });
    return written;
  }

  private DataFile wrote(DataFile file, List<Row> rows) {
    identitiesByFile.put(file.location(), rows.stream().mapToLong(Row::identity).toArray());
    return file;
  }

  private static Map<Long, Row> byIdentity(Collection<Row> rows) {
    Map<Long, Row> byIdentity = new TreeMap<>();
    rows.forEach(row -> byIdentity.put(row.identity(), row));
    return byIdentity;
  }

  // ---- operations on rows

  private String append() {
    Schema schema = writerSchema();
    List<Row> added = newRows(schema, 5);
    Map<Long, Row> rows = model.rows(head());
    Map<DataFile, List<Row>> written = write(schema, writerSpec(), added);
    AppendFiles append = (oneIn(3) ? table.newAppend() : table.newFastAppend()).toBranch(branch);
    written.keySet().forEach(append::appendFile);
    append.commit();
    rows.putAll(byIdentity(added));
    holds(rows);
    return describe(written);
  }

  private static String describe(Map<DataFile, List<Row>> written) {
    StringBuilder text = new StringBuilder("rows");
    written.forEach(
        (file, rows) ->
            text.append(' ')
                .append(rows.stream().map(Row::values).toList())
                .append(" as ")
                .append(name(file))
                .append(" in spec ")
                .append(file.specId()));
    return text.toString();
  }

  private List<Integer> keyIds(Schema schema) {
    List<Integer> ids =
        switch (random.nextInt(5)) {
          case 0, 1 -> List.of(ID);
          case 2 -> List.of(ID, QUARTER);
          case 3 -> List.of(REGION, ID);
          default ->
              List.of(
                  pick(
                      schema.columns().stream()
                          .map(Types.NestedField::fieldId)
                          .filter(id -> id != IDENTITY)
                          .toList()));
        };
    return ids;
  }

  /**
   * The value of a row that an equality delete compares; of a dropped column what its file holds.
   */
  private @Nullable Object keyValue(Row row, Place place, int id) {
    Types.NestedField field = table.schema().findField(id);
    Object value;
    if (field != null) {
      value = row.value(field);
    } else {
      Schema withDropped = TableRows.schemaWithDropped(table);
      Record physical = TableRows.inFileWithDropped(table, place.file()).get(place.position());
      value = physical.get(withDropped.columns().indexOf(withDropped.findField(id)));
    }
    return value instanceof Integer number
        ? Long.valueOf(number)
        : value instanceof CharSequence text ? text.toString() : value;
  }

  private List<@Nullable Object> key(Row row, Place place, List<Integer> ids) {
    List<@Nullable Object> key = new ArrayList<>();
    ids.forEach(id -> key.add(keyValue(row, place, id)));
    return key;
  }

  private static Record keyRecord(Schema fileSchema, List<Integer> ids, List<?> key) {
    Record record = GenericRecord.create(fileSchema);
    for (int pos = 0; pos < fileSchema.columns().size(); pos++) {
      Types.NestedField field = fileSchema.columns().get(pos);
      record.set(pos, LogicalTable.typed(key.get(ids.indexOf(field.fieldId())), field.type()));
    }
    return record;
  }

  /** Equality deletes of keys in a spec and partition, and what they do to older rows. */
  private DeleteFile equalityDeletes(
      Schema schema,
      List<Integer> ids,
      List<List<@Nullable Object>> keys,
      PartitionSpec spec,
      @Nullable StructLike partition,
      Map<Long, Row> rows,
      Map<Long, Place> places) {
    Schema fileSchema = TypeUtil.select(schema, new HashSet<>(ids));
    TableFiles files = files();
    files = partition == null ? files.spec(spec) : files.partition(spec, partition);
    List<Record> records = keys.stream().map(key -> keyRecord(fileSchema, ids, key)).toList();
    DeleteFile delete = files.equalityDeletes(ids, fileSchema, records);
    rows.values()
        .removeIf(
            row -> {
              Place place = places.get(row.identity());
              return place != null
                  && (spec.isUnpartitioned() || samePartition(place.file(), delete))
                  && keys.contains(key(row, place, ids));
            });
    return delete;
  }

  private String deleteKeys() {
    Schema schema =
        oneIn(3) ? pick(table.schemas().values()) : table.schema(); // may know dropped columns
    List<Integer> ids = keyIds(schema);
    Map<Long, Row> rows = model.rows(head());
    Map<Long, Place> places = places(rows);
    PartitionSpec spec = oneIn(3) ? pick(table.specs().values()) : table.spec();
    StructLike partition = null;
    List<DataFile> ofSpec =
        dataFiles().stream().filter(file -> file.specId() == spec.specId()).toList();
    if (spec.isPartitioned()) {
      if (ofSpec.isEmpty()) {
        return "nothing, spec " + spec.specId() + " has no files";
      }
      partition = pick(ofSpec).partition();
    }
    List<List<@Nullable Object>> keys = new ArrayList<>();
    for (int i = 1 + random.nextInt(2); i > 0; i--) {
      if (rows.isEmpty() || oneIn(6)) {
        keys.add(keyOf(newRow(schema), ids));
      } else {
        Row row = pick(rows.values());
        keys.add(key(row, Objects.requireNonNull(places.get(row.identity())), ids));
      }
    }
    int before = rows.size();
    DeleteFile delete = equalityDeletes(schema, ids, keys, spec, partition, rows, places);
    RowDelta delta = rowDelta().addDeletes(delete);
    delta.commit();
    holds(rows);
    return "keys "
        + keys
        + " of fields "
        + ids
        + " as "
        + name(delete)
        + " in spec "
        + spec.specId()
        + (spec.isUnpartitioned() ? "" : " " + tuple(delete))
        + ", hits "
        + (before - rows.size());
  }

  private static @Nullable Object normal(@Nullable Object value) {
    return value instanceof Integer number ? Long.valueOf(number) : value;
  }

  private static List<@Nullable Object> keyOf(Row row, List<Integer> ids) {
    List<@Nullable Object> key = new ArrayList<>();
    ids.forEach(id -> key.add(normal(row.values().get(id))));
    return key;
  }

  /** As Flink does: keys, rows, and positions of rows that came twice, in one commit (D1, D2). */
  private String upsert() {
    Schema schema = writerSchema();
    List<Integer> ids = keyIds(schema);
    Map<Long, Row> rows = model.rows(head());
    int before = rows.size();
    Map<Long, Place> places = places(rows);
    Map<DataFile, List<Row>> written = write(schema, writerSpec(), newRows(schema, 3));
    RowDelta delta = rowDelta();
    Map<Long, Row> added = new TreeMap<>();
    StringBuilder twice = new StringBuilder();
    written.forEach(
        (file, part) -> {
          delta.addRows(file);
          List<List<@Nullable Object>> keys = part.stream().map(row -> keyOf(row, ids)).toList();
          delta.addDeletes(
              equalityDeletes(
                  schema,
                  ids,
                  keys,
                  table.specs().get(file.specId()),
                  file.partition(),
                  rows,
                  places));
          added.putAll(byIdentity(part));
          if (part.size() > 1 && oneIn(2)) {
            if (formatVersion() >= 3) {
              files().vectors(Map.of(file, new long[] {0})).forEach(delta::addDeletes);
            } else {
              delta.addDeletes(files().positionDeletes(file, 0));
            }
            added.remove(part.get(0).identity());
            twice.append(", position 0 of ").append(name(file)).append(" deleted");
          }
        });
    delta.commit();
    int hits = before - rows.size();
    rows.putAll(added);
    holds(rows);
    return "by " + ids + " " + describe(written) + twice + ", hits " + hits;
  }

  private RowDelta rowDelta() {
    RowDelta delta = table.newRowDelta().toBranch(branch);
    Snapshot head = head();
    return head == null ? delta : delta.validateFromSnapshot(head.snapshotId());
  }

  private String deletePositions() {
    List<DataFile> files = dataFiles();
    if (files.isEmpty()) {
      return "nothing, no files";
    }
    Snapshot head = Objects.requireNonNull(head());
    Map<Long, Row> rows = model.rows(head);
    DataFile first = pick(files);
    if (formatVersion() >= 3 && oneIn(2)) {
      Set<String> withVector = new TreeSet<>();
      for (DeleteFile delete : TableRows.deleteFiles(table, head)) {
        if (delete.referencedDataFile() != null) {
          withVector.add(delete.referencedDataFile());
        }
      }
      first =
          files.stream()
              .filter(file -> withVector.contains(file.location()))
              .findFirst()
              .orElse(first);
    }
    boolean ofPartition = formatVersion() < 3 && oneIn(2);
    Map<DataFile, long[]> deleted = new LinkedHashMap<>();
    for (DataFile file : files) {
      if (file == first || (oneIn(3) && (!ofPartition || samePartition(file, first)))) {
        deleted.put(file, positions(file));
      }
    }
    StringBuilder text = new StringBuilder(ofPartition ? "of partition" : "of files");
    deleted.forEach(
        (file, positions) -> {
          for (long position : positions) {
            rows.remove(identities(file)[(int) position]);
          }
          text.append(' ').append(name(file)).append(LongStream.of(positions).boxed().toList());
        });
    if (ofPartition) {
      List<TableFiles.Position> all = new ArrayList<>();
      deleted.forEach(
          (file, positions) -> {
            for (long position : positions) {
              all.add(TableFiles.Position.of(file, position));
            }
          });
      files().rowDelta(List.of(), List.of(files().partitionOf(first).positionDeletes(all)));
    } else {
      files().deletePositions(deleted);
    }
    holds(rows);
    return text.toString();
  }

  private long[] positions(DataFile file) {
    int count = identities(file).length;
    if (oneIn(6)) {
      return LongStream.range(0, count).toArray();
    }
    Set<Long> positions = new TreeSet<>();
    for (int i = 1 + random.nextInt(2); i > 0; i--) {
      positions.add((long) random.nextInt(count));
    }
    return positions.stream().mapToLong(Long::longValue).toArray();
  }

  /** Turns an equality delete into position deletes or vectors of the rows that it deletes. */
  private String convertDeletes(boolean byReplace) {
    Snapshot head = head();
    List<DeleteFile> deletes = head == null ? List.of() : TableRows.deleteFiles(table, head);
    List<DeleteFile> equality =
        deletes.stream().filter(file -> file.content() == FileContent.EQUALITY_DELETES).toList();
    if (equality.isEmpty()) {
      return "nothing, no equality deletes";
    }
    DeleteFile chosen = pick(equality);
    boolean global = Objects.requireNonNull(table.specs().get(chosen.specId())).isUnpartitioned();
    Map<Long, Row> rows = model.rows(head);
    Map<DataFile, long[]> dead = new LinkedHashMap<>();
    for (DataFile file : dataFiles()) {
      if (file.dataSequenceNumber() < chosen.dataSequenceNumber()
          && (global || samePartition(file, chosen))) {
        long[] identities = identities(file);
        long[] positions =
            LongStream.range(0, identities.length)
                .filter(position -> !rows.containsKey(identities[(int) position]))
                .toArray();
        if (positions.length > 0) {
          dead.put(file, positions);
        }
      }
    }
    Set<DeleteFile> added = new HashSet<>();
    Set<DeleteFile> removed = new HashSet<>(Set.of(chosen));
    if (formatVersion() >= 3 && !dead.isEmpty()) {
      added.addAll(files().vectors(dead));
      Set<String> locations = new HashSet<>();
      dead.keySet().forEach(file -> locations.add(file.location()));
      deletes.stream()
          .filter(delete -> locations.contains(String.valueOf(delete.referencedDataFile())))
          .forEach(removed::add);
    } else {
      dead.forEach((file, positions) -> added.add(files().positionDeletes(file, positions)));
    }
    if (byReplace) {
      RewriteFiles rewrite = table.newRewrite().toBranch(branch);
      removed.forEach(rewrite::deleteFile);
      added.forEach(rewrite::addFile);
      rewrite.commit();
    } else {
      RowDelta delta = rowDelta();
      removed.forEach(delta::removeDeletes);
      added.forEach(delta::addDeletes);
      delta.commit();
    }
    holds(rows);
    return name(chosen) + " into deletes of " + dead.keySet().stream().map(f -> name(f)).toList();
  }

  private String overwrite() {
    List<DataFile> files = dataFiles();
    if (files.isEmpty()) {
      return "nothing, no files";
    }
    DataFile file = pick(files);
    Map<Long, Row> rows = model.rows(head());
    List<Row> rewritten = new ArrayList<>();
    for (long identity : identities(file)) {
      Row row = rows.remove(identity);
      if (row != null && !oneIn(3)) {
        rewritten.add(oneIn(4) ? newRow(table.schema()) : written(row));
      }
    }
    Map<DataFile, List<Row>> written = write(table.schema(), table.spec(), rewritten);
    OverwriteFiles overwrite = table.newOverwrite().toBranch(branch).deleteFile(file);
    written.keySet().forEach(overwrite::addFile);
    overwrite.commit();
    rows.putAll(byIdentity(rewritten));
    holds(rows);
    return name(file) + " with " + describe(written);
  }

  /** The row as a file of the current schema holds it. */
  private Row written(Row row) {
    Map<Integer, Object> values = new HashMap<>();
    for (Types.NestedField field : table.schema().columns()) {
      values.put(field.fieldId(), row.value(field));
    }
    return new Row(row.identity(), values);
  }

  private String deleteFile() {
    List<DataFile> files = dataFiles();
    if (files.isEmpty()) {
      return "nothing, no files";
    }
    Map<Long, Row> rows = model.rows(head());
    Collections.shuffle(files, random);
    List<DataFile> deleted = files.subList(0, Math.min(files.size(), 1 + random.nextInt(2)));
    DeleteFiles delete = table.newDelete().toBranch(branch);
    for (DataFile file : deleted) {
      delete.deleteFile(file);
      for (long identity : identities(file)) {
        rows.remove(identity);
      }
    }
    delete.commit();
    holds(rows);
    return deleted.stream().map(file -> name(file)).toList().toString();
  }

  // ---- upkeep by others

  private String compact() {
    List<DataFile> files = dataFiles();
    if (files.isEmpty()) {
      return "nothing, no files";
    }
    Snapshot head = Objects.requireNonNull(head());
    DataFile first = pick(files);
    List<DataFile> inputs =
        files.stream().filter(file -> samePartition(file, first) && !oneIn(4)).toList();
    if (inputs.isEmpty()) {
      return "nothing chosen";
    }
    boolean lineage = formatVersion() >= 3 && oneIn(2);
    Map<Long, Row> rows = model.rows(head);
    List<Row> live = new ArrayList<>();
    List<Record> records = new ArrayList<>();
    for (DataFile input : inputs) {
      long[] identities = identities(input);
      List<Record> physical = lineage ? TableRows.inFile(table, input) : List.of();
      for (int position = 0; position < identities.length; position++) {
        Row row = rows.get(identities[position]);
        if (row != null) {
          live.add(row);
          records.add(lineage ? physical.get(position) : row.in(table.schema()));
        }
      }
    }
    RewriteFiles rewrite =
        table.newRewrite().toBranch(branch).validateFromSnapshot(head.snapshotId());
    if (formatVersion() >= 2) {
      rewrite.dataSequenceNumber(head.sequenceNumber());
    }
    inputs.forEach(rewrite::deleteFile);
    if (!live.isEmpty()) {
      Schema schema = lineage ? TableRows.schema(table) : table.schema();
      rewrite.addFile(wrote(files().schema(schema).partitionOf(first).data(records), live));
    }
    rewrite.commit();
    live.forEach(row -> rows.put(row.identity(), written(row)));
    holds(rows);
    return inputs.stream().map(file -> name(file)).toList() + (lineage ? " with lineage" : "");
  }

  private String compactByFirn() {
    CompactionReport report =
        new Compaction(
                table,
                CompactionSettings.builder()
                    .option("rewrite-all", "true")
                    .option("use-starting-sequence-number", "" + !oneIn(4))
                    .branch(branch)
                    .memoryBytes(512L << 20)
                    .scratch(scratch)
                    .threads(1)
                    .build(),
                CompactionListener.NONE)
            .run();
    settle();
    if (!report.failures().isEmpty()) {
      throw new IllegalStateException("Alone, it failed: " + report);
    }
    return report.snapshotsCommitted() + "";
  }

  private String rewriteManifests() {
    if (!branch.equals(SnapshotRef.MAIN_BRANCH) || head() == null) {
      return "nothing, not main";
    }
    table.rewriteManifests().clusterBy(file -> "all").commit();
    settle();
    return "all";
  }

  // ---- the table's owner

  private String changeSchema() {
    List<Types.NestedField> changeable =
        table.schema().columns().stream()
            .filter(field -> field.fieldId() > LAST_KEPT_COLUMN)
            .toList();
    UpdateSchema update = table.updateSchema();
    int lastId =
        TypeUtil.indexById(table.schema().asStruct()).keySet().stream()
            .mapToInt(Integer::intValue)
            .max()
            .orElse(0);
    String name = "c" + table.schemas().size() + "_" + lastId;
    String what;
    switch (random.nextInt(6)) {
      case 0 -> {
        update.updateColumn("id", Types.LongType.get());
        what = "promote id";
        if (table.schema().findType(ID).typeId() == Type.TypeID.LONG) {
          return "nothing, promoted already";
        }
      }
      case 1, 2 -> {
        if (changeable.isEmpty()) {
          return "nothing to drop";
        }
        Types.NestedField field = pick(changeable);
        update.deleteColumn(field.name());
        what = "drop " + field;
      }
      case 3 -> {
        if (changeable.isEmpty()) {
          return "nothing to rename";
        }
        Types.NestedField field = pick(changeable);
        update.renameColumn(field.name(), name);
        what = "rename " + field + " to " + name;
      }
      default -> {
        boolean text = oneIn(2);
        Type type = text ? Types.StringType.get() : Types.IntegerType.get();
        if (formatVersion() >= 3 && oneIn(2)) {
          Literal<?> value = text ? Literal.of("n1") : Literal.of(1);
          update.addColumn(name, type, value);
          what = "add " + name + " with default " + value;
        } else {
          update.addColumn(name, type);
          what = "add " + name;
        }
      }
    }
    update.commit();
    return what;
  }

  private String changeSpec() {
    List<PartitionField> fields =
        table.spec().fields().stream().filter(field -> !field.transform().isVoid()).toList();
    if (formatVersion() >= 2 && fields.size() < table.spec().fields().size()) {
      // to the void field of version 1 Iceberg adds one with the same id; no commit can be made
      // then
      return "nothing, the spec is of before an upgrade";
    }
    try {
      if (!fields.isEmpty() && (oneIn(2) || fields.size() == FIELDS_OF_SPEC_MAX)) {
        table.updateSpec().removeField(pick(fields).name()).commit();
      } else {
        switch (random.nextInt(3)) {
          case 0 -> table.updateSpec().addField("region").commit();
          case 1 -> table.updateSpec().addField("quarter").commit();
          default -> table.updateSpec().addField(Expressions.bucket("id", 2)).commit();
        }
      }
    } catch (IllegalArgumentException e) {
      return "nothing, " + e.getMessage(); // the field is there already
    }
    return table.spec().toString().replace('\n', ' ');
  }

  private String upgrade() {
    if (formatVersion() >= 3) {
      return "nothing, it is version 3";
    }
    int version = formatVersion() + 1;
    table.updateProperties().set("format-version", "" + version).commit();
    return "to version " + version;
  }

  private String expire() {
    int kept = 1 + random.nextInt(3);
    // Iceberg deletes a Puffin file when one of its vectors is replaced, whatever else is in it
    boolean files = oneIn(2) && formatVersion() < 3;
    boolean metadata = oneIn(2);
    table
        .expireSnapshots()
        .expireOlderThan(System.currentTimeMillis() + 1000)
        .retainLast(kept)
        .cleanExpiredFiles(files)
        .cleanExpiredMetadata(metadata)
        .commit();
    return "but " + kept + (files ? ", with files" : "") + (metadata ? ", with metadata" : "");
  }

  private String rollBack() {
    List<Snapshot> snapshots = new ArrayList<>();
    table.snapshots().forEach(snapshots::add);
    snapshots.remove(head());
    if (snapshots.isEmpty() || head() == null) {
      return "nothing, no other snapshot";
    }
    // one of the last, mostly
    Snapshot chosen =
        oneIn(3)
            ? pick(snapshots)
            : snapshots.get(snapshots.size() - 1 - random.nextInt(Math.min(3, snapshots.size())));
    if (branch.equals(SnapshotRef.MAIN_BRANCH)) {
      table.manageSnapshots().setCurrentSnapshot(chosen.snapshotId()).commit();
    } else {
      table.manageSnapshots().replaceBranch(branch, chosen.snapshotId()).commit();
    }
    return "to " + chosen.snapshotId();
  }

  private String commitToBranch() {
    if (head() == null) {
      return "nothing, no snapshot";
    }
    if (oneIn(3)) {
      String tag = "tag" + table.refs().size();
      table.manageSnapshots().createTag(tag, head().snapshotId()).commit();
      return tag;
    }
    if (!table.refs().containsKey("side")) {
      table.manageSnapshots().createBranch("side", head().snapshotId()).commit();
      table.refresh();
    }
    Op op = pick(List.of(Op.APPEND, Op.UPSERT, Op.DELETE_POSITIONS, Op.OVERWRITE));
    return "side: "
        + op
        + " "
        + new ScheduledWriter(table, "side", model, identitiesByFile, scratch, random).perform(op);
  }
}
