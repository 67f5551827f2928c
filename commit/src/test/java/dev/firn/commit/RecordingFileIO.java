package dev.firn.commit;

import java.util.Set;
import java.util.TreeSet;
import org.apache.iceberg.io.FileIO;
import org.apache.iceberg.io.InputFile;
import org.apache.iceberg.io.OutputFile;

/** File IO that knows which files were made through it and not deleted since. */
final class RecordingFileIO implements FileIO {
  private static final long serialVersionUID = 1L;

  private final transient FileIO real;
  final Set<String> left = new TreeSet<>();

  RecordingFileIO(FileIO real) {
    this.real = real;
  }

  @Override
  public InputFile newInputFile(String path) {
    return real.newInputFile(path);
  }

  @Override
  public synchronized OutputFile newOutputFile(String path) {
    left.add(path);
    return real.newOutputFile(path);
  }

  @Override
  public synchronized void deleteFile(String path) {
    left.remove(path);
    real.deleteFile(path);
  }
}
