package dev.firn.engine.cli;

import java.io.Closeable;
import java.io.IOException;
import java.io.UncheckedIOException;
import java.util.ArrayList;
import java.util.List;
import org.apache.iceberg.Table;
import org.apache.iceberg.catalog.Catalog;
import org.apache.iceberg.catalog.Namespace;
import org.apache.iceberg.catalog.SupportsNamespaces;
import org.apache.iceberg.catalog.TableIdentifier;
import org.apache.iceberg.exceptions.NoSuchTableException;

/** A table with the catalog it was loaded from; closing closes the catalog. */
record OpenTable(Catalog catalog, Table table) implements Closeable {

  /**
   * Loads a table.
   *
   * @throws UsageException if there is none of that name; tables named alike are named
   */
  static OpenTable load(CatalogSettings settings, TableIdentifier identifier) {
    Catalog catalog = settings.open();
    try {
      return new OpenTable(catalog, loaded(catalog, settings, identifier));
    } catch (NoSuchTableException e) {
      UsageException missing =
          new UsageException(
              "The catalog '"
                  + settings.name()
                  + "' has no table "
                  + identifier
                  + whatThereIs(catalog, settings, identifier),
              e);
      closeQuietly(catalog, missing);
      throw missing;
    } catch (RuntimeException | Error e) {
      closeQuietly(catalog, e);
      throw e;
    }
  }

  private static Table loaded(
      Catalog catalog, CatalogSettings settings, TableIdentifier identifier) {
    try {
      return catalog.loadTable(identifier);
    } catch (NoSuchTableException e) {
      throw e;
    } catch (RuntimeException e) {
      throw new UnreachableException(
          "Cannot load the table "
              + identifier
              + " from the catalog '"
              + settings.name()
              + "': "
              + Causes.of(e)
              + ". Nothing was started.",
          e);
    }
  }

  @Override
  public void close() {
    if (catalog instanceof Closeable closeable) {
      try {
        closeable.close();
      } catch (IOException e) {
        throw new UncheckedIOException("Cannot close the catalog " + catalog.name(), e);
      }
    }
  }

  private static void closeQuietly(Catalog catalog, Throwable first) {
    if (catalog instanceof Closeable closeable) {
      try {
        closeable.close();
      } catch (IOException e) {
        first.addSuppressed(e);
      }
    }
  }

  /* Only words for an error that is already certain: whatever fails here is left out of them. */
  private static String whatThereIs(
      Catalog catalog, CatalogSettings settings, TableIdentifier identifier) {
    try {
      Namespace namespace = identifier.namespace();
      if (catalog instanceof SupportsNamespaces namespaces
          && !namespaces.namespaceExists(namespace)) {
        List<String> known = new ArrayList<>();
        for (Namespace other : namespaces.listNamespaces()) {
          known.add(other.toString());
        }
        return known.isEmpty()
            ? ", and no namespace at all" + jdbcHint(settings)
            : ", nor a namespace " + namespace + Nearest.hint(namespace.toString(), known);
      }
      List<String> tables = new ArrayList<>();
      for (TableIdentifier other : catalog.listTables(namespace)) {
        tables.add(other.toString());
      }
      return tables.isEmpty()
          ? "; the namespace " + namespace + " is empty"
          : Nearest.hint(identifier.toString(), tables);
    } catch (RuntimeException e) {
      return "";
    }
  }

  private static String jdbcHint(CatalogSettings settings) {
    return "jdbc".equals(settings.properties().get("type"))
        ? " (a JDBC catalog keeps its tables under its own name: here '"
            + settings.name()
            + "'; --catalog gives another)"
        : "";
  }
}
