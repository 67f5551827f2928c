package dev.firn.engine;

import java.io.IOException;
import java.io.UncheckedIOException;
import java.util.HashMap;
import java.util.Map;
import org.apache.iceberg.ContentFile;
import org.apache.iceberg.DataFile;
import org.apache.iceberg.FileFormat;
import org.apache.iceberg.ManifestFile;
import org.apache.iceberg.ManifestFiles;
import org.apache.iceberg.ManifestReader;
import org.apache.iceberg.Snapshot;
import org.apache.iceberg.Table;

/**
 * Deletion vectors that are older than their data file (D6). Iceberg's planner fails on them but
 * does not say of which file they are.
 */
final class MisplacedVectors {
  private MisplacedVectors() {}

  /** The end of a message with the first such file; empty if there is none. */
  static String named(Table table, Snapshot snapshot) {
    Map<String, Long> sequenceNumbers = new HashMap<>();
    UnprunedDeletes.forEach(
        table,
        snapshot,
        table.specs(),
        (spec, delete) -> {
          if (delete.format() == FileFormat.PUFFIN && delete.referencedDataFile() != null) {
            sequenceNumbers.put(delete.referencedDataFile(), delete.dataSequenceNumber());
          }
        });
    for (ManifestFile manifest : snapshot.dataManifests(table.io())) {
      try (ManifestReader<DataFile> files =
          ManifestFiles.read(manifest, table.io(), table.specs())) {
        for (ContentFile<?> file : files) {
          Long ofVector = sequenceNumbers.get(file.location());
          if (ofVector != null && ofVector < file.dataSequenceNumber()) {
            return ", in the vector of " + file.location();
          }
        }
      } catch (IOException e) {
        throw new UncheckedIOException(
            "Cannot read manifest " + manifest.path() + ": nothing was changed", e);
      }
    }
    return "";
  }
}
