package dev.firn.engine;

import com.fasterxml.jackson.annotation.JsonInclude;
import com.fasterxml.jackson.annotation.JsonProperty;
import java.util.List;
import org.jspecify.annotations.Nullable;

/**
 * The memory limit of a run, split by name, and what was held of it.
 *
 * @param limitBytes what the process may use in all
 * @param peakResidentBytes the most that was resident, files mapped into memory included; null
 *     before the run
 * @param shares the parts; those in the heap are parts of the heap's
 * @param peakScratchBytes the most that sorted runs took on scratch disk; null before the run
 */
@JsonInclude(JsonInclude.Include.NON_NULL)
public record MemoryUse(
    @JsonProperty("limit_bytes") long limitBytes,
    @JsonProperty("peak_resident_bytes") @Nullable Long peakResidentBytes,
    @JsonProperty("shares") List<Share> shares,
    @JsonProperty("peak_scratch_bytes") @Nullable Long peakScratchBytes) {

  public MemoryUse {
    shares = List.copyOf(shares);
  }

  /**
   * A part of the memory.
   *
   * @param peakBytes the most that was held at once; null before the run and where it is not
   *     counted
   */
  @JsonInclude(JsonInclude.Include.NON_NULL)
  public record Share(
      @JsonProperty("name") String name,
      @JsonProperty("limit_bytes") long limitBytes,
      @JsonProperty("peak_bytes") @Nullable Long peakBytes) {}
}
