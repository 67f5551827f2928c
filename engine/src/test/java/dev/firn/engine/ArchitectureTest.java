package dev.firn.engine;

import static org.assertj.core.api.Assertions.assertThat;

import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.List;
import java.util.Map;
import java.util.Set;
import java.util.TreeSet;
import java.util.regex.Matcher;
import java.util.regex.Pattern;
import java.util.stream.Stream;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.MethodSource;

/** The arrows between modules and packages, as docs/ARCHITECTURE.md draws them. */
class ArchitectureTest {
  private static final Path ROOT = Path.of("..").toAbsolutePath().normalize();
  private static final Pattern FIRN_NAME =
      Pattern.compile("\\bdev\\.firn\\.([a-z]+(?:\\.[a-z]+)*)");

  /** What the main sources of each module may name, besides their own package. */
  private static final Map<String, Set<String>> ARROWS =
      Map.of(
          "io-s3", Set.of(),
          "delete-apply", Set.of(),
          "sort-cluster", Set.of(),
          "commit", Set.of(),
          "testdata", Set.of(),
          "engine", Set.of("io", "deletes", "sort", "commit"));

  private static final Map<String, String> PACKAGE =
      Map.of(
          "io-s3", "io",
          "delete-apply", "deletes",
          "sort-cluster", "sort",
          "commit", "commit",
          "testdata", "testdata",
          "engine", "engine");

  /** What a package of the engine may name of the others; the core names parquet and verify. */
  private static final Map<String, Set<String>> ENGINE_ARROWS =
      Map.of(
          "engine", Set.of("engine.parquet", "engine.verify"),
          "engine/parquet", Set.of(),
          "engine/verify", Set.of(),
          "engine/actions", Set.of("engine"),
          "engine/cli", Set.of("engine", "engine.parquet"));

  static Stream<String> modules() {
    return ARROWS.keySet().stream().sorted();
  }

  @ParameterizedTest
  @MethodSource("modules")
  void aModuleNamesOnlyWhatItsArrowsAllow(String module) throws IOException {
    Set<String> allowed = new TreeSet<>(ARROWS.get(module));
    allowed.add(PACKAGE.get(module));
    Path sources = ROOT.resolve(module).resolve("src/main/java");
    assertThat(named(sources, 16).stream().map(name -> name.split("\\.")[0]))
        .as("dev.firn packages that %s names", module)
        .isNotEmpty()
        .isSubsetOf(allowed);
  }

  @Test
  void packagesOfTheEngineFormNoCircle() throws IOException {
    for (Map.Entry<String, Set<String>> arrow : ENGINE_ARROWS.entrySet()) {
      Path sources = ROOT.resolve("engine/src/main/java/dev/firn").resolve(arrow.getKey());
      Set<String> allowed = new TreeSet<>(arrow.getValue());
      allowed.add(arrow.getKey().replace('/', '.'));
      assertThat(named(sources, 1).stream().filter(name -> name.startsWith("engine")))
          .as("packages that %s names", arrow.getKey())
          .isSubsetOf(allowed);
    }
  }

  @Test
  void noOwnClassStandsInAPackageOfIcebergOrUsesItsRelocatedLibraries() throws IOException {
    for (String module : ARROWS.keySet()) {
      Path sources = ROOT.resolve(module).resolve("src/main/java");
      assertThat(sources.resolve("org")).as("%s", sources).doesNotExist();
      for (Path source : javaFiles(sources, 16)) {
        assertThat(Files.readString(source))
            .as("%s", source)
            .doesNotContain("org.apache.iceberg.relocated.");
      }
    }
  }

  private static Set<String> named(Path sources, int depth) throws IOException {
    Set<String> names = new TreeSet<>();
    for (Path source : javaFiles(sources, depth)) {
      Matcher matcher = FIRN_NAME.matcher(withoutComments(Files.readString(source)));
      while (matcher.find()) {
        names.add(matcher.group(1));
      }
    }
    return names;
  }

  private static String withoutComments(String source) {
    return source.replaceAll("(?s)/\\*.*?\\*/", "").replaceAll("(?m)//.*$", "");
  }

  private static List<Path> javaFiles(Path sources, int depth) throws IOException {
    try (Stream<Path> files = Files.walk(sources, depth)) {
      return files.filter(file -> file.toString().endsWith(".java")).sorted().toList();
    }
  }
}
