package dev.firn.engine.parquet;

import java.io.IOException;
import java.nio.ByteBuffer;
import java.nio.channels.FileChannel;
import java.util.List;
import org.apache.parquet.column.ColumnDescriptor;
import org.apache.parquet.format.ColumnMetaData;
import org.apache.parquet.format.Encoding;
import org.apache.parquet.format.PageHeader;
import org.apache.parquet.hadoop.metadata.CompressionCodecName;
import org.apache.parquet.io.ParquetDecodingException;
import org.apache.parquet.schema.PrimitiveType.PrimitiveTypeName;
import org.apache.parquet.schema.Types;
import org.jspecify.annotations.Nullable;

/**
 * A column chunk of a view whose pages Firn decodes itself: of a leaf that is in no list or struct.
 * Used by one thread.
 */
final class ViewChunk {
  private final FileChannel view;
  private final ViewSchema.Leaf leaf;
  private final ViewPages.Chunk located;
  private final CompressionCodecName codec;
  private final ColumnDescriptor column;
  private final String location;
  private final String what;
  private @Nullable SourceDictionary dictionary; // null before it is needed

  /**
   * @param view stays the caller's
   * @param located all pages
   * @param location of the file, for messages
   * @param what names the chunk in them
   */
  ViewChunk(
      FileChannel view,
      ViewSchema.Leaf leaf,
      ViewPages.Chunk located,
      ColumnMetaData metadata,
      String location,
      String what) {
    this.view = view;
    this.leaf = leaf;
    this.located = located;
    this.codec = CompressionCodecName.valueOf(metadata.getCodec().name());
    this.column = column(leaf);
    this.location = location;
    this.what = what;
  }

  private static ColumnDescriptor column(ViewSchema.Leaf leaf) {
    String name = leaf.path().get(0);
    PrimitiveTypeName type = typeName(leaf);
    return new ColumnDescriptor(
        new String[] {name},
        (leaf.optional() ? Types.optional(type) : Types.required(type))
            .length(type == PrimitiveTypeName.FIXED_LEN_BYTE_ARRAY ? leaf.width() : 0)
            .named(name),
        0,
        leaf.optional() ? 1 : 0);
  }

  private static PrimitiveTypeName typeName(ViewSchema.Leaf leaf) {
    return switch (leaf.type()) {
      case BOOLEAN -> PrimitiveTypeName.BOOLEAN;
      case INT32 -> PrimitiveTypeName.INT32;
      case INT64 -> PrimitiveTypeName.INT64;
      case FLOAT -> PrimitiveTypeName.FLOAT;
      case DOUBLE -> PrimitiveTypeName.DOUBLE;
      case BYTE_ARRAY -> PrimitiveTypeName.BINARY;
      case FIXED_LEN_BYTE_ARRAY -> PrimitiveTypeName.FIXED_LEN_BYTE_ARRAY;
      default -> throw new IllegalStateException("A view has no " + leaf.type());
    };
  }

  /**
   * Whether the pages of a chunk can be decoded here, as far as their headers tell.
   *
   * @param rows of the row group
   */
  static boolean supports(
      ViewSchema.Leaf leaf, ViewPages.Chunk located, ColumnMetaData metadata, long rows) {
    if (leaf.lists() > 0
        || leaf.path().size() > 1
        || leaf.type() == org.apache.parquet.format.Type.FIXED_LEN_BYTE_ARRAY && leaf.width() <= 0
        || !located.understood()
        || !PageTools.supports(CompressionCodecName.valueOf(metadata.getCodec().name()))) {
      return false;
    }
    long values = 0;
    for (ViewPages.Page page : located.data()) {
      boolean tellsRows = page.rows() != ViewPages.Page.ROWS_UNKNOWN;
      if (page.encoding() == null
          || !PageContent.supports(page.encoding(), typeName(leaf))
          || isOfIds(page) && located.dictionary() == null
          || tellsRows && page.rows() != page.values()
          || !fits(page)) {
        return false;
      }
      values += page.values();
    }
    ViewPages.Page dictionary = located.dictionary();
    return values == rows && (dictionary == null || fits(dictionary));
  }

  private static boolean fits(ViewPages.Page page) {
    return page.values() >= 0
        && page.uncompressedBytes() >= 0
        && page.values() * 16 + page.uncompressedBytes() + page.bytes()
            <= PageTools.PAGE_MEMORY_BYTES_MAX;
  }

  private static boolean isOfIds(ViewPages.Page page) {
    return page.encoding() == Encoding.PLAIN_DICTIONARY
        || page.encoding() == Encoding.RLE_DICTIONARY;
  }

  List<ViewPages.Page> pages() {
    return located.data();
  }

  /**
   * Adds the rows of a page.
   *
   * @throws CorruptFileException if the page is not what its header says
   * @throws UnsupportedPageException if another reader is to be asked
   */
  void addTo(VectorFill target, ViewPages.Page page, PageTools tools) throws IOException {
    try {
      SourceDictionary entries = isOfIds(page) ? dictionary(tools) : null;
      ByteBuffer stored = read(page, tools);
      PageHeader header = ThriftBytes.pageHeader(stored);
      tools.decode(header, stored, codec, column, entries == null ? 0 : entries.size());
      if (tools.content().entries() != page.values()) {
        throw new MalformedPageException("a page has changed since it was located");
      }
      target.add(tools.content(), entries);
    } catch (MalformedPageException | ParquetDecodingException malformed) {
      throw ParquetFooter.corrupt(location, what + ": " + malformed.getMessage());
    }
  }

  private @Nullable SourceDictionary dictionary(PageTools tools) throws IOException {
    ViewPages.Page page = located.dictionary();
    if (dictionary == null && page != null) {
      ByteBuffer stored = read(page, tools);
      PageHeader header = ThriftBytes.pageHeader(stored);
      tools.decodeDictionary(header, stored, codec, column);
      dictionary = SourceDictionary.of(tools.content());
    }
    return dictionary;
  }

  /* A page with its header. */
  private ByteBuffer read(ViewPages.Page page, PageTools tools) throws IOException {
    ByteBuffer into = tools.stored(Math.toIntExact(page.bytes()));
    long at = page.position();
    while (into.hasRemaining()) {
      int count = view.read(into, at);
      if (count < 0) {
        throw new IOException("The view of " + location + " ends at " + at);
      }
      at += count;
    }
    return into.flip();
  }

  ViewSchema.Leaf leaf() {
    return leaf;
  }
}
