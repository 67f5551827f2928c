package dev.firn.testdata;

import java.nio.file.Path;
import java.util.ArrayList;
import java.util.Collections;
import java.util.HashSet;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.Random;
import java.util.Set;
import java.util.TreeSet;
import org.apache.iceberg.AppendFiles;
import org.apache.iceberg.DataFile;
import org.apache.iceberg.DeleteFile;
import org.apache.iceberg.FileFormat;
import org.apache.iceberg.OverwriteFiles;
import org.apache.iceberg.PartitionField;
import org.apache.iceberg.PartitionKey;
import org.apache.iceberg.PartitionSpec;
import org.apache.iceberg.RowDelta;
import org.apache.iceberg.Schema;
import org.apache.iceberg.Snapshot;
import org.apache.iceberg.StructLike;
import org.apache.iceberg.Table;
import org.apache.iceberg.UpdateSchema;
import org.apache.iceberg.data.Record;
import org.apache.iceberg.expressions.Expressions;
import org.apache.iceberg.expressions.Literal;
import org.apache.iceberg.expressions.Term;
import org.apache.iceberg.types.Type;
import org.apache.iceberg.types.TypeUtil;
import org.apache.iceberg.types.Types;
import org.jspecify.annotations.Nullable;

/**
 * A table that a seed makes: random schema and spec, commits of all kinds, schema and spec
 * evolution between them, and a model that knows which rows must be live.
 *
 * <pre>{@code
 * RandomTable random = RandomTable.create(seed, directory);
 * compact(random.table());
 * assertThat(TableRows.live(random.table())).isEqualTo(random.expectedRows());
 * }</pre>
 *
 * <p>One seed and the same options give the same table, but for names of files, snapshot ids and
 * times. {@link #history} tells what was done.
 */
public final class RandomTable {
  private static final Set<Type.TypeID> NO_KEY = Set.of(Type.TypeID.FLOAT, Type.TypeID.DOUBLE);
  private static final List<String> CODECS = List.of("zstd", "gzip", "snappy", "uncompressed");

  /** What a random table may have. Immutable: each method gives a changed copy. */
  public static final class Options {
    private final long seed;
    private final Set<FileFormat> formats;
    private final int formatVersion; // 0: 2 or 3
    private final int depthMax;
    private final int commitsMax;
    private final int rowsMax;
    private final boolean evolution;
    private final boolean deletes;

    private Options(
        long seed,
        Set<FileFormat> formats,
        int formatVersion,
        int depthMax,
        int commitsMax,
        int rowsMax,
        boolean evolution,
        boolean deletes) {
      this.seed = seed;
      this.formats = formats;
      this.formatVersion = formatVersion;
      this.depthMax = depthMax;
      this.commitsMax = commitsMax;
      this.rowsMax = rowsMax;
      this.evolution = evolution;
      this.deletes = deletes;
    }

    /** Data files in these formats only; delete files too. All three if not called. */
    public Options formats(FileFormat... only) {
      return new Options(
          seed,
          new TreeSet<>(List.of(only)),
          formatVersion,
          depthMax,
          commitsMax,
          rowsMax,
          evolution,
          deletes);
    }

    /** This format version; 2, 3 or 2 upgraded to 3 if not called. */
    public Options formatVersion(int version) {
      return new Options(seed, formats, version, depthMax, commitsMax, rowsMax, evolution, deletes);
    }

    /** Types nested at most this deep; 0 has primitive columns only, 3 if not called. */
    public Options depthMax(int depth) {
      return new Options(
          seed, formats, formatVersion, depth, commitsMax, rowsMax, evolution, deletes);
    }

    /** At most this many commits; 6 if not called. */
    public Options commitsMax(int commits) {
      return new Options(
          seed, formats, formatVersion, depthMax, commits, rowsMax, evolution, deletes);
    }

    /** At most this many rows in one commit; 80 if not called. */
    public Options rowsMax(int rows) {
      return new Options(
          seed, formats, formatVersion, depthMax, commitsMax, rows, evolution, deletes);
    }

    /** No change of schema, spec or format version. */
    public Options withoutEvolution() {
      return new Options(
          seed, formats, formatVersion, depthMax, commitsMax, rowsMax, false, deletes);
    }

    /** Appends only. */
    public Options withoutDeletes() {
      return new Options(
          seed, formats, formatVersion, depthMax, commitsMax, rowsMax, evolution, false);
    }

    /** Makes the table in {@code directory/table}. */
    public RandomTable create(Path directory) {
      RandomTable table = new RandomTable(this, directory.resolve("table"));
      table.live();
      return table;
    }
  }

  private final Options options;
  private final Random random;
  private final RandomTypes types;
  private final RandomValues values;
  private final Table table;
  private final TableModel model = new TableModel();
  private final List<String> history = new ArrayList<>();
  private final Set<Integer> everPartitioned = new HashSet<>();
  private boolean defaultsAdded;
  private boolean orcWritten;
  private int unique = 1000;

  private RandomTable(Options options, Path directory) {
    this.options = options;
    this.random = new Random(options.seed);
    int formatVersion = options.formatVersion == 0 ? 2 + random.nextInt(2) : options.formatVersion;
    boolean nanoseconds = formatVersion >= 3 && !options.formats.equals(Set.of(FileFormat.ORC));
    this.types = new RandomTypes(random, options.depthMax, nanoseconds);
    this.values = new RandomValues(random, options.formats.contains(FileFormat.ORC));
    Schema schema = types.schema(1 + random.nextInt(7));
    TableBuilder builder = TableBuilder.at(directory).schema(schema).formatVersion(formatVersion);
    if (random.nextInt(3) > 0) {
      builder.partitionBy(spec -> partition(spec, schema));
    }
    if (random.nextInt(3) == 0) {
      builder.property("commit.manifest.min-count-to-merge", "2");
    }
    this.table = builder.create();
    rememberPartitionColumns();
    history.add("create v" + formatVersion + " " + table.spec() + " " + schema);
  }

  /** What can be asked of a random table of this seed; {@code create} makes it. */
  public static Options seed(long seed) {
    return new Options(
        seed,
        new TreeSet<>(List.of(FileFormat.PARQUET, FileFormat.AVRO, FileFormat.ORC)),
        0,
        3,
        6,
        80,
        true,
        true);
  }

  /** A random table with everything, in {@code directory/table}. */
  public static RandomTable create(long seed, Path directory) {
    return seed(seed).create(directory);
  }

  /** The table. It may be committed to; {@link #expectedRows} then tells of before. */
  public Table table() {
    return table;
  }

  /** The seed. */
  public long seed() {
    return options.seed;
  }

  /** The live rows by the model, in the text and order of {@link TableRows#live(Table)}. */
  public List<String> expectedRows() {
    return model.lines(table);
  }

  /** What was done to the table, a line for each commit or change. */
  public List<String> history() {
    return List.copyOf(history);
  }

  @Override
  public String toString() {
    return "random table of seed " + options.seed + ":\n  " + String.join("\n  ", history);
  }

  // ---- a life

  private void live() {
    append();
    for (int commit = 1 + random.nextInt(options.commitsMax); commit > 1; commit--) {
      for (int change = options.evolution ? random.nextInt(3) : 0; change > 0; change--) {
        evolve();
      }
      if (!options.deletes) {
        append();
        continue;
      }
      switch (random.nextInt(10)) {
        case 0, 1 -> append();
        case 2, 3 -> deletePositions();
        case 4, 5, 6 -> deleteKeys();
        case 7, 8 -> upsert();
        default -> overwrite();
      }
    }
  }

  private boolean v3() {
    return TableRows.formatVersion(table) >= 3;
  }

  private List<DataFile> dataFiles() {
    Snapshot snapshot = table.currentSnapshot();
    return snapshot == null ? List.of() : TableRows.dataFiles(table, snapshot);
  }

  private <T> T pick(List<T> list) {
    return list.get(random.nextInt(list.size()));
  }

  private long committedSequenceNumber() {
    table.refresh();
    return table.currentSnapshot().sequenceNumber();
  }

  // ---- data

  private List<Record> newRows() {
    List<Integer> sources = table.spec().fields().stream().map(PartitionField::sourceId).toList();
    List<Record> rows = new ArrayList<>();
    for (int i = 1 + random.nextInt(options.rowsMax); i > 0; i--) {
      rows.add(values.row(table.schema(), sources));
    }
    return rows;
  }

  private TableFiles files(Schema schema) {
    List<FileFormat> possible = new ArrayList<>(options.formats);
    boolean hasNanoseconds =
        TypeUtil.find(schema, type -> type.typeId() == Type.TypeID.TIMESTAMP_NANO) != null;
    if (possible.size() > 1 && (hasNanoseconds || defaultsAdded)) {
      possible.remove(FileFormat.ORC);
    }
    // Parquet is what matters most.
    FileFormat format =
        possible.contains(FileFormat.PARQUET) && random.nextInt(3) > 0
            ? FileFormat.PARQUET
            : pick(possible);
    orcWritten |= format == FileFormat.ORC;
    TableFiles files = TableFiles.of(table).format(format).codec(pick(CODECS));
    return random.nextBoolean() ? files.rowGroupRows(1 + random.nextInt(40)) : files;
  }

  /** Writes rows, one or two files for each partition; not committed yet. */
  private Map<DataFile, List<Record>> write(List<Record> rows) {
    Map<DataFile, List<Record>> written = new LinkedHashMap<>();
    for (Map.Entry<PartitionKey, List<Record>> entry :
        TableFiles.of(table).byPartition(rows).entrySet()) {
      List<Record> part = entry.getValue();
      int split = random.nextInt(3) == 0 ? random.nextInt(part.size()) : 0;
      for (List<Record> piece : List.of(part.subList(0, split), part.subList(split, part.size()))) {
        if (!piece.isEmpty()) {
          DataFile file = files(table.schema()).partition(table.spec(), entry.getKey()).data(piece);
          model.written(file, piece);
          written.put(file, piece);
        }
      }
    }
    return written;
  }

  private void append() {
    Map<DataFile, List<Record>> written = write(newRows());
    AppendFiles append = random.nextBoolean() ? table.newFastAppend() : table.newAppend();
    written.keySet().forEach(append::appendFile);
    append.commit();
    long sequenceNumber = committedSequenceNumber();
    written.keySet().forEach(file -> model.committed(file, sequenceNumber));
    history.add("append " + written.size() + " files @" + sequenceNumber);
  }

  /** Another engine's copy-on-write: some rows kept with their ids, some changed, some gone. */
  private void overwrite() {
    List<DataFile> files = dataFiles();
    if (files.isEmpty()) {
      return;
    }
    DataFile old = pick(files);
    Schema schema = TableRows.schema(table);
    List<Record> rows = new ArrayList<>();
    List<@Nullable Long> rowIds = new ArrayList<>();
    List<@Nullable Long> lastUpdated = new ArrayList<>();
    for (TableModel.Row row : model.rows(old)) {
      if (row.live && random.nextInt(4) > 0) {
        Record record = TableModel.view(row, schema);
        Long firstRowId = old.firstRowId();
        if (v3() && firstRowId != null) {
          boolean changed = random.nextInt(3) == 0;
          Long rowId =
              row.storedRowId == null ? Long.valueOf(firstRowId + row.position) : row.storedRowId;
          Long updated =
              row.storedLastUpdated == null
                  ? Long.valueOf(row.sequenceNumber)
                  : row.storedLastUpdated;
          record.setField("_row_id", rowId);
          record.setField("_last_updated_sequence_number", changed ? null : updated);
        }
        rowIds.add(v3() ? (Long) record.getField("_row_id") : null);
        lastUpdated.add(v3() ? (Long) record.getField("_last_updated_sequence_number") : null);
        rows.add(record);
      }
    }
    OverwriteFiles overwrite = table.newOverwrite().deleteFile(old);
    DataFile added = null;
    if (!rows.isEmpty()) {
      added = files(table.schema()).partitionOf(old).schema(schema).data(rows);
      overwrite.addFile(added);
    }
    overwrite.commit();
    long sequenceNumber = committedSequenceNumber();
    model.removed(old);
    if (added != null) {
      model.written(added, rows);
      model.committed(added, sequenceNumber);
      for (int i = 0; i < rows.size(); i++) {
        model.rows(added).get(i).storedRowId = rowIds.get(i);
        model.rows(added).get(i).storedLastUpdated = lastUpdated.get(i);
      }
    }
    history.add("overwrite a file, keep " + rows.size() + " rows @" + sequenceNumber);
  }

  // ---- deletes

  private long[] positions(DataFile file) {
    long rows = file.recordCount();
    long[] positions = new long[1 + random.nextInt((int) rows)];
    boolean run = random.nextInt(3) == 0;
    long start = random.nextInt((int) rows);
    for (int i = 0; i < positions.length; i++) {
      positions[i] = run ? (start + i) % rows : random.nextInt((int) rows);
    }
    return positions;
  }

  private void deletePositions() {
    List<DataFile> files = new ArrayList<>(dataFiles());
    if (files.isEmpty()) {
      return;
    }
    Collections.shuffle(files, random);
    DataFile first = files.get(0);
    Map<DataFile, long[]> deleted = new LinkedHashMap<>();
    boolean partitionScoped = !v3() && random.nextBoolean();
    for (DataFile file : files.subList(0, 1 + random.nextInt(files.size()))) {
      if (!partitionScoped
          || (file.specId() == first.specId()
              && TableModel.tuple(file.partition()).equals(TableModel.tuple(first.partition())))) {
        deleted.put(file, positions(file));
      }
    }
    if (partitionScoped) {
      List<TableFiles.Position> rows = new ArrayList<>();
      boolean withRows = random.nextInt(4) == 0;
      deleted.forEach(
          (file, positions) -> {
            for (long position : positions) {
              Record row =
                  withRows
                      ? TableModel.view(model.rows(file).get((int) position), table.schema())
                      : null;
              rows.add(new TableFiles.Position(file.location(), position, row));
            }
          });
      if (random.nextBoolean()) {
        Collections.shuffle(rows, random);
      }
      DeleteFile delete = files(table.schema()).partitionOf(first).positionDeletes(rows);
      table.newRowDelta().addDeletes(delete).commit();
    } else {
      files(table.schema()).deletePositions(deleted);
    }
    deleted.forEach(
        (file, positions) -> {
          for (long position : positions) {
            model.deletePosition(file, position);
          }
        });
    history.add("delete positions of " + deleted.size() + " files @" + committedSequenceNumber());
  }

  /** The leaves outside of lists and maps that an equality delete may name. */
  private List<Integer> keyCandidates(Types.StructType type) {
    List<Integer> ids = new ArrayList<>();
    for (Types.NestedField field : type.fields()) {
      if (field.type().isStructType()) {
        ids.addAll(keyCandidates(field.type().asStructType()));
      } else if (field.type().isPrimitiveType() && !NO_KEY.contains(field.type().typeId())) {
        ids.add(field.fieldId());
      }
    }
    return ids;
  }

  private List<Integer> keyColumns() {
    List<Integer> ids = keyCandidates(table.schema().asStruct());
    Collections.shuffle(ids, random);
    return List.copyOf(ids.subList(0, Math.min(ids.size(), 1 + random.nextInt(3))));
  }

  private void deleteKeys() {
    List<Integer> fieldIds = keyColumns();
    Set<Integer> fileIds = new HashSet<>(fieldIds);
    if (random.nextInt(3) == 0) {
      fileIds.addAll(keyColumns()); // D11: columns that are no keys
    }
    Schema fileSchema = TypeUtil.select(table.schema(), fileIds);
    PartitionSpec spec = pick(new ArrayList<>(table.specs().values()));
    StructLike partition = null;
    if (spec.isPartitioned()) {
      List<DataFile> ofSpec =
          dataFiles().stream().filter(file -> file.specId() == spec.specId()).toList();
      if (ofSpec.isEmpty()) {
        return;
      }
      partition = pick(ofSpec).partition();
    }
    List<TableModel.Row> live = model.liveRows();
    List<Record> keys = new ArrayList<>();
    for (int i = 1 + random.nextInt(10); i > 0; i--) {
      keys.add(
          live.isEmpty() || random.nextInt(4) == 0
              ? values.row(fileSchema)
              : TableModel.view(pick(live), fileSchema));
    }
    TableFiles files = files(fileSchema);
    DeleteFile delete =
        (partition == null ? files.spec(spec) : files.partition(spec, partition))
            .equalityDeletes(fieldIds, fileSchema, keys);
    table.newRowDelta().addDeletes(delete).commit();
    long sequenceNumber = committedSequenceNumber();
    model.deleteKeys(table.schema(), fieldIds, keys, spec.specId(), partition, sequenceNumber);
    history.add(
        "delete "
            + keys.size()
            + " keys of "
            + fieldIds
            + " in spec "
            + spec.specId()
            + " @"
            + sequenceNumber);
  }

  /** As Flink does: keys, rows, and positions of rows that came twice, in one commit (D1, D2). */
  private void upsert() {
    List<Integer> fieldIds = keyColumns();
    Map<DataFile, List<Record>> written = write(newRows());
    Schema fileSchema = TypeUtil.select(table.schema(), new HashSet<>(fieldIds));
    RowDelta delta = table.newRowDelta();
    Map<DataFile, List<Record>> keysOf = new LinkedHashMap<>();
    Map<DataFile, long[]> twice = new LinkedHashMap<>();
    written.forEach(
        (file, rows) -> {
          delta.addRows(file);
          List<Record> keys = new ArrayList<>(rows);
          if (!model.liveRows().isEmpty() && random.nextBoolean()) {
            keys.add(TableModel.view(pick(model.liveRows()), table.schema()));
          }
          delta.addDeletes(
              files(fileSchema).partitionOf(file).equalityDeletes(fieldIds, fileSchema, keys));
          keysOf.put(file, keys);
          if (random.nextInt(3) == 0) {
            twice.put(file, positions(file));
          }
        });
    if (v3() && !twice.isEmpty()) {
      TableFiles.of(table).vectors(twice).forEach(delta::addDeletes);
    } else if (!v3()) {
      twice.forEach(
          (file, positions) ->
              delta.addDeletes(files(table.schema()).positionDeletes(file, positions)));
    }
    delta.commit();
    long sequenceNumber = committedSequenceNumber();
    written.keySet().forEach(file -> model.committed(file, sequenceNumber));
    keysOf.forEach(
        (file, keys) -> {
          boolean global = TableRows.spec(table, file.specId()).isUnpartitioned();
          model.deleteKeys(
              table.schema(),
              fieldIds,
              keys,
              file.specId(),
              global ? null : file.partition(),
              sequenceNumber);
        });
    twice.forEach(
        (file, positions) -> {
          for (long position : positions) {
            model.deletePosition(file, position);
          }
        });
    history.add("upsert " + written.size() + " files by " + fieldIds + " @" + sequenceNumber);
  }

  // ---- evolution

  private void evolve() {
    switch (random.nextInt(8)) {
      case 0 -> evolveSpec();
      case 1 -> upgrade();
      default -> evolveSchema();
    }
  }

  private void upgrade() {
    if (!v3() && options.formatVersion == 0) {
      table.updateProperties().set("format-version", "3").commit();
      history.add("upgrade to v3");
    }
  }

  private void evolveSpec() {
    if (table.spec().isPartitioned() && random.nextBoolean()) {
      PartitionField field = pick(table.spec().fields());
      table.updateSpec().removeField(field.name()).commit();
    } else {
      Types.NestedField column = pick(table.schema().columns());
      Term term = term(column);
      if (term == null || table.spec().fields().size() >= 2 || alreadySource(column)) {
        return;
      }
      table.updateSpec().addField("p" + ++unique, term).commit();
    }
    rememberPartitionColumns();
    history.add("spec " + table.spec());
  }

  private boolean alreadySource(Types.NestedField column) {
    return table.spec().fields().stream().anyMatch(f -> f.sourceId() == column.fieldId());
  }

  private void rememberPartitionColumns() {
    table
        .specs()
        .values()
        .forEach(spec -> spec.fields().forEach(field -> everPartitioned.add(field.sourceId())));
  }

  private PartitionSpec.Builder partition(PartitionSpec.Builder spec, Schema schema) {
    for (int i = 1 + random.nextInt(2); i > 0; i--) {
      Types.NestedField column = pick(schema.columns());
      String name = column.name();
      String target = "p" + ++unique;
      switch (transform(column)) {
        case "identity" -> spec.identity(name, target);
        case "bucket" -> spec.bucket(name, 1 + random.nextInt(4), target);
        case "truncate" -> spec.truncate(name, 1 + random.nextInt(10), target);
        case "day" -> spec.day(name, target);
        case "year" -> spec.year(name, target);
        default -> {
          return spec;
        }
      }
      if (random.nextBoolean()) {
        break;
      }
      schema = TypeUtil.selectNot(schema, Set.of(column.fieldId()));
      if (schema.columns().isEmpty()) {
        break;
      }
    }
    return spec;
  }

  private @Nullable Term term(Types.NestedField column) {
    String name = column.name();
    return switch (transform(column)) {
      case "identity" -> Expressions.ref(name);
      case "bucket" -> Expressions.bucket(name, 1 + random.nextInt(4));
      case "truncate" -> Expressions.truncate(name, 1 + random.nextInt(10));
      case "day" -> Expressions.day(name);
      case "year" -> Expressions.year(name);
      default -> null;
    };
  }

  private String transform(Types.NestedField column) {
    List<String> possible =
        switch (column.type().typeId()) {
          case INTEGER, LONG, STRING -> List.of("identity", "bucket", "truncate");
          case DECIMAL -> List.of("identity", "bucket"); // truncating the least value overflows it
          case DATE -> List.of("identity", "bucket", "day", "year");
          case TIMESTAMP, TIMESTAMP_NANO -> List.of("bucket", "day", "year");
          case UUID, TIME -> List.of("bucket", "identity");
          case BINARY -> List.of("bucket", "truncate");
          case FIXED -> List.of("bucket");
          case BOOLEAN, FLOAT, DOUBLE -> List.of("identity");
          default -> List.of("none");
        };
    return pick(possible);
  }

  private void evolveSchema() {
    Schema schema = table.schema();
    // Names of fields whose parents are structs, or elements and values that are structs.
    List<Integer> ids = new ArrayList<>();
    changeable(schema.asStruct(), ids);
    Types.NestedField field = schema.findField(pick(ids));
    String name = schema.findColumnName(field.fieldId());
    UpdateSchema update = table.updateSchema();
    String what;
    switch (random.nextInt(6)) {
      case 0, 1 -> what = add(update, schema);
      case 2 -> {
        if (field.name().equals("id")
            || everPartitioned.contains(field.fieldId())
            || siblings(schema, field).size() == 1
            || containsPartitionSource(field)) {
          return;
        }
        update.deleteColumn(name);
        what = "drop " + name;
      }
      case 3 -> {
        if (field.name().equals("id")) {
          return;
        }
        update.renameColumn(name, types.name(++unique));
        what = "rename " + name;
      }
      case 4 -> {
        Type.PrimitiveType wider = wider(field.type());
        if (wider == null) {
          return;
        }
        update.updateColumn(name, wider);
        what = "promote " + name + " to " + wider;
      }
      default -> {
        List<Types.NestedField> siblings = siblings(schema, field);
        Types.NestedField other = pick(siblings);
        if (other.fieldId() == field.fieldId()) {
          update.moveFirst(name);
          what = "move first " + name;
        } else {
          String otherName = schema.findColumnName(other.fieldId());
          update.moveAfter(name, otherName);
          what = "move " + name + " after " + otherName;
        }
      }
    }
    update.commit();
    history.add(what);
  }

  private static void changeable(Types.StructType type, List<Integer> ids) {
    for (Types.NestedField field : type.fields()) {
      ids.add(field.fieldId());
      changeableBelow(field.type(), ids);
    }
  }

  private static void changeableBelow(Type type, List<Integer> ids) {
    if (type.isStructType()) {
      changeable(type.asStructType(), ids);
    } else if (type.isListType()) {
      changeableBelow(type.asListType().elementType(), ids);
    } else if (type.isMapType()) {
      changeableBelow(type.asMapType().valueType(), ids);
    }
  }

  private static List<Types.NestedField> siblings(Schema schema, Types.NestedField field) {
    Integer parent = TypeUtil.indexParents(schema.asStruct()).get(field.fieldId());
    return parent == null
        ? schema.columns()
        : schema.findField(parent).type().asStructType().fields();
  }

  private boolean containsPartitionSource(Types.NestedField field) {
    return field.type().isNestedType()
        && TypeUtil.getProjectedIds(field.type()).stream().anyMatch(everPartitioned::contains);
  }

  private String add(UpdateSchema update, Schema schema) {
    List<@Nullable String> parents = new ArrayList<>();
    parents.add(null);
    TypeUtil.indexById(schema.asStruct())
        .forEach(
            (id, field) -> {
              if (field.type().isStructType()) {
                parents.add(schema.findColumnName(id));
              }
            });
    String parent = parents.get(random.nextInt(parents.size()));
    String name = types.name(++unique);
    Type type = types.type(parent == null ? options.depthMax : 0);
    boolean needsOrc = options.formats.equals(Set.of(FileFormat.ORC));
    Literal<?> initial = null;
    if (v3() && !orcWritten && !needsOrc && random.nextBoolean()) {
      initial = literal(type);
    }
    if (initial == null) {
      update.addColumn(parent, name, type);
    } else {
      defaultsAdded = true;
      if (random.nextBoolean()) {
        update.addRequiredColumn(parent, name, type, initial);
      } else {
        update.addColumn(parent, name, type, initial);
      }
    }
    return "add " + name + " " + type + " in " + parent + " initially " + initial;
  }

  private @Nullable Literal<?> literal(Type type) {
    return switch (type.typeId()) {
      case INTEGER, LONG -> Literal.of(random.nextInt(100)).to(type);
      case STRING -> Literal.of(pick(List.of("", "initial", "\uD83D\uDE00")));
      case BOOLEAN -> Literal.of(random.nextBoolean());
      case DOUBLE -> Literal.of(random.nextInt(100) / 4.0);
      case FLOAT -> Literal.of(random.nextInt(100) / 4.0f);
      case DATE -> Literal.of("1969-07-20").to(type);
      case UUID -> Literal.of("f79c3e09-677c-4bbd-a479-3f349cb785e7").to(type);
      default -> null;
    };
  }

  private Type.@Nullable PrimitiveType wider(Type type) {
    return switch (type.typeId()) {
      case INTEGER -> Types.LongType.get();
      case FLOAT -> Types.DoubleType.get();
      case DECIMAL -> {
        Types.DecimalType decimal = (Types.DecimalType) type;
        yield decimal.precision() == 38
            ? null
            : Types.DecimalType.of(
                decimal.precision() + 1 + random.nextInt(38 - decimal.precision()),
                decimal.scale());
      }
      default -> null;
    };
  }
}
