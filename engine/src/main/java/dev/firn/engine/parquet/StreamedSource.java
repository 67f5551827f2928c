package dev.firn.engine.parquet;

import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import org.apache.iceberg.Schema;
import org.apache.iceberg.parquet.ParquetSchemaUtil;
import org.apache.iceberg.types.Type;
import org.apache.iceberg.types.Types;
import org.apache.parquet.format.converter.ParquetMetadataConverter;
import org.apache.parquet.hadoop.metadata.FileMetaData;
import org.apache.parquet.hadoop.metadata.ParquetMetadata;

/**
 * A file in Avro or ORC: one row group, streamed batch by batch (S23).
 *
 * <p>Its schema is stated as the Parquet schema that Iceberg would write for it, and its rows are
 * decoded in the physical layout of that. So how columns come from it, with defaults, constants,
 * promotions and lineage, is decided where it is decided for Parquet: in {@link Projection}.
 */
final class StreamedSource extends SourceFile {

  /** How much larger rows are in memory than in the file, about. */
  private static final int EXPANSION = 4;

  private final StreamedFile file;
  private final Projection projection;
  private final Schema wanted;
  private final Schema columns;
  private final long recordCount;
  private final long fileBytes;
  private final int batchRows;

  /**
   * @param root the schema of the file as {@link #root} gives it, its wanted fields marked
   * @param recordCount what the table's metadata says
   */
  StreamedSource(
      StreamedFile file,
      FileField root,
      Projection projection,
      Schema columns,
      long recordCount,
      long fileBytes,
      int batchRows) {
    this.file = file;
    this.projection = projection;
    this.wanted = new Schema(wanted(file.fields(), root));
    this.columns = columns;
    this.recordCount = recordCount;
    this.fileBytes = fileBytes;
    this.batchRows = batchRows;
    if (file.rows() != StreamedFile.ROWS_UNKNOWN && file.rows() != recordCount) {
      throw wrongCount("its footer counts " + file.rows());
    }
    if (recordCount == 0 && file.rows() != 0) {
      throw wrongCount("it holds some"); // of which nobody would ask for any
    }
  }

  /** The schema of a file as a Parquet file would have it. */
  static FileField root(StreamedFile file) {
    FileMetaData metadata =
        new FileMetaData(
            ParquetSchemaUtil.convert(new Schema(file.fields()), "table"), Map.of(), "firn");
    return FileField.parse(
        new ParquetMetadataConverter()
            .toParquetMetadata(1, new ParquetMetadata(metadata, List.of()))
            .getSchema());
  }

  /** The wanted ones of a struct's fields, named as they are decoded. */
  private static List<Types.NestedField> wanted(List<Types.NestedField> fields, FileField struct) {
    List<Types.NestedField> wanted = new ArrayList<>();
    for (Types.NestedField field : fields) {
      FileField source = struct.child(field.fieldId());
      if (source != null && source.wanted) {
        source.nameInView(PhysicalLayout.field(field).getName());
        wanted.add(ofType(field, wanted(field.type(), source)));
      }
    }
    return wanted;
  }

  private static Type wanted(Type type, FileField source) {
    if (type.isStructType()) {
      return Types.StructType.of(wanted(type.asStructType().fields(), source));
    } else if (type.isListType()) {
      FileField element = source.children.get(0);
      Types.NestedField field = type.asListType().fields().get(0);
      Type elementType = wanted(field.type(), element);
      return field.isOptional()
          ? Types.ListType.ofOptional(field.fieldId(), elementType)
          : Types.ListType.ofRequired(field.fieldId(), elementType);
    } else if (type.isMapType()) {
      Types.NestedField key = type.asMapType().fields().get(0);
      Types.NestedField value = type.asMapType().fields().get(1);
      source.key().nameInView(PhysicalLayout.field(key).getName());
      source.value().nameInView(PhysicalLayout.field(value).getName());
      Type keyType = wanted(key.type(), source.key());
      Type valueType = wanted(value.type(), source.value());
      return value.isOptional()
          ? Types.MapType.ofOptional(key.fieldId(), value.fieldId(), keyType, valueType)
          : Types.MapType.ofRequired(key.fieldId(), value.fieldId(), keyType, valueType);
    }
    return type;
  }

  private static Types.NestedField ofType(Types.NestedField field, Type type) {
    return Types.NestedField.of(field.fieldId(), field.isOptional(), field.name(), type);
  }

  CorruptFileException wrongCount(String counted) {
    return ParquetFooter.corrupt(
        location(), counted + " rows, the table's metadata " + recordCount);
  }

  @Override
  public String location() {
    return file.location();
  }

  @Override
  public boolean decodesWhole() {
    return false;
  }

  @Override
  public List<RowGroup> rowGroups() {
    return recordCount == 0
        ? List.of()
        : List.of(new RowGroup(0, 0, recordCount, fileBytes, fileBytes, fileBytes * EXPANSION));
  }

  @Override
  public long rows() {
    return recordCount;
  }

  @Override
  public RowGroupView fetch(RowGroup group) {
    return new StreamedView(this, group);
  }

  StreamedFile file() {
    return file;
  }

  Projection projection() {
    return projection;
  }

  /** The fields of the file that are to be decoded. */
  Schema wanted() {
    return wanted;
  }

  Schema columns() {
    return columns;
  }

  int batchRows() {
    return batchRows;
  }
}
