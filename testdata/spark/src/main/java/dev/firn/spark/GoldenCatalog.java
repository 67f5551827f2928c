package dev.firn.spark;

import java.util.Map;
import java.util.Objects;
import org.apache.hadoop.conf.Configuration;
import org.apache.iceberg.CatalogProperties;
import org.apache.iceberg.catalog.TableIdentifier;
import org.apache.iceberg.hadoop.HadoopCatalog;

/** Copies of golden tables, whatever their namespace, at the location they say they are at. */
public final class GoldenCatalog extends HadoopCatalog {
  @Override
  public void initialize(String name, Map<String, String> properties) {
    Configuration conf = new Configuration(getConf());
    conf.set("fs.file.impl", GoldenFileSystem.class.getName());
    conf.setBoolean("fs.file.impl.disable.cache", true);
    conf.set(
        GoldenFileSystem.COPIES,
        Objects.requireNonNull(properties.get(CatalogProperties.WAREHOUSE_LOCATION)));
    setConf(conf);
    super.initialize(name, properties);
  }

  @Override
  protected String defaultWarehouseLocation(TableIdentifier identifier) {
    return "file:" + GoldenFileSystem.RECORDED + identifier.name();
  }
}
