// A process that is killed at any step around a write of the ledger, or while it applies what a worker has settled: the
// lease file beside it, and what the limit store has, charge exactly what is stated. The replica, the journal and the
// files are the real ones; the store is its model, and what is expected is counted from the ledger's bytes, or the
// worker's calls, alone.
import { describe, expect, test } from "bun:test";
import { cpSync, mkdirSync } from "node:fs";
import { join } from "node:path";
import {
  type Account,
  isShortage,
  type LimitStore,
  type Need,
  type Reservation,
  type Shortage,
} from "../../src/admission/limit-store.ts";
import { deadMessages } from "../../src/admission/valkey/dead-replica.ts";
import {
  completeJournals,
  findJournals,
  type JournalFile,
  type JournalledBucket,
  openJournalFile,
} from "../../src/admission/valkey/lease-journal.ts";
import { TIMINGS } from "../../src/admission/valkey/protocol.ts";
import { Replica, shapeOfRule } from "../../src/admission/valkey/replica.ts";
import { keysOf } from "../../src/admission/valkey/valkey.ts";
import type { CallRecord, LimitOutcome } from "../../src/core/record/record.ts";
import { systemClock } from "../../src/core/clock.ts";
import type { Journal } from "../../src/store/journal/journal.ts";
import { systemDisk } from "../../src/store/journal/journal-disk.ts";
import { inspectJournal } from "../../src/store/journal/journal-recovery.ts";
import type { MeterInFlight, OpenEntry, SettlementLedger } from "../../src/store/journal/ledger.ts";
import { ALL_SETTLED, openSettledFile, settledIn } from "../../src/store/journal/limit-holders.ts";
import type { WorkerChannel } from "../../src/process/workers/messages.ts";
import { WorkerReservations } from "../../src/process/workers/worker-reservations.ts";
import { accountOf } from "../contract/limit-store.suite.ts";
import { type Chance, chanceOf, seedsFrom } from "../harness/time/chance.ts";
import { aCall, ended, newFolder, newJournal } from "../store/journal/ledger-parts.ts";
import { openStoreModel } from "./simulation/store-model.ts";

const SEEDS = seedsFrom(1, 12);
const STEPS = 150;

/** One is lent in parts, and for the other each call asks the store. */
const accounts = [
  accountOf({ id: "lent", kind: "budget", window: "total", unit: "tokens", limit: 1e9 }),
  accountOf({ id: "asked", kind: "budget", window: "total", unit: "nano_usd", limit: 40_000 }),
  accountOf({ id: "daily", kind: "budget", window: "day", unit: "tokens", limit: 1e7 }),
];

interface Running {
  readonly record: CallRecord;
  readonly reservation: Reservation;
  readonly reserved: number;
  entry: OpenEntry | null;
  /** Each attempt settles the accounts from the last to the first. */
  settled: (number | null)[];
}

/** The replica with its file and the model of the store, in virtual time. `judge` is called where a kill may come. */
class Replicated {
  readonly folder = newFolder();
  readonly leases = join(this.folder, "leases");
  readonly replica: Replica;
  readonly #store = openStoreModel();
  readonly #keys = keysOf(false);
  readonly #file: JournalFile;
  #replies: (() => void)[] = [];
  #nowMs = 1_700_000_000_000;
  #isExpecting = false;

  constructor(judge: (when: string) => void, ledger?: SettlementLedger) {
    const file = openJournalFile(this.leases, "r1");
    this.#file = file;
    const judged =
      <Args extends unknown[], Result>(change: (...args: Args) => Result) =>
      (...args: Args): Result => {
        const result = change(...args);
        if (this.#isExpecting) judge("between two changes of the file");
        return result;
      };
    this.replica = new Replica({
      replica: "r1",
      timings: TIMINGS,
      journal: {
        open: judged((...change) => file.open(...change)),
        write: judged((...change) => file.write(...change)),
        change: judged((...change) => file.change(...change)),
        endsWith: judged((...change) => file.endsWith(...change)),
        close: judged((...change) => file.close(...change)),
        expect: (stated) => {
          this.#isExpecting = true;
          file.expect(stated);
        },
        arrived: () => {
          judge("before the file has what is stated");
          this.#isExpecting = false;
          file.arrived();
          judge("after the file has what is stated");
        },
      },
      keys: this.#keys,
      shapeOf: shapeOfRule,
      now: () => ({ monoMs: this.#nowMs, wallMs: this.#nowMs }),
      send: (tag, message) => {
        const answer = this.#store.run(structuredClone(message), this.#nowMs);
        this.#replies.push(() => this.replica.receiveAnswer(tag, message.sequence, answer));
      },
      ledger,
    });
  }

  pass(): void {
    this.#nowMs += 25;
    this.replica.tick();
    for (const reply of this.#replies.splice(0)) reply();
  }

  /** Until the store is open: its first answers wait. */
  passUntil(holds: () => boolean): void {
    for (let tick = 0; tick < 400 && !holds(); tick++) this.pass();
    expect(holds()).toBe(true);
  }

  /** What the store has of each account when it has been told of the death of this process. */
  figures(): readonly number[] {
    const found = findJournals(this.leases, "").find(({ replica }) => replica === "r1");
    const figures = new Map(
      accounts.map(({ rule, value }) => {
        const key = this.#keys.account(rule, value);
        return [key, new Map(this.#store.own(this.#keys.own(key, "r1")))];
      }),
    );
    for (const { statements, keys } of deadMessages("r1", found!.buckets(), this.#keys))
      for (const [line, kind, bucket, units] of statements) {
        const of = figures.get(keys[3 + 2 * (line - 1)]!)!;
        if (kind === 2) for (const later of of.keys()) if (later > bucket!) of.delete(later);
        of.set(bucket!, units!);
      }
    return [...figures.values()].map((of) => [...of.values()].reduce((sum, units) => sum + units, 0));
  }

  /** What the file states after the start that follows a kill now has completed it. */
  completedCopy(): { readonly before: readonly JournalledBucket[]; readonly after: () => readonly JournalledBucket[] } {
    const copy = join(newFolder(), "leases");
    cpSync(this.leases, copy, { recursive: true });
    const buckets = (): readonly JournalledBucket[] => findJournals(copy, "")[0]!.buckets();
    const before = buckets();
    completeJournals(copy);
    return { before, after: buckets };
  }

  end(): void {
    this.#file.remove();
  }
}

/** One process that counts for its own calls, which its ledger states. */
class OwnCalls {
  readonly #chance: Chance;
  readonly #running: Running[] = [];
  readonly #replicated: Replicated;
  readonly #ledgerFolder: string;
  readonly #journal: Journal;
  readonly wrong: object[] = [];
  torn = 0;

  constructor(chance: Chance) {
    this.#chance = chance;
    this.#replicated = new Replicated((when) => this.#judge(when), {
      countBeside: (counts) => this.#journal.countBeside(counts),
      countWhenStated: (call, count) => this.#journal.countWhenStated(call, count),
      countSettled: () => this.#journal.countSettled(),
    });
    this.#ledgerFolder = join(this.#replicated.folder, "0");
    mkdirSync(this.#ledgerFolder);
    this.#journal = newJournal(this.#ledgerFolder, {
      segmentBytes: 20_000,
      disk: {
        ...systemDisk,
        write: (fd, bytes, length, position) => {
          this.#judge("before the write");
          const part = chance.below(length);
          systemDisk.write(fd, bytes, part, position);
          this.torn += 1;
          this.#judge(`when ${part} of ${length} bytes are written`);
          const { before, after } = this.#replicated.completedCopy();
          const written = systemDisk.write(fd, bytes, length, position);
          this.#judge("after the write");
          // What the ledger has got since then does not count any more.
          if (!Bun.deepEquals(before, after())) this.wrong.push({ when: "after a start", before, after: after() });
          return written;
        },
      },
    });
    this.#journal.countBeside(this.#replicated.replica);
    this.#begin();
    this.#replicated.passUntil(() => this.#running.length > 0);
  }

  async step(): Promise<void> {
    const chance = this.#chance;
    const what = chance.below(10);
    const call = this.#running.length === 0 ? undefined : chance.pick(this.#running);
    if (what < 3) this.#begin();
    else if (what < 4 && call !== undefined) this.#settleSome(call);
    else if (what < 6 && call !== undefined) this.#end(call);
    else if (what < 8) this.#replicated.pass();
    else await turnOfLoop();
    this.#judge("after a step");
  }

  #begin(): void {
    const units = 1 + this.#chance.below(900);
    const limits: LimitOutcome[] = [];
    const record = aCall({ limits });
    const reserved = (reservation: Reservation): void => {
      limits.push(...accounts.map((account) => outcomeOf(account, units)));
      const call: Running = { record, reservation, reserved: units, entry: null, settled: accounts.map(() => null) };
      const meter: MeterInFlight = {
        inFlight: () => ({ usage: null, cost: null }),
        recording: () => () => reservation.recorded!(),
      };
      // Some calls end before they are in the ledger.
      if (this.#chance.perMille(900)) call.entry = this.#journal.open(record, meter);
      this.#running.push(call);
    };
    const answer = this.#replicated.replica.reserve(
      needsOf(units),
      (later) => {
        if (!isShortage(later)) reserved(later);
      },
      record.traceId,
    );
    if (answer !== null && !isShortage(answer)) reserved(answer);
  }

  /** An attempt ends: one account is settled, and the call goes on. */
  #settleSome(call: Running): void {
    const index = call.settled.indexOf(null);
    if (index < 0 || call.entry === null) return;
    this.#settle(call, [index]);
  }

  #settle(call: Running, indices: readonly number[]): void {
    const used = accounts.map((_, index) => (indices.includes(index) ? usedOf(call.reserved, this.#chance) : null));
    for (const index of indices) call.record.limits[index]!.settled = call.settled[index] = used[index]!;
    call.reservation.settle(used);
  }

  #end(call: Running): void {
    this.#running.splice(this.#running.indexOf(call), 1);
    if (call.entry === null) return call.reservation.release();
    const open = accounts.flatMap((_, index) => (call.settled[index] === null ? [index] : []));
    if (open.length > 0) this.#settle(call, open);
    void this.#journal.close(call.entry, ended(call.record));
  }

  async finish(): Promise<void> {
    while (this.#running.length > 0) this.#end(this.#running[0]!);
    await turnOfLoop();
    for (let tick = 0; tick < 60; tick++) this.#replicated.pass();
    this.#judge("when all has ended");
    await this.#journal.end();
    this.#replicated.end();
  }

  /** Compares what the store is told if the process is killed now with what the ledger states. */
  #judge(when: string): void {
    const calls = new Map<string, readonly number[]>();
    inspectJournal(this.#ledgerFolder, {
      sinceMs: 0,
      onEntry: (text) => {
        const { traceId, limits } = JSON.parse(text) as CallRecord;
        calls.set(
          traceId,
          limits.map(({ settled, reserved }) => settled ?? reserved),
        );
      },
    });
    const ledger = accounts.map((_, index) => [...calls.values()].reduce((sum, units) => sum + units[index]!, 0));
    const counted = this.#replicated.figures();
    // What is thrown in a write of the disk would count as its fault.
    if (!Bun.deepEquals(counted, ledger)) this.wrong.push({ when, counted, ledger });
  }
}

interface Hold {
  readonly id: number;
  readonly call: string;
  readonly limits: readonly LimitOutcome[];
  isJournalled: boolean;
  settlement: number | null;
}

/** A supervisor that counts for a worker, whose journal states the calls. */
class WorkersCalls {
  readonly #chance: Chance;
  readonly #replicated: Replicated;
  readonly #reservations: WorkerReservations;
  readonly #handlers = new Map<string, (body: never) => unknown>();
  readonly #settledPath: string;
  readonly #granted: Hold[] = [];
  readonly wrong: object[] = [];
  #settlements = 0;
  #nextId = 1;

  constructor(chance: Chance) {
    this.#chance = chance;
    this.#replicated = new Replicated((when) => this.#judge(when));
    const { replica, folder } = this.#replicated;
    const settledFile = openSettledFile(folder, "0000000a");
    this.#settledPath = settledFile.path;
    const limits: LimitStore = {
      reserve: (needs) => {
        const { promise, resolve } = Promise.withResolvers<Reservation | Shortage>();
        return replica.reserve(needs, resolve) ?? promise;
      },
      settling: (file, settlement) => replica.expect({ settledFile: file, settlement }),
      settledThrough: () => replica.arrived(),
      status: () => Promise.reject(new Error("not asked")),
      first: () => Promise.reject(new Error("not asked")),
      open: () => replica.open(),
      close: () => Promise.resolve(),
    };
    const channel = {
      handle: (name: string, handler: (body: never) => unknown) => this.#handlers.set(name, handler),
      notify: () => {},
    } as unknown as WorkerChannel;
    this.#reservations = new WorkerReservations(limits, channel, {
      holder: "0000000a",
      clock: systemClock,
      settledFile: {
        ...settledFile,
        applied: (settlement) => {
          this.#judge("before the number of settlements");
          settledFile.applied(settlement);
          this.#judge("after the number of settlements");
        },
      },
    });
  }

  #said(name: string, body: unknown): unknown {
    return this.#handlers.get(name)!(body as never);
  }

  async open(): Promise<void> {
    const first = this.#begin();
    for (let tick = 0; tick < 400 && this.#granted.length === 0; tick++) {
      this.#replicated.pass();
      await turnOfLoop();
    }
    await first;
  }

  async step(): Promise<void> {
    const what = this.#chance.below(10);
    if (what < 4) void this.#begin();
    else if (what < 6) this.#settleSome();
    else if (what < 8) this.#replicated.pass();
    else await turnOfLoop();
    this.#judge("after a step");
  }

  async #begin(): Promise<void> {
    const units = 1 + this.#chance.below(900);
    const [id, call] = [this.#nextId++, aCall().traceId];
    const answer = await (this.#said("reserve", {
      id,
      call,
      needs: accounts.map(({ value }, index) => [index, value, units, 0]),
      rules: accounts.map(({ rule }, index) => [index, rule]),
    }) as Promise<object>);
    if ("short" in answer) return;
    const limits = accounts.map((account) => outcomeOf(account, units));
    this.#granted.push({ id, call, limits, isJournalled: this.#chance.perMille(900), settlement: null });
  }

  /** The worker states in its journal what calls have used, in the order in which it tells its supervisor. */
  #settleSome(): void {
    const open = this.#granted.filter(({ isJournalled, settlement }) => isJournalled && settlement === null);
    const chosen = open.slice(0, 1 + this.#chance.below(4));
    if (chosen.length === 0) return;
    const all = chosen.map((hold) => {
      hold.settlement = ++this.#settlements;
      const used = hold.limits.map((limit) => (limit.settled = usedOf(limit.reserved, this.#chance)));
      return [hold.id, used] as const;
    });
    this.#judge("when the worker has stated what calls used");
    this.#said("settle", all);
  }

  async finish(): Promise<void> {
    for (let tick = 0; tick < 60; tick++) {
      this.#replicated.pass();
      await turnOfLoop();
    }
    this.#reservations.end(
      () =>
        new Map(
          this.#granted
            .filter(({ isJournalled }) => isJournalled)
            .map(({ call, limits, settlement }) => [call, { limits, isClosed: settlement !== null }]),
        ),
    );
    this.#judge("when the worker has ended");
    for (let tick = 0; tick < 60; tick++) this.#replicated.pass();
    this.#judge("when the store was told");
    this.#replicated.end();
  }

  /** The next start charges what is not applied, so that the file has to have what is. */
  #judge(when: string): void {
    const through = settledIn(this.#settledPath);
    const applied = this.#granted.filter(
      ({ isJournalled, settlement }) => isJournalled && (settlement ?? ALL_SETTLED) <= through,
    );
    const expected = accounts.map((_, index) =>
      applied.reduce((sum, { limits }) => sum + (limits[index]!.settled ?? limits[index]!.reserved), 0),
    );
    const counted = this.#replicated.figures();
    if (!Bun.deepEquals(counted, expected)) this.wrong.push({ when, counted, expected, through });
  }
}

const needsOf = (units: number): readonly Need[] => accounts.map((account) => ({ account, units, force: false }));
const usedOf = (reserved: number, chance: Chance): number => chance.pick([0, reserved, chance.below(2 * reserved)]);
const turnOfLoop = (): Promise<void> => new Promise((resolve) => setImmediate(resolve));

function outcomeOf({ rule, value }: Account, units: number): LimitOutcome {
  return {
    id: rule.id,
    value,
    unit: rule.unit,
    before: 0,
    reserved: units,
    settled: null,
    after: 0,
    wouldRefuse: false,
  };
}

describe("a kill at any step charges what was stated, once", () => {
  test.each(SEEDS)("[d4.2 d11.2] by the ledger's rows, with the seed %d", async (seed) => {
    const world = new OwnCalls(chanceOf(seed));
    for (let step = 0; step < STEPS && world.wrong.length === 0; step++) await world.step();
    await world.finish();
    expect(world.wrong.slice(0, 1)).toEqual([]);
    expect(world.torn).toBeGreaterThan(10);
  });

  test.each(SEEDS)("[d11.2 d13.2] by the journal of a worker, with the seed %d", async (seed) => {
    const world = new WorkersCalls(chanceOf(seed));
    await world.open();
    for (let step = 0; step < STEPS && world.wrong.length === 0; step++) await world.step();
    await world.finish();
    expect(world.wrong.slice(0, 1)).toEqual([]);
  });
});
