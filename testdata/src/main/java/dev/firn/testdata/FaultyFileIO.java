package dev.firn.testdata;

import java.io.Closeable;
import java.io.IOException;
import java.util.ArrayList;
import java.util.EnumMap;
import java.util.List;
import java.util.Map;
import java.util.function.Predicate;
import org.apache.iceberg.exceptions.RuntimeIOException;
import org.apache.iceberg.io.FileIO;

/**
 * A FileIO that fails on demand and knows which streams are open. May be used by any thread.
 *
 * <pre>{@code
 * FaultyFileIO io = new FaultyFileIO(table.io()).fail(Call.WRITE, 3, location -> true);
 * }</pre>
 */
public final class FaultyFileIO extends DelegatingFileIO {
  /** What can fail. */
  public enum Call {
    /** Opening a file to read. */
    OPEN,
    /** One read of an open file. */
    READ,
    /** Creating a file. */
    CREATE,
    /** One write to an open file. */
    WRITE,
    /** Closing a file that was written. The file stays, as if its end were lost on the way. */
    CLOSE,
    /** Deleting a file. It stays. */
    DELETE,
    /** Asking for a file's length or existence. */
    STAT
  }

  private static final class Fault {
    final Call call;
    final Predicate<String> locations;
    long callsBefore;
    long failures;

    Fault(Call call, Predicate<String> locations, long callsBefore, long failures) {
      this.call = call;
      this.locations = locations;
      this.callsBefore = callsBefore;
      this.failures = failures;
    }
  }

  private final transient List<Fault> faults = new ArrayList<>();
  private final transient Map<Call, Long> calls = new EnumMap<>(Call.class);
  private final transient OpenStreams open = new OpenStreams();
  private long failed;

  /** Fails nothing until told to. */
  public FaultyFileIO(FileIO delegate) {
    super(delegate);
  }

  /** Makes the nth such call from now on fail, once; 1 is the next one. */
  public FaultyFileIO fail(Call call, long nth) {
    return fail(call, nth, location -> true);
  }

  /** Makes the nth such call from now on at a matching location fail, once. */
  public synchronized FaultyFileIO fail(Call call, long nth, Predicate<String> locations) {
    faults.add(new Fault(call, locations, nth - 1, 1));
    return this;
  }

  /** Makes every such call at a matching location fail. */
  public synchronized FaultyFileIO failAll(Call call, Predicate<String> locations) {
    faults.add(new Fault(call, locations, 0, Long.MAX_VALUE));
    return this;
  }

  /** Stops failing. */
  public synchronized FaultyFileIO heal() {
    faults.clear();
    return this;
  }

  /** How many such calls there were, failed ones included: the range to sweep {@code nth} over. */
  public synchronized long calls(Call call) {
    return calls.getOrDefault(call, 0L);
  }

  /** How many calls were made to fail. */
  public synchronized long failed() {
    return failed;
  }

  /** The locations of streams that are still open, with how many of each. */
  public Map<String, Integer> openStreams() {
    return open.byLocation();
  }

  private synchronized void check(Call call, String location) throws IOException {
    calls.merge(call, 1L, Long::sum);
    boolean fails = false;
    for (Fault fault : faults) {
      if (fault.call == call && fault.locations.test(location)) {
        if (fault.callsBefore > 0) {
          fault.callsBefore--;
        } else if (fault.failures > 0) {
          fault.failures--;
          fails = true;
        }
      }
    }
    if (fails) {
      failed++;
      throw new IOException(
          "Made to fail: " + call + " number " + calls.get(call) + " " + location);
    }
  }

  private void checkUnchecked(Call call, String location) {
    try {
      check(call, location);
    } catch (IOException e) {
      throw new RuntimeIOException(e);
    }
  }

  @Override
  void beforeOpen(String location) throws IOException {
    check(Call.OPEN, location);
  }

  @Override
  void beforeRead(String location, long bytes) throws IOException {
    check(Call.READ, location);
  }

  @Override
  void beforeCreate(String location) throws IOException {
    check(Call.CREATE, location);
  }

  @Override
  void beforeWrite(String location, long bytes) throws IOException {
    check(Call.WRITE, location);
  }

  @Override
  void beforeCloseOutput(String location) throws IOException {
    check(Call.CLOSE, location);
  }

  @Override
  void beforeDelete(String location) {
    checkUnchecked(Call.DELETE, location);
  }

  @Override
  void beforeStat(String location) {
    checkUnchecked(Call.STAT, location);
  }

  @Override
  void opened(String location, Closeable stream) {
    open.add(location);
  }

  @Override
  void closed(String location, Closeable stream) {
    open.remove(location);
  }
}
