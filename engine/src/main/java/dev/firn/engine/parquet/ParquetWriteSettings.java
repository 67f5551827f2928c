package dev.firn.engine.parquet;

import java.util.HashMap;
import java.util.Locale;
import java.util.Map;
import java.util.Set;
import org.apache.hadoop.conf.Configuration;
import org.apache.iceberg.Schema;
import org.apache.iceberg.TableProperties;
import org.apache.iceberg.util.PropertyUtil;
import org.apache.parquet.column.ColumnDescriptor;
import org.apache.parquet.column.Encoding;
import org.apache.parquet.column.ParquetProperties;
import org.apache.parquet.column.ParquetProperties.WriterVersion;
import org.apache.parquet.hadoop.metadata.CompressionCodecName;
import org.apache.parquet.schema.MessageType;
import org.apache.parquet.schema.Type;
import org.jspecify.annotations.Nullable;

/**
 * What a table's write properties say about its Parquet files (M11), with Iceberg's own defaults.
 * Column names are Iceberg's and reach the Parquet columns through field ids (M12).
 *
 * @param codec the compression of pages
 * @param codecConfiguration the level of the codec, in its own words
 * @param parquet pages, dictionaries, statistics and bloom filters
 * @param rowGroupBytes the size to end a row group at
 * @param isRowGroupUncompressed whether that size is counted before compression
 * @param asked the names of the properties that the table sets itself: of those of pages only such
 *     are asked of pages that come from other files as they are
 * @param encodings which pages the run is to write, before the table has a say
 */
record ParquetWriteSettings(
    CompressionCodecName codec,
    Configuration codecConfiguration,
    ParquetProperties parquet,
    long rowGroupBytes,
    boolean isRowGroupUncompressed,
    Set<String> asked,
    PageEncodings encodings) {

  /* Parquet's buffers start with slabs of so many bytes and refuse a smaller limit, in some columns
  only: a dictionary without values, say. */
  private static final int SLAB_BYTES_MIN = 64;

  /** Levels as Hadoop's zlib names them, from 0 up. */
  private static final String[] ZLIB_LEVELS = {
    "NO_COMPRESSION",
    "BEST_SPEED",
    "TWO",
    "THREE",
    "FOUR",
    "FIVE",
    "SIX",
    "SEVEN",
    "EIGHT",
    "BEST_COMPRESSION"
  };

  /**
   * @param properties the table's
   * @param columns the schema of the files
   * @param type the same as Parquet has it
   * @throws UnsupportedTableException if the codec is one that is not on board
   * @throws IllegalArgumentException if a property has a value that cannot be
   */
  static ParquetWriteSettings of(
      Map<String, String> properties, Schema columns, MessageType type, PageEncodings encodings) {
    int rowGroupBytes =
        positive(
            properties,
            TableProperties.PARQUET_ROW_GROUP_SIZE_BYTES,
            TableProperties.PARQUET_ROW_GROUP_SIZE_BYTES_DEFAULT);
    int checkRowsMin =
        positive(
            properties,
            TableProperties.PARQUET_ROW_GROUP_CHECK_MIN_RECORD_COUNT,
            TableProperties.PARQUET_ROW_GROUP_CHECK_MIN_RECORD_COUNT_DEFAULT);
    int checkRowsMax =
        positive(
            properties,
            TableProperties.PARQUET_ROW_GROUP_CHECK_MAX_RECORD_COUNT,
            TableProperties.PARQUET_ROW_GROUP_CHECK_MAX_RECORD_COUNT_DEFAULT);
    if (checkRowsMax < checkRowsMin) {
      throw new IllegalArgumentException(
          TableProperties.PARQUET_ROW_GROUP_CHECK_MAX_RECORD_COUNT
              + " must be at least "
              + checkRowsMin
              + " ("
              + TableProperties.PARQUET_ROW_GROUP_CHECK_MIN_RECORD_COUNT
              + ") but was "
              + checkRowsMax);
    }
    ParquetProperties.Builder parquet =
        ParquetProperties.builder()
            .withWriterVersion(writerVersion(properties, encodings))
            .withPageSize(
                Math.max(
                    SLAB_BYTES_MIN,
                    positive(
                        properties,
                        TableProperties.PARQUET_PAGE_SIZE_BYTES,
                        TableProperties.PARQUET_PAGE_SIZE_BYTES_DEFAULT)))
            .withPageRowCountLimit(
                positive(
                    properties,
                    TableProperties.PARQUET_PAGE_ROW_LIMIT,
                    TableProperties.PARQUET_PAGE_ROW_LIMIT_DEFAULT))
            .withDictionaryEncoding(
                PropertyUtil.propertyAsBoolean(properties, "parquet.enable.dictionary", true))
            .withDictionaryPageSize(
                Math.max(
                    SLAB_BYTES_MIN,
                    positive(
                        properties,
                        TableProperties.PARQUET_DICT_SIZE_BYTES,
                        TableProperties.PARQUET_DICT_SIZE_BYTES_DEFAULT)))
            .withMinRowCountForPageSizeCheck(checkRowsMin)
            .withMaxRowCountForPageSizeCheck(checkRowsMax)
            .withMaxBloomFilterBytes(
                positive(
                    properties,
                    TableProperties.PARQUET_BLOOM_FILTER_MAX_BYTES,
                    TableProperties.PARQUET_BLOOM_FILTER_MAX_BYTES_DEFAULT))
            .withAdaptiveBloomFilterEnabled(
                PropertyUtil.propertyAsBoolean(
                    properties,
                    TableProperties.PARQUET_BLOOM_FILTER_ADAPTIVE_ENABLED,
                    TableProperties.PARQUET_BLOOM_FILTER_ADAPTIVE_ENABLED_DEFAULT));
    columnSettings(properties, columns, type, parquet);

    CompressionCodecName codec = codec(properties);
    return new ParquetWriteSettings(
        codec,
        codecConfiguration(codec, properties.get(TableProperties.PARQUET_COMPRESSION_LEVEL)),
        parquet.build(),
        rowGroupBytes,
        PropertyUtil.propertyAsBoolean(
            properties,
            TableProperties.PARQUET_ROW_GROUP_SIZE_TRACK_UNCOMPRESSED,
            TableProperties.PARQUET_ROW_GROUP_SIZE_TRACK_UNCOMPRESSED_DEFAULT),
        Set.copyOf(properties.keySet()),
        encodings);
  }

  /**
   * Whether a page of another file may stand in the table's files, by what the table asks of pages.
   *
   * @param bytes before compression
   */
  boolean allowsPage(boolean isV2, int rows, long bytes) {
    return (isV2 == isV2() || !asksVersion())
        && (rows <= parquet.getPageRowCountLimit()
            || !asked.contains(TableProperties.PARQUET_PAGE_ROW_LIMIT))
        && (bytes <= parquet.getPageSizeThreshold() / 4L * 5
            || !asked.contains(TableProperties.PARQUET_PAGE_SIZE_BYTES));
  }

  /** Whether pages of version 2 are written. */
  boolean isV2() {
    return parquet.getWriterVersion() != WriterVersion.PARQUET_1_0;
  }

  private boolean asksVersion() {
    return encodings != PageEncodings.AUTO || asked.contains(TableProperties.PARQUET_PAGE_VERSION);
  }

  /**
   * Why values of a page of another file are not to keep their encoding; null if they may.
   *
   * @param isV2 the version of the page there
   */
  @Nullable String refusal(boolean isV2, Encoding encoding) {
    if (encodings == PageEncodings.AUTO) {
      return null;
    }
    if (isV2 != isV2()) {
      return "page of version " + (isV2 ? 2 : 1) + ", not " + encodings.text();
    }
    boolean isOfAnyVersion = encoding == Encoding.PLAIN || encoding.usesDictionary();
    return isV2 || isOfAnyVersion ? null : encoding + ", not " + encodings.text();
  }

  private static void columnSettings(
      Map<String, String> properties,
      Schema columns,
      MessageType type,
      ParquetProperties.Builder parquet) {
    Map<String, String> paths = parquetPaths(columns, type);
    Map<String, String> fpps =
        PropertyUtil.propertiesWithPrefix(
            properties, TableProperties.PARQUET_BLOOM_FILTER_COLUMN_FPP_PREFIX);
    Map<String, String> ndvs =
        PropertyUtil.propertiesWithPrefix(
            properties, TableProperties.PARQUET_BLOOM_FILTER_COLUMN_NDV_PREFIX);
    PropertyUtil.propertiesWithPrefix(
            properties, TableProperties.PARQUET_BLOOM_FILTER_COLUMN_ENABLED_PREFIX)
        .forEach(
            (name, enabled) -> {
              String path = paths.get(name);
              if (path != null) {
                parquet.withBloomFilterEnabled(path, Boolean.parseBoolean(enabled));
                String fpp = fpps.get(name);
                if (fpp != null) {
                  parquet.withBloomFilterFPP(path, Double.parseDouble(fpp));
                }
                String ndv = ndvs.get(name);
                if (ndv != null) {
                  parquet.withBloomFilterNDV(path, Long.parseLong(ndv));
                }
              }
            });
    PropertyUtil.propertiesWithPrefix(
            properties, TableProperties.PARQUET_COLUMN_STATS_ENABLED_PREFIX)
        .forEach(
            (name, enabled) -> {
              String path = paths.get(name);
              if (path != null) {
                parquet.withStatisticsEnabled(path, Boolean.parseBoolean(enabled));
              }
            });
    PropertyUtil.propertiesWithPrefix(
            properties, TableProperties.PARQUET_DICT_ENCODING_ENABLED_COLUMN_PREFIX)
        .forEach(
            (name, enabled) -> {
              String path = paths.get(name);
              if (path != null) {
                parquet.withDictionaryEncoding(path, Boolean.parseBoolean(enabled));
              }
            });
  }

  /** Parquet's dotted path for the Iceberg name of each leaf column. */
  private static Map<String, String> parquetPaths(Schema columns, MessageType type) {
    Map<String, String> paths = new HashMap<>();
    for (ColumnDescriptor column : type.getColumns()) {
      Type.ID id = column.getPrimitiveType().getId();
      String name = id == null ? null : columns.findColumnName(id.intValue());
      if (name != null) {
        paths.put(name, String.join(".", column.getPath()));
      }
    }
    return paths;
  }

  private static WriterVersion writerVersion(
      Map<String, String> properties, PageEncodings encodings) {
    if (encodings != PageEncodings.AUTO) {
      return encodings == PageEncodings.PARQUET_V1
          ? WriterVersion.PARQUET_1_0
          : WriterVersion.PARQUET_2_0;
    }
    String version =
        properties.getOrDefault(
            TableProperties.PARQUET_PAGE_VERSION, TableProperties.PARQUET_PAGE_VERSION_DEFAULT);
    try {
      return WriterVersion.fromString(version);
    } catch (IllegalArgumentException e) {
      throw new IllegalArgumentException(
          TableProperties.PARQUET_PAGE_VERSION + " must be v1 or v2 but was " + version, e);
    }
  }

  private static CompressionCodecName codec(Map<String, String> properties) {
    String name =
        properties.getOrDefault(
            TableProperties.PARQUET_COMPRESSION, TableProperties.PARQUET_COMPRESSION_DEFAULT);
    CompressionCodecName codec;
    try {
      codec = CompressionCodecName.valueOf(name.toUpperCase(Locale.ROOT));
    } catch (IllegalArgumentException e) {
      throw new IllegalArgumentException(
          TableProperties.PARQUET_COMPRESSION + " must be a codec of Parquet but was " + name, e);
    }
    if (codec == CompressionCodecName.BROTLI || codec == CompressionCodecName.LZO) {
      throw new UnsupportedTableException(
          "Cannot write Parquet with "
              + TableProperties.PARQUET_COMPRESSION
              + " "
              + name
              + ": the codec is not on board. Nothing was written; set another codec on the table");
    }
    return codec;
  }

  private static Configuration codecConfiguration(
      CompressionCodecName codec, @Nullable String level) {
    Configuration configuration = new Configuration(false);
    if (level == null) {
      return configuration;
    }
    if (codec == CompressionCodecName.ZSTD) {
      configuration.set("parquet.compression.codec.zstd.level", level);
    } else if (codec == CompressionCodecName.GZIP) {
      configuration.set("zlib.compress.level", zlibLevel(level));
    }
    return configuration;
  }

  private static String zlibLevel(String level) {
    String trimmed = level.trim();
    if (trimmed.length() == 1 && Character.isDigit(trimmed.charAt(0))) {
      return ZLIB_LEVELS[trimmed.charAt(0) - '0'];
    }
    return trimmed.equals("-1") ? "DEFAULT_COMPRESSION" : trimmed.toUpperCase(Locale.ROOT);
  }

  private static int positive(Map<String, String> properties, String key, int otherwise) {
    int value = PropertyUtil.propertyAsInt(properties, key, otherwise);
    if (value <= 0) {
      throw new IllegalArgumentException(key + " must be positive but was " + value);
    }
    return value;
  }
}
