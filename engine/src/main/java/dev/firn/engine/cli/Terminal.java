package dev.firn.engine.cli;

import java.io.PrintWriter;
import java.nio.charset.StandardCharsets;
import java.nio.file.Path;
import java.util.Map;

/**
 * What a command talks to. {@code out} carries the answer and nothing else; progress, logs and the
 * last line with the outcome go to {@code err}.
 *
 * @param interactive whether a person watches {@code err}, so that a progress bar makes sense
 * @param environment the environment variables
 * @param directory the directory that relative paths start from
 */
record Terminal(
    PrintWriter out,
    PrintWriter err,
    boolean interactive,
    Map<String, String> environment,
    Path directory) {

  /** The streams, environment and directory of this process. */
  static Terminal ofProcess() {
    return new Terminal(
        new PrintWriter(System.out, true, StandardCharsets.UTF_8),
        new PrintWriter(System.err, true, StandardCharsets.UTF_8),
        isTerminal(System.getenv()),
        Map.copyOf(System.getenv()),
        Path.of("").toAbsolutePath());
  }

  /* The launcher looks whether stderr is a terminal. System.console() would tell of stdin and
  stdout too, and from JDK 22 on nothing at all, for it is never null there. */
  private static boolean isTerminal(Map<String, String> environment) {
    return Boolean.getBoolean("firn.terminal") && !"dumb".equals(environment.get("TERM"));
  }
}
