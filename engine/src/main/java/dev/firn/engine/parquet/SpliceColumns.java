package dev.firn.engine.parquet;

import java.util.ArrayList;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import org.apache.iceberg.Schema;
import org.apache.iceberg.types.Type;
import org.apache.iceberg.types.Types.NestedField;
import org.apache.parquet.column.ColumnDescriptor;
import org.apache.parquet.schema.MessageType;
import org.apache.parquet.schema.PrimitiveType;
import org.apache.parquet.schema.Types;
import org.jspecify.annotations.Nullable;

/**
 * Which columns of an output a file stores as the output would: of the same physical type and with
 * the same levels but for what is required there and optional here, nothing cast and nothing filled
 * in. Only such are spliced, each column with all of its leaves or not at all.
 */
final class SpliceColumns {

  /**
   * A leaf column of the output and where the file has it.
   *
   * @param column the place of its column in the schema
   * @param leaf its place among all leaves of the output
   * @param chunk the column chunk of the file
   * @param source as the file has it: what is optional in the output may be required there
   * @param levels the output's definition level for each of the file's; null if they are the same
   * @param type as the output has it
   * @param hasNoNan whether it is known that no value is NaN
   * @param needsValues whether it can be spliced only where it has no nulls: what is null would be
   *     filled in
   */
  record Leaf(
      int column,
      int leaf,
      int chunk,
      ColumnDescriptor source,
      byte @Nullable [] levels,
      PrimitiveType type,
      boolean hasNoNan,
      boolean needsValues) {}

  /** A step on the way from a row to a leaf that has a definition level in the output. */
  private record Step(boolean inFile) {}

  private static final class Unlike extends Exception {
    private static final long serialVersionUID = 1L;

    Unlike(String why) {
      super(why, null, false, false);
    }
  }

  private final Projection projection;
  private final List<ColumnDescriptor> descriptors;
  private final Map<Integer, Long> nanCounts;
  private final Map<Integer, String> reasons = new HashMap<>();
  private final List<List<Leaf>> leaves = new ArrayList<>();
  private final List<List<Integer>> leafPlaces = new ArrayList<>();
  private final List<List<Integer>> chunks = new ArrayList<>();
  private int nextLeaf;

  /**
   * @param projection of the file
   * @param columns of the output
   * @param type the same as Parquet has it
   * @param nanCounts how many values of the file are NaN, by field id, where that is known
   */
  SpliceColumns(
      Projection projection, Schema columns, MessageType type, Map<Integer, Long> nanCounts) {
    this.projection = projection;
    this.descriptors = type.getColumns();
    this.nanCounts = nanCounts;
    for (int column = 0; column < columns.columns().size(); column++) {
      add(column, columns.columns().get(column));
    }
  }

  private void add(int column, NestedField field) {
    FileField source = projection.columns.get(column).source();
    int first = nextLeaf;
    List<Leaf> found = new ArrayList<>();
    try {
      if (source == null) {
        throw new Unlike("not in the file");
      }
      boolean isLineage = projection.columns.get(column).reading() instanceof Reading.Inherited;
      if (!isLineage && (source.id == null || source.id != field.fieldId())) {
        throw new Unlike("part of another column");
      }
      match(column, field, source, isLineage, List.of(), found);
    } catch (Unlike unlike) {
      reasons.put(column, unlike.getMessage());
      found.clear();
    }
    nextLeaf = first + leafCount(field.type());
    List<Integer> places = new ArrayList<>();
    for (int leaf = first; leaf < nextLeaf; leaf++) {
      places.add(leaf);
    }
    List<Integer> ofFile = new ArrayList<>();
    if (source != null) {
      chunks(source, ofFile);
    }
    leaves.add(found);
    leafPlaces.add(places);
    chunks.add(ofFile);
  }

  private static int leafCount(Type type) {
    return type.isPrimitiveType()
        ? 1
        : type.asNestedType().fields().stream().mapToInt(field -> leafCount(field.type())).sum();
  }

  private static void chunks(FileField field, List<Integer> into) {
    if (field.kind == FileField.Kind.PRIMITIVE) {
      into.add(field.leaf);
    }
    field.children.forEach(child -> chunks(child, into));
  }

  private void match(
      int column,
      NestedField field,
      FileField source,
      boolean isLineage,
      List<Step> above,
      List<Leaf> found)
      throws Unlike {
    Type type = field.type();
    if (field.isRequired() && !source.required()) {
      throw new Unlike("optional in the file");
    }
    List<Step> path = with(above, field.isOptional(), !source.required());
    if (type.isPrimitiveType()) {
      leaf(column, field, source, isLineage, path, found);
    } else if (type.isStructType()) {
      expect(source, FileField.Kind.STRUCT);
      for (NestedField child : type.asStructType().fields()) {
        FileField of = source.child(child.fieldId());
        if (of == null || projection.isConstant(child.fieldId())) {
          throw new Unlike("a field of it is not in the file");
        }
        match(column, child, of, false, path, found);
      }
    } else {
      List<Step> repeated = with(path, true, true);
      if (type.isListType()) {
        expect(source, FileField.Kind.LIST);
        NestedField element = type.asListType().fields().get(0);
        match(column, element, source.children.get(0), false, repeated, found);
      } else {
        expect(source, FileField.Kind.MAP);
        List<NestedField> fields = type.asMapType().fields();
        match(column, fields.get(0), source.key(), false, repeated, found);
        match(column, fields.get(1), source.value(), false, repeated, found);
      }
    }
  }

  private static List<Step> with(List<Step> above, boolean inOutput, boolean inFile) {
    if (!inOutput) {
      return above;
    }
    List<Step> path = new ArrayList<>(above);
    path.add(new Step(inFile));
    return path;
  }

  private static void expect(FileField source, FileField.Kind kind) throws Unlike {
    if (source.kind != kind) {
      throw new Unlike("of another type in the file");
    }
  }

  private void leaf(
      int column,
      NestedField field,
      FileField source,
      boolean isLineage,
      List<Step> path,
      List<Leaf> found)
      throws Unlike {
    expect(source, FileField.Kind.PRIMITIVE);
    ColumnDescriptor target = descriptors.get(nextLeaf);
    Reading reading = PrimitiveReadings.of(field.name(), field.type().asPrimitiveType(), source);
    boolean isAsStored =
        reading instanceof Reading.Fixed
            || reading instanceof Reading.Booleans
            || reading instanceof Reading.Binaries;
    if (!isAsStored || !isSame(source, target)) {
      throw new Unlike("of another type in the file");
    }
    Long nans = nanCounts.get(field.fieldId());
    found.add(
        new Leaf(
            column,
            nextLeaf++,
            source.leaf,
            path.stream().allMatch(Step::inFile) ? target : inFile(target, path, source.required()),
            levels(path),
            target.getPrimitiveType(),
            nans != null && nans == 0,
            isLineage));
  }

  /** A column with those definition levels only that the file has. */
  private static ColumnDescriptor inFile(
      ColumnDescriptor target, List<Step> path, boolean isRequired) {
    PrimitiveType type = target.getPrimitiveType();
    PrimitiveType ofFile =
        Types.primitive(
                type.getPrimitiveTypeName(),
                isRequired
                    ? org.apache.parquet.schema.Type.Repetition.REQUIRED
                    : type.getRepetition())
            .length(type.getTypeLength())
            .as(type.getLogicalTypeAnnotation())
            .named(type.getName());
    int levels = (int) path.stream().filter(Step::inFile).count();
    return new ColumnDescriptor(target.getPath(), ofFile, target.getMaxRepetitionLevel(), levels);
  }

  /* A level of the file says that so many of its steps are there and the next is not: what comes
  before that next step is there too. */
  private static byte @Nullable [] levels(List<Step> path) {
    if (path.stream().allMatch(Step::inFile)) {
      return null;
    }
    byte[] levels = new byte[(int) path.stream().filter(Step::inFile).count() + 1];
    int inFile = 0;
    for (int step = 0; step < path.size(); step++) {
      if (path.get(step).inFile()) {
        levels[inFile++] = (byte) step;
      }
    }
    levels[inFile] = (byte) path.size();
    return levels;
  }

  private static boolean isSame(FileField source, ColumnDescriptor target) {
    return switch (target.getType()) {
      case BOOLEAN -> source.element.getType() == org.apache.parquet.format.Type.BOOLEAN;
      case INT32 -> source.element.getType() == org.apache.parquet.format.Type.INT32;
      case INT64 -> source.element.getType() == org.apache.parquet.format.Type.INT64;
      case FLOAT -> source.element.getType() == org.apache.parquet.format.Type.FLOAT;
      case DOUBLE -> source.element.getType() == org.apache.parquet.format.Type.DOUBLE;
      case BINARY -> source.element.getType() == org.apache.parquet.format.Type.BYTE_ARRAY;
      case FIXED_LEN_BYTE_ARRAY ->
          source.element.getType() == org.apache.parquet.format.Type.FIXED_LEN_BYTE_ARRAY
              && source.element.getType_length() == target.getTypeLength();
      default -> false;
    };
  }

  int count() {
    return leaves.size();
  }

  /** Why columns are not spliced, by their places in the schema. */
  Map<Integer, String> reasons() {
    return reasons;
  }

  /** The leaves of a column that is spliced; none of one that is not. */
  List<Leaf> leaves(int column) {
    return leaves.get(column);
  }

  /** The places that the leaves of a column have among all, spliced or not. */
  List<Integer> leafPlaces(int column) {
    return leafPlaces.get(column);
  }

  /** The column chunks of the file that a column is read from, spliced or not. */
  List<Integer> chunks(int column) {
    return chunks.get(column);
  }
}
