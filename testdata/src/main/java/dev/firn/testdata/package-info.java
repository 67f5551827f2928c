/** Seeded tables, golden tables of other engines, and FileIOs that count and fail. */
@NullMarked
package dev.firn.testdata;

import org.jspecify.annotations.NullMarked;
