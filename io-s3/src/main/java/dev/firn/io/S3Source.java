package dev.firn.io;

import java.io.EOFException;
import java.io.FileNotFoundException;
import java.io.IOException;
import java.nio.ByteBuffer;
import java.util.Locale;
import java.util.function.Supplier;
import org.apache.iceberg.aws.s3.S3FileIO;
import org.apache.iceberg.aws.s3.S3FileIOProperties;
import org.apache.iceberg.aws.s3.S3InputFile;
import org.apache.iceberg.io.InputFile;
import org.jspecify.annotations.Nullable;
import software.amazon.awssdk.awscore.exception.AwsErrorDetails;
import software.amazon.awssdk.awscore.exception.AwsServiceException;
import software.amazon.awssdk.core.ResponseInputStream;
import software.amazon.awssdk.core.exception.SdkException;
import software.amazon.awssdk.core.sync.ResponseTransformer;
import software.amazon.awssdk.services.s3.model.GetObjectRequest;
import software.amazon.awssdk.services.s3.model.GetObjectResponse;
import software.amazon.awssdk.services.s3.model.ServerSideEncryption;

/** An object on S3, read with ranged GETs. */
final class S3Source implements ByteSource {

  /** A GET of this size spends its time on bytes, not on the round trip. */
  static final long REQUEST_BYTES_MAX = 8L << 20;

  /** About what a store sends in the time of one more round trip. */
  static final long GAP_BYTES_MAX = 1L << 20;

  /** How often a request is made before it fails; each also has the retries of the SDK. */
  static final int ATTEMPTS_MAX = 5;

  static final String SHORTER =
      ". The file is shorter than the table's metadata says: it is damaged or replaced";

  private final S3FileIO io;
  private final String location;
  private final String bucket;
  private final String key;
  private final S3FileIOProperties properties;
  private final int requestsMax;
  private final Supplier<byte[]> buffers;
  private final Traffic traffic;
  private final Backoff backoff;

  /**
   * @param buffers the buffer of the thread that asks
   */
  S3Source(
      S3FileIO io,
      String location,
      long fileLength,
      int requestsMax,
      Supplier<byte[]> buffers,
      Traffic traffic,
      Backoff backoff) {
    this.io = io;
    this.location = location;
    this.requestsMax = requestsMax;
    this.buffers = buffers;
    this.traffic = traffic;
    this.backoff = backoff;
    // S3FileIO makes its input files with the properties of the location's prefix, which are not
    // to be had otherwise, and refuses what is no S3 location.
    InputFile file = io.newInputFile(location, fileLength);
    if (!(file instanceof S3InputFile s3File)) {
      throw new IllegalStateException("S3FileIO opened " + location + " as " + file.getClass());
    }
    this.properties = s3File.s3FileIOProperties();
    String[] parts = location.substring(location.indexOf("://") + 3).split("/", 2);
    this.bucket = properties.bucketToAccessPointMapping().getOrDefault(parts[0], parts[0]);
    // S3FileIO does not put what follows a question mark or a hash into the key.
    this.key = parts.length < 2 ? "" : parts[1].split("\\?", 2)[0].split("#", 2)[0];
  }

  @Override
  public int lanesMax() {
    return requestsMax;
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
    return new S3Lane();
  }

  private final class S3Lane implements Lane {
    /** Everything of the request in hand before this is delivered. */
    private long position;

    @Override
    public void read(RangeRequest request, Transfer transfer) throws IOException {
      position = request.start();
      for (int attempt = 1; ; attempt++) {
        try {
          fetch(request, transfer);
          return;
        } catch (FinalIOException e) {
          throw e;
        } catch (IOException | SdkException e) {
          transfer.check();
          if (attempt == ATTEMPTS_MAX || !mayPass(e)) {
            throw failed(request, location, attempt, e);
          }
          transfer.pause(backoff.millis(attempt, isThrottling(e)));
        }
      }
    }

    private void fetch(RangeRequest request, Transfer transfer) throws IOException {
      GetObjectRequest.Builder get =
          GetObjectRequest.builder()
              .bucket(bucket)
              .key(key)
              .range("bytes=" + position + "-" + (request.end() - 1));
      if (S3FileIOProperties.SSE_TYPE_CUSTOM.equals(
          properties.sseType().toLowerCase(Locale.ROOT))) {
        get.sseCustomerAlgorithm(ServerSideEncryption.AES256.name())
            .sseCustomerKey(properties.sseKey())
            .sseCustomerKeyMD5(properties.sseMd5());
      }
      transfer.check();
      traffic.requests.increment();
      // The client is asked for each time: S3FileIO may have replaced it with new credentials.
      ResponseInputStream<GetObjectResponse> body =
          io.client(location).getObject(get.build(), ResponseTransformer.toInputStream());
      boolean drained = false;
      try {
        checkAnswer(body.response(), request, transfer);
        ByteBuffer buffer = ByteBuffer.wrap(buffers.get());
        while (position < request.end()) {
          transfer.check();
          long wanted = request.end() - position;
          int count = body.read(buffer.array(), 0, (int) Math.min(buffer.capacity(), wanted));
          if (count < 0) {
            throw new EOFException("the body ended " + wanted + " bytes early");
          }
          traffic.bytes.add(count);
          request.deliver(position, buffer.clear().limit(count), transfer);
          position += count;
        }
        drained = atEnd(body, request);
      } finally {
        if (drained) {
          body.close();
        } else {
          body.abort();
        }
      }
    }

    /**
     * Whether the body is at its end. Reading up to there returns the connection to its pool and
     * makes the SDK compare checksums if the store sent any; bytes that fail are read again.
     */
    private boolean atEnd(ResponseInputStream<GetObjectResponse> body, RangeRequest request)
        throws IOException {
      try {
        return body.read() < 0;
      } catch (IOException | SdkException e) {
        position = request.start();
        throw e;
      }
    }

    /** Refuses an answer that is not what was asked for, before a byte of it is delivered. */
    private void checkAnswer(GetObjectResponse answer, RangeRequest request, Transfer transfer)
        throws IOException {
      String range = answer.contentRange();
      // A store that ignores the range of a GET answers with the whole object and no such header.
      if (range == null ? position != 0 : !range.startsWith("bytes " + position + "-")) {
        throw new FinalIOException(
            "Cannot read "
                + request
                + " of "
                + location
                + ": the store answered with "
                + (range == null ? "the whole object" : range)
                + " when asked for the bytes from "
                + position
                + " on. It must support ranged GETs.",
            null);
      }
      String whole = "bytes " + position + "-" + (request.end() - 1) + "/";
      if (range != null && !range.startsWith(whole)) {
        throw new ShortFileException(
            "Cannot read " + request + " of " + location + ": there is only " + range + SHORTER,
            null);
      }
      transfer.sameObject(answer.eTag());
    }

    @Override
    public void close() {}
  }

  /** What is thrown when a request is given up. */
  static IOException failed(RangeRequest request, String location, int attempts, Exception why) {
    String what = "Cannot read " + request + " of " + location + ": ";
    int status = why instanceof AwsServiceException service ? service.statusCode() : 0;
    if (status == 404) {
      FileNotFoundException missing =
          new FileNotFoundException(what + "there is no such object (" + why.getMessage() + ")");
      missing.initCause(why);
      return missing;
    }
    String hint = "";
    if (status == 403) {
      hint = ". The credentials of the table's FileIO must allow reading it";
    } else if (status == 416) {
      return new ShortFileException(what + why.getMessage() + SHORTER, why);
    } else if (attempts > 1) {
      hint = ". Given up after " + attempts + " attempts";
    }
    return new FinalIOException(what + why.getMessage() + hint, why);
  }

  /** Whether the same request may succeed a little later. */
  static boolean mayPass(Exception why) {
    if (why instanceof AwsServiceException service) {
      int status = service.statusCode();
      return status >= 500 || status == 408 || isThrottling(service) || isTimeout(service);
    }
    // Of the SDK's own failures, those of the connection; not missing credentials and the like.
    for (Throwable cause = why; cause != null; cause = cause.getCause()) {
      if (cause instanceof IOException) {
        return true;
      }
    }
    return why instanceof SdkException sdk && sdk.retryable();
  }

  static boolean isThrottling(Exception why) {
    return why instanceof AwsServiceException service
        && (service.isThrottlingException()
            || service.statusCode() == 503
            || service.statusCode() == 429);
  }

  private static boolean isTimeout(AwsServiceException why) {
    @Nullable AwsErrorDetails details = why.awsErrorDetails();
    return details != null && "RequestTimeout".equals(details.errorCode());
  }
}
