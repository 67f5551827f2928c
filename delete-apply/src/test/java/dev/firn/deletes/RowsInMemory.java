package dev.firn.deletes;

import java.nio.charset.StandardCharsets;
import java.util.ArrayList;
import java.util.Collections;
import java.util.HashMap;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.Set;
import org.apache.arrow.memory.BufferAllocator;
import org.apache.arrow.memory.RootAllocator;
import org.apache.arrow.vector.BigIntVector;
import org.apache.arrow.vector.BitVector;
import org.apache.arrow.vector.FieldVector;
import org.apache.arrow.vector.FixedSizeBinaryVector;
import org.apache.arrow.vector.Float4Vector;
import org.apache.arrow.vector.Float8Vector;
import org.apache.arrow.vector.IntVector;
import org.apache.arrow.vector.VarBinaryVector;
import org.apache.arrow.vector.VectorSchemaRoot;
import org.apache.iceberg.ContentFile;
import org.apache.iceberg.DeleteFile;
import org.apache.iceberg.FileScanTask;
import org.apache.iceberg.MetadataColumns;
import org.apache.iceberg.Schema;
import org.apache.iceberg.types.Type;
import org.apache.iceberg.types.TypeUtil;
import org.apache.iceberg.types.Types;

/**
 * A {@link DeleteSource} over rows in memory: a row is a map from field id to physical value.
 * Counts what it is asked, fails on demand, and refuses to close while a vector of it is open.
 */
final class RowsInMemory implements DeleteSource, AutoCloseable {
  static final int PATH = MetadataColumns.DELETE_FILE_PATH.fieldId();
  static final int POS = MetadataColumns.DELETE_FILE_POS.fieldId();

  private final Map<String, List<Map<Integer, Object>>> files = new HashMap<>();
  private final Map<DeleteFileId, byte[]> vectors = new HashMap<>();
  final Map<DeleteFileId, Integer> opens = Collections.synchronizedMap(new LinkedHashMap<>());
  final Map<String, Integer> keyScans = Collections.synchronizedMap(new LinkedHashMap<>());
  final Map<String, Schema> columnsAsked = Collections.synchronizedMap(new LinkedHashMap<>());
  final Map<String, Map<Integer, Type>> types = new HashMap<>();
  final BufferAllocator memory = new RootAllocator();
  int batchRows = 3;

  void put(String location, List<Map<Integer, Object>> rows) {
    files.put(location, rows);
  }

  void put(DeleteFile vector, byte[] blob) {
    vectors.put(DeleteFileId.of(vector), blob);
  }

  List<Map<Integer, Object>> rows(String location) {
    return files.get(location);
  }

  byte[] blob(DeleteFile vector) {
    return vectors.get(DeleteFileId.of(vector));
  }

  int opens(DeleteFile file) {
    return opens.getOrDefault(DeleteFileId.of(file), 0);
  }

  @Override
  public void readDeletes(DeleteFile file, Schema columns, Batches batches)
      throws java.io.IOException {
    opens.merge(DeleteFileId.of(file), 1, Integer::sum);
    columnsAsked.put(file.location(), columns);
    read(file.location(), columns, batches);
  }

  @Override
  public void readKeys(FileScanTask task, Schema columns, Batches batches)
      throws java.io.IOException {
    keyScans.merge(task.file().location(), 1, Integer::sum);
    columnsAsked.put(task.file().location(), columns);
    read(task.file().location(), columns, batches);
  }

  @Override
  public Map<Integer, Type> fieldTypes(ContentFile<?> file, Set<Integer> ids) {
    return types.getOrDefault(file.location(), Map.of());
  }

  @Override
  public byte[] readDeletionVector(DeleteFile vector) {
    opens.merge(DeleteFileId.of(vector), 1, Integer::sum);
    return blob(vector);
  }

  private void read(String location, Schema columns, Batches batches) throws java.io.IOException {
    List<Map<Integer, Object>> rows = files.get(location);
    if (rows == null) {
      throw new java.io.FileNotFoundException(location);
    }
    for (int from = 0; from < rows.size(); from += batchRows) {
      List<Map<Integer, Object>> slice =
          rows.subList(from, Math.min(rows.size(), from + batchRows));
      try (BufferAllocator child = memory.newChildAllocator(location, 0, Long.MAX_VALUE);
          VectorSchemaRoot batch = batch(slice, columns, child)) {
        batches.accept(batch, from);
      }
    }
  }

  private static VectorSchemaRoot batch(
      List<Map<Integer, Object>> rows, Schema columns, BufferAllocator memory) {
    List<FieldVector> created = new ArrayList<>();
    for (Types.NestedField field : columns.columns()) {
      FieldVector vector = vector(field, memory);
      vector.allocateNew();
      for (int row = 0; row < rows.size(); row++) {
        set(vector, row, rows.get(row).get(field.fieldId()));
      }
      vector.setValueCount(rows.size());
      created.add(vector);
    }
    VectorSchemaRoot batch = new VectorSchemaRoot(created);
    batch.setRowCount(rows.size());
    return batch;
  }

  private static FieldVector vector(Types.NestedField field, BufferAllocator memory) {
    String name = String.valueOf(field.fieldId());
    Type type = field.type();
    switch (type.typeId()) {
      case BOOLEAN:
        return new BitVector(name, memory);
      case INTEGER:
      case DATE:
        return new IntVector(name, memory);
      case LONG:
      case TIME:
      case TIMESTAMP:
      case TIMESTAMP_NANO:
        return new BigIntVector(name, memory);
      case FLOAT:
        return new Float4Vector(name, memory);
      case DOUBLE:
        return new Float8Vector(name, memory);
      case STRING:
      case BINARY:
        return new VarBinaryVector(name, memory);
      case UUID:
        return new FixedSizeBinaryVector(name, memory, 16);
      case FIXED:
        return new FixedSizeBinaryVector(name, memory, ((Types.FixedType) type).length());
      case DECIMAL:
        int precision = ((Types.DecimalType) type).precision();
        if (precision <= 9) {
          return new IntVector(name, memory);
        }
        if (precision <= 18) {
          return new BigIntVector(name, memory);
        }
        return new FixedSizeBinaryVector(name, memory, TypeUtil.decimalRequiredBytes(precision));
      default:
        throw new IllegalArgumentException("No vector for " + field);
    }
  }

  /* Null slots get a value, since what is under a null is undefined. */
  private static void set(FieldVector vector, int row, Object value) {
    if (vector instanceof BitVector bits) {
      bits.setSafe(row, value == null || (Boolean) value ? 1 : 0);
    } else if (vector instanceof IntVector ints) {
      ints.setSafe(row, value == null ? 7 : ((Number) value).intValue());
    } else if (vector instanceof BigIntVector longs) {
      longs.setSafe(row, value == null ? 7 : ((Number) value).longValue());
    } else if (vector instanceof Float4Vector floats) {
      floats.setSafe(row, value == null ? 7 : (Float) value);
    } else if (vector instanceof Float8Vector doubles) {
      doubles.setSafe(row, value == null ? 7 : (Double) value);
    } else if (vector instanceof VarBinaryVector bytes) {
      bytes.setSafe(row, value == null ? utf8("x") : bytes(value));
    } else if (vector instanceof FixedSizeBinaryVector fixed) {
      fixed.setSafe(row, value == null ? new byte[fixed.getByteWidth()] : (byte[]) value);
    }
    if (value == null) {
      clearValidity(vector, row);
    }
  }

  private static void clearValidity(FieldVector vector, int row) {
    byte bits = vector.getValidityBuffer().getByte(row >> 3);
    vector.getValidityBuffer().setByte(row >> 3, bits & ~(1 << (row & 7)));
  }

  private static byte[] bytes(Object value) {
    return value instanceof String text ? utf8(text) : (byte[]) value;
  }

  private static byte[] utf8(String text) {
    return text.getBytes(StandardCharsets.UTF_8);
  }

  @Override
  public void close() {
    memory.close();
  }
}
