package dev.firn.engine.parquet;

/**
 * Decides when a data file is long enough (M19). Divides what is still to come, this file included,
 * into files that are each within the limits and as near to the target as possible, so that no
 * small remainder is left behind. Not thread-safe.
 */
final class FileRolling {
  /* The ends of the range are kept clear of by this share: the lengths are estimates, and a file
  just outside would be chosen by the next compaction. */
  private static final double MARGIN = 0.05;

  private final OutputSizes sizes;
  private final double least;
  private final double most;
  private long filesLeft;

  FileRolling(OutputSizes sizes) {
    this.sizes = sizes;
    this.least = Math.min(sizes.targetBytes(), sizes.minBytes() * (1 + MARGIN));
    this.most = Math.max(sizes.targetBytes(), sizes.maxBytes() * (1 - MARGIN));
  }

  /** A file begins: how the rest is divided is decided anew. */
  void startFile() {
    filesLeft = 0;
  }

  /**
   * @param fileBytes the length of the file as it would be if it ended now
   * @param laterBytes what comes after, as far as known; negative when unknown
   * @return the length to which the file should grow; it should end once {@code fileBytes} is there
   */
  double fileBytesMax(double fileBytes, double laterBytes) {
    if (laterBytes < 0) {
      return sizes.targetBytes();
    }
    double total = fileBytes + laterBytes;
    if (filesLeft == 0 || !fits(total / filesLeft)) {
      filesLeft = division(total);
    }
    double share = total / filesLeft;
    if (fileBytes < share) {
      return share;
    }
    // The estimate has grown since this file began. What follows must stand on its own too.
    if (laterBytes < least && total <= most) {
      return total;
    }
    return share;
  }

  /** Whether a file of {@code fileBytes} with {@code laterBytes} to come should end now. */
  boolean isFull(double fileBytes, double laterBytes) {
    return laterBytes != 0 && fileBytes >= fileBytesMax(fileBytes, laterBytes);
  }

  private boolean fits(double bytes) {
    return bytes >= least && bytes <= most;
  }

  private long division(double total) {
    long fewer = Math.max(1, (long) Math.floor(total / sizes.targetBytes()));
    long more = fewer + 1;
    boolean fewerFits = fits(total / fewer);
    boolean moreFits = fits(total / more);
    if (fewerFits != moreFits) {
      return fewerFits ? fewer : more;
    }
    if (total / fewer <= sizes.targetBytes() || !fewerFits && total / more < sizes.minBytes()) {
      return fewer;
    }
    double fewerDistance = total / fewer - sizes.targetBytes();
    double moreDistance = sizes.targetBytes() - total / more;
    return fewerDistance <= moreDistance ? fewer : more;
  }
}
