package dev.firn.engine.cli;

import static org.apache.iceberg.types.Types.NestedField.optional;
import static org.apache.iceberg.types.Types.NestedField.required;
import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import org.apache.iceberg.NullOrder;
import org.apache.iceberg.Schema;
import org.apache.iceberg.SortOrder;
import org.apache.iceberg.expressions.Expressions;
import org.apache.iceberg.types.Types;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;
import org.junit.jupiter.params.provider.ValueSource;

class SortOrderTextTest {
  private static final Schema SCHEMA =
      new Schema(
          required(1, "a", Types.IntegerType.get()),
          optional(2, "b", Types.LongType.get()),
          optional(3, "name", Types.StringType.get()),
          optional(4, "ts", Types.TimestampType.withZone()),
          optional(5, "st", Types.StructType.of(optional(6, "x y", Types.IntegerType.get()))),
          optional(7, "order", Types.DoubleType.get()),
          optional(8, "list", Types.ListType.ofOptional(9, Types.IntegerType.get())));

  @Test
  void columnsTransformsDirectionsAndNullOrdersAreRead() {
    SortOrder order =
        SortOrderText.parse(
            "a DESC NULLS FIRST, bucket(8, b), truncate(4, name) nulls last, days(ts) ASC,"
                + " st.\"x y\" desc, `order`",
            SCHEMA,
            true);
    assertThat(
            order.sameOrder(
                SortOrder.builderFor(SCHEMA)
                    .desc("a", NullOrder.NULLS_FIRST)
                    .asc(Expressions.bucket("b", 8), NullOrder.NULLS_FIRST)
                    .asc(Expressions.truncate("name", 4), NullOrder.NULLS_LAST)
                    .asc(Expressions.day("ts"), NullOrder.NULLS_FIRST)
                    .desc("st.x y", NullOrder.NULLS_LAST)
                    .asc("order", NullOrder.NULLS_FIRST)
                    .build()))
        .as("%s", order)
        .isTrue();
  }

  @ParameterizedTest
  @CsvSource(
      delimiter = '|',
      value = {
        "bucket(b, 8)       | bucket(8, b)",
        "truncate(name, 4)  | TRUNCATE(4, name)",
        "year(ts)           | years(ts)",
        "month(ts)          | months(ts)",
        "day(ts)            | days(ts)",
        "hour(ts)           | hours(ts)",
        "identity(a)        | a",
        "a                  | a ASC NULLS FIRST",
        "a desc             | a DESC NULLS LAST",
      })
  void twoWaysToSayTheSame(String one, String other) {
    assertThat(SortOrderText.parse(one, SCHEMA, true))
        .isEqualTo(SortOrderText.parse(other, SCHEMA, true));
  }

  @Test
  void letterCaseMattersUnlessToldNot() {
    assertThat(SortOrderText.parse("NAME", SCHEMA, false))
        .isEqualTo(SortOrderText.parse("name", SCHEMA, true));
    assertThatThrownBy(() -> SortOrderText.parse("NAME", SCHEMA, true))
        .hasMessageContaining("there is no column 'NAME'; did you mean 'name'?");
  }

  @ParameterizedTest
  @CsvSource(
      delimiter = '|',
      value = {
        "nme              | there is no column 'nme'; did you mean 'name'?",
        "st               | the column 'st' is a struct",
        "list.element     | lies in a list or a map",
        "1                | '1' is neither a column nor a transform of one",
        "a + 1            | is neither a column nor a transform",
        "zorder(a, b)     | is not a transform; known are bucket",
        "bucket(b)        | must have a number and a column",
        "bucket(0, b)     | must be a positive int",
        "bucket(8.5, b)   | must have a number and a column",
        "days(a)          | Cannot use the sort order",
        "days(ts, a)      | must have one column",
        "truncate(4, ts)  | Cannot use the sort order",
        "bucket(8, order) | Cannot use the sort order",
        "a limit 1        | it must be a list of columns and transforms",
        "a, b; drop table | it must be a list of columns and transforms",
        "a -- b           | it must be a list of columns and transforms",
        "a,               | is not a list of columns and transforms",
        "a upwards        | is not a list of columns and transforms",
      })
  void whatIsNotASortOrderIsRefused(String text, String message) {
    assertThatThrownBy(() -> SortOrderText.parse(text, SCHEMA, true))
        .isInstanceOf(UsageException.class)
        .hasMessageContaining("Cannot use the sort order '" + text + "'")
        .hasMessageContaining(message);
  }

  @ParameterizedTest
  @ValueSource(strings = {"zorder(%s)", "ZORDER(%s)", "z_order(%s)", "hilbert(%s)"})
  void o12ZOrderIsNoSortOrder(String text) {
    String order = String.format(text, SCHEMA.columns().get(0).name());
    assertThatThrownBy(() -> SortOrderText.parse(order, SCHEMA, true))
        .isInstanceOf(UsageException.class)
        .hasMessageContaining(order.substring(0, order.indexOf('(')));
  }
}
