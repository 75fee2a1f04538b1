// Writes a log line when deliveries to an integration fail and when it recovers: each once, and at most one pair a minute
// when the two alternate, as with a module that throws now and then.
import type { Clock } from "../../core/clock.ts";
import type { Log } from "../log.ts";

export interface IntegrationNewsReporter {
  failing(message: string): void;
  back(): void;
}

const PAUSE_MS = 60_000;
/** Bounds messages that come from an operator's module. Characters. */
const MAX_TEXT_CHARACTERS = 1024;

export function integrationNews(
  log: Pick<Log, "info" | "warn">,
  fields: Readonly<Record<string, unknown>>,
  clock: Pick<Clock, "monotonic">,
): IntegrationNewsReporter {
  let message: string | null = null;
  let isReported = false;
  let quietUntilMs = Number.NEGATIVE_INFINITY;
  let timer: ReturnType<typeof setTimeout> | null = null;

  const report = (): void => {
    timer = null;
    if (message === null || isReported) return;
    isReported = true;
    quietUntilMs = clock.monotonic() + PAUSE_MS;
    log.warn({ ...fields, error_detail: message.slice(0, MAX_TEXT_CHARACTERS) }, "deliveries to an integration fail");
  };
  return {
    failing(why) {
      message = why;
      const waitMs = quietUntilMs - clock.monotonic();
      if (waitMs <= 0) return report();
      if (isReported || timer !== null) return;
      timer = setTimeout(report, waitMs);
      timer.unref();
    },
    back() {
      message = null;
      if (!isReported) return;
      isReported = false;
      log.info({ ...fields }, "deliveries to an integration work again");
    },
  };
}
