package dev.firn.engine.cli;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;
import org.junit.jupiter.params.provider.ValueSource;

class ByteSizeTest {
  @ParameterizedTest
  @CsvSource({
    "0, 0",
    "1048576, 1048576",
    "512m, 536870912",
    "512M, 536870912",
    "128MB, 134217728",
    "128 MB, 134217728",
    "1GiB, 1073741824",
    "4Gi, 4294967296",
    "1.5g, 1610612736",
    "2TB, 2199023255552",
    "7kb, 7168",
    "12B, 12",
  })
  void unitsArePowersOf1024(String text, long bytes) {
    assertThat(ByteSize.parse("x", text)).isEqualTo(bytes);
  }

  @ParameterizedTest
  @ValueSource(strings = {"", "MB", "-1", "1 parsec", "1,5g", "1e3", "0x10", "1PB", "12 34"})
  void anythingElseIsRefusedWithNameAndValue(String text) {
    assertThatThrownBy(() -> ByteSize.parse("--memory", text))
        .isInstanceOf(UsageException.class)
        .hasMessageContaining("--memory is '" + text + "'");
  }

  @Test
  void moreThanALongHoldsIsRefused() {
    assertThatThrownBy(() -> ByteSize.parse("--memory", "99999999TB"))
        .isInstanceOf(UsageException.class);
  }

  @ParameterizedTest
  @CsvSource({
    "0, 0 B",
    "1023, 1023 B",
    "1024, 1.00 KB",
    "10240, 10.0 KB",
    "102400, 100 KB",
    "1048576, 1.00 MB",
    "1048575, 1.00 MB",
    "1299227607, 1.21 GB",
    "9223372036854775807, 8388608 TB",
  })
  void sizesArePrintedWithThreeDigits(long bytes, String text) {
    assertThat(ByteSize.format(bytes)).isEqualTo(text);
  }
}
