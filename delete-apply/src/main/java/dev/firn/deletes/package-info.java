/**
 * Every kind of delete of one file group, resolved to one bitmap of deleted positions per data
 * file.
 */
@NullMarked
package dev.firn.deletes;

import org.jspecify.annotations.NullMarked;
