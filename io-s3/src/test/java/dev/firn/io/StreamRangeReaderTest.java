package dev.firn.io;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import dev.firn.io.FaultProxy.Answer;
import dev.firn.io.RangeReader.Range;
import java.io.FileNotFoundException;
import java.io.IOException;
import java.nio.file.Path;
import java.util.List;
import java.util.SplittableRandom;
import java.util.concurrent.ThreadLocalRandom;
import org.apache.iceberg.aws.s3.S3FileIO;
import org.apache.iceberg.encryption.EncryptingFileIO;
import org.apache.iceberg.encryption.PlaintextEncryptionManager;
import org.apache.iceberg.io.FileIO;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.ValueSource;

/** Reads through the streams of a FileIO that this module does not know. */
class StreamRangeReaderTest {
  private static final byte[] FILE = Bytes.random(3, 30_000_000);
  @TempDir Path targets;

  @ParameterizedTest
  @ValueSource(booleans = {false, true})
  void randomRangesAreTheBytesOfTheFile(boolean rangeReadable) throws Exception {
    long seed = Long.getLong("firn.test.seed", ThreadLocalRandom.current().nextLong());
    SplittableRandom random = new SplittableRandom(seed);
    FakeFileIO io = new FakeFileIO(FILE, rangeReadable);
    try (RangeReader reader = RangeReader.over(io, 8)) {
      for (int round = 0; round < 20; round++) {
        List<Range> ranges = Bytes.ranges(random, FILE.length);
        assertThat(Bytes.read(reader, FakeFileIO.LOCATION, FILE.length, ranges, targets))
            .as("rerun with -Dfirn.test.seed=" + seed)
            .isEqualTo(Bytes.expected(FILE, ranges));
        assertThat(io.open).as("open streams").hasValue(0);
      }
    }
  }

  @ParameterizedTest
  @ValueSource(booleans = {false, true})
  void aLargeRangeIsReadWithAFewStreams(boolean rangeReadable) throws Exception {
    FakeFileIO io = new FakeFileIO(FILE, rangeReadable);
    try (RangeReader reader = RangeReader.over(io, 16)) {
      assertThat(reader.read(FakeFileIO.LOCATION, FILE.length, 0, FILE.length)).isEqualTo(FILE);
      assertThat(io.opens.get()).isBetween(2, StreamSource.LANES_MAX);
      assertThat(io.openMost.get()).isLessThanOrEqualTo(StreamSource.LANES_MAX);
      assertThat(reader.bytesRead()).isEqualTo(FILE.length);
      assertThat(reader.requests()).isEqualTo(8);
    }
  }

  @Test
  void aSmallReadOpensOneStream() throws Exception {
    FakeFileIO io = new FakeFileIO(FILE, false);
    try (RangeReader reader = RangeReader.over(io, 16)) {
      assertThat(reader.read(FakeFileIO.LOCATION, FILE.length, 17, 1000))
          .isEqualTo(Bytes.slice(FILE, 17, 1017));
    }
    assertThat(io.opens).hasValue(1);
    assertThat(io.open).hasValue(0);
  }

  @ParameterizedTest
  @ValueSource(booleans = {false, true})
  void aFailureNamesTheRangeAndClosesAllStreams(boolean rangeReadable) throws Exception {
    FakeFileIO io = new FakeFileIO(FILE, rangeReadable);
    io.failRead = 3;
    try (RangeReader reader = RangeReader.over(io, 8)) {
      assertThatThrownBy(() -> reader.read(FakeFileIO.LOCATION, FILE.length, 0, FILE.length))
          .isInstanceOf(IOException.class)
          .hasMessageContaining("of " + FakeFileIO.LOCATION)
          .hasMessageContaining("told to fail");
      assertThat(io.open).as("open streams").hasValue(0);
    }
  }

  @Test
  void aStreamThatDoesNotCloseSpoilsNothing() throws Exception {
    FakeFileIO io = new FakeFileIO(FILE, false);
    io.failClose = true;
    try (RangeReader reader = RangeReader.over(io, 8)) {
      assertThat(reader.read(FakeFileIO.LOCATION, FILE.length, 0, 100)).hasSize(100);
    }
  }

  @ParameterizedTest
  @ValueSource(booleans = {false, true})
  void aFileShorterThanItsMetadataIsNamed(boolean rangeReadable) throws Exception {
    FakeFileIO io = new FakeFileIO(FILE, rangeReadable);
    try (RangeReader reader = RangeReader.over(io, 8)) {
      assertThatThrownBy(
              () -> reader.read(FakeFileIO.LOCATION, FILE.length + 10, FILE.length - 5, 10))
          .isInstanceOf(IOException.class)
          .hasMessageContaining(
              "bytes "
                  + (FILE.length - 5)
                  + " to "
                  + (FILE.length + 5)
                  + " of "
                  + FakeFileIO.LOCATION)
          .isInstanceOf(ShortFileException.class)
          .hasMessageContaining("shorter");
    }
  }

  @Test
  void aMissingFileIsNamed() {
    FakeFileIO io = new FakeFileIO(FILE, false);
    try (RangeReader reader = RangeReader.over(io, 8)) {
      assertThatThrownBy(() -> reader.read("fake://bucket/other", 10, 2, 3))
          .isInstanceOf(FileNotFoundException.class)
          .hasMessageContaining("bytes 2 to 5 of fake://bucket/other");
    }
  }

  @Test
  void anS3FileIoInsideAnotherIsReadInParallelAndRetried(@TempDir Path directory) throws Exception {
    byte[] object = Bytes.random(9, 10_000_000);
    try (S3Server server = new S3Server(directory, "lake")) {
      server.put("lake", "object", object);
      try (FaultProxy proxy = new FaultProxy(server.port());
          S3FileIO s3 = new S3FileIO()) {
        s3.initialize(S3Server.properties(proxy.port()));
        FileIO io = EncryptingFileIO.combine(s3, PlaintextEncryptionManager.instance());
        assertThat(io).isNotInstanceOf(S3FileIO.class);
        proxy.with(request -> request.number() % 3 == 1 ? Answer.cutAfter(50_000) : Answer.pass());
        try (RangeReader reader = new ParallelRangeReader(io, 8, new Backoff(1, 1, 1))) {
          assertThat(reader.read("s3://lake/object", object.length, 0, object.length))
              .isEqualTo(object);
        }
        assertThat(proxy.requests).hasSizeGreaterThan(3);

        int before = proxy.requests.size();
        proxy.with(
            request ->
                request.number() < before + 3 ? Answer.error(503, "SlowDown") : Answer.pass());
        try (RangeReader reader = new ParallelRangeReader(io, 8, new Backoff(1, 1, 1))) {
          assertThat(reader.read("s3://lake/object", object.length, 3, 10))
              .isEqualTo(Bytes.slice(object, 3, 13));
          proxy.with(request -> Answer.error(404, "NoSuchKey"));
          assertThatThrownBy(() -> reader.read("s3://lake/missing", 100, 3, 10))
              .isInstanceOf(FileNotFoundException.class)
              .hasMessageContaining("bytes 3 to 13 of s3://lake/missing");
        }
      }
    }
  }
}
