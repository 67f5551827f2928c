/** A compaction run: settings, plan, file groups, report. */
@NullMarked
package dev.firn.engine;

import org.jspecify.annotations.NullMarked;
