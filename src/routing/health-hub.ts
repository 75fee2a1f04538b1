// Passes what processes learn of targets on to the other processes of the machine, and keeps what a process has to know
// that begins later. Of processes that open a breaker at the same time the first one counts, and a probe whose process
// has ended is given up.
import type { BreakerChange } from "./health.ts";
import { breakerId, type BreakerNews, CollectedNews, type HealthNews } from "./health-news.ts";

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
  readonly prober: Member | null;
}

/** As many targets as a process distinguishes. */
const MAX_KEYS = 10_000;

export function openHealthHub<Member>({ send, onChange }: HealthHubOptions<Member>): HealthHub<Member> {
  const members = new Map<Member, CollectedNews>();
  const due = new Set<Member>();
  const opened = new Map<string, Opened<Member>>();
  const restsUntilMs = new Map<string, number>();

  const sendTo = (member: Member, held: CollectedNews): void => {
    const news = held.take();
    if (news !== null) send(member, news);
  };
  const tellOthers = (from: Member | null, news: HealthNews): void => {
    for (const [member, held] of members) if (member !== from) held.add(news);
    for (const member of due) sendTo(member, members.get(member)!);
    due.clear();
  };
  const changed = (id: string, { key, breaker, faults, calls, openForMs }: BreakerNews, isOpen: boolean): void => {
    for (const [other, { news }] of opened) if (other !== id && news.key === key) return;
    onChange({ key, state: isOpen ? "opened" : "closed", faults, calls, windowMs: breaker.windowMs, openForMs });
  };
  const open = (id: string, one: Opened<Member>): void => {
    if (opened.size >= MAX_KEYS && !opened.has(id)) opened.delete(opened.keys().next().value!);
    opened.set(id, one);
  };

  /** Returns false when the news are out of date: another process was first. */
  const accepts = (member: Member, news: BreakerNews, nowMs: number): boolean => {
    const id = breakerId(news.key, news.breaker);
    const known = opened.get(id);
    switch (news.state) {
      case "open":
        if (known !== undefined && known.prober !== member) return false;
        open(id, { news, openUntilMs: nowMs + news.leftMs, prober: null });
        if (known === undefined) changed(id, news, true);
        return true;
      case "probing":
        if (known === undefined || known.prober !== null) return false;
        open(id, { ...known, prober: member });
        return true;
      case "unprobed":
        if (known?.prober !== member) return false;
        open(id, { ...known, prober: null });
        return true;
      case "closed":
        if (!opened.delete(id)) return false;
        changed(id, news, false);
        return true;
    }
  };
  const rest = (key: string, untilMs: number, nowMs: number): void => {
    const known = restsUntilMs.get(key) ?? Number.NEGATIVE_INFINITY;
    restsUntilMs.delete(key);
    restsUntilMs.set(key, Math.max(known, untilMs));
    for (const [oldest, endsMs] of restsUntilMs) {
      if (endsMs > nowMs && restsUntilMs.size <= MAX_KEYS) return;
      restsUntilMs.delete(oldest);
    }
  };

  return {
    join(member, nowMs) {
      const news = new CollectedNews();
      for (const { news: known, openUntilMs, prober } of opened.values()) news.breaker(stateNow(known, openUntilMs, prober !== null, nowMs));
      for (const [key, untilMs] of restsUntilMs) if (untilMs > nowMs) news.rest({ key, leftMs: untilMs - nowMs });
      members.set(member, new CollectedNews(() => due.add(member)));
      sendTo(member, news);
    },
    report(member, news, nowMs) {
      if (!members.has(member)) return;
      for (const { key, leftMs } of news.rests) rest(key, nowMs + leftMs, nowMs);
      tellOthers(member, { ...news, breakers: news.breakers.filter((each) => accepts(member, each, nowMs)) });
    },
    leave(member) {
      members.delete(member);
      const unprobed: BreakerNews[] = [];
      for (const [id, one] of opened) {
        if (one.prober !== member) continue;
        opened.set(id, { ...one, prober: null });
        unprobed.push({ ...one.news, state: "unprobed" });
      }
      tellOthers(null, { counts: [], breakers: unprobed, rests: [], spendings: [] });
    },
    flush() {
      for (const [member, held] of members) sendTo(member, held);
    },
  };
}

function stateNow(news: BreakerNews, openUntilMs: number, isProbed: boolean, nowMs: number): BreakerNews {
  if (isProbed) return { ...news, state: "probing" };
  return nowMs < openUntilMs ? { ...news, leftMs: openUntilMs - nowMs } : { ...news, state: "unprobed" };
}
