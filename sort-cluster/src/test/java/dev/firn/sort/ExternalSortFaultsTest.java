package dev.firn.sort;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;
import static org.assertj.core.api.Assertions.catchThrowable;

import dev.firn.sort.FaultyChannel.Faults;
import dev.firn.sort.PhysicalRows.Row;
import java.io.IOException;
import java.io.InterruptedIOException;
import java.nio.channels.FileChannel;
import java.nio.file.Files;
import java.nio.file.Path;
import java.nio.file.StandardOpenOption;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.List;
import java.util.Random;
import java.util.concurrent.CountDownLatch;
import java.util.concurrent.Executor;
import java.util.concurrent.ExecutorService;
import java.util.concurrent.Executors;
import java.util.stream.Stream;
import org.apache.arrow.memory.AllocationListener;
import org.apache.arrow.memory.BufferAllocator;
import org.apache.arrow.memory.OutOfMemoryException;
import org.apache.arrow.memory.RootAllocator;
import org.apache.arrow.vector.VectorSchemaRoot;
import org.apache.iceberg.Schema;
import org.apache.iceberg.SortOrder;
import org.apache.iceberg.types.Types;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.ValueSource;

/** Memory and disk that fail at every step: no file, no memory is left, and the error says what. */
class ExternalSortFaultsTest {
  private static final Schema SCHEMA =
      new Schema(
          Types.NestedField.optional(1, "k", Types.StringType.get()),
          Types.NestedField.required(2, "i", Types.LongType.get()),
          Types.NestedField.optional(3, "l", Types.ListType.ofOptional(4, Types.StringType.get())));
  private static final SortKeys KEYS =
      SortKeys.of(SCHEMA, SortOrder.builderFor(SCHEMA).asc("k").build());
  private static final int BATCH_ROWS = 640;

  private final long seed = Long.getLong("firn.test.seed", new Random().nextLong());
  private final Random random = new Random(seed);
  private final FailingMemory failing = new FailingMemory();
  private final BufferAllocator allocator = new RootAllocator(failing, Long.MAX_VALUE);
  private final Faults faults = new Faults(random);

  @TempDir private Path scratch;

  /** Fails one allocation. */
  private static final class FailingMemory implements AllocationListener {
    int allocations;
    int left = Integer.MAX_VALUE;

    @Override
    public void onPreAllocation(long size) {
      allocations++;
      if (left-- == 0) {
        throw new OutOfMemoryException("no memory for " + size);
      }
    }
  }

  @AfterEach
  void nothingIsLeft() throws IOException {
    allocator.close();
    assertNoFiles();
  }

  private void assertNoFiles() throws IOException {
    try (Stream<Path> files = Files.list(scratch)) {
      assertThat(files).isEmpty();
    }
    assertThat(faults.open).isZero();
  }

  /** Sorts some runs' worth of rows, and returns how many runs there were. */
  private long sort(List<VectorSchemaRoot> batches, Spill spill) throws IOException {
    long[] live = new long[BATCH_ROWS / 64];
    Arrays.fill(live, -1L);
    long[] rows = new long[1];
    Sortedness sortedness = Sortedness.of(SCHEMA, SortOrder.builderFor(SCHEMA).asc("k").build());
    long memory = RowSorter.spillingBytesMin(SCHEMA, 0);
    try (RowSorter sorter =
        RowSorter.spilling(
            SCHEMA, KEYS, allocator, memory, spill, faults::open, RowBuffer.CHUNKS_MAX)) {
      for (VectorSchemaRoot batch : batches) {
        sorter.add(batch, live, BATCH_ROWS);
      }
      sorter.drain(
          300,
          batch -> {
            rows[0] += batch.getRowCount();
            sortedness.add(batch);
          });
      assertThat(rows[0]).isEqualTo((long) batches.size() * BATCH_ROWS);
      assertThat(sortedness.sorted()).isTrue();
      return sorter.stats().runs();
    }
  }

  private List<VectorSchemaRoot> batches(int count) {
    List<VectorSchemaRoot> batches = new ArrayList<>();
    for (int i = 0; i < count; i++) {
      List<Row> rows = new RandomRows(random).rows(SCHEMA, BATCH_ROWS);
      batches.add(new PhysicalRows(random).batch(SCHEMA, rows, allocator));
    }
    return batches;
  }

  private static void close(List<VectorSchemaRoot> batches) {
    batches.forEach(VectorSchemaRoot::close);
  }

  @Test
  void everyAllocationFailsInTurn() throws IOException {
    List<VectorSchemaRoot> batches = batches(6);
    Spill spill = new Spill(scratch, 2);
    failing.allocations = 0;
    assertThat(sort(batches, spill)).isGreaterThan(2);
    int allocations = failing.allocations;
    int refused = 0;
    for (int n = 0; n < allocations; n += 1 + random.nextInt(1 + allocations / 50)) {
      failing.left = n;
      Throwable failure = catchThrowable(() -> sort(batches, spill));
      // An addition that fails is tried again when the buffer is spilled.
      if (failure != null) {
        refused++;
        assertThat(failure)
            .as("allocation %s, rerun with -Dfirn.test.seed=%s", n, seed)
            .isInstanceOf(SortMemoryException.class);
      }
      assertNoFiles();
    }
    failing.left = Integer.MAX_VALUE;
    assertThat(refused).isGreaterThan(30);
    close(batches);
  }

  @Test
  void theDiskIsFullAtEveryWrite() throws IOException {
    List<VectorSchemaRoot> batches = batches(12);
    Spill spill = new Spill(scratch, 2);
    sort(batches, spill);
    int writes = faults.writes;
    assertThat(writes).isGreaterThan(10);
    int failures = 0;
    for (int n = 0; n < writes; n += 1 + random.nextInt(1 + writes / 12)) {
      faults.writesLeft = n;
      Throwable failure = catchThrowable(() -> sort(batches, spill));
      if (failure != null) { // short writes may be fewer this time
        failures++;
        assertThat(failure)
            .isInstanceOfSatisfying(SpillException.class, e -> assertThat(e.isDiskFull()).isTrue())
            .hasMessageContaining("Cannot write rows that are being sorted to " + scratch)
            .hasMessageContaining("No space left on device")
            .hasMessageContaining("scratch files are removed")
            .hasMessageContaining("Free space");
      }
      assertNoFiles();
    }
    assertThat(failures).isGreaterThan(5);
    faults.writesLeft = Integer.MAX_VALUE;
    sort(batches, spill);
    close(batches);
  }

  @ParameterizedTest
  @ValueSource(strings = {"fail", "end", "flip"})
  void everyReadFailsInTurn(String fault) throws IOException {
    List<VectorSchemaRoot> batches = batches(12);
    Spill spill = new Spill(scratch, 3);
    sort(batches, spill);
    int reads = faults.reads;
    assertThat(reads).isGreaterThan(10);
    faults.readFault = fault;
    int failures = 0;
    for (int n = 0; n < reads; n += 1 + random.nextInt(1 + reads / 12)) {
      faults.readsLeft = n;
      Throwable failure = catchThrowable(() -> sort(batches, spill));
      if (failure != null || n < reads / 2) {
        failures++;
        assertThat(failure)
            .as("read %s, rerun with -Dfirn.test.seed=%s", n, seed)
            .isInstanceOfSatisfying(SpillException.class, e -> assertThat(e.isDiskFull()).isFalse())
            .hasMessageContaining("Cannot read back rows that are being sorted from " + scratch)
            .hasMessageContaining(
                fault.equals("fail")
                    ? "Input/output error"
                    : fault.equals("end") ? "it ends at byte" : "the block at byte")
            .hasMessageContaining("scratch files are removed");
      }
      assertNoFiles();
    }
    assertThat(failures).isGreaterThan(5);
    close(batches);
  }

  @Test
  void aFileThatCannotBeOpenedIsRemoved() throws IOException {
    List<VectorSchemaRoot> batches = batches(6);
    for (int n = 0; n < 3; n++) {
      faults.opensLeft = n;
      assertThatThrownBy(() -> sort(batches, Spill.to(scratch)))
          .isInstanceOf(SpillException.class)
          .hasMessageContaining("Too many open files");
      assertNoFiles();
    }
    close(batches);
  }

  @Test
  void aMissingScratchDirectoryIsNamed() throws IOException {
    List<VectorSchemaRoot> batches = batches(6);
    Path missing = scratch.resolve("none");
    assertThatThrownBy(() -> sort(batches, Spill.to(missing)))
        .isInstanceOfSatisfying(SpillException.class, e -> assertThat(e.isDiskFull()).isFalse())
        .hasMessageContaining(missing.toString())
        .hasMessageContaining("Name a scratch directory that exists");
    close(batches);
  }

  @Test
  void aFailingSinkAndCallsAfterAFailure() throws IOException {
    List<VectorSchemaRoot> batches = batches(6);
    long[] live = new long[BATCH_ROWS / 64];
    Arrays.fill(live, -1L);
    long memory = RowSorter.spillingBytesMin(SCHEMA, 0);
    RowSorter sorter =
        RowSorter.spilling(
            SCHEMA, KEYS, allocator, memory, Spill.to(scratch), faults::open, 1 << 16);
    for (VectorSchemaRoot batch : batches) {
      sorter.add(batch, live, BATCH_ROWS);
    }
    assertThat(sorter.stats().runs()).isPositive();
    assertThatThrownBy(
            () ->
                sorter.drain(
                    100,
                    batch -> {
                      throw new IOException("sink");
                    }))
        .hasMessage("sink");
    assertThatThrownBy(() -> sorter.drain(100, batch -> {}))
        .isInstanceOf(IllegalStateException.class)
        .hasMessage("The sorter has failed");
    assertThatThrownBy(() -> sorter.add(batches.get(0), live, BATCH_ROWS))
        .isInstanceOf(IllegalStateException.class);
    sorter.close();
    sorter.close();
    // Closed before it is drained.
    RowSorter undrained =
        RowSorter.spilling(
            SCHEMA, KEYS, allocator, memory, Spill.to(scratch), faults::open, 1 << 16);
    for (VectorSchemaRoot batch : batches) {
      undrained.add(batch, live, BATCH_ROWS);
    }
    undrained.close();
    close(batches);
  }

  @Test
  void anInterruptedThreadFailsAndLeavesNothing() throws IOException {
    List<VectorSchemaRoot> batches = batches(6);
    Thread.currentThread().interrupt();
    Throwable failure = catchThrowable(() -> sort(batches, Spill.to(scratch)));
    assertThat(Thread.interrupted()).isTrue();
    assertThat(failure).isInstanceOf(SpillException.class);
    close(batches);
  }

  @Test
  void filesThatCannotBeDeletedWhileOpenAreDeletedWhenClosed() throws IOException {
    List<Path> blocking = new ArrayList<>();
    SortedRun.Opener opener =
        file -> {
          // Stands for such a file: a directory that is not empty.
          Files.delete(file);
          Files.createDirectory(file);
          blocking.add(Files.createFile(file.resolve("inside")));
          return FileChannel.open(
              blocking.get(blocking.size() - 1), StandardOpenOption.READ, StandardOpenOption.WRITE);
        };
    List<VectorSchemaRoot> batches = batches(4);
    long[] live = new long[BATCH_ROWS / 64];
    Arrays.fill(live, -1L);
    try (RowSorter sorter =
        RowSorter.spilling(
            SCHEMA,
            KEYS,
            allocator,
            RowSorter.spillingBytesMin(SCHEMA, 0),
            Spill.to(scratch),
            opener,
            1 << 16)) {
      for (VectorSchemaRoot batch : batches) {
        sorter.add(batch, live, BATCH_ROWS);
      }
      assertThat(blocking).isNotEmpty().allMatch(Files::exists);
      for (Path file : blocking) {
        Files.delete(file);
      }
    }
    close(batches);
  }

  @Test
  void moreChunksThanCanBeNumberedAreSpilled() throws IOException {
    List<VectorSchemaRoot> batches = batches(30);
    long[] live = new long[BATCH_ROWS / 64];
    Arrays.fill(live, -1L);
    long[] rows = new long[1];
    try (RowSorter sorter =
        RowSorter.spilling(SCHEMA, KEYS, allocator, 1 << 28, Spill.to(scratch), faults::open, 8)) {
      for (VectorSchemaRoot batch : batches) {
        sorter.add(batch, live, BATCH_ROWS);
      }
      sorter.drain(300, batch -> rows[0] += batch.getRowCount());
      assertThat(sorter.stats().runs()).isBetween(4L, 5L);
    }
    assertThat(rows[0]).isEqualTo(30L * BATCH_ROWS);
    close(batches);
  }

  // ---- spilling on another thread

  /** Holds spills up until it is told to go on. */
  private static final class Gate implements SortedRun.Opener {
    final CountDownLatch reached = new CountDownLatch(1);
    final CountDownLatch open = new CountDownLatch(1);
    private final SortedRun.Opener behind;

    Gate(SortedRun.Opener behind) {
      this.behind = behind;
    }

    @Override
    public FileChannel open(Path file) throws IOException {
      reached.countDown();
      try {
        open.await();
      } catch (InterruptedException e) {
        throw new IOException(e);
      }
      return behind.open(file);
    }
  }

  /** A sorter whose buffer is full after so many batches, in an eighth of its memory. */
  private RowSorter aheadOf(int batches, SortedRun.Opener opener, Executor spillers) {
    return RowSorter.spilling(
        SCHEMA, KEYS, allocator, 1 << 28, Spill.to(scratch), opener, batches + 2, spillers);
  }

  private static long[] allLive() {
    long[] live = new long[BATCH_ROWS / 64];
    Arrays.fill(live, -1L);
    return live;
  }

  @Test
  void rowsAreAddedWhileOthersAreSpilledAndNoneIsClosedTooSoon() throws Exception {
    ExecutorService spillers = Executors.newSingleThreadExecutor();
    List<VectorSchemaRoot> batches = batches(9);
    Gate gate = new Gate(faults::open);
    long[] rows = new long[1];
    try (RowSorter sorter = aheadOf(4, gate, spillers)) {
      for (VectorSchemaRoot batch : batches.subList(0, 7)) {
        sorter.add(batch, allLive(), BATCH_ROWS);
      }
      gate.reached.await();
      assertThat(sorter.stats().runs()).isZero(); // and yet all those rows were taken
      gate.open.countDown();
      sorter.add(batches.get(7), allLive(), BATCH_ROWS);
      sorter.add(batches.get(8), allLive(), BATCH_ROWS);
      sorter.drain(300, batch -> rows[0] += batch.getRowCount());
      assertThat(sorter.stats().runs()).isPositive();
      assertThat(rows[0]).isEqualTo(9L * BATCH_ROWS);
    } finally {
      spillers.shutdown();
    }
    close(batches);
  }

  @Test
  void whatFailsOnTheOtherThreadFailsTheSort() throws IOException {
    ExecutorService spillers = Executors.newSingleThreadExecutor();
    List<VectorSchemaRoot> batches = batches(20);
    for (int writes = 0; writes < 3; writes++) {
      faults.writesLeft = writes;
      try (RowSorter sorter = aheadOf(4, faults::open, spillers)) {
        assertThatThrownBy(
                () -> {
                  for (VectorSchemaRoot batch : batches) {
                    sorter.add(batch, allLive(), BATCH_ROWS);
                  }
                  sorter.drain(300, batch -> {});
                })
            .isInstanceOf(SpillException.class)
            .hasMessageContaining("No space left on device");
        assertThatThrownBy(() -> sorter.add(batches.get(0), allLive(), BATCH_ROWS))
            .isInstanceOf(IllegalStateException.class);
      }
      assertNoFiles();
    }
    spillers.shutdown();
    close(batches);
  }

  @Test
  void closingWaitsForTheSpillThatIsUnderWay() throws Exception {
    ExecutorService spillers = Executors.newSingleThreadExecutor();
    List<VectorSchemaRoot> batches = batches(6);
    Gate gate = new Gate(faults::open);
    RowSorter sorter = aheadOf(4, gate, spillers);
    for (VectorSchemaRoot batch : batches) {
      sorter.add(batch, allLive(), BATCH_ROWS);
    }
    gate.reached.await();
    Thread closing = new Thread(sorter::close);
    closing.start();
    closing.join(50);
    assertThat(closing.isAlive()).isTrue();
    gate.open.countDown();
    closing.join();
    spillers.shutdown();
    close(batches);
  }

  @Test
  void anInterruptedThreadDoesNotWaitForASpill() throws Exception {
    ExecutorService spillers = Executors.newSingleThreadExecutor();
    List<VectorSchemaRoot> batches = batches(6);
    Gate gate = new Gate(faults::open);
    try (RowSorter sorter = aheadOf(4, gate, spillers)) {
      for (VectorSchemaRoot batch : batches) {
        sorter.add(batch, allLive(), BATCH_ROWS);
      }
      gate.reached.await();
      Thread.currentThread().interrupt();
      Throwable failure = catchThrowable(() -> sorter.drain(300, batch -> {}));
      assertThat(Thread.interrupted()).isTrue();
      assertThat(failure).isInstanceOf(InterruptedIOException.class);
      gate.open.countDown();
    } finally {
      spillers.shutdown();
    }
    close(batches);
  }
}
