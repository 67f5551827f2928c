/**
 * Catalogs that tests have Firn and Spark load: one that holds a commit up, one of golden tables.
 */
@NullMarked
package dev.firn.spark;

import org.jspecify.annotations.NullMarked;
