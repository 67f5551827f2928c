package dev.firn.engine.cli;

import ch.qos.logback.classic.Level;
import ch.qos.logback.classic.Logger;
import java.util.List;
import org.slf4j.LoggerFactory;

/** The level of the log on stderr. Its form, and what is always silent, is in logback.xml. */
final class Logging {
  private static final List<String> LOUD =
      List.of(
          "org.apache.iceberg.metrics.LoggingMetricsReporter",
          "org.apache.iceberg.formats.FormatModelRegistry",
          "org.apache.iceberg.BaseMetastoreCatalog");

  private Logging() {}

  static void configure(boolean debug) {
    if (!debug) {
      return;
    }
    if (LoggerFactory.getLogger("dev.firn") instanceof Logger firn) {
      firn.setLevel(Level.DEBUG);
    }
    if (LoggerFactory.getLogger("org.apache.iceberg") instanceof Logger iceberg) {
      iceberg.setLevel(Level.INFO);
    }
    // One line of a screen's height for each scan and commit, and formats of engines not here.
    for (String loud : LOUD) {
      if (LoggerFactory.getLogger(loud) instanceof Logger logger) {
        logger.setLevel(Level.WARN);
      }
    }
  }
}
