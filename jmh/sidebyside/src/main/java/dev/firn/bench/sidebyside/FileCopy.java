package dev.firn.bench.sidebyside;

import java.io.IOException;
import java.nio.channels.FileChannel;
import java.nio.file.Files;
import java.nio.file.Path;
import java.nio.file.StandardOpenOption;
import java.util.ArrayList;
import java.util.List;
import java.util.concurrent.ExecutorService;
import java.util.concurrent.Executors;
import java.util.concurrent.Future;

/** Copies the bytes of the data files, one after another, into files of the target size. */
final class FileCopy {
  private FileCopy() {}

  static Work run(Job job) throws Exception {
    long start = System.nanoTime();
    Path outputs = Files.createDirectories(Path.of(job.outputs()));
    List<List<Part>> bins = new ArrayList<>();
    long target = job.targetFileSizeBytes();
    long binBytes = target;
    for (String name : job.files()) {
      Path file = Path.of(name);
      long size = Files.size(file);
      for (long at = 0; at < size; at += target) {
        Part part = new Part(file, at, Math.min(target, size - at));
        if (binBytes + part.bytes() > target) {
          bins.add(new ArrayList<>());
          binBytes = 0;
        }
        bins.get(bins.size() - 1).add(part);
        binBytes += part.bytes();
      }
    }
    ExecutorService pool = Executors.newFixedThreadPool(job.threads());
    try {
      List<Future<?>> copies = new ArrayList<>();
      for (List<Part> bin : bins) {
        Path output = outputs.resolve(copies.size() + ".bytes");
        copies.add(
            pool.submit(
                () -> {
                  copy(bin, output);
                  return output;
                }));
      }
      for (Future<?> copy : copies) {
        copy.get();
      }
    } finally {
      pool.shutdownNow();
    }
    return Work.since(start);
  }

  /** Some bytes of a file. */
  private record Part(Path file, long at, long bytes) {}

  private static void copy(List<Part> bin, Path target) throws IOException {
    try (FileChannel out =
        FileChannel.open(target, StandardOpenOption.CREATE_NEW, StandardOpenOption.WRITE)) {
      for (Part part : bin) {
        try (FileChannel in = FileChannel.open(part.file())) {
          long end = part.at() + part.bytes();
          for (long at = part.at(); at < end; ) {
            at += in.transferTo(at, end - at, out);
          }
        }
      }
    }
  }
}
