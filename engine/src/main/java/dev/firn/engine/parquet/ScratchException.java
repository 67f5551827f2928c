package dev.firn.engine.parquet;

import java.io.IOException;
import java.nio.file.Path;

/** Something could not be kept in the scratch directory, whose disk may be full or away. */
public final class ScratchException extends IOException {
  private static final long serialVersionUID = 1L;

  /**
   * @param what could not be written
   * @param file or the directory in which it could not be made
   * @param state what things are in now, as a sentence without its end
   */
  public ScratchException(String what, Path file, IOException cause, String state) {
    super(
        "Cannot write "
            + what
            + " to "
            + file
            + ": "
            + reason(cause)
            + ". "
            + state
            + ". Free space there, or name with --scratch another directory that exists and can be"
            + " written to.",
        cause);
  }

  private static String reason(IOException cause) {
    String message = cause.getMessage();
    return cause.getClass().getSimpleName() + (message == null ? "" : ": " + message);
  }

  /** Writes to a scratch file, or makes one. */
  @FunctionalInterface
  interface Step<T> {
    T take() throws IOException;
  }

  /** Takes a step in which a row group is written to scratch, and nothing else is done. */
  static <T> T writing(String location, int rowGroup, Path file, Step<T> step)
      throws ScratchException {
    try {
      return step.take();
    } catch (IOException e) {
      throw new ScratchException(
          "row group " + rowGroup + " of " + location,
          file,
          e,
          "What needs it is given up, and the scratch file is removed");
    }
  }
}
