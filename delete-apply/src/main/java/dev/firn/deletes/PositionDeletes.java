package dev.firn.deletes;

import java.io.IOException;
import java.nio.charset.StandardCharsets;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.HashMap;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.concurrent.Executor;
import org.apache.arrow.memory.ArrowBuf;
import org.apache.arrow.memory.util.ByteFunctionHelpers;
import org.apache.arrow.vector.BaseVariableWidthVector;
import org.apache.arrow.vector.BigIntVector;
import org.apache.arrow.vector.FieldVector;
import org.apache.arrow.vector.VectorSchemaRoot;
import org.apache.iceberg.DataFile;
import org.apache.iceberg.DeleteFile;
import org.apache.iceberg.MetadataColumns;
import org.apache.iceberg.Schema;
import org.jspecify.annotations.Nullable;

/**
 * The position delete files of a group, each read once, whatever number of data files it names.
 *
 * <p>A delete file reaches only the data files it was assigned to, whatever paths it holds (rules
 * D2, D7). Not thread-safe.
 */
final class PositionDeletes {
  /* Optional, although the format requires both: a null must arrive here to be named. */
  static final Schema COLUMNS =
      new Schema(
          MetadataColumns.DELETE_FILE_PATH.asOptional(),
          MetadataColumns.DELETE_FILE_POS.asOptional());

  private static final int POSITIONS_BUFFERED = 1024;

  private final Map<DeleteFileId, PositionFile> files = new LinkedHashMap<>();
  /* Room of one file after the other: their rows are taken in turn. */
  private final Path path = new Path();
  private final int[] lowers = new int[POSITIONS_BUFFERED];
  private long rowsRead;
  private long rowsElsewhere;
  private long rowsBeyond;
  private long rowsNamed;

  /** Lets {@code delete} reach {@code file}; its positions are to be added to {@code deleted}. */
  void assign(DeleteFile delete, DataFile file, DeletedPositions.Builder deleted) {
    files
        .computeIfAbsent(DeleteFileId.of(delete), id -> new PositionFile(delete))
        .assign(file, deleted);
  }

  void read(DeleteSource source, Executor threads) throws IOException {
    List<DeleteRead> reads = new ArrayList<>(files.size());
    for (PositionFile file : files.values()) {
      reads.add(new DeleteRead(file.delete, COLUMNS, file));
    }
    DeleteRead.all(reads, source, threads);
    for (PositionFile file : files.values()) {
      rowsRead += file.rowsRead;
      rowsElsewhere += file.rowsElsewhere;
      rowsBeyond += file.rowsBeyond;
      rowsNamed += file.rowsNamed;
      file.targets.clear();
    }
  }

  int filesOpened() {
    return files.size();
  }

  long rowsRead() {
    return rowsRead;
  }

  /** Rows that name no data file that their delete file was assigned to. */
  long rowsElsewhere() {
    return rowsElsewhere;
  }

  /** Rows that name a position which the data file does not have. */
  long rowsBeyond() {
    return rowsBeyond;
  }

  /** Rows that name a row of a data file, which another may name too. */
  long rowsNamed() {
    return rowsNamed;
  }

  /** A data file of the group that a delete file may name. */
  private record Target(long recordCount, DeletedPositions.Builder deleted) {}

  /** One delete file while it is read. */
  private final class PositionFile implements DeleteSource.Batches {
    private final DeleteFile delete;
    private final Map<Path, List<Target>> targets = new HashMap<>();
    private long rowsRead;
    private long rowsElsewhere;
    private long rowsBeyond;
    private long rowsNamed;

    PositionFile(DeleteFile delete) {
      this.delete = delete;
    }

    void assign(DataFile file, DeletedPositions.Builder deleted) {
      targets
          .computeIfAbsent(new Path(file.location()), p -> new ArrayList<>(1))
          .add(new Target(file.recordCount(), deleted));
    }

    @Override
    public void accept(VectorSchemaRoot batch, long firstPosition) {
      FieldVector pathVector = batch.getVector(0);
      FieldVector positionVector = batch.getVector(1);
      if (!(pathVector instanceof BaseVariableWidthVector paths)
          || !(positionVector instanceof BigIntVector positions)) {
        throw new IllegalStateException(
            "Cannot read positions of "
                + delete.location()
                + ": its columns came as "
                + pathVector.getField()
                + " and "
                + positionVector.getField());
      }
      int rows = batch.getRowCount();
      if (Vectors.hasNulls(paths) || Vectors.hasNulls(positions)) {
        throw new CorruptDeleteException(
            "Cannot apply position delete file "
                + delete.location()
                + ": it has a row without a path or without a position among rows "
                + firstPosition
                + " to "
                + (firstPosition + rows - 1)
                + ". The group is left as it was.");
      }
      rowsRead += rows;
      if (rows > 0) {
        accept(paths, positions.getDataBuffer(), rows);
      }
    }

    /* Writers sort by path, so the rows of one path are handled as one run; where they are not
    sorted, runs are short and only slower. */
    private void accept(BaseVariableWidthVector paths, ArrowBuf positions, int rows) {
      ArrowBuf offsets = paths.getOffsetBuffer();
      ArrowBuf bytes = paths.getDataBuffer();
      int row = 0;
      while (row < rows) {
        int start = offsets.getInt((long) row << 2);
        int end = offsets.getInt((long) (row + 1) << 2);
        int runEnd = runEnd(offsets, bytes, row, rows, start, end);
        path.set(bytes, start, end - start);
        List<Target> named = targets.get(path);
        if (named == null) {
          rowsElsewhere += runEnd - row;
        } else {
          for (Target target : named) {
            add(positions, row, runEnd, target);
          }
        }
        row = runEnd;
      }
    }

    /** The first row after {@code row} whose path is another one. */
    private int runEnd(ArrowBuf offsets, ArrowBuf bytes, int row, int rows, int start, int end) {
      int length = end - start;
      int next = row + 1;
      int nextStart = end;
      while (next < rows) {
        int nextEnd = offsets.getInt((long) (next + 1) << 2);
        if (nextEnd - nextStart != length
            || ByteFunctionHelpers.equal(bytes, start, end, bytes, nextStart, nextEnd) == 0) {
          break;
        }
        nextStart = nextEnd;
        next++;
      }
      return next;
    }

    private void add(ArrowBuf positions, int from, int to, Target target) {
      long recordCount = target.recordCount;
      int upper = 0;
      int buffered = 0;
      long beyondBefore = rowsBeyond;
      for (int row = from; row < to; row++) {
        long position = positions.getLong((long) row << 3);
        if (position < 0 || position >= recordCount) {
          rowsBeyond++;
          continue;
        }
        if (buffered == POSITIONS_BUFFERED || (int) (position >>> 32) != upper) {
          target.deleted.addAll(upper, lowers, buffered);
          buffered = 0;
          upper = (int) (position >>> 32);
        }
        lowers[buffered++] = (int) position;
      }
      target.deleted.addAll(upper, lowers, buffered);
      rowsNamed += to - from - (rowsBeyond - beyondBefore);
    }
  }

  /** UTF-8 bytes of a location. The one that is looked up with is set again for each look-up. */
  private static final class Path {
    private byte[] bytes;
    private int length;
    private int hash;

    Path() {
      bytes = new byte[256];
    }

    Path(String location) {
      bytes = location.getBytes(StandardCharsets.UTF_8);
      length = bytes.length;
      hash = hash();
    }

    void set(ArrowBuf source, int start, int size) {
      if (size > bytes.length) {
        bytes = new byte[size];
      }
      source.getBytes(start, bytes, 0, size);
      length = size;
      hash = hash();
    }

    private int hash() {
      int result = 1;
      for (int i = 0; i < length; i++) {
        result = 31 * result + bytes[i];
      }
      return result;
    }

    @Override
    public int hashCode() {
      return hash;
    }

    @Override
    public boolean equals(@Nullable Object other) {
      return other instanceof Path that
          && hash == that.hash
          && Arrays.equals(bytes, 0, length, that.bytes, 0, that.length);
    }
  }
}
