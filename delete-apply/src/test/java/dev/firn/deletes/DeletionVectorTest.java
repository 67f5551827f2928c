package dev.firn.deletes;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import java.io.IOException;
import java.nio.ByteBuffer;
import java.nio.ByteOrder;
import java.util.Arrays;
import java.util.SplittableRandom;
import java.util.TreeSet;
import java.util.concurrent.ThreadLocalRandom;
import java.util.zip.CRC32;
import org.apache.iceberg.DataFile;
import org.apache.iceberg.DataFiles;
import org.apache.iceberg.DeleteFile;
import org.apache.iceberg.FileFormat;
import org.apache.iceberg.FileMetadata;
import org.apache.iceberg.FileScanTask;
import org.apache.iceberg.PartitionSpec;
import org.apache.iceberg.Schema;
import org.junit.jupiter.api.Test;

class DeletionVectorTest {
  private static final String PUFFIN = "memory://t/dv.puffin";

  private final DataFile file = file(100);

  private static DataFile file(long rows) {
    return DataFiles.builder(PartitionSpec.unpartitioned())
        .withPath("memory://t/data.parquet")
        .withFormat(FileFormat.PARQUET)
        .withFileSizeInBytes(1000)
        .withRecordCount(rows)
        .build();
  }

  private DeleteFile metadata(long size, long cardinality) {
    return FileMetadata.deleteFileBuilder(PartitionSpec.unpartitioned())
        .ofPositionDeletes()
        .withPath(PUFFIN)
        .withFormat(FileFormat.PUFFIN)
        .withFileSizeInBytes(1000)
        .withReferencedDataFile(file.location())
        .withContentOffset(4)
        .withContentSizeInBytes(size)
        .withRecordCount(cardinality)
        .build();
  }

  private static DeletedPositions read(DeleteFile vector, DataFile file, byte[] blob)
      throws IOException {
    DeletionVector.checkMetadata(vector, file);
    return DeletionVector.read(vector, file, new OneBlob(blob));
  }

  private record OneBlob(byte[] blob) implements DeleteSource {
    @Override
    public void readDeletes(DeleteFile file, Schema columns, Batches batches) {
      throw new AssertionError("a deletion vector is no file of rows");
    }

    @Override
    public void readKeys(FileScanTask task, Schema columns, Batches batches) {
      throw new AssertionError("a deletion vector needs no keys");
    }

    @Override
    public java.util.Map<Integer, org.apache.iceberg.types.Type> fieldTypes(
        org.apache.iceberg.ContentFile<?> file, java.util.Set<Integer> ids) {
      return java.util.Map.of();
    }

    @Override
    public byte[] readDeletionVector(DeleteFile vector) {
      return blob;
    }
  }

  @Test
  void d28ReadsWhatIcebergWrites() throws IOException {
    byte[] blob = TableInMemory.blob(0L, 7L, 8L, 9L, 99L);
    DeletedPositions positions = read(metadata(blob.length, 5), file, blob);
    assertThat(TableInMemory.positions(positions, 100)).containsExactly(0L, 7L, 8L, 9L, 99L);
  }

  @Test
  void d28AnyFlippedByteIsCorrupt() throws IOException {
    byte[] blob = TableInMemory.blob(0L, 7L, 8L, 9L, 99L);
    for (int i = 0; i < blob.length; i++) {
      for (int flip : new int[] {1, 0x80, 0xFF}) {
        byte[] flipped = blob.clone();
        flipped[i] ^= (byte) flip;
        assertThatThrownBy(() -> read(metadata(flipped.length, 5), file, flipped))
            .as("byte %s of %s", i, blob.length)
            .isInstanceOf(CorruptDeleteException.class)
            .hasMessageContaining(PUFFIN)
            .hasMessageContaining(file.location());
      }
    }
  }

  @Test
  void d28WrongCardinalityIsCorrupt() {
    byte[] blob = TableInMemory.blob(0L, 7L);
    for (long cardinality : new long[] {1, 3}) {
      assertThatThrownBy(() -> read(metadata(blob.length, cardinality), file, blob))
          .isInstanceOf(CorruptDeleteException.class)
          .hasMessageContaining("2 positions")
          .hasMessageContaining("record count is " + cardinality);
    }
  }

  @Test
  void d28WrongSizeIsCorrupt() {
    byte[] blob = TableInMemory.blob(0L, 7L);
    for (int size : new int[] {0, 11, 12, blob.length - 1, blob.length + 1}) {
      assertThatThrownBy(() -> read(metadata(size, 2), file, blob))
          .isInstanceOf(CorruptDeleteException.class);
      assertThatThrownBy(() -> read(metadata(size, 2), file, Arrays.copyOf(blob, size)))
          .isInstanceOf(CorruptDeleteException.class);
    }
    assertThatThrownBy(() -> read(metadata(1L << 31, 2), file, blob))
        .isInstanceOf(CorruptDeleteException.class);
    assertThatThrownBy(
            () -> read(metadata(blob.length, 2), file, Arrays.copyOf(blob, blob.length - 1)))
        .isInstanceOf(CorruptDeleteException.class);
  }

  @Test
  void d28VectorOfAnotherDataFileIsCorrupt() {
    byte[] blob = TableInMemory.blob(0L);
    DataFile other =
        DataFiles.builder(PartitionSpec.unpartitioned())
            .withPath("memory://t/other.parquet")
            .withFormat(FileFormat.PARQUET)
            .withFileSizeInBytes(1000)
            .withRecordCount(100)
            .build();
    assertThatThrownBy(() -> read(metadata(blob.length, 1), other, blob))
        .isInstanceOf(CorruptDeleteException.class)
        .hasMessageContaining("belongs to " + file.location());
  }

  @Test
  void d26PositionsOfAllMagnitudes() throws IOException {
    Long[] positions = {0L, 1L << 31, 0xFFFF_FFFFL, 1L << 32, (1L << 32) + 5, (3L << 32) + 1};
    byte[] blob = TableInMemory.blob(positions);
    DataFile large = file(1L << 40);
    DeletedPositions deleted = read(metadata(blob.length, 6), large, blob);
    assertThat(deleted.count()).isEqualTo(6);
    for (long position : positions) {
      assertThat(deleted.anyIn(position, 1)).as("%s", position).isTrue();
      assertThat(deleted.anyIn(position + 10, 100)).as("%s", position).isFalse();
    }
  }

  @Test
  void d26PositionsThatTheFileDoesNotHaveAreIgnored() throws IOException {
    byte[] blob = TableInMemory.blob(99L, 100L, 1L << 31, (1L << 32) + 99);
    DeletedPositions deleted = read(metadata(blob.length, 4), file, blob);
    assertThat(TableInMemory.positions(deleted, 100)).containsExactly(99L);
  }

  @Test
  void aKeyFarOutTakesNoMemory() throws IOException {
    byte[] blob = TableInMemory.blob(5L);
    ByteBuffer.wrap(blob).order(ByteOrder.LITTLE_ENDIAN).putInt(16, Integer.MAX_VALUE);
    seal(blob);
    assertThat(read(metadata(blob.length, 1), file, blob).count()).isZero();
  }

  /** Whatever the bytes are, the outcome is positions or the typed refusal. */
  @Test
  void malformedBitmapsUnderAValidCrcAreRefusedOrRead() {
    long seed = Long.getLong("firn.test.seed", ThreadLocalRandom.current().nextLong());
    SplittableRandom random = new SplittableRandom(seed);
    int refused = 0;
    for (int round = 0; round < 3000; round++) {
      TreeSet<Long> positions = new TreeSet<>();
      int count = random.nextInt(1, 40);
      boolean run = random.nextBoolean();
      for (int i = 0; i < count; i++) {
        positions.add(run ? i : random.nextLong(1L << random.nextInt(1, 34)));
      }
      byte[] blob = TableInMemory.blob(positions.toArray(new Long[0]));
      int flips = random.nextInt(1, 4);
      for (int i = 0; i < flips; i++) {
        blob[8 + random.nextInt(blob.length - 12)] ^= (byte) (1 << random.nextInt(8));
      }
      seal(blob);
      try {
        DeletedPositions deleted =
            read(metadata(blob.length, positions.size()), file(Long.MAX_VALUE), blob);
        assertThat(deleted.count())
            .as("rerun with -Dfirn.test.seed=" + seed)
            .isEqualTo(positions.size());
      } catch (CorruptDeleteException | IOException e) {
        assertThat(e)
            .as("rerun with -Dfirn.test.seed=" + seed)
            .isInstanceOf(CorruptDeleteException.class);
        refused++;
      }
    }
    assertThat(refused).as("rerun with -Dfirn.test.seed=" + seed).isBetween(500, 2999);
  }

  private static void seal(byte[] blob) {
    CRC32 crc = new CRC32();
    crc.update(blob, 4, blob.length - 8);
    ByteBuffer.wrap(blob).putInt(blob.length - 4, (int) crc.getValue());
  }
}
