// Writes a log line when deliveries to an integration fail and when it recovers: each once, and at most one pair a minute
// when the two alternate, as with a module that throws now and then.
import type { Clock } from "../../core/clock.ts";
import type { Log } from "../log.ts";

/** What is delivered to an integration: the records of calls, and metrics beside them. */
export type Delivered = "calls" | "metrics";

const PAUSE_MS = 60_000;
/** Bounds messages that come from an operator's module. Characters. */
const MAX_TEXT_CHARACTERS = 1024;

export function integrationNews(
  log: Pick<Log, "info" | "warn">,
  fields: Readonly<Record<string, unknown>>,
  clock: Pick<Clock, "monotonic">,
) {
  const failing = new Set<Delivered>();
  let message = "";
  let isReported = false;
  let quietUntilMs = Number.NEGATIVE_INFINITY;
  let timer: ReturnType<typeof setTimeout> | null = null;

  const report = (): void => {
    timer = null;
    if (failing.size === 0 || isReported) return;
    isReported = true;
    quietUntilMs = clock.monotonic() + PAUSE_MS;
    log.warn({ ...fields, error_detail: message.slice(0, MAX_TEXT_CHARACTERS) }, "deliveries to an integration fail");
  };
  return {
    failing(what: Delivered, why: string): void {
      failing.add(what);
      message = why;
      const waitMs = quietUntilMs - clock.monotonic();
      if (waitMs <= 0) return report();
      if (!isReported) timer ??= setTimeout(report, waitMs).unref();
    },
    back(what: Delivered): void {
      failing.delete(what);
      if (failing.size > 0 || !isReported) return;
      isReported = false;
      log.info({ ...fields }, "deliveries to an integration work again");
    },
    /** Called when another thread takes over, which does not know what failed in the one before. */
    forget(): void {
      failing.clear();
      isReported = false;
    },
  };
}
