package dev.firn.engine;

import dev.firn.commit.PartitionTuple;
import dev.firn.engine.VerificationReport.Difference;
import dev.firn.engine.VerificationReport.DifferingFile;
import dev.firn.engine.VerificationReport.Example;
import dev.firn.engine.VerificationReport.Side;
import dev.firn.engine.verify.RowDigest;
import dev.firn.engine.verify.RowHasher;
import dev.firn.engine.verify.ValueText;
import java.io.IOException;
import java.util.ArrayList;
import java.util.BitSet;
import java.util.Collection;
import java.util.Comparator;
import java.util.HashMap;
import java.util.HashSet;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.Objects;
import java.util.Set;
import java.util.TreeMap;
import org.apache.arrow.vector.VectorSchemaRoot;
import org.apache.iceberg.FileScanTask;
import org.apache.iceberg.PartitionSpec;
import org.apache.iceberg.types.Types;
import org.jspecify.annotations.Nullable;

/**
 * Compares the live rows of two sets of data files, partition by partition, and finds where they
 * differ. Both are read with the same columns. Belongs to one thread; the scan has its own.
 */
final class RowComparison {
  /* Rows of one spec cannot change their partition, so that its partitions are compared one by one.
  Where partitions of several specs differ, rows may have been written from one spec to another:
  then all that differ are compared as one.

  Only then, and only for those partitions, rows are read again: once for the ranges of hashes in
  which the rows differ; once to count the hashes in as many of these ranges as memory allows; once
  for the files and positions of rows whose hash the other side has not, or not as often. */

  /** Ranges of hashes, by their first bits. */
  private static final int RANGES = 1 << 16;

  private static final int EXAMPLES_MAX = 3;
  private static final int FILES_MAX = 20;

  /**
   * What was found.
   *
   * @param difference null if the rows are the same
   */
  record Outcome(long fromRows, long toRows, @Nullable Difference difference) {}

  private final LiveRowScan scan;
  private final LiveRowScan.Files from;
  private final LiveRowScan.Files to;
  private final long hashesMax;

  /**
   * @param hashBytes heap that row hashes may take when a difference is looked for
   */
  RowComparison(LiveRowScan scan, LiveRowScan.Files from, LiveRowScan.Files to, long hashBytes) {
    this.scan = scan;
    this.from = from;
    this.to = to;
    this.hashesMax = Math.max(1, hashBytes / RowHashCounts.BYTES_PER_HASH);
  }

  Outcome compare() throws IOException {
    Map<PartitionTuple, RowDigest> fromDigests = digests(from);
    Map<PartitionTuple, RowDigest> toDigests = digests(to);
    long fromRows = fromDigests.values().stream().mapToLong(RowDigest::rows).sum();
    long toRows = toDigests.values().stream().mapToLong(RowDigest::rows).sum();
    Set<PartitionTuple> differing = new HashSet<>();
    Set<PartitionTuple> all = new HashSet<>(fromDigests.keySet());
    all.addAll(toDigests.keySet());
    RowDigest none = sum(Map.of(), Set.of());
    for (PartitionTuple partition : all) {
      RowDigest ofFrom = fromDigests.getOrDefault(partition, none);
      if (!ofFrom.sameAs(toDigests.getOrDefault(partition, none))) {
        differing.add(partition);
      }
    }
    boolean oneSpec = differing.stream().map(PartitionTuple::specId).distinct().count() <= 1;
    if (!oneSpec && sum(fromDigests, differing).sameAs(sum(toDigests, differing))) {
      differing.clear();
    }
    if (differing.isEmpty()) {
      return new Outcome(fromRows, toRows, null);
    }
    Map<PartitionTuple, String> paths = paths(differing);
    PartitionTuple first =
        differing.stream()
            .min(
                Comparator.comparing((PartitionTuple partition) -> paths.get(partition))
                    .thenComparing(PartitionTuple::specId))
            .orElseThrow();
    Set<PartitionTuple> unit = oneSpec ? Set.of(first) : differing;
    Difference difference =
        difference(
            unit,
            oneSpec ? Objects.requireNonNull(paths.get(first)) : "",
            differing.size(),
            sum(fromDigests, unit),
            sum(toDigests, unit));
    return new Outcome(fromRows, toRows, difference);
  }

  /** A digest of each partition that has live rows. */
  private Map<PartitionTuple, RowDigest> digests(LiveRowScan.Files files) throws IOException {
    List<Digests> made = new ArrayList<>();
    scan.read(
        files,
        () -> {
          Digests digests = new Digests(scan.hasher());
          made.add(digests);
          return digests;
        });
    Map<PartitionTuple, RowDigest> digests = new HashMap<>();
    for (Digests one : made) {
      one.byPartition.forEach(
          (partition, digest) ->
              digests.merge(
                  partition,
                  digest,
                  (sum, other) -> {
                    sum.add(other);
                    return sum;
                  }));
    }
    return digests;
  }

  /** What one thread adds up. */
  private static final class Digests implements LiveRowScan.Visitor {
    final Map<PartitionTuple, RowDigest> byPartition = new HashMap<>();
    private final RowHasher hasher;
    private final int columns;
    private @Nullable FileScanTask task;
    private RowDigest digest;

    Digests(RowHasher hasher) {
      this.hasher = hasher;
      this.columns = hasher.columnNames().size();
      this.digest = new RowDigest(columns);
    }

    @Override
    @SuppressWarnings(
        "ReferenceEquality") // a task is its file's, and only looked up when it changes
    public void accept(
        FileScanTask of, long firstPosition, VectorSchemaRoot batch, long[] live, int liveRows) {
      if (task != of) {
        task = of;
        digest =
            byPartition.computeIfAbsent(
                PartitionTuple.of(of.file()), partition -> new RowDigest(columns));
      }
      hasher.hash(batch, live, liveRows, digest);
    }
  }

  private RowDigest sum(
      Map<PartitionTuple, RowDigest> digests, Collection<PartitionTuple> partitions) {
    RowDigest sum = new RowDigest(scan.hasher().columnNames().size());
    for (PartitionTuple partition : partitions) {
      RowDigest digest = digests.get(partition);
      if (digest != null) {
        sum.add(digest);
      }
    }
    return sum;
  }

  private Map<PartitionTuple, String> paths(Set<PartitionTuple> partitions) {
    Map<PartitionTuple, String> paths = new HashMap<>();
    for (LiveRowScan.Files files : List.of(from, to)) {
      for (FileScanTask task : files.tasks()) {
        PartitionTuple partition = PartitionTuple.of(task.file());
        if (partitions.contains(partition)) {
          paths.computeIfAbsent(partition, of -> partitionPath(files, task));
        }
      }
    }
    return paths;
  }

  private static String partitionPath(LiveRowScan.Files files, FileScanTask task) {
    PartitionSpec spec = Objects.requireNonNull(files.specs().get(task.file().specId()));
    return ExplainingPlanner.partitionPath(spec, task.file());
  }

  // ---- where they differ

  private Difference difference(
      Set<PartitionTuple> unit,
      String path,
      int partitions,
      RowDigest fromDigest,
      RowDigest toDigest)
      throws IOException {
    LiveRowScan.Files fromFiles = only(from, unit);
    LiveRowScan.Files toFiles = only(to, unit);
    Ranges fromRanges = ranges(fromFiles);
    Ranges toRanges = ranges(toFiles);
    BitSet differing = fromRanges.differing(toRanges);
    BitSet looked = fitting(differing, fromRanges, toRanges);
    RowHashCounts counts = new RowHashCounts();
    count(fromFiles, looked, counts, 1);
    count(toFiles, looked, counts, -1);
    Findings findings = new Findings();
    find(Side.FROM, fromFiles, looked, counts, findings);
    find(Side.TO, toFiles, looked, counts, findings);
    return new Difference(
        path,
        partitions,
        new VerificationReport.Rows(fromDigest.rows(), toDigest.rows()),
        columns(fromDigest, toDigest, fromRanges, toRanges),
        looked.equals(differing),
        findings.files(),
        findings.examples());
  }

  private static LiveRowScan.Files only(LiveRowScan.Files files, Set<PartitionTuple> partitions) {
    return files.only(
        files.tasks().stream()
            .filter(task -> partitions.contains(PartitionTuple.of(task.file())))
            .toList());
  }

  private List<String> columns(
      RowDigest fromDigest, RowDigest toDigest, Ranges fromRanges, Ranges toRanges) {
    RowHasher hasher = scan.hasher();
    List<String> names = hasher.columnNames();
    BitSet differing = fromDigest.differingColumns(toDigest);
    if (!differing.isEmpty()) {
      return differing.stream().mapToObj(names::get).toList();
    }
    List<String> swapped = new ArrayList<>();
    for (int i = 0; i < fromRanges.without.length; i++) {
      if (fromRanges.without[i] == toRanges.without[i]) {
        swapped.add(hasher.topColumnNames().get(i));
      }
    }
    return swapped;
  }

  /** Counts and sums of the row hashes in each range, and of rows without one column each. */
  private static final class Ranges {
    final long[] counts = new long[RANGES];
    final long[] sums = new long[RANGES];
    final long[] without;

    Ranges(int columns) {
      without = new long[columns];
    }

    synchronized void add(RowHasher hasher, int rows, long[] withoutOfBatch) {
      for (int row = 0; row < rows; row++) {
        long hash = hasher.rowHash(row);
        counts[range(hash)]++;
        sums[range(hash)] += hash;
      }
      for (int i = 0; i < without.length; i++) {
        without[i] += withoutOfBatch[i];
      }
    }

    BitSet differing(Ranges other) {
      BitSet differing = new BitSet(RANGES);
      for (int range = 0; range < RANGES; range++) {
        if (counts[range] != other.counts[range] || sums[range] != other.sums[range]) {
          differing.set(range);
        }
      }
      return differing;
    }
  }

  private static int range(long hash) {
    return (int) (hash >>> 48);
  }

  private Ranges ranges(LiveRowScan.Files files) throws IOException {
    int columns = scan.columns().columns().size();
    Ranges ranges = new Ranges(columns);
    scan.read(
        files,
        () -> {
          RowHasher hasher = scan.hasher();
          RowDigest digest = new RowDigest(hasher.columnNames().size());
          return (task, firstPosition, batch, live, liveRows) -> {
            long[] without = new long[columns];
            hasher.hashWithout(batch, live, liveRows, digest, without);
            ranges.add(hasher, liveRows, without);
          };
        });
    return ranges;
  }

  /** The first of the ranges whose rows fit in the memory for hashes; at least one. */
  private BitSet fitting(BitSet differing, Ranges fromRanges, Ranges toRanges) {
    BitSet fitting = new BitSet(RANGES);
    long rows = 0;
    for (int range = differing.nextSetBit(0); range >= 0; range = differing.nextSetBit(range + 1)) {
      rows += fromRanges.counts[range] + toRanges.counts[range];
      if (rows > hashesMax && !fitting.isEmpty()) {
        break;
      }
      fitting.set(range);
    }
    return fitting;
  }

  private void count(LiveRowScan.Files files, BitSet ranges, RowHashCounts counts, int step)
      throws IOException {
    scan.read(
        files,
        () -> {
          RowHasher hasher = scan.hasher();
          RowDigest digest = new RowDigest(hasher.columnNames().size());
          return (task, firstPosition, batch, live, liveRows) -> {
            hasher.hash(batch, live, liveRows, digest);
            synchronized (counts) {
              for (int row = 0; row < liveRows; row++) {
                long hash = hasher.rowHash(row);
                if (ranges.get(range(hash))) {
                  counts.add(hash, step);
                }
              }
            }
          };
        });
  }

  private void find(
      Side side, LiveRowScan.Files files, BitSet ranges, RowHashCounts counts, Findings findings)
      throws IOException {
    scan.read(
        files,
        () -> {
          RowHasher hasher = scan.hasher();
          RowDigest digest = new RowDigest(hasher.columnNames().size());
          return (task, firstPosition, batch, live, liveRows) -> {
            hasher.hash(batch, live, liveRows, digest);
            for (int row = 0; row < liveRows; row++) {
              long hash = hasher.rowHash(row);
              if (!ranges.get(range(hash))) {
                continue;
              }
              int surplus = side == Side.FROM ? counts.count(hash) : -counts.count(hash);
              if (surplus > 0) {
                int at = hasher.row(row);
                findings.add(side, task.file().location(), firstPosition + at, batch, at);
              }
            }
          };
        });
  }

  /** Rows without a counterpart: how many in which file, and the first few of each side. */
  private final class Findings {
    private final Map<Side, TreeMap<String, Long>> rows =
        Map.of(Side.FROM, new TreeMap<>(), Side.TO, new TreeMap<>());
    private final Map<Side, List<Example>> examples =
        Map.of(Side.FROM, new ArrayList<>(), Side.TO, new ArrayList<>());

    /* Threads find rows in any order: of those found, the first by file and position are kept. */
    synchronized void add(Side side, String file, long position, VectorSchemaRoot batch, int row) {
      Objects.requireNonNull(rows.get(side)).merge(file, 1L, Long::sum);
      List<Example> kept = Objects.requireNonNull(examples.get(side));
      int place = 0;
      while (place < kept.size() && isBefore(kept.get(place), file, position)) {
        place++;
      }
      if (place < EXAMPLES_MAX) {
        kept.add(place, new Example(side, file, position, values(batch, row)));
        if (kept.size() > EXAMPLES_MAX) {
          kept.remove(EXAMPLES_MAX);
        }
      }
    }

    private static boolean isBefore(Example example, String file, long position) {
      int order = example.file().compareTo(file);
      return order < 0 || order == 0 && example.position() < position;
    }

    private Map<String, String> values(VectorSchemaRoot batch, int row) {
      Map<String, String> values = new LinkedHashMap<>();
      List<Types.NestedField> columns = scan.columns().columns();
      for (int i = 0; i < columns.size(); i++) {
        values.put(
            columns.get(i).name(), ValueText.of(columns.get(i).type(), batch.getVector(i), row));
      }
      return values;
    }

    List<DifferingFile> files() {
      List<DifferingFile> files = new ArrayList<>();
      for (Side side : Side.values()) {
        Objects.requireNonNull(rows.get(side)).entrySet().stream()
            .limit(FILES_MAX)
            .forEach(entry -> files.add(new DifferingFile(side, entry.getKey(), entry.getValue())));
      }
      return files;
    }

    List<Example> examples() {
      List<Example> all = new ArrayList<>();
      for (Side side : Side.values()) {
        all.addAll(Objects.requireNonNull(examples.get(side)));
      }
      return all;
    }
  }
}
