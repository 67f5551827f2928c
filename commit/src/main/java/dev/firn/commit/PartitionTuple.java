package dev.firn.commit;

import java.nio.ByteBuffer;
import java.util.Arrays;
import java.util.List;
import org.apache.iceberg.ContentFile;
import org.apache.iceberg.StructLike;
import org.jspecify.annotations.Nullable;

/**
 * A partition tuple of a spec, equal by value (D7, D9): floats by their bits, null to null. Values
 * are widened as Iceberg promotes types, so that a column promoted meanwhile does not matter.
 *
 * @param values in the order of the spec's fields; null where the tuple is
 */
public record PartitionTuple(int specId, List<@Nullable Object> values) {

  /** The tuple of a data or delete file. */
  public static PartitionTuple of(ContentFile<?> file) {
    StructLike tuple = file.partition();
    @Nullable Object[] values = new @Nullable Object[tuple.size()];
    for (int pos = 0; pos < values.length; pos++) {
      values[pos] = widened(tuple.get(pos, Object.class));
    }
    return new PartitionTuple(file.specId(), Arrays.asList(values));
  }

  private static @Nullable Object widened(@Nullable Object value) {
    if (value instanceof Integer number) {
      return number.longValue();
    } else if (value instanceof Float number) {
      return number.doubleValue();
    } else if (value instanceof CharSequence text) {
      return text.toString();
    } else if (value instanceof byte[] bytes) {
      return ByteBuffer.wrap(bytes);
    }
    return value;
  }
}
