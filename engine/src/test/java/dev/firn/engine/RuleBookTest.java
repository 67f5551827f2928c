package dev.firn.engine;

import static org.assertj.core.api.Assertions.assertThat;

import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.Comparator;
import java.util.LinkedHashMap;
import java.util.LinkedHashSet;
import java.util.List;
import java.util.Locale;
import java.util.Map;
import java.util.Set;
import java.util.TreeMap;
import java.util.TreeSet;
import java.util.regex.Matcher;
import java.util.regex.Pattern;
import java.util.stream.Collectors;
import java.util.stream.IntStream;
import java.util.stream.Stream;
import org.junit.jupiter.api.BeforeAll;
import org.junit.jupiter.api.Test;

/**
 * Holds docs/correctness.md against the test sources of all modules: every rule is in it with the
 * tests that bear its number, and every test that bears a number is in it.
 */
class RuleBookTest {
  private static final Path ROOT = Path.of("..").toAbsolutePath().normalize();
  private static final Path BOOK = ROOT.resolve("docs/correctness.md");

  /** The system property with which the book's lists of tests are written anew. */
  private static final String WRITE = "firn.rules.write";

  /** The chapters of the rule book and how many rules each has. */
  private static final Map<String, Integer> CHAPTERS =
      Map.of("H", 6, "D", 34, "C", 27, "L", 11, "S", 25, "M", 19, "P", 10, "N", 12, "O", 13);

  /** The rules of the oracle, {@code O-A} and so on, are {@code oa} in the name of a method. */
  private static final String ORACLES = "ABCDE";

  /** What stands before the first capital letter of a test's name, if it is numbers. */
  private static final Pattern NUMBERS =
      Pattern.compile("^((?:[hdclsmpno][1-9][0-9]?|o[a-e])+)(?=[A-Z])");

  private static final Pattern NUMBER = Pattern.compile("([hdclsmpn]|o(?![a-e]))([0-9]+)|o([a-e])");

  /** A name that tries to begin with a number, and is none: {@code d01}, {@code s4S11}. */
  private static final Pattern NEARLY = Pattern.compile("^[hdclsmpno]-?[0-9].*");

  private static final Pattern ANNOTATION =
      Pattern.compile("^ +@(Test|ParameterizedTest|RepeatedTest|TestFactory)\\b");
  private static final Pattern METHOD =
      Pattern.compile("^ +(?:(?:public|static|final) )*[\\w<>?.,\\[\\] ]+ (\\w+)\\(");

  private static final Pattern ROW = Pattern.compile("^\\| \\*\\*([A-Z]-?[A-Z0-9]+)\\*\\* \\|.*");
  private static final Pattern NAMED_TEST = Pattern.compile("`(\\w+)\\.(\\w+)`");
  private static final Set<String> STATES = Set.of("held", "refused", "not applicable");

  /**
   * A row of the book.
   *
   * @param cells what must be true, the state, how Firn holds it, the tests
   */
  private record Row(String rule, List<String> cells) {
    String state() {
      return cells.get(1);
    }

    Set<String> tests() {
      Set<String> tests = new LinkedHashSet<>();
      Matcher named = NAMED_TEST.matcher(cells.get(3));
      while (named.find()) {
        tests.add(named.group(1) + "." + named.group(2));
      }
      return tests;
    }
  }

  /** A test method of the sources. */
  private record Source(String type, String method, boolean disabled) {
    String name() {
      return type + "." + method;
    }
  }

  /** Tests of the engine come first, those of the oracle last. */
  @BeforeAll
  static void writeIfAsked() throws IOException {
    if (!Boolean.getBoolean(WRITE)) {
      return;
    }
    Map<String, List<String>> tests = new TreeMap<>();
    for (Source source : sources()) {
      for (String number : numbers(source.method())) {
        tests.computeIfAbsent(number, key -> new ArrayList<>()).add("`" + source.name() + "`");
      }
    }
    List<String> written = new ArrayList<>();
    for (String line : Files.readAllLines(BOOK)) {
      Matcher row = ROW.matcher(line);
      if (row.matches()) {
        List<String> cells = new ArrayList<>(List.of(line.split("\\|")).subList(0, 5));
        cells.add(" " + String.join(", ", tests.getOrDefault(row.group(1), List.of())) + " ");
        line = String.join("|", cells) + "|";
      }
      written.add(line);
    }
    Files.write(BOOK, written);
  }

  @Test
  void everyRuleIsInTheBookOnceWithItsStateAndReason() throws IOException {
    List<Row> rows = rows();
    assertThat(rows.stream().map(Row::rule)).containsExactlyElementsOf(rules());
    for (Row row : rows) {
      assertThat(row.cells()).as("cells of %s", row.rule()).hasSize(4);
      assertThat(row.cells().get(0)).as("statement of %s", row.rule()).endsWith(".");
      assertThat(row.state()).as("state of %s", row.rule()).isIn(STATES);
      assertThat(row.cells().get(2)).as("how %s is held", row.rule()).endsWith(".");
      if (!row.state().equals("not applicable")) {
        assertThat(row.tests())
            .as("tests of %s, which is %s", row.rule(), row.state())
            .isNotEmpty();
      }
    }
  }

  @Test
  void theCountsAtItsHeadAreThoseOfItsRows() throws IOException {
    Map<String, Long> counts =
        rows().stream().collect(Collectors.groupingBy(Row::state, Collectors.counting()));
    assertThat(Files.readString(BOOK))
        .contains(
            String.format(
                Locale.ROOT,
                "**%d rules: %d held, %d refused, %d not applicable.**",
                rules().size(),
                counts.getOrDefault("held", 0L),
                counts.getOrDefault("refused", 0L),
                counts.getOrDefault("not applicable", 0L)));
  }

  @Test
  void testsInTheBookExistRunAndBearTheNumber() throws IOException {
    Map<String, Source> sources = new TreeMap<>();
    sources().forEach(source -> sources.put(source.name(), source));
    List<String> wrong = new ArrayList<>();
    for (Row row : rows()) {
      for (String test : row.tests()) {
        Source source = sources.get(test);
        if (source == null) {
          wrong.add(row.rule() + ": no such test: " + test);
        } else if (source.disabled()) {
          wrong.add(row.rule() + ": is disabled: " + test);
        } else if (!numbers(source.method()).contains(row.rule())) {
          wrong.add(row.rule() + ": does not bear the number: " + test);
        }
      }
    }
    assertThat(wrong).as("tests in %s", BOOK).isEmpty();
  }

  @Test
  void testsThatBearANumberAreInTheBook() throws IOException {
    Map<String, Set<String>> book = new TreeMap<>();
    rows().forEach(row -> book.put(row.rule(), row.tests()));
    List<String> wrong = new ArrayList<>();
    for (Source source : sources()) {
      Set<String> numbers = numbers(source.method());
      if (numbers.isEmpty() && NEARLY.matcher(source.method()).matches()) {
        wrong.add(source.name() + ": numbers are lower-case, then a capital letter: d10n3Words");
      }
      for (String number : numbers) {
        if (!book.containsKey(number)) {
          wrong.add(source.name() + ": there is no rule " + number);
        } else if (!book.get(number).contains(source.name())) {
          wrong.add(number + ": add `" + source.name() + "` to its row in docs/correctness.md");
        }
      }
    }
    assertThat(wrong).as("tests that bear numbers; -D%s=true lists them", WRITE).isEmpty();
  }

  private static List<String> rules() {
    List<String> rules = new ArrayList<>();
    for (String chapter : List.of("H", "D", "C", "L", "S", "M", "P", "N", "O")) {
      IntStream.rangeClosed(1, CHAPTERS.get(chapter)).forEach(n -> rules.add(chapter + n));
    }
    ORACLES.chars().forEach(letter -> rules.add("O-" + (char) letter));
    return rules;
  }

  private static List<Row> rows() throws IOException {
    List<Row> rows = new ArrayList<>();
    for (String line : Files.readAllLines(BOOK)) {
      Matcher row = ROW.matcher(line);
      if (row.matches()) {
        List<String> cells = Stream.of(line.split("\\|")).map(String::strip).toList();
        rows.add(new Row(row.group(1), cells.subList(2, cells.size())));
      }
    }
    return rows;
  }

  /** The rules whose numbers a method bears; none if it begins with none. */
  private static Set<String> numbers(String method) {
    Set<String> numbers = new TreeSet<>();
    Matcher prefix = NUMBERS.matcher(method);
    if (prefix.find()) {
      Matcher number = NUMBER.matcher(prefix.group(1));
      while (number.find()) {
        numbers.add(
            number.group(3) == null
                ? number.group(1).toUpperCase(Locale.ROOT) + number.group(2)
                : "O-" + number.group(3).toUpperCase(Locale.ROOT));
      }
    }
    return numbers;
  }

  private static List<Source> sources() throws IOException {
    List<Source> sources = new ArrayList<>();
    for (Path module : modules()) {
      Path tests = module.resolve("src/test/java");
      try (Stream<Path> files = Files.walk(tests)) {
        List<Path> java = files.filter(path -> path.toString().endsWith(".java")).sorted().toList();
        for (Path file : java) {
          sources.addAll(sources(file));
        }
      }
    }
    assertThat(sources).as("test methods in the sources").hasSizeGreaterThan(300);
    return sources;
  }

  private static List<Path> modules() throws IOException {
    try (Stream<Path> directories = Files.list(ROOT)) {
      return directories
          .filter(directory -> Files.isDirectory(directory.resolve("src/test/java")))
          .sorted(Comparator.comparingInt(RuleBookTest::rank).thenComparing(Path::getFileName))
          .toList();
    }
  }

  private static int rank(Path module) {
    String name = module.getFileName().toString();
    return name.equals("engine") ? 0 : name.equals("testdata") ? 2 : 1;
  }

  private static List<Source> sources(Path file) throws IOException {
    String type = file.getFileName().toString().replace(".java", "");
    List<String> lines = Files.readAllLines(file);
    boolean typeDisabled = lines.stream().anyMatch(line -> line.matches("@Disabled\\b.*"));
    Map<String, Source> methods = new LinkedHashMap<>();
    boolean inTest = false;
    boolean disabled = false;
    for (String line : lines) {
      if (line.isBlank()) {
        inTest = false;
        disabled = false;
      }
      disabled |= line.strip().matches("@Disabled\\b.*");
      inTest |= ANNOTATION.matcher(line).find();
      Matcher method = METHOD.matcher(line);
      if (inTest && method.find()) {
        String name = method.group(1);
        methods.put(name, new Source(type, name, disabled || typeDisabled));
        inTest = false;
      }
    }
    return List.copyOf(methods.values());
  }
}
