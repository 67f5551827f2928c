package dev.firn.bench.sidebyside;

import java.io.IOException;
import java.lang.ProcessBuilder.Redirect;
import java.nio.file.Files;
import java.nio.file.NoSuchFileException;
import java.nio.file.Path;
import java.util.List;
import java.util.Map;
import java.util.concurrent.TimeUnit;
import java.util.stream.LongStream;

/**
 * A process that was run to its end, and what the kernel says it took. Linux only; one at a time,
 * and no other child of this process may end meanwhile.
 *
 * @param wallSeconds from its start to its end
 * @param cpuSeconds user and system time of it and of all its children
 * @param peakBytes the most that was resident of it and its children at a time
 * @param otherCpuSeconds what the rest of the machine was busy with meanwhile
 */
record MeasuredProcess(
    int exitCode, double wallSeconds, double cpuSeconds, long peakBytes, double otherCpuSeconds) {
  private static final double TICKS_PER_SECOND = 100; // of /proc on every Linux that runs Java
  private static final int POLL_MILLIS = 20;
  private static final int TREE_POLLS = 10;
  private static final Path PROC = Path.of("/proc");

  /**
   * Runs a command.
   *
   * @param environment is added to this process's
   * @param out gets what it writes to standard output
   * @param log gets what it writes to standard error
   */
  static MeasuredProcess run(
      List<String> command, Map<String, String> environment, Path out, Path log)
      throws IOException, InterruptedException {
    ProcessBuilder builder =
        new ProcessBuilder(command)
            .redirectOutput(out.toFile())
            .redirectError(Redirect.appendTo(log.toFile()));
    builder.environment().keySet().removeIf(name -> name.startsWith("FIRN_"));
    builder.environment().putAll(environment);
    double[] ownBefore = ownCpuSeconds();
    double busyBefore = busySeconds();
    long start = System.nanoTime();
    Process process = builder.start();
    long peak = 0;
    try {
      for (int poll = 0; !process.waitFor(POLL_MILLIS, TimeUnit.MILLISECONDS); poll++) {
        peak = Math.max(peak, status(PROC, process.pid(), "VmHWM:"));
        if (poll % TREE_POLLS == 0) {
          LongStream below = process.descendants().mapToLong(ProcessHandle::pid);
          peak = Math.max(peak, residentBytes(PROC, process.pid(), below));
        }
      }
    } finally {
      process.destroyForcibly();
    }
    double wall = (System.nanoTime() - start) / 1e9;
    double[] own = ownCpuSeconds();
    double busy = busySeconds() - busyBefore;
    double cpu = own[1] - ownBefore[1];
    double others = Math.max(0, busy - cpu - (own[0] - ownBefore[0]));
    return new MeasuredProcess(process.exitValue(), wall, cpu, peak, others);
  }

  /**
   * What is resident of a process and of those below it. A child that runs what the process runs is
   * about to run something else, and its memory is the process's until then: it does not count.
   *
   * @param proc where the kernel tells of processes
   */
  static long residentBytes(Path proc, long pid, LongStream descendants) {
    Path program = program(proc, pid);
    return descendants
        .filter(each -> !program.equals(program(proc, each)))
        .map(each -> status(proc, each, "VmRSS:"))
        .reduce(status(proc, pid, "VmRSS:"), Long::sum);
  }

  /** What a process runs; a path of no name when it has ended. */
  private static Path program(Path proc, long pid) {
    try {
      return Files.readSymbolicLink(proc.resolve(pid + "/exe"));
    } catch (IOException e) {
      return Path.of("");
    }
  }

  /** A line of a process's status in bytes; 0 when it has ended. */
  private static long status(Path proc, long pid, String name) {
    try {
      for (String line : Files.readAllLines(proc.resolve(pid + "/status"))) {
        if (line.startsWith(name)) {
          return Long.parseLong(line.substring(name.length()).replace("kB", "").trim()) << 10;
        }
      }
      return 0;
    } catch (IOException e) {
      return 0; // it ended meanwhile
    }
  }

  /** CPU time of this process, and of all its children that have ended. */
  private static double[] ownCpuSeconds() throws IOException {
    String stat = Files.readString(Path.of("/proc/self/stat"));
    // The name in parentheses may hold blanks; the third field comes after it.
    String[] fields = stat.substring(stat.lastIndexOf(')') + 2).split(" ");
    double own = Long.parseLong(fields[11]) + Long.parseLong(fields[12]);
    double children = Long.parseLong(fields[13]) + Long.parseLong(fields[14]);
    return new double[] {own / TICKS_PER_SECOND, children / TICKS_PER_SECOND};
  }

  /** What all cores have been busy for since the machine was started. */
  private static double busySeconds() throws IOException {
    Path stat = Path.of("/proc/stat");
    if (!Files.exists(stat)) {
      throw new NoSuchFileException(stat.toString(), null, "this measures by Linux's /proc");
    }
    String[] ticks = Files.readAllLines(stat).get(0).trim().split("\\s+");
    double busy = 0;
    for (int field : new int[] {1, 2, 3, 6, 7}) { // user, nice, system, irq, softirq
      busy += Long.parseLong(ticks[field]);
    }
    return busy / TICKS_PER_SECOND;
  }
}
