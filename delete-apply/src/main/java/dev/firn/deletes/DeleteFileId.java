package dev.firn.deletes;

import org.apache.iceberg.DeleteFile;
import org.jspecify.annotations.Nullable;

/**
 * What makes a delete file itself (rule D29): several deletion vectors share one Puffin file.
 * Offset and size are null for delete files that are a whole file.
 */
record DeleteFileId(String location, @Nullable Long offset, @Nullable Long size) {
  static DeleteFileId of(DeleteFile file) {
    return new DeleteFileId(file.location(), file.contentOffset(), file.contentSizeInBytes());
  }
}
