package dev.firn.testdata;

import java.nio.file.Path;
import java.util.HashMap;
import java.util.Map;
import java.util.concurrent.atomic.AtomicReference;
import java.util.function.UnaryOperator;
import org.apache.iceberg.BaseTable;
import org.apache.iceberg.PartitionSpec;
import org.apache.iceberg.Schema;
import org.apache.iceberg.SortOrder;
import org.apache.iceberg.Table;
import org.apache.iceberg.TableMetadata;
import org.apache.iceberg.TableOperations;
import org.apache.iceberg.inmemory.InMemoryFileIO;
import org.apache.iceberg.types.TypeUtil;
import org.apache.iceberg.types.Types;
import org.jspecify.annotations.Nullable;

/**
 * Makes a table in a local directory or in memory, without a catalog and without Hadoop.
 *
 * <pre>{@code
 * Table orders =
 *     TableBuilder.at(directory.resolve("orders"))
 *         .schema(required(1, "id", Types.LongType.get()), optional(2, "day", Types.DateType.get()))
 *         .partitionBy(spec -> spec.identity("day"))
 *         .formatVersion(3)
 *         .create();
 * }</pre>
 *
 * <p>Field ids stay as they are given, other than with Iceberg's catalogs. The files lie as a
 * Hadoop catalog lays them, so {@code HadoopTables} and {@code HadoopCatalog} can open the table
 * too.
 */
public final class TableBuilder {
  private final @Nullable Path directory; // null: in memory
  private @Nullable Schema schema; // null until given
  private UnaryOperator<PartitionSpec.Builder> partitioning = builder -> builder;
  private UnaryOperator<SortOrder.Builder> sorting = builder -> builder;
  private int formatVersion = 2;
  private final Map<String, String> properties = new HashMap<>();

  private TableBuilder(@Nullable Path directory) {
    this.directory = directory;
  }

  /** Starts a table of format version 2 in a directory that need not exist. */
  public static TableBuilder at(Path directory) {
    return new TableBuilder(directory);
  }

  /**
   * Starts a table of format version 2 whose metadata and files are in memory only, for tests of
   * commits: see {@link FakeFiles}. {@link Tables#another} gives a second handle.
   */
  public static TableBuilder inMemory() {
    return new TableBuilder(null);
  }

  /** Opens a table that was made in the directory, as another process would. */
  public static Table open(Path directory) {
    return new BaseTable(operations(directory), "local." + directory.getFileName());
  }

  private static LocalTableOperations operations(Path directory) {
    return new LocalTableOperations(LocalFileIO.location(directory), directory, new LocalFileIO());
  }

  /** The columns; ids are kept. */
  public TableBuilder schema(Schema columns) {
    this.schema = columns;
    return this;
  }

  /** The columns; ids are kept. */
  public TableBuilder schema(Types.NestedField... columns) {
    return schema(new Schema(columns));
  }

  /** The partition fields; unpartitioned if not called. */
  public TableBuilder partitionBy(UnaryOperator<PartitionSpec.Builder> fields) {
    this.partitioning = fields;
    return this;
  }

  /** The sort fields; unsorted if not called. */
  public TableBuilder sortBy(UnaryOperator<SortOrder.Builder> fields) {
    this.sorting = fields;
    return this;
  }

  /** The version of the table format; 2 if not called. */
  public TableBuilder formatVersion(int version) {
    this.formatVersion = version;
    return this;
  }

  /** A table property. */
  public TableBuilder property(String key, String value) {
    properties.put(key, value);
    return this;
  }

  /**
   * Creates the table; its location is {@code file:} and the absolute path of the directory, or
   * {@code memory:/table}.
   */
  public Table create() {
    if (schema == null) {
      throw new IllegalStateException("A table needs a schema");
    }
    String location = directory == null ? "memory:/table" : LocalFileIO.location(directory);
    int lastColumnId =
        TypeUtil.indexById(schema.asStruct()).keySet().stream()
            .mapToInt(Integer::intValue)
            .max()
            .orElse(0);
    TableMetadata metadata =
        TableMetadata.buildFromEmpty(formatVersion)
            .assignUUID()
            .setLocation(location)
            .setCurrentSchema(schema, lastColumnId)
            .setDefaultPartitionSpec(partitioning.apply(PartitionSpec.builderFor(schema)).build())
            .setDefaultSortOrder(sorting.apply(SortOrder.builderFor(schema)).build())
            .setProperties(properties)
            .discardChanges()
            .build();
    TableOperations operations =
        directory == null
            ? new MemoryTableOperations(location, new AtomicReference<>(), new InMemoryFileIO())
            : operations(directory);
    operations.commit(null, metadata);
    return new BaseTable(
        operations, directory == null ? "memory.table" : "local." + directory.getFileName());
  }
}
