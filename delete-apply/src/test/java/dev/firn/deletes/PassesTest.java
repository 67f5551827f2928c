package dev.firn.deletes;

import static dev.firn.deletes.TableInMemory.row;
import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;
import static org.assertj.core.api.Assertions.catchThrowableOfType;

import java.io.FileNotFoundException;
import java.io.IOException;
import java.util.ArrayList;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.concurrent.ConcurrentHashMap;
import java.util.concurrent.atomic.AtomicInteger;
import org.apache.arrow.memory.BufferAllocator;
import org.apache.arrow.memory.RootAllocator;
import org.apache.arrow.vector.BigIntVector;
import org.apache.arrow.vector.FieldVector;
import org.apache.arrow.vector.VarBinaryVector;
import org.apache.arrow.vector.VectorSchemaRoot;
import org.apache.iceberg.DataFile;
import org.apache.iceberg.DeleteFile;
import org.apache.iceberg.FileScanTask;
import org.apache.iceberg.PartitionSpec;
import org.apache.iceberg.Schema;
import org.apache.iceberg.types.Types;
import org.junit.jupiter.api.Test;

/** Equality delete keys that do not fit in their memory, and delete files read side by side. */
class PassesTest {
  private static final int ID = 1;
  private static final int TEXT = 2;
  private static final Schema SCHEMA =
      new Schema(
          Types.NestedField.optional(ID, "id", Types.LongType.get()),
          Types.NestedField.optional(TEXT, "text", Types.BinaryType.get()));
  private static final PartitionSpec NONE = PartitionSpec.unpartitioned();

  /**
   * A source of rows that are made when they are asked for. Row {@code r} of file {@code n} has a
   * number of its own, {@code first(n) + r * step(n)}: that is its id, and the bytes of its text.
   */
  private static final class Numbers implements DeleteSource, AutoCloseable {
    private static final int BATCH_ROWS = 16 * 1024;

    private record Content(long first, long step, int rows) {}

    private final BufferAllocator memory = new RootAllocator();
    private final Map<String, Content> files = new HashMap<>();
    private final Map<String, AtomicInteger> opens = new ConcurrentHashMap<>();

    @Override
    public void readDeletes(DeleteFile file, Schema columns, Batches batches) throws IOException {
      read(file.location(), columns, batches);
    }

    @Override
    public void readKeys(FileScanTask task, Schema columns, Batches batches) throws IOException {
      read(task.file().location(), columns, batches);
    }

    @Override
    public Map<Integer, org.apache.iceberg.types.Type> fieldTypes(
        org.apache.iceberg.ContentFile<?> file, java.util.Set<Integer> ids) {
      return Map.of();
    }

    @Override
    public byte[] readDeletionVector(DeleteFile vector) throws IOException {
      throw new FileNotFoundException(vector.location());
    }

    private void read(String location, Schema columns, Batches batches) throws IOException {
      opens.computeIfAbsent(location, l -> new AtomicInteger()).incrementAndGet();
      Content content = files.get(location);
      for (int from = 0; from < content.rows; from += BATCH_ROWS) {
        int count = Math.min(BATCH_ROWS, content.rows - from);
        long first = content.first + from * content.step;
        List<FieldVector> vectors = new ArrayList<>();
        for (Types.NestedField column : columns.columns()) {
          vectors.add(
              column.fieldId() == ID
                  ? ids(first, content.step, count)
                  : texts(first, content.step, count));
        }
        try (VectorSchemaRoot batch = new VectorSchemaRoot(vectors)) {
          batches.accept(batch, from);
        }
      }
    }

    private FieldVector ids(long first, long step, int count) {
      BigIntVector vector = new BigIntVector(String.valueOf(ID), memory);
      vector.allocateNew(count);
      for (int i = 0; i < count; i++) {
        vector.set(i, first + i * step);
      }
      vector.setValueCount(count);
      return vector;
    }

    private FieldVector texts(long first, long step, int count) {
      VarBinaryVector vector = new VarBinaryVector(String.valueOf(TEXT), memory);
      vector.allocateNew();
      byte[] text = new byte[9];
      for (int i = 0; i < count; i++) {
        KeyColumn.LONG.set(text, 0, first + i * step);
        vector.setSafe(i, text);
      }
      vector.setValueCount(count);
      return vector;
    }

    @Override
    public void close() {
      memory.close();
    }
  }

  private static Map<String, Long> counts(
      TableInMemory t, Numbers numbers, long limit, List<GroupDeletes.Stats> stats)
      throws IOException {
    List<FileScanTask> tasks = t.tasks();
    GroupDeletes deletes =
        GroupDeletes.resolve(
            t.table.specs(),
            SCHEMA,
            List.of(),
            tasks,
            FileScanTask::deletes,
            numbers,
            new DeleteLimits(limit),
            t.threads);
    stats.add(deletes.stats());
    Map<String, Long> counts = new HashMap<>();
    for (FileScanTask task : tasks) {
      long rows = task.file().recordCount();
      DeletedRows deleted = deletes.deletedRows(task);
      long[] live = new long[(int) (rows + 63) / 64];
      java.util.Arrays.fill(live, -1);
      assertThat(deleted.clearDeleted(0, (int) rows, live)).isEqualTo((int) deleted.count());
      counts.put(task.file().location() + " count", deleted.count());
      counts.put(task.file().location() + " rows", (long) java.util.Arrays.hashCode(live));
    }
    return counts;
  }

  /** Delete files of two sets of field ids with millions of keys, against 16 MB. */
  @Test
  void sixteenMegabytesAndAllMemoryGiveTheSame() throws IOException {
    try (TableInMemory t = new TableInMemory(SCHEMA, NONE, 2);
        Numbers numbers = new Numbers()) {
      List<DataFile> data = new ArrayList<>();
      for (int i = 0; i < 4; i++) {
        DataFile file = t.dataOfRows(NONE, 400_000);
        numbers.files.put(file.location(), new Numbers.Content(i * 500_000L, 1, 400_000));
        data.add(file);
      }
      t.commit(data, List.of());
      List<DeleteFile> deletes = new ArrayList<>();
      for (int i = 0; i < 3; i++) {
        DeleteFile ids = t.equalityOfRows(NONE, new int[] {ID}, 600_000);
        numbers.files.put(ids.location(), new Numbers.Content(i, 3, 600_000));
        DeleteFile texts = t.equalityOfRows(NONE, new int[] {TEXT}, 100_000);
        numbers.files.put(texts.location(), new Numbers.Content(i * 1_000_000L, 7, 100_000));
        deletes.add(ids);
        deletes.add(texts);
      }
      // all ids below 1.8 million are deleted; give a third of them back
      deletes.remove(2);
      t.commit(List.of(), deletes);
      List<GroupDeletes.Stats> stats = new ArrayList<>();
      Map<String, Long> unlimited = counts(t, numbers, 4L << 30, stats);
      Map<String, Long> limited = counts(t, numbers, 16L << 20, stats);
      assertThat(limited).isEqualTo(unlimited);
      assertThat(unlimited.get(data.get(0).location() + " count"))
          .as("two thirds by id, and a seventh of what else there is by text")
          .isBetween(266_600L, 400_000L);
      assertThat(stats.get(0).equalityPasses()).isEqualTo(1);
      int passes = stats.get(1).equalityPasses();
      assertThat(passes).as("passes in 16 MB").isBetween(2, 6);
      assertThat(stats.get(1).keyIndexBytes()).isLessThanOrEqualTo(16L << 20);
      assertThat(stats.get(1).keysRead()).isEqualTo(stats.get(0).keysRead());
      assertThat(stats.get(1).unmatched()).isEqualTo(stats.get(0).unmatched());
      for (DeleteFile delete : deletes) {
        assertThat(numbers.opens.get(delete.location()).get()).isEqualTo(1 + passes);
      }
    }
  }

  @Test
  void manyPassesOverManyKeysOfBothForms() throws IOException {
    for (int field : new int[] {ID, TEXT}) {
      try (TableInMemory t = new TableInMemory(SCHEMA, NONE, 2);
          Numbers numbers = new Numbers()) {
        DataFile file = t.dataOfRows(NONE, 30_000);
        numbers.files.put(file.location(), new Numbers.Content(0, 1, 30_000));
        t.append(file);
        DeleteFile delete = t.equalityOfRows(NONE, new int[] {field}, 20_000);
        numbers.files.put(delete.location(), new Numbers.Content(10_000, 2, 20_000));
        t.delete(delete);
        List<GroupDeletes.Stats> stats = new ArrayList<>();
        Map<String, Long> unlimited = counts(t, numbers, 1L << 30, stats);
        assertThat(unlimited).containsEntry(file.location() + " count", 10_000L);
        int passesBefore = 1;
        for (long limit : new long[] {1_000_000, 100_000, 10_000}) {
          assertThat(counts(t, numbers, limit, stats)).isEqualTo(unlimited);
          GroupDeletes.Stats last = stats.get(stats.size() - 1);
          assertThat(last.equalityPasses()).isGreaterThanOrEqualTo(passesBefore);
          assertThat(last.unmatched().equalityKeys()).isEqualTo(10_000);
          assertThat(last.keysRead()).isEqualTo(20_000);
          assertThat(last.keyIndexBytes()).isLessThanOrEqualTo(limit);
          // a table at least three eighths full, a filter, and what is moved beside them
          long bytesOfAKey = field == ID ? 9 + 2 : 8 + 2 + 4 * Long.BYTES;
          assertThat(last.equalityPasses())
              .as("passes in %d bytes", limit)
              .isLessThanOrEqualTo((int) (1 + 20_000 * bytesOfAKey * 6 / limit));
          passesBefore = last.equalityPasses();
        }
        assertThat(passesBefore).isGreaterThan(50);
      }
    }
  }

  @Test
  void aLimitThatWouldTakeTooManyPassesIsRefusedWithTheNumberItNeeds() throws IOException {
    try (TableInMemory t = new TableInMemory(SCHEMA, NONE, 2)) {
      t.append(t.data(NONE, null, row(TEXT, new byte[10])));
      t.delete(t.equality(NONE, null, new int[] {TEXT}, row(TEXT, new byte[1 << 20])));
      List<FileScanTask> tasks = t.tasks();
      DeleteIndexTooLargeException refused =
          catchThrowableOfType(
              DeleteIndexTooLargeException.class,
              () -> t.resolve(tasks, new DeleteLimits(1 << 20)));
      assertThat(refused).hasMessageContaining("Nothing was written");
      assertThat(refused.bytesMax()).isEqualTo(1 << 20);
      assertThat(refused.bytesNeeded()).isBetween((1L << 20) * 3 / 2, 1L << 21);
      GroupDeletes deletes = t.resolve(tasks, new DeleteLimits(refused.bytesNeeded()));
      assertThat(deletes.stats().keysRead()).isEqualTo(1);
    }
  }

  @Test
  void ofSeveralFilesThatCannotBeReadTheFirstIsNamed() throws IOException {
    try (TableInMemory t = new TableInMemory(SCHEMA, NONE, 2)) {
      t.append(t.data(NONE, null, row(ID, 1L)));
      List<DeleteFile> deletes = new ArrayList<>();
      for (int i = 0; i < 40; i++) {
        DeleteFile delete = t.equality(NONE, null, new int[] {ID}, row(ID, (long) i));
        deletes.add(delete);
        if (i == 17 || i == 30) {
          t.rows.put(delete.location(), null);
        }
      }
      t.commit(List.of(), deletes);
      List<FileScanTask> tasks = t.tasks();
      for (int i = 0; i < 20; i++) {
        assertThatThrownBy(
                () ->
                    t.resolve(
                        tasks,
                        task -> deletes.stream().map(file -> planned(task, file)).toList(),
                        TableInMemory.NO_LIMIT))
            .isInstanceOf(FileNotFoundException.class)
            .hasMessage(deletes.get(17).location());
      }
      assertThat(t.rows.memory.getAllocatedMemory()).isZero();
    }
  }

  private static DeleteFile planned(FileScanTask task, DeleteFile file) {
    return task.deletes().stream()
        .filter(delete -> delete.location().equals(file.location()))
        .findFirst()
        .orElseThrow();
  }
}
