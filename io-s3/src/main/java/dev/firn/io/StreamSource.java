package dev.firn.io;

import java.io.EOFException;
import java.io.FileNotFoundException;
import java.io.IOException;
import java.nio.ByteBuffer;
import org.apache.iceberg.exceptions.NotFoundException;
import org.apache.iceberg.io.IOUtil;
import org.apache.iceberg.io.InputFile;
import org.apache.iceberg.io.RangeReadable;
import org.apache.iceberg.io.SeekableInputStream;
import org.jspecify.annotations.Nullable;

/** A file of any FileIO, read through several of its streams. */
final class StreamSource implements ByteSource {
  static final int LANES_MAX = 4;

  /** Also the size of the buffer that each lane has. */
  static final long REQUEST_BYTES_MAX = 4L << 20;

  static final long GAP_BYTES_MAX = 1L << 20;

  private final InputFile file;
  private final int lanesMax;
  private final int attemptsMax;
  private final Traffic traffic;
  private final Backoff backoff;

  /**
   * @param attemptsMax how often a request is tried, each time with a new stream
   */
  StreamSource(InputFile file, int lanesMax, int attemptsMax, Traffic traffic, Backoff backoff) {
    this.file = file;
    this.lanesMax = lanesMax;
    this.attemptsMax = attemptsMax;
    this.traffic = traffic;
    this.backoff = backoff;
  }

  @Override
  public int lanesMax() {
    return lanesMax;
  }

  @Override
  public long requestBytesMax() {
    return REQUEST_BYTES_MAX;
  }

  @Override
  public long gapBytesMax() {
    return GAP_BYTES_MAX;
  }

  @Override
  public boolean isNear() {
    return false;
  }

  @Override
  public Lane lane() {
    return new StreamLane();
  }

  private final class StreamLane implements Lane {
    private @Nullable SeekableInputStream stream;
    private byte[] buffer = {};

    @Override
    public void read(RangeRequest request, Transfer transfer) throws IOException {
      for (int attempt = 1; ; attempt++) {
        try {
          fetch(request, transfer);
          break;
        } catch (NotFoundException | FileNotFoundException e) {
          FileNotFoundException missing =
              new FileNotFoundException(
                  "Cannot read " + request + " of " + file.location() + ": " + e.getMessage());
          missing.initCause(e);
          throw missing;
        } catch (IOException | RuntimeException e) {
          transfer.check();
          if (attempt == attemptsMax || !S3Source.mayPass(e)) {
            throw failed(request, attempt, e);
          }
          closeAfter(e);
          transfer.pause(backoff.millis(attempt, S3Source.isThrottling(e)));
        }
      }
      request.deliver(request.start(), ByteBuffer.wrap(buffer, 0, length(request)), transfer);
    }

    private void fetch(RangeRequest request, Transfer transfer) throws IOException {
      transfer.check();
      if (stream == null) {
        stream = file.newStream();
      }
      int length = length(request);
      if (buffer.length < length) {
        buffer = new byte[length];
      }
      traffic.requests.increment();
      if (stream instanceof RangeReadable ranges) {
        ranges.readFully(request.start(), buffer, 0, length);
      } else {
        stream.seek(request.start());
        IOUtil.readFully(stream, buffer, 0, length);
      }
      traffic.bytes.add(length);
    }

    private IOException failed(RangeRequest request, int attempts, Exception why) {
      if (why instanceof EOFException) {
        return new ShortFileException(
            "Cannot read " + request + " of " + file.location() + ": " + why + S3Source.SHORTER,
            why);
      }
      return S3Source.failed(request, file.location(), attempts, why);
    }

    private void closeAfter(Exception why) {
      try {
        close();
      } catch (IOException | RuntimeException e) {
        why.addSuppressed(e);
      }
    }

    @Override
    public void close() throws IOException {
      SeekableInputStream open = stream;
      stream = null;
      if (open != null) {
        open.close();
      }
    }
  }

  private static int length(RangeRequest request) {
    return Math.toIntExact(request.length());
  }
}
