/** One class for each question of speed; README.md of this module lists them. */
@NullMarked
package dev.firn.bench;

import org.jspecify.annotations.NullMarked;
