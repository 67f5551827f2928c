package dev.firn.io;

import org.jspecify.annotations.Nullable;

/** A file ends before its end as the caller knows it. Reading again would not mend that. */
public final class ShortFileException extends FinalIOException {
  private static final long serialVersionUID = 1;

  ShortFileException(String message, @Nullable Throwable cause) {
    super(message, cause);
  }
}
