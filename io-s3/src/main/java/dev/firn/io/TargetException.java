package dev.firn.io;

/** What was read could not be written to the caller's target: that failed, not the file. */
public final class TargetException extends FinalIOException {
  private static final long serialVersionUID = 1;

  TargetException(String message, Throwable cause) {
    super(message, cause);
  }
}
