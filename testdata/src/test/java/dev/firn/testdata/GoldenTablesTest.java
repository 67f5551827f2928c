package dev.firn.testdata;

import static org.assertj.core.api.Assertions.assertThat;

import java.nio.file.Path;
import java.util.List;
import org.apache.iceberg.Table;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.MethodSource;

final class GoldenTablesTest {
  @TempDir Path directory;

  static List<String> names() {
    return GoldenTables.names();
  }

  @ParameterizedTest
  @MethodSource("names")
  void oaTheOracleReadsExactlyTheExpectedRowsOfEveryRef(String name) {
    Table table = GoldenTables.copyTo(name, directory);
    for (String ref : table.refs().keySet()) {
      assertThat(TableRows.live(table, ref))
          .as("%s, ref %s", name, ref)
          .isEqualTo(GoldenTables.expectedRows(name, ref));
    }
    assertThat(TableRows.live(table)).isEqualTo(GoldenTables.expectedRows(name));
  }

  @Test
  void allTablesAreThere() {
    assertThat(GoldenTables.names()).hasSize(21).contains("g01-merge-mor", "g15-sorted");
  }
}
