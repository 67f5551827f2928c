package dev.firn.testdata;

import java.util.UUID;
import org.apache.iceberg.DataFile;
import org.apache.iceberg.DataFiles;
import org.apache.iceberg.DeleteFile;
import org.apache.iceberg.FileFormat;
import org.apache.iceberg.FileMetadata;
import org.apache.iceberg.PartitionSpec;
import org.apache.iceberg.Table;

/**
 * Data and delete files that are entries in metadata only, with paths where nothing is: for tests
 * of commits and plans. Each call gives another path. Nothing is committed.
 *
 * <p>A partition is given as a path, {@code "v=a"}; an unpartitioned spec has {@code ""}.
 */
public final class FakeFiles {
  private static final long BYTES_PER_ROW = 100;

  private FakeFiles() {}

  /** A data file of the table's default spec. */
  public static DataFile dataFile(Table table, String partitionPath, long rows) {
    return dataFile(table, table.spec(), partitionPath, rows);
  }

  /** A data file of any of the table's specs. */
  public static DataFile dataFile(
      Table table, PartitionSpec spec, String partitionPath, long rows) {
    DataFiles.Builder builder =
        DataFiles.builder(spec)
            .withPath(path(table, "data", FileFormat.PARQUET))
            .withFormat(FileFormat.PARQUET)
            .withRecordCount(rows)
            .withFileSizeInBytes(rows * BYTES_PER_ROW);
    return spec.isPartitioned()
        ? builder.withPartitionPath(partitionPath).build()
        : builder.build();
  }

  /** An equality delete file of the table's default spec. */
  public static DeleteFile equalityDeletes(Table table, String partitionPath, int... fieldIds) {
    return equalityDeletes(table, table.spec(), partitionPath, fieldIds);
  }

  /** An equality delete file of any of the table's specs. */
  public static DeleteFile equalityDeletes(
      Table table, PartitionSpec spec, String partitionPath, int... fieldIds) {
    return deletes(table, spec, partitionPath).ofEqualityDeletes(fieldIds).build();
  }

  /** A position delete file that holds for a partition: it says not of which data files. */
  public static DeleteFile positionDeletes(Table table, PartitionSpec spec, String partitionPath) {
    return deletes(table, spec, partitionPath).ofPositionDeletes().build();
  }

  /** A position delete file of one data file, in its spec and partition. */
  public static DeleteFile positionDeletes(Table table, DataFile file) {
    return FileMetadata.deleteFileBuilder(TableRows.spec(table, file.specId()))
        .ofPositionDeletes()
        .withPath(path(table, "deletes", FileFormat.PARQUET))
        .withFormat(FileFormat.PARQUET)
        .withPartition(file.partition())
        .withReferencedDataFile(file.location())
        .withRecordCount(1)
        .withFileSizeInBytes(BYTES_PER_ROW)
        .build();
  }

  /** A deletion vector of one data file, alone in a Puffin file. */
  public static DeleteFile vector(Table table, DataFile file, long deletedRows) {
    return vector(file, path(table, "vectors", FileFormat.PUFFIN), 0, deletedRows, table);
  }

  /** A deletion vector of one data file in a Puffin file that may hold others (D29). */
  public static DeleteFile vector(
      Table table, DataFile file, String puffinLocation, int index, long deletedRows) {
    return vector(file, puffinLocation, index, deletedRows, table);
  }

  private static DeleteFile vector(
      DataFile file, String puffinLocation, int index, long deletedRows, Table table) {
    return FileMetadata.deleteFileBuilder(TableRows.spec(table, file.specId()))
        .ofPositionDeletes()
        .withPath(puffinLocation)
        .withFormat(FileFormat.PUFFIN)
        .withPartition(file.partition())
        .withReferencedDataFile(file.location())
        .withRecordCount(deletedRows)
        .withContentOffset(4 + index * BYTES_PER_ROW)
        .withContentSizeInBytes(BYTES_PER_ROW)
        .withFileSizeInBytes(100 * BYTES_PER_ROW)
        .build();
  }

  private static FileMetadata.Builder deletes(
      Table table, PartitionSpec spec, String partitionPath) {
    FileMetadata.Builder builder =
        FileMetadata.deleteFileBuilder(spec)
            .withPath(path(table, "deletes", FileFormat.PARQUET))
            .withFormat(FileFormat.PARQUET)
            .withRecordCount(1)
            .withFileSizeInBytes(BYTES_PER_ROW);
    return spec.isPartitioned() ? builder.withPartitionPath(partitionPath) : builder;
  }

  private static String path(Table table, String kind, FileFormat format) {
    return table.location() + "/data/" + format.addExtension(kind + "-" + UUID.randomUUID());
  }
}
