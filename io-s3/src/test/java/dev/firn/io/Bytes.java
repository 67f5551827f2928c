package dev.firn.io;

import dev.firn.io.RangeReader.Range;
import java.io.IOException;
import java.nio.ByteBuffer;
import java.nio.channels.FileChannel;
import java.nio.file.Files;
import java.nio.file.Path;
import java.nio.file.StandardOpenOption;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.Collections;
import java.util.List;
import java.util.Random;
import java.util.SplittableRandom;
import org.jspecify.annotations.Nullable;

/** Bytes to read and the model that readers are held against. */
final class Bytes {
  private Bytes() {}

  static byte[] random(long seed, int length) {
    byte[] bytes = new byte[length];
    new Random(seed).nextBytes(bytes);
    return bytes;
  }

  static FileChannel open(Path target) throws IOException {
    return FileChannel.open(
        target, StandardOpenOption.CREATE, StandardOpenOption.READ, StandardOpenOption.WRITE);
  }

  /** Ranges of a file, some empty, some near others, some overlapping, at disjoint places. */
  static List<Range> ranges(SplittableRandom random, int fileLength) {
    int count = random.nextInt(1, 40);
    List<long[]> spans = new ArrayList<>();
    for (int i = 0; i < count; i++) {
      long offset = random.nextInt(fileLength + 1);
      long most = random.nextInt(8) == 0 ? fileLength : random.nextInt(4) == 0 ? 1 << 20 : 5_000;
      long length = random.nextLong(Math.min(most, fileLength - offset) + 1);
      spans.add(new long[] {offset, length});
    }
    Collections.shuffle(spans, new Random(random.nextLong()));
    List<Range> ranges = new ArrayList<>();
    long target = random.nextInt(100);
    for (long[] span : spans) {
      ranges.add(new Range(span[0], span[1], target));
      target += span[1] + (random.nextBoolean() ? 0 : random.nextInt(3_000));
    }
    Collections.shuffle(ranges, new Random(random.nextLong()));
    return ranges;
  }

  /** What a target must hold, zeros where nothing is written. */
  static byte[] expected(byte[] file, List<Range> ranges) {
    byte[] expected =
        new byte[Math.toIntExact(ranges.stream().mapToLong(Bytes::end).max().orElse(0))];
    for (Range range : ranges) {
      if (range.length() > 0) {
        System.arraycopy(
            file, (int) range.offset(), expected, (int) range.targetOffset(), (int) range.length());
      }
    }
    return expected;
  }

  /** Reads the ranges into a new file and gives its bytes. */
  static byte[] read(
      RangeReader reader, String location, long fileLength, List<Range> ranges, Path directory)
      throws IOException {
    Path target = Files.createTempFile(directory, "target", "");
    try (FileChannel channel = open(target)) {
      reader.read(location, fileLength, ranges, channel);
    }
    byte[] read = Files.readAllBytes(target);
    Files.delete(target);
    return read;
  }

  /** Reads the ranges into memory that has room at some places, in pieces, and gives its bytes. */
  static byte[] readIntoRoom(
      RangeReader reader, String location, long fileLength, List<Range> ranges, long seed)
      throws IOException {
    byte[] read = new byte[(int) ranges.stream().mapToLong(Bytes::end).max().orElse(0)];
    ByteBuffer target = ByteBuffer.allocateDirect(read.length);
    Random random = new Random(seed);
    reader.read(
        location,
        fileLength,
        ranges,
        new RangeReader.Target() {
          @Override
          public void write(ByteBuffer part, long at) {
            target.put((int) at, part, part.position(), part.remaining());
          }

          @Override
          public @Nullable ByteBuffer room(long at) {
            synchronized (random) {
              int piece = 1 + random.nextInt(1 << random.nextInt(20));
              return random.nextInt(3) == 0
                  ? null
                  : target.slice((int) at, Math.min(target.capacity() - (int) at, piece));
            }
          }
        });
    target.get(0, read);
    return read;
  }

  private static long end(Range range) {
    return range.length() == 0 ? 0 : range.targetOffset() + range.length();
  }

  static byte[] slice(byte[] bytes, long from, long to) {
    return Arrays.copyOfRange(bytes, (int) from, (int) to);
  }
}
