package dev.firn.engine;

import static org.assertj.core.api.Assertions.assertThat;

import dev.firn.engine.CompactionReport.FailureKind;
import dev.firn.engine.Schedule.Point;
import dev.firn.testdata.TableRows;
import java.time.Duration;
import java.util.ArrayList;
import java.util.HashSet;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.Random;
import java.util.Set;
import org.apache.iceberg.DataFile;
import org.apache.iceberg.NullOrder;
import org.apache.iceberg.Snapshot;
import org.apache.iceberg.SnapshotRef;
import org.apache.iceberg.SortOrder;
import org.apache.iceberg.Table;
import org.apache.iceberg.actions.RewriteFileGroup;
import org.apache.iceberg.expressions.Expressions;

/** Firn with settings that the schedule's seed makes; its report is held against the table. */
final class FirnCompactor implements ScheduledRun.Compactor {
  private static final Duration PATIENCE = Duration.ofMillis(5);

  @Override
  public boolean compact(ScheduledRun run, Table table) {
    CompactionSettings settings = settings(run, table);
    run.log("compaction of " + settings.branch() + ", " + settings.layout() + settings.options());
    Map<Long, Set<String>> outputs = new LinkedHashMap<>();
    CompactionListener listener =
        new CompactionListener() {
          @Override
          public void rewritten(RewriteFileGroup group) {
            run.meet(Point.REWRITTEN);
          }

          @Override
          public synchronized void committed(long snapshotId, List<RewriteFileGroup> groups) {
            Set<String> locations = new HashSet<>();
            for (RewriteFileGroup group : groups) {
              group.addedFiles().forEach(file -> locations.add(file.location()));
            }
            outputs.put(snapshotId, locations);
          }
        };
    CompactionReport report;
    try {
      report = new Compaction(table, settings, listener, PATIENCE).run();
    } catch (RuntimeException e) {
      run.log("the run threw " + e);
      assertThat(outputs).as("commits before the run threw %s", e).isEmpty();
      assertThat(run.compactions()).as("commits before the run threw %s", e).isEmpty();
      if (String.valueOf(e.getMessage()).contains(ScheduledRun.MADE_TO_FAIL)) {
        return false; // the commit before planning (L6)
      }
      throw e;
    }
    run.log(
        "report: committed "
            + report.snapshotsCommitted()
            + " "
            + report.groups()
            + " failures "
            + report.failures());
    check(run, table, report, outputs);
    return report.failures().stream().anyMatch(failure -> failure.kind() == FailureKind.UNKNOWN);
  }

  private static void check(
      ScheduledRun run, Table table, CompactionReport report, Map<Long, Set<String>> outputs) {
    table.refresh();
    assertThat(report.snapshotsCommitted())
        .as("snapshots reported")
        .containsExactlyElementsOf(outputs.keySet());
    assertThat(run.compactions()).as("snapshots committed").containsAll(outputs.keySet());
    outputs.forEach(
        (id, locations) -> {
          Snapshot snapshot = table.snapshot(id);
          if (snapshot != null) {
            assertThat(
                    TableRows.dataFiles(table, snapshot).stream().map(DataFile::location).toList())
                .as("files of reported snapshot %s", id)
                .containsAll(locations);
          }
        });
    for (CompactionReport.Failure failure : report.failures()) {
      assertThat(failure.kind() != FailureKind.OTHER || failure.message().startsWith("Given up"))
          .as("%s", failure)
          .isTrue();
    }
    assertThat(report.rows().read() - report.rows().deleted()).isEqualTo(report.rows().written());
  }

  private static CompactionSettings settings(ScheduledRun run, Table table) {
    Random random = run.shape();
    Map<String, String> options = new LinkedHashMap<>();
    if (random.nextInt(5) < 3) {
      options.put("rewrite-all", "true");
    } else {
      options.put("min-input-files", "" + (1 + random.nextInt(2)));
      options.put("delete-file-threshold", "" + (1 + random.nextInt(2)));
    }
    if (random.nextBoolean()) {
      options.put("partial-progress.enabled", "true");
      options.put("partial-progress.max-commits", "" + (1 + random.nextInt(4)));
    }
    if (random.nextBoolean()) {
      options.put("max-file-group-input-files", "" + (1 + random.nextInt(3)));
    }
    if (random.nextInt(5) == 0) {
      options.put("target-file-size-bytes", "" + (500 + random.nextInt(2000)));
    }
    if (random.nextInt(4) == 0) {
      options.put("use-starting-sequence-number", "false");
    }
    if (random.nextInt(4) == 0) {
      options.put("remove-dangling-deletes", "true");
    }
    if (random.nextInt(8) == 0) {
      List<Integer> specs = new ArrayList<>(table.specs().keySet());
      options.put("output-spec-id", "" + specs.get(random.nextInt(specs.size())));
    }
    options.put("max-concurrent-file-group-rewrites", "" + (1 + random.nextInt(2)));
    CompactionSettings.Builder settings =
        CompactionSettings.builder()
            .options(options)
            .layout(layout(random, table))
            .branch(table.refs().containsKey(run.branch()) ? run.branch() : SnapshotRef.MAIN_BRANCH)
            .memoryBytes(512L << 20)
            .scratch(run.scratch())
            .threads(1 + random.nextInt(2));
    if (random.nextInt(12) == 0) {
      settings.filter(Expressions.equal("region", "a"));
    }
    return settings.build();
  }

  private static Layout layout(Random random, Table table) {
    SortOrder.Builder order = SortOrder.builderFor(table.schema());
    return switch (random.nextInt(6)) {
      case 0 -> new Layout.Sorted(order.asc("id").desc("quarter", NullOrder.NULLS_LAST).build());
      case 1 -> new Layout.Sorted(order.desc("region").asc(Expressions.bucket("id", 2)).build());
      case 2 ->
          table.sortOrder().isUnsorted()
              ? new Layout.Sorted(order.desc("identity").build())
              : new Layout.TableOrder();
      default -> new Layout.BinPack();
    };
  }
}
