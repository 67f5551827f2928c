package dev.firn.io;

import java.io.IOException;
import java.nio.ByteBuffer;
import java.nio.channels.FileChannel;
import java.nio.file.Path;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.Set;
import java.util.concurrent.ConcurrentHashMap;
import java.util.concurrent.LinkedBlockingQueue;
import java.util.concurrent.RejectedExecutionException;
import java.util.concurrent.ThreadPoolExecutor;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.atomic.AtomicInteger;
import org.apache.iceberg.aws.HttpClientProperties;
import org.apache.iceberg.aws.s3.S3FileIO;
import org.apache.iceberg.aws.s3.S3InputFile;
import org.apache.iceberg.io.FileIO;
import org.apache.iceberg.io.InputFile;
import org.apache.iceberg.io.ResolvingFileIO;
import org.jspecify.annotations.Nullable;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;

/**
 * Reads ranges with a pool of as many threads as there may be requests.
 *
 * <p>A transfer has several lanes. A lane reads one request in a turn and then goes to the end of
 * the pool's queue with its next, so a footer does not wait for all of a large file before it.
 */
final class ParallelRangeReader implements RangeReader {
  private static final Logger LOG = LoggerFactory.getLogger(ParallelRangeReader.class);

  private static final int BUFFER_BYTES = 256 << 10;
  private static final long IDLE_SECONDS_MAX = 30;

  /** What the SDK's Apache client allows unless told otherwise. */
  private static final int CONNECTIONS_MAX_PRESET = 50;

  private final FileIO io;
  private final int requestsMax;
  private final Backoff backoff;
  private final Traffic traffic = new Traffic();
  private final ThreadPoolExecutor workers;
  private final Set<Transfer> transfers = ConcurrentHashMap.newKeySet();
  private final ThreadLocal<byte[]> heapBuffers =
      ThreadLocal.withInitial(() -> new byte[BUFFER_BYTES]);
  private final ThreadLocal<ByteBuffer> directBuffers =
      ThreadLocal.withInitial(() -> ByteBuffer.allocateDirect(BUFFER_BYTES));
  private volatile boolean closed;
  private volatile LocalSource.@Nullable Names localNames; // null before a location may be local

  /** What a ResolvingFileIO would hand S3 locations to; made when first needed. Guarded by this. */
  private @Nullable S3FileIO ownS3;

  ParallelRangeReader(FileIO io, int requestsMax, Backoff backoff) {
    if (requestsMax <= 0) {
      throw new IllegalArgumentException("requestsMax must be positive but was " + requestsMax);
    }
    this.io = io;
    this.requestsMax = requestsMax;
    this.backoff = backoff;
    AtomicInteger started = new AtomicInteger();
    this.workers =
        new ThreadPoolExecutor(
            requestsMax,
            requestsMax,
            IDLE_SECONDS_MAX,
            TimeUnit.SECONDS,
            new LinkedBlockingQueue<>(),
            task -> {
              Thread worker = new Thread(task, "firn-range-" + started.incrementAndGet());
              worker.setDaemon(true);
              return worker;
            });
    workers.allowCoreThreadTimeOut(true);
  }

  @Override
  public byte[] read(String location, long fileLength, long offset, int length) throws IOException {
    Range range = new Range(offset, length, 0);
    byte[] bytes = new byte[length];
    read(
        location,
        fileLength,
        List.of(range),
        (part, at) -> part.get(bytes, Math.toIntExact(at), part.remaining()));
    return bytes;
  }

  @Override
  public void read(String location, long fileLength, List<Range> ranges, FileChannel target)
      throws IOException {
    Target channel =
        (part, at) -> {
          for (long position = at; part.hasRemaining(); ) {
            position += target.write(part, position);
          }
        };
    read(location, fileLength, ranges, channel, false); // an interrupt would close it
  }

  @Override
  public void read(String location, long fileLength, List<Range> ranges, Target target)
      throws IOException {
    read(location, fileLength, ranges, target, true);
  }

  /**
   * @param mayReadHere whether the target may be written by the thread that asks
   */
  private void read(
      String location, long fileLength, List<Range> ranges, Target target, boolean mayReadHere)
      throws IOException {
    if (closed) {
      throw new IllegalStateException("Cannot read " + location + ": the reader is closed");
    }
    for (Range range : ranges) {
      if (range.offset() + range.length() > fileLength) {
        throw new IOException(
            "Cannot read bytes "
                + range.offset()
                + " to "
                + (range.offset() + range.length())
                + " of "
                + location
                + ": the file has "
                + fileLength
                + " bytes. Its footer or the table's metadata is damaged.");
      }
    }
    ByteSource source = source(location, fileLength);
    List<RangeRequest> requests =
        RangeRequest.of(ranges, source.requestBytesMax(), source.gapBytesMax());
    int lanes = Math.min(requests.size(), source.lanesMax());
    Transfer transfer = new Transfer(location, requests, lanes, target);
    transfers.add(transfer);
    try {
      if (mayReadHere && requests.size() == 1 && source.isNear()) {
        work(source.lane(), requests.get(0), transfer);
      } else {
        for (int i = 0; i < lanes; i++) {
          take(source.lane(), transfer);
        }
      }
      if (closed) {
        transfer.fail(closedException(transfer));
      }
      transfer.await();
    } finally {
      transfers.remove(transfer);
    }
  }

  /** Queues a lane with the next request of its transfer, or ends it. */
  private void take(ByteSource.Lane lane, Transfer transfer) {
    RangeRequest request = transfer.next();
    if (request != null) {
      try {
        workers.execute(() -> work(lane, request, transfer));
        return;
      } catch (RejectedExecutionException e) {
        transfer.fail(closedException(transfer));
      }
    }
    try {
      lane.close();
    } catch (IOException | RuntimeException e) {
      LOG.debug("A stream of {} did not close", transfer.location(), e);
    } finally {
      transfer.laneEnded();
    }
  }

  private void work(ByteSource.Lane lane, RangeRequest request, Transfer transfer) {
    try {
      lane.read(request, transfer);
      transfer.finished();
    } catch (IOException | Error e) {
      transfer.fail(e);
    } catch (RuntimeException e) {
      transfer.fail(
          new IOException("Cannot read " + request + " of " + transfer.location() + ": " + e, e));
    } finally {
      take(lane, transfer);
    }
  }

  private static IOException closedException(Transfer transfer) {
    return new IOException(
        "Cannot read " + transfer.location() + ": the reader was closed meanwhile");
  }

  private ByteSource source(String location, long fileLength) throws IOException {
    try {
      S3FileIO s3 = s3(location);
      if (s3 != null) {
        return new S3Source(
            s3, location, fileLength, requestsMax, heapBuffers::get, traffic, backoff);
      }
      if (LocalSource.isHadoop(location, io)) {
        Path path = localNames().pathOf(location);
        if (path != null) {
          return new LocalSource(location, path, directBuffers::get, traffic);
        }
      }
      InputFile file = io.newInputFile(location, fileLength);
      // S3FileIO inside another FileIO: its streams make one GET per call and do not resume.
      return file instanceof S3InputFile
          ? new StreamSource(file, requestsMax, S3Source.ATTEMPTS_MAX, traffic, backoff)
          : new StreamSource(file, StreamSource.LANES_MAX, 1, traffic, backoff);
    } catch (RuntimeException e) {
      throw new IOException("Cannot open " + location + ": " + e, e);
    }
  }

  private LocalSource.Names localNames() {
    LocalSource.Names names = localNames;
    if (names == null) {
      names = LocalSource.Names.of(io);
      localNames = names;
    }
    return names;
  }

  /**
   * The FileIO whose clients read the location, or null if it is not S3FileIO. Not one that extends
   * it: that may see files differently.
   */
  private @Nullable S3FileIO s3(String location) {
    if (io.getClass() == S3FileIO.class) {
      return (S3FileIO) io;
    }
    if (io instanceof ResolvingFileIO resolving
        && resolving.ioClass(location).getName().equals(S3FileIO.class.getName())) {
      return ownS3(resolving);
    }
    return null;
  }

  private synchronized S3FileIO ownS3(ResolvingFileIO resolving) {
    S3FileIO own = ownS3;
    if (own == null) {
      if (closed) {
        throw new IllegalStateException("the reader is closed");
      }
      Map<String, String> properties = new HashMap<>(resolving.properties());
      if (requestsMax > CONNECTIONS_MAX_PRESET) {
        properties.putIfAbsent(
            HttpClientProperties.APACHE_MAX_CONNECTIONS, Integer.toString(requestsMax));
      }
      own = new S3FileIO();
      own.initialize(properties);
      own.setCredentials(resolving.credentials());
      ownS3 = own;
    }
    return own;
  }

  @Override
  public long bytesRead() {
    return traffic.bytes.sum();
  }

  @Override
  public long requests() {
    return traffic.requests.sum();
  }

  @Override
  public void close() {
    S3FileIO own;
    synchronized (this) {
      closed = true;
      own = ownS3;
      ownS3 = null;
    }
    workers.shutdown();
    for (Transfer transfer : transfers) {
      transfer.fail(closedException(transfer));
    }
    if (own != null) {
      own.close();
    }
  }
}
