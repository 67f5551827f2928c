package dev.firn.sort;

import java.util.ArrayList;
import java.util.List;
import java.util.concurrent.CountDownLatch;
import java.util.concurrent.Executor;
import java.util.concurrent.RejectedExecutionException;
import java.util.concurrent.atomic.AtomicInteger;
import java.util.concurrent.atomic.AtomicReference;
import org.apache.arrow.memory.BufferAllocator;
import org.apache.arrow.vector.FieldVector;
import org.jspecify.annotations.Nullable;

/**
 * Columns that are gathered by the thread that wants them and, if it comes in time, by another. The
 * thread that wants them never waits for one that has not begun.
 */
final class SharedGather implements Runnable {
  private final ColumnGather[] columns;
  private final int[] order;
  private final Selection rows;
  private final BufferAllocator allocator;
  private final @Nullable FieldVector[] vectors;
  private final AtomicInteger next = new AtomicInteger();
  private final CountDownLatch open;
  private final AtomicReference<@Nullable Throwable> failure = new AtomicReference<>();

  private SharedGather(
      ColumnGather[] columns, int[] order, Selection rows, BufferAllocator allocator) {
    this.columns = columns;
    this.order = order;
    this.rows = rows;
    this.allocator = allocator;
    this.vectors = new FieldVector[columns.length];
    this.open = new CountDownLatch(columns.length);
  }

  /**
   * Gathers the rows of all columns; closes what it has made when a column fails. No column is in
   * work when it returns.
   *
   * @param order the places of all columns; the costly ones first, as the last is waited for
   * @param other runs a task now, later or not at all
   */
  static List<FieldVector> gather(
      ColumnGather[] columns,
      int[] order,
      Selection rows,
      BufferAllocator allocator,
      Executor other) {
    SharedGather shared = new SharedGather(columns, order, rows, allocator);
    try {
      other.execute(shared);
    } catch (RejectedExecutionException noThread) {
      // This one does it all.
    }
    shared.run();
    shared.await();
    List<FieldVector> gathered = new ArrayList<>(columns.length);
    for (FieldVector vector : shared.vectors) {
      if (vector != null) {
        gathered.add(vector);
      }
    }
    Throwable failed = shared.failure.get();
    if (failed != null) {
      gathered.forEach(FieldVector::close);
      if (failed instanceof Error error) {
        throw error;
      }
      throw (RuntimeException) failed; // gathering throws nothing that is checked
    }
    return gathered;
  }

  /* A thread that comes late finds no column left and touches nothing. */
  @Override
  public void run() {
    for (int i = next.getAndIncrement(); i < columns.length; i = next.getAndIncrement()) {
      try {
        if (failure.get() == null) {
          vectors[order[i]] = columns[order[i]].gather(rows, allocator);
        }
      } catch (Throwable thrown) {
        failure.compareAndSet(null, thrown);
      } finally {
        open.countDown();
      }
    }
  }

  /* Not to be interrupted: a column in work reads rows that the caller frees. */
  private void await() {
    boolean interrupted = false;
    while (true) {
      try {
        open.await();
        break;
      } catch (InterruptedException e) {
        interrupted = true;
      }
    }
    if (interrupted) {
      Thread.currentThread().interrupt();
    }
  }
}
