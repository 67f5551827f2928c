package dev.firn.engine.cli;

import java.util.List;
import java.util.Locale;
import net.sf.jsqlparser.JSQLParserException;
import net.sf.jsqlparser.expression.BooleanValue;
import net.sf.jsqlparser.expression.Function;
import net.sf.jsqlparser.expression.NotExpression;
import net.sf.jsqlparser.expression.NullValue;
import net.sf.jsqlparser.expression.StringValue;
import net.sf.jsqlparser.expression.operators.conditional.AndExpression;
import net.sf.jsqlparser.expression.operators.conditional.OrExpression;
import net.sf.jsqlparser.expression.operators.relational.Between;
import net.sf.jsqlparser.expression.operators.relational.ComparisonOperator;
import net.sf.jsqlparser.expression.operators.relational.EqualsTo;
import net.sf.jsqlparser.expression.operators.relational.ExpressionList;
import net.sf.jsqlparser.expression.operators.relational.GreaterThan;
import net.sf.jsqlparser.expression.operators.relational.GreaterThanEquals;
import net.sf.jsqlparser.expression.operators.relational.InExpression;
import net.sf.jsqlparser.expression.operators.relational.IsBooleanExpression;
import net.sf.jsqlparser.expression.operators.relational.IsNullExpression;
import net.sf.jsqlparser.expression.operators.relational.LikeExpression;
import net.sf.jsqlparser.expression.operators.relational.MinorThan;
import net.sf.jsqlparser.expression.operators.relational.MinorThanEquals;
import net.sf.jsqlparser.expression.operators.relational.NotEqualsTo;
import net.sf.jsqlparser.expression.operators.relational.ParenthesedExpressionList;
import net.sf.jsqlparser.parser.CCJSqlParserUtil;
import net.sf.jsqlparser.schema.Column;
import org.apache.iceberg.Schema;
import org.apache.iceberg.exceptions.ValidationException;
import org.apache.iceberg.expressions.Binder;
import org.apache.iceberg.expressions.Expression;
import org.apache.iceberg.expressions.Expression.Operation;
import org.apache.iceberg.expressions.Expressions;
import org.apache.iceberg.expressions.Literal;
import org.apache.iceberg.types.Type;
import org.apache.iceberg.types.Types.NestedField;

/**
 * A SQL predicate as an Iceberg expression.
 *
 * <p>Understood are {@code and or not}, comparisons of a column with a literal on either side,
 * {@code in}, {@code between}, {@code is [not] null}, {@code is [not] true}, {@code like 'prefix%'}
 * and {@code is_nan(x)}. Anything else is refused by name. A row matches exactly when SQL says
 * true: a comparison with null is not true, negated or not.
 */
final class WherePredicate {
  private final Columns columns;
  private final SqlLiterals literals;

  private WherePredicate(Columns columns) {
    this.columns = columns;
    this.literals = new SqlLiterals(columns);
  }

  /**
   * Translates {@code text} for a table of this schema.
   *
   * @throws UsageException if it is not SQL, holds something not understood, names no column, or
   *     compares a column with a literal of another type
   */
  static Expression parse(String text, Schema schema, boolean caseSensitive) {
    Columns columns =
        new Columns(schema, caseSensitive, "Cannot use the where predicate '" + text + "'");
    if (text.isBlank()) {
      throw columns.refused("it is empty");
    }
    net.sf.jsqlparser.expression.Expression sql;
    try {
      sql = CCJSqlParserUtil.parseCondExpression(text, false);
    } catch (JSQLParserException e) {
      throw new UsageException("Cannot use the where predicate '" + text + "': " + firstLine(e), e);
    }
    try {
      Expression expression = new WherePredicate(columns).translate(sql, false);
      Binder.bind(schema.asStruct(), expression, true);
      return expression;
    } catch (ValidationException e) {
      throw columns.refused(String.valueOf(e.getMessage()));
    } catch (StackOverflowError e) {
      throw new UsageException(
          "Cannot use the where predicate: its "
              + text.length()
              + " characters nest too deeply."
              + " Write many values of a column as in (1, 2, 3).",
          e);
    }
  }

  private static String firstLine(JSQLParserException e) {
    String message = String.valueOf(e.getMessage());
    int end = message.indexOf('\n');
    return end < 0 ? message : message.substring(0, end);
  }

  /* NOT is pushed down to the comparisons, where SQL's meaning is plain: neither a < 5 nor its
  negation holds for null. Iceberg's own not() would turn it into predicates that do. */
  private Expression translate(net.sf.jsqlparser.expression.Expression sql, boolean not) {
    if (sql instanceof AndExpression and) {
      Expression left = translate(and.getLeftExpression(), not);
      Expression right = translate(and.getRightExpression(), not);
      return not ? Expressions.or(left, right) : Expressions.and(left, right);
    } else if (sql instanceof OrExpression or) {
      Expression left = translate(or.getLeftExpression(), not);
      Expression right = translate(or.getRightExpression(), not);
      return not ? Expressions.and(left, right) : Expressions.or(left, right);
    } else if (sql instanceof NotExpression inner) {
      return translate(inner.getExpression(), !not);
    } else if (sql instanceof ParenthesedExpressionList<?> list && list.size() == 1) {
      return translate(list.get(0), not);
    } else if (sql instanceof ComparisonOperator comparison) {
      return comparison(comparison, not);
    } else if (sql instanceof InExpression in) {
      return in(in, not != in.isNot());
    } else if (sql instanceof Between between) {
      return between(between, not != between.isNot());
    } else if (sql instanceof IsNullExpression isNull) {
      String name = columns.nameOf(column(isNull.getLeftExpression(), sql));
      return not != isNull.isNot() ? Expressions.notNull(name) : Expressions.isNull(name);
    } else if (sql instanceof IsBooleanExpression is) {
      return isBoolean(is, not);
    } else if (sql instanceof LikeExpression like) {
      return like(like, not != like.isNot());
    } else if (sql instanceof Function function) {
      return isNaN(function, not);
    } else if (sql instanceof BooleanValue value) {
      return value.getValue() != not ? Expressions.alwaysTrue() : Expressions.alwaysFalse();
    } else if (sql instanceof Column column) {
      return booleanColumn(column, !not);
    }
    throw notUnderstood(sql);
  }

  private Expression comparison(ComparisonOperator sql, boolean not) {
    Operation operation = operation(sql);
    net.sf.jsqlparser.expression.Expression left = sql.getLeftExpression();
    net.sf.jsqlparser.expression.Expression right = sql.getRightExpression();
    if (!(left instanceof Column) && right instanceof Column) {
      net.sf.jsqlparser.expression.Expression swap = left;
      left = right;
      right = swap;
      operation = flipped(operation);
    }
    NestedField field = column(left, sql);
    return compare(not ? negated(operation) : operation, field, literal(right, field, sql));
  }

  private Operation operation(ComparisonOperator sql) {
    if (sql instanceof EqualsTo) {
      return Operation.EQ;
    } else if (sql instanceof NotEqualsTo) {
      return Operation.NOT_EQ;
    } else if (sql instanceof MinorThan) {
      return Operation.LT;
    } else if (sql instanceof MinorThanEquals) {
      return Operation.LT_EQ;
    } else if (sql instanceof GreaterThan) {
      return Operation.GT;
    } else if (sql instanceof GreaterThanEquals) {
      return Operation.GT_EQ;
    }
    throw notUnderstood(sql);
  }

  private static Operation flipped(Operation operation) {
    return switch (operation) {
      case LT -> Operation.GT;
      case LT_EQ -> Operation.GT_EQ;
      case GT -> Operation.LT;
      case GT_EQ -> Operation.LT_EQ;
      default -> operation;
    };
  }

  private static Operation negated(Operation operation) {
    return switch (operation) {
      case LT -> Operation.GT_EQ;
      case LT_EQ -> Operation.GT;
      case GT -> Operation.LT_EQ;
      case GT_EQ -> Operation.LT;
      case EQ -> Operation.NOT_EQ;
      case NOT_EQ -> Operation.EQ;
      default -> throw new IllegalArgumentException("Not a comparison: " + operation);
    };
  }

  @SuppressWarnings("unchecked") // a literal of the column's type; Iceberg binds and checks it
  private Expression compare(Operation operation, NestedField field, Literal<?> literal) {
    String name = columns.nameOf(field);
    Expression compared = Expressions.predicate(operation, name, (Literal<Object>) literal);
    // To Iceberg null is less than any value, other than any, and above what no column can hold.
    return operation == Operation.EQ ? compared : notNullAnd(name, compared);
  }

  private static Expression notNullAnd(String name, Expression expression) {
    return Expressions.and(Expressions.notNull(name), expression);
  }

  private Expression in(InExpression sql, boolean not) {
    NestedField field = column(sql.getLeftExpression(), sql);
    if (!(sql.getRightExpression() instanceof ExpressionList<?> list)) {
      throw notUnderstood(sql.getRightExpression());
    }
    List<Literal<?>> values =
        list.stream().<Literal<?>>map(value -> literal(value, field, sql)).toList();
    String name = columns.nameOf(field);
    if (field.type().typeId() == Type.TypeID.TIMESTAMP_NANO) {
      // As plain numbers, which a set predicate takes, nanoseconds would be read as microseconds.
      return values.stream()
          .map(value -> compare(not ? Operation.NOT_EQ : Operation.EQ, field, value))
          .reduce(not ? Expressions::and : Expressions::or)
          .orElseThrow();
    }
    List<Object> plain = values.stream().<Object>map(Literal::value).toList();
    return not ? notNullAnd(name, Expressions.notIn(name, plain)) : Expressions.in(name, plain);
  }

  private Expression between(Between sql, boolean not) {
    NestedField field = column(sql.getLeftExpression(), sql);
    Literal<?> start = literal(sql.getBetweenExpressionStart(), field, sql);
    Literal<?> end = literal(sql.getBetweenExpressionEnd(), field, sql);
    return not
        ? Expressions.or(compare(Operation.LT, field, start), compare(Operation.GT, field, end))
        : Expressions.and(
            compare(Operation.GT_EQ, field, start), compare(Operation.LT_EQ, field, end));
  }

  private Expression isBoolean(IsBooleanExpression sql, boolean not) {
    if (!(sql.getLeftExpression() instanceof Column column)) {
      throw notUnderstood(sql);
    }
    Expression is = booleanColumn(column, sql.isTrue());
    if (sql.isNot() == not) {
      return is;
    }
    // IS NOT TRUE, unlike <> TRUE, holds for null.
    return Expressions.or(
        booleanColumn(column, !sql.isTrue()),
        Expressions.isNull(columns.nameOf(columns.find(column))));
  }

  private Expression booleanColumn(Column column, boolean value) {
    NestedField field = columns.find(column);
    if (field.type().typeId() != Type.TypeID.BOOLEAN) {
      throw columns.refused(
          "the column '" + columns.nameOf(field) + "' is " + field.type() + ", not a condition");
    }
    return Expressions.equal(columns.nameOf(field), value);
  }

  private Expression like(LikeExpression sql, boolean not) {
    if (sql.getLikeKeyWord() != LikeExpression.KeyWord.LIKE
        || sql.isUseBinary()
        || sql.getEscape() != null
        || !(sql.getRightExpression() instanceof StringValue pattern)
        || pattern.getPrefix() != null) {
      throw notUnderstood(sql);
    }
    NestedField field = column(sql.getLeftExpression(), sql);
    if (field.type().typeId() != Type.TypeID.STRING) {
      throw columns.refused(
          "LIKE needs a string column, but " + field.name() + " is " + field.type());
    }
    String text = pattern.getNotExcapedValue();
    int first = firstWildcard(text);
    if (first != text.length() - 1 || text.charAt(first) != '%') {
      throw columns.refused(
          "of LIKE only prefixes such as 'abc%' are understood, not '" + text + "'");
    }
    String name = columns.nameOf(field);
    String prefix = text.substring(0, first);
    if (prefix.isEmpty()) {
      return not ? Expressions.alwaysFalse() : Expressions.notNull(name);
    }
    return not
        ? notNullAnd(name, Expressions.notStartsWith(name, prefix))
        : Expressions.startsWith(name, prefix);
  }

  private static int firstWildcard(String pattern) {
    for (int i = 0; i < pattern.length(); i++) {
      char c = pattern.charAt(i);
      if (c == '%' || c == '_' || c == '\\') {
        return i;
      }
    }
    return -1;
  }

  private Expression isNaN(Function sql, boolean not) {
    String function = sql.getName().toLowerCase(Locale.ROOT);
    boolean known = function.equals("is_nan") || function.equals("isnan");
    ExpressionList<?> parameters = sql.getParameters();
    if (!known || parameters == null || parameters.size() != 1) {
      throw notUnderstood(sql);
    }
    NestedField field = column(parameters.get(0), sql);
    String name = columns.nameOf(field);
    return not ? notNullAnd(name, Expressions.notNaN(name)) : Expressions.isNaN(name);
  }

  private NestedField column(
      net.sf.jsqlparser.expression.Expression sql, net.sf.jsqlparser.expression.Expression whole) {
    if (sql instanceof ParenthesedExpressionList<?> list && list.size() == 1) {
      return column(list.get(0), whole);
    }
    if (!(sql instanceof Column column)) {
      throw columns.refused("in '" + whole + "' the column is missing: '" + sql + "' is not one");
    }
    return columns.find(column);
  }

  private Literal<?> literal(
      net.sf.jsqlparser.expression.Expression sql,
      NestedField field,
      net.sf.jsqlparser.expression.Expression whole) {
    if (sql instanceof NullValue) {
      throw columns.refused("'" + whole + "' is true for no row; write IS NULL or IS NOT NULL");
    }
    return literals.of(sql, field, columns.nameOf(field));
  }

  private UsageException notUnderstood(net.sf.jsqlparser.expression.Expression sql) {
    return columns.refused("'" + sql + "' is not understood");
  }
}
