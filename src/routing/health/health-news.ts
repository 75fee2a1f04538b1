// What the processes of one machine tell each other about targets and upstreams, so that each judges by what all of
// them have seen. A process collects it here, and its owner passes it on. Times are durations, because each process has
// a clock of its own.
import type { BreakerSettings } from "../../core/configured/route.ts";
import { tenantOfKey } from "./target-key.ts";

/** Attempts that ended, for every breaker of the target. */
export interface CountNews {
  readonly kind: "count";
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
  readonly kind: "breaker";
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
  readonly kind: "rest";
  readonly key: string;
  readonly leftMs: number;
}

/** Another upstream is called under this key: no earlier rest applies to it. */
export interface RenewedNews {
  readonly kind: "renewed";
  readonly key: string;
}

export type TargetNews = CountNews | BreakerNews | RestNews | RenewedNews;

/** Calls of an upstream, of whose retry budget they are a share, and retries that were taken from it. */
export interface SpendingNews {
  readonly upstream: string;
  readonly calls: number;
  readonly retries: number;
}

export interface HealthNews {
  /** In the order in which it happened. */
  readonly targets: readonly TargetNews[];
  readonly spendings: readonly SpendingNews[];
}

/** The same text for equal settings, of whichever snapshot of the configuration. */
export function breakerId(key: string, { failures, ratio, windowMs, openMs, ofTenant = "" }: BreakerSettings): string {
  return `${failures} ${ratio} ${windowMs} ${openMs} ${ofTenant} ${key}`;
}

/** Whose breaker it is, where room is shared: the tenant's that has written the settings, else as of its target. */
export function ownerOfBreaker(id: string): string | null {
  const [, , , , ofTenant = "", ...key] = id.split(" ");
  return ofTenant === "" ? tenantOfKey(key.join(" ")) : `of ${ofTenant}`;
}

/** Collects news, and adds up those that are numbers. */
export class CollectedNews {
  #targets: TargetNews[] = [];
  /** Where the counts of a breaker stand that can be added to: those since the last change of any breaker. */
  readonly #counts = new Map<string, number>();
  #spendings = new Map<string, SpendingNews>();
  #isUrgent = false;
  readonly #onUrgent: () => void;

  /**
   * `onUrgent` is called once, until the news are taken, when there is something that others should learn at once:
   * faults, changes of a breaker, rests and retries.
   */
  constructor(onUrgent: () => void = () => {}) {
    this.#onUrgent = onUrgent;
  }

  target(news: TargetNews): void {
    if (news.kind === "count") return this.#counted(news);
    this.#counts.clear();
    this.#targets.push(news);
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

  add({ targets, spendings }: HealthNews): void {
    for (const target of targets) this.target(target);
    for (const spending of spendings) this.spent(spending);
  }

  /** Returns what was collected since the last time; `null` when that is nothing. */
  take(): HealthNews | null {
    if (this.#targets.length + this.#spendings.size === 0) return null;
    const news: HealthNews = { targets: this.#targets, spendings: [...this.#spendings.values()] };
    this.#targets = [];
    this.#counts.clear();
    this.#spendings = new Map();
    this.#isUrgent = false;
    return news;
  }

  #counted(count: CountNews): void {
    const id = breakerId(count.key, count.breaker);
    const at = this.#counts.get(id);
    if (at === undefined) this.#counts.set(id, this.#targets.push(count) - 1);
    else {
      const { calls, faults } = this.#targets[at] as CountNews;
      this.#targets[at] = { ...count, calls: calls + count.calls, faults: faults + count.faults };
    }
    if (count.faults > 0) this.#urge();
  }

  #urge(): void {
    if (this.#isUrgent) return;
    this.#isUrgent = true;
    this.#onUrgent();
  }
}
