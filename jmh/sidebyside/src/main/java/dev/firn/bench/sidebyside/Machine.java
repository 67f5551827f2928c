package dev.firn.bench.sidebyside;

import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.Locale;

/** What the program runs on, in a line. */
final class Machine {
  private Machine() {}

  static String description() throws IOException {
    return String.format(
        Locale.ROOT,
        "%d cores (%s), %.0f GB of memory, Linux %s, JDK %s (%s)",
        Runtime.getRuntime().availableProcessors(),
        field("/proc/cpuinfo", "model name"),
        Long.parseLong(field("/proc/meminfo", "MemTotal").replace("kB", "").trim())
            / (double) (1 << 20),
        System.getProperty("os.version"),
        System.getProperty("java.runtime.version"),
        System.getProperty("java.vendor"));
  }

  private static String field(String file, String name) throws IOException {
    return Files.readAllLines(Path.of(file)).stream()
        .filter(line -> line.startsWith(name))
        .map(line -> line.substring(line.indexOf(':') + 1).trim())
        .findFirst()
        .orElse("0");
  }
}
