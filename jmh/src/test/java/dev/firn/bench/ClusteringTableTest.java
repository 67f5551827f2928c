package dev.firn.bench;

import static org.assertj.core.api.Assertions.assertThat;

import java.io.ByteArrayOutputStream;
import java.io.IOException;
import java.io.PrintStream;
import java.nio.charset.StandardCharsets;
import java.util.List;
import org.junit.jupiter.api.Test;

class ClusteringTableTest {
  @Test
  void saysHowManyFilesAreReadAfterEachLayout() throws IOException {
    ByteArrayOutputStream printed = new ByteArrayOutputStream();
    ClusteringTable.print(20_000, 8, 42, 4, new PrintStream(printed, true, StandardCharsets.UTF_8));
    String text = printed.toString(StandardCharsets.UTF_8);
    List<String> lines = text.lines().filter(line -> line.startsWith("| ")).toList();
    assertThat(lines).as(text).hasSize(7);
    assertThat(mean(lines, "sort by customer, ts")).isLessThan(mean(lines, "bin-pack"));
    assertThat(mean(lines, "Hilbert, ranks")).isLessThan(mean(lines, "sort by customer, ts"));
  }

  private static double mean(List<String> lines, String layout) {
    String line =
        lines.stream().filter(each -> each.startsWith("| " + layout + " |")).findFirst().get();
    return Double.parseDouble(
        line.substring(line.lastIndexOf('|', line.length() - 2) + 1, line.length() - 1));
  }
}
