package dev.firn.engine;

import dev.firn.engine.parquet.TableReader;
import java.nio.file.Path;
import java.util.List;
import java.util.concurrent.ExecutorService;
import java.util.function.Function;
import org.apache.arrow.memory.BufferAllocator;
import org.apache.iceberg.DeleteFile;
import org.apache.iceberg.FileScanTask;
import org.jspecify.annotations.Nullable;

/**
 * What the groups of one round share. Owned by {@link Compaction}, which closes what is to be
 * closed.
 *
 * @param operationId in the names of output files; no other round has it, and no other run (C15)
 * @param deletes the delete files of a data file
 * @param reader reads data and delete files of the pinned table
 * @param allocator parent of each group's allocator
 * @param fetchers threads that fetch row groups ahead
 * @param encoders threads that encode and compress columns
 * @param ahead threads that work ahead of a group's own: four for each group at once, one that
 *     decodes or merges, and those of its sorter
 * @param band the sizes that output files are to have
 * @param peaks takes what the groups hold
 * @param scratch the round's own directory for what does not fit into memory
 * @param stop is looked at batch by batch
 * @param verifier reads outputs back before they are committed; null if that is not asked for
 */
record RunContext(
    Pin pin,
    CompactionSettings settings,
    String operationId,
    RunMemory memory,
    MemoryPeaks peaks,
    Function<FileScanTask, List<DeleteFile>> deletes,
    TableReader reader,
    BufferAllocator allocator,
    ExecutorService fetchers,
    ExecutorService encoders,
    ExecutorService ahead,
    ExplainingPlanner.OutputBand band,
    Path scratch,
    @Nullable GroupVerifier verifier,
    StopFlag stop,
    CompactionListener listener) {}
