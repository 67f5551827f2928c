package dev.firn.engine;

import dev.firn.engine.parquet.DataFileOutput;
import java.util.List;
import org.apache.iceberg.PartitionSpec;
import org.apache.iceberg.Schema;
import org.apache.iceberg.Table;
import org.apache.iceberg.actions.RewriteFileGroup;
import org.apache.iceberg.types.TypeUtil;

/**
 * What a run may use and what it needs, settled before any row is read.
 *
 * @param groupsAtOnce groups in work at once: each has this share of the memory
 * @param worksAhead whether a group's rows are decoded and merged while those before are written:
 *     there are two row groups of it at once, or parts of them
 * @param totalBytesNeeded the least total with which the plan can be run
 * @param neededFor what that would be for
 * @param scratchBytes what sorting will put on scratch disk at once, about; 0 if all fits into
 *     memory
 */
record RunMemory(
    MemoryShares shares,
    MemoryNeeds needs,
    int groupsAtOnce,
    boolean worksAhead,
    long totalBytesNeeded,
    String neededFor,
    long scratchBytes) {

  /** Memory that one group in work needs at least: its row groups in flight, in and out. */
  private static final long GROUP_BYTES_MIN = 256L << 20;

  /** Larger row groups can be decoded part by part, in as little as this. */
  private static final long DECODE_BYTES_MIN = 24L << 20;

  /** Row groups are not decoded ahead if that were in parts smaller than this. */
  private static final long AHEAD_BYTES_MIN = 48L << 20;

  /** Less lets sorted runs be so short that merging them takes several rounds. */
  static final long SORT_BYTES_MIN = 4L << 20;

  /** A group is not worked on beside others if each then has less than this to sort in. */
  private static final long SORT_BYTES_WANTED = 128L << 20;

  /** An open column of an output needs a page being filled, one being compressed, and some more. */
  private static final long OUTPUT_COLUMN_BYTES_MIN = 128L << 10;

  static RunMemory of(
      CompactionSettings settings, Pin pin, List<RewriteFileGroup> groups, MemoryNeeds needs) {
    long total = settings.memoryBytes();
    boolean sorts =
        pin.rowOrder() != null || groups.stream().anyMatch(group -> isSpread(pin, group));
    long decodeMin = Math.min(needs.decodeBytes(), DECODE_BYTES_MIN);
    long sortMin = sorts ? SORT_BYTES_MIN : 0;
    long pagesMin = groups.isEmpty() ? 0 : outputBytesMin(pin.table(), pin.columns());
    long filters =
        groups.isEmpty() ? 0 : DataFileOutput.bloomFilterBytes(pin.table(), pin.columns());
    MemoryShares one = MemoryShares.of(total, needs.decodeBytes(), sorts);
    long needed = 0;
    String what = needs.where().isEmpty() ? "its columns" : needs.where();
    if (decodeMin > one.decodeBytes() || sortMin > one.sortBytes()) {
      long least = sorts ? 2 * Math.max(decodeMin, sortMin) : decodeMin;
      needed = Math.max(total + 1, MemoryShares.totalFor(least));
    }
    long forColumns = 0;
    if (pagesMin > one.outputPagesBytes()) {
      forColumns = MemoryShares.totalForOutputPages(pagesMin);
    }
    if (filters > one.bloomFiltersBytes()) {
      forColumns = Math.max(forColumns, MemoryShares.totalForBloomFilters(filters));
    }
    if (forColumns > needed) {
      needed = forColumns;
      what =
          filters > 0 ? "the pages and bloom filters of its columns" : "the pages of its columns";
    }
    long ofGroup = needs.decodeBytes() + (sorts ? SORT_BYTES_WANTED : 0);
    long fit = Math.min(total / GROUP_BYTES_MIN, one.rowBytes() / Math.max(1, ofGroup));
    fit = Math.min(fit, one.outputPagesBytes() / Math.max(1, pagesMin));
    fit = Math.min(fit, one.bloomFiltersBytes() / Math.max(1, filters));
    int atOnce =
        (int)
            Math.max(
                1,
                Math.min(
                    Math.min(settings.concurrentGroupsMax(), groups.size()),
                    Math.min(settings.threads(), fit)));
    MemoryShares shares = MemoryShares.of(total, 2 * atOnce * needs.wholeBytes(), sorts);
    long partBytes = shares.decodeBytes() / atOnce / 2;
    boolean ahead =
        settings.threads() > 1 && partBytes >= Math.min(needs.wholeBytes(), AHEAD_BYTES_MIN);
    if (!ahead) {
      shares = MemoryShares.of(total, atOnce * needs.decodeBytes(), sorts);
    }
    return new RunMemory(
        shares,
        needs,
        atOnce,
        ahead,
        needed,
        what,
        sorts ? scratch(pin, groups, settings.groupBytesMax(), needs, shares, atOnce) : 0);
  }

  /** Whether rows go to other partitions, for which some of them are sorted. */
  private static boolean isSpread(Pin pin, RewriteFileGroup group) {
    PartitionSpec spec = pin.spec(group.outputSpecId());
    return spec.isPartitioned() && GroupRewrite.isSpread(group, spec);
  }

  private static long scratch(
      Pin pin,
      List<RewriteFileGroup> groups,
      long groupBytesMax,
      MemoryNeeds needs,
      MemoryShares shares,
      int atOnce) {
    long inMemory = shares.sortBytes() / atOnce / 2;
    return groups.stream()
        .mapToLong(
            group -> {
              long bytes = group.inputFilesSizeInBytes();
              // Spread rows are sorted at once, others range by range.
              return needs.rowBytes(isSpread(pin, group) ? bytes : Math.min(bytes, groupBytesMax));
            })
        .filter(bytes -> bytes > inMemory)
        .map(bytes -> -bytes)
        .sorted()
        .limit(atOnce)
        .map(bytes -> -bytes)
        .sum();
  }

  /** The least that an open output file needs for its pages and bloom filters. */
  static long outputBytesMin(Table table, Schema columns) {
    long leaves =
        TypeUtil.indexById(columns.asStruct()).values().stream()
            .filter(field -> field.type().isPrimitiveType())
            .count();
    return leaves * OUTPUT_COLUMN_BYTES_MIN + DataFileOutput.bloomFilterBytes(table, columns);
  }

  /** What the groups in work may each sort in. */
  long sortBytesOfGroup() {
    return shares.sortBytes() / groupsAtOnce;
  }

  /** What decoding may take for a group. */
  long decodeBytesOfGroup() {
    return Math.max(1, shares.decodeBytes() / groupsAtOnce);
  }

  /** What the column chunks of a row group may take that is spliced; a larger one is decoded. */
  long spliceBytesOfGroup() {
    return decodeBytesOfGroup() / 3;
  }

  /** What the column chunks of files may take that are fetched ahead to be spliced. */
  long spliceBytesAheadOfGroup() {
    return decodeBytesOfGroup() / 6;
  }

  /**
   * What column chunks may take that wait in an output, beside the row group that is spliced, the
   * next one and files ahead.
   *
   * @param rowGroupBytes what the row group takes
   */
  long splicedBytesHeldOfGroup(long rowGroupBytes) {
    long all = decodeBytesOfGroup();
    return Math.max(all / 6, all - spliceBytesAheadOfGroup() - 2 * rowGroupBytes);
  }

  /** What decoding one row group may take, beside which there may be the next. */
  long decodeBytesOfRowGroup() {
    return Math.max(1, decodeBytesOfGroup() / (worksAhead ? 2 : 1));
  }

  /** What the pages of a group's open outputs may take. */
  long outputPagesBytesOfGroup() {
    return shares.outputPagesBytes() / groupsAtOnce;
  }

  /** What the bloom filters of the row groups written of a group's open outputs may take. */
  long bloomFiltersBytesOfGroup() {
    return shares.bloomFiltersBytes() / groupsAtOnce;
  }

  /**
   * @throws GroupMemoryException if the least that the run needs is more than it may use
   */
  void refuseIfTooSmall(String table) {
    if (totalBytesNeeded > 0) {
      throw new GroupMemoryException(
          "Cannot compact "
              + table
              + " with "
              + (shares.totalBytes() >> 20)
              + " MiB of memory: what is left of it beside the JVM is too little for "
              + neededFor
              + ". Nothing was changed. Give it at least --memory "
              + ((totalBytesNeeded >> 20) + 1)
              + "m");
    }
  }
}
