package dev.firn.sort;

import static org.assertj.core.api.Assertions.assertThat;

import java.util.Arrays;
import java.util.Random;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;

class HilbertCurveTest {
  private final long seed = Long.getLong("firn.test.seed", new Random().nextLong());
  private final Random random = new Random(seed);

  /** The coordinates of all cells of a grid, for each dimension. */
  private static long[][] grid(int dimensions, int bits) {
    long[][] axes = new long[dimensions][1 << (dimensions * bits)];
    for (int cell = 0; cell < axes[0].length; cell++) {
      for (int d = 0; d < dimensions; d++) {
        axes[d][cell] = cell >>> (d * bits) & ((1 << bits) - 1);
      }
    }
    return axes;
  }

  private static long[] interleaved(long[][] axes, int bits) {
    long[] curve = new long[axes[0].length];
    RankCurvePart.interleave(axes, bits, curve.length, curve);
    return curve;
  }

  @ParameterizedTest
  @CsvSource({"2,1", "2,8", "3,1", "3,5", "4,4", "5,3", "6,2", "7,2", "8,2", "9,1", "12,1", "16,1"})
  void cellsThatFollowOneAnotherAreNeighboursAndEachIsVisitedOnce(int dimensions, int bits) {
    long[][] axes = grid(dimensions, bits);
    long[][] transposed = new long[dimensions][];
    Arrays.setAll(transposed, d -> axes[d].clone());
    HilbertCurve.transpose(transposed, bits, axes[0].length);
    long[] curve = interleaved(transposed, bits);
    int[] cells = new int[curve.length];
    Arrays.fill(cells, -1);
    for (int cell = 0; cell < curve.length; cell++) {
      if (cells[(int) curve[cell]] != -1) {
        assertThat(cells[(int) curve[cell]]).as("cell at %s", curve[cell]).isEqualTo(-1);
      }
      cells[(int) curve[cell]] = cell;
    }
    for (int place = 1; place < cells.length; place++) {
      int steps = 0;
      for (long[] axis : axes) {
        steps += (int) Math.abs(axis[cells[place]] - axis[cells[place - 1]]);
      }
      if (steps != 1) {
        assertThat(steps).as("from place %s", place - 1).isEqualTo(1);
      }
    }
  }

  @Test
  void interleavedNumbersTakeABitOfEachInTurn() {
    for (int columns = 2; columns <= ColumnRanks.COLUMNS_MAX; columns++) {
      int bits = ColumnRanks.bits(columns);
      long[][] numbers = new long[columns][50];
      for (long[] column : numbers) {
        Arrays.setAll(column, i -> random.nextLong() & (1L << bits) - 1);
      }
      long[] curve = interleaved(numbers, bits);
      for (int i = 0; i < 50; i++) {
        long expected = 0;
        for (int bit = bits - 1; bit >= 0; bit--) {
          for (long[] column : numbers) {
            expected = expected << 1 | (column[i] >>> bit & 1);
          }
        }
        assertThat(curve[i])
            .as("rerun with -Dfirn.test.seed=%s: %s columns", seed, columns)
            .isEqualTo(expected);
      }
    }
  }
}
