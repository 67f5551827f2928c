package dev.firn.engine;

import dev.firn.engine.parquet.CorruptFileException;
import dev.firn.engine.parquet.SourceFile;
import dev.firn.engine.parquet.UnsupportedFileException;
import java.io.IOException;
import java.util.Comparator;
import java.util.List;
import org.apache.iceberg.DataFile;
import org.apache.iceberg.FileScanTask;
import org.apache.iceberg.actions.RewriteFileGroup;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;

/**
 * What a plan takes of memory and scratch, told from manifests and a few footers before any row is
 * read.
 *
 * @param decodeBytes what decoding the largest row group takes at least
 * @param wholeBytes what it takes if it is not to be cut, about
 * @param where that row group, in words
 * @param expansion how much larger rows are in memory than in their files
 */
record MemoryNeeds(long decodeBytes, long wholeBytes, String where, double expansion) {
  private static final Logger LOG = LoggerFactory.getLogger(MemoryNeeds.class);

  /** The largest row group is looked for in the files whose manifest entries say so. */
  private static final int FOOTERS_READ = 3;

  /** Levels, dictionaries and vectors that grow come beside what a row group's sizes tell. */
  private static final double WORK_FACTOR = 1.5;

  /** Row groups this small, once decoded as large as they may well be, need no footer read. */
  private static final long SMALL_BYTES = 8L << 20;

  private static final int SMALL_EXPANSION = 20;

  /** Of a file whose footer cannot be read, which its group will fail on. */
  private static final double GUESSED_EXPANSION = 4;

  /** Opens a file with all columns that are to be written. */
  @FunctionalInterface
  interface Opener {
    SourceFile open(FileScanTask task) throws IOException;
  }

  private record Sized(FileScanTask task, long rowGroupBytes) {}

  static MemoryNeeds of(List<RewriteFileGroup> groups, Opener opener) {
    List<Sized> largest =
        groups.stream()
            .flatMap(group -> group.fileScanTasks().stream())
            .map(task -> new Sized(task, largestRowGroup(task.file())))
            .sorted(Comparator.comparingLong(Sized::rowGroupBytes).reversed())
            .limit(FOOTERS_READ)
            .toList();
    long most = largest.isEmpty() ? 0 : largest.get(0).rowGroupBytes();
    if (most * SMALL_EXPANSION <= SMALL_BYTES) {
      long small = most * SMALL_EXPANSION;
      return new MemoryNeeds(small, small, "", GUESSED_EXPANSION);
    }
    long decode = 0;
    long whole = 0;
    String where = "";
    long compressed = 0;
    long decoded = 0;
    for (Sized sized : largest) {
      try (SourceFile file = opener.open(sized.task())) {
        for (SourceFile.RowGroup rowGroup : file.rowGroups()) {
          compressed += rowGroup.compressedBytes();
          decoded += rowGroup.decodedBytes();
          whole = Math.max(whole, (long) (rowGroup.decodingBytes() * WORK_FACTOR));
          if (file.decodesWhole() && rowGroup.decodingBytes() > decode) {
            decode = rowGroup.decodingBytes();
            where = "row group " + rowGroup.ordinal() + " of " + file.location();
          }
        }
      } catch (IOException
          | CorruptFileException
          | UnsupportedFileException
          | org.apache.iceberg.exceptions.NotFoundException e) {
        LOG.debug("Cannot tell what memory {} needs", sized.task().file().location(), e);
      }
    }
    return new MemoryNeeds(
        decode,
        Math.max(decode, whole),
        where,
        compressed == 0 ? GUESSED_EXPANSION : (double) decoded / compressed);
  }

  /** The bytes of a file's largest row group, as far as its manifest entry tells where they are. */
  private static long largestRowGroup(DataFile file) {
    List<Long> offsets = file.splitOffsets();
    if (offsets == null || offsets.isEmpty()) {
      return file.fileSizeInBytes();
    }
    long largest = 0;
    for (int i = 0; i < offsets.size(); i++) {
      long end = i + 1 < offsets.size() ? offsets.get(i + 1) : file.fileSizeInBytes();
      largest = Math.max(largest, end - offsets.get(i));
    }
    return largest;
  }

  /** About what rows take in memory that take so much in files. */
  long rowBytes(long fileBytes) {
    return (long) (fileBytes * expansion);
  }
}
