/** Iceberg's action interfaces over a compaction run. */
@NullMarked
package dev.firn.engine.actions;

import org.jspecify.annotations.NullMarked;
