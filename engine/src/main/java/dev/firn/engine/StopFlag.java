package dev.firn.engine;

/** Whether a run was asked to end before its end. Thread-safe. */
final class StopFlag {
  private volatile boolean stopped;

  void stop() {
    stopped = true;
  }

  boolean isStopped() {
    return stopped;
  }

  /**
   * @throws StoppedException if the run was asked to end
   */
  void check() {
    if (stopped) {
      throw new StoppedException();
    }
  }
}
