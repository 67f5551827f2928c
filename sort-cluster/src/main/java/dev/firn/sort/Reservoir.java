package dev.firn.sort;

import java.util.Arrays;
import java.util.SplittableRandom;

/**
 * Chooses a uniform sample of rows that come one after another, of a size that can be lowered on
 * the way. Rows are held in numbered slots, whose contents are the caller's. The same rows and seed
 * give the same sample. Not thread-safe.
 */
final class Reservoir {
  /* Each row draws a priority and the smallest are held. As long as the greatest one held is p, a
  row is taken with probability p: so it is drawn how many rows to skip, not each row's. */
  private final SplittableRandom random;
  private int capacity;
  private int size;
  private int[] heap = {}; // slots, the one of the greatest priority first
  private double[] priorities = {}; // by slot
  private long skip;

  Reservoir(int capacity, long seed) {
    this.capacity = capacity;
    this.random = new SplittableRandom(seed);
  }

  /** How many slots are held. */
  int size() {
    return size;
  }

  /** The slots held, in no order. */
  int[] slots() {
    return Arrays.copyOf(heap, size);
  }

  /**
   * Chooses among the next rows.
   *
   * @param rows how many there are
   * @param ordinals takes the numbers of the chosen rows, 0 for the first, ascending; room for all
   * @param slots takes the slot of each; a slot that comes twice holds the later row
   * @return how many are chosen
   */
  int offer(int rows, int[] ordinals, int[] slots) {
    int chosen = 0;
    int at = 0;
    while (at < rows) {
      int slot;
      if (size < capacity) {
        slot = size;
        insert(slot, random.nextDouble());
      } else {
        if (skip >= rows - at) {
          skip -= rows - at;
          break;
        }
        at += (int) skip;
        slot = heap[0];
        priorities[slot] *= random.nextDouble();
        siftDown();
      }
      ordinals[chosen] = at++;
      slots[chosen++] = slot;
      if (size == capacity) {
        drawSkip();
      }
    }
    return chosen;
  }

  /** Lowers the size to half of what is held, but not below 1, and gives the slots released. */
  int[] halve() {
    int kept = Math.max(1, size / 2);
    int[] released = new int[Math.max(0, size - kept)];
    for (int i = 0; i < released.length; i++) {
      released[i] = heap[0];
      heap[0] = heap[--size];
      siftDown();
    }
    capacity = kept;
    drawSkip();
    return released;
  }

  private void drawSkip() {
    double taken = priorities[heap[0]];
    double rows = Math.log1p(-random.nextDouble()) / Math.log1p(-taken);
    skip = (long) Math.min(rows, 1L << 62);
  }

  private void insert(int slot, double priority) {
    if (slot == heap.length) {
      int room = Math.min(capacity, Math.max(64, 2 * slot));
      heap = Arrays.copyOf(heap, room);
      priorities = Arrays.copyOf(priorities, room);
    }
    priorities[slot] = priority;
    int at = size++;
    while (at > 0 && priorities[heap[(at - 1) >>> 1]] < priority) {
      heap[at] = heap[(at - 1) >>> 1];
      at = (at - 1) >>> 1;
    }
    heap[at] = slot;
  }

  private void siftDown() {
    int slot = heap[0];
    double priority = priorities[slot];
    int at = 0;
    while (true) {
      int child = 2 * at + 1;
      if (child >= size) {
        break;
      }
      if (child + 1 < size && priorities[heap[child + 1]] > priorities[heap[child]]) {
        child++;
      }
      if (priorities[heap[child]] <= priority) {
        break;
      }
      heap[at] = heap[child];
      at = child;
    }
    heap[at] = slot;
  }
}
