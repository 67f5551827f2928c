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
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.condition.DisabledOnOs;
import org.junit.jupiter.api.condition.OS;
import org.junit.jupiter.api.io.TempDir;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;

/** Runs the launcher beside a lib folder, on a Java that only prints what it is given. */
@DisabledOnOs(OS.WINDOWS)
class LauncherTest {
  @TempDir Path directory;
  private Path home;

  @BeforeEach
  void install() throws IOException {
    home = Files.createDirectories(directory.resolve("with blank/firn-1"));
    Files.createDirectory(home.resolve("lib"));
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
        .contains(home.toRealPath() + "/lib/*:/jars/hive.jar")
        .endsWith("dev.firn.engine.cli.Firn", "compact", "a.b", "--where", "s = 'x y' and t > 3");
  }

  @Test
  void linksToTheLauncherAreFollowed() throws Exception {
    Path bin = Files.createDirectory(directory.resolve("bin"));
    Path hop = Files.createSymbolicLink(bin.resolve("hop"), home.resolve("firn"));
    Path link = Files.createSymbolicLink(bin.resolve("firn"), Path.of("hop"));
    assertThat(hop).isSymbolicLink();
    assertThat(run(link, java("17"), Map.of(), List.of()).arguments())
        .contains(home.toRealPath() + "/lib/*");
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
    builder.environment().keySet().removeIf(name -> name.startsWith("FIRN_"));
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
