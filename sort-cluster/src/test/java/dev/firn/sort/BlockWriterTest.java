package dev.firn.sort;

import static org.assertj.core.api.Assertions.assertThat;

import org.junit.jupiter.api.Test;

class BlockWriterTest {

  @Test
  void whatShrinksIsCompressedWhereTheDiskIsSlow() {
    double gigabyteASecond = 1;
    double hundredMegabytesASecond = 10;
    assertThat(BlockWriter.pays(1, 1000, gigabyteASecond)).isFalse();
    assertThat(BlockWriter.pays(1, 1000, 4 * gigabyteASecond)).isTrue();
    assertThat(BlockWriter.pays(800, 1000, hundredMegabytesASecond)).isTrue();
    assertThat(BlockWriter.pays(900, 1000, hundredMegabytesASecond)).isFalse();
    assertThat(BlockWriter.pays(1000, 1000, 100 * hundredMegabytesASecond)).isFalse();
  }
}
