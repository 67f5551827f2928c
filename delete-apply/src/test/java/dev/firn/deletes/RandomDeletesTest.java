package dev.firn.deletes;

import static org.assertj.core.api.Assertions.assertThat;

import java.io.IOException;
import java.nio.ByteBuffer;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.HashMap;
import java.util.HashSet;
import java.util.LinkedHashSet;
import java.util.List;
import java.util.Map;
import java.util.Set;
import java.util.SplittableRandom;
import java.util.TreeMap;
import java.util.TreeSet;
import java.util.concurrent.ThreadLocalRandom;
import org.apache.iceberg.DataFile;
import org.apache.iceberg.DeleteFile;
import org.apache.iceberg.FileContent;
import org.apache.iceberg.FileScanTask;
import org.apache.iceberg.PartitionData;
import org.apache.iceberg.PartitionSpec;
import org.apache.iceberg.Schema;
import org.apache.iceberg.StructLike;
import org.apache.iceberg.types.Type;
import org.apache.iceberg.types.TypeUtil;
import org.apache.iceberg.types.Types;
import org.junit.jupiter.api.AfterAll;
import org.junit.jupiter.api.RepeatedTest;
import org.junit.jupiter.api.RepetitionInfo;

/** Random tables against a model that applies the rules row by row. */
class RandomDeletesTest {
  private static final List<Type> TYPES =
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
          Types.StringType.get(),
          Types.BinaryType.get(),
          Types.UUIDType.get(),
          Types.FixedType.ofLength(5),
          Types.FixedType.ofLength(16),
          Types.DecimalType.of(7, 2),
          Types.DecimalType.of(15, 0),
          Types.DecimalType.of(30, 10));
  private static final int PART = 1;

  private static final Map<Integer, Integer> passesTaken = new TreeMap<>();

  private final SplittableRandom random;
  private final String rerun;
  private TableInMemory t;
  private final Map<Integer, Type> types = new HashMap<>();
  private final Map<String, DeleteFile> deletesByLocation = new HashMap<>();
  private int rowsPerFile;
  private int distinct;
  private double nulls;

  RandomDeletesTest(RepetitionInfo repetition) {
    long seed =
        Long.getLong("firn.test.seed", ThreadLocalRandom.current().nextLong())
            + repetition.getCurrentRepetition();
    random = new SplittableRandom(seed);
    rerun =
        "rerun with -Dfirn.test.seed="
            + (seed - repetition.getCurrentRepetition())
            + ", repetition "
            + repetition.getCurrentRepetition();
  }

  @RepeatedTest(40)
  void oaDeletesWhatTheModelDeletes() throws Exception {
    createTable();
    try (TableInMemory closing = t) {
      int commits = random.nextInt(2, 8);
      for (int i = 0; i < commits; i++) {
        if (random.nextInt(6) == 0) {
          evolveSpec();
        }
        commitSomething();
      }
      List<FileScanTask> tasks = t.tasks();
      GroupDeletes deletes = t.resolve(tasks);
      check(deletes, tasks);
      assertThat(t.rows.opens.values()).as(rerun).allMatch(opens -> opens == 1);
      assertThat(t.rows.keyScans.values()).as(rerun).allMatch(scans -> scans == 1);
      checkWithLittleMemory(deletes.stats(), tasks);
      assertThat(t.rows.memory.getAllocatedMemory()).as(rerun).isZero();
    }
  }

  private void check(GroupDeletes deletes, List<FileScanTask> tasks) throws IOException {
    long total = 0;
    for (FileScanTask task : tasks) {
      DeletedRows rows = deletes.deletedRows(task);
      total += rows.count();
      assertThat(TableInMemory.positions(rows, task.file().recordCount()))
          .as(rerun + ", " + task.file().location())
          .isEqualTo(model(task.file()));
    }
    assertThat(deletes.stats().rowsDeleted()).as(rerun).isEqualTo(total);
    assertThat(deletes.stats().unmatched()).as(rerun).isEqualTo(modelUnmatched(tasks));
  }

  /** In any number of passes the same comes out, with each file read once in a pass at most. */
  private void checkWithLittleMemory(GroupDeletes.Stats unlimited, List<FileScanTask> tasks)
      throws IOException {
    GroupDeletes deletes = null;
    for (long limit = random.nextInt(100, 4_000); deletes == null; limit *= 2) {
      assertThat(limit).as(rerun).isLessThan(64_000);
      t.rows.opens.clear();
      t.rows.keyScans.clear();
      try {
        deletes = t.resolve(tasks, new DeleteLimits(limit));
      } catch (DeleteIndexTooLargeException e) {
        assertThat(e.bytesNeeded()).as(rerun).isGreaterThan(limit);
        assertThat(e.bytesMax()).as(rerun).isEqualTo(limit);
        continue;
      }
      assertThat(deletes.stats().keyIndexBytes()).as(rerun).isLessThanOrEqualTo(limit);
    }
    check(deletes, tasks);
    GroupDeletes.Stats stats = deletes.stats();
    int passes = stats.equalityPasses();
    passesTaken.merge(passes, 1, Integer::sum);
    assertThat(stats)
        .as(rerun)
        .usingRecursiveComparison()
        .ignoringFields("equalityPasses", "keyIndexBytes")
        .isEqualTo(unlimited);
    assertThat(t.rows.opens.values()).as(rerun).allMatch(opens -> opens <= Math.max(1, passes));
    assertThat(t.rows.keyScans.values()).as(rerun).allMatch(scans -> scans <= passes);
  }

  @AfterAll
  static void passesDiffered() {
    assertThat(passesTaken.keySet())
        .as("numbers of passes taken")
        .contains(1)
        .hasSizeGreaterThan(3);
  }

  private void createTable() {
    int columns = random.nextInt(1, 6);
    List<Types.NestedField> fields = new ArrayList<>();
    fields.add(Types.NestedField.optional(PART, "part", Types.StringType.get()));
    for (int i = 0; i < columns; i++) {
      fields.add(
          Types.NestedField.optional(2 + i, "c" + i, TYPES.get(random.nextInt(TYPES.size()))));
    }
    Schema schema = new Schema(fields);
    PartitionSpec spec =
        random.nextBoolean()
            ? PartitionSpec.unpartitioned()
            : PartitionSpec.builderFor(schema).identity("part").build();
    t = new TableInMemory(schema, spec, random.nextInt(3) == 0 ? 3 : 2);
    fields.forEach(field -> types.put(field.fieldId(), field.type()));
    rowsPerFile = random.nextInt(1, 60);
    distinct = random.nextInt(2, 12);
    nulls = random.nextInt(3) == 0 ? 0 : random.nextDouble() * 0.6;
    t.rows.batchRows = random.nextInt(1, 40);
  }

  private boolean vectors() {
    return ((org.apache.iceberg.HasTableOperations) t.table).operations().current().formatVersion()
        >= 3;
  }

  private void evolveSpec() {
    PartitionSpec spec = t.spec();
    if (spec.isUnpartitioned()) {
      t.table.updateSpec().addField("part").commit();
    } else {
      t.table.updateSpec().removeField("part").commit();
    }
  }

  private void commitSomething() throws IOException {
    List<DataFile> data = new ArrayList<>();
    List<DeleteFile> deletes = new ArrayList<>();
    int files = random.nextInt(3);
    for (int i = 0; i < files; i++) {
      data.add(randomData());
    }
    List<FileScanTask> tasks = t.tasks();
    int deleteFiles = random.nextInt(files == 0 ? 1 : 0, 4);
    Set<String> withNewVector = new HashSet<>();
    for (int i = 0; i < deleteFiles; i++) {
      boolean byPosition = random.nextBoolean() && !tasks.isEmpty();
      if (!byPosition) {
        deletes.add(randomEquality());
      } else if (!vectors()) {
        deletes.add(randomPositions(tasks, data));
      } else {
        DataFile file = tasks.get(random.nextInt(tasks.size())).file();
        boolean hasOne =
            deletesByLocation.values().stream()
                .anyMatch(d -> file.location().equals(d.referencedDataFile()));
        if (!hasOne && withNewVector.add(file.location())) {
          deletes.add(randomVector(file));
        }
      }
    }
    if (!data.isEmpty() || !deletes.isEmpty()) {
      t.commit(data, deletes);
    }
    deletes.forEach(
        delete -> deletesByLocation.put(delete.location() + "@" + delete.contentOffset(), delete));
  }

  private StructLike randomPartition(PartitionSpec spec) {
    PartitionData partition = new PartitionData(spec.partitionType());
    if (spec.isPartitioned()) {
      int value = random.nextInt(4);
      partition.set(0, value == 0 ? null : value == 1 ? "null" : "p" + value);
    }
    return partition;
  }

  private PartitionSpec randomSpec() {
    List<PartitionSpec> specs = new ArrayList<>(t.table.specs().values());
    return specs.get(random.nextInt(specs.size()));
  }

  @SuppressWarnings("unchecked")
  private DataFile randomData() {
    PartitionSpec spec = randomSpec();
    Map<Integer, Object>[] rows = new Map[random.nextInt(1, rowsPerFile + 1)];
    for (int i = 0; i < rows.length; i++) {
      rows[i] = new HashMap<>();
      for (int id : types.keySet()) {
        rows[i].put(id, randomValue(types.get(id)));
      }
    }
    return t.data(spec, randomPartition(spec), rows);
  }

  @SuppressWarnings("unchecked")
  private DeleteFile randomEquality() {
    PartitionSpec spec = randomSpec();
    List<Integer> all = new ArrayList<>(types.keySet());
    Set<Integer> ids = new LinkedHashSet<>();
    int wanted = random.nextInt(1, Math.min(4, all.size()) + 1);
    while (ids.size() < wanted) {
      ids.add(all.get(random.nextInt(all.size())));
    }
    Map<Integer, Object>[] rows = new Map[random.nextInt(1, 10)];
    for (int i = 0; i < rows.length; i++) {
      rows[i] = new HashMap<>();
      for (int id : ids) {
        rows[i].put(id, randomValue(types.get(id)));
      }
    }
    return t.equality(
        spec, randomPartition(spec), ids.stream().mapToInt(Integer::intValue).toArray(), rows);
  }

  private DeleteFile randomPositions(List<FileScanTask> tasks, List<DataFile> added) {
    List<DataFile> files = new ArrayList<>(added);
    tasks.forEach(task -> files.add(task.file()));
    DataFile home = files.get(random.nextInt(files.size()));
    List<Object> content = new ArrayList<>();
    int runs = random.nextInt(1, 6);
    for (int i = 0; i < runs; i++) {
      DataFile file = files.get(random.nextInt(files.size()));
      int length = random.nextInt(1, 6);
      for (int j = 0; j < length; j++) {
        content.add(file.location());
        content.add((long) random.nextInt(-2, rowsPerFile + 3));
      }
    }
    PartitionSpec spec = t.table.specs().get(home.specId());
    return t.positions(spec, home.partition(), content.toArray());
  }

  private DeleteFile randomVector(DataFile file) {
    TreeSet<Long> positions = new TreeSet<>();
    int count = random.nextInt(1, 10);
    for (int i = 0; i < count; i++) {
      positions.add((long) random.nextInt((int) file.recordCount() + 2));
    }
    return t.vector(
        file,
        "memory://t/dv-" + deletesByLocation.size() / 3 + ".puffin",
        4 + 1000L * deletesByLocation.size() + random.nextInt(900),
        positions.toArray(new Long[0]));
  }

  private Object randomValue(Type type) {
    if (random.nextDouble() < nulls) {
      return null;
    }
    int value = random.nextInt(distinct);
    return switch (type.typeId()) {
      case BOOLEAN -> value % 2 == 0;
      case INTEGER, DATE -> value == 0 ? Integer.MIN_VALUE : value - 3;
      case LONG, TIME, TIMESTAMP -> value == 0 ? Long.MIN_VALUE : (value - 3) * 0x1_0000_0001L;
      case FLOAT -> floatValue(value);
      case DOUBLE -> doubleValue(value);
      case STRING -> value == 0 ? "" : "ü".repeat(value) + (value % 2 == 0 ? "\0" : "");
      case BINARY -> new byte[value];
      case UUID -> repeated(value, 16);
      case FIXED -> repeated(value, ((Types.FixedType) type).length());
      case DECIMAL -> {
        int precision = ((Types.DecimalType) type).precision();
        yield precision <= 9
            ? (Object) (value - 3)
            : precision <= 18
                ? (Object) (value - 3L)
                : repeated(value, TypeUtil.decimalRequiredBytes(precision));
      }
      default -> throw new AssertionError(type);
    };
  }

  private float floatValue(int value) {
    return switch (value) {
      case 0 -> 0.0f;
      case 1 -> -0.0f;
      case 2 -> Float.NaN;
      case 3 -> Float.intBitsToFloat(0xFFC0_1234);
      default -> value;
    };
  }

  private double doubleValue(int value) {
    return switch (value) {
      case 0 -> 0.0;
      case 1 -> -0.0;
      case 2 -> Double.NaN;
      case 3 -> Double.longBitsToDouble(0xFFF8_0000_0000_1234L);
      default -> value;
    };
  }

  private static byte[] repeated(int value, int length) {
    byte[] bytes = new byte[length];
    Arrays.fill(bytes, (byte) -value);
    return bytes;
  }

  /* The model: the rules, word for word, over boxed values. It knows what was committed, and from
  the table only the sequence numbers. */

  private List<Long> model(DataFile file) throws IOException {
    Map<String, Long> sequences = deleteSequences();
    List<Map<Integer, Object>> rows = t.rows.rows(file.location());
    boolean hasVector =
        deletesByLocation.values().stream()
            .anyMatch(d -> file.location().equals(d.referencedDataFile()));
    List<Long> deleted = new ArrayList<>();
    for (int row = 0; row < rows.size(); row++) {
      boolean gone = false;
      for (Map.Entry<String, DeleteFile> entry : deletesByLocation.entrySet()) {
        long sequence = sequences.get(entry.getKey());
        DeleteFile delete = entry.getValue();
        if (delete.content() == FileContent.EQUALITY_DELETES) {
          gone |= equalityMatches(delete, sequence, file, rows.get(row));
        } else if (delete.referencedDataFile() != null) {
          gone |=
              delete.referencedDataFile().equals(file.location())
                  && vectorPositions(delete).contains((long) row);
        } else if (!hasVector
            && samePartition(delete, file)
            && sequence >= file.dataSequenceNumber()) {
          gone |=
              t.rows
                  .rows(delete.location())
                  .contains(
                      Map.of(RowsInMemory.PATH, file.location(), RowsInMemory.POS, (long) row));
        }
      }
      if (gone) {
        deleted.add((long) row);
      }
    }
    return deleted;
  }

  private GroupDeletes.Unmatched modelUnmatched(List<FileScanTask> tasks) throws IOException {
    Map<String, Long> sequences = deleteSequences();
    long elsewhere = 0;
    long beyond = 0;
    long repeated = 0;
    long vectorBeyond = 0;
    Map<String, Set<Long>> byPosition = new HashMap<>();
    Map<List<Object>, Boolean> keys = new HashMap<>();
    List<DataFile> files = tasks.stream().map(FileScanTask::file).toList();
    for (Map.Entry<String, DeleteFile> entry : deletesByLocation.entrySet()) {
      DeleteFile delete = entry.getValue();
      long sequence = sequences.get(entry.getKey());
      if (delete.content() == FileContent.EQUALITY_DELETES) {
        continue;
      }
      if (delete.referencedDataFile() != null) {
        for (DataFile file : files) {
          if (delete.referencedDataFile().equals(file.location())) {
            Set<Long> positions = vectorPositions(delete);
            int all = positions.size();
            positions.removeIf(position -> position >= file.recordCount());
            vectorBeyond += all - positions.size();
            byPosition.computeIfAbsent(file.location(), l -> new HashSet<>()).addAll(positions);
          }
        }
        continue;
      }
      Map<String, DataFile> targets = new HashMap<>();
      for (DataFile file : files) {
        boolean hasVector =
            deletesByLocation.values().stream()
                .anyMatch(d -> file.location().equals(d.referencedDataFile()));
        if (!hasVector && samePartition(delete, file) && sequence >= file.dataSequenceNumber()) {
          targets.put(file.location(), file);
        }
      }
      for (Map<Integer, Object> row :
          targets.isEmpty() ? List.<Map<Integer, Object>>of() : t.rows.rows(delete.location())) {
        DataFile file = targets.get((String) row.get(RowsInMemory.PATH));
        long position = (Long) row.get(RowsInMemory.POS);
        if (file == null) {
          elsewhere++;
        } else if (position < 0 || position >= file.recordCount()) {
          beyond++;
        } else if (!byPosition
            .computeIfAbsent(file.location(), l -> new HashSet<>())
            .add(position)) {
          repeated++;
        }
      }
    }
    for (Map.Entry<String, DeleteFile> entry : deletesByLocation.entrySet()) {
      DeleteFile delete = entry.getValue();
      if (delete.content() != FileContent.EQUALITY_DELETES) {
        continue;
      }
      boolean global = t.table.specs().get(delete.specId()).isUnpartitioned();
      List<DataFile> reached =
          files.stream()
              .filter(file -> global || samePartition(delete, file))
              .filter(file -> file.dataSequenceNumber() < sequences.get(entry.getKey()))
              .toList();
      if (reached.isEmpty()) {
        continue;
      }
      for (Map<Integer, Object> deleted : t.rows.rows(delete.location())) {
        Map<Integer, Object> wanted = key(deleted, delete.equalityFieldIds());
        boolean matched = false;
        for (DataFile file : reached) {
          List<Map<Integer, Object>> rows = t.rows.rows(file.location());
          Set<Long> gone = byPosition.getOrDefault(file.location(), Set.of());
          for (int row = 0; row < rows.size(); row++) {
            matched |=
                !gone.contains((long) row)
                    && key(rows.get(row), delete.equalityFieldIds()).equals(wanted);
          }
        }
        Object scope =
            global ? "global" : delete.specId() + "/" + delete.partition().get(0, Object.class);
        boolean isNull = !global && delete.partition().get(0, Object.class) == null;
        keys.merge(Arrays.asList(scope, isNull, wanted), matched, Boolean::logicalOr);
      }
    }
    return new GroupDeletes.Unmatched(
        elsewhere,
        beyond,
        repeated,
        vectorBeyond,
        keys.values().stream().filter(matched -> !matched).count());
  }

  private boolean equalityMatches(
      DeleteFile delete, long sequence, DataFile file, Map<Integer, Object> row) {
    if (!t.table.specs().get(delete.specId()).isUnpartitioned() && !samePartition(delete, file)) {
      return false;
    }
    if (sequence <= file.dataSequenceNumber()) {
      return false;
    }
    Map<Integer, Object> wanted = key(row, delete.equalityFieldIds());
    return t.rows.rows(delete.location()).stream()
        .anyMatch(deleted -> key(deleted, delete.equalityFieldIds()).equals(wanted));
  }

  private static Map<Integer, Object> key(Map<Integer, Object> row, List<Integer> ids) {
    Map<Integer, Object> key = new HashMap<>();
    for (int id : ids) {
      Object value = row.get(id);
      key.put(id, value instanceof byte[] bytes ? ByteBuffer.wrap(bytes) : value);
    }
    return key;
  }

  private static boolean samePartition(DeleteFile delete, DataFile file) {
    if (delete.specId() != file.specId()) {
      return false;
    }
    if (file.partition().size() == 0) {
      return true;
    }
    Object one = delete.partition().get(0, Object.class);
    Object other = file.partition().get(0, Object.class);
    return one == null ? other == null : other != null && one.toString().equals(other.toString());
  }

  private Set<Long> vectorPositions(DeleteFile vector) {
    Set<Long> positions = new HashSet<>();
    org.apache.iceberg.deletes.PositionDeleteIndex.deserialize(t.rows.blob(vector), vector)
        .forEach(positions::add);
    return positions;
  }

  /** The data sequence numbers of the delete files, from the manifests. */
  private Map<String, Long> deleteSequences() throws IOException {
    Map<String, Long> sequences = new HashMap<>();
    for (org.apache.iceberg.ManifestFile manifest :
        t.table.currentSnapshot().deleteManifests(t.table.io())) {
      try (var reader =
          org.apache.iceberg.ManifestFiles.readDeleteManifest(
              manifest, t.table.io(), t.table.specs())) {
        for (DeleteFile delete : reader) {
          sequences.put(
              delete.location() + "@" + delete.contentOffset(), delete.dataSequenceNumber());
        }
      }
    }
    return sequences;
  }
}
