package dev.firn.testdata;

import java.io.EOFException;
import java.io.IOException;
import java.io.UncheckedIOException;
import java.nio.ByteBuffer;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.HashMap;
import java.util.HashSet;
import java.util.List;
import java.util.Map;
import java.util.Set;
import org.apache.iceberg.DataFile;
import org.apache.iceberg.DeleteFile;
import org.apache.iceberg.FileContent;
import org.apache.iceberg.FileFormat;
import org.apache.iceberg.HasTableOperations;
import org.apache.iceberg.ManifestFile;
import org.apache.iceberg.ManifestFiles;
import org.apache.iceberg.MetadataColumns;
import org.apache.iceberg.PartitionField;
import org.apache.iceberg.PartitionSpec;
import org.apache.iceberg.Schema;
import org.apache.iceberg.Snapshot;
import org.apache.iceberg.StructLike;
import org.apache.iceberg.Table;
import org.apache.iceberg.TableProperties;
import org.apache.iceberg.data.IdentityPartitionConverters;
import org.apache.iceberg.data.Record;
import org.apache.iceberg.deletes.PositionDeleteIndex;
import org.apache.iceberg.formats.FormatModelRegistry;
import org.apache.iceberg.formats.ReadBuilder;
import org.apache.iceberg.io.CloseableIterable;
import org.apache.iceberg.io.DeleteSchemaUtil;
import org.apache.iceberg.io.InputFile;
import org.apache.iceberg.io.SeekableInputStream;
import org.apache.iceberg.mapping.NameMappingParser;
import org.apache.iceberg.types.Types;
import org.jspecify.annotations.Nullable;

/**
 * The live rows of a table by the table spec, row by row: the oracle of every test.
 *
 * <p>Files are read one by one with Iceberg's generic readers, whole and without filters. Which
 * deletes apply, and to which rows, is decided here from the manifests alone: no scan planning, no
 * bounds (H5), no {@code GenericDeleteFilter} (which fails D13 and D19), none of Firn's code. All
 * columns are read by field id in the table's current schema.
 *
 * <p>Simple and slow on purpose; a table of more than some hundred thousand rows is too large.
 */
public final class TableRows {
  /* A _row_id below this was not stored in the file. */
  private static final long NOT_STORED = Long.MIN_VALUE / 2;

  private final Table table;
  private final Schema outputSchema;
  private final Schema readSchema;
  private final Map<String, Map<Integer, List<List<String>>>> keysByFile = new HashMap<>();
  private final @Nullable Map<String, List<Record>> rowsByFile; // null: files are read anew

  private TableRows(Table table, boolean eachFileOnce) {
    this.table = table;
    this.rowsByFile = eachFileOnce ? new HashMap<>() : null;
    this.outputSchema = schema(table);
    this.readSchema = HistoricSchema.withDroppedFields(table);
  }

  /**
   * A reader of many snapshots that reads each file once and keeps its rows. It sees the table's
   * schema and specs as they are now.
   */
  public static TableRows eachFileOnce(Table table) {
    return new TableRows(table, true);
  }

  /** The live rows of a snapshot, as {@link #liveRecords(Table, Snapshot)} gives them. */
  public List<Record> liveRecords(Snapshot snapshot) {
    List<Record> rows = new ArrayList<>();
    List<DeleteFile> deletes = deleteFiles(table, snapshot);
    for (DataFile file : dataFiles(table, snapshot)) {
      rows.addAll(liveRows(file, deletes));
    }
    return rows;
  }

  /**
   * The schema of {@link #inFileWithDropped}: the table's current one and the fields it once had.
   */
  public static Schema schemaWithDropped(Table table) {
    return HistoricSchema.withDroppedFields(table);
  }

  /** All rows of a data file in file order, deleted ones and dropped columns included. */
  public static List<Record> inFileWithDropped(Table table, DataFile file) {
    return new TableRows(table, false).readDataFile(file);
  }

  /** The live rows of the current snapshot as sorted lines; none when there is no snapshot. */
  public static List<String> live(Table table) {
    return live(table, table.currentSnapshot());
  }

  /** The live rows of a branch or tag as sorted lines, in the table's current schema. */
  public static List<String> live(Table table, String ref) {
    Snapshot snapshot = table.snapshot(ref);
    if (snapshot == null) {
      throw new IllegalArgumentException("Table " + table.name() + " has no ref " + ref);
    }
    return live(table, snapshot);
  }

  /** The live rows of a snapshot as sorted lines, in the table's current schema. */
  public static List<String> live(Table table, long snapshotId) {
    Snapshot snapshot = table.snapshot(snapshotId);
    if (snapshot == null) {
      throw new IllegalArgumentException("Table " + table.name() + " has no " + snapshotId);
    }
    return live(table, snapshot);
  }

  private static List<String> live(Table table, @Nullable Snapshot snapshot) {
    return RowText.sortedLines(liveRecords(table, snapshot), schema(table));
  }

  /**
   * The live rows of a snapshot as records of {@link #schema}, in the order of the manifests and of
   * the rows in their files.
   *
   * @param snapshot null stands for a table without snapshots
   */
  public static List<Record> liveRecords(Table table, @Nullable Snapshot snapshot) {
    return snapshot == null ? List.of() : new TableRows(table, false).liveRecords(snapshot);
  }

  /**
   * All rows of a data file in file order, as records of {@link #schema}, deleted ones included.
   */
  public static List<Record> inFile(Table table, DataFile file) {
    return new TableRows(table, false).liveRows(file, List.of());
  }

  /**
   * The rows of a data file that are live in a snapshot, in file order, as {@link #inFile} does.
   */
  public static List<Record> liveInFile(Table table, DataFile file, Snapshot snapshot) {
    return new TableRows(table, false).liveRows(file, deleteFiles(table, snapshot));
  }

  /**
   * The columns of the rows: the table's current schema, in tables of version 3 and later followed
   * by {@code _row_id} and {@code _last_updated_sequence_number}.
   */
  public static Schema schema(Table table) {
    return formatVersion(table) >= 3
        ? MetadataColumns.schemaWithRowLineage(table.schema())
        : table.schema();
  }

  /** The live data files of a snapshot, with their sequence numbers and statistics. */
  public static List<DataFile> dataFiles(Table table, Snapshot snapshot) {
    List<DataFile> files = new ArrayList<>();
    for (ManifestFile manifest : snapshot.dataManifests(table.io())) {
      try (var reader = ManifestFiles.read(manifest, table.io(), table.specs())) {
        reader.forEach(files::add);
      } catch (IOException e) {
        throw new UncheckedIOException("Cannot read " + manifest.path(), e);
      }
    }
    return files;
  }

  /** The live delete files of a snapshot, with their sequence numbers and statistics. */
  public static List<DeleteFile> deleteFiles(Table table, Snapshot snapshot) {
    List<DeleteFile> files = new ArrayList<>();
    for (ManifestFile manifest : snapshot.deleteManifests(table.io())) {
      try (var reader = ManifestFiles.readDeleteManifest(manifest, table.io(), table.specs())) {
        reader.forEach(files::add);
      } catch (IOException e) {
        throw new UncheckedIOException("Cannot read " + manifest.path(), e);
      }
    }
    return files;
  }

  static int formatVersion(Table table) {
    return ((HasTableOperations) table).operations().current().formatVersion();
  }

  private List<Record> liveRows(DataFile file, List<DeleteFile> deletes) {
    Set<Long> deletedPositions = deletedPositions(file, deletes);
    List<DeleteFile> equalityDeletes = new ArrayList<>();
    for (DeleteFile delete : deletes) {
      if (equalityDeleteApplies(delete, file)) {
        equalityDeletes.add(delete);
      }
    }

    List<Record> live = new ArrayList<>();
    long position = 0;
    for (Record row : readDataFile(file)) {
      if (!deletedPositions.contains(position) && !deletedByKey(row, equalityDeletes)) {
        live.add(output(row, file, position));
      }
      position++;
    }
    return live;
  }

  // ---- positions

  /** The positions of a data file that position deletes or its vector delete. */
  static Set<Long> deletedPositions(Table table, DataFile file, List<DeleteFile> deletes) {
    return new TableRows(table, false).deletedPositions(file, deletes);
  }

  private Set<Long> deletedPositions(DataFile file, List<DeleteFile> deletes) {
    Set<Long> positions = new HashSet<>();
    List<DeleteFile> vectors = new ArrayList<>();
    for (DeleteFile delete : deletes) {
      if (isVector(delete)
          && file.location().equals(delete.referencedDataFile())
          && file.dataSequenceNumber() <= delete.dataSequenceNumber()) {
        vectors.add(delete);
      }
    }
    if (vectors.size() > 1) { // D5
      throw new IllegalStateException(
          file.location() + " has " + vectors.size() + " deletion vectors");
    }
    if (vectors.size() == 1) { // D4: position delete files no longer count
      readVector(vectors.get(0)).forEach(positions::add);
      return positions;
    }
    for (DeleteFile delete : deletes) {
      if (delete.content() == FileContent.POSITION_DELETES
          && !isVector(delete)
          && file.dataSequenceNumber() <= delete.dataSequenceNumber() // D2
          && samePartition(delete, file)) { // D7
        for (Record row : readPositions(delete)) {
          if (file.location().equals(String.valueOf(row.get(0)))) { // D22, D23
            positions.add((Long) row.get(1));
          }
        }
      }
    }
    return positions;
  }

  private static boolean isVector(DeleteFile delete) {
    return delete.format() == FileFormat.PUFFIN;
  }

  private PositionDeleteIndex readVector(DeleteFile vector) {
    byte[] blob = new byte[Math.toIntExact(vector.contentSizeInBytes())];
    try (SeekableInputStream in = table.io().newInputFile(vector.location()).newStream()) {
      in.seek(vector.contentOffset());
      if (in.readNBytes(blob, 0, blob.length) < blob.length) {
        throw new EOFException(vector.location() + " ends inside of a deletion vector");
      }
    } catch (IOException e) {
      throw new UncheckedIOException("Cannot read " + vector.location(), e);
    }
    return PositionDeleteIndex.deserialize(blob, vector);
  }

  // ---- keys

  private boolean equalityDeleteApplies(DeleteFile delete, DataFile file) {
    if (delete.content() != FileContent.EQUALITY_DELETES) {
      return false;
    }
    boolean global = spec(delete.specId()).isUnpartitioned(); // D8
    return file.dataSequenceNumber() < delete.dataSequenceNumber() // D1
        && (global || samePartition(delete, file)); // D7
  }

  private boolean deletedByKey(Record row, List<DeleteFile> equalityDeletes) {
    for (DeleteFile delete : equalityDeletes) {
      Map<Integer, List<List<String>>> keys =
          keysByFile.computeIfAbsent(delete.location(), location -> readKeys(delete));
      List<String> key = key(row, readSchema, delete.equalityFieldIds());
      if (keys.getOrDefault(key.hashCode(), List.of()).contains(key)) {
        return true;
      }
    }
    return false;
  }

  /** The keys of an equality delete file, by their hash code. */
  private Map<Integer, List<List<String>>> readKeys(DeleteFile delete) {
    Schema keySchema = HistoricSchema.leaves(readSchema, delete.equalityFieldIds());
    Map<Integer, List<List<String>>> keys = new HashMap<>();
    for (Record row : readDeleteFile(delete, keySchema)) {
      List<String> key = key(row, keySchema, delete.equalityFieldIds());
      keys.computeIfAbsent(key.hashCode(), hash -> new ArrayList<>()).add(key);
    }
    return keys;
  }

  /** The texts of a row's key values; a leaf below a null struct is null (D10, D19). */
  private static List<String> key(Record row, Schema schema, List<Integer> fieldIds) {
    List<String> key = new ArrayList<>();
    for (int fieldId : fieldIds) {
      StructLike struct = row;
      Types.StructType type = schema.asStruct();
      String text = "null";
      for (int pos : HistoricSchema.path(schema, fieldId)) {
        Object value = struct.get(pos, Object.class);
        Types.NestedField field = type.fields().get(pos);
        if (value == null || field.fieldId() == fieldId) {
          text = RowText.value(value, field.type());
          break;
        }
        struct = (StructLike) value;
        type = field.type().asStructType();
      }
      key.add(text);
    }
    return key;
  }

  // ---- scopes

  /** Both the spec and the tuple are equal (D7), floats by their bits, null to null (D9). */
  private boolean samePartition(DeleteFile delete, DataFile file) {
    return delete.specId() == file.specId()
        && tuple(delete.partition(), spec(file.specId()))
            .equals(tuple(file.partition(), spec(file.specId())));
  }

  private static List<@Nullable Object> tuple(StructLike partition, PartitionSpec spec) {
    @Nullable Object[] values = new @Nullable Object[spec.fields().size()];
    for (int pos = 0; pos < values.length; pos++) {
      Object value = partition.get(pos, Object.class);
      if (value instanceof byte[] bytes) {
        value = ByteBuffer.wrap(bytes);
      }
      values[pos] = value instanceof CharSequence ? value.toString() : value;
    }
    return Arrays.asList(values);
  }

  private PartitionSpec spec(int specId) {
    return spec(table, specId);
  }

  static PartitionSpec spec(Table table, int specId) {
    PartitionSpec spec = table.specs().get(specId);
    if (spec == null) {
      throw new IllegalStateException("Table " + table.name() + " has no spec " + specId);
    }
    return spec;
  }

  // ---- files

  private List<Record> readDataFile(DataFile file) {
    if (rowsByFile == null) {
      return readAnew(file);
    }
    List<Record> rows = rowsByFile.get(file.location());
    if (rows == null) {
      rows = readAnew(file);
      rowsByFile.put(file.location(), rows);
    }
    return rows;
  }

  private List<Record> readAnew(DataFile file) {
    Map<Integer, Object> constants = new HashMap<>();
    PartitionSpec spec = spec(file.specId());
    for (int pos = 0; pos < spec.fields().size(); pos++) {
      PartitionField field = spec.fields().get(pos);
      Types.NestedField source = readSchema.findField(field.sourceId());
      if (field.transform().isIdentity() && source != null) { // S2, P6
        constants.put(
            field.sourceId(),
            IdentityPartitionConverters.convertConstant(
                source.type(), promoted(file.partition().get(pos, Object.class), source)));
      }
    }
    constants.put(MetadataColumns.ROW_ID.fieldId(), NOT_STORED * 2);
    constants.put(MetadataColumns.LAST_UPDATED_SEQUENCE_NUMBER.fieldId(), NOT_STORED * 2);
    return read(file.location(), file.format(), readSchema, constants);
  }

  /** A partition value of before its column was promoted, in the promoted type (S25). */
  private static @Nullable Object promoted(@Nullable Object value, Types.NestedField source) {
    return switch (source.type().typeId()) {
      case LONG -> value instanceof Integer number ? Long.valueOf(number) : value;
      case DOUBLE -> value instanceof Float number ? Double.valueOf(number) : value;
      default -> value;
    };
  }

  private List<Record> readPositions(DeleteFile file) {
    Schema schema = DeleteSchemaUtil.pathPosSchema();
    return rowsByFile == null
        ? readDeleteFile(file, schema)
        : rowsByFile.computeIfAbsent(file.location(), location -> readDeleteFile(file, schema));
  }

  private List<Record> readDeleteFile(DeleteFile file, Schema schema) {
    return read(file.location(), file.format(), schema, Map.of());
  }

  private List<Record> read(
      String location, FileFormat format, Schema schema, Map<Integer, Object> constants) {
    InputFile input = table.io().newInputFile(location);
    ReadBuilder<Record, ?> builder = FormatModelRegistry.readBuilder(format, Record.class, input);
    builder.project(schema).idToConstant(constants);
    String mapping = table.properties().get(TableProperties.DEFAULT_NAME_MAPPING);
    if (mapping != null) { // S8
      builder.withNameMapping(NameMappingParser.fromJson(mapping));
    }
    List<Record> rows = new ArrayList<>();
    try (CloseableIterable<Record> records = builder.build()) {
      records.forEach(rows::add);
    } catch (IOException e) {
      throw new UncheckedIOException("Cannot read " + location, e);
    }
    return rows;
  }

  // ---- output

  private Record output(Record row, DataFile file, long position) {
    Record output = HistoricSchema.project(row, readSchema.asStruct(), outputSchema.asStruct());
    if (outputSchema.findField(MetadataColumns.ROW_ID.fieldId()) != null) {
      int rowIdPos = outputSchema.columns().size() - 2;
      int lastUpdatedPos = rowIdPos + 1;
      Long firstRowId = file.firstRowId();
      if (firstRowId == null) { // L3
        output.set(rowIdPos, null);
        output.set(lastUpdatedPos, null);
      } else { // L2
        Long rowId = stored(output.get(rowIdPos));
        Long lastUpdated = stored(output.get(lastUpdatedPos));
        output.set(rowIdPos, rowId == null ? Long.valueOf(firstRowId + position) : rowId);
        output.set(lastUpdatedPos, lastUpdated == null ? file.dataSequenceNumber() : lastUpdated);
      }
    }
    return output;
  }

  private static @Nullable Long stored(@Nullable Object value) {
    return value instanceof Long number && number > NOT_STORED ? number : null;
  }
}
