// The counts of limits over kills of workers and supervisors at any moment, against what the journals say: a call that had
// ended is charged what it used, any other one in a journal what it reserved. The limits, the channel, and the numbering of
// settlements are the real ones; journals and the file of counts are in memory. DRAGOMAN_TEST_SEED repeats one world.
import { expect, test } from "bun:test";
import { CallLimits } from "../../../src/admission/call-limits.ts";
import type { AttemptReservation } from "../../../src/admission/held-attempt.ts";
import type { Account } from "../../../src/admission/limit-store.ts";
import { type MemoryLimits, openMemoryLimits } from "../../../src/admission/memory.ts";
import { GatewayError } from "../../../src/core/errors.ts";
import type { LimitOutcome } from "../../../src/core/record/record.ts";
import { JournalledCounts } from "../../../src/store/journal/journalled-counts.ts";
import type { CountStore, KeptCount } from "../../../src/store/journal/limit-counts.ts";
import type { SupervisorChannel } from "../../../src/process/workers/messages.ts";
import { RemoteLimits } from "../../../src/process/workers/remote-limits.ts";
import { type JournalledLimits, WorkerReservations } from "../../../src/process/workers/worker-reservations.ts";
import { turnedClock } from "../../admission/turned-clock.ts";
import { type Chance, chanceOf, seedsFrom } from "../../harness/time/chance.ts";
import { accountOf } from "../../contract/limit-store.suite.ts";
import { openChannels } from "../../harness/channels.ts";
import { withIntervals } from "../../harness/time/turned-time.ts";

const LIMIT = 1e12;
const ACCOUNTS: readonly Account[] = [
  accountOf({ id: "total", kind: "budget", unit: "tokens", window: "total", limit: LIMIT }),
  accountOf({ id: "by user", kind: "budget", unit: "tokens", window: "month", limit: LIMIT }, "ann"),
  accountOf({ id: "a day", unit: "requests", window: "day", limit: LIMIT }),
  accountOf({ id: "an hour", unit: "tokens", window: "hour", limit: LIMIT }),
  accountOf({ id: "places", unit: "concurrency", window: null, limit: LIMIT }),
  // each attempt is settled by itself
  accountOf({ id: "of model", unit: "tokens", window: "day", limit: LIMIT, scope: { model: "a:b" } }),
];
const KEPT = ACCOUNTS.filter(({ rule }) => rule.unit !== "concurrency");

interface ModelCall {
  readonly record: { readonly traceId: string; readonly tenantId: string; readonly limits: LimitOutcome[] };
  readonly limits: CallLimits;
  attempt: AttemptReservation;
  isJournalled: boolean;
}

interface Entry {
  readonly text: string;
  readonly isClosed: boolean;
}

interface ModelWorker {
  readonly holder: string;
  readonly channel: SupervisorChannel;
  readonly limits: RemoteLimits;
  readonly reservations: WorkerReservations;
  readonly journal: Map<string, Entry>;
  readonly calls: ModelCall[];
  isDead: boolean;
}

interface ModelSupervisor {
  readonly limits: MemoryLimits;
  /** What its timer does, which writes its counts. */
  readonly tick: () => void;
  isDead: boolean;
}

/** How often its timer has to run at most until it has looked for workers that have ended, and has written everything. */
const MAX_TICKS = 50;

const turn = (): Promise<void> => new Promise((resolve) => void setImmediate(resolve));
async function delivered(): Promise<void> {
  for (let turns = 0; turns < 8; turns++) await turn();
}

class World {
  readonly #chance: Chance;
  readonly #clock = turnedClock();
  readonly #rows = new Map<string, KeptCount>();
  readonly #journals: Map<string, Entry>[] = [];
  readonly #canExceed: boolean;
  #workers: ModelWorker[] = [];
  #supervisor: ModelSupervisor;
  #canWrite = false;
  #lastNumber = 0;
  /** Starts of a supervisor with workers of an earlier one that still run. */
  orphaned = 0;

  constructor(seed: number) {
    this.#chance = chanceOf(seed);
    this.#canExceed = seed % 2 === 0;
    this.#supervisor = this.#started();
  }

  async step(): Promise<void> {
    const living = this.#workers.filter(({ isDead }) => !isDead);
    const worker = living.length === 0 ? null : this.#chance.pick(living);
    const kind = this.#chance.below(100);
    if (kind < 4) await this.#killSupervisor();
    else if (kind < 8 && worker !== null) await this.#killWorker(worker);
    else if (kind < 14) this.#keep();
    else if (kind < 26) await turn();
    else if (kind < 30) this.#supervisor.tick();
    else if (kind < 34) this.#clock.pass(this.#chance.below(2_000));
    else if (kind < 60 || worker === null || worker.calls.length === 0) void this.#begin();
    else if (kind < 70) await this.#again(worker, this.#chance.pick(worker.calls));
    else if (kind < 75) this.#journal(worker, this.#chance.pick(worker.calls));
    else this.#end(worker, this.#chance.pick(worker.calls));
  }

  /** Kills everything, and judges what the next supervisor begins with. */
  async finish(): Promise<void> {
    await this.#killSupervisor();
    await delivered();
    for (const worker of this.#workers) worker.isDead = true;
    this.#endSupervisor();
    this.#supervisor = this.#started();
    await this.#judge();
    this.#endSupervisor();
  }

  /** What it has not written is lost. */
  #endSupervisor(): void {
    this.#supervisor.isDead = true;
    void this.#supervisor.limits.close();
  }

  #started(): ModelSupervisor {
    const supervisor = { isDead: false };
    const orphans = this.#workers.filter(({ isDead }) => !isDead);
    if (orphans.length > 0) this.orphaned += 1;
    this.#canWrite = true;
    const { opened: limits, tick } = withIntervals(() =>
      openMemoryLimits({
        clock: this.#clock,
        countStore: this.#countStore(supervisor),
        holds: this.#holds(),
        laterHolds: () => this.#holds(),
      }),
    );
    this.#canWrite = false;
    return Object.assign(supervisor, { limits, tick });
  }

  #countStore(supervisor: { readonly isDead: boolean }): CountStore {
    return {
      run: "run",
      isHeld: true,
      read: () => [...this.#rows.values()],
      keptAtMs: () => 0,
      hold: () => true,
      write: (rows) => {
        if (supervisor.isDead || !this.#canWrite) throw new Error("nothing is written now");
        for (const row of rows)
          if (row.state === null) this.#rows.delete(`${row.rule}\n${row.value}`);
          else this.#rows.set(`${row.rule}\n${row.value}`, row);
      },
      beginBeside: () => [],
      writeBeside: () => {},
      besideRuns: () => [],
      endedBeside: () => [],
      runningHolders: () => this.#workers.flatMap(({ isDead, holder }) => (isDead ? [] : [holder])),
      isHolderRunning: (holder) => this.#workers.some((worker) => worker.holder === holder && !worker.isDead),
      close: () => {},
    };
  }

  #holds() {
    const counts = new JournalledCounts();
    for (const journal of this.#journals) for (const { text } of journal.values()) counts.onHold(text);
    return counts.holds;
  }

  #newWorker(): ModelWorker {
    const { worker: channel, supervisor } = openChannels();
    const holder = (++this.#lastNumber).toString(16).padStart(8, "0");
    const journal = new Map<string, Entry>();
    const calls: ModelCall[] = [];
    const limits = new RemoteLimits(channel, holder, (settled) => {
      if (worker.isDead) return;
      for (const call of calls)
        if (call.isJournalled && settled.includes(call.record.traceId)) this.#journal(worker, call);
    });
    const reservations = new WorkerReservations(this.#supervisor.limits, supervisor, {
      holder,
      clock: this.#clock,
      settledFile: null,
    });
    const worker: ModelWorker = { holder, channel, limits, reservations, journal, calls, isDead: false };
    this.#journals.push(journal);
    this.#workers.push(worker);
    return worker;
  }

  /**
   * A worker has its first call granted and nothing in its journal when its supervisor is killed: the call begins when
   * the next supervisor has started, and ends.
   */
  async beginsAfterRestart(): Promise<void> {
    const worker = this.#newWorker();
    const call = await this.#granted(worker);
    this.#endSupervisor();
    worker.channel.closed();
    this.#supervisor = this.#started();
    this.#journal(worker, call!);
    this.#end(worker, call!);
    this.#keep();
    await this.#killWorker(worker);
    await this.#judge();
    this.#endSupervisor();
  }

  /**
   * As `beginsAfterRestart`, but the next supervisor is killed too, when it has granted and kept what its own workers asked
   * for. The journal has the call before the third supervisor starts, or only after that.
   */
  async beginsAfterTwoRestarts(isBeforeThird: boolean): Promise<void> {
    const worker = this.#newWorker();
    const call = await this.#granted(worker);
    this.#endSupervisor();
    worker.channel.closed();
    this.#supervisor = this.#started();
    const second = this.#newWorker();
    this.#journal(second, (await this.#granted(second))!);
    this.#keep();
    this.#endSupervisor();
    second.channel.closed();
    if (isBeforeThird) this.#journal(worker, call!);
    this.#supervisor = this.#started();
    if (isBeforeThird) this.#judgeAtLeast();
    else this.#journal(worker, call!);
    this.#keep();
    await this.finish();
  }

  /** Of a worker of the supervisor that runs now. */
  async #begin(): Promise<void> {
    const own = this.#workers.filter(({ isDead, channel }) => !isDead && !channel.isClosed);
    const worker = own.length < 2 ? this.#newWorker() : this.#chance.pick(own);
    const call = await this.#granted(worker);
    if (call !== null && this.#chance.perMille(800)) this.#journal(worker, call);
  }

  async #granted(worker: ModelWorker): Promise<ModelCall | null> {
    const limits: LimitOutcome[] = [];
    const traceId = (++this.#lastNumber).toString(16).padStart(32, "0");
    const callLimits = new CallLimits({
      caller: { rules: [], degradeTo: [], ofEveryCall: [], accountsAt: () => ACCOUNTS },
      user: null,
      store: worker.limits,
      clock: this.#clock,
      traceId,
      onCharged: () => {},
      outcomes: limits,
    });
    const attempt = await this.#attempt(callLimits);
    if (attempt === null || worker.isDead) return null;
    const call: ModelCall = {
      record: { traceId, tenantId: "t", limits },
      limits: callLimits,
      attempt,
      isJournalled: false,
    };
    worker.calls.push(call);
    return call;
  }

  async #attempt(limits: CallLimits): Promise<AttemptReservation | null> {
    const tokens = 1 + this.#chance.below(1000);
    const estimate = { requests: 1, bound: () => tokens };
    const granted = await limits.reserve({ route: "r", provider: "a", model: "a:b" }, estimate, false);
    return granted instanceof GatewayError ? null : granted;
  }

  #used() {
    const tokens = this.#chance.below(this.#canExceed ? 1500 : 2);
    return () => ({ tokens, nanoUsd: tokens });
  }

  async #again(worker: ModelWorker, call: ModelCall): Promise<void> {
    // Nothing leaves for a provider before.
    if (!call.isJournalled) this.#journal(worker, call);
    call.attempt.sent(this.#used());
    call.attempt.settle();
    if (this.#chance.perMille(300)) return;
    const attempt = await this.#attempt(call.limits);
    if (attempt === null || worker.isDead) return;
    call.attempt = attempt;
    if (call.isJournalled) this.#journal(worker, call);
  }

  #journal(worker: ModelWorker, call: ModelCall): void {
    call.isJournalled = true;
    worker.journal.set(call.record.traceId, { text: JSON.stringify(call.record), isClosed: false });
  }

  #end(worker: ModelWorker, call: ModelCall): void {
    worker.calls.splice(worker.calls.indexOf(call), 1);
    if (!call.isJournalled) return call.limits.settle();
    call.attempt.sent(this.#used());
    call.attempt.settle();
    call.limits.settle();
    worker.journal.set(call.record.traceId, { text: JSON.stringify(call.record), isClosed: true });
    if (this.#chance.perMille(500)) worker.limits.sendSettled();
  }

  async #killWorker(worker: ModelWorker): Promise<void> {
    worker.isDead = true;
    if (worker.channel.isClosed) return;
    worker.channel.closed();
    await delivered();
    worker.reservations.end((calls) => {
      const all = [...worker.journal].filter(([call]) => calls.has(call));
      return new Map(
        all.map(([call, { text, isClosed }]): [string, JournalledLimits] => [
          call,
          { limits: (JSON.parse(text) as ModelCall["record"]).limits, isClosed },
        ]),
      );
    });
    if (this.#workers.every((each) => each.isDead)) await this.#judge();
  }

  /** Everything at once, or only the supervisor, whose workers go on for a while. */
  async #killSupervisor(): Promise<void> {
    this.#endSupervisor();
    const goOn = this.#chance.perMille(500);
    for (const worker of this.#workers) {
      if (!goOn) worker.isDead = true;
      worker.channel.closed();
    }
    // What was under way when it died is still read.
    if (this.#chance.perMille(500)) await delivered();
    this.#supervisor = this.#started();
    if (this.#workers.every(({ isDead }) => isDead)) await this.#judge();
    else if (!this.#canExceed) this.#judgeAtLeast();
  }

  /** The timer of the supervisor runs some times. Outside of this and of starts, its writes fail. */
  #keep(): void {
    this.#canWrite = true;
    for (let ticks = this.#chance.below(15); ticks >= 0; ticks--) this.#supervisor.tick();
    this.#canWrite = false;
  }

  #keepAll(): void {
    this.#canWrite = true;
    const isKept = this.#supervisor.limits.kept();
    for (let ticks = 0; !isKept(); ticks++) {
      if (ticks === MAX_TICKS) throw new Error("not everything was kept");
      this.#supervisor.tick();
    }
    this.#canWrite = false;
  }

  async #judge(): Promise<void> {
    await delivered();
    this.#keepAll();
    for (const account of KEPT)
      expect([account.rule.id, this.#counted(account)]).toEqual([account.rule.id, this.#expected(account)]);
  }

  #judgeAtLeast(): void {
    for (const account of KEPT) expect(this.#counted(account)).toBeGreaterThanOrEqual(this.#expected(account));
  }

  #counted(account: Account): number {
    const status = this.#supervisor.limits.status(account);
    if (status instanceof Promise) throw new Error("waits");
    return status.used;
  }

  /** What the journals say, whatever was counted. */
  #expected({ rule, value }: Account): number {
    let units = 0;
    for (const journal of this.#journals)
      for (const { text } of journal.values())
        for (const each of (JSON.parse(text) as ModelCall["record"]).limits)
          if (each.id === rule.id && each.value === value) units += each.settled ?? each.reserved;
    return units;
  }
}

test("[d11.2 d13.2] over kills of workers, of the supervisor, and of all at once, each call counts what its journal says", async () => {
  let orphaned = 0;
  for (const seed of seedsFrom(1, 150)) {
    const world = new World(seed);
    try {
      for (let steps = 0; steps < 120; steps++) await world.step();
      await world.finish();
    } catch (thrown) {
      throw new Error(`in the world of seed ${seed}`, { cause: thrown });
    }
    orphaned += world.orphaned;
  }
  if (process.env["DRAGOMAN_TEST_SEED"] === undefined) expect(orphaned).toBeGreaterThan(50);
}, 60_000);

test("[d11.2 d13.2] the first call of a worker counts that begins when the supervisor has been killed and started again", async () => {
  await new World(1).beginsAfterRestart();
});

test.each([
  ["before", true],
  ["after", false],
])(
  "[d11.2 d13.2] the first call of a worker counts that begins %s the start of the third supervisor, when two have been killed",
  async (_, isBeforeThird) => {
    await new World(1).beginsAfterTwoRestarts(isBeforeThird);
  },
);
