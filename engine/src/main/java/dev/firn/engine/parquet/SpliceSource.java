package dev.firn.engine.parquet;

import dev.firn.io.RangeReader;
import java.io.IOException;
import java.nio.ByteBuffer;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.BitSet;
import java.util.Collections;
import java.util.List;
import java.util.Map;
import java.util.TreeMap;
import java.util.concurrent.ConcurrentHashMap;
import org.apache.arrow.memory.ArrowBuf;
import org.apache.arrow.memory.BufferAllocator;
import org.apache.parquet.format.ColumnChunk;
import org.apache.parquet.format.ColumnMetaData;
import org.apache.parquet.hadoop.metadata.CompressionCodecName;
import org.jspecify.annotations.Nullable;

/**
 * A Parquet file whose row groups are fetched to be spliced: column chunks that can be moved
 * without decoding go into memory as they are, the others into a view file.
 */
final class SpliceSource extends SourceFile {
  /** Chunks of more bytes are decoded. */
  private static final long CHUNK_BYTES_MAX = 1L << 30;

  /** Opens the file with some columns only, by their places in the schema. */
  @FunctionalInterface
  interface Opener {
    ParquetSource open(List<Integer> columns) throws IOException;
  }

  private final ParquetSource whole;
  private final ParquetFooter footer;
  private final SpliceColumns columns;
  private final Opener opener;
  private final RangeReader ranges;
  private final BufferAllocator allocator;
  private final long bytesMax;
  private final Map<BitSet, ParquetSource> rests = new ConcurrentHashMap<>();

  /**
   * @param whole the same file with all columns
   * @param bytesMax row groups of more compressed bytes are decoded
   */
  SpliceSource(
      ParquetSource whole,
      ParquetFooter footer,
      SpliceColumns columns,
      Opener opener,
      RangeReader ranges,
      BufferAllocator allocator,
      long bytesMax) {
    this.whole = whole;
    this.footer = footer;
    this.columns = columns;
    this.opener = opener;
    this.ranges = ranges;
    this.allocator = allocator;
    this.bytesMax = bytesMax;
  }

  @Override
  public boolean decodesWhole() {
    return whole.decodesWhole();
  }

  @Override
  public String location() {
    return whole.location();
  }

  @Override
  public List<RowGroup> rowGroups() {
    return whole.rowGroups();
  }

  @Override
  public long rows() {
    return whole.rows();
  }

  @Override
  public RowGroupView fetch(SourceFile.RowGroup group) throws IOException {
    org.apache.parquet.format.RowGroup stored =
        footer.metadata().getRow_groups().get(group.ordinal());
    if (group.rows() > Integer.MAX_VALUE) {
      return whole.fetch(group);
    }
    Map<Integer, String> reasons = new TreeMap<>(columns.reasons());
    if (group.compressedBytes() > bytesMax) {
      for (int column = 0; column < columns.count(); column++) {
        reasons.putIfAbsent(column, "row group too large for memory");
      }
    }
    List<SpliceColumns.Leaf> wanted = new ArrayList<>();
    for (int column = 0; column < columns.count(); column++) {
      if (!reasons.containsKey(column)) {
        String reason = refusal(column, stored);
        if (reason == null) {
          wanted.addAll(columns.leaves(column));
        } else {
          reasons.put(column, reason);
        }
      }
    }
    List<SplicedView.Leaf> spliced = new ArrayList<>();
    boolean done = false;
    try {
      List<RawChunk> raw = wanted.isEmpty() ? List.of() : read(wanted, stored);
      parse(wanted, raw, stored, group, reasons, spliced);
      SplicedView.Rest rest = reasons.isEmpty() ? null : rest(group, reasons);
      done = true;
      return new SplicedView(group, spliced, rest, transcodedBytes(reasons, stored));
    } finally {
      if (!done) {
        spliced.forEach(leaf -> leaf.chunk().close());
      }
    }
  }

  /* Why a column of a row group cannot be spliced, as far as the footer tells; null if it can. */
  private @Nullable String refusal(int column, org.apache.parquet.format.RowGroup stored) {
    for (SpliceColumns.Leaf leaf : columns.leaves(column)) {
      ColumnMetaData chunk = stored.getColumns().get(leaf.chunk()).getMeta_data();
      if (!PageTools.supports(codec(chunk))) {
        return "codec " + chunk.getCodec();
      }
      if (chunk.getTotal_compressed_size() > CHUNK_BYTES_MAX) {
        return "column chunk of more than 1 GiB";
      }
      if (leaf.needsValues()
          && !(chunk.isSetStatistics()
              && chunk.getStatistics().isSetNull_count()
              && chunk.getStatistics().getNull_count() == 0)) {
        return "row lineage with nulls";
      }
    }
    return null;
  }

  private static CompressionCodecName codec(ColumnMetaData chunk) {
    return CompressionCodecName.valueOf(chunk.getCodec().name());
  }

  /* Each chunk with its indexes behind it. */
  private List<RawChunk> read(
      List<SpliceColumns.Leaf> wanted, org.apache.parquet.format.RowGroup stored)
      throws IOException {
    List<RawChunk> chunks = new ArrayList<>(wanted.size());
    boolean done = false;
    try {
      List<RangeReader.Range> parts = new ArrayList<>();
      long[] starts = new long[wanted.size()];
      ByteBuffer[] targets = new ByteBuffer[wanted.size()];
      long end = 0;
      for (int i = 0; i < targets.length; i++) {
        ColumnChunk chunk = stored.getColumns().get(wanted.get(i).chunk());
        int length = (int) chunk.getMeta_data().getTotal_compressed_size();
        int indexed = length + columnIndexBytes(chunk) + offsetIndexBytes(chunk);
        ArrowBuf buffer = allocator.buffer(indexed);
        chunks.add(new RawChunk(buffer, indexed));
        targets[i] = chunks.get(i).slice(0, indexed);
        starts[i] = end;
        ParquetSource.addRange(parts, ParquetFooter.start(chunk), length, end);
        end += length;
        if (columnIndexBytes(chunk) > 0) {
          ParquetSource.addRange(
              parts, chunk.getColumn_index_offset(), columnIndexBytes(chunk), end);
          end += columnIndexBytes(chunk);
        }
        if (offsetIndexBytes(chunk) > 0) {
          ParquetSource.addRange(
              parts, chunk.getOffset_index_offset(), offsetIndexBytes(chunk), end);
          end += offsetIndexBytes(chunk);
        }
      }
      read(parts, new Scatter(starts, targets));
      done = true;
      return chunks;
    } finally {
      if (!done) {
        chunks.forEach(RawChunk::release);
      }
    }
  }

  private void read(List<RangeReader.Range> parts, RangeReader.Target target) throws IOException {
    byte[] bytes = footer.whole();
    if (bytes == null) {
      ranges.read(footer.location(), footer.fileLength(), parts, target);
      return;
    }
    for (RangeReader.Range part : parts) {
      target.write(
          ByteBuffer.wrap(bytes, (int) part.offset(), (int) part.length()), part.targetOffset());
    }
  }

  /** Several buffers as one, one behind the other. */
  private record Scatter(long[] starts, ByteBuffer[] targets) implements RangeReader.Target {
    @Override
    public ByteBuffer room(long at) {
      int target = target(at);
      while (at - starts[target] == targets[target].capacity()) {
        target++; // of buffers without bytes, several start at one place
      }
      int into = (int) (at - starts[target]);
      return targets[target].slice(into, targets[target].capacity() - into);
    }

    /* The first or another one that starts at a place, or the one that has it. */
    private int target(long at) {
      int target = Arrays.binarySearch(starts, at);
      return target < 0 ? -target - 2 : target;
    }

    @Override
    public void write(ByteBuffer part, long at) {
      long place = at;
      int end = part.limit();
      int target = target(at);
      while (part.position() < end) {
        int into = (int) (place - starts[target]);
        int room = targets[target].capacity() - into;
        if (room > 0) {
          int count = Math.min(room, end - part.position());
          part.limit(part.position() + count);
          targets[target].put(into, part, part.position(), count);
          part.position(part.limit());
          part.limit(end);
          place += count;
        }
        target++;
      }
    }
  }

  private int columnIndexBytes(ColumnChunk chunk) {
    return chunk.isSetColumn_index_offset() && chunk.isSetColumn_index_length()
        ? indexBytes(chunk.getColumn_index_offset(), chunk.getColumn_index_length())
        : 0;
  }

  private int offsetIndexBytes(ColumnChunk chunk) {
    return chunk.isSetOffset_index_offset() && chunk.isSetOffset_index_length()
        ? indexBytes(chunk.getOffset_index_offset(), chunk.getOffset_index_length())
        : 0;
  }

  private int indexBytes(long offset, int length) {
    boolean isThere =
        offset >= ParquetFooter.MAGIC.length
            && length > 0
            && length < CHUNK_BYTES_MAX / 4
            && offset <= footer.fileLength() - length;
    return isThere ? length : 0;
  }

  /* Columns with a chunk that turns out to need another reader go to the rest. */
  private void parse(
      List<SpliceColumns.Leaf> wanted,
      List<RawChunk> raw,
      org.apache.parquet.format.RowGroup stored,
      SourceFile.RowGroup group,
      Map<Integer, String> reasons,
      List<SplicedView.Leaf> spliced) {
    int next = 0;
    try {
      for (; next < raw.size(); next++) {
        SpliceColumns.Leaf leaf = wanted.get(next);
        RawChunk bytes = raw.get(next);
        if (reasons.containsKey(leaf.column())) {
          bytes.release();
          continue;
        }
        try {
          SourceChunk chunk =
              new SourceChunk(bytes, leaf.source(), leaf.type(), origin(leaf, stored, group));
          spliced.add(new SplicedView.Leaf(leaf.leaf(), chunk, leaf.levels(), leaf.hasNoNan()));
        } catch (UnsupportedPageException unsupported) {
          bytes.release();
          reasons.put(leaf.column(), String.valueOf(unsupported.getMessage()));
          drop(leaf.column(), spliced);
        }
      }
    } finally {
      for (; next < raw.size(); next++) {
        raw.get(next).release();
      }
    }
  }

  private void drop(int column, List<SplicedView.Leaf> spliced) {
    List<Integer> leaves = columns.leaves(column).stream().map(SpliceColumns.Leaf::leaf).toList();
    spliced.removeIf(
        leaf -> {
          boolean isOfColumn = leaves.contains(leaf.leaf());
          if (isOfColumn) {
            leaf.chunk().close();
          }
          return isOfColumn;
        });
  }

  private SourceChunk.Origin origin(
      SpliceColumns.Leaf leaf,
      org.apache.parquet.format.RowGroup stored,
      SourceFile.RowGroup group) {
    ColumnChunk chunk = stored.getColumns().get(leaf.chunk());
    ColumnMetaData metadata = chunk.getMeta_data();
    return new SourceChunk.Origin(
        location(),
        group.ordinal(),
        group.rows(),
        metadata.getNum_values(),
        (int) metadata.getTotal_compressed_size(),
        columnIndexBytes(chunk),
        offsetIndexBytes(chunk),
        codec(metadata),
        metadata.getStatistics(),
        metadata.getSize_statistics(),
        footer.metadata().isSetCreated_by() ? footer.metadata().getCreated_by() : null);
  }

  private SplicedView.Rest rest(SourceFile.RowGroup group, Map<Integer, String> reasons)
      throws IOException {
    BitSet set = new BitSet();
    reasons.keySet().forEach(set::set);
    List<Integer> places = set.stream().boxed().toList();
    ParquetSource source = rests.get(set);
    if (source == null) {
      source = places.size() == columns.count() ? whole : opener.open(places);
      rests.put(set, source);
    }
    List<Integer> leaves = new ArrayList<>();
    places.forEach(column -> leaves.addAll(columns.leafPlaces(column)));
    return new SplicedView.Rest(places, leaves, source.fetch(source.rowGroup(group.ordinal())));
  }

  private Map<String, Long> transcodedBytes(
      Map<Integer, String> reasons, org.apache.parquet.format.RowGroup stored) {
    Map<String, Long> bytes = new TreeMap<>();
    reasons.forEach(
        (column, reason) -> {
          long ofColumn = 0;
          for (int chunk : columns.chunks(column)) {
            ofColumn += stored.getColumns().get(chunk).getMeta_data().getTotal_compressed_size();
          }
          bytes.merge(reason, ofColumn, Long::sum);
        });
    return Collections.unmodifiableMap(bytes);
  }
}
