package dev.firn.engine.parquet;

import org.jspecify.annotations.Nullable;

/**
 * The rows of a data page that are to be kept, in the arrays of its {@link PageContent}, whose
 * other rows are overwritten. Valid until the next page is decoded; not thread-safe.
 */
final class PageRows implements ColumnRows {
  private final PageContent content;
  private final @Nullable SourceDictionary dictionary; // null if the page has no numbers
  private PageContent.Kind kind;
  private int entries;
  private int valueCount;
  private int rows;
  private boolean isAllDefined;

  /* Made from the dictionary's entries when numbers are given up. */
  private long[] longs;
  private byte[] bytes;
  private int[] starts;
  private int[] ends;

  /**
   * All rows of a page.
   *
   * @param content what was decoded last
   * @param dictionary of the chunk; null if it has none
   */
  PageRows(PageContent content, @Nullable SourceDictionary dictionary, int rows) {
    this.content = content;
    this.dictionary = dictionary;
    this.kind = content.kind();
    this.entries = content.entries();
    this.valueCount = content.values();
    this.rows = rows;
    this.isAllDefined = content.isAllDefined();
    this.longs = content.longs();
    this.bytes = content.bytes();
    this.starts = content.starts();
    this.ends = content.ends();
  }

  /**
   * Keeps some rows only.
   *
   * @param live a bit for each row of the page, bit 0 of word 0 first
   * @param definitionMax of the column
   * @param isRepeated whether a row can have several entries; each row begins with the repetition
   *     level 0
   */
  void keep(long[] live, int definitionMax, boolean isRepeated) {
    if (!isRepeated && isAllDefined) {
      valueCount = keepValues(live, entries);
      entries = valueCount;
      rows = valueCount;
      return;
    }
    byte[] definitions = content.definitions();
    byte[] repetitions = content.repetitions();
    long[] kept = new long[(valueCount + 63) >>> 6]; // a bit for each value
    int row = -1;
    long isLive = 0;
    int value = 0;
    int keptEntries = 0;
    int keptRows = 0;
    for (int entry = 0; entry < entries; entry++) {
      if (!isRepeated || repetitions[entry] == 0) {
        row++;
        isLive = live[row >>> 6] >>> row & 1;
        keptRows += (int) isLive;
      }
      if (isRepeated) {
        repetitions[keptEntries] = repetitions[entry];
      }
      int isDefined = 1;
      if (!isAllDefined) {
        isDefined = definitions[entry] == definitionMax ? 1 : 0;
        definitions[keptEntries] = definitions[entry];
      }
      if (isDefined > 0) {
        kept[value >>> 6] |= isLive << value;
        value++;
      }
      keptEntries += (int) isLive;
    }
    valueCount = keepValues(kept, valueCount);
    entries = keptEntries;
    rows = keptRows;
    isAllDefined = entries == valueCount;
  }

  /**
   * Gives the entries other definition levels.
   *
   * @param levels for each level that there is; the last is that of a value
   */
  void raise(byte[] levels) {
    if (isAllDefined) {
      return;
    }
    byte[] definitions = content.definitions();
    for (int entry = 0; entry < entries; entry++) {
      definitions[entry] = levels[definitions[entry]];
    }
  }

  private int keepValues(long[] kept, int count) {
    return switch (kind) {
      case IDS -> keep(content.ids(), kept, count);
      case LONGS -> keep(longs, kept, count);
      case BOOLEANS -> keep(content.booleans(), kept, count);
      case BYTES -> {
        keep(starts, kept, count);
        yield keep(ends, kept, count);
      }
    };
  }

  private static int keep(int[] values, long[] live, int count) {
    int kept = 0;
    for (int i = 0; i < count; i++) {
      values[kept] = values[i];
      kept += (int) (live[i >>> 6] >>> i & 1);
    }
    return kept;
  }

  private static int keep(long[] values, long[] live, int count) {
    int kept = 0;
    for (int i = 0; i < count; i++) {
      values[kept] = values[i];
      kept += (int) (live[i >>> 6] >>> i & 1);
    }
    return kept;
  }

  private static int keep(byte[] values, long[] live, int count) {
    int kept = 0;
    for (int i = 0; i < count; i++) {
      values[kept] = values[i];
      kept += (int) (live[i >>> 6] >>> i & 1);
    }
    return kept;
  }

  /** Whether the values are numbers of the dictionary. */
  boolean isOfIds() {
    return kind == PageContent.Kind.IDS;
  }

  int[] ids() {
    return content.ids();
  }

  /** The dictionary of the numbers. */
  SourceDictionary dictionary() {
    if (dictionary == null) {
      throw new IllegalStateException("The page has numbers but its chunk no dictionary");
    }
    return dictionary;
  }

  /** How many rows are kept. */
  int rows() {
    return rows;
  }

  /** Puts the entries of the dictionary in the place of their numbers. */
  void lookUp() {
    if (valueCount == 0) {
      kind = PageContent.Kind.LONGS;
      return;
    }
    SourceDictionary entriesOf = dictionary();
    int[] ids = content.ids();
    if (entriesOf.starts().length == 0) {
      long[] values = new long[valueCount];
      for (int i = 0; i < valueCount; i++) {
        values[i] = entriesOf.longs()[ids[i]];
      }
      longs = values;
      kind = PageContent.Kind.LONGS;
    } else {
      int[] first = new int[valueCount];
      int[] last = new int[valueCount];
      for (int i = 0; i < valueCount; i++) {
        first[i] = entriesOf.starts()[ids[i]];
        last[i] = entriesOf.ends()[ids[i]];
      }
      bytes = entriesOf.bytes();
      starts = first;
      ends = last;
      kind = PageContent.Kind.BYTES;
    }
  }

  @Override
  public int entries() {
    return entries;
  }

  @Override
  public int valueCount() {
    return valueCount;
  }

  @Override
  public boolean isAllDefined() {
    return isAllDefined;
  }

  @Override
  public byte[] definitions() {
    return content.definitions();
  }

  @Override
  public byte[] repetitions() {
    return content.repetitions();
  }

  @Override
  public long plainBytesMax(int from, int to) {
    long total = (long) Integer.BYTES * (to - from);
    if (kind == PageContent.Kind.BYTES) {
      for (int value = from; value < to; value++) {
        total += ends[value] - starts[value];
      }
    }
    return total;
  }

  @Override
  public int plainBytes(int value) {
    return Integer.BYTES + (kind == PageContent.Kind.BYTES ? ends[value] - starts[value] : 0);
  }

  @Override
  public long[] longs(int width, int from, int to, Scratch scratch) {
    return scratch.lend(longs, from, to);
  }

  @Override
  public byte[] booleans(int from, int to, Scratch scratch) {
    return scratch.lend(content.booleans(), from, to);
  }

  @Override
  public long byteStrings(int width, int from, int to, Scratch scratch) {
    scratch.lend(bytes, starts, ends, from, to);
    return plainBytesMax(from, to) - (long) Integer.BYTES * (to - from);
  }
}
