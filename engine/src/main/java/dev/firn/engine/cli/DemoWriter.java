package dev.firn.engine.cli;

import java.io.Closeable;
import java.io.IOException;
import java.io.UncheckedIOException;
import java.util.ArrayList;
import java.util.List;
import java.util.Set;
import java.util.SortedMap;
import java.util.TreeMap;
import org.apache.iceberg.DataFile;
import org.apache.iceberg.DeleteFile;
import org.apache.iceberg.FileFormat;
import org.apache.iceberg.PartitionKey;
import org.apache.iceberg.Schema;
import org.apache.iceberg.StructLike;
import org.apache.iceberg.Table;
import org.apache.iceberg.data.GenericFileWriterFactory;
import org.apache.iceberg.data.InternalRecordWrapper;
import org.apache.iceberg.data.Record;
import org.apache.iceberg.deletes.BaseDVFileWriter;
import org.apache.iceberg.deletes.EqualityDeleteWriter;
import org.apache.iceberg.deletes.PositionDelete;
import org.apache.iceberg.deletes.PositionDeleteWriter;
import org.apache.iceberg.io.DataWriter;
import org.apache.iceberg.io.FileWriterFactory;
import org.apache.iceberg.io.OutputFileFactory;

/** Writes the files of a demo table with Iceberg's own row writers; nothing of Firn's is used. */
final class DemoWriter {
  private final Table table;
  private final Schema keys;
  private final FileWriterFactory<Record> writers;
  private final OutputFileFactory files;
  private final OutputFileFactory vectors;

  /**
   * @param key the column that equality deletes name
   */
  DemoWriter(Table table, String key) {
    this.table = table;
    this.keys = table.schema().select(key);
    this.writers =
        new GenericFileWriterFactory.Builder(table)
            .dataFileFormat(FileFormat.PARQUET)
            .deleteFileFormat(FileFormat.PARQUET)
            .equalityFieldIds(new int[] {keys.columns().get(0).fieldId()})
            .equalityDeleteRowSchema(keys)
            .build();
    this.files = OutputFileFactory.builderFor(table, 0, 0).format(FileFormat.PARQUET).build();
    this.vectors = OutputFileFactory.builderFor(table, 0, 1).format(FileFormat.PUFFIN).build();
  }

  Schema keySchema() {
    return keys;
  }

  /** One data file. All rows must be of one partition. */
  DataFile data(List<Record> rows) {
    StructLike partition = partitionOf(rows.get(0));
    DataWriter<Record> writer = writers.newDataWriter(newFile(partition), table.spec(), partition);
    try (Closeable open = writer) {
      rows.forEach(writer::write);
    } catch (IOException e) {
      throw new UncheckedIOException("Cannot write a data file of " + table.name(), e);
    }
    return writer.toDataFile();
  }

  /** One equality delete file, of an unpartitioned table. */
  DeleteFile equalityDeletes(List<Record> deletedKeys) {
    EqualityDeleteWriter<Record> writer =
        writers.newEqualityDeleteWriter(files.newOutputFile(), table.spec(), null);
    try (Closeable open = writer) {
      deletedKeys.forEach(writer::write);
    } catch (IOException e) {
      throw new UncheckedIOException("Cannot write a delete file of " + table.name(), e);
    }
    return writer.toDeleteFile();
  }

  /**
   * One position delete file, of an unpartitioned table, with every {@code step}th row of files.
   */
  DeleteFile positionDeletes(List<DataFile> from, int step) {
    SortedMap<String, Long> rows = new TreeMap<>(); // deletes are sorted by file, then position
    from.forEach(file -> rows.put(file.location(), file.recordCount()));
    PositionDeleteWriter<Record> writer =
        writers.newPositionDeleteWriter(files.newOutputFile(), table.spec(), null);
    try (Closeable open = writer) {
      PositionDelete<Record> delete = PositionDelete.create();
      rows.forEach(
          (location, count) -> {
            for (long position = 0; position < count; position += step) {
              writer.write(delete.set(location, position));
            }
          });
    } catch (IOException e) {
      throw new UncheckedIOException("Cannot write a delete file of " + table.name(), e);
    }
    return writer.toDeleteFile();
  }

  /** Deletion vectors that delete every {@code step}th row of each file. */
  List<DeleteFile> deletionVectors(List<DataFile> from, int step) {
    BaseDVFileWriter writer = new BaseDVFileWriter(vectors, location -> null);
    try (Closeable open = writer) {
      for (DataFile file : from) {
        for (long position = 0; position < file.recordCount(); position += step) {
          writer.delete(file.location(), position, table.spec(), file.partition());
        }
      }
    } catch (IOException e) {
      throw new UncheckedIOException("Cannot write deletion vectors of " + table.name(), e);
    }
    return new ArrayList<>(Set.copyOf(writer.result().deleteFiles()));
  }

  @org.jspecify.annotations.Nullable
  private StructLike partitionOf(Record row) { // null: unpartitioned
    if (table.spec().isUnpartitioned()) {
      return null;
    }
    PartitionKey key = new PartitionKey(table.spec(), table.schema());
    key.partition(new InternalRecordWrapper(table.schema().asStruct()).wrap(row));
    return key;
  }

  private org.apache.iceberg.encryption.EncryptedOutputFile newFile(
      @org.jspecify.annotations.Nullable StructLike partition) { // null: unpartitioned
    return partition == null ? files.newOutputFile() : files.newOutputFile(table.spec(), partition);
  }
}
