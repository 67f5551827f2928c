package dev.firn.engine.cli;

import ch.qos.logback.classic.Level;
import ch.qos.logback.classic.Logger;
import org.slf4j.LoggerFactory;

/** The level of the log on stderr. Its form, and what is always silent, is in logback.xml. */
final class Logging {
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
  }
}
