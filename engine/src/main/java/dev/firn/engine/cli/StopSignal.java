package dev.firn.engine.cli;

import java.lang.reflect.Proxy;
import java.util.concurrent.atomic.AtomicReference;
import org.jspecify.annotations.Nullable;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;

/**
 * What the process does when it is asked to end (SIGTERM), as a pod is that is evicted: a run ends
 * early, with what it has finished committed, instead of being cut off. Asked again, or where there
 * is no run, the process ends at once.
 *
 * <p>A shutdown hook would not do: file systems close in hooks too, and then nothing can be
 * committed any more. So the signal is taken as the JVM itself takes it, where it lets us.
 */
final class StopSignal {
  private static final Logger LOG = LoggerFactory.getLogger(StopSignal.class);

  /** 128 and the number of the signal, as shells have it. */
  private static final int ENDED_BY_SIGNAL = 143;

  private static final AtomicReference<@Nullable Runnable> STOP = new AtomicReference<>();

  private StopSignal() {}

  /** For the rest of the process. */
  static void install() {
    try {
      Class<?> signal = Class.forName("sun.misc.Signal");
      Class<?> handler = Class.forName("sun.misc.SignalHandler");
      Object handling =
          Proxy.newProxyInstance(
              StopSignal.class.getClassLoader(),
              new Class<?>[] {handler},
              (proxy, method, arguments) -> {
                if (method.getName().equals("handle")) {
                  handle();
                }
                return null;
              });
      signal
          .getMethod("handle", signal, handler)
          .invoke(null, signal.getConstructor(String.class).newInstance("TERM"), handling);
    } catch (ReflectiveOperationException | RuntimeException e) {
      LOG.debug("Cannot take SIGTERM: it ends the process at once", e);
    }
  }

  /** From now on the signal takes this step, once. */
  static void during(Runnable stop) {
    STOP.set(stop);
  }

  /** From now on the signal ends the process. */
  static void over() {
    STOP.set(null);
  }

  private static void handle() {
    Runnable stop = STOP.getAndSet(null);
    if (stop == null) {
      System.exit(ENDED_BY_SIGNAL);
    } else {
      LOG.warn("Asked to end: groups that are not finished are given up");
      stop.run();
    }
  }
}
