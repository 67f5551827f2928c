/**
 * Byte ranges of objects, many at once, over the clients that a table's own FileIO is configured
 * with.
 */
@NullMarked
package dev.firn.io;

import org.jspecify.annotations.NullMarked;
