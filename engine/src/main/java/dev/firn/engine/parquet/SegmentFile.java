package dev.firn.engine.parquet;

import java.io.IOException;
import java.nio.ByteBuffer;
import java.nio.channels.FileChannel;
import java.nio.file.Files;
import java.nio.file.Path;
import java.nio.file.StandardOpenOption;
import java.util.ArrayList;
import java.util.List;
import java.util.TreeMap;
import java.util.TreeSet;
import org.apache.parquet.format.ColumnChunk;
import org.apache.parquet.format.ColumnMetaData;
import org.apache.parquet.format.FileMetaData;
import org.apache.parquet.format.RowGroup;

/** A segment of a view as a Parquet file of its own, which repeats dictionaries. */
final class SegmentFile {
  private final ParquetSource source;
  private final FileMetaData view;
  private final RowSlices.Segment segment;
  private final Path viewFile;
  private final int rowGroup;

  SegmentFile(
      ParquetSource source,
      int rowGroup,
      FileMetaData view,
      RowSlices.Segment segment,
      Path viewFile) {
    this.source = source;
    this.rowGroup = rowGroup;
    this.view = view;
    this.segment = segment;
    this.viewFile = viewFile;
  }

  /** Writes the file into the scratch directory. The caller deletes it. */
  Path write() throws IOException {
    Path directory = source.scratch();
    Path file =
        ScratchException.writing(
            source.location(),
            rowGroup,
            directory,
            () -> Files.createTempFile(directory, "segment-", ".parquet"));
    try {
      return ScratchException.writing(source.location(), rowGroup, file, () -> write(file));
    } catch (Throwable failure) {
      Files.deleteIfExists(file);
      throw failure;
    }
  }

  private Path write(Path file) throws IOException {
    try (FileChannel from = FileChannel.open(viewFile, StandardOpenOption.READ);
        FileChannel to = FileChannel.open(file, StandardOpenOption.WRITE)) {
      write(from, to);
      return file;
    }
  }

  private void write(FileChannel from, FileChannel to) throws IOException {
    TreeMap<Integer, RowSlices.Part> parts = new TreeMap<>();
    segment.parts().forEach(part -> parts.put(part.leaf(), part));
    List<ColumnChunk> chunks = new ArrayList<>();
    to.write(ByteBuffer.wrap(ParquetFooter.MAGIC));
    long bytes = 0;
    for (RowSlices.Part part : parts.values()) {
      ColumnChunk chunk = write(part, from, to);
      chunks.add(chunk);
      bytes += chunk.getMeta_data().getTotal_uncompressed_size();
    }
    FileMetaData metadata =
        new FileMetaData(
            view.getVersion(),
            source.view().only(new TreeSet<>(parts.keySet())),
            segment.rows(),
            List.of(new RowGroup(chunks, bytes, segment.rows())));
    if (view.isSetCreated_by()) {
      metadata.setCreated_by(view.getCreated_by());
    }
    ParquetSource.writeFully(to, ParquetFooter.trailer(metadata), to.position());
  }

  private ColumnChunk write(RowSlices.Part part, FileChannel from, FileChannel to)
      throws IOException {
    ColumnChunk whole = view.getRow_groups().get(0).getColumns().get(part.leaf());
    ColumnMetaData old = whole.getMeta_data();
    long start = to.position();
    long values = 0;
    long uncompressed = 0;
    for (ViewPages.Page page : part.pages()) {
      values += page.values();
      uncompressed += page.uncompressedBytes();
    }
    long data = start;
    ViewPages.Page dictionary = part.dictionary();
    if (dictionary != null) {
      copy(from, dictionary.position(), dictionary.bytes(), to);
      uncompressed += dictionary.uncompressedBytes();
      data = to.position();
    } else if (part.position() < old.getData_page_offset()) {
      data += old.getData_page_offset() - part.position(); // the dictionary is among the pages
    }
    copy(from, part.position(), part.bytes(), to);
    ColumnMetaData moved =
        new ColumnMetaData(
            old.getType(),
            old.getEncodings(),
            old.getPath_in_schema(),
            old.getCodec(),
            values,
            uncompressed,
            to.position() - start,
            data);
    if (data != start) {
      moved.setDictionary_page_offset(start);
    }
    return new ColumnChunk(start).setMeta_data(moved);
  }

  private static void copy(FileChannel from, long position, long bytes, FileChannel to)
      throws IOException {
    for (long done = 0; done < bytes; ) {
      long count = from.transferTo(position + done, bytes - done, to);
      if (count <= 0) {
        throw new IOException("A view ends at " + (position + done));
      }
      done += count;
    }
  }
}
