package dev.firn.testdata;

import java.io.IOException;
import java.io.UncheckedIOException;
import java.nio.charset.StandardCharsets;
import java.nio.file.FileAlreadyExistsException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.nio.file.StandardCopyOption;
import java.util.UUID;
import org.apache.iceberg.CatalogUtil;
import org.apache.iceberg.LocationProviders;
import org.apache.iceberg.TableMetadata;
import org.apache.iceberg.TableMetadataParser;
import org.apache.iceberg.TableOperations;
import org.apache.iceberg.exceptions.CommitFailedException;
import org.apache.iceberg.exceptions.NoSuchTableException;
import org.apache.iceberg.io.FileIO;
import org.apache.iceberg.io.LocationProvider;
import org.jspecify.annotations.Nullable;

/**
 * Operations of a table in a local directory, laid out as a Hadoop catalog does: {@code
 * metadata/vN.metadata.json} and {@code metadata/version-hint.text}.
 *
 * <p>The directory may be another than the table's location says; then {@code io} knows the way.
 * Creating version N + 1 is atomic between threads and processes: a hard link that fails when the
 * version exists. Like Iceberg's own operations, one instance serves one table handle.
 */
final class LocalTableOperations implements TableOperations {
  private static final String SUFFIX = ".metadata.json";

  private final String location;
  private final Path directory;
  private final Path metadataDirectory;
  private final FileIO io;
  private int version;
  private @Nullable TableMetadata current; // null until the table is created
  private boolean stale = true;

  LocalTableOperations(String location, Path directory, FileIO io) {
    this.location = location;
    this.directory = directory;
    this.metadataDirectory = directory.resolve("metadata");
    this.io = io;
  }

  LocalTableOperations another() {
    return new LocalTableOperations(location, directory, io);
  }

  @Override
  public synchronized @Nullable TableMetadata current() {
    return stale ? refresh() : current;
  }

  @Override
  public synchronized @Nullable TableMetadata refresh() {
    int newest = version == 0 ? hintedVersion() : version;
    while (Files.exists(metadataFile(newest + 1))) {
      newest++;
    }
    if (newest > 0 && newest != version) {
      current = TableMetadataParser.read(io, metadataFileLocation("v" + newest + SUFFIX));
      version = newest;
    }
    stale = false;
    return current;
  }

  private Path metadataFile(int number) {
    return metadataDirectory.resolve("v" + number + SUFFIX);
  }

  private int hintedVersion() {
    Path hint = metadataDirectory.resolve("version-hint.text");
    try {
      return Files.exists(hint) ? Integer.parseInt(Files.readString(hint).trim()) : 0;
    } catch (IOException e) {
      throw new UncheckedIOException("Cannot read " + hint, e);
    }
  }

  @Override
  public synchronized void commit(@Nullable TableMetadata base, TableMetadata metadata) {
    if (base != current()) {
      throw new CommitFailedException("Cannot commit to %s: the base is stale", location);
    }
    if (base == metadata) {
      return;
    }
    int next = version + 1;
    try {
      Files.createDirectories(metadataDirectory);
      Path temporary = metadataDirectory.resolve(UUID.randomUUID() + ".tmp");
      Files.writeString(temporary, TableMetadataParser.toJson(metadata));
      try {
        Files.createLink(metadataFile(next), temporary);
      } catch (FileAlreadyExistsException e) {
        stale = true;
        throw new CommitFailedException(
            e, "Cannot commit to %s: version %s exists", location, next);
      } finally {
        Files.delete(temporary);
      }
      Path hint = metadataDirectory.resolve(UUID.randomUUID() + ".hint");
      Files.write(hint, Integer.toString(next).getBytes(StandardCharsets.UTF_8));
      Files.move(
          hint,
          metadataDirectory.resolve("version-hint.text"),
          StandardCopyOption.REPLACE_EXISTING);
    } catch (IOException e) {
      throw new UncheckedIOException("Cannot commit to " + location, e);
    }
    stale = true;
    if (base != null) {
      CatalogUtil.deleteRemovedMetadataFiles(io, base, metadata);
    }
  }

  @Override
  public FileIO io() {
    return io;
  }

  @Override
  public String metadataFileLocation(String fileName) {
    return location + "/metadata/" + fileName;
  }

  @Override
  public LocationProvider locationProvider() {
    TableMetadata metadata = current();
    if (metadata == null) {
      throw new NoSuchTableException("There is no table at %s yet", location);
    }
    return LocationProviders.locationsFor(metadata.location(), metadata.properties());
  }

  @Override
  public TableOperations temp(TableMetadata uncommitted) {
    return new UncommittedTableOperations(this, uncommitted);
  }
}
