package dev.firn.engine.cli;

import java.util.ArrayList;
import java.util.List;
import java.util.Locale;
import net.sf.jsqlparser.JSQLParserException;
import net.sf.jsqlparser.expression.Expression;
import net.sf.jsqlparser.expression.Function;
import net.sf.jsqlparser.expression.LongValue;
import net.sf.jsqlparser.expression.operators.relational.ExpressionList;
import net.sf.jsqlparser.parser.CCJSqlParserUtil;
import net.sf.jsqlparser.schema.Column;
import net.sf.jsqlparser.statement.select.OrderByElement;
import net.sf.jsqlparser.statement.select.PlainSelect;
import org.apache.iceberg.NullOrder;
import org.apache.iceberg.Schema;
import org.apache.iceberg.SortDirection;
import org.apache.iceberg.SortOrder;
import org.apache.iceberg.exceptions.ValidationException;
import org.apache.iceberg.expressions.Expressions;
import org.apache.iceberg.expressions.UnboundTerm;

/**
 * A sort order as it is written after ORDER BY, with Iceberg's transforms: {@code a DESC NULLS
 * LAST, bucket(8, b), truncate(4, name), days(ts)}. Nulls come first in ascending and last in
 * descending order unless said.
 */
final class SortOrderText {
  private final Columns columns;

  private SortOrderText(Columns columns) {
    this.columns = columns;
  }

  /**
   * The order for a table of this schema.
   *
   * @throws UsageException if it is not a list of sort fields, names no column, or a transform does
   *     not go with its column's type
   */
  static SortOrder parse(String text, Schema schema, boolean caseSensitive) {
    String context = "Cannot use the sort order '" + text + "'";
    SortOrderText reading = new SortOrderText(new Columns(schema, caseSensitive, context));
    SortOrder.Builder order = SortOrder.builderFor(schema).caseSensitive(true);
    try {
      for (OrderByElement element : elements(text, context)) {
        boolean ascending = element.isAsc();
        order.sortBy(
            reading.term(element.getExpression()),
            ascending ? SortDirection.ASC : SortDirection.DESC,
            nulls(element, ascending));
      }
      return order.build();
    } catch (ValidationException | IllegalArgumentException e) {
      throw new UsageException(context + ": " + e.getMessage(), e);
    }
  }

  /**
   * The names of columns that are listed, as in {@code a, b.c}.
   *
   * @param option what gives the list
   * @throws UsageException if it is something else or names no column
   */
  static List<String> columns(String option, String text, Schema schema, boolean caseSensitive) {
    String context = "Cannot use " + option + " '" + text + "'";
    Columns columns = new Columns(schema, caseSensitive, context);
    List<String> names = new ArrayList<>();
    for (OrderByElement element : elements(text, context)) {
      if (!(element.getExpression() instanceof Column column)
          || element.isAscDescPresent()
          || !element.isAsc()
          || element.getNullOrdering() != null) {
        throw columns.refused("'" + element + "' is not just a column: a curve has no direction");
      }
      String name = columns.nameOf(columns.find(column));
      if (names.contains(name)) {
        throw columns.refused("the column '" + name + "' is named twice");
      }
      names.add(name);
    }
    return names;
  }

  private static List<OrderByElement> elements(String text, String context) {
    String bare = text.replaceAll("\"[^\"]*\"|`[^`]*`", "q");
    if (bare.contains(";") || bare.contains("--") || bare.contains("/*")) {
      throw new UsageException(context + ": it must be a list of columns and transforms");
    }
    try {
      PlainSelect select = (PlainSelect) CCJSqlParserUtil.parse("SELECT * FROM t ORDER BY " + text);
      List<OrderByElement> elements = select.getOrderByElements();
      // What follows the list would be accepted as the rest of a query, and ignored.
      PlainSelect alone = (PlainSelect) CCJSqlParserUtil.parse("SELECT * FROM t");
      alone.setOrderByElements(elements);
      if (!select.toString().equals(alone.toString())) {
        throw new UsageException(context + ": it must be a list of columns and transforms");
      }
      return elements;
    } catch (JSQLParserException | ClassCastException e) {
      throw new UsageException(context + ": it is not a list of columns and transforms", e);
    }
  }

  private static NullOrder nulls(OrderByElement element, boolean ascending) {
    if (element.getNullOrdering() == null) {
      return ascending ? NullOrder.NULLS_FIRST : NullOrder.NULLS_LAST;
    }
    return element.getNullOrdering() == OrderByElement.NullOrdering.NULLS_FIRST
        ? NullOrder.NULLS_FIRST
        : NullOrder.NULLS_LAST;
  }

  private UnboundTerm<?> term(Expression sql) {
    if (sql instanceof Column column) {
      return Expressions.ref(columns.nameOf(columns.find(column)));
    }
    if (!(sql instanceof Function function)) {
      throw columns.refused("'" + sql + "' is neither a column nor a transform of one");
    }
    String name = function.getName().toLowerCase(Locale.ROOT);
    return switch (name) {
      case "bucket" -> {
        Wide wide = wide(function);
        yield Expressions.bucket(wide.column, wide.width);
      }
      case "truncate" -> {
        Wide wide = wide(function);
        yield Expressions.truncate(wide.column, wide.width);
      }
      case "year", "years" -> Expressions.year(only(function));
      case "month", "months" -> Expressions.month(only(function));
      case "day", "days" -> Expressions.day(only(function));
      case "hour", "hours" -> Expressions.hour(only(function));
      case "identity" -> Expressions.ref(only(function));
      default ->
          throw columns.refused(
              "'"
                  + sql
                  + "' is not a transform; known are bucket, truncate, years, months, days, hours");
    };
  }

  private String only(Function function) {
    ExpressionList<?> parameters = function.getParameters();
    if (parameters == null
        || parameters.size() != 1
        || !(parameters.get(0) instanceof Column column)) {
      throw columns.refused("'" + function + "' must have one column");
    }
    return columns.nameOf(columns.find(column));
  }

  /** A transform's column and its number of buckets or its width. */
  private record Wide(String column, int width) {}

  /** Both bucket(8, b), as Iceberg's specification and Spark write it, and bucket(b, 8). */
  private Wide wide(Function function) {
    ExpressionList<?> parameters = function.getParameters();
    if (parameters != null && parameters.size() == 2) {
      Expression first = parameters.get(0);
      Expression second = parameters.get(1);
      if (first instanceof LongValue width && second instanceof Column column) {
        return new Wide(columns.nameOf(columns.find(column)), width(function, width));
      }
      if (first instanceof Column column && second instanceof LongValue width) {
        return new Wide(columns.nameOf(columns.find(column)), width(function, width));
      }
    }
    throw columns.refused("'" + function + "' must have a number and a column");
  }

  private int width(Function function, LongValue value) {
    try {
      int width = Integer.parseInt(value.getStringValue());
      if (width > 0) {
        return width;
      }
    } catch (NumberFormatException e) {
      // Said below, as for zero.
    }
    throw columns.refused("the number in '" + function + "' must be a positive int");
  }
}
