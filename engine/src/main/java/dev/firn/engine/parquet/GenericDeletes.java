package dev.firn.engine.parquet;

import dev.firn.deletes.DeleteSource;
import java.io.IOException;
import java.io.UncheckedIOException;
import java.util.ArrayList;
import java.util.HashSet;
import java.util.List;
import java.util.Set;
import org.apache.arrow.memory.BufferAllocator;
import org.apache.arrow.vector.VectorSchemaRoot;
import org.apache.iceberg.Accessor;
import org.apache.iceberg.DeleteFile;
import org.apache.iceberg.Schema;
import org.apache.iceberg.StructLike;
import org.apache.iceberg.data.InternalRecordWrapper;
import org.apache.iceberg.data.Record;
import org.apache.iceberg.formats.FormatModelRegistry;
import org.apache.iceberg.formats.ReadBuilder;
import org.apache.iceberg.io.CloseableIterable;
import org.apache.iceberg.io.FileIO;
import org.apache.iceberg.types.TypeUtil;
import org.apache.iceberg.types.Types;

/** Delete files in Avro and ORC, row by row through Iceberg's readers (D27). */
final class GenericDeletes {
  private final FileIO io;
  private final Schema table;
  private final int batchRows;

  GenericDeletes(FileIO io, Schema table, int batchRows) {
    this.io = io;
    this.table = table;
    this.batchRows = batchRows;
  }

  void read(
      DeleteFile file, Schema columns, BufferAllocator allocator, DeleteSource.Batches batches)
      throws IOException {
    Schema projection = projection(columns);
    ReadBuilder<Record, Object> builder =
        FormatModelRegistry.readBuilder(
            file.format(), Record.class, io.newInputFile(file.location(), file.fileSizeInBytes()));
    long position = 0;
    try (CloseableIterable<Record> records = builder.project(projection).build();
        VectorSchemaRoot batch = VectorSchemaRoot.create(PhysicalLayout.of(columns), allocator)) {
      List<Accessor<StructLike>> accessors = new ArrayList<>();
      columns
          .columns()
          .forEach(column -> accessors.add(projection.accessorForField(column.fieldId())));
      InternalRecordWrapper values = new InternalRecordWrapper(projection.asStruct());
      int row = 0;
      for (Record record : records) {
        values.wrap(record);
        for (int i = 0; i < accessors.size(); i++) {
          Object value = accessors.get(i).get(values);
          if (value != null) {
            PhysicalValue.of(columns.columns().get(i).type(), value).set(batch.getVector(i), row);
          }
        }
        row++;
        if (row == batchRows) {
          batch.setRowCount(row);
          batches.accept(batch, position);
          position += row;
          row = 0;
          batch.clear();
        }
      }
      if (row > 0) {
        batch.setRowCount(row);
        batches.accept(batch, position);
        position += row;
      }
    } catch (UncheckedIOException failure) {
      throw failure.getCause();
    }
    if (position != file.recordCount()) {
      throw ParquetFooter.corrupt(
          file.location(),
          "it holds " + position + " rows, the table's metadata says " + file.recordCount());
    }
  }

  /** The columns asked for, with leaves of structs in the structs of the table (D19). */
  private Schema projection(Schema columns) {
    Set<Integer> nested = new HashSet<>();
    Set<Integer> parents = TypeUtil.indexParents(table.asStruct()).keySet();
    List<Types.NestedField> fields = new ArrayList<>();
    for (Types.NestedField column : columns.columns()) {
      if (parents.contains(column.fieldId())) {
        nested.add(column.fieldId());
      } else {
        fields.add(column);
      }
    }
    fields.addAll(TypeUtil.select(table, nested).columns());
    return new Schema(fields);
  }
}
