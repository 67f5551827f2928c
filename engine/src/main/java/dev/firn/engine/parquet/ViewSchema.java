package dev.firn.engine.parquet;

import java.util.ArrayList;
import java.util.List;
import org.apache.parquet.format.ConvertedType;
import org.apache.parquet.format.FieldRepetitionType;
import org.apache.parquet.format.ListType;
import org.apache.parquet.format.LogicalType;
import org.apache.parquet.format.SchemaElement;
import org.apache.parquet.format.Type;

/**
 * The schema of a view: the wanted fields of a file, in file order, spelled so that Arrow returns
 * them as they are stored.
 */
final class ViewSchema {
  /* Repetition and definition levels of a leaf depend on the repetitions above it alone. So lists
  of two levels can be spelled with three, the inner one required, and a map as a list of required
  entries, which also lets a key be optional as some writers have it. Primitives carry no
  annotation: Arrow then neither checks UTF-8, nor casts a decimal, nor overflows on a date. INT96
  has the same bytes as a fixed-length array of 12. */
  static final int INT96_BYTES = 12;

  /**
   * A leaf of the view: the column chunk of the file it is, and its path in the view.
   *
   * @param fixedLength the bytes of its values if its type is one of fixed length, else 0
   */
  record Leaf(int chunk, Type type, int fixedLength, List<String> path) {}

  final List<SchemaElement> elements = new ArrayList<>();
  final List<Leaf> leaves = new ArrayList<>();
  private final List<String> path = new ArrayList<>();

  private ViewSchema() {}

  /** Numbers the wanted fields below {@code root} and spells them. */
  static ViewSchema of(FileField root) {
    ViewSchema view = new ViewSchema();
    SchemaElement element = new SchemaElement("view");
    view.elements.add(element);
    element.setNum_children(view.children(root));
    return view;
  }

  private int children(FileField group) {
    int wanted = 0;
    for (FileField child : group.children) {
      if (child.wanted) {
        child.viewIndex = wanted++;
        field(child);
      }
    }
    return wanted;
  }

  private void field(FileField field) {
    SchemaElement element = push("f" + elements.size(), field.repetition);
    switch (field.kind) {
      case PRIMITIVE:
        Type type = field.element.getType();
        if (type == Type.INT96) {
          type = Type.FIXED_LEN_BYTE_ARRAY;
          element.setType_length(INT96_BYTES);
        } else if (type == Type.FIXED_LEN_BYTE_ARRAY) {
          element.setType_length(field.element.getType_length());
        }
        element.setType(type);
        leaves.add(new Leaf(field.leaf, type, element.getType_length(), List.copyOf(path)));
        break;
      case STRUCT:
        element.setNum_children(children(field));
        break;
      case LIST:
        list(element);
        children(field);
        pop();
        break;
      case MAP:
        list(element);
        SchemaElement entry = push("element", FieldRepetitionType.REQUIRED);
        entry.setNum_children(children(field));
        pop();
        pop();
        break;
      default:
        throw new IllegalStateException("Field " + field.path + " cannot be in a view");
    }
    pop();
  }

  /** Makes a group the outer one of a list and adds the repeated one, which stays on the path. */
  private void list(SchemaElement outer) {
    outer.setNum_children(1).setConverted_type(ConvertedType.LIST);
    outer.setLogicalType(LogicalType.LIST(new ListType()));
    push("list", FieldRepetitionType.REPEATED).setNum_children(1);
  }

  private SchemaElement push(String name, FieldRepetitionType repetition) {
    SchemaElement element = new SchemaElement(name).setRepetition_type(repetition);
    elements.add(element);
    path.add(name);
    return element;
  }

  private void pop() {
    path.remove(path.size() - 1);
  }
}
