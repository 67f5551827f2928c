/** Row groups in, as Arrow vectors, and column chunks out. */
@NullMarked
package dev.firn.engine.parquet;

import org.jspecify.annotations.NullMarked;
