package dev.firn.engine.cli;

import java.io.PrintWriter;
import java.io.StringWriter;
import java.nio.file.Path;
import java.util.List;
import java.util.Map;

/** A terminal whose two streams are kept apart as text. */
final class CapturedTerminal {
  private final StringWriter out = new StringWriter();
  private final StringWriter err = new StringWriter();
  private final Terminal terminal;

  CapturedTerminal(Path directory, Map<String, String> environment) {
    terminal =
        new Terminal(
            new PrintWriter(out, true), new PrintWriter(err, true), false, environment, directory);
  }

  Terminal terminal() {
    return terminal;
  }

  int run(String... args) {
    return Firn.run(terminal, args);
  }

  String out() {
    return out.toString();
  }

  String err() {
    return err.toString();
  }

  String lastErrLine() {
    List<String> lines = err.toString().lines().toList();
    return lines.isEmpty() ? "" : lines.get(lines.size() - 1);
  }
}
