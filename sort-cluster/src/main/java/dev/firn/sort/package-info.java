/** Order-preserving sort keys and the sorter of rows that lie in Arrow vectors. */
@NullMarked
package dev.firn.sort;

import org.jspecify.annotations.NullMarked;
