/** Firn beside other engines, on the same tables, in one run; {@code SideBySide} is the program. */
@NullMarked
package dev.firn.bench.sidebyside;

import org.jspecify.annotations.NullMarked;
