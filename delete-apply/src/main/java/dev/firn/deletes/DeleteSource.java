package dev.firn.deletes;

import java.io.IOException;
import java.util.Map;
import java.util.Set;
import org.apache.arrow.vector.VectorSchemaRoot;
import org.apache.iceberg.ContentFile;
import org.apache.iceberg.DeleteFile;
import org.apache.iceberg.FileScanTask;
import org.apache.iceberg.Schema;
import org.apache.iceberg.types.Type;

/**
 * What resolving deletes needs read: rows of delete files, key columns of data files, and deletion
 * vectors. The engine implements it. Implementations are thread-safe.
 *
 * <p>Batches have one vector for each column of the schema asked for, in its order, in the physical
 * layout of docs/ARCHITECTURE.md (the Parquet physical type that Iceberg writes for the Iceberg
 * type). A column asked for with a nested field's id is that leaf, flattened: null where the leaf
 * or a parent of it is null. A batch is valid during the call only.
 */
public interface DeleteSource {

  /** Takes batches of rows in file order. */
  @FunctionalInterface
  interface Batches {
    /**
     * @param batch the rows; owned by the caller, valid during the call
     * @param firstPosition the position of the batch's first row in its file
     */
    void accept(VectorSchemaRoot batch, long firstPosition) throws IOException;
  }

  /** Reads columns of a position or equality delete file, of any format. */
  void readDeletes(DeleteFile file, Schema columns, Batches batches) throws IOException;

  /**
   * Reads key columns of a data file, all rows, deleted or not: by field id, with promotions,
   * defaults and identity constants applied, in the types of {@code columns}.
   */
  void readKeys(FileScanTask task, Schema columns, Batches batches) throws IOException;

  /**
   * The types that a data or delete file itself has for some fields, at any depth, by id. Asked
   * only for fields that are in no schema of the table any more (rule D14).
   *
   * @return without those that the file does not have, or not in a type that can be read
   */
  Map<Integer, Type> fieldTypes(ContentFile<?> file, Set<Integer> ids) throws IOException;

  /**
   * Reads the bytes of a deletion vector: {@code contentSizeInBytes} from {@code contentOffset}.
   */
  byte[] readDeletionVector(DeleteFile vector) throws IOException;
}
