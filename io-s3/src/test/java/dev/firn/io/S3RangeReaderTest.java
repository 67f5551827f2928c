package dev.firn.io;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import dev.firn.io.RangeReader.Range;
import java.io.FileNotFoundException;
import java.io.IOException;
import java.nio.file.Path;
import java.util.List;
import java.util.Map;
import java.util.SplittableRandom;
import java.util.concurrent.ThreadLocalRandom;
import org.apache.iceberg.aws.s3.S3FileIO;
import org.apache.iceberg.io.FileIO;
import org.apache.iceberg.io.ResolvingFileIO;
import org.apache.iceberg.io.StorageCredential;
import org.junit.jupiter.api.AfterAll;
import org.junit.jupiter.api.BeforeAll;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.ValueSource;

/** Reads from a real S3 server that answers as it should. */
class S3RangeReaderTest {
  @TempDir static Path directory;
  @TempDir static Path targets;
  private static final byte[] LARGE = Bytes.random(7, 21_000_001);
  private static S3Server server;

  @BeforeAll
  static void start() throws Exception {
    server = new S3Server(directory, "lake", "mapped");
    server.put("lake", "large", LARGE);
  }

  @AfterAll
  static void stop() throws Exception {
    server.close();
  }

  private static FileIO fileIo(String kind, Map<String, String> properties) {
    FileIO io = kind.equals("S3FileIO") ? new S3FileIO() : new ResolvingFileIO();
    io.initialize(properties);
    return io;
  }

  private static FileIO fileIo(String kind) {
    return fileIo(kind, S3Server.properties(server.port()));
  }

  @ParameterizedTest
  @ValueSource(strings = {"S3FileIO", "ResolvingFileIO"})
  void readsRangesOfAnObject(String kind) throws Exception {
    try (FileIO io = fileIo(kind);
        RangeReader reader = RangeReader.over(io, 4)) {
      List<Range> ranges =
          List.of(
              new Range(0, 4, 0),
              new Range(LARGE.length - 8, 8, 4),
              new Range(1000, 20_000_000, 12),
              new Range(5, 0, 3));
      assertThat(Bytes.read(reader, "s3://lake/large", LARGE.length, ranges, targets))
          .isEqualTo(Bytes.expected(LARGE, ranges));
      assertThat(reader.read("s3://lake/large", LARGE.length, 77, 1000))
          .isEqualTo(Bytes.slice(LARGE, 77, 1077));
      assertThat(reader.read("s3://lake/large", LARGE.length, LARGE.length, 0)).isEmpty();
    }
  }

  @ParameterizedTest
  @ValueSource(strings = {"S3FileIO", "ResolvingFileIO"})
  void randomRangesAreTheBytesOfTheObject(String kind) throws Exception {
    long seed = Long.getLong("firn.test.seed", ThreadLocalRandom.current().nextLong());
    SplittableRandom random = new SplittableRandom(seed);
    try (FileIO io = fileIo(kind);
        RangeReader reader = RangeReader.over(io, 5)) {
      for (int round = 0; round < 15; round++) {
        List<Range> ranges = Bytes.ranges(random, LARGE.length);
        assertThat(Bytes.read(reader, "s3://lake/large", LARGE.length, ranges, targets))
            .as("rerun with -Dfirn.test.seed=" + seed)
            .isEqualTo(Bytes.expected(LARGE, ranges));
      }
    }
  }

  @ParameterizedTest
  @ValueSource(strings = {"s3", "s3a", "s3n"})
  void everySchemeOfS3IsOneObject(String scheme) throws Exception {
    for (String kind : List.of("S3FileIO", "ResolvingFileIO")) {
      try (FileIO io = fileIo(kind);
          RangeReader reader = RangeReader.over(io, 2)) {
        assertThat(reader.read(scheme + "://lake/large", LARGE.length, 9, 9))
            .isEqualTo(Bytes.slice(LARGE, 9, 18));
      }
    }
  }

  @ParameterizedTest
  @ValueSource(
      strings = {
        "with space/a b",
        "plus+plus",
        "percent%20sign",
        "100%",
        "day=2026-11-29/part",
        "ümläut/雪",
        "q?x",
        "hash#x",
        "a:b",
        "&amp;"
      })
  void keysAreTakenAsS3FileIoTakesThem(String key) throws Exception {
    byte[] bytes = Bytes.random(key.hashCode(), 5000);
    try (FileIO io = fileIo("S3FileIO");
        RangeReader reader = RangeReader.over(io, 2)) {
      String location = "s3://lake/odd/" + key;
      try (var out = io.newOutputFile(location).createOrOverwrite()) {
        out.write(bytes);
      }
      assertThat(reader.read(location, bytes.length, 100, 4000))
          .isEqualTo(Bytes.slice(bytes, 100, 4100));
    }
  }

  @ParameterizedTest
  @ValueSource(strings = {"S3FileIO", "ResolvingFileIO"})
  void vendedCredentialsOfAPrefixAreUsed(String kind) throws Exception {
    Map<String, String> wrong = S3Server.properties(server.port());
    wrong.put("s3.secret-access-key", "wrong");
    StorageCredential right =
        StorageCredential.create(
            "s3://lake/la",
            Map.of("s3.access-key-id", S3Server.KEY, "s3.secret-access-key", S3Server.SECRET));
    server.put("lake", "other", new byte[10]);
    try (FileIO io = fileIo(kind, wrong)) {
      if (io instanceof S3FileIO s3) {
        s3.setCredentials(List.of(right));
      } else {
        ((ResolvingFileIO) io).setCredentials(List.of(right));
      }
      try (RangeReader reader = RangeReader.over(io, 2)) {
        assertThat(reader.read("s3://lake/large", LARGE.length, 5, 5))
            .isEqualTo(Bytes.slice(LARGE, 5, 10));
        assertThatThrownBy(() -> reader.read("s3://lake/other", 10, 5, 5))
            .isInstanceOf(IOException.class)
            .hasMessageContaining("bytes 5 to 10 of s3://lake/other")
            .hasMessageContaining("credentials");
      }
    }
  }

  @Test
  void accessPointMappingsApply() throws Exception {
    server.put("mapped", "x", new byte[] {1, 2, 3});
    Map<String, String> properties = S3Server.properties(server.port());
    properties.put("s3.access-points.nowhere", "mapped");
    try (FileIO io = fileIo("S3FileIO", properties);
        RangeReader reader = RangeReader.over(io, 2)) {
      assertThat(reader.read("s3://nowhere/x", 3, 1, 2)).containsExactly(2, 3);
    }
  }

  @Test
  void largeRangesAreCutAndNearOnesJoined() throws Exception {
    try (FileIO io = fileIo("S3FileIO");
        RangeReader reader = RangeReader.over(io, 4)) {
      reader.read("s3://lake/large", LARGE.length, 0, 20 << 20);
      assertThat(reader.requests()).as("20 MiB in parts of at most 8").isEqualTo(3);
      assertThat(reader.bytesRead()).isEqualTo(20 << 20);

      List<Range> near = List.of(new Range(0, 10, 0), new Range(1 << 20, 10, 10));
      Bytes.read(reader, "s3://lake/large", LARGE.length, near, targets);
      assertThat(reader.requests()).as("a gap below 1 MiB").isEqualTo(4);

      List<Range> far = List.of(new Range(0, 10, 0), new Range((1 << 20) + 11, 10, 10));
      Bytes.read(reader, "s3://lake/large", LARGE.length, far, targets);
      assertThat(reader.requests()).as("a gap above 1 MiB").isEqualTo(6);
    }
  }

  @ParameterizedTest
  @ValueSource(strings = {"S3FileIO", "ResolvingFileIO"})
  void missingObjectsAreNamed(String kind) throws Exception {
    try (FileIO io = fileIo(kind);
        RangeReader reader = RangeReader.over(io, 2)) {
      assertThatThrownBy(() -> reader.read("s3://lake/missing", 100, 10, 20))
          .isInstanceOf(FileNotFoundException.class)
          .hasMessageContaining("bytes 10 to 30 of s3://lake/missing");
      assertThat(reader.requests()).as("not tried again").isEqualTo(1);
    }
  }

  @Test
  void anObjectShorterThanItsMetadataIsNamed() throws Exception {
    server.put("lake", "short", new byte[100]);
    try (FileIO io = fileIo("S3FileIO");
        RangeReader reader = new ParallelRangeReader(io, 2, new Backoff(1, 1, 1))) {
      assertThatThrownBy(() -> reader.read("s3://lake/short", 300, 200, 50))
          .isInstanceOf(ShortFileException.class)
          .hasMessageContaining("bytes 200 to 250 of s3://lake/short")
          .hasMessageContaining("shorter");
      assertThat(reader.requests()).as("416 is not tried again").isEqualTo(1);
      assertThatThrownBy(() -> reader.read("s3://lake/short", 300, 50, 100))
          .isInstanceOf(ShortFileException.class)
          .hasMessageContaining("bytes 50 to 150 of s3://lake/short")
          .hasMessageContaining("shorter");
      assertThat(reader.requests()).isEqualTo(2);
      assertThatThrownBy(() -> reader.read("s3://lake/short", 100, 50, 51))
          .isInstanceOf(IOException.class)
          .hasMessageContaining("bytes 50 to 101 of s3://lake/short");
    }
  }

  @Test
  void closingTheReaderLeavesTheFileIoOpen() throws Exception {
    try (FileIO io = fileIo("S3FileIO")) {
      RangeReader first = RangeReader.over(io, 2);
      first.read("s3://lake/large", LARGE.length, 0, 10);
      first.close();
      first.close();
      assertThatThrownBy(() -> first.read("s3://lake/large", LARGE.length, 0, 10))
          .isInstanceOf(IllegalStateException.class);
      try (RangeReader second = RangeReader.over(io, 2)) {
        assertThat(second.read("s3://lake/large", LARGE.length, 0, 10)).hasSize(10);
      }
    }
  }
}
