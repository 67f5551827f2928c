package dev.firn.bench.sidebyside;

import java.util.ArrayList;
import java.util.List;
import java.util.Locale;
import java.util.function.ToDoubleFunction;
import org.jspecify.annotations.Nullable;

/** All measurements of a run, as Markdown. Of several rounds the medians are shown. */
final class Report {
  private static final double DISTURBED = 0.1; // of the cores' time, by other processes
  private static final double MIB = 1 << 20;

  private final List<Engine> engines;
  private final List<String> setting;
  private final List<Section> sections = new ArrayList<>();

  /** Begins a report for these engines; the setting is a line of text each. */
  Report(List<Engine> engines, List<String> setting) {
    this.engines = engines;
    this.setting = setting;
  }

  /** Begins the section of a case. */
  Section section(Case which, FirstState table) {
    Section section = new Section(which, table, new ArrayList<>());
    sections.add(section);
    return section;
  }

  /** The measurements of one case, to which more may be added. */
  record Section(Case which, FirstState table, List<Measurement> measurements) {
    void add(Measurement measurement) {
      measurements.add(measurement);
    }

    List<Measurement> of(Engine engine) {
      return measurements.stream().filter(each -> each.engine() == engine).toList();
    }
  }

  /** Whether every engine has left the same rows in the right layout, every time. */
  boolean isSound() {
    return sections.stream()
        .flatMap(section -> section.measurements().stream())
        .allMatch(each -> each.flaw() == null);
  }

  String markdown() {
    StringBuilder text = new StringBuilder();
    setting.forEach(line -> text.append("- ").append(line).append('\n'));
    text.append(
        """

        | case | table | live rows | files | MB | delete files | rows deleted |
        |---|---|--:|--:|--:|--:|--:|
        """);
    for (Section section : sections) {
      Contents contents = section.table().contents();
      text.append(
          String.format(
              Locale.ROOT,
              "| %s | %s | %,d | %,d | %,.0f | %,d | %,d |%n",
              section.which(),
              section.which().description(),
              contents.liveRows(),
              contents.dataFiles(),
              contents.dataBytes() / MIB,
              contents.deletes(),
              contents.deletedRows()));
    }
    text.append(
        """

        | case | engine | wall s | work s | CPU s | peak MB | MB out | files out | × Spark, wall | × Spark, work |
        |---|---|--:|--:|--:|--:|--:|--:|--:|--:|
        """);
    List<String> notes = new ArrayList<>();
    for (Section section : sections) {
      for (Engine engine : engines) {
        text.append(row(section, engine, notes));
      }
    }
    if (!notes.isEmpty()) {
      text.append('\n');
      notes.forEach(note -> text.append("- ").append(note).append('\n'));
    }
    return text.toString();
  }

  private static String row(Section section, Engine engine, List<String> notes) {
    Case which = section.which();
    String start = "| " + which + " | " + engine.title();
    if (engine == Engine.DUCKDB && section.table().contents().deletes() > 0) {
      start += ", no deletes applied";
    }
    if (!engine.understands(which.layout())) {
      return start + " | – | – | – | – | – | – | – | – |\n";
    }
    List<Measurement> all = section.of(engine);
    List<Measurement> sound = sound(all);
    for (Measurement each : all) {
      String subject = which + ", " + engine.title() + ", round " + each.round() + ": ";
      if (each.flaw() != null) {
        notes.add("**" + subject + each.flaw() + "**");
      } else if (each.disturbance() > DISTURBED) {
        notes.add(
            String.format(
                Locale.ROOT,
                "%sother processes had %.0f %% of the cores' time",
                subject,
                100 * each.disturbance()));
      }
    }
    if (sound.isEmpty()) {
      return start + " | failed | | | | | | | |\n";
    }
    List<Measurement> spark = sound(section.of(Engine.SPARK));
    return String.format(
        Locale.ROOT,
        "%s | %.1f | %.1f | %.1f | %,.0f | %,.0f | %,.0f | %s | %s |%n",
        start,
        median(sound, Measurement::wallSeconds),
        median(sound, Report::work),
        median(sound, Measurement::cpuSeconds),
        median(sound, Measurement::peakBytes) / MIB,
        median(sound, Measurement::bytesOut) / MIB,
        median(sound, Measurement::filesOut),
        ratio(spark, sound, Measurement::wallSeconds),
        ratio(spark, sound, Report::work));
  }

  private static List<Measurement> sound(List<Measurement> all) {
    return all.stream().filter(each -> each.flaw() == null).toList();
  }

  private static double work(Measurement measurement) {
    @Nullable Double work = measurement.workSeconds();
    return work == null ? Double.NaN : work;
  }

  private static String ratio(
      List<Measurement> spark, List<Measurement> other, ToDoubleFunction<Measurement> value) {
    return spark.isEmpty()
        ? "–"
        : String.format(Locale.ROOT, "%.1f", median(spark, value) / median(other, value));
  }

  private static double median(List<Measurement> all, ToDoubleFunction<Measurement> value) {
    double[] sorted = all.stream().mapToDouble(value).sorted().toArray();
    int middle = sorted.length / 2;
    return sorted.length % 2 == 1 ? sorted[middle] : (sorted[middle - 1] + sorted[middle]) / 2;
  }
}
