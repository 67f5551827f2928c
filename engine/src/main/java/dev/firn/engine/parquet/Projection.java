package dev.firn.engine.parquet;

import java.util.ArrayList;
import java.util.HashMap;
import java.util.List;
import java.util.Locale;
import java.util.Map;
import org.apache.arrow.vector.FieldVector;
import org.apache.arrow.vector.VectorSchemaRoot;
import org.apache.iceberg.MetadataColumns;
import org.apache.iceberg.Schema;
import org.apache.iceberg.types.Type;
import org.apache.iceberg.types.TypeUtil;
import org.apache.iceberg.types.Types;
import org.jspecify.annotations.Nullable;

/**
 * How the columns of a batch come from the fields of one file: by field id only (S1), with what the
 * file lacks filled in (S2 to S4) and what it has under another type cast (S6, S15 to S20).
 */
final class Projection {
  /** One column of the batch; the field is the column of the file it is read from. */
  record Column(Reading reading, @Nullable FileField source) {}

  /**
   * What fills in for a file.
   *
   * @param constants the values of identity partition fields, by source id; null is a value
   * @param firstRowId null if the rows of the file have no lineage (L3)
   * @param dataSequenceNumber null if it is not known
   */
  record FileFacts(
      String location,
      Map<Integer, @Nullable Object> constants,
      @Nullable Long firstRowId,
      @Nullable Long dataSequenceNumber) {

    /** Of a delete file: it holds all there is. */
    static FileFacts ofDeletes(String location) {
      return new FileFacts(location, Map.of(), null, null);
    }

    /** Whether the same is filled in for another file. Lineage is each file's own. */
    boolean fillsInAs(FileFacts other) {
      return firstRowId == null && other.firstRowId == null && constants.equals(other.constants);
    }
  }

  final List<Column> columns;
  private final FileField root;
  private final FileFacts facts;

  /** Whether a column that is required is so here: not among keys, which are looked up (D13). */
  private final boolean keepRequired;

  private final Map<Integer, Integer> tableParents;

  private Projection(FileField root, Schema table, FileFacts facts, boolean keepRequired) {
    this.root = root;
    this.facts = facts;
    this.keepRequired = keepRequired;
    this.tableParents = TypeUtil.indexParents(table.asStruct());
    this.columns = new ArrayList<>();
  }

  private Projection(Projection other, FileFacts facts) {
    this.root = other.root;
    this.facts = facts;
    this.keepRequired = other.keepRequired;
    this.tableParents = other.tableParents;
    this.columns = other.columns;
  }

  /**
   * The same for another file of the same schema, whose facts fill in what those of this do.
   *
   * @throws IllegalArgumentException if they fill in something else
   */
  Projection of(FileFacts other) {
    if (facts.equals(other)) {
      return this; // also where lineage is each file's own
    }
    if (!facts.fillsInAs(other)) {
      throw new IllegalArgumentException(
          other.location() + " has other constants than " + facts.location());
    }
    return new Projection(this, other);
  }

  /**
   * Maps {@code columns} to the fields below {@code root} and marks those that a view must hold.
   *
   * @throws UnsupportedFileException if a column cannot be read from the file
   */
  static Projection of(
      FileField root, Schema columns, Schema table, FileFacts facts, boolean keepRequired) {
    Projection projection = new Projection(root, table, facts, keepRequired);
    for (Types.NestedField column : columns.columns()) {
      projection.columns.add(projection.column(column));
    }
    return projection;
  }

  /** Whether a field has one value in all rows of the file, that of an identity partition field. */
  boolean isConstant(int fieldId) {
    return facts.constants().containsKey(fieldId);
  }

  /**
   * Fills a batch with the next {@code length} rows of the file's fields that are wanted.
   *
   * @param view null if no field is wanted
   * @param firstPosition the position in the file of the first of the rows
   * @throws CorruptFileException if a value does not fit
   */
  void read(Stored.@Nullable Rows view, int length, long firstPosition, VectorSchemaRoot batch) {
    for (int i = 0; i < columns.size(); i++) {
      Column column = columns.get(i);
      FieldVector target = batch.getVector(i);
      FileField source = column.source();
      Stored from = source == null || view == null ? null : view.column(source);
      try {
        column.reading().readAt(firstPosition, from, length, target);
      } catch (ArithmeticException unfit) {
        throw unfit(unfit, firstPosition, length);
      }
    }
    batch.setRowCount(length);
  }

  /**
   * Checks that columns which the table requires and the file does not have values in all rows that
   * are live (S7).
   *
   * @throws CorruptFileException if one is null
   */
  void refuseNulls(VectorSchemaRoot batch, long firstPosition, long[] live) {
    for (int i = 0; i < columns.size(); i++) {
      Reading reading = columns.get(i).reading();
      if (reading.mayRefuse()) {
        try {
          reading.refuseNulls(live, batch.getRowCount(), batch.getVector(i));
        } catch (ArithmeticException missing) {
          throw unfit(missing, firstPosition, batch.getRowCount());
        }
      }
    }
  }

  private CorruptFileException unfit(ArithmeticException unfit, long firstPosition, int length) {
    return new CorruptFileException(
        "Cannot read "
            + facts.location()
            + ", positions "
            + firstPosition
            + " to "
            + (firstPosition + length - 1)
            + ": "
            + unfit.getMessage()
            + ". Nothing was changed.",
        unfit);
  }

  private Column column(Types.NestedField field) {
    String name = field.name();
    int id = field.fieldId();
    if (id == MetadataColumns.ROW_ID.fieldId()) {
      return lineage(field, facts.firstRowId(), 1);
    }
    if (id == MetadataColumns.LAST_UPDATED_SEQUENCE_NUMBER.fieldId()) {
      return lineage(field, facts.dataSequenceNumber(), 0);
    }
    FileField source = root.child(id);
    List<FileField> parents = new ArrayList<>();
    Column column;
    if (facts.constants().containsKey(id) && !tableParents.containsKey(id)) {
      column = new Column(constant(name, field.type(), facts.constants().get(id)), null);
    } else if (source != null) {
      column = new Column(stored(name, field.type(), source), source);
    } else if (findNested(root, id, parents)) {
      column = leaf(field, parents);
    } else {
      column = absent(field);
    }
    refuseNulls(column.reading(), field, column.source());
    return column;
  }

  private Column lineage(Types.NestedField field, @Nullable Long first, long step) {
    if (facts.firstRowId() == null || first == null) {
      return new Column(new Reading.Constant(field.name(), null), null);
    }
    FileField source = root.child(field.fieldId());
    if (source != null) {
      if (!(stored(field.name(), field.type(), source) instanceof Reading.Fixed)) {
        throw unsupported(field.name(), source, field.type().toString());
      }
    }
    return new Column(new Reading.Inherited(field.name(), first, step), source);
  }

  /** Finds a field through structs alone; {@code parents} becomes the structs around it. */
  private static boolean findNested(FileField struct, int id, List<FileField> parents) {
    for (FileField child : struct.children) {
      if (child.kind != FileField.Kind.STRUCT) {
        continue;
      }
      parents.add(child);
      if (child.child(id) != null || findNested(child, id, parents)) {
        return true;
      }
      parents.remove(parents.size() - 1);
    }
    return false;
  }

  private Column leaf(Types.NestedField field, List<FileField> parents) {
    FileField last = parents.get(parents.size() - 1);
    FileField source = last.child(field.fieldId());
    Reading reading = child(field.name(), field, last);
    if (source == null || facts.constants().containsKey(field.fieldId())) {
      source = null;
      wantWitness(last);
    }
    parents.forEach(parent -> parent.wanted = true);
    return new Column(
        new Reading.Leaf(field.name(), List.copyOf(parents), reading, source), parents.get(0));
  }

  /** A column, or the leaf of one, that the file lacks. */
  private Column absent(Types.NestedField field) {
    List<Integer> path = new ArrayList<>();
    Integer id = tableParents.get(field.fieldId());
    for (; id != null; id = tableParents.get(id)) {
      path.add(0, id);
    }
    if (path.isEmpty()) {
      return new Column(absent(field.name(), field), null);
    }
    List<FileField> parents = new ArrayList<>();
    FileField struct = root;
    for (Integer parentId : path) {
      FileField parent = struct.child(parentId);
      if (parent == null) {
        // A struct that is not there is null, and so are its leaves (S4, D19).
        return new Column(new Reading.Constant(field.name(), null), null);
      }
      if (parent.kind != FileField.Kind.STRUCT) {
        throw unsupported(field.name(), parent, "struct");
      }
      parents.add(parent);
      struct = parent;
    }
    return leaf(field, parents);
  }

  private Reading absent(String path, Types.NestedField field) {
    Object initial = field.initialDefault();
    if (initial != null) {
      return constant(path, field.type(), initial);
    }
    if (field.isRequired() && keepRequired) {
      throw new UnsupportedFileException(
          "Missing required field: column "
              + path
              + " (id "
              + field.fieldId()
              + ") is required and has no initial default, and "
              + facts.location()
              + " does not have it. Nothing was changed.");
    }
    return new Reading.Constant(path, null);
  }

  private Reading constant(String path, Type type, @Nullable Object value) {
    try {
      return new Reading.Constant(path, value == null ? null : PhysicalValue.of(type, value));
    } catch (ClassCastException | ArithmeticException | UnsupportedFileException notOfType) {
      throw new UnsupportedFileException(
          "Cannot read column "
              + path
              + " of "
              + facts.location()
              + ": its partition or default value "
              + value
              + " is not of type "
              + type,
          notOfType);
    }
  }

  private void refuseNulls(Reading reading, Types.NestedField field, @Nullable FileField source) {
    reading.nullsRefused =
        keepRequired && field.isRequired() && (source == null || !source.required());
  }

  private Reading stored(String path, Type type, FileField source) {
    source.wanted = true;
    if (type.isPrimitiveType()) {
      if (source.kind != FileField.Kind.PRIMITIVE) {
        throw unsupported(path, source, type.toString());
      }
      return primitive(path, type.asPrimitiveType(), source);
    }
    FileField.Kind expected =
        type.isStructType()
            ? FileField.Kind.STRUCT
            : type.isListType() ? FileField.Kind.LIST : FileField.Kind.MAP;
    if (source.kind != expected) {
      throw unsupported(path, source, expected.name().toLowerCase(Locale.ROOT));
    }
    if (type.isListType()) {
      return new Reading.Lists(
          path,
          elements(path + ".element", type.asListType().fields().get(0), source.children.get(0)));
    }
    if (type.isMapType()) {
      // Key and value are there in every map, whatever their ids: a map has no other children.
      List<Types.NestedField> fields = type.asMapType().fields();
      Reading key = elements(path + ".key", fields.get(0), source.key());
      Reading value = elements(path + ".value", fields.get(1), source.value());
      return new Reading.Lists(
          path,
          new Reading.Struct(
              path, new Reading[] {key, value}, new FileField[] {source.key(), source.value()}));
    }
    return struct(path, type.asStructType(), source);
  }

  private Reading elements(String path, Types.NestedField field, FileField source) {
    Reading reading = stored(path, field.type(), source);
    refuseNulls(reading, field, source);
    return reading;
  }

  private Reading struct(String path, Types.StructType type, FileField source) {
    List<Types.NestedField> fields = type.fields();
    Reading[] children = new Reading[fields.size()];
    FileField[] sources = new FileField[fields.size()];
    boolean anyStored = false;
    for (int i = 0; i < children.length; i++) {
      Types.NestedField field = fields.get(i);
      children[i] = child(path + "." + field.name(), field, source);
      if (!facts.constants().containsKey(field.fieldId())) {
        sources[i] = source.child(field.fieldId());
        anyStored |= sources[i] != null;
      }
    }
    if (!anyStored) {
      wantWitness(source);
    }
    return new Reading.Struct(path, children, sources);
  }

  private Reading child(String path, Types.NestedField field, FileField struct) {
    Reading reading;
    FileField source = struct.child(field.fieldId());
    if (facts.constants().containsKey(field.fieldId())) {
      source = null;
      reading = constant(path, field.type(), facts.constants().get(field.fieldId()));
    } else if (source != null) {
      reading = stored(path, field.type(), source);
    } else if (root.numbered) {
      throw new UnsupportedFileException(
          "Cannot read struct "
              + struct.path
              + " of "
              + facts.location()
              + ": its fields have no ids. Set the table property schema.name-mapping.default.");
    } else {
      reading = absent(path, field);
    }
    refuseNulls(reading, field, source);
    return reading;
  }

  /** Wants a leaf that tells where {@code struct} is null, as nothing else of it is read (S11). */
  private void wantWitness(FileField struct) {
    List<FileField> witness = witness(struct);
    if (witness.isEmpty()) {
      throw new UnsupportedFileException(
          "Cannot read struct " + struct.path + " of " + facts.location() + ": it has no fields");
    }
    witness.forEach(field -> field.wanted = true);
    witness.get(witness.size() - 1).want();
  }

  /** The shortest path to something that can be read below a field, or none. */
  private static List<FileField> witness(FileField field) {
    List<FileField> best = List.of();
    for (FileField child : field.children) {
      List<FileField> path = new ArrayList<>(List.of(child));
      if (child.kind == FileField.Kind.STRUCT || child.kind == FileField.Kind.LIST) {
        path.addAll(witness(child));
      }
      boolean readable =
          child.kind == FileField.Kind.PRIMITIVE
              || child.kind == FileField.Kind.MAP && child.readable()
              || path.size() > 1;
      if (readable && (best.isEmpty() || path.size() < best.size())) {
        best = path;
      }
    }
    return best;
  }

  private UnsupportedFileException unsupported(String path, FileField source, String to) {
    return new UnsupportedFileException(
        "Cannot read column "
            + path
            + " of "
            + facts.location()
            + ": the file has "
            + source.typeText()
            + " ("
            + source.path
            + "), the table "
            + to
            + ". Nothing was changed.");
  }

  private Reading primitive(String path, Type.PrimitiveType type, FileField source) {
    Reading reading = PrimitiveReadings.of(path, type, source);
    if (reading == null) {
      throw unsupported(path, source, type.toString());
    }
    return reading;
  }

  /** The identity constants of a file: by the id of the partition field's source (S2, S25). */
  static Map<Integer, @Nullable Object> constants(
      org.apache.iceberg.PartitionSpec spec, org.apache.iceberg.StructLike partition) {
    Map<Integer, @Nullable Object> constants = new HashMap<>();
    List<org.apache.iceberg.PartitionField> fields = spec.fields();
    for (int i = 0; i < fields.size(); i++) {
      if (fields.get(i).transform().isIdentity()) {
        constants.put(fields.get(i).sourceId(), partition.get(i, Object.class));
      }
    }
    return constants;
  }
}
