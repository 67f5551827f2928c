package dev.firn.testdata;

import java.io.IOException;
import java.io.UncheckedIOException;
import java.util.ArrayList;
import java.util.HashMap;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.UUID;
import org.apache.iceberg.AppendFiles;
import org.apache.iceberg.ContentFile;
import org.apache.iceberg.DataFile;
import org.apache.iceberg.DeleteFile;
import org.apache.iceberg.FileContent;
import org.apache.iceberg.FileFormat;
import org.apache.iceberg.FileMetadata;
import org.apache.iceberg.Metrics;
import org.apache.iceberg.MetricsConfig;
import org.apache.iceberg.PartitionKey;
import org.apache.iceberg.PartitionSpec;
import org.apache.iceberg.RowDelta;
import org.apache.iceberg.Schema;
import org.apache.iceberg.Snapshot;
import org.apache.iceberg.SnapshotRef;
import org.apache.iceberg.StructLike;
import org.apache.iceberg.Table;
import org.apache.iceberg.TableProperties;
import org.apache.iceberg.data.GenericFileWriterFactory;
import org.apache.iceberg.data.InternalRecordWrapper;
import org.apache.iceberg.data.Record;
import org.apache.iceberg.deletes.BaseDVFileWriter;
import org.apache.iceberg.deletes.DVFileWriter;
import org.apache.iceberg.deletes.EqualityDeleteWriter;
import org.apache.iceberg.deletes.PositionDelete;
import org.apache.iceberg.deletes.PositionDeleteWriter;
import org.apache.iceberg.encryption.EncryptedFiles;
import org.apache.iceberg.encryption.EncryptedOutputFile;
import org.apache.iceberg.formats.FormatModelRegistry;
import org.apache.iceberg.io.DataWriter;
import org.apache.iceberg.io.DeleteSchemaUtil;
import org.apache.iceberg.io.OutputFile;
import org.apache.iceberg.types.TypeUtil;
import org.jspecify.annotations.Nullable;

/**
 * Writes real data and delete files of a table with Iceberg generics, and commits them.
 *
 * <pre>{@code
 * TableFiles files = TableFiles.of(table).format(FileFormat.PARQUET).rowGroupRows(100);
 * DataFile a = files.append(rows);
 * files.rowDelta(List.of(), List.of(files.positionDeletes(a, 0, 7)));
 * files.upsert(List.of("id"), newRows);
 * }</pre>
 *
 * <p>Immutable: {@link #format} and its like give a changed copy. What writes a file commits
 * nothing, except where it says so. The table is refreshed before each commit.
 */
public final class TableFiles {
  /** A row that a position delete file names. The row's values go to its {@code row} column. */
  public record Position(String path, long position, @Nullable Record row) {
    /** A position without the deleted row's values. */
    public static Position of(DataFile file, long position) {
      return new Position(file.location(), position, null);
    }
  }

  private final Table table;
  private final FileFormat format;
  private final Map<String, String> properties;
  private final @Nullable Schema dataSchema; // null: the table's current one
  private final @Nullable PartitionSpec spec; // null: the table's default one
  private final @Nullable StructLike partition; // null: from the rows
  private final String branch;

  private TableFiles(
      Table table,
      FileFormat format,
      Map<String, String> properties,
      @Nullable Schema dataSchema,
      @Nullable PartitionSpec spec,
      @Nullable StructLike partition,
      String branch) {
    this.table = table;
    this.format = format;
    this.properties = properties;
    this.dataSchema = dataSchema;
    this.spec = spec;
    this.partition = partition;
    this.branch = branch;
  }

  /** Files in Parquet, of the table's current schema and default spec, for the branch main. */
  public static TableFiles of(Table table) {
    return new TableFiles(
        table, FileFormat.PARQUET, Map.of(), null, null, null, SnapshotRef.MAIN_BRANCH);
  }

  /** The format of data and delete files. */
  public TableFiles format(FileFormat newFormat) {
    return new TableFiles(table, newFormat, properties, dataSchema, spec, partition, branch);
  }

  /** A write property for these files only, over the table's own. */
  public TableFiles property(String key, String value) {
    Map<String, String> changed = new HashMap<>(properties);
    changed.put(key, value);
    return new TableFiles(table, format, changed, dataSchema, spec, partition, branch);
  }

  /** The codec of all formats: {@code zstd}, {@code gzip}, {@code snappy}, {@code uncompressed}. */
  public TableFiles codec(String codec) {
    String orc = codec.equals("gzip") ? "zlib" : codec.equals("uncompressed") ? "none" : codec;
    return property(TableProperties.PARQUET_COMPRESSION, codec)
        .property(TableProperties.DELETE_PARQUET_COMPRESSION, codec)
        .property(TableProperties.AVRO_COMPRESSION, codec)
        .property(TableProperties.DELETE_AVRO_COMPRESSION, codec)
        .property(TableProperties.ORC_COMPRESSION, orc)
        .property(TableProperties.DELETE_ORC_COMPRESSION, orc);
  }

  /** Parquet row groups of exactly this many rows, in data and delete files; the last has less. */
  public TableFiles rowGroupRows(int rows) {
    String count = Integer.toString(rows);
    return property(TableProperties.PARQUET_ROW_GROUP_SIZE_BYTES, "1")
        .property(TableProperties.PARQUET_ROW_GROUP_CHECK_MIN_RECORD_COUNT, count)
        .property(TableProperties.PARQUET_ROW_GROUP_CHECK_MAX_RECORD_COUNT, count)
        .property(TableProperties.DELETE_PARQUET_ROW_GROUP_SIZE_BYTES, "1")
        .property(TableProperties.DELETE_PARQUET_ROW_GROUP_CHECK_MIN_RECORD_COUNT, count)
        .property(TableProperties.DELETE_PARQUET_ROW_GROUP_CHECK_MAX_RECORD_COUNT, count);
  }

  /** The schema of data files, for a writer that does not know the current one. */
  public TableFiles schema(Schema schema) {
    return new TableFiles(table, format, properties, schema, spec, partition, branch);
  }

  /** The spec of data and delete files; partition tuples come from the rows. */
  public TableFiles spec(PartitionSpec newSpec) {
    return new TableFiles(table, format, properties, dataSchema, newSpec, null, branch);
  }

  /** The spec and partition of another file, for data and delete files. */
  public TableFiles partitionOf(ContentFile<?> file) {
    return partition(TableRows.spec(table, file.specId()), file.partition());
  }

  /** The spec and partition of data and delete files. */
  public TableFiles partition(PartitionSpec newSpec, StructLike newPartition) {
    return new TableFiles(table, format, properties, dataSchema, newSpec, newPartition, branch);
  }

  /** The branch that commits go to. */
  public TableFiles branch(String newBranch) {
    return new TableFiles(table, format, properties, dataSchema, spec, partition, newBranch);
  }

  // ---- data files

  /** Writes one data file; all rows must belong to one partition. */
  public DataFile data(List<? extends Record> rows) {
    Map<PartitionKey, List<Record>> byPartition = byPartition(rows);
    if (partition == null && byPartition.size() > 1) {
      throw new IllegalArgumentException("Rows of several partitions: " + byPartition.keySet());
    }
    StructLike tuple =
        partition != null || byPartition.isEmpty()
            ? partition
            : byPartition.keySet().iterator().next();
    return writeData(rows, tuple);
  }

  /** Writes one data file for each partition that the rows belong to. */
  public List<DataFile> dataByPartition(List<? extends Record> rows) {
    List<DataFile> files = new ArrayList<>();
    byPartition(rows).forEach((key, part) -> files.add(writeData(part, key)));
    return files;
  }

  Map<PartitionKey, List<Record>> byPartition(List<? extends Record> rows) {
    Map<PartitionKey, List<Record>> byPartition = new LinkedHashMap<>();
    if (partition != null) {
      return byPartition;
    }
    PartitionKey key = new PartitionKey(currentSpec(), currentSchema());
    for (Record row : rows) {
      key.partition(new InternalRecordWrapper(row.struct()).wrap(row));
      byPartition.computeIfAbsent(key.copy(), ignored -> new ArrayList<>()).add(row);
    }
    return byPartition;
  }

  private DataFile writeData(List<? extends Record> rows, @Nullable StructLike tuple) {
    DataWriter<Record> writer =
        new GenericFileWriterFactory.Builder(table)
            .dataFileFormat(format)
            .dataSchema(currentSchema())
            .writerProperties(properties)
            .build()
            .newDataWriter(newFile("data", tuple), currentSpec(), tuple);
    try (writer) {
      rows.forEach(writer::write);
    } catch (IOException e) {
      throw new UncheckedIOException("Cannot write a data file of " + table.name(), e);
    }
    return writer.toDataFile();
  }

  // ---- position deletes

  /**
   * Writes a position delete file for one data file, with {@code referenced_data_file} (D24), in
   * the data file's spec and partition. Positions are written as they come, also unsorted or twice.
   */
  public DeleteFile positionDeletes(DataFile file, long... positions) {
    List<Position> rows = new ArrayList<>();
    for (long position : positions) {
      rows.add(Position.of(file, position));
    }
    TableFiles files = partitionOf(file);
    return FileMetadata.deleteFileBuilder(files.currentSpec())
        .copy(files.positionDeletes(rows))
        .withReferencedDataFile(file.location())
        .build();
  }

  /**
   * Writes a position delete file without {@code referenced_data_file}, which holds for the
   * partition that was set with {@link #partitionOf} (D7). Positions are written as they come. If
   * the first has a row, the file gets a {@code row} column of the current schema.
   */
  public DeleteFile positionDeletes(List<Position> positions) {
    if (!positions.isEmpty() && positions.get(0).row() != null) {
      return positionDeletesWithRows(positions);
    }
    PositionDeleteWriter<Record> writer =
        new GenericFileWriterFactory.Builder(table)
            .deleteFileFormat(format)
            .writerProperties(properties)
            .build()
            .newPositionDeleteWriter(newFile("deletes", partition), currentSpec(), partition);
    try (writer) {
      PositionDelete<Record> delete = PositionDelete.create();
      for (Position position : positions) {
        writer.write(delete.set(position.path(), position.position()));
      }
    } catch (IOException e) {
      throw new UncheckedIOException("Cannot write position deletes of " + table.name(), e);
    }
    return writer.toDeleteFile();
  }

  /* Iceberg's delete writers have no row column any more: a data writer makes the same file. */
  private DeleteFile positionDeletesWithRows(List<Position> positions) {
    Schema schema = DeleteSchemaUtil.posDeleteSchema(currentSchema());
    EncryptedOutputFile file = newFile("deletes", partition);
    try {
      DataWriter<Record> writer =
          FormatModelRegistry.<Record, Object>dataWriteBuilder(format, Record.class, file)
              .schema(schema)
              .setAll(table.properties())
              .setAll(properties)
              .metricsConfig(MetricsConfig.forPositionDelete())
              .spec(currentSpec())
              .partition(partition)
              .build();
      try (writer) {
        for (Position position : positions) {
          writer.write(Rows.row(schema, position.path(), position.position(), position.row()));
        }
      }
      DataFile written = writer.toDataFile();
      return FileMetadata.deleteFileBuilder(currentSpec())
          .ofPositionDeletes()
          .withPath(written.location())
          .withFormat(format)
          .withPartition(partition)
          .withFileSizeInBytes(written.fileSizeInBytes())
          .withSplitOffsets(written.splitOffsets())
          .withMetrics(
              new Metrics(
                  written.recordCount(),
                  written.columnSizes(),
                  written.valueCounts(),
                  written.nullValueCounts(),
                  written.nanValueCounts(),
                  written.lowerBounds(),
                  written.upperBounds()))
          .build();
    } catch (IOException e) {
      throw new UncheckedIOException("Cannot write position deletes of " + table.name(), e);
    }
  }

  // ---- deletion vectors

  /** Writes a Puffin file with the deletion vector of one data file. */
  public DeleteFile vector(DataFile file, long... positions) {
    return vectors(Map.of(file, positions)).get(0);
  }

  /**
   * Writes one Puffin file that holds a deletion vector for each data file. Positions of older
   * vectors are not added: see {@link #deletePositions}.
   */
  public List<DeleteFile> vectors(Map<DataFile, long[]> positions) {
    OutputFile puffin =
        table
            .io()
            .newOutputFile(
                table
                    .locationProvider()
                    .newDataLocation("vectors-" + UUID.randomUUID() + ".puffin"));
    DVFileWriter writer = new BaseDVFileWriter(() -> puffin, path -> null);
    try (writer) {
      positions.forEach(
          (file, deleted) -> {
            PartitionSpec fileSpec = TableRows.spec(table, file.specId());
            for (long position : deleted) {
              writer.delete(file.location(), position, fileSpec, file.partition());
            }
          });
    } catch (IOException e) {
      throw new UncheckedIOException("Cannot write " + puffin.location(), e);
    }
    return writer.result().deleteFiles();
  }

  // ---- equality deletes

  /**
   * Writes an equality delete file on some columns (full names, {@code s.x} for a leaf), in the
   * partition that was set with {@link #partitionOf}, else in the one the first row belongs to if
   * the rows have the partition's source columns.
   *
   * @param rows records that have at least the columns, by their field ids
   */
  public DeleteFile equalityDeletes(List<String> columns, List<? extends Record> rows) {
    List<Integer> ids =
        columns.stream().map(name -> currentSchema().findField(name).fieldId()).toList();
    Schema keySchema = TypeUtil.select(currentSchema(), new java.util.HashSet<>(ids));
    return equalityDeletes(ids, keySchema, rows);
  }

  /**
   * Writes an equality delete file with any columns (D11), also such as are no longer in the table.
   *
   * @param fieldIds the equality ids, in the order to be written in the manifest
   * @param fileSchema the columns of the delete file; may hold more than {@code fieldIds}
   * @param rows records that have at least the columns of {@code fileSchema}, by their field ids
   */
  public DeleteFile equalityDeletes(
      List<Integer> fieldIds, Schema fileSchema, List<? extends Record> rows) {
    StructLike tuple = partition;
    if (tuple == null && currentSpec().isPartitioned()) {
      PartitionKey key = new PartitionKey(currentSpec(), currentSchema());
      Record first = rows.get(0);
      Record wide = HistoricSchema.project(first, first.struct(), currentSchema().asStruct());
      key.partition(new InternalRecordWrapper(currentSchema().asStruct()).wrap(wide));
      tuple = key;
    }
    EqualityDeleteWriter<Record> writer =
        new GenericFileWriterFactory.Builder(table)
            .deleteFileFormat(format)
            .equalityFieldIds(fieldIds.stream().mapToInt(Integer::intValue).toArray())
            .equalityDeleteRowSchema(fileSchema)
            .writerProperties(properties)
            .build()
            .newEqualityDeleteWriter(newFile("keys", tuple), currentSpec(), tuple);
    try (writer) {
      for (Record row : rows) {
        writer.write(HistoricSchema.project(row, row.struct(), fileSchema.asStruct()));
      }
    } catch (IOException e) {
      throw new UncheckedIOException("Cannot write equality deletes of " + table.name(), e);
    }
    return writer.toDeleteFile();
  }

  // ---- commits

  /** Writes the rows to one data file and appends it; all rows must belong to one partition. */
  public DataFile append(List<? extends Record> rows) {
    DataFile file = data(rows);
    append(file);
    return file;
  }

  /** Appends data files. */
  public Snapshot append(DataFile... files) {
    table.refresh();
    AppendFiles append = table.newFastAppend().toBranch(branch);
    for (DataFile file : files) {
      append.appendFile(file);
    }
    append.commit();
    return table.snapshot(branch);
  }

  /** Commits data and delete files in one row delta. */
  public Snapshot rowDelta(List<DataFile> data, List<DeleteFile> deletes) {
    return rowDelta(data, deletes, List.of());
  }

  private Snapshot rowDelta(
      List<DataFile> data, List<DeleteFile> deletes, List<DeleteFile> removed) {
    table.refresh();
    RowDelta delta = table.newRowDelta().toBranch(branch);
    data.forEach(delta::addRows);
    deletes.forEach(delta::addDeletes);
    removed.forEach(delta::removeDeletes);
    Snapshot base = table.snapshot(branch);
    if (base != null) {
      delta.validateFromSnapshot(base.snapshotId());
    }
    delta.commit();
    return table.snapshot(branch);
  }

  /**
   * Writes and commits an upsert: in one row delta, equality deletes of the rows' keys and the rows
   * themselves, which those deletes do not reach (D1). One file of each for each partition.
   */
  public Snapshot upsert(List<String> keyColumns, List<? extends Record> rows) {
    List<DataFile> data = new ArrayList<>();
    List<DeleteFile> deletes = new ArrayList<>();
    byPartition(rows)
        .forEach(
            (key, part) -> {
              TableFiles files = partition(currentSpec(), key);
              data.add(files.data(part));
              deletes.add(files.equalityDeletes(keyColumns, part));
            });
    return rowDelta(data, deletes);
  }

  /**
   * Deletes rows of data files and commits, in the way of the table's format version: a file-scoped
   * position delete file for each data file in version 2; in version 3 one Puffin file with vectors
   * that hold the older deletes too and replace the older vectors.
   */
  public Snapshot deletePositions(Map<DataFile, long[]> positions) {
    if (TableRows.formatVersion(table) < 3) {
      List<DeleteFile> deletes = new ArrayList<>();
      positions.forEach((file, deleted) -> deletes.add(positionDeletes(file, deleted)));
      return rowDelta(List.of(), deletes);
    }
    table.refresh();
    Map<DataFile, long[]> merged = new LinkedHashMap<>();
    List<DeleteFile> replaced = new ArrayList<>();
    List<DeleteFile> present = TableRows.deleteFiles(table, table.snapshot(branch));
    positions.forEach(
        (file, deleted) -> {
          List<Long> all = new ArrayList<>();
          for (long position : deleted) {
            all.add(position);
          }
          for (DeleteFile delete : present) {
            if (delete.content() == FileContent.POSITION_DELETES
                && file.location().equals(delete.referencedDataFile())) {
              replaced.add(delete);
            }
          }
          all.addAll(TableRows.deletedPositions(table, live(file.location()), present));
          merged.put(file, all.stream().mapToLong(Long::longValue).sorted().distinct().toArray());
        });
    return rowDelta(List.of(), vectors(merged), replaced);
  }

  /* A file that was just written does not know its sequence number; its manifest entry does. */
  private DataFile live(String location) {
    for (DataFile file : TableRows.dataFiles(table, table.snapshot(branch))) {
      if (file.location().equals(location)) {
        return file;
      }
    }
    throw new IllegalArgumentException("Not a live file of " + table.name() + ": " + location);
  }

  private Schema currentSchema() {
    return dataSchema == null ? table.schema() : dataSchema;
  }

  private PartitionSpec currentSpec() {
    return spec == null ? table.spec() : spec;
  }

  private EncryptedOutputFile newFile(String kind, @Nullable StructLike tuple) {
    String name = format.addExtension(kind + "-" + UUID.randomUUID());
    String location =
        currentSpec().isPartitioned()
            ? table.locationProvider().newDataLocation(currentSpec(), tuple, name)
            : table.locationProvider().newDataLocation(name);
    return EncryptedFiles.plainAsEncryptedOutput(table.io().newOutputFile(location));
  }
}
