package dev.firn.engine.cli;

/** How a command ends, as a number for scripts and in words for people. */
enum ExitCode {
  DONE(0, "done"),
  FAILED(1, "failed"),
  USAGE(2, "usage error, nothing was started"),
  PARTLY(3, "some groups failed, the rest is committed"),
  CONFLICT(4, "nothing committed because of conflicts; run again"),
  UNKNOWN(5, "commit state unknown, nothing was deleted; look at the table's snapshots"),
  INPUT(6, "corrupt or unsupported input"),
  RESOURCES(7, "memory or disk does not suffice, nothing was committed"),
  DIFFERENT(8, "the rows are not the same"),
  STOPPED(9, "stopped on request, run again for the rest");

  private final int code;
  private final String words;

  ExitCode(int code, String words) {
    this.code = code;
    this.words = words;
  }

  int code() {
    return code;
  }

  String words() {
    return words;
  }

  static ExitCode of(int code) {
    return values()[code];
  }
}
