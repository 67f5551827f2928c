package dev.firn.testdata;

import java.util.ArrayList;
import java.util.List;
import org.apache.iceberg.io.FileIO;
import org.apache.iceberg.io.FileInfo;

/**
 * A FileIO that finds files below another prefix than their location says.
 *
 * <p>Only the prefix is exchanged, character by character: names keep every {@code %} and {@code =}
 * as they are (D23). Locations that do not start with the prefix pass unchanged. The files it gives
 * out report the location that was asked for.
 */
public final class RelocatingFileIO extends DelegatingFileIO {
  private final String from;
  private final String to;

  /**
   * Reads and writes through {@code delegate}.
   *
   * @param from prefix of the locations in metadata
   * @param to what stands there in its place for the delegate
   */
  public RelocatingFileIO(FileIO delegate, String from, String to) {
    super(delegate);
    this.from = from;
    this.to = to;
  }

  @Override
  String locate(String location) {
    return location.startsWith(from) ? to + location.substring(from.length()) : location;
  }

  @Override
  public Iterable<FileInfo> listPrefix(String prefix) {
    List<FileInfo> files = new ArrayList<>();
    for (FileInfo file : super.listPrefix(prefix)) {
      String location = file.location();
      files.add(
          new FileInfo(
              location.startsWith(to) ? from + location.substring(to.length()) : location,
              file.size(),
              file.createdAtMillis()));
    }
    return files;
  }
}
