package dev.firn.io;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import dev.firn.io.FaultProxy.Answer;
import dev.firn.io.RangeReader.Range;
import java.io.IOException;
import java.io.InterruptedIOException;
import java.nio.channels.FileChannel;
import java.nio.file.Files;
import java.nio.file.Path;
import java.nio.file.StandardOpenOption;
import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import java.util.SplittableRandom;
import java.util.concurrent.CountDownLatch;
import java.util.concurrent.ExecutorService;
import java.util.concurrent.Executors;
import java.util.concurrent.Future;
import java.util.concurrent.ThreadLocalRandom;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.atomic.AtomicReference;
import java.util.stream.IntStream;
import org.apache.iceberg.aws.s3.S3FileIO;
import org.junit.jupiter.api.AfterAll;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.BeforeAll;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;
import org.junit.jupiter.api.io.TempDir;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;
import org.junit.jupiter.params.provider.ValueSource;

/** Reads from a real S3 server behind a proxy that spoils answers. */
@Timeout(60)
class S3FaultsTest {
  private static final int MIB = 1 << 20;
  private static final String LOCATION = "s3://lake/object";
  private static final byte[] OBJECT = Bytes.random(11, 40 * MIB);
  @TempDir static Path directory;
  @TempDir Path targets;
  private static S3Server server;

  private FaultProxy proxy;
  private S3FileIO io;

  @BeforeAll
  static void start() throws Exception {
    server = new S3Server(directory, "lake");
    server.put("lake", "object", OBJECT);
  }

  @AfterAll
  static void stop() throws Exception {
    server.close();
  }

  @BeforeEach
  void connect() throws Exception {
    proxy = new FaultProxy(server.port());
    io = fileIo(Map.of());
  }

  private S3FileIO fileIo(Map<String, String> more) {
    Map<String, String> properties = S3Server.properties(proxy.port());
    properties.putAll(more);
    S3FileIO made = new S3FileIO();
    made.initialize(properties);
    return made;
  }

  @AfterEach
  void disconnect() throws Exception {
    io.close();
    proxy.close();
  }

  private RangeReader reader(int requestsMax) {
    return new ParallelRangeReader(io, requestsMax, new Backoff(1, 2, 5));
  }

  @Test
  void requestsAreParallelAndBounded() throws Exception {
    CountDownLatch three = new CountDownLatch(3);
    proxy.with(
        request -> {
          three.countDown();
          three.await(20, TimeUnit.SECONDS);
          Thread.sleep(20);
          return Answer.pass();
        });
    ExecutorService callers = Executors.newFixedThreadPool(4);
    try (RangeReader reader = reader(3)) {
      List<Future<byte[]>> reads = new ArrayList<>();
      for (int i = 0; i < 4; i++) {
        reads.add(callers.submit(() -> reader.read(LOCATION, OBJECT.length, 1, 30 * MIB)));
      }
      for (Future<byte[]> read : reads) {
        assertThat(read.get()).isEqualTo(Bytes.slice(OBJECT, 1, 1 + 30L * MIB));
      }
    } finally {
      callers.shutdownNow();
    }
    assertThat(proxy.inFlightMost).hasValue(3);
  }

  @Test
  void aSmallReadDoesNotWaitForAllOfALargeOneBefore() throws Exception {
    CountDownLatch small = new CountDownLatch(1);
    proxy.with(
        request -> {
          if (request.range().equals("bytes=7-16")) {
            small.countDown();
          } else if (request.number() > 2) {
            // The later parts of the large read: held until the small read has been asked for.
            small.await(20, TimeUnit.SECONDS);
          }
          return Answer.pass();
        });
    ExecutorService callers = Executors.newSingleThreadExecutor();
    try (RangeReader reader = reader(2)) {
      Future<byte[]> large =
          callers.submit(() -> reader.read(LOCATION, OBJECT.length, 0, 40 * MIB));
      while (proxy.requests.size() < 2) {
        Thread.sleep(1);
      }
      assertThat(reader.read(LOCATION, OBJECT.length, 7, 10)).isEqualTo(Bytes.slice(OBJECT, 7, 17));
      assertThat(large.get()).isEqualTo(OBJECT);
    } finally {
      callers.shutdownNow();
    }
  }

  @ParameterizedTest
  @ValueSource(strings = {"apache", "urlconnection"})
  void aBodyThatIsCutIsResumedWhereItBroke(String client) throws Exception {
    io.close();
    io = fileIo(Map.of("http-client.type", client));
    proxy.with(
        request ->
            request.number() == 1
                ? Answer.cutAfter(100_000)
                : request.number() == 2 ? Answer.cutAfter(0) : Answer.pass());
    try (RangeReader reader = reader(1)) {
      assertThat(reader.read(LOCATION, OBJECT.length, 1000, MIB))
          .isEqualTo(Bytes.slice(OBJECT, 1000, 1000 + MIB));
    }
    assertThat(proxy.requests).hasSize(3);
    assertThat(proxy.requests.get(0).range()).isEqualTo("bytes=1000-1049575");
    assertThat(proxy.requests.get(1).range()).isEqualTo("bytes=101000-1049575");
    assertThat(proxy.requests.get(2).range()).isEqualTo("bytes=101000-1049575");
  }

  @Test
  void aBodyThatIsAlwaysCutFailsAndNamesTheRange() throws Exception {
    proxy.with(request -> Answer.cutAfter(10));
    try (RangeReader reader = reader(2)) {
      assertThatThrownBy(() -> reader.read(LOCATION, OBJECT.length, 1000, MIB))
          .isInstanceOf(IOException.class)
          .hasMessageContaining("bytes 1000 to 1049576 of " + LOCATION)
          .hasMessageContaining("5 attempts");
    }
    assertThat(proxy.requests).hasSize(S3Source.ATTEMPTS_MAX);
  }

  @ParameterizedTest
  @CsvSource({"503,SlowDown", "500,InternalError", "429,TooManyRequests", "400,RequestTimeout"})
  void passingErrorsAreRetried(int status, String code) throws Exception {
    proxy.with(request -> request.number() < 4 ? Answer.error(status, code) : Answer.pass());
    try (RangeReader reader = reader(2)) {
      assertThat(reader.read(LOCATION, OBJECT.length, 3, 10)).isEqualTo(Bytes.slice(OBJECT, 3, 13));
    }
    assertThat(proxy.requests).hasSize(4);
  }

  @Test
  void throttlingForeverFailsAndNamesTheRange() throws Exception {
    proxy.with(request -> Answer.error(503, "SlowDown"));
    try (RangeReader reader = reader(2)) {
      assertThatThrownBy(() -> reader.read(LOCATION, OBJECT.length, 3, 10))
          .isInstanceOf(IOException.class)
          .hasMessageContaining("bytes 3 to 13 of " + LOCATION)
          .hasMessageContaining("503")
          .hasMessageContaining("5 attempts");
    }
    assertThat(proxy.requests).hasSize(S3Source.ATTEMPTS_MAX);
  }

  @ParameterizedTest
  @CsvSource({
    "403,AccessDenied",
    "404,NoSuchKey",
    "404,NoSuchBucket",
    "416,InvalidRange",
    "400,ExpiredToken",
    "412,PreconditionFailed"
  })
  void lastingErrorsAreNotRetried(int status, String code) throws Exception {
    proxy.with(request -> Answer.error(status, code));
    try (RangeReader reader = reader(2)) {
      assertThatThrownBy(() -> reader.read(LOCATION, OBJECT.length, 3, 10))
          .isInstanceOf(IOException.class)
          .hasMessageContaining("bytes 3 to 13 of " + LOCATION);
    }
    assertThat(proxy.requests).hasSize(1);
  }

  @Test
  void aStoreThatIgnoresTheRangeIsRefused() throws Exception {
    proxy.with(request -> new Answer.Own(200, "ETag: \"x\"\r\n", OBJECT));
    try (RangeReader reader = reader(2)) {
      assertThatThrownBy(() -> reader.read(LOCATION, OBJECT.length, 3, 10))
          .isInstanceOf(IOException.class)
          .hasMessageContaining("bytes 3 to 13 of " + LOCATION)
          .hasMessageContaining("ranged GETs");
      assertThat(reader.read(LOCATION, OBJECT.length, 0, 10))
          .as("the whole object begins with it")
          .isEqualTo(Bytes.slice(OBJECT, 0, 10));
    }
  }

  @Test
  void anObjectOverwrittenMeanwhileIsRefused() throws Exception {
    proxy.with(request -> Answer.passWithTag("\"version-" + request.number() + "\""));
    try (RangeReader reader = reader(2)) {
      assertThatThrownBy(() -> reader.read(LOCATION, OBJECT.length, 0, 20 * MIB))
          .isInstanceOf(IOException.class)
          .hasMessageContaining(LOCATION)
          .hasMessageContaining("overwritten");
    }
  }

  @Test
  void customerKeysAreSent() throws Exception {
    io.close();
    io = fileIo(Map.of("s3.sse.type", "custom", "s3.sse.key", "S0VZ", "s3.sse.md5", "TUQ1"));
    try (RangeReader reader = reader(2)) {
      reader.read(LOCATION, OBJECT.length, 3, 10);
    } catch (IOException e) {
      // The server behind may refuse the key; what counts is that it was sent.
    }
    String prefix = "x-amz-server-side-encryption-customer-";
    assertThat(proxy.requests.get(0).header(prefix + "algorithm")).isEqualTo("AES256");
    assertThat(proxy.requests.get(0).header(prefix + "key")).isEqualTo("S0VZ");
    assertThat(proxy.requests.get(0).header(prefix + "key-MD5")).isEqualTo("TUQ1");
  }

  @Test
  void oneFailureEndsTheOthersAndTheTargetIsLeftAlone() throws Exception {
    CountDownLatch failed = new CountDownLatch(1);
    proxy.with(
        request -> {
          if (request.range().startsWith("bytes=0-")) {
            return Answer.error(404, "NoSuchKey");
          }
          failed.await(20, TimeUnit.SECONDS);
          return Answer.pass();
        });
    Path target = targets.resolve("target");
    try (RangeReader reader = reader(4);
        FileChannel channel = Bytes.open(target)) {
      List<Range> ranges = List.of(new Range(0, OBJECT.length, 0));
      assertThatThrownBy(() -> reader.read(LOCATION, OBJECT.length, ranges, channel))
          .hasMessageContaining("no such object");
      assertThat(channel.isOpen()).isTrue();
      failed.countDown();
      Thread.sleep(300);
      assertThat(channel.size()).as("written after the return").isZero();
      assertThat(proxy.requests).hasSizeLessThanOrEqualTo(4);
    }
  }

  @Test
  void anInterruptEndsTheReadAndLeavesTheTargetOpen() throws Exception {
    CountDownLatch held = new CountDownLatch(1);
    proxy.with(
        request -> {
          held.await(20, TimeUnit.SECONDS);
          return Answer.pass();
        });
    AtomicReference<Throwable> thrown = new AtomicReference<>();
    AtomicReference<Boolean> flag = new AtomicReference<>();
    try (RangeReader reader = reader(2);
        FileChannel channel = Bytes.open(targets.resolve("target"))) {
      Thread caller =
          new Thread(
              () -> {
                try {
                  reader.read(
                      LOCATION, OBJECT.length, List.of(new Range(0, OBJECT.length, 0)), channel);
                } catch (Throwable e) {
                  thrown.set(e);
                  flag.set(Thread.currentThread().isInterrupted());
                }
              });
      caller.start();
      while (proxy.requests.size() < 2) {
        Thread.sleep(1);
      }
      caller.interrupt();
      caller.join(5_000);
      assertThat(thrown.get())
          .isInstanceOf(InterruptedIOException.class)
          .hasMessageContaining(LOCATION);
      assertThat(flag.get()).as("interrupt flag").isTrue();
      held.countDown();
      Thread.sleep(300);
      assertThat(channel.isOpen()).isTrue();
      assertThat(channel.size()).as("written after the return").isZero();
      assertThat(reader.read(LOCATION, OBJECT.length, 5, 5)).isEqualTo(Bytes.slice(OBJECT, 5, 10));
    }
  }

  @Test
  void closingTheReaderFailsReadsInProgress() throws Exception {
    CountDownLatch held = new CountDownLatch(1);
    proxy.with(
        request -> {
          held.await(20, TimeUnit.SECONDS);
          return Answer.pass();
        });
    ExecutorService callers = Executors.newSingleThreadExecutor();
    try (RangeReader reader = reader(2)) {
      Future<byte[]> read = callers.submit(() -> reader.read(LOCATION, OBJECT.length, 0, 40 * MIB));
      while (proxy.requests.size() < 2) {
        Thread.sleep(1);
      }
      reader.close();
      assertThatThrownBy(() -> read.get(5, TimeUnit.SECONDS))
          .hasRootCauseInstanceOf(IOException.class)
          .hasMessageContaining("closed");
    } finally {
      held.countDown();
      callers.shutdownNow();
    }
  }

  @Test
  void aTargetThatCannotBeWrittenIsNotBlamedOnTheStore() throws Exception {
    Path target = Files.createFile(targets.resolve("readonly"));
    try (RangeReader reader = reader(2);
        FileChannel channel = FileChannel.open(target, StandardOpenOption.READ)) {
      assertThatThrownBy(
              () -> reader.read(LOCATION, OBJECT.length, List.of(new Range(0, 10, 0)), channel))
          .isInstanceOf(IOException.class)
          .hasMessageContaining("Cannot write");
    }
    assertThat(proxy.requests).hasSize(1);
  }

  @Test
  void randomFaultsNeverSpoilBytes() throws Exception {
    long seed = Long.getLong("firn.test.seed", ThreadLocalRandom.current().nextLong());
    SplittableRandom random = new SplittableRandom(seed);
    List<Integer> dice = IntStream.range(0, 1000).mapToObj(i -> random.nextInt(12)).toList();
    SplittableRandom cuts = random.split();
    proxy.with(
        request ->
            switch (dice.get(request.number() % dice.size())) {
              case 0 -> Answer.error(503, "SlowDown");
              case 1 -> Answer.error(500, "InternalError");
              case 2, 3 -> {
                synchronized (cuts) {
                  yield Answer.cutAfter(cuts.nextInt(MIB));
                }
              }
              default -> Answer.pass();
            });
    int read = 0;
    try (RangeReader reader = reader(4)) {
      for (int round = 0; round < 15; round++) {
        List<Range> ranges = Bytes.ranges(random, OBJECT.length);
        byte[] bytes;
        try {
          bytes = Bytes.read(reader, LOCATION, OBJECT.length, ranges, targets);
        } catch (FinalIOException e) {
          continue;
        }
        read++;
        assertThat(bytes)
            .as("rerun with -Dfirn.test.seed=" + seed)
            .isEqualTo(Bytes.expected(OBJECT, ranges));
      }
    }
    assertThat(read).as("rerun with -Dfirn.test.seed=" + seed).isGreaterThan(5);
  }
}
