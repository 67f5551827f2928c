package dev.firn.io;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import dev.firn.io.RangeReader.Range;
import java.nio.ByteBuffer;
import java.util.List;
import java.util.SplittableRandom;
import java.util.concurrent.ThreadLocalRandom;
import org.junit.jupiter.api.RepeatedTest;
import org.junit.jupiter.api.Test;

class RangeRequestTest {

  @Test
  void rangesAreNotNegativeAndEndBelowTheLargestLong() {
    for (long[] wrong :
        new long[][] {
          {-1, 0, 0}, {0, -1, 0}, {0, 0, -1}, {Long.MAX_VALUE, 1, 0}, {0, 1, Long.MAX_VALUE}
        }) {
      assertThatThrownBy(() -> new Range(wrong[0], wrong[1], wrong[2]))
          .isInstanceOf(IllegalArgumentException.class)
          .hasMessageContaining("offset=" + wrong[0]);
    }
    assertThat(new Range(0, Long.MAX_VALUE, 0).length()).isEqualTo(Long.MAX_VALUE);
  }

  @Test
  void aLongRangeIsCutIntoEqualParts() {
    assertThat(RangeRequest.of(List.of(new Range(100, 21, 7)), 10, 0))
        .containsExactly(
            new RangeRequest(100, 107, List.of(new Range(100, 7, 7))),
            new RangeRequest(107, 114, List.of(new Range(107, 7, 14))),
            new RangeRequest(114, 121, List.of(new Range(114, 7, 21))));
  }

  @Test
  void neighboursShareARequestUpToItsSize() {
    List<Range> ranges =
        List.of(new Range(30, 5, 0), new Range(0, 5, 5), new Range(8, 5, 10), new Range(13, 9, 15));
    assertThat(RangeRequest.of(ranges, 20, 3))
        .containsExactly(
            new RangeRequest(0, 13, List.of(new Range(0, 5, 5), new Range(8, 5, 10))),
            new RangeRequest(13, 22, List.of(new Range(13, 9, 15))),
            new RangeRequest(30, 35, List.of(new Range(30, 5, 0))));
  }

  @Test
  void emptyRangesNeedNoRequest() {
    assertThat(RangeRequest.of(List.of(new Range(5, 0, 3)), 10, 10)).isEmpty();
    assertThat(RangeRequest.of(List.of(), 10, 10)).isEmpty();
  }

  @RepeatedTest(200)
  void requestsDeliverExactlyTheRanges() throws Exception {
    long seed = Long.getLong("firn.test.seed", ThreadLocalRandom.current().nextLong());
    SplittableRandom random = new SplittableRandom(seed);
    byte[] file = Bytes.random(seed, random.nextInt(1, 20_000));
    List<Range> ranges = Bytes.ranges(random, file.length);
    long bytesMax = random.nextInt(1, 6_000);
    long gapBytesMax = random.nextInt(500);
    byte[] expected = Bytes.expected(file, ranges);
    byte[] target = new byte[expected.length];

    List<RangeRequest> requests = RangeRequest.of(ranges, bytesMax, gapBytesMax);
    Transfer transfer =
        new Transfer("x", requests, 0, (part, at) -> part.get(target, (int) at, part.remaining()));
    for (RangeRequest request : requests) {
      assertThat(request.length()).isBetween(1L, bytesMax);
      for (long position = request.start(); position < request.end(); ) {
        int count = random.nextInt((int) Math.min(700, request.end() - position)) + 1;
        ByteBuffer chunk = ByteBuffer.wrap(file, (int) position, count).slice();
        request.deliver(position, chunk, transfer);
        assertThat(chunk.hasRemaining()).isFalse();
        position += count;
      }
    }
    assertThat(target).as("rerun with -Dfirn.test.seed=" + seed).isEqualTo(expected);
  }
}
