package dev.firn.deletes;

import java.util.HashMap;
import java.util.Map;
import org.apache.iceberg.ContentFile;
import org.apache.iceberg.PartitionSpec;
import org.apache.iceberg.util.StructLikeWrapper;

/** Tells partitions apart: by spec and by value of the tuple (rules D7, D9). Not thread-safe. */
final class Partitions {
  private final Map<Integer, PartitionSpec> specs;
  private final Map<Integer, StructLikeWrapper> wrappers = new HashMap<>();

  Partitions(Map<Integer, PartitionSpec> specs) {
    this.specs = specs;
  }

  PartitionSpec spec(ContentFile<?> file) {
    PartitionSpec spec = specs.get(file.specId());
    if (spec == null) {
      throw new CorruptDeleteException(
          "Cannot tell the partition of "
              + file.location()
              + ": the table has no partition spec "
              + file.specId()
              + ". The group is left as it was.");
    }
    return spec;
  }

  /** Whether two files are in one partition of one spec. */
  boolean same(ContentFile<?> one, ContentFile<?> other) {
    if (one.specId() != other.specId()) {
      return false;
    }
    return spec(one).isUnpartitioned() || wrap(one).equals(wrap(other));
  }

  private StructLikeWrapper wrap(ContentFile<?> file) {
    return wrappers
        .computeIfAbsent(file.specId(), id -> StructLikeWrapper.forType(spec(file).partitionType()))
        .copyFor(file.partition());
  }

  /** A map's key for the partition of a file, equal to that of another file in the same one. */
  Key key(ContentFile<?> file) {
    return new Key(file.specId(), wrap(file));
  }

  /** One partition of one spec. */
  record Key(int specId, StructLikeWrapper tuple) {}
}
