package dev.firn.engine;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;
import static org.assertj.core.api.Assertions.catchThrowable;

import java.io.IOException;
import java.io.InterruptedIOException;
import java.util.ArrayList;
import java.util.List;
import java.util.concurrent.CountDownLatch;
import java.util.concurrent.ExecutorService;
import java.util.concurrent.Executors;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.atomic.AtomicInteger;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.Test;

class PipeTest {
  private final ExecutorService executor = Executors.newSingleThreadExecutor();
  private final AtomicInteger open = new AtomicInteger();
  private final AtomicInteger mostOpen = new AtomicInteger();

  /** Counts itself while it is open. */
  private final class Item implements AutoCloseable {
    final int number;
    private boolean closed;

    Item(int number) {
      this.number = number;
      int now = open.incrementAndGet();
      mostOpen.accumulateAndGet(now, Math::max);
    }

    @Override
    public void close() {
      assertThat(closed).isFalse();
      closed = true;
      open.decrementAndGet();
    }
  }

  @AfterEach
  void nothingIsLeft() throws InterruptedException {
    assertThat(open).hasValue(0);
    executor.shutdown();
    assertThat(executor.awaitTermination(10, TimeUnit.SECONDS)).isTrue();
  }

  private void put(Pipe.Taker<Item> to, int items) throws IOException {
    for (int i = 0; i < items; i++) {
      to.accept(new Item(i));
    }
  }

  private void run(long roomMax, Pipe.Maker<Item> maker, Pipe.Taker<Item> taker)
      throws IOException {
    Pipe.run(executor, roomMax, item -> 10, maker, taker);
  }

  @Test
  void itemsComeInOrderAndAreClosed() throws IOException {
    List<Integer> numbers = new ArrayList<>();
    run(1000, to -> put(to, 500), item -> numbers.add(item.number));
    Pipe.<Item>run(to -> put(to, 500), item -> numbers.add(item.number));
    List<Integer> expected = new ArrayList<>();
    for (int i = 0; i < 1000; i++) {
      expected.add(i % 500);
    }
    assertThat(numbers).isEqualTo(expected);
  }

  @Test
  void noMoreIsMadeThanThereIsRoomFor() throws IOException {
    run(30, to -> put(to, 500), item -> {});
    assertThat(mostOpen.get()).isLessThanOrEqualTo(4); // three, and the one being made
    mostOpen.set(0);
    run(1, to -> put(to, 50), item -> {});
    assertThat(mostOpen.get()).isLessThanOrEqualTo(2);
  }

  @Test
  void theMakerWorksWhileTheTakerDoes() throws IOException {
    CountDownLatch second = new CountDownLatch(1);
    run(
        100,
        to -> {
          to.accept(new Item(0));
          to.accept(new Item(1));
          second.countDown();
        },
        item -> {
          try {
            assertThat(second.await(10, TimeUnit.SECONDS)).isTrue();
          } catch (InterruptedException e) {
            throw new IOException(e);
          }
        });
  }

  @Test
  void theMakersFailureComesAfterWhatItMade() {
    List<Integer> numbers = new ArrayList<>();
    IOException failure = new IOException("made badly");
    assertThatThrownBy(
            () ->
                run(
                    1000,
                    to -> {
                      put(to, 5);
                      throw failure;
                    },
                    item -> numbers.add(item.number)))
        .isSameAs(failure);
    assertThat(numbers).containsExactly(0, 1, 2, 3, 4);
    assertThatThrownBy(
            () ->
                run(
                    1000,
                    to -> {
                      throw new OutOfMemoryError("made too much");
                    },
                    item -> {}))
        .isInstanceOf(OutOfMemoryError.class);
  }

  @Test
  void aTakerThatFailsStopsTheMaker() {
    for (int run = 0; run < 5; run++) {
      IOException failure = new IOException("taken badly");
      AtomicInteger made = new AtomicInteger();
      assertThatThrownBy(
              () ->
                  run(
                      1000,
                      to -> {
                        for (int i = 0; ; i++) {
                          to.accept(new Item(i));
                          made.incrementAndGet();
                        }
                      },
                      item -> {
                        throw failure;
                      }))
          .isSameAs(failure);
      assertThat(made.get()).isLessThan(20);
      assertThat(open).hasValue(0);
    }
  }

  @Test
  void anInterruptedTakerStopsTheMakerToo() {
    Thread.currentThread().interrupt();
    Throwable failure = catchThrowable(() -> run(1000, to -> put(to, 100_000), item -> {}));
    assertThat(Thread.interrupted()).isTrue();
    assertThat(failure).isInstanceOf(InterruptedIOException.class);
  }
}
