package dev.firn.io;

import java.io.Closeable;
import java.io.IOException;

/** Where the bytes of one file come from. Thread-safe. */
interface ByteSource {

  /** Lanes that may be open at once for one transfer. */
  int lanesMax();

  /** The longest request. */
  long requestBytesMax();

  /** The most bytes between two wanted ranges that are read and dropped to save a request. */
  long gapBytesMax();

  /** Whether a request is over so soon that handing it to another thread would cost more. */
  boolean isNear();

  /** A new lane; opens nothing yet. */
  Lane lane();

  /**
   * One of several ways in which requests of a transfer are read, one request at a time. Used by
   * one thread at a time; closed by the reader when the transfer needs it no more.
   */
  interface Lane extends Closeable {

    /**
     * Reads a request whole and delivers its pieces, or throws.
     *
     * @throws java.io.InterruptedIOException if the transfer ended meanwhile
     */
    void read(RangeRequest request, Transfer transfer) throws IOException;
  }
}
