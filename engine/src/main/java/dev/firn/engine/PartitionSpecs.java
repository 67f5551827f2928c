package dev.firn.engine;

import java.util.stream.Collectors;
import org.apache.iceberg.PartitionField;
import org.apache.iceberg.PartitionSpec;
import org.apache.iceberg.types.Type;

/** What can be done with partition specs that were not made for today's schema. */
final class PartitionSpecs {
  private PartitionSpecs() {}

  /**
   * Whether files may be written with the spec: its transforms are known (P5), and its source
   * columns are there, without which the types of its partition values are lost (P6), and stored.
   */
  static boolean isWritable(PartitionSpec spec) {
    return spec.fields().stream().allMatch(field -> isWritable(spec, field));
  }

  /** In words why {@link #isWritable} is false. */
  static String whyUnwritable(PartitionSpec spec) {
    return spec.fields().stream()
        .filter(field -> !isWritable(spec, field))
        .map(
            field ->
                isWithoutSource(spec, field)
                    ? "the source column of partition field " + field.name() + " was dropped"
                    : "partition field "
                        + field.name()
                        + (isKnown(field)
                            ? " is of a column of type unknown"
                            : " has the unknown transform " + field.transform()))
        .collect(Collectors.joining(", "));
  }

  /** Whether a source column was dropped that the partition values were made from. */
  static boolean isWithoutSource(PartitionSpec spec) {
    return spec.fields().stream()
        .anyMatch(field -> !field.transform().isVoid() && isWithoutSource(spec, field));
  }

  private static boolean isWithoutSource(PartitionSpec spec, PartitionField field) {
    return spec.schema().findField(field.sourceId()) == null;
  }

  private static boolean isWritable(PartitionSpec spec, PartitionField field) {
    return field.transform().isVoid()
        || isKnown(field) && !isWithoutSource(spec, field) && !isOfUnknown(spec, field);
  }

  private static boolean isOfUnknown(PartitionSpec spec, PartitionField field) {
    return spec.schema().findType(field.sourceId()).typeId() == Type.TypeID.UNKNOWN;
  }

  private static boolean isKnown(PartitionField field) {
    return !field.transform().getClass().getSimpleName().equals("UnknownTransform");
  }
}
