package dev.firn.bench;

import static org.assertj.core.api.Assertions.assertThat;

import java.util.Collection;
import org.junit.jupiter.api.Test;
import org.openjdk.jmh.annotations.Mode;
import org.openjdk.jmh.results.RunResult;
import org.openjdk.jmh.runner.Runner;
import org.openjdk.jmh.runner.RunnerException;
import org.openjdk.jmh.runner.options.OptionsBuilder;
import org.openjdk.jmh.runner.options.VerboseMode;

class BenchmarksTest {
  @Test
  void everyBenchmarkRuns() throws RunnerException {
    Collection<RunResult> results =
        new Runner(
                new OptionsBuilder()
                    .param("column", "TEXT_FEW")
                    .param("codec", "zstd")
                    .param("keys", "HILBERT_RANK")
                    .param("limit", "1")
                    .param("rowGroupRows", "20000")
                    .param("columns", "LONG_UNIQUE+TEXT_UNIQUE")
                    .param("order", "DAY_ID")
                    .param("part", "16")
                    .param("pages", "TEXT_PLAIN")
                    .param("deleted", "0.05")
                    .param("shared", "0.5")
                    .param("text", "true")
                    .param("page", "TEXT_DELTA")
                    .param("nullsPercent", "10")
                    .param("content", "CLOSE_LONGS")
                    .param("form", "LONG_AND_TEXT")
                    .param("count", "10000")
                    .mode(Mode.SingleShotTime)
                    .warmupIterations(0)
                    .measurementIterations(1)
                    .forks(0)
                    .shouldFailOnError(true)
                    .verbosity(VerboseMode.SILENT)
                    .build())
            .run();
    assertThat(results)
        .extracting(result -> result.getParams().getBenchmark())
        .doesNotHaveDuplicates()
        .hasSize(32);
  }
}
