package dev.firn.deletes;

import java.io.File;
import java.io.IOException;
import java.io.InputStream;
import java.io.PrintStream;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.List;
import java.util.Locale;
import org.apache.arrow.memory.BufferAllocator;
import org.apache.arrow.memory.RootAllocator;
import org.apache.arrow.vector.BigIntVector;
import org.apache.arrow.vector.FieldVector;
import org.apache.arrow.vector.VarBinaryVector;
import org.apache.arrow.vector.VectorSchemaRoot;
import org.apache.iceberg.Schema;
import org.apache.iceberg.StructLike;
import org.apache.iceberg.data.GenericRecord;
import org.apache.iceberg.data.InternalRecordWrapper;
import org.apache.iceberg.types.Types;
import org.apache.iceberg.util.StructLikeSet;

/**
 * How many equality delete keys fit in a heap? The key index is filled, and beside it what Spark
 * and Iceberg's generic readers hold keys in: a {@code StructLikeSet} of generic records. Each in a
 * Java process of its own; prints a Markdown table. The index says itself what it holds; the set is
 * filled until the heap is.
 *
 * <p>Every look-up is checked: of rows that are keys all are found, of others none.
 */
public final class KeyIndexCapacity {
  private static final int ROWS = 8192;
  private static final long SEQUENCE_NUMBER = 7;
  private static final int LOOKED_UP = 4_000_000;
  private static final int ROOM_BYTES = 40 << 20;

  private final boolean hasText;
  private final List<Types.NestedField> fields;
  private final PrintStream out;

  private KeyIndexCapacity(boolean hasText, PrintStream out) {
    this.hasText = hasText;
    this.out = out;
    Types.NestedField number = Types.NestedField.optional(1, "a", Types.LongType.get());
    Types.NestedField text = Types.NestedField.optional(2, "b", Types.StringType.get());
    this.fields = hasText ? List.of(number, text) : List.of(number);
  }

  /** Arguments: keys of the largest index, one hundred million if left out. */
  public static void main(String[] arguments) throws IOException, InterruptedException {
    if (arguments.length > 1) {
      KeyIndexCapacity of = new KeyIndexCapacity(arguments[1].equals("text"), System.out);
      if (arguments[0].equals("set")) {
        of.fillSet();
      } else {
        of.fillIndex(Long.parseLong(arguments[2]), Long.parseLong(arguments[3]));
      }
      return;
    }
    String keys = arguments.length > 0 ? arguments[0] : "100000000";
    System.out.println("| keys | held in | heap | number | bytes of a key | to add | to look up |");
    System.out.println("|---|---|---|---|---|---|---|");
    String all = String.valueOf(Long.MAX_VALUE);
    run("1g", "set", "long");
    run("1g", "index", "long", all, String.valueOf(940L << 20));
    run("1400m", "index", "long", keys, String.valueOf(1330L << 20));
    run("1g", "set", "text");
    run("1g", "index", "text", all, String.valueOf(940L << 20));
  }

  private static void run(String heap, String... arguments)
      throws IOException, InterruptedException {
    List<String> command = new ArrayList<>();
    command.add(System.getProperty("java.home") + File.separator + "bin" + File.separator + "java");
    command.add("-Xmx" + heap);
    if (arguments[0].equals("index")) {
      command.addAll(List.of("-Xmn40m", "-XX:+UseParallelGC"));
    }
    command.add("--add-opens=java.base/java.nio=ALL-UNNAMED");
    command.addAll(
        List.of("-cp", System.getProperty("java.class.path"), KeyIndexCapacity.class.getName()));
    command.addAll(List.of(arguments));
    Process process =
        new ProcessBuilder(command).redirectError(ProcessBuilder.Redirect.DISCARD).start();
    try (InputStream printed = process.getInputStream()) {
      printed.transferTo(System.out);
    }
    if (process.waitFor() != 0) {
      throw new IllegalStateException(
          String.join(" ", arguments) + " in " + heap + " ended with " + process.exitValue());
    }
  }

  /** As many different values in no order. */
  private static long key(long number) {
    long mixed = (number + 1) * 0x9E3779B97F4A7C15L;
    return (mixed ^ mixed >>> 29) * 0xBF58476D1CE4E5B9L;
  }

  private void print(String what, long keys, double bytes, double add, double lookUp) {
    out.printf(
        Locale.ROOT,
        "| %s | %s | %d MiB | %.1f M | %.1f | %.0f ns | %.0f ns |%n",
        hasText ? "a long and a text of 12 bytes" : "a long",
        what,
        Runtime.getRuntime().maxMemory() >> 20,
        keys / 1e6,
        bytes,
        add,
        lookUp);
  }

  private void fillIndex(long keysMax, long bytesMax) {
    try (BufferAllocator allocator = new RootAllocator();
        VectorSchemaRoot batch = batch(allocator)) {
      KeyBatch keys = new KeyBatch(fields, hasText ? new int[] {0, 1} : new int[] {0});
      KeyMemory memory = new KeyMemory(bytesMax);
      KeyIndex index = KeyIndex.of(fields, SequenceMarks.of(List.of(SEQUENCE_NUMBER)), memory);
      if (index == null) {
        throw new IllegalStateException("No index in " + bytesMax + " bytes");
      }
      long spent = 0;
      boolean fits = true;
      while (fits && index.size() < keysMax) {
        fill(batch, index.size());
        keys.attach(batch);
        int rows = (int) Math.min(ROWS, keysMax - index.size());
        long begin = System.nanoTime();
        for (int row = 0; fits && row < rows; row += keys.rows()) {
          keys.load(row, rows - row);
          fits = index.add(keys, 0, HashSlice.ALL, SEQUENCE_NUMBER) == keys.rows();
        }
        spent += System.nanoTime() - begin;
      }
      long size = index.size();
      lookUp(index, keys, batch, 0, size, ROWS);
      double lookUp = lookUp(index, keys, batch, size, 1L << 40, 0);
      double bytes = (double) memory.bytesHeld() / size;
      print("Firn's key index", size, bytes, (double) spent / size, lookUp);
    }
  }

  private double lookUp(
      KeyIndex index, KeyBatch keys, VectorSchemaRoot batch, long from, long size, int found) {
    long[] asked = new long[ROWS / 64];
    Arrays.fill(asked, -1);
    long spent = 0;
    long random = 1;
    for (int done = 0; done < LOOKED_UP; done += ROWS) {
      random = random * 6364136223846793005L + 1442695040888963407L;
      fill(batch, from + (random >>> 1) % (size - ROWS));
      long[] live = asked.clone();
      keys.attach(batch);
      long begin = System.nanoTime();
      int cleared = 0;
      for (int row = 0; row < ROWS; row += keys.rows()) {
        keys.load(row, ROWS - row);
        cleared += index.clearDeleted(keys, 3, row, asked, live);
      }
      spent += System.nanoTime() - begin;
      if (cleared != found) {
        throw new IllegalStateException(cleared + " of " + ROWS + " rows found, not " + found);
      }
    }
    return (double) spent / LOOKED_UP;
  }

  private VectorSchemaRoot batch(BufferAllocator allocator) {
    List<FieldVector> vectors = new ArrayList<>();
    BigIntVector longs = new BigIntVector("1", allocator);
    longs.allocateNew(ROWS);
    longs.setValueCount(ROWS);
    vectors.add(longs);
    for (int row = 0; row < ROWS; row++) {
      longs.set(row, 0);
    }
    if (hasText) {
      VarBinaryVector texts = new VarBinaryVector("2", allocator);
      texts.allocateNew(12L * ROWS, ROWS);
      for (int row = 0; row < ROWS; row++) {
        texts.set(row, new byte[12]);
      }
      texts.setValueCount(ROWS);
      vectors.add(texts);
    }
    return new VectorSchemaRoot(vectors);
  }

  private void fill(VectorSchemaRoot batch, long from) {
    for (int row = 0; row < ROWS; row++) {
      long key = key(from + row);
      batch.getVector(0).getDataBuffer().setLong((long) row * Long.BYTES, key);
      if (hasText) {
        batch.getVector(1).getDataBuffer().setLong(row * 12L, key);
      }
    }
  }

  private void fillSet() {
    Schema schema = new Schema(fields);
    StructLikeSet set = StructLikeSet.create(schema.asStruct());
    GenericRecord empty = GenericRecord.create(schema);
    byte[] room = new byte[ROOM_BYTES]; // to look up in when the heap is full
    long begin = System.nanoTime();
    long keys = 0;
    try {
      for (; room.length > 0; keys++) {
        set.add(row(schema, empty, keys));
      }
    } catch (OutOfMemoryError full) {
      room = new byte[0];
      long spent = System.nanoTime() - begin;
      double lookUp = lookUp(set, schema, empty, keys);
      double bytes = (double) (Runtime.getRuntime().maxMemory() - ROOM_BYTES) / keys;
      print("Iceberg's `StructLikeSet`", keys, bytes, (double) spent / keys, lookUp);
    }
  }

  private StructLike row(Schema schema, GenericRecord empty, long number) {
    GenericRecord record = empty.copy();
    record.set(0, key(number));
    if (hasText) {
      record.set(1, String.format("%012d", number));
    }
    return new InternalRecordWrapper(schema.asStruct()).wrap(record);
  }

  private double lookUp(StructLikeSet set, Schema schema, GenericRecord empty, long keys) {
    int rows = 100_000;
    long begin = System.nanoTime();
    for (int i = 0; i < rows; i++) {
      if (set.contains(row(schema, empty, keys + 1 + i))) {
        throw new IllegalStateException("Row " + i + " is found");
      }
    }
    return (double) (System.nanoTime() - begin) / rows;
  }
}
