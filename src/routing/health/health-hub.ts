// Passes what processes learn of targets on to the other processes of the machine, and keeps what a process has to know
// that begins later. Of processes that open a breaker at the same time the first one counts, and a probe whose process
// has ended is given up.

// Decides (records and configuration): What do several workers have in common, and how soon? Also:
// `routing/shared-slots.ts`, `observe/metrics/machine-metrics.ts`; over the channel: `process/workers/shared-targets.ts`,
// `shared-credentials.ts`, `shared-events.ts`, `shared-integrations.ts`, `shared-contents.ts`, `machine-figures.ts`.
// Rule: The list is docs/operations.md#what-workers-have-in-common.
import type { BreakerChange } from "./health.ts";
import { breakerId, type BreakerNews, CollectedNews, type HealthNews, ownerOfBreaker } from "./health-news.ts";
import { openKeyedState, type Kept } from "./keyed-state.ts";
import { isShownBreaker, tenantOfKey } from "./target-key.ts";

export interface HealthHub<Member> {
  /** A process begins. It is sent the breakers that are open, and the rests. */
  join(member: Member, nowMs: number): void;
  /** A process reports. What is urgent goes to the others at once, all else with the next `flush`. */
  report(member: Member, news: HealthNews, nowMs: number): void;
  /** A process has ended. */
  leave(member: Member): void;
  /** Sends what was held back. */
  flush(): void;
}

export interface HealthHubOptions<Member> {
  readonly send: (to: Member, news: HealthNews) => void;
  /** Of several breakers of a target, the first that opens and the last that closes are reported. */
  readonly onChange: (change: BreakerChange) => void;
}

/** A breaker that is not closed. */
interface Opened<Member> {
  readonly news: BreakerNews;
  readonly openUntilMs: number;
  /** It may send the first probe. */
  readonly opener: Member;
  readonly prober: Member | null;
}

interface KnownBreaker<Member> extends Kept {
  /** `null` while it is closed. */
  opened: Opened<Member> | null;
}

interface KnownRest extends Kept {
  untilMs: number;
}

/**
 * By how much a breaker stays open longer in the processes that did not open it: the one that did may send the probe
 * first, so that it is one probe and not one for each process.
 */
const PROBED_LATER_MS = 100;

export function openHealthHub<Member>({ send, onChange }: HealthHubOptions<Member>): HealthHub<Member> {
  const members = new Map<Member, CollectedNews>();
  const due = new Set<Member>();
  const breakers = openKeyedState<KnownBreaker<Member>>({
    create: (nowMs) => ({ usedMs: nowMs, lookedMs: nowMs, opened: null }),
    isBusy: ({ opened }, nowMs) => opened !== null && (opened.prober !== null || nowMs < opened.openUntilMs),
    ownerOf: ownerOfBreaker,
  });
  const rests = openKeyedState<KnownRest>({
    create: (nowMs) => ({ usedMs: nowMs, lookedMs: nowMs, untilMs: Number.NEGATIVE_INFINITY }),
    isBusy: ({ untilMs }, nowMs) => nowMs < untilMs,
    ownerOf: tenantOfKey,
  });

  const sendTo = (member: Member, held: CollectedNews): void => {
    const news = held.take();
    if (news !== null) send(member, news);
  };
  const sendUrgent = (): void => {
    for (const member of due) sendTo(member, members.get(member)!);
    due.clear();
  };
  const changed = (id: string, { key, breaker, faults, calls, openForMs }: BreakerNews, isOpen: boolean): void => {
    if (!isShownBreaker(key, breaker)) return;
    for (const [other, { opened }] of breakers.entries())
      if (other !== id && opened?.news.key === key && isShownBreaker(key, opened.news.breaker)) return;
    onChange({ key, state: isOpen ? "opened" : "closed", faults, calls, windowMs: breaker.windowMs, openForMs });
  };

  /** Returns false when the news are out of date, because another process was first. */
  const accepts = (member: Member, id: string, news: BreakerNews, nowMs: number): boolean => {
    const kept = breakers.of(id, nowMs);
    const { opened } = kept;
    if (news.state === "open") {
      if (opened !== null && opened.prober !== member) return false;
      kept.opened = { news, openUntilMs: nowMs + news.leftMs, opener: member, prober: null };
      if (opened === null) changed(id, news, true);
      return true;
    }
    if (opened === null) return false;
    if (news.state === "closed") {
      kept.opened = null;
      changed(id, news, false);
      return true;
    }
    const isProbing = news.state === "probing";
    if (opened.prober !== (isProbing ? null : member)) return false;
    kept.opened = { ...opened, prober: isProbing ? member : null };
    return true;
  };
  /** How the breaker stands, for one process. */
  const stateFor = (member: Member, id: string, news: BreakerNews, nowMs: number): BreakerNews => {
    const opened = breakers.find(id)?.opened ?? null;
    if (opened === null) return { ...news, state: "closed" };
    if (opened.prober !== null) return { ...opened.news, state: "probing" };
    const leftMs = opened.openUntilMs - nowMs;
    if (leftMs <= 0) return { ...opened.news, state: "unprobed" };
    return { ...opened.news, leftMs: opened.opener === member ? leftMs : leftMs + PROBED_LATER_MS };
  };
  /**
   * Every process gets the new state, also the one that reported it: so all agree in the end, in whichever order their
   * messages cross.
   */
  const breakerReported = (from: Member, news: BreakerNews, nowMs: number): void => {
    const id = breakerId(news.key, news.breaker);
    const isAccepted = accepts(from, id, news, nowMs);
    for (const [member, held] of members)
      if (isAccepted || member === from) held.target(stateFor(member, id, news, nowMs));
  };
  const others = (from: Member, tell: (held: CollectedNews) => void): void => {
    for (const [member, held] of members) if (member !== from) tell(held);
  };

  return {
    join(member, nowMs) {
      const held = new CollectedNews(() => due.add(member));
      members.set(member, held);
      for (const [id, { opened }] of breakers.entries())
        if (opened !== null) held.target(stateFor(member, id, opened.news, nowMs));
      for (const [key, { untilMs }] of rests.entries())
        if (untilMs > nowMs) held.target({ kind: "rest", key, leftMs: untilMs - nowMs });
      sendUrgent();
    },
    report(member, { targets, spendings }, nowMs) {
      if (!members.has(member)) return;
      for (const news of targets) {
        if (news.kind === "breaker") breakerReported(member, news, nowMs);
        else others(member, (held) => held.target(news));
        if (news.kind === "rest") {
          const kept = rests.of(news.key, nowMs);
          kept.untilMs = Math.max(kept.untilMs, nowMs + news.leftMs);
        } else if (news.kind === "renewed") rests.of(news.key, nowMs).untilMs = Number.NEGATIVE_INFINITY;
      }
      for (const spending of spendings) others(member, (held) => held.spent(spending));
      sendUrgent();
    },
    leave(member) {
      members.delete(member);
      for (const [, kept] of breakers.entries()) {
        const { opened } = kept;
        if (opened === null || opened.prober !== member) continue;
        kept.opened = { ...opened, prober: null };
        for (const held of members.values()) held.target({ ...opened.news, state: "unprobed" });
      }
      sendUrgent();
    },
    flush() {
      for (const [member, held] of members) sendTo(member, held);
    },
  };
}
