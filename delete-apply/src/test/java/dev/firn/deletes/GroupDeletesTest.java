package dev.firn.deletes;

import static dev.firn.deletes.TableInMemory.row;
import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import java.io.IOException;
import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import org.apache.iceberg.DataFile;
import org.apache.iceberg.DeleteFile;
import org.apache.iceberg.FileScanTask;
import org.apache.iceberg.PartitionData;
import org.apache.iceberg.PartitionSpec;
import org.apache.iceberg.Schema;
import org.apache.iceberg.StructLike;
import org.apache.iceberg.expressions.Expressions;
import org.apache.iceberg.types.Types;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.Test;

class GroupDeletesTest {
  private static final int ID = 1;
  private static final int CAT = 2;
  private static final int NAME = 3;
  private static final int S = 4;
  private static final int S_X = 5;
  private static final Schema SCHEMA =
      new Schema(
          Types.NestedField.optional(ID, "id", Types.IntegerType.get()),
          Types.NestedField.optional(CAT, "cat", Types.StringType.get()),
          Types.NestedField.optional(NAME, "name", Types.StringType.get()),
          Types.NestedField.optional(
              S,
              "s",
              Types.StructType.of(Types.NestedField.optional(S_X, "x", Types.LongType.get()))));
  private static final PartitionSpec BY_CAT =
      PartitionSpec.builderFor(SCHEMA).identity("cat").build();
  private static final PartitionSpec NONE = PartitionSpec.unpartitioned();
  private static final int[] BY_ID = {ID};

  private TableInMemory t;

  private TableInMemory unpartitioned(int formatVersion) {
    t = new TableInMemory(SCHEMA, NONE, formatVersion);
    return t;
  }

  private TableInMemory byCat(int formatVersion) {
    t = new TableInMemory(SCHEMA, BY_CAT, formatVersion);
    return t;
  }

  private StructLike cat(String value) {
    PartitionData partition = new PartitionData(t.spec().partitionType());
    partition.set(0, value);
    return partition;
  }

  private DataFile ids(Integer... ids) {
    return t.data(t.spec(), null, idRows(ids));
  }

  @SuppressWarnings("unchecked")
  private static Map<Integer, Object>[] idRows(Integer... ids) {
    Map<Integer, Object>[] rows = new Map[ids.length];
    for (int i = 0; i < ids.length; i++) {
      rows[i] = row(ID, ids[i]);
    }
    return rows;
  }

  private DeleteFile deleteIds(Integer... ids) {
    return t.equality(t.spec(), null, BY_ID, idRows(ids));
  }

  @AfterEach
  void nothingLeaks() throws IOException {
    t.close();
  }

  @Test
  void d1EqualityDeleteOfTheSameCommitDeletesNothing() throws IOException {
    unpartitioned(2);
    DataFile old = ids(1, 2);
    t.append(old);
    DataFile inserted = ids(1, 3);
    t.commit(List.of(inserted), List.of(deleteIds(1)));
    assertThat(t.deleted())
        .containsEntry(old.location(), List.of(0L))
        .containsEntry(inserted.location(), List.of());
  }

  @Test
  void d1KeyHeldByAnOlderFileOfTheScopeDoesNotReachNewerRows() throws IOException {
    unpartitioned(2);
    DataFile first = ids(1, 2);
    t.append(first);
    t.delete(deleteIds(1));
    DataFile second = ids(1, 2);
    t.append(second);
    t.delete(deleteIds(2));
    assertThat(t.deleted())
        .containsEntry(first.location(), List.of(0L, 1L))
        .containsEntry(second.location(), List.of(1L));
  }

  @Test
  void d2PositionDeleteOfTheSameCommitApplies() throws IOException {
    unpartitioned(2);
    DataFile file = ids(1, 2);
    t.commit(List.of(file), List.of(t.positions(NONE, null, file.location(), 1L)));
    assertThat(t.deleted()).containsEntry(file.location(), List.of(1L));
  }

  @Test
  void d2PositionDeleteOlderThanTheFileIsNotApplied() throws IOException {
    unpartitioned(2);
    DataFile other = ids(1, 2);
    t.append(other);
    String location = "memory://t/added-again.parquet";
    DeleteFile delete = t.positions(NONE, null, location, 0L, other.location(), 1L);
    t.delete(delete);
    DataFile again = t.dataAt(location, NONE, null, idRows(1, 2));
    t.append(again);
    assertThat(t.deleted())
        .containsEntry(location, List.of())
        .containsEntry(other.location(), List.of(1L));
    // and not even if someone lists it
    List<FileScanTask> tasks = t.tasks();
    DeleteFile planned = tasks.get(1).deletes().get(0);
    GroupDeletes deletes = t.resolve(tasks, task -> List.of(planned), TableInMemory.NO_LIMIT);
    assertThat(deletes.deletedRows(tasks.get(0)).count()).isZero();
    assertThat(deletes.deletedRows(tasks.get(1)).count()).isEqualTo(1);
  }

  @Test
  void d3TheDataSequenceNumberCountsNotTheFileSequenceNumber() throws IOException {
    unpartitioned(2);
    DataFile small = ids(1, 2);
    t.append(small);
    t.delete(deleteIds(1));
    DataFile compacted = ids(1, 2);
    t.table.newRewrite().deleteFile(small).addFile(compacted).dataSequenceNumber(1).commit();
    assertThat(t.tasks().get(0).file().fileSequenceNumber()).isEqualTo(3);
    assertThat(t.deleted()).containsEntry(compacted.location(), List.of(0L));
  }

  @Test
  void d4DeletionVectorSupersedesPositionFilesWhichAreNotOpened() throws IOException {
    unpartitioned(2);
    DataFile file = ids(1, 2, 3, 4);
    DataFile other = ids(1, 2);
    t.append(file);
    DeleteFile stale = t.positions(NONE, null, file.location(), 0L);
    t.delete(stale);
    t.table.updateProperties().set("format-version", "3").commit();
    DeleteFile vector = t.vector(file, "memory://t/dv.puffin", 4, 1L, 2L);
    t.delete(vector);
    t.append(other);
    t.delete(deleteIds(4));
    List<FileScanTask> tasks = t.tasks();
    GroupDeletes deletes = t.resolve(tasks);
    assertThat(TableInMemory.positions(deletes.deletedRows(tasks.get(0)), 4))
        .containsExactly(1L, 2L, 3L);
    assertThat(deletes.stats().positionFilesOpened()).isZero();
    assertThat(deletes.stats().rowsDeletedByVectors()).isEqualTo(2);
    assertThat(deletes.stats().rowsDeletedByEquality()).isEqualTo(1);
    assertThat(t.rows.opens(stale)).isZero();
    assertThat(t.rows.opens(vector)).isEqualTo(1);
  }

  @Test
  void d4PositionFileThatAnotherFileNeedsStaysAwayFromTheFileWithTheVector() throws IOException {
    unpartitioned(2);
    DataFile file = ids(1, 2, 3, 4);
    DataFile other = ids(1, 2);
    t.append(file, other);
    DeleteFile shared =
        t.positions(NONE, null, file.location(), 0L, other.location(), 0L, file.location(), 3L);
    t.delete(shared);
    t.table.updateProperties().set("format-version", "3").commit();
    t.delete(t.vector(file, "memory://t/dv.puffin", 4, 1L));
    assertThat(t.deleted())
        .containsEntry(file.location(), List.of(1L))
        .containsEntry(other.location(), List.of(0L));
    assertThat(t.rows.opens(shared)).isEqualTo(1);
  }

  @Test
  void d5TwoVectorsForOneFileAreCorrupt() throws IOException {
    unpartitioned(3);
    DataFile file = ids(1, 2);
    t.append(file);
    t.delete(t.vector(file, "memory://t/dv.puffin", 4, 1L));
    List<FileScanTask> tasks = t.tasks();
    DeleteFile planned = tasks.get(0).deletes().get(0);
    DeleteFile second = t.vector(file, "memory://t/dv.puffin", 100, 0L);
    assertThatThrownBy(
            () -> t.resolve(tasks, task -> List.of(planned, second), TableInMemory.NO_LIMIT))
        .isInstanceOf(CorruptDeleteException.class)
        .hasMessageContaining(file.location())
        .hasMessageContaining("another deletion vector");
    // the same one listed twice is one
    GroupDeletes deletes =
        t.resolve(tasks, task -> List.of(planned, planned), TableInMemory.NO_LIMIT);
    assertThat(deletes.deletedRows(tasks.get(0)).count()).isEqualTo(1);
  }

  @Test
  void d6VectorOfAnotherPartitionIsCorrupt() throws IOException {
    byCat(3);
    DataFile a = t.data(BY_CAT, cat("a"), idRows(1, 2));
    DataFile b = t.data(BY_CAT, cat("b"), idRows(1, 2));
    t.append(a, b);
    t.delete(t.vector(a, "memory://t/dv.puffin", 4, 1L));
    List<FileScanTask> tasks = t.tasks();
    DeleteFile misplaced = t.vectorMetadata(a.location(), b, "memory://t/dv2.puffin", 4, 100, 1);
    assertThatThrownBy(
            () ->
                t.resolve(tasks.subList(0, 1), task -> List.of(misplaced), TableInMemory.NO_LIMIT))
        .isInstanceOf(CorruptDeleteException.class)
        .hasMessageContaining("partition");
  }

  @Test
  void d6VectorOlderThanItsFileIsCorrupt() throws IOException {
    unpartitioned(3);
    DataFile file = ids(1, 2);
    t.append(file);
    t.delete(t.vector(file, "memory://t/dv.puffin", 4, 1L));
    DeleteFile vector = t.tasks().get(0).deletes().get(0);
    String location = file.location();
    t.table.newDelete().deleteFile(file).commit();
    t.append(t.dataAt(location, NONE, null, idRows(5, 6)));
    List<FileScanTask> tasks = t.tasks();
    assertThat(tasks.get(0).deletes()).isEmpty();
    assertThatThrownBy(() -> t.resolve(tasks, task -> List.of(vector), TableInMemory.NO_LIMIT))
        .isInstanceOf(CorruptDeleteException.class)
        .hasMessageContaining("sequence number");
  }

  @Test
  void d7EqualityDeletesStayInTheirPartition() throws IOException {
    byCat(2);
    DataFile a = t.data(BY_CAT, cat("a"), idRows(1, 2));
    DataFile b = t.data(BY_CAT, cat("b"), idRows(1, 2));
    t.append(a, b);
    t.delete(
        t.equality(BY_CAT, cat("a"), BY_ID, idRows(1)),
        t.equality(BY_CAT, cat("b"), BY_ID, idRows(2)));
    assertThat(t.deleted())
        .containsEntry(a.location(), List.of(0L))
        .containsEntry(b.location(), List.of(1L));
  }

  @Test
  void d7DeletesOfOneSpecDoNotReachAnother() throws IOException {
    byCat(2);
    DataFile old = t.data(BY_CAT, cat("a"), idRows(1, 2));
    t.append(old);
    t.table.updateSpec().removeField("cat").addField("name").commit();
    PartitionSpec byName = t.spec();
    PartitionData a = new PartitionData(byName.partitionType());
    a.set(0, "a");
    DataFile recent = t.data(byName, a, idRows(1, 2));
    t.append(recent);
    t.delete(t.equality(byName, a, BY_ID, idRows(1)));
    t.delete(t.equality(BY_CAT, partition(BY_CAT, "a"), BY_ID, idRows(2)));
    assertThat(t.deleted())
        .containsEntry(old.location(), List.of(1L))
        .containsEntry(recent.location(), List.of(0L));
  }

  private static StructLike partition(PartitionSpec spec, Object value) {
    PartitionData partition = new PartitionData(spec.partitionType());
    partition.set(0, value);
    return partition;
  }

  @Test
  void d7PositionFileReachesOnlyFilesOfItsPartitionWhateverPathsItHolds() throws IOException {
    byCat(2);
    DataFile a = t.data(BY_CAT, cat("a"), idRows(1, 2));
    DataFile b = t.data(BY_CAT, cat("b"), idRows(1, 2));
    t.append(a, b);
    t.delete(t.positions(BY_CAT, cat("a"), a.location(), 0L, b.location(), 1L));
    assertThat(t.deleted())
        .containsEntry(a.location(), List.of(0L))
        .containsEntry(b.location(), List.of());
  }

  @Test
  void d8EqualityDeletesOfAnUnpartitionedSpecAreGlobal() throws IOException {
    unpartitioned(2);
    DataFile old = ids(1, 2);
    t.append(old);
    PartitionSpec unpartitioned = t.spec();
    t.table.updateSpec().addField("cat").commit();
    PartitionSpec byCat = t.spec();
    DataFile recent = t.data(byCat, partition(byCat, "a"), idRows(1, 2));
    t.append(recent);
    t.delete(t.equality(unpartitioned, null, BY_ID, idRows(1)));
    t.delete(t.equality(byCat, partition(byCat, "a"), BY_ID, idRows(2)));
    assertThat(t.deleted())
        .containsEntry(old.location(), List.of(0L))
        .containsEntry(recent.location(), List.of(0L, 1L));
  }

  @Test
  void d8EqualityDeletesOfAnAllVoidSpecAreGlobal() throws IOException {
    t = new TableInMemory(SCHEMA, BY_CAT, 1);
    t.table.updateProperties().set("format-version", "2").commit();
    DataFile a = t.data(BY_CAT, cat("a"), idRows(1, 2));
    t.append(a);
    t.table.updateSpec().removeField("cat").commit();
    PartitionSpec later = t.spec();
    PartitionSpec allVoid =
        PartitionSpec.builderFor(SCHEMA).withSpecId(later.specId()).alwaysNull("cat").build();
    DeleteFile delete = t.equality(allVoid, null, BY_ID, idRows(1));
    t.delete(delete);
    Map<Integer, PartitionSpec> specs = Map.of(0, BY_CAT, later.specId(), allVoid);
    List<FileScanTask> tasks = t.tasks();
    DeleteFile planned = tasks.get(0).deletes().get(0);
    GroupDeletes deletes =
        GroupDeletes.resolve(
            specs,
            SCHEMA,
            List.of(),
            tasks,
            task -> List.of(planned),
            t.rows,
            TableInMemory.NO_LIMIT,
            Runnable::run);
    assertThat(deletes.deletedRows(tasks.get(0)).count()).isEqualTo(1);
  }

  @Test
  void d9NullPartitionAndThePartitionNamedNullAreTwo() throws IOException {
    byCat(2);
    DataFile none = t.data(BY_CAT, cat(null), idRows(1, 2));
    DataFile named = t.data(BY_CAT, cat("null"), idRows(1, 2));
    t.append(none, named);
    t.delete(t.equality(BY_CAT, cat(null), BY_ID, idRows(1)));
    t.delete(t.equality(BY_CAT, cat("null"), BY_ID, idRows(2)));
    assertThat(t.deleted())
        .containsEntry(none.location(), List.of(0L))
        .containsEntry(named.location(), List.of(1L));
  }

  @Test
  void d10NullMatchesNullOnly() throws IOException {
    unpartitioned(2);
    DataFile file =
        t.data(
            NONE,
            null,
            row(ID, 1, CAT, null),
            row(ID, 2, CAT, "x"),
            row(ID, 3, CAT, "y"),
            row(ID, 4, CAT, null),
            row(ID, 4, CAT, "z"),
            row(ID, null, CAT, "z"));
    t.append(file);
    t.delete(t.equality(NONE, null, new int[] {ID, CAT}, row(ID, 4, CAT, null)));
    assertThat(t.deleted()).containsEntry(file.location(), List.of(3L));
    t.delete(t.equality(NONE, null, new int[] {CAT}, row(CAT, "x")));
    assertThat(t.deleted()).containsEntry(file.location(), List.of(1L, 3L));
    t.delete(t.equality(NONE, null, BY_ID, row(ID, null)));
    assertThat(t.deleted()).containsEntry(file.location(), List.of(1L, 3L, 5L));
    t.delete(t.equality(NONE, null, new int[] {CAT}, row(CAT, null)));
    assertThat(t.deleted()).containsEntry(file.location(), List.of(0L, 1L, 3L, 5L));
  }

  @Test
  void d11EachSetOfFieldIdsDeletesByItself() throws IOException {
    unpartitioned(2);
    DataFile file =
        t.data(
            NONE,
            null,
            row(ID, 1, CAT, "a", NAME, "n"),
            row(ID, 2, CAT, "b", NAME, "n"),
            row(ID, 3, CAT, "c", NAME, "n"),
            row(ID, 3, CAT, "d", NAME, "n"),
            row(ID, 4, CAT, "c", NAME, "n"));
    t.append(file);
    t.delete(
        t.equality(NONE, null, BY_ID, row(ID, 1)),
        t.equality(NONE, null, new int[] {CAT}, row(CAT, "b")),
        t.equality(NONE, null, new int[] {ID, CAT}, row(ID, 3, CAT, "c", NAME, "ignored")),
        t.equality(NONE, null, new int[] {CAT, ID}, row(CAT, "d", ID, 3)));
    List<FileScanTask> tasks = t.tasks();
    GroupDeletes deletes = t.resolve(tasks);
    assertThat(TableInMemory.positions(deletes.deletedRows(tasks.get(0)), 5))
        .containsExactly(0L, 1L, 2L, 3L);
    assertThat(deletes.stats().keysRead()).isEqualTo(4);
    assertThat(t.rows.keyScans).containsEntry(file.location(), 1);
    assertThat(t.rows.columnsAsked.get(file.location()).columns())
        .extracting(Types.NestedField::fieldId)
        .containsExactly(ID, CAT);
  }

  @Test
  void d13DroppedColumnIsReadAsItLastWas() throws IOException {
    unpartitioned(2);
    DataFile file = t.data(NONE, null, row(ID, 1, NAME, "x"), row(ID, 2, NAME, "y"));
    t.append(file);
    t.delete(t.equality(NONE, null, new int[] {NAME}, row(NAME, "x")));
    t.delete(t.equality(NONE, null, new int[] {S_X}, row(S_X, 7L)));
    t.table.updateSchema().deleteColumn("name").deleteColumn("s").commit();
    t.table.updateSchema().addColumn("name", Types.LongType.get()).commit();
    int again = t.table.schema().findField("name").fieldId();
    t.delete(t.equality(NONE, null, new int[] {again}, row(again, 7L)));
    assertThat(t.deleted()).containsEntry(file.location(), List.of(0L));
    assertThat(t.rows.columnsAsked.get(file.location()).columns())
        .extracting(Types.NestedField::fieldId)
        .containsExactly(NAME, S_X, again);
  }

  @Test
  void d14FieldOfNoSchemaIsRefusedByName() throws IOException {
    unpartitioned(2);
    t.append(ids(1));
    DeleteFile delete = deleteIds(1);
    t.delete(delete);
    List<FileScanTask> tasks = t.tasks();
    Schema without = new Schema(SCHEMA.findField(NAME));
    assertThatThrownBy(
            () ->
                GroupDeletes.resolve(
                    t.table.specs(),
                    without,
                    List.of(without),
                    tasks,
                    FileScanTask::deletes,
                    t.rows,
                    TableInMemory.NO_LIMIT,
                    Runnable::run))
        .isInstanceOf(UnsupportedDeleteException.class)
        .hasMessageContaining(delete.location())
        .hasMessageContaining("field 1 ");
    assertThat(t.rows.opens).isEmpty();
  }

  @Test
  void d14FieldOfNoSchemaIsComparedInTheWidestTypeThatTheFilesHave() throws IOException {
    unpartitioned(2);
    DataFile file = ids(1, 2);
    DataFile without = t.data(NONE, null, row(CAT, "a"));
    t.append(file, without);
    t.delete(deleteIds(1));
    DeleteFile later = deleteIds(2);
    t.delete(later);
    List<FileScanTask> tasks = t.tasks();
    Schema left = new Schema(SCHEMA.findField(NAME));
    t.rows.types.put(file.location(), Map.of(ID, Types.IntegerType.get()));
    t.rows.types.put(later.location(), Map.of(ID, Types.LongType.get()));
    GroupDeletes deletes = resolve(tasks, left);
    assertThat(deletes.stats().rowsDeleted()).isEqualTo(2);
    assertThat(t.rows.columnsAsked.get(file.location()).findType(ID))
        .isEqualTo(Types.LongType.get());
    t.rows.types.put(later.location(), Map.of(ID, Types.StringType.get()));
    assertThatThrownBy(() -> resolve(tasks, left))
        .isInstanceOf(UnsupportedDeleteException.class)
        .hasMessageContaining("field 1")
        .hasMessageContaining("string")
        .hasMessageContaining("int");
  }

  private GroupDeletes resolve(List<FileScanTask> tasks, Schema only) throws IOException {
    return GroupDeletes.resolve(
        t.table.specs(),
        only,
        List.of(only),
        tasks,
        FileScanTask::deletes,
        t.rows,
        TableInMemory.NO_LIMIT,
        t.threads);
  }

  @Test
  void d16KeysAreAskedForInThePromotedType() throws IOException {
    unpartitioned(2);
    DataFile file = ids(1, 5);
    t.append(file);
    DeleteFile delete = deleteIds(5);
    t.delete(delete);
    t.table.updateSchema().updateColumn("id", Types.LongType.get()).commit();
    assertThat(t.deleted()).containsEntry(file.location(), List.of(1L));
    assertThat(t.rows.columnsAsked.get(delete.location()).findType(ID))
        .isEqualTo(Types.LongType.get());
    assertThat(t.rows.columnsAsked.get(file.location()).findType(ID))
        .isEqualTo(Types.LongType.get());
  }

  @Test
  void d17InitialDefaultIsPartOfTheColumnAskedFor() throws IOException {
    unpartitioned(3);
    t.table
        .updateSchema()
        .addColumn("c", Types.IntegerType.get(), org.apache.iceberg.expressions.Literal.of(7))
        .commit();
    int c = t.table.schema().findField("c").fieldId();
    DataFile file = t.data(NONE, null, row(ID, 1, c, 7));
    t.append(file);
    DeleteFile delete = t.equality(NONE, null, new int[] {c}, row(c, 7));
    t.delete(delete);
    assertThat(t.deleted()).containsEntry(file.location(), List.of(0L));
    assertThat(t.rows.columnsAsked.get(file.location()).findField(c).initialDefault()).isEqualTo(7);
  }

  @Test
  void d19NestedFieldIsAskedForAsALeafOfItsOwn() throws IOException {
    unpartitioned(2);
    DataFile file = t.data(NONE, null, row(S_X, null), row(S_X, 1L), row(S_X, 2L));
    t.append(file);
    DeleteFile delete = t.equality(NONE, null, new int[] {S_X}, row(S_X, null), row(S_X, 2L));
    t.delete(delete);
    assertThat(t.deleted()).containsEntry(file.location(), List.of(0L, 2L));
    Types.NestedField leaf = t.rows.columnsAsked.get(delete.location()).columns().get(0);
    assertThat(leaf.fieldId()).isEqualTo(S_X);
    assertThat(leaf.name()).isEqualTo("s.x");
    assertThat(leaf.type()).isEqualTo(Types.LongType.get());
    assertThat(leaf.isOptional()).isTrue();
  }

  @Test
  void d21AFileThatADeleteWasPrunedForIsStillRight() throws IOException {
    unpartitioned(2);
    DataFile near = ids(1, 2);
    DataFile far = ids(1, 2);
    t.append(near, far);
    t.delete(deleteIds(1));
    List<FileScanTask> tasks = t.tasks();
    GroupDeletes deletes =
        t.resolve(
            tasks,
            task -> task == tasks.get(0) ? task.deletes() : List.of(),
            TableInMemory.NO_LIMIT);
    assertThat(deletes.deletedRows(tasks.get(0)).count()).isEqualTo(1);
    assertThat(deletes.deletedRows(tasks.get(1))).isSameAs(DeletedPositions.NONE);
    assertThat(t.rows.keyScans).containsOnlyKeys(tasks.get(0).file().location());
  }

  @Test
  void d22PositionsOfManyFilesInOneUnsortedFileWithDuplicates() throws IOException {
    unpartitioned(2);
    DataFile a = ids(1, 2, 3);
    DataFile b = ids(1, 2, 3);
    t.append(a, b);
    t.delete(
        t.positions(
            NONE,
            null,
            b.location(),
            1L,
            a.location(),
            2L,
            a.location(),
            0L,
            "memory://t/elsewhere.parquet",
            1L,
            a.location(),
            0L,
            b.location(),
            1L));
    assertThat(t.deleted())
        .containsEntry(a.location(), List.of(0L, 2L))
        .containsEntry(b.location(), List.of(1L));
  }

  @Test
  void d23PathsMatchByteForByte() throws IOException {
    unpartitioned(2);
    String odd = "s3a://bucket//t/a%20b/ü.parquet";
    DataFile file = t.dataAt(odd, NONE, null, idRows(1, 2, 3, 4, 5));
    t.append(file);
    t.delete(
        t.positions(
            NONE,
            null,
            "s3://bucket//t/a%20b/ü.parquet",
            0L,
            "s3a://bucket/t/a%20b/ü.parquet",
            1L,
            "s3a://bucket//t/a b/ü.parquet",
            2L,
            odd,
            3L,
            odd + "x",
            4L));
    assertThat(t.deleted()).containsEntry(odd, List.of(3L));
  }

  @Test
  void d26PositionsThatTheFileDoesNotHaveAreIgnored() throws IOException {
    unpartitioned(2);
    DataFile file = ids(1, 2, 3);
    t.append(file);
    t.delete(
        t.positions(
            NONE,
            null,
            file.location(),
            -1L,
            file.location(),
            2L,
            file.location(),
            3L,
            file.location(),
            1L << 32,
            file.location(),
            Long.MAX_VALUE,
            file.location(),
            Long.MIN_VALUE));
    assertThat(t.deleted()).containsEntry(file.location(), List.of(2L));
  }

  @Test
  void positionFileWithANullIsCorrupt() throws IOException {
    unpartitioned(2);
    DataFile file = ids(1, 2, 3);
    t.append(file);
    DeleteFile delete = t.positions(NONE, null, file.location(), 1L, file.location(), null);
    t.delete(delete);
    assertThatThrownBy(t::deleted)
        .isInstanceOf(CorruptDeleteException.class)
        .hasMessageContaining(delete.location());
  }

  @Test
  void d29EachDeleteFileIsOpenedOnceHoweverManyDataFilesItTouches() throws IOException {
    unpartitioned(2);
    List<DataFile> files = new ArrayList<>();
    for (int i = 0; i < 10; i++) {
      files.add(ids(i, 100, 200));
    }
    t.commit(files, List.of());
    DeleteFile positions =
        t.positions(NONE, null, files.get(0).location(), 0L, files.get(9).location(), 1L);
    DeleteFile equality = deleteIds(200);
    t.delete(positions, equality);
    List<FileScanTask> tasks = t.tasks();
    GroupDeletes deletes = t.resolve(tasks);
    for (FileScanTask task : tasks) {
      deletes.deletedRows(task);
    }
    assertThat(deletes.stats().deleteFilesOpened()).isEqualTo(2);
    assertThat(deletes.stats().rowsDeleted()).isEqualTo(12);
    assertThat(t.rows.opens.values()).containsExactly(1, 1);
  }

  @Test
  void d29VectorsOfOnePuffinAreTwoDeleteFiles() throws IOException {
    unpartitioned(3);
    DataFile a = ids(1, 2, 3);
    DataFile b = ids(1, 2, 3);
    t.append(a, b);
    t.delete(
        t.vector(a, "memory://t/dv.puffin", 4, 0L),
        t.vector(b, "memory://t/dv.puffin", 60, 1L, 2L));
    assertThat(t.deleted())
        .containsEntry(a.location(), List.of(0L))
        .containsEntry(b.location(), List.of(1L, 2L));
    assertThat(t.rows.opens.values()).containsExactly(1, 1);
  }

  @Test
  void d31AllRowsDeletedAndTheKeysAreThenNotScanned() throws IOException {
    unpartitioned(2);
    DataFile gone = ids(1, 2);
    DataFile goneByKey = ids(7, 7);
    t.append(gone, goneByKey);
    t.delete(t.positions(NONE, null, gone.location(), 0L, gone.location(), 1L), deleteIds(7));
    assertThat(t.deleted())
        .containsEntry(gone.location(), List.of(0L, 1L))
        .containsEntry(goneByKey.location(), List.of(0L, 1L));
    assertThat(t.rows.keyScans).containsOnlyKeys(goneByKey.location());
  }

  @Test
  void c26ARowDeletedByEveryKindIsCountedOnce() throws IOException {
    unpartitioned(2);
    DataFile file = ids(1, 2, 3);
    t.append(file);
    t.delete(
        t.positions(NONE, null, file.location(), 0L),
        t.positions(NONE, null, file.location(), 0L, file.location(), 1L),
        deleteIds(1),
        t.equality(NONE, null, new int[] {ID, CAT}, row(ID, 1, CAT, null)));
    List<FileScanTask> tasks = t.tasks();
    GroupDeletes deletes = t.resolve(tasks);
    assertThat(deletes.deletedRows(tasks.get(0)).count()).isEqualTo(2);
    assertThat(deletes.stats().rowsDeletedByPositionFiles()).isEqualTo(2);
    assertThat(deletes.stats().rowsDeletedByEquality()).isZero();
  }

  @Test
  void h5ADeleteFileThatThePlannerLeftOutIsAppliedWhenAdded() throws IOException {
    unpartitioned(2);
    DataFile file = ids(1, 2);
    t.append(file);
    t.delete(deleteIds(2));
    List<FileScanTask> tasks = t.tasks();
    DeleteFile planned = tasks.get(0).deletes().get(0);
    DataFile later = ids(2);
    t.append(later);
    List<FileScanTask> pruned = t.tasks();
    // attached to all files of the partition, also to one that is newer
    GroupDeletes deletes = t.resolve(pruned, task -> List.of(planned), TableInMemory.NO_LIMIT);
    for (FileScanTask task : pruned) {
      boolean older = task.file().location().equals(file.location());
      assertThat(deletes.deletedRows(task).count()).isEqualTo(older ? 1 : 0);
    }
    assertThat(t.rows.keyScans).containsOnlyKeys(file.location());
  }

  @Test
  void filesWithoutDeletesCostNothing() throws IOException {
    unpartitioned(2);
    t.append(ids(1, 2));
    List<FileScanTask> tasks = t.tasks();
    GroupDeletes deletes = t.resolve(tasks);
    assertThat(deletes.deletedRows(tasks.get(0))).isSameAs(DeletedPositions.NONE);
    assertThat(t.rows.opens).isEmpty();
    assertThat(t.rows.keyScans).isEmpty();
  }

  @Test
  void aTaskOfAnotherGroupIsRefused() throws IOException {
    unpartitioned(2);
    t.append(ids(1, 2));
    List<FileScanTask> tasks = t.tasks();
    FileScanTask other = t.tasks().get(0);
    GroupDeletes deletes = t.resolve(tasks);
    assertThatThrownBy(() -> deletes.deletedRows(other))
        .isInstanceOf(IllegalArgumentException.class);
    assertThat(deletes.deletedRows(tasks.get(0)).count()).isZero();
  }

  @Test
  void keyColumnsWithFewerRowsThanTheFileAreCorrupt() throws IOException {
    unpartitioned(2);
    DataFile file = ids(1, 2, 3);
    t.append(file);
    t.delete(deleteIds(1));
    t.rows.put(file.location(), List.of(row(ID, 1)));
    assertThatThrownBy(t::deleted)
        .isInstanceOf(CorruptDeleteException.class)
        .hasMessageContaining("1 rows");
  }

  @Test
  void h6DeleteOutsideTheScanFilterApplies() throws IOException {
    // a scan that ignores residuals attaches the delete although the filter excludes its key
    unpartitioned(2);
    DataFile file = t.data(NONE, null, row(ID, 1, CAT, "b"));
    t.append(file);
    t.delete(t.equality(NONE, null, BY_ID, row(ID, 1, CAT, "q")));
    try (var planned =
        t.table.newScan().filter(Expressions.equal("cat", "b")).ignoreResiduals().planFiles()) {
      List<FileScanTask> tasks = new ArrayList<>();
      planned.forEach(tasks::add);
      GroupDeletes deletes = t.resolve(tasks);
      assertThat(deletes.deletedRows(tasks.get(0)).count()).isEqualTo(1);
    }
  }
}
