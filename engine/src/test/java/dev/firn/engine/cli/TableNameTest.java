package dev.firn.engine.cli;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import java.util.Set;
import org.apache.iceberg.catalog.Namespace;
import org.apache.iceberg.catalog.TableIdentifier;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.ValueSource;

class TableNameTest {
  private static final Set<String> CATALOGS = Set.of("prod", "demo");

  @Test
  void theFirstPartIsACatalogIfOneIsConfiguredAndANamespaceFollows() {
    assertThat(TableName.parse("prod.db.t", CATALOGS))
        .isEqualTo(new TableName("prod", TableIdentifier.of("db", "t")));
    assertThat(TableName.parse("test.db.t", CATALOGS))
        .isEqualTo(new TableName(null, TableIdentifier.of(Namespace.of("test", "db"), "t")));
    assertThat(TableName.parse("demo.orders", CATALOGS))
        .isEqualTo(new TableName(null, TableIdentifier.of("demo", "orders")));
    assertThat(TableName.parse("prod.a.b.t", CATALOGS))
        .isEqualTo(new TableName("prod", TableIdentifier.of(Namespace.of("a", "b"), "t")));
  }

  @Test
  void quotedPartsMayHoldDots() {
    assertThat(TableName.parse("prod.`a.b`.\"t \"\"1\"\"\"", CATALOGS))
        .isEqualTo(new TableName("prod", TableIdentifier.of("a.b", "t \"1\"")));
  }

  @ParameterizedTest
  @ValueSource(strings = {"", "t", ".t", "db.", "db..t", "`db.t", "`db`x.t"})
  void anythingElseIsRefused(String text) {
    assertThatThrownBy(() -> TableName.parse(text, CATALOGS))
        .isInstanceOf(UsageException.class)
        .hasMessageContaining("'" + text + "'");
  }
}
