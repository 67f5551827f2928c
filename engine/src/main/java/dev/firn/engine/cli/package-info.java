/** The commands. */
@NullMarked
package dev.firn.engine.cli;

import org.jspecify.annotations.NullMarked;
