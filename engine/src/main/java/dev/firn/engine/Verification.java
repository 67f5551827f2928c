package dev.firn.engine;

import dev.firn.commit.CommitCoordinator;
import dev.firn.deletes.DeleteLimits;
import dev.firn.engine.parquet.SupportedTypes;
import dev.firn.engine.parquet.TableReader;
import dev.firn.engine.parquet.UnsupportedTableException;
import dev.firn.engine.verify.RowHasher;
import dev.firn.io.RangeReader;
import java.io.IOException;
import java.io.UncheckedIOException;
import java.util.ArrayList;
import java.util.Comparator;
import java.util.List;
import java.util.Set;
import java.util.concurrent.ExecutorService;
import java.util.stream.Stream;
import org.apache.arrow.memory.BufferAllocator;
import org.apache.arrow.memory.RootAllocator;
import org.apache.iceberg.FileScanTask;
import org.apache.iceberg.MetadataColumns;
import org.apache.iceberg.Schema;
import org.apache.iceberg.Snapshot;
import org.apache.iceberg.SnapshotRef;
import org.apache.iceberg.Table;
import org.apache.iceberg.TableUtil;
import org.apache.iceberg.encryption.PlaintextEncryptionManager;
import org.apache.iceberg.types.TypeUtil;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;

/**
 * Compares the live rows of two snapshots of a table, whatever files they lie in: by row counts and
 * by hashes of 128 bits of each column and of whole rows that do not depend on the rows' order. On
 * tables of format version 3 row ids and sequence numbers of the last update are columns like
 * others.
 *
 * <p>Both snapshots are read by the schema of the newer one, so that columns added meanwhile have
 * their defaults in both, and columns dropped meanwhile are not compared. Data files that both have
 * with the same deletes hold the same rows and are not read unless asked for.
 *
 * <p>Nothing is written. An instance may be used once, by one thread; its own threads end with it.
 * The table and its {@code FileIO} stay the caller's.
 */
public final class Verification {
  private static final Logger LOG = LoggerFactory.getLogger(Verification.class);
  private static final int REQUESTS_MAX = 32;

  /** Memory that one row group in work needs at least. */
  private static final long THREAD_BYTES_MIN = 256L << 20;

  /** Hears of a verification's progress, from several threads, and should return quickly. */
  public interface Listener {
    /** Hears nothing. */
    Listener NONE = new Listener() {};

    /** So many data files with so many bytes are to be read, counted once for each snapshot. */
    default void planned(long files, long bytes) {}

    /** So many more bytes have been read; more than planned where a difference is looked for. */
    default void progressed(long bytes) {}
  }

  private final Table table;
  private final VerificationSettings settings;
  private final Listener listener;

  public Verification(Table table, VerificationSettings settings, Listener listener) {
    this.table = table;
    this.settings = settings;
    this.listener = listener;
  }

  /**
   * Compares.
   *
   * @throws UnsupportedTableException if the table holds what Firn does not read
   * @throws IllegalArgumentException if a snapshot is missing
   */
  public VerificationReport run() {
    long started = System.nanoTime();
    refuseUnsupported();
    Snapshot to = settings.to() == null ? head() : snapshot(settings.to());
    Snapshot from = settings.from() == null ? before(to) : snapshot(settings.from());
    Schema schema = newerSchema(from, to);
    SupportedTypes.check(schema);
    boolean lineage = from.firstRowId() != null && to.firstRowId() != null;
    Schema columns =
        SupportedTypes.stored(lineage ? MetadataColumns.schemaWithRowLineage(schema) : schema);
    SnapshotFiles fromFiles = SnapshotFiles.of(table, from, location -> true);
    SnapshotFiles toFiles = SnapshotFiles.of(table, to, location -> true);
    long shared = settings.full() ? 0 : SnapshotFiles.removeShared(fromFiles, toFiles, lineage);
    long fromCount = fromFiles.tasks().size();
    long toCount = toFiles.tasks().size();
    listener.planned(
        fromCount + toCount,
        Stream.of(fromFiles, toFiles)
            .flatMap(files -> files.tasks().stream())
            .mapToLong(FileScanTask::length)
            .sum());
    RowComparison.Outcome outcome = compare(schema, columns, fromFiles, toFiles);
    return new VerificationReport(
        table.name(),
        settings.branch(),
        from.snapshotId(),
        to.snapshotId(),
        outcome.difference() == null,
        new VerificationReport.Rows(outcome.fromRows(), outcome.toRows()),
        new VerificationReport.DataFiles(shared, fromCount, toCount),
        new RowHasher(columns, Set.of()).columnNames(),
        notCompared(from, to, schema, lineage),
        outcome.difference(),
        Math.round((System.nanoTime() - started) / 1e6) / 1e3,
        ProcessMemory.peakBytes());
  }

  private void refuseUnsupported() {
    int formatVersion = TableUtil.formatVersion(table);
    if (formatVersion > Pin.LINEAGE_FORMAT_VERSION) {
      throw new UnsupportedTableException(
          "Cannot verify "
              + table.name()
              + ": format version "
              + formatVersion
              + " is not supported");
    }
    if (!(table.encryption() instanceof PlaintextEncryptionManager)) {
      throw new UnsupportedTableException(
          "Cannot verify " + table.name() + ": the table is encrypted, which is not supported");
    }
  }

  // ---- which snapshots

  private Snapshot head() {
    Snapshot head = table.snapshot(settings.branch());
    if (head == null) {
      throw missing("branch " + settings.branch() + " is not there or has no snapshot");
    }
    return head;
  }

  private Snapshot snapshot(String given) {
    Snapshot snapshot = null;
    try {
      snapshot = table.snapshot(Long.parseLong(given));
    } catch (NumberFormatException e) {
      LOG.debug("{} is no snapshot id, and so a name", given);
    }
    SnapshotRef ref = table.refs().get(given);
    if (snapshot == null && ref != null) {
      snapshot = table.snapshot(ref.snapshotId());
    }
    if (snapshot == null) {
      throw missing(
          given + " is neither the id of a snapshot that it still has nor a branch or tag");
    }
    return snapshot;
  }

  /**
   * The newest ancestor that the run of {@code to} has not made, which for others is the parent.
   */
  private Snapshot before(Snapshot to) {
    String runId = to.summary().get(CommitCoordinator.RUN_ID);
    Snapshot snapshot = to;
    do {
      Long parentId = snapshot.parentId();
      Snapshot parent = parentId == null ? null : table.snapshot(parentId);
      if (parent == null) {
        throw missing(
            "snapshot "
                + snapshot.snapshotId()
                + (parentId == null ? " has no parent" : "'s parent " + parentId + " has expired")
                + ", so there is nothing to compare with unless --from names it");
      }
      snapshot = parent;
    } while (runId != null && runId.equals(snapshot.summary().get(CommitCoordinator.RUN_ID)));
    return snapshot;
  }

  private IllegalArgumentException missing(String what) {
    return new IllegalArgumentException("Cannot verify " + table.name() + ": " + what);
  }

  // ---- which columns

  private Schema newerSchema(Snapshot from, Snapshot to) {
    Snapshot newer =
        from.sequenceNumber() > to.sequenceNumber()
                || from.sequenceNumber() == to.sequenceNumber()
                    && from.timestampMillis() > to.timestampMillis()
            ? from
            : to;
    return schema(newer);
  }

  private Schema schema(Snapshot snapshot) {
    Schema schema = snapshot.schemaId() == null ? null : table.schemas().get(snapshot.schemaId());
    return schema == null ? table.schema() : schema;
  }

  private List<String> notCompared(Snapshot from, Snapshot to, Schema compared, boolean lineage) {
    List<String> names = new ArrayList<>();
    Set<Integer> ids = TypeUtil.indexById(compared.asStruct()).keySet();
    for (Snapshot snapshot : List.of(from, to)) {
      Schema schema = schema(snapshot);
      TypeUtil.indexById(schema.asStruct()).keySet().stream()
          .sorted()
          .filter(id -> !ids.contains(id))
          .map(schema::findColumnName)
          .filter(name -> !names.contains(name))
          .forEach(names::add);
    }
    if (!lineage && TableUtil.formatVersion(table) >= Pin.LINEAGE_FORMAT_VERSION) {
      names.add(MetadataColumns.ROW_ID.name());
      names.add(MetadataColumns.LAST_UPDATED_SEQUENCE_NUMBER.name());
    }
    return names;
  }

  // ---- reading

  private RowComparison.Outcome compare(
      Schema schema, Schema columns, SnapshotFiles fromFiles, SnapshotFiles toFiles) {
    MemoryShares memory = MemoryShares.of(settings.memoryBytes());
    int threads =
        (int) Math.max(1, Math.min(settings.threads(), memory.totalBytes() / THREAD_BYTES_MIN));
    try (ScratchDirectory scratch = ScratchDirectory.in(settings.scratch(), "verify");
        BufferAllocator allocator = new RootAllocator(memory.allocatorBytes());
        RangeReader ranges = RangeReader.over(table.io(), REQUESTS_MAX);
        TableReader reader =
            new TableReader(
                table.io(),
                schema,
                table.specs(),
                Pin.nameMapping(table),
                ranges,
                allocator,
                scratch.path(),
                GroupRewrite.BATCH_ROWS)) {
      ExecutorService fetchers = Threads.pool(Math.max(4, settings.threads() * 2), "firn-fetch");
      ExecutorService workers = Threads.pool(threads, "firn-verify");
      LiveRowScan scan =
          new LiveRowScan(
              new LiveRowScan.Means(
                  schema,
                  table.schemas().values(),
                  columns,
                  LiveRowScan.identitySources(table.specs().values()),
                  reader,
                  new DeleteLimits(memory.keyIndexBytes()),
                  allocator,
                  fetchers,
                  workers,
                  threads,
                  allocator.getLimit(),
                  listener::progressed));
      try {
        return new RowComparison(
                scan,
                files(fromFiles, reader, columns),
                files(toFiles, reader, columns),
                memory.heapBytes() / 8)
            .compare();
      } finally {
        // Before what they read with is closed.
        Threads.stop(workers);
        Threads.stop(fetchers);
      }
    } catch (IOException e) {
      throw new UncheckedIOException("Cannot verify " + table.name() + ": " + e.getMessage(), e);
    }
  }

  /** In the order of partitions, so that deletes of one are needed together. */
  private static LiveRowScan.Files files(SnapshotFiles files, TableReader reader, Schema columns) {
    List<FileScanTask> tasks = new ArrayList<>(files.tasks());
    tasks.sort(
        Comparator.comparing((FileScanTask task) -> task.file().specId())
            .thenComparing(task -> String.valueOf(task.file().partition()))
            .thenComparing(task -> task.file().location()));
    return new LiveRowScan.Files(
        tasks, files.specs(), files.unpruned()::of, task -> reader.open(task, columns));
  }
}
