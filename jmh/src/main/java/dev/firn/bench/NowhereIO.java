package dev.firn.bench;

import org.apache.iceberg.io.FileIO;
import org.apache.iceberg.io.InputFile;
import org.apache.iceberg.io.OutputFile;
import org.apache.iceberg.io.PositionOutputStream;

/** Writes into nothing, so that what is measured is the encoding and no disk. */
final class NowhereIO implements FileIO {
  @Override
  public InputFile newInputFile(String location) {
    throw new UnsupportedOperationException("Nothing is kept of " + location);
  }

  @Override
  public OutputFile newOutputFile(String location) {
    return new NowhereFile(location);
  }

  @Override
  public void deleteFile(String location) {}

  private record NowhereFile(String location) implements OutputFile {
    @Override
    public PositionOutputStream create() {
      return new NowhereStream();
    }

    @Override
    public PositionOutputStream createOrOverwrite() {
      return create();
    }

    @Override
    public InputFile toInputFile() {
      throw new UnsupportedOperationException("Nothing is kept of " + location);
    }
  }

  private static final class NowhereStream extends PositionOutputStream {
    private long position;

    @Override
    public long getPos() {
      return position;
    }

    @Override
    public void write(int b) {
      position++;
    }

    @Override
    public void write(byte[] bytes, int offset, int length) {
      position += length;
    }
  }
}
