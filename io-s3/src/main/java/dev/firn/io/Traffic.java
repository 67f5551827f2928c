package dev.firn.io;

import java.util.concurrent.atomic.LongAdder;

/** What a reader has asked for and got. Thread-safe. */
final class Traffic {
  final LongAdder requests = new LongAdder();
  final LongAdder bytes = new LongAdder();
}
