package dev.firn.engine.parquet;

import java.util.ArrayList;
import java.util.Collection;
import java.util.List;
import java.util.Set;
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
   * A leaf of the view.
   *
   * @param chunk the column chunk of the file it is
   * @param width bytes of a value, 0 if they differ
   * @param path its path in the view
   * @param optional whether it or what is around it can be missing
   * @param lists how many lists it is in
   */
  record Leaf(int chunk, Type type, int width, List<String> path, boolean optional, int lists) {}

  final List<SchemaElement> elements = new ArrayList<>();
  final List<Leaf> leaves = new ArrayList<>();
  private final List<String> path = new ArrayList<>();
  private final List<FieldRepetitionType> repetitions = new ArrayList<>();

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
        wanted++;
        child.nameInView("f" + elements.size());
        field(child);
      }
    }
    return wanted;
  }

  private void field(FileField field) {
    SchemaElement element = push(field.viewName(), field.repetition);
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
        leaves.add(leaf(field.leaf, element));
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

  private Leaf leaf(int chunk, SchemaElement element) {
    int lists = 0;
    boolean optional = false;
    for (FieldRepetitionType repetition : repetitions) {
      lists += repetition == FieldRepetitionType.REPEATED ? 1 : 0;
      optional |= repetition != FieldRepetitionType.REQUIRED;
    }
    Type type = element.getType();
    return new Leaf(chunk, type, width(element), List.copyOf(path), optional, lists);
  }

  private static int width(SchemaElement element) {
    switch (element.getType()) {
      case BOOLEAN:
        return 1;
      case INT32:
      case FLOAT:
        return Integer.BYTES;
      case INT64:
      case DOUBLE:
        return Long.BYTES;
      case FIXED_LEN_BYTE_ARRAY:
        return element.getType_length();
      default:
        return 0;
    }
  }

  /** The schema of a view of some of the leaves, given by their places among all, ascending. */
  List<SchemaElement> only(Collection<Integer> kept) {
    List<SchemaElement> pruned = new ArrayList<>();
    Walk walk = new Walk();
    walk.copy(Set.copyOf(kept), pruned);
    return pruned;
  }

  /** Goes over the elements once, in their order: parents before children. */
  private final class Walk {
    private int at = 0;
    private int leaf = 0;

    /** Copies the element it is at if there is a leaf that is kept below it. */
    boolean copy(Set<Integer> kept, List<SchemaElement> pruned) {
      SchemaElement element = elements.get(at++);
      if (element.isSetType()) {
        boolean keep = kept.contains(leaf++);
        if (keep) {
          pruned.add(element);
        }
        return keep;
      }
      int place = pruned.size();
      int children = 0;
      for (int i = 0; i < element.getNum_children(); i++) {
        children += copy(kept, pruned) ? 1 : 0;
      }
      if (children > 0) {
        pruned.add(place, new SchemaElement(element).setNum_children(children));
      }
      return children > 0;
    }
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
    repetitions.add(repetition);
    return element;
  }

  private void pop() {
    path.remove(path.size() - 1);
    repetitions.remove(repetitions.size() - 1);
  }
}
