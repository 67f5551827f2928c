package dev.firn.engine.cli;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatCode;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import java.util.Map;
import org.junit.jupiter.api.Test;

class OptionValuesTest {
  @Test
  void theLineIsAboveTheFileAndSizesBecomeBytes() {
    assertThat(
            OptionValues.layered(
                Map.of("target-file-size-bytes", "1GB", "min-input-files", "7"),
                Map.of("target-file-size-bytes", "128MB", "delete-ratio-threshold", "0.1")))
        .containsOnly(
            Map.entry("target-file-size-bytes", "134217728"),
            Map.entry("min-input-files", "7"),
            Map.entry("delete-ratio-threshold", "0.1"));
  }

  @Test
  void aDefaultOfTheFileThatTheLineMakesPointlessIsDropped() {
    Map<String, String> file =
        Map.of("min-input-files", "7", "partial-progress.max-commits", "3", "output-spec-id", "0");
    assertThat(
            OptionValues.layered(
                file, Map.of("rewrite-all", "true", "partial-progress.enabled", "false")))
        .containsOnlyKeys("rewrite-all", "partial-progress.enabled", "output-spec-id");
    assertThat(OptionValues.layered(file, Map.of("keep-partition-spec", "true")))
        .doesNotContainKey("output-spec-id");
    assertThat(
            OptionValues.layered(
                Map.of("keep-partition-spec", "true"), Map.of("output-spec-id", "1")))
        .containsOnlyKeys("output-spec-id");
    assertThat(OptionValues.layered(file, Map.of("rewrite-all", "true", "min-input-files", "2")))
        .as("what the line itself names stays, to be refused")
        .containsEntry("min-input-files", "2");
  }

  @Test
  void unknownOptionsAreRefusedAndSparksOwnAreLeftToTheSettings() {
    assertThatThrownBy(() -> OptionValues.requireKnown("rewrite-al", "x"))
        .isInstanceOf(UsageException.class)
        .hasMessage("x: unknown option 'rewrite-al'; did you mean 'rewrite-all'?");
    assertThatCode(() -> OptionValues.requireKnown("compression-factor", "x"))
        .doesNotThrowAnyException();
  }
}
