package dev.firn.io;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import java.io.InputStream;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.Arrays;
import java.util.SplittableRandom;
import java.util.concurrent.ThreadLocalRandom;
import java.util.stream.Stream;
import org.apache.hadoop.conf.Configuration;
import org.apache.iceberg.exceptions.AlreadyExistsException;
import org.apache.iceberg.hadoop.HadoopFileIO;
import org.apache.iceberg.io.PositionOutputStream;
import org.apache.iceberg.io.ResolvingFileIO;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;

/** Writes local files of HadoopFileIO. */
class LocalOutputTest {
  @TempDir Path directory;

  @Test
  void whatIsWrittenIsInTheFileAndHadoopReadsIt() throws Exception {
    long seed = Long.getLong("firn.test.seed", ThreadLocalRandom.current().nextLong());
    SplittableRandom random = new SplittableRandom(seed);
    byte[] expected = Bytes.random(seed, 3_000_000);
    String location = "file:" + directory.resolve("new/data%20dir/file");
    try (HadoopFileIO io = new HadoopFileIO(new Configuration(false))) {
      try (PositionOutputStream out = LocalOutput.create(location, io)) {
        int at = 0;
        while (at < expected.length) {
          assertThat(out.getPos()).isEqualTo(at);
          if (random.nextInt(4) == 0) {
            out.write(expected[at++]);
          } else {
            int bound = random.nextBoolean() ? 20 : 300_000;
            int count = Math.min(random.nextInt(bound), expected.length - at);
            out.write(expected, at, count);
            at += count;
          }
          if (random.nextInt(50) == 0) {
            out.flush();
            assertThat(directory.resolve("new/data%20dir/file")).hasSize(at);
          }
        }
        out.close();
      } // closed twice
      assertThat(Files.readAllBytes(directory.resolve("new/data%20dir/file")))
          .as("rerun with -Dfirn.test.seed=" + seed)
          .isEqualTo(expected);
      try (InputStream in = io.newInputFile(location).newStream()) {
        assertThat(in.readAllBytes()).isEqualTo(expected);
      }
      try (Stream<Path> files = Files.list(directory.resolve("new/data%20dir"))) {
        assertThat(files).as("no file of checksums beside it").hasSize(1);
      }
      io.deleteFile(location);
      assertThat(directory.resolve("new/data%20dir/file")).doesNotExist();
    }
  }

  @Test
  void aFileThatIsThereIsLeftAlone() throws Exception {
    byte[] before = {1, 2, 3};
    Path path = Files.write(directory.resolve("file"), before);
    try (HadoopFileIO io = new HadoopFileIO(new Configuration(false))) {
      assertThatThrownBy(() -> LocalOutput.create(path.toString(), io))
          .isInstanceOf(AlreadyExistsException.class)
          .hasMessageContaining(path.toString());
    }
    assertThat(Files.readAllBytes(path)).isEqualTo(before);
  }

  @Test
  void directoriesMayBeLinks() throws Exception {
    Path real = Files.createDirectory(directory.resolve("real"));
    Path link = Files.createSymbolicLink(directory.resolve("link"), real);
    try (HadoopFileIO io = new HadoopFileIO(new Configuration(false))) {
      for (String name : Arrays.asList("file", "below/file")) {
        try (PositionOutputStream out = LocalOutput.create(link + "/" + name, io)) {
          out.write(7);
        }
        assertThat(real.resolve(name)).hasSize(1);
      }
    }
  }

  @Test
  void whatIsNotCertainlyLocalIsLeftToTheFileIO() throws Exception {
    Configuration elsewhere = new Configuration(false);
    elsewhere.set("fs.defaultFS", "hdfs://cluster:8020");
    try (HadoopFileIO io = new HadoopFileIO(new Configuration(false));
        HadoopFileIO cluster = new HadoopFileIO(elsewhere);
        ResolvingFileIO resolving = new ResolvingFileIO();
        FakeFileIO other = new FakeFileIO(new byte[0], false)) {
      resolving.setConf(new Configuration(false));
      for (String location :
          Arrays.asList(
              "hdfs://cluster/file",
              "file://host" + directory + "/file",
              "s3://bucket/file",
              "relative/file")) {
        assertThat(LocalOutput.create(location, io)).as(location).isNull();
      }
      assertThat(LocalOutput.create(directory + "/file", cluster)).isNull();
      assertThat(LocalOutput.create("file:" + directory + "/file", other)).isNull();
      assertThat(directory).isEmptyDirectory();
      try (PositionOutputStream out =
          LocalOutput.create("file:" + directory + "/file", resolving)) {
        assertThat(out).isNotNull();
      }
      assertThat(directory.resolve("file")).isEmptyFile();
    }
  }
}
