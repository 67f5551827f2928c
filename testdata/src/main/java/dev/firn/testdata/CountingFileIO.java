package dev.firn.testdata;

import java.io.Closeable;
import java.util.Map;
import java.util.Set;
import java.util.TreeMap;
import java.util.TreeSet;
import java.util.concurrent.ConcurrentHashMap;
import java.util.concurrent.atomic.AtomicInteger;
import java.util.concurrent.atomic.LongAdder;
import org.apache.iceberg.io.FileIO;
import org.apache.iceberg.io.PositionOutputStream;

/** A FileIO that counts what is asked of another one, by location. May be used by any thread. */
public final class CountingFileIO extends DelegatingFileIO {
  private final transient Map<String, LongAdder> opens = new ConcurrentHashMap<>();
  private final transient Map<String, LongAdder> reads = new ConcurrentHashMap<>();
  private final transient Map<String, LongAdder> bytesRead = new ConcurrentHashMap<>();
  private final transient Set<String> created = ConcurrentHashMap.newKeySet();
  private final transient Set<String> deleted = ConcurrentHashMap.newKeySet();
  private final transient OpenStreams open = new OpenStreams();

  private final AtomicInteger outputsOpen = new AtomicInteger();
  private final AtomicInteger outputsOpenMax = new AtomicInteger();

  /** Counts what {@code delegate} does. */
  public CountingFileIO(FileIO delegate) {
    super(delegate);
  }

  /** How often the file was opened to read. */
  public long opens(String location) {
    return count(opens, location);
  }

  /** How often all files together were opened to read. */
  public long opens() {
    return opens.values().stream().mapToLong(LongAdder::sum).sum();
  }

  /** How many reads were made of the file. */
  public long reads(String location) {
    return count(reads, location);
  }

  /** How many bytes were read of the file, in all. */
  public long bytesRead(String location) {
    return count(bytesRead, location);
  }

  /** How many bytes were read of all files. */
  public long bytesRead() {
    return bytesRead.values().stream().mapToLong(LongAdder::sum).sum();
  }

  /** The files that were opened to read, with how often. */
  public Map<String, Long> opensByLocation() {
    Map<String, Long> counts = new TreeMap<>();
    opens.forEach((location, count) -> counts.put(location, count.sum()));
    return counts;
  }

  /** The files that were created. */
  public Set<String> created() {
    return new TreeSet<>(created);
  }

  /** The files that were deleted. */
  public Set<String> deleted() {
    return new TreeSet<>(deleted);
  }

  /** The locations of streams that are still open, with how many of each. */
  public Map<String, Integer> openStreams() {
    return open.byLocation();
  }

  /** How many files were open at once to be written, at most. */
  public int outputsOpenMax() {
    return outputsOpenMax.get();
  }

  /** Forgets all counts; open streams stay open. */
  public void reset() {
    opens.clear();
    reads.clear();
    bytesRead.clear();
    created.clear();
    deleted.clear();
    outputsOpenMax.set(outputsOpen.get());
  }

  private static long count(Map<String, LongAdder> counts, String location) {
    LongAdder count = counts.get(location);
    return count == null ? 0 : count.sum();
  }

  private static void add(Map<String, LongAdder> counts, String location, long amount) {
    counts.computeIfAbsent(location, ignored -> new LongAdder()).add(amount);
  }

  @Override
  void beforeOpen(String location) {
    add(opens, location, 1);
  }

  @Override
  void afterRead(String location, long bytes) {
    add(reads, location, 1);
    add(bytesRead, location, bytes);
  }

  @Override
  void beforeCreate(String location) {
    created.add(location);
  }

  @Override
  void beforeDelete(String location) {
    deleted.add(location);
  }

  @Override
  void opened(String location, Closeable stream) {
    if (stream instanceof PositionOutputStream) {
      outputsOpenMax.accumulateAndGet(outputsOpen.incrementAndGet(), Math::max);
    }
    open.add(location);
  }

  @Override
  void closed(String location, Closeable stream) {
    if (stream instanceof PositionOutputStream) {
      outputsOpen.decrementAndGet();
    }
    open.remove(location);
  }
}
