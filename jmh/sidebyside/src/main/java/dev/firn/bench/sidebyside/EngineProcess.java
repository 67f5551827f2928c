package dev.firn.bench.sidebyside;

import java.nio.file.Path;

/**
 * The process of an engine that is a library. Takes a file with a {@link Job}, and one for the
 * {@link Work}.
 */
public final class EngineProcess {
  private EngineProcess() {}

  /** Does the job and writes down what it took; whatever goes wrong ends the process with it. */
  public static void main(String[] args) throws Exception {
    Job job = Json.read(Path.of(args[0]), Job.class);
    Work work =
        switch (job.engine()) {
          case SPARK -> SparkRewrite.run(job);
          case GENERICS -> GenericRewrite.run(job);
          case DUCKDB -> DuckDbCopy.run(job);
          case COPY -> FileCopy.run(job);
          case FIRN -> throw new IllegalArgumentException("Firn has its own launcher");
        };
    Json.write(Path.of(args[1]), work);
  }
}
