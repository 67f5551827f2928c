package dev.firn.engine.cli;

import com.fasterxml.jackson.core.JsonProcessingException;
import com.fasterxml.jackson.databind.ObjectMapper;
import dev.firn.engine.CompactionReport;
import java.io.PrintWriter;

/** A report as one JSON object on one line. */
final class ReportJson {
  static final ObjectMapper JSON = new ObjectMapper();

  private ReportJson() {}

  static void print(CompactionReport report, PrintWriter out) {
    out.println(text(report));
  }

  static String text(Object value) {
    try {
      return JSON.writeValueAsString(value);
    } catch (JsonProcessingException e) {
      throw new IllegalStateException("Cannot write " + value + " as JSON", e);
    }
  }
}
