package dev.firn.engine;

import java.util.ArrayList;
import java.util.EnumMap;
import java.util.List;
import java.util.Map;
import java.util.Random;

/**
 * What others do to a table before, while and after it is compacted, and which answers of the
 * catalog get lost: made from a seed, or from another schedule by leaving something out.
 *
 * @param seed of the table and of the settings of the compaction
 * @param steps in the order they are to happen at the same point
 * @param faults of the compaction's own commits
 */
record Schedule(long seed, List<Step> steps, List<Fault> faults) {
  /** When a step happens. */
  enum Point {
    /** Before the compaction starts. */
    BEFORE,
    /** When the compaction opens the nth data or delete file. */
    OPEN,
    /** When the compaction creates the nth output. */
    CREATE,
    /** When the nth group is rewritten and not yet committed. */
    REWRITTEN,
    /** In the nth commit attempt, when it is checked and the catalog is about to be asked. */
    COMMIT,
    /** After the nth commit attempt, before the compaction hears of its outcome. */
    ANSWER,
    /** After the compaction. */
    AFTER
  }

  /** What another writer, or the table's owner, does. */
  enum Op {
    APPEND,
    UPSERT,
    DELETE_KEYS,
    DELETE_POSITIONS,
    /** By a REPLACE snapshot (H4). */
    CONVERT_DELETES,
    /** By a row delta, as Flink does. */
    CONVERT_DELETES_BY_ROW_DELTA,
    OVERWRITE,
    DELETE_FILE,
    COMPACT,
    COMPACT_BY_FIRN,
    REMOVE_DANGLING,
    REWRITE_MANIFESTS,
    CHANGE_SCHEMA,
    CHANGE_SPEC,
    CHANGE_ORDER,
    SET_PROPERTY,
    UPGRADE,
    EXPIRE,
    ROLL_BACK,
    COMMIT_TO_BRANCH
  }

  /** One thing that another writer does at the nth time that a point is met. */
  record Step(Point point, int nth, Op op, long seed) {
    @Override
    public String toString() {
      return point + (point == Point.BEFORE || point == Point.AFTER ? "" : " " + nth) + ": " + op;
    }
  }

  /** What the compaction hears of a commit attempt. */
  enum Answer {
    /** Nothing is committed, and it is said so. */
    REFUSED,
    /** It is committed, the answer is lost. */
    UNKNOWN_LANDED,
    /** It is committed, the connection breaks. */
    TIMEOUT_LANDED,
    /** It is not committed, nor will be. */
    UNKNOWN_LOST,
    /** It is not committed yet, but will be when the compaction ends, if nothing else was. */
    UNKNOWN_LATE,
    /** It is committed, but an answer to a retry below says it was refused. */
    REFUSED_LANDED
  }

  /** The answer to the nth commit attempt. */
  record Fault(int nth, Answer answer) {
    @Override
    public String toString() {
      return "COMMIT " + nth + ": " + answer;
    }
  }

  /** How often an operation comes, relative to the others. */
  static final Map<Op, Integer> ALL_OPS = new EnumMap<>(Op.class);

  static {
    ALL_OPS.put(Op.APPEND, 6);
    ALL_OPS.put(Op.UPSERT, 6);
    ALL_OPS.put(Op.DELETE_KEYS, 7);
    ALL_OPS.put(Op.DELETE_POSITIONS, 9);
    ALL_OPS.put(Op.CONVERT_DELETES, 4);
    ALL_OPS.put(Op.CONVERT_DELETES_BY_ROW_DELTA, 2);
    ALL_OPS.put(Op.OVERWRITE, 3);
    ALL_OPS.put(Op.DELETE_FILE, 2);
    ALL_OPS.put(Op.COMPACT, 2);
    ALL_OPS.put(Op.COMPACT_BY_FIRN, 1);
    ALL_OPS.put(Op.REMOVE_DANGLING, 1);
    ALL_OPS.put(Op.REWRITE_MANIFESTS, 1);
    ALL_OPS.put(Op.CHANGE_SCHEMA, 3);
    ALL_OPS.put(Op.CHANGE_SPEC, 2);
    ALL_OPS.put(Op.CHANGE_ORDER, 1);
    ALL_OPS.put(Op.SET_PROPERTY, 1);
    ALL_OPS.put(Op.UPGRADE, 1);
    ALL_OPS.put(Op.EXPIRE, 2);
    ALL_OPS.put(Op.ROLL_BACK, 2);
    ALL_OPS.put(Op.COMMIT_TO_BRANCH, 2);
  }

  Schedule {
    steps = List.copyOf(steps);
    faults = List.copyOf(faults);
  }

  /**
   * A schedule of operations of a choice.
   *
   * @param weights how often each comes
   */
  static Schedule random(long seed, Map<Op, Integer> weights) {
    Random random = new Random(seed);
    List<Step> steps = new ArrayList<>();
    for (int i = 2 + random.nextInt(2); i > 0; i--) {
      steps.add(new Step(Point.BEFORE, 1, Op.APPEND, random.nextLong()));
    }
    for (int i = random.nextInt(6); i > 0; i--) {
      steps.add(new Step(Point.BEFORE, 1, op(random, weights), random.nextLong()));
    }
    List<Point> meanwhile =
        List.of(
            Point.OPEN, Point.CREATE, Point.REWRITTEN, Point.COMMIT, Point.COMMIT, Point.ANSWER);
    for (int i = 1 + random.nextInt(5); i > 0; i--) {
      Point point = meanwhile.get(random.nextInt(meanwhile.size()));
      int nth = 1 + random.nextInt(point == Point.OPEN ? 6 : 3);
      for (int at = 1 + random.nextInt(4) / 3; at > 0; at--) {
        steps.add(new Step(point, nth, op(random, weights), random.nextLong()));
      }
    }
    for (int i = random.nextInt(3); i > 0; i--) {
      steps.add(new Step(Point.AFTER, 1, op(random, weights), random.nextLong()));
    }
    // what others commit later must not drop deletes either
    steps.add(new Step(Point.AFTER, 1, Op.APPEND, random.nextLong()));
    List<Fault> faults = new ArrayList<>();
    for (int i = random.nextInt(5) - 2; i > 0; i--) {
      Answer[] answers = Answer.values();
      faults.add(new Fault(1 + random.nextInt(4), answers[random.nextInt(answers.length)]));
    }
    return new Schedule(seed, steps, faults);
  }

  private static Op op(Random random, Map<Op, Integer> weights) {
    int left = random.nextInt(weights.values().stream().mapToInt(Integer::intValue).sum());
    for (Map.Entry<Op, Integer> weight : weights.entrySet()) {
      left -= weight.getValue();
      if (left < 0) {
        return weight.getKey();
      }
    }
    throw new IllegalStateException("Weights " + weights + " have no sum");
  }

  /** How many steps and faults there are to leave out. */
  int size() {
    return steps.size() + faults.size();
  }

  /** The schedule without one of its steps or faults; steps come first. */
  Schedule without(int index) {
    List<Step> fewerSteps = new ArrayList<>(steps);
    List<Fault> fewerFaults = new ArrayList<>(faults);
    if (index < steps.size()) {
      fewerSteps.remove(index);
    } else {
      fewerFaults.remove(index - steps.size());
    }
    return new Schedule(seed, fewerSteps, fewerFaults);
  }

  @Override
  public String toString() {
    StringBuilder text = new StringBuilder("schedule of seed ").append(seed);
    steps.forEach(step -> text.append("\n  ").append(step));
    faults.forEach(fault -> text.append("\n  ").append(fault));
    return text.toString();
  }
}
