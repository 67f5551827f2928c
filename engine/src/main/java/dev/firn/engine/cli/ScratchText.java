package dev.firn.engine.cli;

import java.io.IOException;
import java.nio.file.FileStore;
import java.nio.file.Files;
import java.nio.file.Path;

/** What a run will put on scratch disk, beside what there is. */
final class ScratchText {
  private ScratchText() {}

  static String need(long bytes, Path directory) {
    return "sorting needs about "
        + ByteSize.format(bytes)
        + " of scratch disk in "
        + directory
        + there(bytes, directory);
  }

  private static String there(long bytes, Path directory) {
    try {
      FileStore store = Files.getFileStore(directory);
      long free = store.getUsableSpace();
      String text = " (" + ByteSize.format(free) + " free)";
      if (store.type().equals("tmpfs")) {
        text += ", which is in memory: name a disk with --scratch";
      } else if (free < bytes) {
        text += ", which may not be enough: name another with --scratch";
      }
      return text;
    } catch (IOException e) {
      return "";
    }
  }
}
