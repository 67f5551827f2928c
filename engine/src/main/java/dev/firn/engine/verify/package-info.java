/** Hashes of rows that do not depend on the rows' order, column by column from batches. */
@NullMarked
package dev.firn.engine.verify;

import org.jspecify.annotations.NullMarked;
