package dev.firn.sort;

/**
 * The keys of some rows, one after another.
 *
 * @param bytes of all keys
 * @param offsets where each key begins in {@code bytes}, and where the last ends
 */
@SuppressWarnings("ArrayRecordComponent") // never compared
public record RowKeys(byte[] bytes, int[] offsets) {}
