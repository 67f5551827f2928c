package dev.firn.io;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import dev.firn.io.RangeReader.Range;
import java.io.FileNotFoundException;
import java.io.InterruptedIOException;
import java.nio.ByteBuffer;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.List;
import java.util.Map;
import java.util.SplittableRandom;
import java.util.concurrent.ThreadLocalRandom;
import org.apache.hadoop.conf.Configuration;
import org.apache.iceberg.hadoop.HadoopFileIO;
import org.apache.iceberg.io.ResolvingFileIO;
import org.junit.jupiter.api.RepeatedTest;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.ValueSource;

/** Reads local files of HadoopFileIO. */
class LocalRangeReaderTest {
  @TempDir Path directory;

  private static HadoopFileIO hadoop(String... settings) {
    Configuration conf = new Configuration(false);
    for (int i = 0; i < settings.length; i += 2) {
      conf.set(settings[i], settings[i + 1]);
    }
    return new HadoopFileIO(conf);
  }

  @Test
  void randomRangesAreTheBytesOfTheFile() throws Exception {
    long seed = Long.getLong("firn.test.seed", ThreadLocalRandom.current().nextLong());
    SplittableRandom random = new SplittableRandom(seed);
    byte[] file = Bytes.random(seed, 40_000_000);
    Path path = Files.write(directory.resolve("file"), file);
    try (HadoopFileIO io = hadoop();
        RangeReader reader = RangeReader.over(io, 3)) {
      for (int round = 0; round < 20; round++) {
        List<Range> ranges = Bytes.ranges(random, file.length);
        assertThat(Bytes.read(reader, "file:" + path, file.length, ranges, directory))
            .as("rerun with -Dfirn.test.seed=" + seed)
            .isEqualTo(Bytes.expected(file, ranges));
        assertThat(Bytes.readIntoRoom(reader, "file:" + path, file.length, ranges, seed))
            .as("rerun with -Dfirn.test.seed=" + seed)
            .isEqualTo(Bytes.expected(file, ranges));
      }
      long before = reader.bytesRead();
      reader.read("file:" + path, file.length, 0, file.length);
      assertThat(reader.bytesRead() - before).isEqualTo(file.length);

      long requests = reader.requests();
      List<Range> far = List.of(new Range(0, 10, 0), new Range(20_000_000, 10, 10));
      Bytes.read(reader, "file:" + path, file.length, far, directory);
      assertThat(reader.bytesRead() - before).as("gaps are not read").isEqualTo(file.length + 20);
      assertThat(reader.requests() - requests).isEqualTo(1);
    }
  }

  @Test
  void bytesGoStraightIntoTheMemoryThatATargetGives() throws Exception {
    byte[] file = Bytes.random(1, 1_000_000);
    Path path = Files.write(directory.resolve("file"), file);
    ByteBuffer memory = ByteBuffer.allocateDirect(file.length);
    RangeReader.Target target =
        new RangeReader.Target() {
          @Override
          public void write(ByteBuffer part, long at) {
            throw new AssertionError("written through a buffer");
          }

          @Override
          public ByteBuffer room(long at) {
            return memory.slice((int) at, memory.capacity() - (int) at);
          }
        };
    try (HadoopFileIO io = hadoop();
        RangeReader reader = RangeReader.over(io, 2)) {
      reader.read("file:" + path, file.length, List.of(new Range(0, file.length, 0)), target);
    }
    assertThat(memory).isEqualTo(ByteBuffer.wrap(file));
  }

  @ParameterizedTest
  @ValueSource(
      strings = {
        "plain",
        "with space",
        "percent%20sign",
        "100%",
        "a+b",
        "day=2026-11-29",
        "ümläut-雪",
        "q?x",
        "hash#x"
      })
  void namesAreTakenAsHadoopTakesThem(String name) throws Exception {
    byte[] bytes = Bytes.random(name.hashCode(), 5_000);
    try (HadoopFileIO io = hadoop();
        ResolvingFileIO resolving = new ResolvingFileIO();
        RangeReader reader = RangeReader.over(io, 2);
        RangeReader resolvingReader = RangeReader.over(resolving, 2)) {
      resolving.setConf(new Configuration(false));
      resolving.initialize(Map.of());
      for (String location :
          List.of(
              "file:" + directory + "/" + name,
              "file://" + directory + "/" + name,
              directory + "//" + name)) {
        try (var out = io.newOutputFile(location).createOrOverwrite()) {
          out.write(bytes);
        }
        assertThat(LocalSource.pathOf(location, io)).isEqualTo(directory.resolve(name));
        assertThat(LocalSource.pathOf(location, resolving)).isEqualTo(directory.resolve(name));
        assertThat(reader.read(location, bytes.length, 100, 4_000))
            .isEqualTo(Bytes.slice(bytes, 100, 4_100));
        assertThat(resolvingReader.read(location, bytes.length, 100, 4_000))
            .isEqualTo(Bytes.slice(bytes, 100, 4_100));
      }
    }
  }

  @RepeatedTest(50)
  void pathsAreThoseOfHadoopOrLeftToIt() {
    long seed = Long.getLong("firn.test.seed", ThreadLocalRandom.current().nextLong());
    SplittableRandom random = new SplittableRandom(seed);
    String[] pieces = {
      "/", "//", "a", "%20", "%", " ", "..", ".", "+", "=", "é", "?", "#", "b:c", "%2F", "*", "\\",
      "/tmp"
    };
    StringBuilder name = new StringBuilder(random.nextBoolean() ? "file:/" : "/");
    for (int i = random.nextInt(1, 9); i > 0; i--) {
      name.append(pieces[random.nextInt(pieces.length)]);
    }
    Path path = LocalSource.pathOf(name.toString(), hadoop());
    if (path != null) {
      assertThat(path.toString())
          .as("rerun with -Dfirn.test.seed=" + seed + ": " + name)
          .isEqualTo(new org.apache.hadoop.fs.Path(name.toString()).toUri().getPath());
    }
  }

  @Test
  void locationsThatAreNotCertainlyLocalAreLeftToHadoop() {
    HadoopFileIO io = hadoop();
    for (String location :
        List.of(
            "hdfs://host/x",
            "file://host/x",
            "//host/x",
            "relative",
            "file:relative",
            "/a/../b",
            "s3://b/k",
            "")) {
      assertThat(LocalSource.pathOf(location, io)).as(location).isNull();
    }
    assertThat(LocalSource.pathOf("/x", hadoop("fs.defaultFS", "hdfs://name:8020"))).isNull();
    assertThat(LocalSource.pathOf("file:/x", hadoop("fs.defaultFS", "hdfs://name:8020")))
        .isEqualTo(Path.of("/x"));
    assertThat(LocalSource.pathOf("file:/x", hadoop("fs.file.impl", "org.example.Other"))).isNull();
  }

  @Test
  void missingAndShortFilesAreNamed() throws Exception {
    Path path = Files.write(directory.resolve("short"), new byte[100]);
    try (HadoopFileIO io = hadoop();
        RangeReader reader = RangeReader.over(io, 2)) {
      assertThatThrownBy(() -> reader.read("file:" + directory + "/missing", 100, 1, 2))
          .isInstanceOf(FileNotFoundException.class)
          .hasMessageContaining("bytes 1 to 3 of file:" + directory + "/missing");
      assertThatThrownBy(() -> reader.read("file:" + path, 200, 50, 100))
          .isInstanceOf(ShortFileException.class)
          .hasMessageContaining("bytes 50 to 150 of file:" + path)
          .hasMessageContaining("shorter");
    }
  }

  @Test
  void anInterruptedCallerReadsNothingAndKeepsItsTarget() throws Exception {
    Path path = Files.write(directory.resolve("file"), new byte[100]);
    try (HadoopFileIO io = hadoop();
        RangeReader reader = RangeReader.over(io, 2);
        var target = Bytes.open(directory.resolve("target"))) {
      Thread.currentThread().interrupt();
      List<Range> ranges = List.of(new Range(0, 100, 0));
      try {
        reader.read("file:" + path, 100, ranges, target);
      } catch (InterruptedIOException e) {
        assertThat(e).hasMessageContaining(path.toString());
      }
      assertThat(Thread.interrupted()).isTrue();
      assertThat(target.isOpen()).isTrue();
      Thread.currentThread().interrupt();
      assertThatThrownBy(() -> reader.read("file:" + path, 100, 0, 100))
          .isInstanceOf(InterruptedIOException.class)
          .hasMessageContaining(path.toString());
      assertThat(Thread.interrupted()).isTrue();
      reader.read("file:" + path, 100, ranges, target);
      assertThat(target.size()).isEqualTo(100);
    }
  }
}
