// What the processes of one machine tell each other about targets and upstreams, so that each judges by what all of
// them have seen. A process collects it here, and its owner passes it on. Times are durations, because each process has
// a clock of its own.
import type { BreakerSettings } from "../core/route.ts";

/** Attempts that ended, for every breaker of the target. */
export interface CountNews {
  readonly key: string;
  /** Of the route by which the attempts were made. */
  readonly breaker: BreakerSettings;
  readonly calls: number;
  /** How many of the calls failed by the upstream's fault. */
  readonly faults: number;
}

/**
 * What became of a breaker. `unprobed`: its probe ended without a result, and the next attempt may be the probe.
 */
export interface BreakerNews {
  readonly key: string;
  readonly breaker: BreakerSettings;
  readonly state: "open" | "probing" | "unprobed" | "closed";
  /** How long it stays open from now on, in milliseconds, and how long in all; 0 unless it is open. */
  readonly leftMs: number;
  readonly openForMs: number;
  /** What it had counted within its window; 0 unless it is open. */
  readonly faults: number;
  readonly calls: number;
}

/** The provider asked that this target is not called for so many milliseconds from now on. */
export interface RestNews {
  readonly key: string;
  readonly leftMs: number;
}

/** Calls of an upstream, of whose retry budget they are a share, and retries that were taken from it. */
export interface SpendingNews {
  readonly upstream: string;
  readonly calls: number;
  readonly retries: number;
}

export interface HealthNews {
  readonly counts: readonly CountNews[];
  readonly breakers: readonly BreakerNews[];
  readonly rests: readonly RestNews[];
  readonly spendings: readonly SpendingNews[];
}

/** The same text for equal settings, of whichever snapshot of the configuration. */
export function breakerId(key: string, { failures, ratio, windowMs, openMs }: BreakerSettings): string {
  return `${failures} ${ratio} ${windowMs} ${openMs} ${key}`;
}

/** Collects news, and adds up those that are numbers. */
export class CollectedNews {
  #counts = new Map<string, CountNews>();
  #spendings = new Map<string, SpendingNews>();
  #breakers: BreakerNews[] = [];
  #rests: RestNews[] = [];
  #isUrgent = false;
  readonly #onUrgent: () => void;

  /**
   * `onUrgent` is called once, until the news are taken, when there is something that others should know at once:
   * faults, changes of a breaker, rests and retries.
   */
  constructor(onUrgent: () => void = () => {}) {
    this.#onUrgent = onUrgent;
  }

  counted(count: CountNews): void {
    const id = breakerId(count.key, count.breaker);
    const before = this.#counts.get(id);
    this.#counts.set(
      id,
      before === undefined
        ? count
        : { ...before, calls: before.calls + count.calls, faults: before.faults + count.faults },
    );
    if (count.faults > 0) this.#urge();
  }

  breaker(news: BreakerNews): void {
    this.#breakers.push(news);
    this.#urge();
  }

  rest(news: RestNews): void {
    this.#rests.push(news);
    this.#urge();
  }

  spent({ upstream, calls, retries }: SpendingNews): void {
    const before = this.#spendings.get(upstream);
    this.#spendings.set(upstream, {
      upstream,
      calls: (before?.calls ?? 0) + calls,
      retries: (before?.retries ?? 0) + retries,
    });
    if (retries > 0) this.#urge();
  }

  add({ counts, breakers, rests, spendings }: HealthNews): void {
    for (const count of counts) this.counted(count);
    for (const breaker of breakers) this.breaker(breaker);
    for (const rest of rests) this.rest(rest);
    for (const spending of spendings) this.spent(spending);
  }

  /** Returns what was collected since the last time; `null` when that is nothing. */
  take(): HealthNews | null {
    if (this.#counts.size + this.#spendings.size + this.#breakers.length + this.#rests.length === 0) return null;
    const news: HealthNews = {
      counts: [...this.#counts.values()],
      breakers: this.#breakers,
      rests: this.#rests,
      spendings: [...this.#spendings.values()],
    };
    this.#counts = new Map();
    this.#spendings = new Map();
    this.#breakers = [];
    this.#rests = [];
    this.#isUrgent = false;
    return news;
  }

  #urge(): void {
    if (this.#isUrgent) return;
    this.#isUrgent = true;
    this.#onUrgent();
  }
}
