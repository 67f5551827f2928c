package dev.firn.spark;

import java.util.HexFormat;
import java.util.StringJoiner;
import org.apache.spark.sql.Row;
import scala.jdk.javaapi.CollectionConverters;

/** Text of a row, the same for the same values. */
final class RowText {
  private RowText() {}

  static String of(Row row) {
    StringJoiner fields = new StringJoiner(", ", "{", "}");
    for (int i = 0; i < row.length(); i++) {
      fields.add(of(row.get(i)));
    }
    return fields.toString();
  }

  private static String of(Object value) {
    if (value instanceof Row) {
      return of((Row) value);
    } else if (value instanceof byte[]) {
      return "x" + HexFormat.of().formatHex((byte[]) value);
    } else if (value instanceof scala.collection.Map<?, ?>) {
      StringJoiner entries = new StringJoiner(", ", "<", ">");
      CollectionConverters.asJava((scala.collection.Map<?, ?>) value).entrySet().stream()
          .map(entry -> of(entry.getKey()) + "=" + of(entry.getValue()))
          .sorted()
          .forEach(entries::add);
      return entries.toString();
    } else if (value instanceof scala.collection.Seq<?>) {
      StringJoiner elements = new StringJoiner(", ", "[", "]");
      for (Object element : CollectionConverters.asJava((scala.collection.Seq<?>) value)) {
        elements.add(of(element));
      }
      return elements.toString();
    } else if (value instanceof String) {
      return "'" + value + "'"; // not what null and numbers look like
    }
    return String.valueOf(value);
  }
}
