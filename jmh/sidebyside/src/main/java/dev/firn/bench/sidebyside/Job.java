package dev.firn.bench.sidebyside;

import java.util.List;

/**
 * One compaction that an engine is to do.
 *
 * @param warehouse directory of the Hadoop catalog
 * @param files the live data files, for an engine that does not know Iceberg
 * @param columns the table's, in order
 * @param outputs directory for files that are not committed, which is empty and absent at first
 * @param scratch directory for files that the engine may leave behind
 * @param targetFileSizeBytes size that output files are to have
 * @param memory limit of Firn and of DuckDB, such as {@code 1g}
 */
record Job(
    Engine engine,
    Case which,
    String warehouse,
    List<String> files,
    List<String> columns,
    String outputs,
    String scratch,
    long targetFileSizeBytes,
    int threads,
    String memory) {}
