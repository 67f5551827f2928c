package dev.firn.spark;

import java.io.File;
import org.apache.hadoop.fs.Path;
import org.apache.hadoop.fs.RawLocalFileSystem;

/** The local file system, with the files of golden tables where their copies are. */
public final class GoldenFileSystem extends RawLocalFileSystem {
  /** Where golden tables say they are; nothing is there. */
  static final String RECORDED = "/firn-golden/";

  /** Key of the configuration: the directory of the copies. */
  static final String COPIES = "firn.golden.copies";

  @Override
  public String getScheme() {
    return "file";
  }

  @Override
  public File pathToFile(Path path) {
    String name = path.toUri().getPath();
    return name.startsWith(RECORDED)
        ? new File(getConf().get(COPIES), name.substring(RECORDED.length()))
        : super.pathToFile(path);
  }
}
