// Processes that exchange what they learn of targets judge like one process, whatever is late, and whichever of them ends.
import { describe, expect, test } from "bun:test";
import fc from "fast-check";
import type { BreakerSettings } from "../../../src/core/configured/route.ts";
import { type BreakerChange, type OpenHealth, openHealth, type Outcome } from "../../../src/routing/health/health.ts";
import { type HealthHub, openHealthHub } from "../../../src/routing/health/health-hub.ts";
import { CollectedNews, type HealthNews } from "../../../src/routing/health/health-news.ts";
import { drawCount } from "../../harness/time/long-run.ts";
import { printedSeed } from "../../harness/time/chance.ts";

const B: BreakerSettings = { failures: 3, ratio: 0.5, windowMs: 10_000, openMs: 1_000 };
const STRICT: BreakerSettings = { failures: 2, ratio: 0.1, windowMs: 10_000, openMs: 2_000 };
const KEYS = ["one:model", "two:model"] as const;
/** A multiple of the width of a bucket, so that the windows of all processes begin at the same moments. */
const CLOCKS_APART_MS = 10_000;
const OUTCOMES: readonly Outcome[] = ["success", "upstream_fault", "client_fault", "cancelled"];

interface Process {
  readonly health: OpenHealth;
  readonly news: CollectedNews;
  readonly clockMs: number;
  readonly inbox: HealthNews[];
  readonly outbox: HealthNews[];
  readonly running: { readonly key: string; readonly breaker: BreakerSettings; readonly probe: number }[];
}

/** Processes with clocks of their own, a hub between them, and messages that travel only when the test says so. */
class Machine {
  readonly processes: Process[] = [];
  readonly changes: BreakerChange[] = [];
  readonly hub: HealthHub<Process> = openHealthHub({
    send: (to, news) => void to.inbox.push(news),
    onChange: (change) => void this.changes.push(change),
  });
  nowMs = 0;
  #begun = 0;

  begin(): void {
    const news = new CollectedNews();
    const process = {
      health: openHealth(() => {}, news),
      news,
      clockMs: CLOCKS_APART_MS * ++this.#begun,
      inbox: [],
      outbox: [],
      running: [],
    };
    this.processes.push(process);
    this.hub.join(process, this.nowMs);
  }
  end(at: number): void {
    const [gone] = this.processes.splice(at, 1);
    this.hub.leave(gone!);
  }
  timeOf({ clockMs }: Process): number {
    return this.nowMs + clockMs;
  }
  start(process: Process, key: string, breaker: BreakerSettings): void {
    process.running.push({ key, breaker, probe: process.health.begin(key, breaker, this.timeOf(process)) });
  }
  finish(process: Process, outcome: Outcome): void {
    const attempt = process.running.shift();
    if (attempt === undefined) return;
    const { key, breaker, probe } = attempt;
    process.health.end(key, breaker, outcome, this.timeOf(process), { probe });
  }
  say(process: Process): void {
    const said = process.news.take();
    if (said !== null) process.outbox.push(said);
  }
  carry(process: Process): void {
    const news = process.outbox.shift();
    if (news !== undefined) this.hub.report(process, news, this.nowMs);
  }
  hear(process: Process): void {
    const news = process.inbox.shift();
    if (news !== undefined) process.health.learn(news, this.timeOf(process));
  }
  /** Until nobody has anything more to say. */
  settle(): void {
    for (let rounds = 0; ; rounds++) {
      expect(rounds).toBeLessThan(50);
      for (const process of this.processes) {
        this.say(process);
        while (process.outbox.length > 0) this.carry(process);
      }
      this.hub.flush();
      if (this.processes.every(({ inbox }) => inbox.length === 0)) return;
      for (const process of this.processes) while (process.inbox.length > 0) this.hear(process);
    }
  }
}

const machineOf = (size: number): Machine => {
  const machine = new Machine();
  for (let at = 0; at < size; at++) machine.begin();
  return machine;
};
const RESTING = { retryAfterMs: 3_600_000 };
const keyAt = (at: number): string => KEYS[at % KEYS.length]!;

describe("the health of targets on a machine with several processes", () => {
  test("[d13.3] is that of one process while messages arrive at once", () => {
    const step = fc.record({
      kind: fc.constantFrom("attempt", "attempt", "attempt", "fail", "fail", "rest", "retry", "wait"),
      process: fc.nat(3),
      key: fc.nat(1),
      isStrict: fc.boolean(),
      outcome: fc.constantFrom(...OUTCOMES),
      waits: fc.integer({ min: 1, max: 12 }),
    });
    fc.assert(
      fc.property(fc.array(step, { maxLength: 120, size: "max" }), (steps) => {
        const machine = machineOf(4);
        const one = openHealth();
        for (const { kind, process: at, key: keyNumber, isStrict, outcome, waits } of steps) {
          const process = machine.processes[at]!;
          const key = keyAt(keyNumber);
          const breaker = isStrict ? STRICT : B;
          const nowMs = machine.timeOf(process);
          if (kind === "wait") machine.nowMs += 300 * waits;
          else if (kind === "rest") {
            const observed = { retryAfterMs: 300 * waits };
            process.health.begin(key, breaker, nowMs);
            process.health.end(key, breaker, "upstream_fault", nowMs, observed);
            one.begin(key, breaker, machine.nowMs);
            one.end(key, breaker, "upstream_fault", machine.nowMs, observed);
          } else if (kind === "retry") {
            process.health.called(key, nowMs);
            one.called(key, machine.nowMs);
            for (let times = 0; times < 4 * waits; times++)
              expect(process.health.takeRetry(key, nowMs)).toBe(one.takeRetry(key, machine.nowMs));
          } else {
            const end = kind === "fail" ? "upstream_fault" : outcome;
            // a process that may not probe yet lets the one do so that may
            const reference = one.begin(key, breaker, machine.nowMs);
            const probe = process.health.begin(key, breaker, nowMs);
            expect(probe === 0).toBe(reference === 0);
            process.health.end(key, breaker, end, nowMs, { probe });
            one.end(key, breaker, end, machine.nowMs, { probe: reference });
          }
          machine.settle();
          for (const each of machine.processes)
            for (const target of KEYS)
              for (const settings of [B, STRICT])
                expect(each.health.blockedReason(target, settings, machine.timeOf(each))).toBe(
                  one.blockedReason(target, settings, machine.nowMs),
                );
        }
      }),
      { numRuns: drawCount(150, 3_000), seed: printedSeed("health-hub one") },
    );
  });

  test("[d13.3] agrees at last on what is open, whatever was late and whoever ended, and no probe is waited for in vain", () => {
    const step = fc.record({
      kind: fc.constantFrom(
        "start",
        "start",
        "finish",
        "finish",
        "say",
        "carry",
        "hear",
        "flush",
        "wait",
        "end",
        "begin",
      ),
      process: fc.nat(9),
      key: fc.nat(1),
      outcome: fc.constantFrom<Outcome>("success", "upstream_fault", "upstream_fault", "upstream_fault", "cancelled"),
      waits: fc.integer({ min: 1, max: 12 }),
    });
    fc.assert(
      fc.property(fc.array(step, { maxLength: 200, size: "max" }), (steps) => {
        const machine = machineOf(3);
        for (const { kind, process: at, key, outcome, waits } of steps) {
          const { processes } = machine;
          const process = processes[at % processes.length]!;
          if (kind === "start") machine.start(process, keyAt(key), B);
          else if (kind === "finish") machine.finish(process, outcome);
          else if (kind === "say") machine.say(process);
          else if (kind === "carry") machine.carry(process);
          else if (kind === "hear") machine.hear(process);
          else if (kind === "flush") machine.hub.flush();
          else if (kind === "wait") machine.nowMs += 300 * waits;
          else if (kind === "begin" && processes.length < 6) machine.begin();
          else if (kind === "end" && processes.length > 1) machine.end(at % processes.length);
        }
        for (const process of machine.processes)
          while (process.running.length > 0) machine.finish(process, "cancelled");
        machine.settle();
        const openAt = (process: Process): readonly string[] =>
          process.health
            .snapshot(machine.timeOf(process))
            .filter(({ state }) => state !== "closed")
            .map(({ key }) => key)
            .toSorted();
        const [first, ...others] = machine.processes.map(openAt);
        for (const other of others) expect(other).toEqual(first!);
        const changedLast = KEYS.filter(
          (key) => machine.changes.findLast((change) => change.key === key)?.state === "opened",
        );
        expect(first!).toEqual(changedLast);
        for (const key of KEYS) {
          const states = machine.changes.filter((change) => change.key === key).map(({ state }) => state);
          expect(states).toEqual(states.map((_, at) => (at % 2 === 0 ? "opened" : "closed")));
        }
        machine.nowMs += 11_000;
        for (const process of machine.processes)
          for (const key of KEYS) expect(process.health.blockedReason(key, B, machine.timeOf(process))).toBeNull();
      }),
      { numRuns: drawCount(300, 5_000), seed: printedSeed("health-hub late") },
    );
  });

  test("[d13.3] opens by the faults of all processes, sends one probe, and reports each change once", () => {
    const machine = machineOf(3);
    for (const process of machine.processes) {
      machine.start(process, KEYS[0], B);
      machine.finish(process, "upstream_fault");
    }
    machine.settle();
    const blocked = (): readonly unknown[] =>
      machine.processes.map((each) => each.health.blockedReason(KEYS[0], B, machine.timeOf(each)));
    expect(blocked()).toEqual(["open", "open", "open"]);
    expect(machine.changes).toMatchObject([{ key: KEYS[0], state: "opened", faults: 3, calls: 3 }]);
    machine.nowMs += 1_000;
    expect(blocked().filter((reason) => reason === null)).toHaveLength(1);
    const prober = machine.processes[blocked().indexOf(null)]!;
    machine.start(prober, KEYS[0], B);
    machine.settle();
    machine.nowMs += 5_000;
    expect(blocked()).toEqual(["probing", "probing", "probing"]);
    machine.end(machine.processes.indexOf(prober));
    machine.settle();
    expect(blocked()).toEqual([null, null]);
    machine.start(machine.processes[0]!, KEYS[0], B);
    machine.finish(machine.processes[0]!, "success");
    machine.settle();
    machine.begin();
    machine.settle();
    expect(blocked()).toEqual([null, null, null]);
    expect(machine.changes.map(({ state }) => state)).toEqual(["opened", "closed"]);
  });

  test("[d13.3] is known to a process that begins later", () => {
    const machine = machineOf(1);
    const [first] = machine.processes;
    for (let faults = 0; faults < 3; faults++) {
      machine.start(first!, KEYS[0], B);
      machine.finish(first!, "upstream_fault");
    }
    first!.health.begin(KEYS[1], B, machine.timeOf(first!));
    first!.health.end(KEYS[1], B, "upstream_fault", machine.timeOf(first!), { retryAfterMs: 5_000 });
    machine.settle();
    machine.nowMs += 400;
    machine.begin();
    machine.settle();
    const later = machine.processes[1]!;
    const reasonAfter = (key: string, ms: number): unknown =>
      later.health.blockedReason(key, B, machine.timeOf(later) + ms);
    expect([reasonAfter(KEYS[0], 599), reasonAfter(KEYS[0], 700)]).toEqual(["open", null]);
    expect([reasonAfter(KEYS[1], 4_599), reasonAfter(KEYS[1], 4_600)]).toEqual(["rate_limited", null]);
  });

  test("[d7.5 d13.3] what was known of an upstream that was replaced is forgotten by all, and by those that begin later", () => {
    const machine = machineOf(2);
    const [one, other] = machine.processes as [Process, Process];
    const [resting, open] = KEYS;
    one.health.begin(resting, B, machine.timeOf(one));
    one.health.end(resting, B, "upstream_fault", machine.timeOf(one), RESTING);
    for (let failures = 0; failures < B.failures; failures++) {
      machine.start(one, open, B);
      machine.finish(one, "upstream_fault");
    }
    machine.settle();
    const reasons = (process: Process): readonly (string | null)[] =>
      KEYS.map((key) => process.health.blockedReason(key, B, machine.timeOf(process)));
    expect(machine.processes.map(reasons)).toEqual([
      ["rate_limited", "open"],
      ["rate_limited", "open"],
    ]);
    one.health.renew((key) => key === resting, machine.timeOf(one));
    machine.settle();
    expect(machine.processes.map(reasons)).toEqual([
      [null, "open"],
      [null, "open"],
    ]);
    other.health.renew(() => true, machine.timeOf(other));
    machine.settle();
    machine.begin();
    machine.settle();
    expect(machine.processes.map(reasons)).toEqual([
      [null, null],
      [null, null],
      [null, null],
    ]);
    expect(machine.changes.map(({ key, state }) => [key, state])).toEqual([
      [open, "opened"],
      [open, "closed"],
    ]);
  });

  test("[d7.5 d13.3] a target rests for a day at most, also for a process that begins later", () => {
    const machine = machineOf(2);
    const [first] = machine.processes as [Process];
    const dayMs = 86_400_000;
    first.health.begin(KEYS[0], B, machine.timeOf(first));
    first.health.end(KEYS[0], B, "upstream_fault", machine.timeOf(first), { retryAfterMs: 30 * dayMs });
    machine.settle();
    const reasons = (): readonly unknown[] =>
      machine.processes.map((each) => each.health.blockedReason(KEYS[0], B, machine.timeOf(each)));
    machine.nowMs = dayMs - 1;
    machine.begin();
    machine.settle();
    expect(reasons()).toEqual(["rate_limited", "rate_limited", "rate_limited"]);
    machine.nowMs = dayMs;
    machine.begin();
    machine.settle();
    expect(reasons()).toEqual([null, null, null, null]);
  });
});

test("[d7.5] the breaker of a tenant's settings is no news for people, and hides none of the others", () => {
  const machine = new Machine();
  machine.begin();
  const strict = { ...STRICT, openMs: 9, ofTenant: "acme" } as const;
  const news = (breaker: BreakerSettings, key: string) => ({
    targets: [
      {
        kind: "breaker",
        key,
        breaker,
        state: "open",
        leftMs: 9,
        openForMs: breaker.openMs,
        faults: 2,
        calls: 2,
      } as const,
    ],
    spendings: [],
  });
  const [process] = machine.processes;
  for (const [breaker, key] of [
    [strict, KEYS[0]],
    [STRICT, KEYS[0]],
    [strict, "own:model of acme"],
  ] as const)
    machine.hub.report(process!, news(breaker, key), 0);
  expect(machine.changes.map(({ key, state, openForMs }) => [key, state, openForMs])).toEqual([
    [KEYS[0], "opened", STRICT.openMs],
    ["own:model of acme", "opened", 9],
  ]);
});

test("[d7.5 d13.3] what a process learns that begins later is not forgotten for what is known of a tenant, however much it is", () => {
  const machine = machineOf(1);
  const [process] = machine.processes as [Process];
  const open = (key: string, breaker: BreakerSettings) =>
    ({ kind: "breaker", key, breaker, state: "open", leftMs: 900, openForMs: 900, faults: 3, calls: 3 }) as const;
  const rest = (key: string) => ({ kind: "rest", key, leftMs: 900 }) as const;
  machine.hub.report(process, { targets: [open(KEYS[0], B), rest(KEYS[1])], spendings: [] }, 0);
  const targets = Array.from({ length: 10_001 }, (_, at) => `one:model-${at} by token credential digest`).flatMap(
    (key) => [open(key, { ...B, ofTenant: "acme" }), rest(key)],
  );
  machine.hub.report(process, { targets, spendings: [] }, 0);
  machine.begin();
  machine.settle();
  const later = machine.processes[1]!;
  const reasons = KEYS.map((key) => later.health.blockedReason(key, B, machine.timeOf(later)));
  expect(reasons).toEqual(["open", "rate_limited"]);
});
