package dev.firn.engine.parquet;

import dev.firn.deletes.DeleteSource;
import dev.firn.io.RangeReader;
import java.io.IOException;
import java.nio.file.Path;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.Set;
import org.apache.arrow.memory.BufferAllocator;
import org.apache.iceberg.ContentFile;
import org.apache.iceberg.DataFile;
import org.apache.iceberg.DeleteFile;
import org.apache.iceberg.FileContent;
import org.apache.iceberg.FileFormat;
import org.apache.iceberg.FileScanTask;
import org.apache.iceberg.MetadataColumns;
import org.apache.iceberg.PartitionSpec;
import org.apache.iceberg.Schema;
import org.apache.iceberg.io.FileIO;
import org.apache.iceberg.io.InputFile;
import org.apache.iceberg.mapping.MappedField;
import org.apache.iceberg.mapping.MappingUtil;
import org.apache.iceberg.mapping.NameMapping;
import org.apache.iceberg.parquet.ParquetSchemaUtil;
import org.apache.iceberg.types.Type;
import org.apache.iceberg.types.TypeUtil;
import org.apache.parquet.format.SchemaElement;
import org.apache.parquet.schema.MessageType;
import org.jspecify.annotations.Nullable;

/**
 * Reads the data files and delete files of a table, of all formats, in the physical layout.
 *
 * <p>Thread-safe. To be closed after everything it opened; the FileIO, the range reader and the
 * allocator are the caller's.
 */
public final class TableReader implements DeleteSource, AutoCloseable {
  private static final NameMapping POSITION_DELETES =
      NameMapping.of(
          MappedField.of(
              MetadataColumns.DELETE_FILE_PATH.fieldId(), MetadataColumns.DELETE_FILE_PATH.name()),
          MappedField.of(
              MetadataColumns.DELETE_FILE_POS.fieldId(), MetadataColumns.DELETE_FILE_POS.name()));

  /* Nearly all of a delete file is needed, so that one that is not large is read at once. */
  private static final int DELETES_READ_WHOLE_BYTES_MAX = 4 << 20;

  private final FileIO io;
  private final Schema table;
  private final Map<Integer, PartitionSpec> specs;
  private final @Nullable NameMapping mapping;
  private final RangeReader ranges;
  private final BufferAllocator allocator;
  private final Path scratch;
  private final int batchRows;
  private final long decodeBytesMax;
  private final NativeMemory nativeMemory = new NativeMemory();
  private final PageToolsPool pageTools = new PageToolsPool();
  private volatile @Nullable Converted converted; // what was asked for last; null before
  private volatile @Nullable Mapped mapped; // the file that was spliced last; null before

  /** Columns as Iceberg and as Parquet has them. */
  private record Converted(Schema columns, MessageType type) {}

  /**
   * How the columns of a file are found. Most files of a table have the same schema, and what this
   * is made of costs more than to read a small file.
   */
  private record Mapped(
      List<SchemaElement> elements,
      Schema columns,
      Projection.FileFacts facts,
      Map<Integer, Long> nanCounts,
      Projection projection,
      ViewSchema view,
      org.apache.arrow.vector.types.pojo.Schema layout,
      SpliceColumns spliced) {

    boolean isFor(
        ParquetFooter footer, Schema wanted, Projection.FileFacts ofFile, Map<Integer, Long> nans) {
      return columns == wanted
          && facts.fillsInAs(ofFile)
          && nanCounts.equals(nans)
          && elements.equals(footer.metadata().getSchema());
    }
  }

  /**
   * @param table the schema the run was planned with (S1)
   * @param mapping for files without field ids, or null if the table has none (S8)
   * @param allocator for the batches of deletes and keys; to be closed after this
   * @param scratch an existing directory for views of row groups, better in memory
   * @param batchRows rows of a batch at most
   */
  public TableReader(
      FileIO io,
      Schema table,
      Map<Integer, PartitionSpec> specs,
      @Nullable NameMapping mapping,
      RangeReader ranges,
      BufferAllocator allocator,
      Path scratch,
      int batchRows) {
    this(io, table, specs, mapping, ranges, allocator, scratch, batchRows, Long.MAX_VALUE);
  }

  /**
   * A reader that decodes a Parquet row group part by part if it would take too much memory.
   *
   * @param table the schema the run was planned with (S1)
   * @param mapping for files without field ids, or null if the table has none (S8)
   * @param allocator for the batches of deletes and keys; to be closed after this
   * @param scratch an existing directory for views of row groups, better in memory
   * @param batchRows rows of a batch at most
   * @param decodeBytesMax what one row group shall take while it is decoded and read, by what its
   *     footer and page headers say. One that takes more is cut at pages. A page is decoded whole,
   *     and so are leaves in lists if neither page headers nor an offset index say at which rows
   *     their pages begin: such may take more. {@link Long#MAX_VALUE} for no limit
   */
  public TableReader(
      FileIO io,
      Schema table,
      Map<Integer, PartitionSpec> specs,
      @Nullable NameMapping mapping,
      RangeReader ranges,
      BufferAllocator allocator,
      Path scratch,
      int batchRows,
      long decodeBytesMax) {
    if (batchRows <= 0) {
      throw new IllegalArgumentException("batchRows must be positive but was " + batchRows);
    }
    if (decodeBytesMax <= 0) {
      throw new IllegalArgumentException(
          "decodeBytesMax must be positive but was " + decodeBytesMax);
    }
    this.io = io;
    this.table = table;
    this.specs = Map.copyOf(specs);
    this.mapping = mapping;
    this.ranges = ranges;
    this.allocator = allocator;
    this.scratch = scratch;
    this.batchRows = batchRows;
    this.decodeBytesMax = decodeBytesMax;
  }

  /**
   * Opens a data file in Parquet, Avro or ORC to read {@code columns}, which can include the two
   * columns of row lineage (L2). Reads its schema.
   *
   * @throws UnsupportedFileException if the file, or a column of it, cannot be read
   * @throws CorruptFileException if the file is not what the table's metadata says
   */
  public SourceFile open(FileScanTask task, Schema columns) throws IOException {
    return open(task, columns, true);
  }

  /**
   * Opens a data file that was written and is not committed. Where it stores no lineage for a row,
   * the row has a negative one here, which no committed row has: such rows would get new ids.
   */
  public SourceFile openWritten(FileScanTask task, Schema columns) throws IOException {
    DataFile file = task.file();
    Map<Integer, @Nullable Object> constants =
        Projection.constants(specs.getOrDefault(file.specId(), task.spec()), file.partition());
    Projection.FileFacts facts =
        new Projection.FileFacts(file.location(), constants, Long.MIN_VALUE, Long.MIN_VALUE);
    return open(file, columns, facts, true);
  }

  /**
   * Opens a data file whose rows go into files of the schema {@code columns}. Of one in Parquet,
   * row groups are fetched as {@link SplicedView}s, of others as {@link #open} has them.
   *
   * @param allocator for column chunks as they are stored
   * @param bytesMax row groups of more compressed bytes are not spliced
   * @throws UnsupportedFileException if the file, or a column of it, cannot be read
   * @throws CorruptFileException if the file is not what the table's metadata says
   */
  public SourceFile openToSplice(
      FileScanTask task, Schema columns, BufferAllocator allocator, long bytesMax)
      throws IOException {
    DataFile file = task.file();
    Projection.FileFacts facts = facts(task);
    if (file.format() != FileFormat.PARQUET) {
      return open(file, columns, facts, true);
    }
    checkPlain(file);
    ParquetFooter footer =
        ParquetFooter.read(
            ranges, file.location(), file.fileSizeInBytes(), ParquetFooter.TAIL_BYTES);
    Mapped found = mapped(footer, columns, facts, file);
    ParquetSource whole =
        parquet(
            footer, found.view(), found.projection().of(facts), found.layout(), file.recordCount());
    return new SpliceSource(
        whole,
        footer,
        found.spliced(),
        places -> {
          Schema some = new Schema(places.stream().map(columns.columns()::get).toList());
          FileField again = root(footer, file);
          Projection ofSome = Projection.of(again, some, table, facts, true);
          return parquet(footer, again, ofSome, some, file);
        },
        ranges,
        allocator,
        bytesMax);
  }

  private Mapped mapped(
      ParquetFooter footer, Schema columns, Projection.FileFacts facts, DataFile file) {
    Map<Integer, Long> nans = file.nanValueCounts() == null ? Map.of() : file.nanValueCounts();
    Mapped last = mapped;
    if (last != null && last.isFor(footer, columns, facts, nans)) {
      return last;
    }
    FileField root = root(footer, file);
    Projection projection = Projection.of(root, columns, table, facts, true);
    Mapped found =
        new Mapped(
            footer.metadata().getSchema(),
            columns,
            facts,
            nans,
            projection,
            ViewSchema.of(root),
            PhysicalLayout.of(columns),
            new SpliceColumns(projection, columns, parquetType(columns), nans));
    mapped = found;
    return found;
  }

  private MessageType parquetType(Schema columns) {
    Converted last = converted;
    if (last == null || last.columns() != columns) {
      last = new Converted(columns, ParquetSchemaUtil.convert(columns, "table"));
      converted = last;
    }
    return last.type();
  }

  private SourceFile open(FileScanTask task, Schema columns, boolean keepRequired)
      throws IOException {
    return open(task.file(), columns, facts(task), keepRequired);
  }

  private Projection.FileFacts facts(FileScanTask task) {
    DataFile file = task.file();
    PartitionSpec spec = specs.getOrDefault(file.specId(), task.spec());
    return new Projection.FileFacts(
        file.location(),
        Projection.constants(spec, file.partition()),
        file.firstRowId(),
        file.dataSequenceNumber());
  }

  private SourceFile open(
      ContentFile<?> file, Schema columns, Projection.FileFacts facts, boolean keepRequired)
      throws IOException {
    checkPlain(file);
    switch (file.format()) {
      case PARQUET:
        return openParquet(file, columns, facts, keepRequired);
      case AVRO:
      case ORC:
        return openStreamed(file, columns, facts, keepRequired);
      default:
        throw new UnsupportedFileException(
            "Cannot read "
                + file.location()
                + ": files in "
                + file.format()
                + " are not supported. Nothing was changed.");
    }
  }

  private ParquetSource openParquet(
      ContentFile<?> file, Schema columns, Projection.FileFacts facts, boolean keepRequired)
      throws IOException {
    long fileLength = file.fileSizeInBytes();
    boolean whole =
        file.content() != FileContent.DATA && fileLength <= DELETES_READ_WHOLE_BYTES_MAX;
    ParquetFooter footer =
        ParquetFooter.read(
            ranges,
            file.location(),
            fileLength,
            whole ? DELETES_READ_WHOLE_BYTES_MAX : ParquetFooter.TAIL_BYTES);
    FileField root = root(footer, file);
    Projection projection = Projection.of(root, columns, table, facts, keepRequired);
    return parquet(footer, root, projection, columns, file);
  }

  private FileField root(ParquetFooter footer, ContentFile<?> file) {
    FileField root = footer.schema();
    if (!root.anyId()) {
      identify(root, file);
    }
    return root;
  }

  private ParquetSource parquet(
      ParquetFooter footer,
      FileField root,
      Projection projection,
      Schema columns,
      ContentFile<?> file) {
    return parquet(
        footer, ViewSchema.of(root), projection, PhysicalLayout.of(columns), file.recordCount());
  }

  private ParquetSource parquet(
      ParquetFooter footer,
      ViewSchema view,
      Projection projection,
      org.apache.arrow.vector.types.pojo.Schema layout,
      long recordCount) {
    return new ParquetSource(
        footer,
        view,
        projection,
        layout,
        recordCount,
        ranges,
        scratch,
        batchRows,
        decodeBytesMax,
        nativeMemory,
        pageTools);
  }

  private StreamedSource openStreamed(
      ContentFile<?> file, Schema columns, Projection.FileFacts facts, boolean keepRequired)
      throws IOException {
    StreamedFile streamed = openStreamed(file, TypeUtil.indexById(columns.asStruct()).keySet());
    FileField root = StreamedSource.root(streamed);
    Projection projection = Projection.of(root, columns, table, facts, keepRequired);
    return new StreamedSource(
        streamed, root, projection, columns, file.recordCount(), file.fileSizeInBytes(), batchRows);
  }

  private StreamedFile openStreamed(ContentFile<?> file, Set<Integer> ids) throws IOException {
    InputFile input = io.newInputFile(file.location(), file.fileSizeInBytes());
    return file.format() == FileFormat.AVRO
        ? AvroFile.open(input, () -> mapping(file), ids)
        : OrcDataFile.open(input, file.fileSizeInBytes(), ranges, () -> mapping(file), ids);
  }

  private static void checkPlain(ContentFile<?> file) {
    if (file.keyMetadata() != null) {
      throw new UnsupportedFileException(
          "Cannot read " + file.location() + ": it is encrypted. Nothing was changed.");
    }
  }

  @Override
  public void readKeys(FileScanTask task, Schema columns, Batches batches) throws IOException {
    try (SourceFile file = open(task, columns, false)) {
      readAll(file, batches);
    }
  }

  @Override
  public void readDeletes(DeleteFile file, Schema columns, Batches batches) throws IOException {
    Projection.FileFacts facts = Projection.FileFacts.ofDeletes(file.location());
    try (SourceFile source = open(file, columns, facts, false)) {
      readAll(source, batches);
    }
  }

  @Override
  public Map<Integer, Type> fieldTypes(ContentFile<?> file, Set<Integer> ids) throws IOException {
    checkPlain(file);
    Schema schema = fileSchema(file, ids);
    Map<Integer, Integer> parents = TypeUtil.indexParents(schema.asStruct());
    Map<Integer, Type> types = new HashMap<>();
    for (int id : ids) {
      Type type = schema.findType(id);
      boolean belowStructs = true;
      for (Integer parent = parents.get(id); parent != null; parent = parents.get(parent)) {
        Type parentType = schema.findType(parent);
        belowStructs &= parentType != null && parentType.isStructType();
      }
      if (type != null && belowStructs) {
        types.put(id, type);
      }
    }
    return types;
  }

  private Schema fileSchema(ContentFile<?> file, Set<Integer> ids) throws IOException {
    switch (file.format()) {
      case PARQUET:
        return ParquetFooter.read(
                ranges, file.location(), file.fileSizeInBytes(), ParquetFooter.TAIL_BYTES)
            .fieldsWithIds();
      case AVRO:
      case ORC:
        return new Schema(openStreamed(file, ids).fields());
      default:
        return new Schema();
    }
  }

  private void identify(FileField root, ContentFile<?> file) {
    if (mapping == null && file.content() == FileContent.DATA) {
      root.numberColumns();
    } else {
      root.map(mapping(file));
    }
  }

  /**
   * By which names the fields of a file without ids are known. Position deletes have the same two
   * columns in every table. Avro and ORC data files without a mapping are read by the names of the
   * table, as Iceberg's readers do (S8).
   */
  private NameMapping mapping(ContentFile<?> file) {
    if (file.content() == FileContent.POSITION_DELETES) {
      return POSITION_DELETES;
    } else if (mapping != null) {
      return mapping;
    } else if (file.content() == FileContent.DATA) {
      return MappingUtil.create(table);
    }
    throw new UnsupportedFileException(
        "Cannot read equality delete file "
            + file.location()
            + ": its columns have no field ids and the table has no schema.name-mapping.default."
            + " Nothing was changed.");
  }

  private void readAll(SourceFile file, Batches batches) throws IOException {
    for (SourceFile.RowGroup group : file.rowGroups()) {
      try (RowBatches rows = file.read(group, allocator)) {
        while (rows.next()) {
          batches.accept(rows.batch(), rows.firstPosition());
        }
      }
    }
  }

  @Override
  public byte[] readDeletionVector(DeleteFile vector) throws IOException {
    checkPlain(vector);
    Long offset = vector.contentOffset();
    Long size = vector.contentSizeInBytes();
    if (offset == null || size == null) {
      throw new CorruptFileException(
          "Cannot read deletion vector "
              + vector.location()
              + ": the table's metadata gives no offset and size of it. Nothing was changed.");
    }
    if (offset < 0 || size < 0 || size > Integer.MAX_VALUE - 8) {
      throw new CorruptFileException(
          "Cannot read deletion vector "
              + vector.location()
              + ": the table's metadata puts it at offset "
              + offset
              + " with "
              + size
              + " bytes. Nothing was changed.");
    }
    return ranges.read(vector.location(), vector.fileSizeInBytes(), offset, size.intValue());
  }

  /** The most bytes that decoded rows took at once so far. Batches share them. */
  public long decodedBytesPeak() {
    return nativeMemory.bytesPeak();
  }

  /** The bytes that decoded rows take now. */
  public long decodedBytes() {
    return nativeMemory.bytes();
  }

  /**
   * Closes the reader.
   *
   * @throws IllegalStateException if batches that it opened are still open
   */
  @Override
  public void close() {
    pageTools.close();
    nativeMemory.close();
  }
}
