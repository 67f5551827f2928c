package dev.firn.engine;

/** The run was asked to end before its end, so that a group was given up. */
final class StoppedException extends RuntimeException {
  private static final long serialVersionUID = 1L;

  StoppedException() {
    super(
        "Stopped on request before it was finished: nothing of it is committed, and what was"
            + " written for it is removed. Run again for the rest");
  }
}
