package dev.firn.engine;

import dev.firn.commit.PartitionTuple;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.HashSet;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.Objects;
import java.util.Set;
import org.apache.iceberg.DataFile;
import org.apache.iceberg.PartitionField;
import org.apache.iceberg.PartitionSpec;
import org.apache.iceberg.Schema;
import org.apache.iceberg.SortOrder;
import org.apache.iceberg.Table;
import org.apache.iceberg.expressions.Expressions;
import org.apache.iceberg.types.Type;
import org.jspecify.annotations.Nullable;

/**
 * Tells which sets of files may have rows in one and the same partition of a spec, whatever specs
 * the files have: from the values of their own partitions where these say it, else from bounds. In
 * doubt they may (O11).
 *
 * <p>Not thread-safe.
 */
final class SharedPartitions {
  /** More comparisons than that are not worth their time: all sets are taken as one. */
  private static final long COMPARISONS_MAX = 20_000_000;

  /**
   * A field of the spec.
   *
   * @param bounds of files on the field's values; null where they cannot tell
   * @param told whether the same field in another spec has the same values
   */
  private record Field(PartitionField field, @Nullable KeyBounds bounds, boolean told) {}

  /**
   * The partitions of some files of one partition of one spec.
   *
   * @param values by field of the output spec, as far as the files' own spec has it
   * @param first by field, at or before every value of it
   * @param last by field, at or after every value of it
   */
  @SuppressWarnings("ArrayRecordComponent") // never compared
  private record Reach(boolean[] told, @Nullable Object[] values, byte[][] first, byte[][] last) {}

  private final Map<Integer, PartitionSpec> specs;
  private final List<Field> fields = new ArrayList<>();

  SharedPartitions(Table table, PartitionSpec spec) {
    this.specs = table.specs();
    Schema schema = table.schema();
    for (PartitionField field : spec.fields()) {
      if (!field.transform().isVoid()) {
        fields.add(field(table, schema, field));
      }
    }
  }

  private static Field field(Table table, Schema schema, PartitionField field) {
    String source = schema.findColumnName(field.sourceId());
    if (source == null) {
      return new Field(field, null, false);
    }
    KeyBounds bounds = null;
    if (field.transform().preservesOrder()) {
      SortOrder order =
          SortOrder.builderFor(schema)
              .asc(Expressions.transform(source, field.transform()))
              .build();
      bounds = KeyBounds.of(table, schema, order);
    }
    Type type = field.transform().getResultType(schema.findType(field.sourceId()));
    // Zeros of both signs are values of their own, and a promoted date is another number.
    boolean told =
        switch (type.typeId()) {
          case FLOAT, DOUBLE, TIMESTAMP, TIMESTAMP_NANO -> false;
          default -> true;
        };
    return new Field(field, bounds, told);
  }

  /** The columns whose bounds are looked at. */
  Set<Integer> fieldIds() {
    Set<Integer> ids = new HashSet<>();
    for (Field field : fields) {
      if (field.bounds != null) {
        ids.addAll(field.bounds.fieldIds());
      }
    }
    return ids;
  }

  /**
   * Numbers the sets: those that may share a partition, by themselves or through others, have the
   * same number.
   *
   * @param sets each of files of one partition of one spec, none empty
   * @param outputSpecId two different partitions of this spec are that
   */
  int[] joined(List<List<DataFile>> sets, int outputSpecId) {
    int[] first = new int[sets.size()];
    Arrays.setAll(first, set -> set);
    List<Integer> others = new ArrayList<>();
    for (int set = 0; set < first.length; set++) {
      if (sets.get(set).get(0).specId() != outputSpecId) {
        others.add(set);
      }
    }
    boolean tooMany = (long) others.size() * first.length > COMPARISONS_MAX;
    List<Reach> reaches = sets.stream().map(this::reach).toList();
    for (int other : others) {
      for (int set = 0; set < first.length; set++) {
        if (find(first, other) != find(first, set)
            && (tooMany || mayShare(reaches.get(other), reaches.get(set)))) {
          first[find(first, set)] = find(first, other);
        }
      }
    }
    int[] numbers = new int[first.length];
    Map<Integer, Integer> seen = new LinkedHashMap<>();
    for (int set = 0; set < first.length; set++) {
      numbers[set] = seen.computeIfAbsent(find(first, set), root -> seen.size());
    }
    return numbers;
  }

  private static int find(int[] first, int set) {
    int root = set;
    while (first[root] != root) {
      first[root] = first[first[root]];
      root = first[root];
    }
    return root;
  }

  private Reach reach(List<DataFile> files) {
    Reach reach =
        new Reach(
            new boolean[fields.size()],
            new Object[fields.size()],
            new byte[fields.size()][],
            new byte[fields.size()][]);
    DataFile any = files.get(0);
    List<PartitionField> own = Objects.requireNonNull(specs.get(any.specId())).fields();
    List<@Nullable Object> tuple = PartitionTuple.of(any).values();
    for (int i = 0; i < fields.size(); i++) {
      Field field = fields.get(i);
      for (int pos = 0; pos < own.size() && field.told; pos++) {
        if (own.get(pos).sourceId() == field.field.sourceId()
            && own.get(pos).transform().equals(field.field.transform())) {
          reach.told[i] = true;
          reach.values[i] = tuple.get(pos);
        }
      }
      if (field.bounds != null) {
        for (DataFile file : files) {
          KeyRange range = field.bounds.of(file);
          byte[] first = reach.first[i];
          byte[] last = reach.last[i];
          reach.first[i] =
              first == null || Arrays.compareUnsigned(range.first(), first) < 0
                  ? range.first()
                  : first;
          reach.last[i] =
              last == null || Arrays.compareUnsigned(range.last(), last) > 0 ? range.last() : last;
        }
      }
    }
    return reach;
  }

  private boolean mayShare(Reach one, Reach other) {
    for (int i = 0; i < fields.size(); i++) {
      if (one.told[i] && other.told[i] && !Objects.equals(one.values[i], other.values[i])) {
        return false;
      }
      if (fields.get(i).bounds != null
          && (Arrays.compareUnsigned(one.last[i], other.first[i]) < 0
              || Arrays.compareUnsigned(other.last[i], one.first[i]) < 0)) {
        return false;
      }
    }
    return true;
  }
}
