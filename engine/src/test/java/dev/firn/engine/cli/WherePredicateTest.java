package dev.firn.engine.cli;

import static org.apache.iceberg.types.Types.NestedField.optional;
import static org.apache.iceberg.types.Types.NestedField.required;
import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import java.math.BigDecimal;
import java.nio.ByteBuffer;
import java.sql.Connection;
import java.sql.DriverManager;
import java.sql.ResultSet;
import java.sql.SQLException;
import java.sql.Statement;
import java.time.LocalDate;
import java.time.LocalDateTime;
import java.time.LocalTime;
import java.time.OffsetDateTime;
import java.util.ArrayList;
import java.util.List;
import java.util.SplittableRandom;
import java.util.UUID;
import java.util.concurrent.ThreadLocalRandom;
import org.apache.iceberg.Schema;
import org.apache.iceberg.data.GenericRecord;
import org.apache.iceberg.data.InternalRecordWrapper;
import org.apache.iceberg.data.Record;
import org.apache.iceberg.expressions.Evaluator;
import org.apache.iceberg.expressions.Expression;
import org.apache.iceberg.expressions.Expressions;
import org.apache.iceberg.types.Types;
import org.junit.jupiter.api.AfterAll;
import org.junit.jupiter.api.BeforeAll;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;
import org.junit.jupiter.params.provider.FieldSource;

/** DuckDB says which rows a predicate selects; the Iceberg expression must select the same. */
class WherePredicateTest {
  private static final Schema SCHEMA =
      new Schema(
          required(1, "id", Types.IntegerType.get()),
          optional(2, "i", Types.IntegerType.get()),
          optional(3, "l", Types.LongType.get()),
          optional(4, "f", Types.FloatType.get()),
          optional(5, "d", Types.DoubleType.get()),
          optional(6, "n", Types.DecimalType.of(12, 2)),
          optional(7, "s", Types.StringType.get()),
          optional(8, "b", Types.BooleanType.get()),
          optional(9, "day", Types.DateType.get()),
          optional(10, "t", Types.TimeType.get()),
          optional(11, "ts", Types.TimestampType.withoutZone()),
          optional(12, "tz", Types.TimestampType.withZone()),
          optional(13, "u", Types.UUIDType.get()),
          optional(14, "bin", Types.BinaryType.get()),
          optional(
              15,
              "st",
              Types.StructType.of(
                  optional(16, "x", Types.IntegerType.get()),
                  optional(17, "y z", Types.StringType.get()))),
          optional(18, "Order", Types.IntegerType.get()),
          optional(19, "ns", Types.TimestampNanoType.withoutZone()),
          optional(20, "list", Types.ListType.ofOptional(21, Types.IntegerType.get())));

  private static Connection duckdb;
  private static List<Record> rows;

  /** Each as both sides read it, or as {@code Firn's | DuckDB's}. */
  static final List<String> PREDICATES =
      List.of(
          "i = 3",
          "i <> 3",
          "i != 3",
          "i < 3",
          "i <= 3",
          "i > 3",
          "i >= 3",
          "3 < i",
          "3 >= i",
          "3 = i",
          "i = -2",
          "i > +1",
          "(i) = (3)",
          "not i = 3",
          "not (i = 3 or l = 4)",
          "not (i = 3 and l = 4)",
          "! (i < 3) | not (i < 3)",
          "i in (1, 2, 3)",
          "i in (3)",
          "i not in (1, 2, 3)",
          "not i in (1, 2)",
          "not (i not in (1, 2))",
          "i between 1 and 3",
          "i not between 1 and 3",
          "not i between 1 and 3",
          "i is null",
          "i is not null",
          "not i is null",
          "not (i is not null)",
          "i < 3000000000",
          "i > 3000000000",
          "i = 3000000000",
          "i <> 3000000000",
          "i > -3000000000",
          "i in (3, 3000000000)",
          "l = 9223372036854775807",
          "l >= -9223372036854775807",
          "f = 0.5",
          "f > 0.1",
          "d < 1",
          "d >= 1.5e2",
          "d = -.25",
          "d <> 1.5",
          "is_nan(d) | isnan(d)",
          "not is_nan(d) | not isnan(d)",
          "not isnan(f)",
          "n = 5",
          "n = 5.5",
          "n >= -1.25",
          "n in (5.50, 7)",
          "s = 'a'",
          "s = 'it''s'",
          "s = ''",
          "s < 'b'",
          "s >= 'é'",
          "s in ('a', 'ab')",
          "s not in ('a', 'x')",
          "s like 'a%'",
          "s not like 'a%'",
          "not s like 'a%'",
          "s like '%'",
          "s not like '%'",
          "b",
          "not b",
          "b = true",
          "b = false",
          "b <> true",
          "b is true",
          "b is not true",
          "b is false",
          "b is not false",
          "not b is true",
          "not (b is not false)",
          "day = DATE '2026-01-31'",
          "day >= '2026-01-31'",
          "day < date'1970-01-01'",
          "day between DATE '1969-12-31' and DATE '2026-01-31'",
          "day in (DATE '2026-01-31', '1969-12-31')",
          "day = cast('2026-01-31' as date)",
          "t >= TIME '10:00:00'",
          "t = '10:00:00.000001'",
          "ts = TIMESTAMP '2026-01-31 10:00:00'",
          "ts >= TIMESTAMP '2026-01-31 10:00:00.000001'",
          "ts < '2026-01-31T10:00:00.5'",
          "ts >= DATE '2026-01-31'",
          "ts in (TIMESTAMP '2026-01-31 10:00:00', TIMESTAMP '1969-12-31 23:59:59.999999')",
          "tz = TIMESTAMP '2026-01-31 10:00:00+02:00' | tz = TIMESTAMPTZ '2026-01-31 10:00:00+02:00'",
          "tz >= TIMESTAMP '2026-01-31 08:00:00' | tz >= TIMESTAMPTZ '2026-01-31 08:00:00+00'",
          "tz < '2026-01-31 08:00:00Z' | tz < TIMESTAMPTZ '2026-01-31 08:00:00+00'",
          "tz >= '2026-01-31' | tz >= TIMESTAMPTZ '2026-01-31 00:00:00+00'",
          "u = '00000000-0000-0001-0000-000000000002'",
          "u <> '00000000-0000-0001-0000-000000000002'",
          "bin = X'0aff' | bin = '\\x0A\\xFF'::blob",
          "bin < X'0b' | bin < '\\x0B'::blob",
          "bin in (X'', X'0AFF') | bin in (''::blob, '\\x0A\\xFF'::blob)",
          "st.x = 7",
          "st.\"y z\" = 'q'",
          "\"st\".`x` > 6 | st.x > 6",
          "st.x is null",
          "\"Order\" = 1",
          "`Order` > 0 | \"Order\" > 0",
          "ns = TIMESTAMP '2026-01-31 10:00:00.123456789' | ns = TIMESTAMP_NS '2026-01-31 10:00:00.123456789'",
          "ns in ('2026-01-31 10:00:00.123456789', '1969-12-31 23:59:59')"
              + " | ns in (TIMESTAMP_NS '2026-01-31 10:00:00.123456789', TIMESTAMP_NS '1969-12-31 23:59:59')",
          "ns not in ('2026-01-31 10:00:00.123456789')"
              + " | ns not in (TIMESTAMP_NS '2026-01-31 10:00:00.123456789')",
          "true",
          "false",
          "not true",
          "true and i = 3",
          "i = 3 or l = 4 and s = 'a'",
          "(i = 3 or l = 4) and s = 'a'",
          "I_UPPER | i = 3");

  @BeforeAll
  static void openDuckDb() throws SQLException {
    rows = rows();
    duckdb = DriverManager.getConnection("jdbc:duckdb:");
    try (Statement statement = duckdb.createStatement()) {
      statement.execute("set TimeZone = 'UTC'");
      statement.execute(
          "create table t (id int, i int, l bigint, f float, d double, n decimal(12,2), s varchar,"
              + " b boolean, day date, t time, ts timestamp, tz timestamptz, u uuid, bin blob,"
              + " st struct(x int, \"y z\" varchar), \"Order\" int, ns timestamp_ns)");
      for (Record row : rows) {
        statement.execute("insert into t values (" + sql(row) + ")");
      }
    }
  }

  @AfterAll
  static void closeDuckDb() throws SQLException {
    duckdb.close();
  }

  @ParameterizedTest
  @FieldSource("PREDICATES")
  void selectsTheRowsThatDuckDbSelects(String predicate) throws SQLException {
    if (predicate.startsWith("I_UPPER")) {
      assertThat(selected(WherePredicate.parse("I = 3", SCHEMA, false)))
          .isEqualTo(selectedByDuckDb("i = 3"));
      return;
    }
    assertThat(selected(WherePredicate.parse(ours(predicate), SCHEMA, true)))
        .isEqualTo(selectedByDuckDb(theirs(predicate)));
  }

  @Test
  void anyTreeOfPredicatesSelectsTheRowsThatDuckDbSelects() throws SQLException {
    long seed = Long.getLong("firn.test.seed", ThreadLocalRandom.current().nextLong());
    SplittableRandom random = new SplittableRandom(seed);
    for (int i = 0; i < 200; i++) {
      String[] tree = tree(random, 4);
      assertThat(selected(WherePredicate.parse(tree[0], SCHEMA, true)))
          .as("rerun with -Dfirn.test.seed=" + seed + ": " + tree[0])
          .isEqualTo(selectedByDuckDb(tree[1]));
    }
  }

  private static String[] tree(SplittableRandom random, int depth) {
    int kind = depth == 0 ? 0 : random.nextInt(4);
    if (kind == 0) {
      String leaf = PREDICATES.get(random.nextInt(PREDICATES.size() - 1));
      return new String[] {ours(leaf), theirs(leaf)};
    }
    String[] left = tree(random, depth - 1);
    if (kind == 1) {
      return new String[] {"not (" + left[0] + ")", "not (" + left[1] + ")"};
    }
    String[] right = tree(random, depth - 1);
    String operator = kind == 2 ? " and " : " or ";
    return new String[] {
      "(" + left[0] + ")" + operator + "(" + right[0] + ")",
      "(" + left[1] + ")" + operator + "(" + right[1] + ")"
    };
  }

  @ParameterizedTest
  @CsvSource(
      delimiter = '|',
      quoteCharacter = '~',
      value = {
        "idd = 1                  | there is no column 'idd'; did you mean 'id'?",
        "order = 1                | did you mean 'Order'?",
        "st.w = 1                 | there is no column 'st.w'; did you mean 'st.x'?",
        "st = 1                   | the column 'st' is a struct",
        "list = 1                 | the column 'list' is a list",
        "list.element = 1         | 'list.element' lies in a list or a map",
        "i = 'a'                  | ''a'' cannot be compared with the column 'i' of type int",
        "i = 1.5                  | has a fraction",
        "i = true                 | cannot be compared",
        "l = 9223372036854775808  | is beyond every long",
        "n = 1.005                | has more decimals than the column 'n'",
        "s = 1                    | cannot be compared",
        "b = 1                    | cannot be compared",
        "i                        | the column 'i' is int, not a condition",
        "day = 20000              | cannot be compared",
        "day = '2026-02-30'       | is not a date",
        "day = TIMESTAMP '2026-01-31 10:00:00' | cannot be compared",
        "t = '25:00:00'           | is not a time",
        "t = '10:00:00.0000001'   | is finer than the column's microseconds",
        "ts = '2026-01-31 10:00:00Z' | has an offset",
        "ts = '2026-01-31 10:00:00.0000001' | is finer than",
        "ts = 'yesterday'         | is not a timestamp",
        "u = 'x'                  | is not a uuid",
        "bin = 'x'                | cannot be compared",
        "bin = X'0'               | is not a binary",
        "i = null                 | write IS NULL",
        "i <> null                | write IS NULL",
        "i in (1, null)           | write IS NULL",
        "i = l                    | only comparisons with literals are understood",
        "1 = 1                    | the column is missing",
        "i + 1 = 2                | the column is missing",
        "i = 1 + 1                | '1 + 1' is not a literal",
        "abs(i) = 1               | the column is missing",
        "upper(s)                 | 'upper(s)' is not understood",
        "s like '%a'              | of LIKE only prefixes",
        "s like 'a_c%'            | of LIKE only prefixes",
        "s like 'abc'             | of LIKE only prefixes",
        "s like 'a~~%' escape '~~'    | is not understood",
        "s ilike 'a%'             | is not understood",
        "s similar to 'a%'        | is not understood",
        "i like 'a%'              | LIKE needs a string column",
        "i in (select 1)          | is not understood",
        "exists (select 1)        | is not understood",
        "i <=> 1                  | is not understood",
        "i is distinct from 1     | is not understood",
        "i = 1 xor b              | is not understood",
        "i = ?                    | '?' is not a literal",
        "i == 1                   | Cannot use the where predicate",
        "i = 1; drop table t      | Cannot use the where predicate",
        "i = 1 and                | Cannot use the where predicate",
        "is_nan(i)                | Cannot use the where predicate",
        "case when b then true else false end | is not understood",
      })
  void whatIsNotUnderstoodIsRefusedByName(String predicate, String message) {
    assertThatThrownBy(() -> WherePredicate.parse(predicate, SCHEMA, true))
        .isInstanceOf(UsageException.class)
        .hasMessageContaining("Cannot use the where predicate '" + predicate + "'")
        .hasMessageContaining(message);
  }

  @Test
  void expressionsAreUnboundSoThatIcebergCanProjectThem() {
    Expression expression = WherePredicate.parse("day = DATE '2026-01-31'", SCHEMA, true);
    assertThat(expression.toString()).isEqualTo(Expressions.equal("day", 20_484).toString());
  }

  @Test
  void whatNestsTooDeeplyIsAUsageError() {
    String text = "id = 1" + " or id = 1".repeat(20_000);
    assertThatThrownBy(() -> WherePredicate.parse(text, SCHEMA, true))
        .isInstanceOf(UsageException.class)
        .hasMessageContaining("nest too deeply");
  }

  private static String ours(String predicate) {
    int bar = predicate.indexOf(" | ");
    return bar < 0 ? predicate : predicate.substring(0, bar);
  }

  private static String theirs(String predicate) {
    int bar = predicate.indexOf(" | ");
    return bar < 0 ? predicate : predicate.substring(bar + 3);
  }

  private static List<Integer> selected(Expression expression) {
    Evaluator evaluator = new Evaluator(SCHEMA.asStruct(), expression, true);
    InternalRecordWrapper wrapper = new InternalRecordWrapper(SCHEMA.asStruct());
    List<Integer> ids = new ArrayList<>();
    for (Record row : rows) {
      if (evaluator.eval(wrapper.wrap(row))) {
        ids.add((Integer) row.getField("id"));
      }
    }
    return ids;
  }

  private static List<Integer> selectedByDuckDb(String predicate) throws SQLException {
    List<Integer> ids = new ArrayList<>();
    try (Statement statement = duckdb.createStatement();
        ResultSet result =
            statement.executeQuery("select id from t where " + predicate + " order by id")) {
      while (result.next()) {
        ids.add(result.getInt(1));
      }
    }
    return ids;
  }

  private static List<Record> rows() {
    Integer[] i = {null, -2, 0, 1, 2, 3, 4, Integer.MAX_VALUE, Integer.MIN_VALUE};
    Long[] l = {4L, null, Long.MAX_VALUE, Long.MIN_VALUE + 1, 0L};
    Float[] f = {0.5f, null, -0.5f, Float.NaN, 0.1f, Float.POSITIVE_INFINITY};
    Double[] d = {1.5, -0.25, null, Double.NaN, 150.0, 1.0, Double.NEGATIVE_INFINITY};
    String[] n = {"5.00", "5.50", null, "-1.25", "7.00"};
    String[] s = {"a", "ab", "", null, "b", "it's", "é", "A"};
    Boolean[] b = {true, false, null};
    String[] day = {"2026-01-31", "1969-12-31", null, "2026-02-01"};
    String[] t = {"10:00:00", null, "10:00:00.000001", "00:00:00"};
    String[] ts = {
      "2026-01-31T10:00:00",
      null,
      "2026-01-31T10:00:00.000001",
      "1969-12-31T23:59:59.999999",
      "2026-01-31T00:00:00",
      "2026-01-31T08:00:00"
    };
    UUID[] u = {new UUID(1, 2), null, new UUID(3, 4)};
    byte[][] bin = {{10, -1}, null, {}, {11}};
    String[] ns = {
      "2026-01-31T10:00:00.123456789", null, "2026-01-31T10:00:00.123456", "1969-12-31T23:59:59"
    };
    List<Record> made = new ArrayList<>();
    for (int id = 0; id < 60; id++) {
      GenericRecord row = GenericRecord.create(SCHEMA);
      row.setField("id", id);
      row.setField("i", i[id % i.length]);
      row.setField("l", l[id / 2 % l.length]);
      row.setField("f", f[id % f.length]);
      row.setField("d", d[id % d.length]);
      row.setField("n", n[id % n.length] == null ? null : new BigDecimal(n[id % n.length]));
      row.setField("s", s[id / 3 % s.length]);
      row.setField("b", b[id / 4 % b.length]);
      row.setField("day", day[id % 4] == null ? null : LocalDate.parse(day[id % 4]));
      row.setField("t", t[id / 2 % 4] == null ? null : LocalTime.parse(t[id / 2 % 4]));
      String stamp = ts[id % ts.length];
      row.setField("ts", stamp == null ? null : LocalDateTime.parse(stamp));
      stamp = ts[id / 5 % ts.length];
      row.setField("tz", stamp == null ? null : OffsetDateTime.parse(stamp + "Z"));
      row.setField("u", u[id % 3]);
      row.setField("bin", bin[id % 4] == null ? null : ByteBuffer.wrap(bin[id % 4]));
      if (id % 5 != 0) {
        GenericRecord struct = GenericRecord.create(SCHEMA.findType("st").asStructType());
        struct.setField("x", id % 3 == 0 ? null : id % 10);
        struct.setField("y z", id % 2 == 0 ? "q" : null);
        row.setField("st", struct);
      }
      row.setField("Order", id % 3);
      row.setField("ns", ns[id % 4] == null ? null : LocalDateTime.parse(ns[id % 4]));
      made.add(row);
    }
    return made;
  }

  private static String sql(Record row) {
    List<String> values = new ArrayList<>();
    for (Types.NestedField field : SCHEMA.columns()) {
      if (field.name().equals("list")) {
        continue;
      }
      Object value = row.getField(field.name());
      if (value == null) {
        values.add("null");
      } else if (value instanceof ByteBuffer bytes) {
        StringBuilder hex = new StringBuilder();
        for (byte one : bytes.array()) {
          hex.append(String.format("\\x%02X", one));
        }
        values.add("'" + hex + "'::blob");
      } else if (value instanceof Record struct) {
        Object x = struct.getField("x");
        Object y = struct.getField("y z");
        values.add("{'x': " + x + ", 'y z': " + (y == null ? "null" : "'" + y + "'") + "}");
      } else if (value instanceof Number || value instanceof Boolean) {
        values.add("'" + value + "'");
      } else {
        values.add("'" + value.toString().replace("'", "''") + "'");
      }
    }
    return String.join(", ", values);
  }
}
