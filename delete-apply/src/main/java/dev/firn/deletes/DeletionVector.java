package dev.firn.deletes;

import java.io.IOException;
import java.nio.ByteBuffer;
import java.nio.ByteOrder;
import java.util.zip.CRC32;
import org.apache.iceberg.DataFile;
import org.apache.iceberg.DeleteFile;
import org.roaringbitmap.RoaringBitmap;

/** Reads a deletion vector and holds it against its metadata (rules D5, D6, D28). */
final class DeletionVector {
  /* The blob: length of magic and bitmap (4 bytes, big-endian), magic, bitmap, CRC-32 of magic and
  bitmap (4 bytes, big-endian). Iceberg's PositionDeleteIndex reads the same; this is a reader of
  our own because that one trusts the bitmap before it has checked the CRC (one flipped bit of a key
  makes it allocate gigabytes) and hands out positions only one by one. */
  private static final int LENGTH_BYTES = 4;
  private static final int MAGIC_BYTES = 4;
  private static final int CRC_BYTES = 4;
  private static final int MAGIC = 0x6439D3D1;

  private DeletionVector() {}

  /** Checks what the metadata alone can tell of {@code vector} as the vector of {@code file}. */
  static void checkMetadata(DeleteFile vector, DataFile file) {
    String referenced = vector.referencedDataFile();
    if (referenced == null) {
      throw corrupt(vector, file, "it does not say which data file it belongs to");
    }
    if (!referenced.equals(file.location())) {
      throw corrupt(vector, file, "it belongs to " + referenced);
    }
    Long offset = vector.contentOffset();
    Long size = vector.contentSizeInBytes();
    if (offset == null || size == null) {
      throw corrupt(vector, file, "its offset or size in the Puffin file is not recorded");
    }
    if (offset < 0 || size < LENGTH_BYTES + MAGIC_BYTES + CRC_BYTES || size > Integer.MAX_VALUE) {
      throw corrupt(vector, file, "it cannot have " + size + " bytes at offset " + offset);
    }
  }

  static DeletedPositions read(DeleteFile vector, DataFile file, DeleteSource source)
      throws IOException {
    byte[] blob = source.readDeletionVector(vector);
    Long size = vector.contentSizeInBytes();
    if (size == null || blob.length != size) {
      throw corrupt(vector, file, blob.length + " bytes were read of " + size);
    }
    ByteBuffer bytes = ByteBuffer.wrap(blob);
    int length = bytes.getInt(0);
    if (length != blob.length - LENGTH_BYTES - CRC_BYTES) {
      throw corrupt(
          vector,
          file,
          "its length field says " + length + " bytes but the blob has " + blob.length);
    }
    CRC32 crc = new CRC32();
    crc.update(blob, LENGTH_BYTES, length);
    int recorded = bytes.getInt(LENGTH_BYTES + length);
    if ((int) crc.getValue() != recorded) {
      throw corrupt(
          vector,
          file,
          "its CRC is "
              + Integer.toHexString((int) crc.getValue())
              + " but "
              + Integer.toHexString(recorded)
              + " is recorded");
    }
    bytes.order(ByteOrder.LITTLE_ENDIAN);
    int magic = bytes.getInt(LENGTH_BYTES);
    if (magic != MAGIC) {
      throw corrupt(vector, file, "its magic number is " + Integer.toHexString(magic));
    }
    bytes.position(LENGTH_BYTES + MAGIC_BYTES).limit(LENGTH_BYTES + length);
    return positions(bytes, vector, file);
  }

  private static DeletedPositions positions(ByteBuffer bytes, DeleteFile vector, DataFile file) {
    DeletedPositions.Builder kept = new DeletedPositions.Builder();
    long cardinality = 0;
    try {
      long bitmaps = bytes.getLong();
      if (bitmaps < 0 || bitmaps > Integer.MAX_VALUE) {
        throw corrupt(vector, file, "it says it has " + bitmaps + " bitmaps");
      }
      int previous = -1;
      for (long i = 0; i < bitmaps; i++) {
        int upper = bytes.getInt();
        if (upper <= previous) {
          throw corrupt(vector, file, "its bitmaps are not in order: " + upper + ", " + previous);
        }
        previous = upper;
        RoaringBitmap bitmap = new RoaringBitmap();
        bitmap.deserialize(bytes);
        bytes.position(bytes.position() + bitmap.serializedSizeInBytes());
        if (!bitmap.validate()) {
          throw corrupt(vector, file, "its bitmap is malformed");
        }
        cardinality += bitmap.getLongCardinality();
        keepRowsOf(file, upper, bitmap);
        kept.addAll(upper, bitmap);
      }
    } catch (CorruptDeleteException e) {
      throw e;
    } catch (IOException | RuntimeException e) {
      // Which exception a malformed bitmap ends in depends on the byte that is wrong.
      throw corrupt(vector, file, "its bitmap is malformed (" + e + ")", e);
    }
    if (bytes.hasRemaining()) {
      throw corrupt(vector, file, bytes.remaining() + " bytes follow its bitmaps");
    }
    if (cardinality != vector.recordCount()) {
      throw corrupt(
          vector,
          file,
          "it holds " + cardinality + " positions but its record count is " + vector.recordCount());
    }
    return kept.build();
  }

  /** Removes the positions that the file does not have (rule D26). */
  private static void keepRowsOf(DataFile file, int upper, RoaringBitmap bitmap) {
    long rows = Math.max(0, file.recordCount() - ((long) upper << 32));
    if (rows <= 0xFFFF_FFFFL) {
      bitmap.remove(rows, 1L << 32);
    }
  }

  private static CorruptDeleteException corrupt(DeleteFile vector, DataFile file, String why) {
    return new CorruptDeleteException(message(vector, file, why));
  }

  private static CorruptDeleteException corrupt(
      DeleteFile vector, DataFile file, String why, Throwable cause) {
    return new CorruptDeleteException(message(vector, file, why), cause);
  }

  private static String message(DeleteFile vector, DataFile file, String why) {
    return "Cannot apply the deletion vector at offset "
        + vector.contentOffset()
        + " of "
        + vector.location()
        + " to "
        + file.location()
        + ": "
        + why
        + ". The group is left as it was.";
  }
}
