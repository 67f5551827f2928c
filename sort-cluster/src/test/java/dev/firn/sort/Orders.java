package dev.firn.sort;

import dev.firn.sort.PhysicalRows.Row;
import java.nio.ByteBuffer;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.Comparator;
import java.util.List;
import java.util.Random;
import java.util.UUID;
import org.apache.iceberg.NullOrder;
import org.apache.iceberg.Schema;
import org.apache.iceberg.SortDirection;
import org.apache.iceberg.SortOrder;
import org.apache.iceberg.SortOrderComparators;
import org.apache.iceberg.expressions.Expressions;
import org.apache.iceberg.expressions.NamedReference;
import org.apache.iceberg.expressions.Term;
import org.apache.iceberg.types.Type;
import org.apache.iceberg.types.Types;

/** Every type, every transform that Iceberg lets it have, and the order they stand for. */
final class Orders {
  static final List<Type> TYPES =
      List.of(
          Types.BooleanType.get(),
          Types.IntegerType.get(),
          Types.LongType.get(),
          Types.FloatType.get(),
          Types.DoubleType.get(),
          Types.DateType.get(),
          Types.TimeType.get(),
          Types.TimestampType.withoutZone(),
          Types.TimestampType.withZone(),
          Types.TimestampNanoType.withoutZone(),
          Types.TimestampNanoType.withZone(),
          Types.StringType.get(),
          Types.BinaryType.get(),
          Types.UUIDType.get(),
          Types.FixedType.ofLength(1),
          Types.FixedType.ofLength(4),
          Types.FixedType.ofLength(8),
          Types.FixedType.ofLength(11),
          Types.DecimalType.of(9, 2),
          Types.DecimalType.of(4, 4),
          Types.DecimalType.of(18, 0),
          Types.DecimalType.of(19, 3),
          Types.DecimalType.of(38, 10));

  private Orders() {}

  /** Terms over a column, as many kinds as its type allows. */
  static List<Term> terms(Type type, String column) {
    List<Term> terms = new ArrayList<>(List.of(Expressions.ref(column)));
    List<Term> candidates =
        List.of(
            Expressions.bucket(column, 1),
            Expressions.bucket(column, 16),
            Expressions.bucket(column, 1000),
            Expressions.bucket(column, 1_000_000),
            Expressions.truncate(column, 1),
            Expressions.truncate(column, 3),
            Expressions.truncate(column, 100),
            Expressions.year(column),
            Expressions.month(column),
            Expressions.day(column),
            Expressions.hour(column));
    Schema schema = new Schema(Types.NestedField.optional(1, column, type));
    for (Term term : candidates) {
      try {
        SortOrder.builderFor(schema).asc(term).build();
        terms.add(term);
      } catch (RuntimeException notForThisType) {
        // Iceberg refuses it.
      }
    }
    return terms;
  }

  /** One field of an order. */
  record Key(String column, Term term, SortDirection direction, NullOrder nulls) {
    static Key random(Schema schema, String column, Random random) {
      List<Term> terms = terms(schema.findType(column), column);
      return new Key(
          column,
          terms.get(random.nextInt(terms.size())),
          SortDirection.values()[random.nextInt(2)],
          NullOrder.values()[random.nextInt(2)]);
    }
  }

  static SortOrder order(Schema schema, List<Key> keys) {
    SortOrder.Builder builder = SortOrder.builderFor(schema);
    keys.forEach(key -> builder.sortBy(key.term, key.direction, key.nulls));
    return builder.build();
  }

  /** Iceberg's comparators, but UUIDs in unsigned byte order (O4). */
  static Comparator<Row> comparator(Schema schema, List<Key> keys) {
    Comparator<Row> comparator = (left, right) -> 0;
    for (Key key : keys) {
      comparator = comparator.thenComparing(comparator(schema, key));
    }
    return comparator;
  }

  private static Comparator<Row> comparator(Schema schema, Key key) {
    if (schema.findType(key.column).typeId() == Type.TypeID.UUID
        && key.term instanceof NamedReference) {
      int position = schema.columns().indexOf(schema.findField(key.column));
      Comparator<Object> bytes = (l, r) -> Arrays.compareUnsigned(bytes(l), bytes(r));
      Comparator<Object> directed = key.direction == SortDirection.ASC ? bytes : bytes.reversed();
      Comparator<Object> nullable =
          key.nulls == NullOrder.NULLS_FIRST
              ? Comparator.nullsFirst(directed)
              : Comparator.nullsLast(directed);
      return (left, right) -> nullable.compare(left.values()[position], right.values()[position]);
    }
    return SortOrderComparators.forSchema(schema, order(schema, List.of(key)))::compare;
  }

  private static byte[] bytes(Object uuid) {
    UUID value = (UUID) uuid;
    return ByteBuffer.allocate(16)
        .putLong(value.getMostSignificantBits())
        .putLong(value.getLeastSignificantBits())
        .array();
  }
}
