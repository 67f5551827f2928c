package dev.firn.deletes;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import java.util.Arrays;
import java.util.SplittableRandom;
import java.util.TreeSet;
import java.util.concurrent.ThreadLocalRandom;
import org.junit.jupiter.api.Test;

class DeletedPositionsTest {

  private static DeletedPositions of(Iterable<Long> positions) {
    DeletedPositions.Builder builder = new DeletedPositions.Builder();
    for (long position : positions) {
      builder.addAll((int) (position >>> 32), new int[] {(int) position}, 1);
    }
    return builder.build();
  }

  private static long[] allLive(int rows) {
    long[] live = new long[(rows + 63) / 64];
    Arrays.fill(live, -1);
    if ((rows & 63) != 0) {
      live[live.length - 1] = (1L << rows) - 1;
    }
    return live;
  }

  @Test
  void clearsOnlyRowsOfTheRangeAndCountsBitsThatWereSet() {
    DeletedPositions deleted = of(java.util.List.of(9L, 10L, 12L, 75L, 76L, 77L));
    long[] live = allLive(67);
    live[0] &= ~(1L << 2);
    assertThat(deleted.clearDeleted(10, 67, live)).isEqualTo(3);
    assertThat(live[0]).isEqualTo(-1L & ~1L & ~(1L << 2));
    assertThat(live[1]).isEqualTo(0b001L);
    assertThat(deleted.clearDeleted(10, 67, live)).isZero();
  }

  @Test
  void aRangeMayCrossTheUpperHalf() {
    long border = 1L << 32;
    DeletedPositions deleted = of(java.util.List.of(border - 2, border - 1, border, border + 3));
    long[] live = allLive(8);
    assertThat(deleted.clearDeleted(border - 4, 8, live)).isEqualTo(4);
    assertThat(live[0]).isEqualTo(0b0110_0011L);
    assertThat(deleted.anyIn(border + 1, 2)).isFalse();
    assertThat(deleted.anyIn(border + 1, 3)).isTrue();
    assertThat(deleted.anyIn(0, Long.MAX_VALUE)).isTrue();
  }

  @Test
  void emptyRangesAndNothingDeleted() {
    assertThat(DeletedPositions.NONE.count()).isZero();
    assertThat(DeletedPositions.NONE.anyIn(0, Long.MAX_VALUE)).isFalse();
    assertThat(DeletedPositions.NONE.clearDeleted(0, 64, new long[] {-1})).isZero();
    assertThat(new DeletedPositions.Builder().build()).isSameAs(DeletedPositions.NONE);
    DeletedPositions deleted = of(java.util.List.of(5L));
    assertThat(deleted.anyIn(5, 0)).isFalse();
    assertThat(deleted.clearDeleted(5, 0, new long[0])).isZero();
  }

  @Test
  void badRangesAreRefused() {
    DeletedPositions deleted = of(java.util.List.of(5L));
    assertThatThrownBy(() -> deleted.clearDeleted(-1, 1, new long[1]))
        .isInstanceOf(IllegalArgumentException.class);
    assertThatThrownBy(() -> deleted.clearDeleted(0, 65, new long[1]))
        .isInstanceOf(IllegalArgumentException.class)
        .hasMessageContaining("1 words for 65 rows");
    assertThatThrownBy(() -> deleted.anyIn(2, Long.MAX_VALUE))
        .isInstanceOf(IllegalArgumentException.class);
  }

  @Test
  void randomPositionsAgreeWithASet() {
    long seed = Long.getLong("firn.test.seed", ThreadLocalRandom.current().nextLong());
    SplittableRandom random = new SplittableRandom(seed);
    for (int round = 0; round < 400; round++) {
      String rerun = "rerun with -Dfirn.test.seed=" + seed;
      long base = base(random);
      int span = random.nextInt(1, 200_000);
      TreeSet<Long> expected = new TreeSet<>();
      DeletedPositions.Builder builder = new DeletedPositions.Builder();
      DeletedPositions.Builder first = new DeletedPositions.Builder();
      int runs = random.nextInt(1, 60);
      for (int i = 0; i < runs; i++) {
        long at = base + random.nextInt(span);
        int length = random.nextInt(4) == 0 ? random.nextInt(3000) : 1;
        for (long position = at; position < at + length; position++) {
          expected.add(position);
          (i % 2 == 0 ? builder : first)
              .addAll((int) (position >>> 32), new int[] {(int) position}, 1);
        }
      }
      builder.addAll(first.build());
      DeletedPositions deleted = builder.build();
      assertThat(deleted.count()).as(rerun).isEqualTo(expected.size());
      for (int check = 0; check < 20; check++) {
        long from = Math.max(0, base - 100 + random.nextInt(span + 200));
        int rows = random.nextInt(1, 9000);
        long[] live = new long[(rows + 63) / 64];
        long[] expectedLive = new long[live.length];
        int set = 0;
        for (int row = 0; row < rows; row++) {
          if (random.nextInt(3) != 0) {
            live[row >> 6] |= 1L << row;
            if (expected.contains(from + row)) {
              set++;
            } else {
              expectedLive[row >> 6] |= 1L << row;
            }
          }
        }
        assertThat(deleted.clearDeleted(from, rows, live)).as(rerun).isEqualTo(set);
        assertThat(live).as(rerun).isEqualTo(expectedLive);
        assertThat(deleted.anyIn(from, rows))
            .as(rerun)
            .isEqualTo(!expected.subSet(from, from + rows).isEmpty());
      }
    }
  }

  private static long base(SplittableRandom random) {
    return switch (random.nextInt(5)) {
      case 0 -> 0;
      case 1 -> (1L << 31) - 5000;
      case 2 -> (1L << 32) - 5000;
      case 3 -> (1L << 45) - 5000;
      default -> random.nextLong(1L << 33);
    };
  }
}
