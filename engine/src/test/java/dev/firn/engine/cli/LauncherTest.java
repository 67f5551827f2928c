package dev.firn.engine.cli;

import static org.assertj.core.api.Assertions.assertThat;

import java.io.File;
import java.io.IOException;
import java.nio.charset.StandardCharsets;
import java.nio.file.Files;
import java.nio.file.Path;
import java.nio.file.attribute.PosixFilePermissions;
import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import java.util.concurrent.TimeUnit;
import java.util.jar.JarEntry;
import java.util.jar.JarOutputStream;
import java.util.stream.Stream;
import javax.tools.ToolProvider;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.condition.DisabledOnOs;
import org.junit.jupiter.api.condition.OS;
import org.junit.jupiter.api.io.TempDir;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;
import org.junit.jupiter.params.provider.ValueSource;

/** Runs the launcher beside a lib folder, on a Java that only prints what it is given. */
@DisabledOnOs(OS.WINDOWS)
class LauncherTest {
  @TempDir Path directory;
  private Path home;

  @BeforeEach
  void install() throws IOException {
    home = Files.createDirectories(directory.resolve("with blank/firn-1"));
    Files.createDirectory(home.resolve("lib"));
    for (String jar : List.of("b.jar", "a.jar", "B.jar")) {
      Files.createFile(home.resolve("lib").resolve(jar));
    }
    Files.copy(Path.of("..", "firn"), home.resolve("firn"));
    executable(home.resolve("firn"));
  }

  @Test
  void theHeapIsAPartOfTheMemory() throws Exception {
    Path java = java("17.0.9");
    for (List<String> line :
        List.of(List.of("compact", "--memory", "10g"), List.of("compact", "--memory=10GiB"))) {
      Result result = run(java, Map.of("FIRN_MEMORY", "1g"), line);
      assertThat(result.arguments())
          .contains("-Xmx3584m", "-Dfirn.memory.total-bytes=10737418240")
          .containsSubsequence(line);
    }
    assertThat(run(java, Map.of("FIRN_MEMORY", "500m"), List.of()).arguments())
        .contains("-Xmx175m", "-Dfirn.memory.total-bytes=524288000");
    assertThat(run(java, Map.of(), List.of()).text()).containsPattern("-Xmx\\d+m");
  }

  @ParameterizedTest
  @CsvSource({"lots, 2", "-1, 2", "100m, 7"})
  void aMemoryThatIsNoneOrTooLittleIsRefused(String memory, int exitCode) throws Exception {
    Result result = run(java("17.0.9"), Map.of(), List.of("plan", "--memory", memory));
    assertThat(result.exitCode).isEqualTo(exitCode);
    assertThat(result.text()).contains(memory);
  }

  @Test
  void flagsFitTheVersionOfJava() throws Exception {
    String unsafe = "--sun-misc-unsafe-memory-access=allow";
    String nativeAccess = "--enable-native-access=ALL-UNNAMED";
    assertThat(run(java("17"), Map.of(), List.of()).arguments())
        .contains("--add-opens=java.base/java.nio=ALL-UNNAMED")
        .doesNotContain(unsafe, nativeAccess);
    assertThat(run(java("22.0.1"), Map.of(), List.of()).arguments())
        .contains(nativeAccess)
        .doesNotContain(unsafe);
    assertThat(run(java("25-ea"), Map.of(), List.of()).arguments()).contains(nativeAccess, unsafe);
  }

  @ParameterizedTest
  @CsvSource({"1.8.0_412", "11.0.2", "16"})
  void anOlderJavaIsRefused(String version) throws Exception {
    Result result = run(java(version), Map.of(), List.of());
    assertThat(result.exitCode).isEqualTo(2);
    assertThat(result.text()).contains(version).contains("Java 17 or newer");
  }

  @Test
  void aJavaHomeWithoutJavaIsRefused() throws Exception {
    Result result = run(directory, Map.of(), List.of());
    assertThat(result.exitCode).isEqualTo(2);
    assertThat(result.text()).contains("JAVA_HOME is " + directory);
  }

  @Test
  void moreFlagsAndJarsComeFromTheEnvironmentAndArgumentsStayWhole() throws Exception {
    Result result =
        run(
            java("17"),
            Map.of("FIRN_JAVA_OPTS", "-Dx=1 -Dy=2", "FIRN_CLASSPATH", "/jars/hive.jar"),
            List.of("compact", "a.b", "--where", "s = 'x y' and t > 3"));
    assertThat(result.arguments())
        .contains("-Dx=1", "-Dy=2")
        .contains(classPath() + ":/jars/hive.jar")
        .endsWith("dev.firn.engine.cli.Firn", "compact", "a.b", "--where", "s = 'x y' and t > 3");
  }

  @ParameterizedTest
  @ValueSource(
      strings = {
        "--sort table",
        "--sort=id desc",
        "--zorder id,name",
        "--zorder=id",
        "--hilbert id,name",
        "--hilbert=id",
        "--config firn.yaml",
        "--verify",
        "--option verify=true",
        "--option=verify=true"
      })
  void whatComputesHasTheSecondCompiler(String layout) throws Exception {
    String withoutIt = "-XX:TieredStopAtLevel=1";
    Path java = java("17");
    List<String> line = new ArrayList<>(List.of("compact", "a.b"));
    assertThat(run(java, Map.of(), line).arguments()).contains(withoutIt);
    Map<String, String> asked = Map.of("FIRN_JAVA_OPTS", "-XX:TieredStopAtLevel=4");
    assertThat(run(java, asked, line).arguments())
        .containsSubsequence(withoutIt, "-XX:TieredStopAtLevel=4");
    assertThat(run(java, Map.of(), List.of("verify", "a.b")).arguments()).doesNotContain(withoutIt);
    line.addAll(List.of(layout.split(" ", 2)));
    assertThat(run(java, Map.of(), line).arguments()).doesNotContain(withoutIt);
  }

  @Test
  void linksToTheLauncherAreFollowed() throws Exception {
    Path bin = Files.createDirectory(directory.resolve("bin"));
    Path hop = Files.createSymbolicLink(bin.resolve("hop"), home.resolve("firn"));
    Path link = Files.createSymbolicLink(bin.resolve("firn"), Path.of("hop"));
    assertThat(hop).isSymbolicLink();
    assertThat(run(link, java("17"), Map.of(), List.of()).arguments()).contains(classPath());
  }

  /** Always in the same order, whatever the language. */
  private String classPath() throws IOException {
    String lib = home.toRealPath() + "/lib/";
    return lib + "B.jar:" + lib + "a.jar:" + lib + "b.jar";
  }

  @ParameterizedTest
  @CsvSource({
    "17.0.9, classes-17.0.9-5.jsa, -XX:SharedArchiveFile=",
    "24, classes-24-5.jsa, -XX:SharedArchiveFile=",
    "25.0.3, classes-25.0.3-5.aot, -XX:AOTCache="
  })
  void anArchiveOfClassesIsForOneJavaAndWhole(String version, String name, String option)
      throws Exception {
    Path java = java(version);
    Path archive = home.resolve(name);
    Files.writeString(home.resolve(name.replace(version, "17.0.1")), "12345");
    Files.writeString(archive, "1234");
    assertThat(run(java, Map.of(), List.of()).text()).doesNotContain(option);
    Files.writeString(archive, "12345");
    String flag = option + home.toRealPath() + "/" + name;
    assertThat(run(java, Map.of(), List.of("compact")).arguments())
        .contains(flag)
        .endsWith("dev.firn.engine.cli.Firn", "compact");
    // What the JVM takes one of only is the user's to say.
    for (Map<String, String> environment :
        List.of(
            Map.of("FIRN_ARCHIVE", "off"),
            Map.of("FIRN_JAVA_OPTS", "-Dx=1 -Xshare:off"),
            Map.of("JAVA_TOOL_OPTIONS", "-XX:SharedArchiveFile=/x"),
            Map.of("FIRN_JAVA_OPTS", "-XX:AOTMode=off"))) {
      assertThat(run(java, environment, List.of()).arguments()).doesNotContain(flag);
    }
  }

  @Test
  void anArchiveThatCannotBeMadeIsNotLeft() throws Exception {
    Result result = run(java("17"), Map.of("FIRN_ARCHIVE", "make"), List.of());
    assertThat(result.exitCode).isEqualTo(1);
    assertThat(result.text()).contains("the log is " + home.toRealPath() + "/classes-17.log");
    assertThat(home).isDirectoryNotContaining("glob:**.{jsa,aot,part}");
  }

  /** With this Java, and a program that says hello in place of Firn. */
  @Test
  void anArchiveThatDoesNotFitIsLeftAloneInSilence() throws Exception {
    Path sources = Files.createDirectories(directory.resolve("sources"));
    List<String> names = List.of("Firn", "Rehearsal");
    for (String name : names) {
      Files.writeString(
          sources.resolve(name + ".java"),
          "package dev.firn.engine.cli; public class "
              + name
              + " { public static void main(String[] args) { System.out.println(\"hello\"); } }");
    }
    ToolProvider.getSystemJavaCompiler()
        .run(
            null,
            null,
            null,
            "-d",
            sources.toString(),
            sources.resolve("Firn.java").toString(),
            sources.resolve("Rehearsal.java").toString());
    Path jar = home.resolve("lib/a.jar");
    try (JarOutputStream out = new JarOutputStream(Files.newOutputStream(jar))) {
      for (String name : names) {
        String entry = "dev/firn/engine/cli/" + name + ".class";
        out.putNextEntry(new JarEntry(entry));
        out.write(Files.readAllBytes(sources.resolve(entry)));
      }
    }
    Files.delete(home.resolve("lib/b.jar"));
    Files.delete(home.resolve("lib/B.jar"));
    Path java = Path.of(System.getProperty("java.home"));

    Result made = run(java, Map.of("FIRN_ARCHIVE", "make"), List.of());
    assertThat(made.exitCode).as(made.text()).isZero();
    assertThat(made.text()).isEmpty();
    assertThat(run(java, Map.of(), List.of()).text()).isEqualTo("hello\n");
    Path archive;
    try (Stream<Path> files = Files.list(home)) {
      archive = files.filter(file -> file.toString().matches(".*\\.(jsa|aot)")).findAny().get();
    }
    assertThat(jar.toFile().setLastModified(1_000_000_000_000L)).isTrue();
    assertThat(run(java, Map.of(), List.of()).text()).isEqualTo("hello\n");
    int size = (int) Files.size(archive);
    Files.delete(archive);
    Files.write(archive, new byte[size]);
    assertThat(run(java, Map.of(), List.of()).text()).isEqualTo("hello\n");
  }

  @Test
  void theExitCodeIsThatOfTheProgram() throws Exception {
    Path java = java("17");
    Files.writeString(java.resolve("bin/java"), "#!/bin/sh\nexit 6\n");
    assertThat(run(java, Map.of(), List.of()).exitCode).isEqualTo(6);
  }

  private record Result(int exitCode, String text) {
    List<String> arguments() {
      return text.lines().toList();
    }
  }

  private Result run(Path javaHome, Map<String, String> environment, List<String> arguments)
      throws Exception {
    return run(home.resolve("firn"), javaHome, environment, arguments);
  }

  private Result run(
      Path launcher, Path javaHome, Map<String, String> environment, List<String> arguments)
      throws Exception {
    List<String> command = new ArrayList<>(List.of(launcher.toString()));
    command.addAll(arguments);
    File output = directory.resolve("output").toFile();
    ProcessBuilder builder =
        new ProcessBuilder(command).redirectErrorStream(true).redirectOutput(output);
    builder
        .environment()
        .keySet()
        .removeIf(
            name -> name.startsWith("FIRN_") || name.matches("JAVA_TOOL_OPTIONS|JDK_JAVA_OPTIONS"));
    builder.environment().put("JAVA_HOME", javaHome.toString());
    builder.environment().putAll(environment);
    Process process = builder.start();
    assertThat(process.waitFor(30, TimeUnit.SECONDS)).isTrue();
    return new Result(
        process.exitValue(), Files.readString(output.toPath(), StandardCharsets.UTF_8));
  }

  private Path java(String version) throws IOException {
    Path java = Files.createDirectories(directory.resolve("java-" + version));
    Files.writeString(java.resolve("release"), "JAVA_VERSION=\"" + version + "\"\n");
    Path bin = Files.createDirectories(java.resolve("bin")).resolve("java");
    Files.writeString(bin, "#!/bin/sh\nprintf '%s\\n' \"$@\"\n");
    executable(bin);
    return java;
  }

  private static void executable(Path file) throws IOException {
    Files.setPosixFilePermissions(file, PosixFilePermissions.fromString("rwxr-xr-x"));
  }
}
