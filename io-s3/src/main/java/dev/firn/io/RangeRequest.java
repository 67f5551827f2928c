package dev.firn.io;

import dev.firn.io.RangeReader.Range;
import java.io.IOException;
import java.nio.ByteBuffer;
import java.util.ArrayList;
import java.util.Comparator;
import java.util.List;

/**
 * One request: the bytes {@code [start, end)} of a file, and which pieces of them go where. Pieces
 * are in order, do not overlap in the file and are not empty; what lies between them is dropped.
 */
record RangeRequest(long start, long end, List<Range> pieces) {

  /**
   * Cuts ranges into requests of at most {@code bytesMax} bytes. Ranges longer than that are cut
   * into equal parts; neighbours at most {@code gapBytesMax} apart share a request.
   */
  static List<RangeRequest> of(List<Range> ranges, long bytesMax, long gapBytesMax) {
    List<Range> parts = new ArrayList<>(ranges.size());
    for (Range range : ranges) {
      cut(range, bytesMax, parts);
    }
    parts.sort(Comparator.comparingLong(Range::offset));

    List<RangeRequest> requests = new ArrayList<>();
    List<Range> pieces = new ArrayList<>();
    long start = 0;
    long end = 0;
    for (Range part : parts) {
      long partEnd = part.offset() + part.length();
      // A part that overlaps the one before cannot come from the same stream of bytes.
      boolean joins =
          !pieces.isEmpty()
              && part.offset() >= end
              && part.offset() - end <= gapBytesMax
              && partEnd - start <= bytesMax;
      if (!joins) {
        if (!pieces.isEmpty()) {
          requests.add(new RangeRequest(start, end, List.copyOf(pieces)));
          pieces.clear();
        }
        start = part.offset();
      }
      pieces.add(part);
      end = partEnd;
    }
    if (!pieces.isEmpty()) {
      requests.add(new RangeRequest(start, end, List.copyOf(pieces)));
    }
    return requests;
  }

  private static void cut(Range range, long bytesMax, List<Range> parts) {
    long done = 0;
    for (long left = (range.length() + bytesMax - 1) / bytesMax; left > 0; left--) {
      long length = (range.length() - done + left - 1) / left;
      parts.add(new Range(range.offset() + done, length, range.targetOffset() + done));
      done += length;
    }
  }

  long length() {
    return end - start;
  }

  /** Passes on what of the bytes {@code [position, position + remaining)} is wanted. */
  void deliver(long position, ByteBuffer bytes, Transfer transfer) throws IOException {
    int first = bytes.position();
    int last = bytes.limit();
    long until = position + (last - first);
    for (Range piece : pieces) {
      if (piece.offset() >= until) {
        break;
      }
      long from = Math.max(piece.offset(), position);
      long to = Math.min(piece.offset() + piece.length(), until);
      if (from < to) {
        bytes.limit(first + (int) (to - position)).position(first + (int) (from - position));
        transfer.write(bytes, piece.targetOffset() + (from - piece.offset()));
      }
    }
    bytes.limit(last).position(last);
  }

  @Override
  public String toString() {
    return "bytes " + start + " to " + end;
  }
}
