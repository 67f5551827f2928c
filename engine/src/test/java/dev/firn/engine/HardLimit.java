package dev.firn.engine;

import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import java.util.concurrent.TimeUnit;
import org.jspecify.annotations.Nullable;

/**
 * A limit of memory for a process, kept by the kernel where control groups can be made here: what
 * would take more is killed. Elsewhere the resident set is watched, and the process killed by the
 * watcher.
 */
final class HardLimit implements AutoCloseable {
  private static final Path VERSION_1 = Path.of("/sys/fs/cgroup/memory");
  private static final Path VERSION_2 = Path.of("/sys/fs/cgroup");

  private final long bytes;
  private final @Nullable Path group; // null where the resident set is watched
  private long peak;

  private HardLimit(long bytes, @Nullable Path group) {
    this.bytes = bytes;
    this.group = group;
  }

  static HardLimit of(long bytes) {
    String name = "firn-" + ProcessHandle.current().pid();
    for (Path parent : List.of(VERSION_1, VERSION_2)) {
      Path group = parent.resolve(name);
      String file = parent.equals(VERSION_1) ? "memory.limit_in_bytes" : "memory.max";
      try {
        if (Files.exists(parent.resolve("cgroup.procs"))) {
          Files.createDirectory(group);
          Files.writeString(group.resolve(file), String.valueOf(bytes));
          return new HardLimit(bytes, group);
        }
      } catch (IOException e) {
        group.toFile().delete(); // no right to, or no memory controller: the next way
      }
    }
    return new HardLimit(bytes, null);
  }

  /** How the limit is held, in words. */
  String kind() {
    return group == null ? "resident set watched" : "control group " + group;
  }

  /**
   * Runs a command under the limit.
   *
   * @param environment what is set besides
   * @return its exit code, 137 if it was killed for taking too much memory, or eight minutes
   */
  int run(List<String> command, Map<String, String> environment, Path log)
      throws IOException, InterruptedException {
    List<String> line = new ArrayList<>();
    if (group != null) {
      line.addAll(
          List.of(
              "sh", "-c", "echo $$ > '" + group.resolve("cgroup.procs") + "'; exec \"$@\"", ""));
    }
    line.addAll(command);
    ProcessBuilder builder =
        new ProcessBuilder(line).redirectErrorStream(true).redirectOutput(log.toFile());
    builder.environment().putAll(environment);
    Process process = builder.start();
    peak = 0;
    long deadline = System.nanoTime() + TimeUnit.MINUTES.toNanos(8);
    while (!process.waitFor(50, TimeUnit.MILLISECONDS)) {
      peak = Math.max(peak, anonymousBytes(process.pid()));
      if (group == null && peak > bytes || System.nanoTime() > deadline) {
        process.destroyForcibly();
      }
    }
    return process.exitValue();
  }

  /** The most that was seen of the last process's memory that no file backs. */
  long peakBytes() {
    return peak;
  }

  private static long anonymousBytes(long pid) {
    try {
      for (String line : Files.readAllLines(Path.of("/proc", String.valueOf(pid), "status"))) {
        if (line.startsWith("RssAnon:")) {
          return Long.parseLong(line.replaceAll("\\D", "")) << 10;
        }
      }
    } catch (IOException e) {
      return 0; // it has ended
    }
    return 0;
  }

  @Override
  public void close() {
    if (group != null) {
      group.toFile().delete();
    }
  }
}
