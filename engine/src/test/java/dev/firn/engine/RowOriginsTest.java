package dev.firn.engine;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.List;
import java.util.Random;
import org.apache.arrow.memory.BufferAllocator;
import org.apache.arrow.memory.RootAllocator;
import org.apache.arrow.vector.BigIntVector;
import org.apache.iceberg.DataFile;
import org.apache.iceberg.DataFiles;
import org.apache.iceberg.PartitionSpec;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;

class RowOriginsTest {
  @TempDir Path scratch;
  private final MemoryPeaks.Gauge held = new MemoryPeaks.Gauge();

  private record Place(String file, long position, long origin) {}

  @Test
  void originsComeBackInOrderWhateverTheirBatches() throws IOException {
    long seed = Long.getLong("firn.test.seed", System.nanoTime());
    Random random = new Random(seed);
    for (int round = 0; round < 60; round++) {
      List<Place> expected = new ArrayList<>();
      try (BufferAllocator memory = new RootAllocator();
          RowOrigins origins =
              new RowOrigins(
                  scratch, "origins-" + round, held, round % 7 == 0 ? 0 : Long.MAX_VALUE)) {
        for (int output = random.nextInt(4); output >= 0; output--) {
          RowOrigins.Log log = origins.log();
          List<Long> added = new ArrayList<>();
          // the last rounds go to disk
          for (int batch = random.nextInt(round < 50 ? 6 : 400); batch > 0; batch--) {
            add(log, random, memory, added);
          }
          log.finish(files(output, random, added, expected));
        }
        List<Place> met = new ArrayList<>();
        origins.forEachRun(
            (file, position, origin, rows) -> {
              for (long row = 0; row < rows; row++) {
                met.add(new Place(file.location(), position + row, origin + row));
              }
            });
        assertThat(met.equals(expected)).as("rerun with -Dfirn.test.seed=" + seed).isTrue();
        assertThat(origins.lost()).isFalse();
      }
      assertThat(Files.list(scratch)).isEmpty();
      assertThat(held.held()).isZero();
    }
  }

  private static void add(
      RowOrigins.Log log, Random random, BufferAllocator memory, List<Long> added) {
    int rows = 1 + random.nextInt(300);
    long[] live = new long[LiveRows.words(rows)];
    int density = random.nextInt(5);
    for (int row = 0; row < rows; row++) {
      if (density == 4 || random.nextInt(4) < density) {
        LiveRows.setRange(live, row, row + 1);
      }
    }
    if (random.nextBoolean()) {
      int input = random.nextInt(RowOrigins.INPUTS_MAX);
      long first = random.nextInt(3) == 0 ? (1L << 40) - rows : random.nextInt(1 << 20);
      BatchOrigins.neighbours(input, first).addTo(log, live, rows);
      for (int row = 0; row < rows; row++) {
        if ((live[row >>> 6] >>> row & 1) != 0) {
          added.add(RowOrigins.origin(input, first + row));
        }
      }
    } else {
      try (BigIntVector each = new BigIntVector("each", memory)) {
        each.allocateNew(rows);
        for (int row = 0; row < rows; row++) {
          long origin =
              RowOrigins.origin(
                  random.nextInt(RowOrigins.INPUTS_MAX), random.nextLong() & (1L << 40) - 1);
          each.set(row, origin);
          if ((live[row >>> 6] >>> row & 1) != 0) {
            added.add(origin);
          }
        }
        BatchOrigins.each(each).addTo(log, live, rows);
      }
    }
  }

  /** Cuts the rows into files anywhere. */
  private static List<DataFile> files(
      int output, Random random, List<Long> added, List<Place> expected) {
    List<DataFile> files = new ArrayList<>();
    int done = 0;
    while (done < added.size()) {
      int rows = 1 + random.nextInt(added.size() - done);
      String location = "file-" + output + "-" + files.size();
      files.add(file(location, rows));
      for (int row = 0; row < rows; row++) {
        expected.add(new Place(location, row, added.get(done + row)));
      }
      done += rows;
    }
    return files;
  }

  private static DataFile file(String location, long rows) {
    return DataFiles.builder(PartitionSpec.unpartitioned())
        .withPath(location)
        .withFormat("parquet")
        .withFileSizeInBytes(1)
        .withRecordCount(rows)
        .build();
  }

  @Test
  void originsTellInputAndPosition() {
    long origin = RowOrigins.origin(RowOrigins.INPUTS_MAX - 1, (1L << 40) - 1);
    assertThat(RowOrigins.input(origin)).isEqualTo(RowOrigins.INPUTS_MAX - 1);
    assertThat(RowOrigins.position(origin)).isEqualTo((1L << 40) - 1);
  }

  @Test
  void aScratchThatFailsLosesTheOriginsAndNothingElse() throws IOException {
    RowOrigins origins =
        new RowOrigins(scratch.resolve("not there"), "origins", held, Long.MAX_VALUE);
    RowOrigins.Log log = origins.log();
    int batches = 200_000;
    for (int batch = 0; batch < batches; batch++) {
      log.addNeighbours(RowOrigins.origin(1, batch * 7L), new long[] {1}, 1);
    }
    log.finish(List.of(file("a", batches)));
    assertThat(origins.lost()).isTrue();
    origins.close();
  }

  @Test
  void countsThatDoNotAgreeWithTheFilesAreAnError() throws IOException {
    try (RowOrigins origins = new RowOrigins(scratch, "origins", held, Long.MAX_VALUE)) {
      RowOrigins.Log log = origins.log();
      log.addNeighbours(0, new long[] {0b111}, 3);
      log.finish(List.of(file("a", 2)));
      assertThatThrownBy(() -> origins.forEachRun((file, position, origin, rows) -> {}))
          .isInstanceOf(IllegalStateException.class);
    }
  }

  /** As those of many small groups that wait for one commit. */
  @Test
  void manyFinishedOriginsTogetherHoldNoMoreThanTheirMemory() throws IOException {
    long bytesMax = 10_000;
    List<RowOrigins> all = new ArrayList<>();
    for (int group = 0; group < 100; group++) {
      RowOrigins origins = new RowOrigins(scratch, "origins-" + group, held, bytesMax);
      RowOrigins.Log log = origins.log();
      for (int row = 0; row < 500; row++) {
        log.addNeighbours(RowOrigins.origin(1, row * 7L), new long[] {1}, 1);
      }
      log.finish(List.of(file("a" + group, 500)));
      all.add(origins);
      assertThat(held.held()).isLessThanOrEqualTo(bytesMax + 2048);
    }
    assertThat(held.peak()).isGreaterThan(bytesMax / 2);
    long[] rows = new long[1];
    for (RowOrigins origins : all) {
      origins.forEachRun((file, position, origin, count) -> rows[0] += count);
      assertThat(origins.lost()).isFalse();
      origins.close();
    }
    assertThat(rows[0]).isEqualTo(50_000);
    assertThat(held.held()).isZero();
    assertThat(scratch).isEmptyDirectory();
  }
}
