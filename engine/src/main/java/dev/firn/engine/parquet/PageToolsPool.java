package dev.firn.engine.parquet;

import java.util.ArrayDeque;

/** What looks into pages, lent to one thread at a time and used again. Thread-safe. */
final class PageToolsPool implements AutoCloseable {
  private final ArrayDeque<PageTools> free = new ArrayDeque<>();
  private boolean closed;

  /** To be {@linkplain #giveBack given back}. */
  synchronized PageTools borrow() {
    PageTools tools = free.poll();
    return tools == null ? new PageTools() : tools;
  }

  /** Takes back what was borrowed, whatever was done with it. */
  synchronized void giveBack(PageTools tools) {
    tools.trim();
    if (closed) {
      tools.close();
    } else {
      free.push(tools);
    }
  }

  /** Closes what is given back, now or later. */
  @Override
  public synchronized void close() {
    closed = true;
    free.forEach(PageTools::close);
    free.clear();
  }
}
