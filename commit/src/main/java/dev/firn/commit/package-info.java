/** Batches of rewritten file groups, committed as REPLACE snapshots. */
@NullMarked
package dev.firn.commit;

import org.jspecify.annotations.NullMarked;
