package dev.firn.io;

import java.io.IOException;
import org.jspecify.annotations.Nullable;

/** A failure that reading again would not mend. Its message is complete. */
class FinalIOException extends IOException {
  private static final long serialVersionUID = 1;

  FinalIOException(String message, @Nullable Throwable cause) {
    super(message, cause);
  }
}
