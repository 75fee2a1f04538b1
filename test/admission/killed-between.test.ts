// A process that is killed at any step around a write of the ledger: the lease file beside it, and what the limit store
// has, charge exactly what the ledger's rows state. The replica, the journal and the file are the real ones; the store
// is its model, and what is expected is counted from the ledger's bytes alone.
import { describe, expect, test } from "bun:test";
import { cpSync, mkdirSync } from "node:fs";
import { join } from "node:path";
import { isShortage, type Reservation } from "../../src/admission/limit-store.ts";
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
import { systemDisk } from "../../src/store/journal/journal-disk.ts";
import { inspectJournal } from "../../src/store/journal/journal-recovery.ts";
import type { MeterInFlight, OpenEntry } from "../../src/store/journal/ledger.ts";
import { accountOf } from "../contract/limit-store.suite.ts";
import { type Chance, chanceOf, seedsFrom } from "../harness/chance.ts";
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

/** The units of each account that the record states, as recovery charges a call that has not ended. */
const stated = ({ limits }: CallRecord): readonly number[] =>
  limits.map(({ settled, reserved }) => settled ?? reserved);

class World {
  readonly folder = newFolder();
  readonly #chance: Chance;
  readonly #leases = join(this.folder, "leases");
  readonly #ledgerFolder = join(this.folder, "0");
  readonly #store = openStoreModel();
  readonly #keys = keysOf(false);
  readonly #file: JournalFile;
  readonly #replica: Replica;
  readonly #running: Running[] = [];
  #replies: (() => void)[] = [];
  readonly journal;
  #nowMs = 1_700_000_000_000;
  #isExpecting = false;
  readonly wrong: object[] = [];
  torn = 0;

  constructor(chance: Chance) {
    this.#chance = chance;
    mkdirSync(this.#ledgerFolder);
    const file = openJournalFile(this.#leases, "r1");
    this.#file = file;
    const judged =
      <Args extends unknown[], Result>(change: (...args: Args) => Result) =>
      (...args: Args): Result => {
        const result = change(...args);
        if (this.#isExpecting) this.judge("between two changes of the file");
        return result;
      };
    this.#replica = new Replica({
      replica: "r1",
      timings: TIMINGS,
      journal: {
        open: judged((...change) => file.open(...change)),
        write: judged((...change) => file.write(...change)),
        change: judged((...change) => file.change(...change)),
        endsWith: judged((...change) => file.endsWith(...change)),
        close: judged((...change) => file.close(...change)),
        expect: (folder, place) => {
          this.#isExpecting = true;
          file.expect(folder, place);
        },
        arrived: () => {
          this.judge("before the file has what the ledger states");
          this.#isExpecting = false;
          file.arrived();
          this.judge("after the file has what the ledger states");
        },
      },
      keys: this.#keys,
      shapeOf: shapeOfRule,
      now: () => ({ monoMs: this.#nowMs, wallMs: this.#nowMs }),
      send: (tag, message) => {
        const answer = this.#store.run(structuredClone(message), this.#nowMs);
        this.#replies.push(() => this.#replica.receiveAnswer(tag, message.sequence, answer));
      },
      ledger: {
        countBeside: (counts) => this.journal.countBeside(counts),
        countWhenStated: (call, count) => this.journal.countWhenStated(call, count),
        countSettled: () => this.journal.countSettled(),
      },
    });
    this.journal = newJournal(this.#ledgerFolder, {
      segmentBytes: 20_000,
      disk: {
        ...systemDisk,
        write: (fd, bytes, length, position) => {
          this.judge("before the write");
          const part = chance.below(length);
          systemDisk.write(fd, bytes, part, position);
          this.torn += 1;
          this.judge(`when ${part} of ${length} bytes are written`);
          const { before, after } = this.completedCopy();
          const written = systemDisk.write(fd, bytes, length, position);
          this.judge("after the write");
          // What the ledger has got since then does not count any more.
          if (!Bun.deepEquals(before, after())) this.wrong.push({ when: "after a start", before, after: after() });
          return written;
        },
      },
    });
    this.journal.countBeside(this.#replica);
  }

  /** The store opens. */
  open(): void {
    this.#begin();
    for (let tick = 0; tick < 400 && this.#running.length === 0; tick++) this.#pass();
    expect(this.#running).toHaveLength(1);
  }

  #pass(): void {
    this.#nowMs += 25;
    this.#replica.tick();
    for (const reply of this.#replies.splice(0)) reply();
  }

  async step(): Promise<void> {
    const chance = this.#chance;
    const what = chance.below(10);
    const call = this.#running.length === 0 ? undefined : chance.pick(this.#running);
    if (what < 3) this.#begin();
    else if (what < 4 && call !== undefined) this.#settleSome(call);
    else if (what < 6 && call !== undefined) this.#end(call);
    else if (what < 8) this.#pass();
    else await this.#turn();
    this.judge("after a step");
  }

  #begin(): void {
    const units = 1 + this.#chance.below(900);
    const limits: LimitOutcome[] = [];
    const record = aCall({ limits });
    const reserved = (reservation: Reservation): void => {
      limits.push(
        ...reservation.needs.map(({ account: { rule, value } }) => ({
          id: rule.id,
          value,
          unit: rule.unit,
          before: 0,
          reserved: units,
          settled: null,
          after: 0,
          wouldRefuse: false,
        })),
      );
      const call: Running = { record, reservation, reserved: units, entry: null, settled: accounts.map(() => null) };
      const meter: MeterInFlight = {
        inFlight: () => ({ usage: null, cost: null }),
        recording: () => () => reservation.recorded!(),
      };
      // Some calls end before they are in the ledger.
      if (this.#chance.perMille(900)) call.entry = this.journal.open(record, meter);
      this.#running.push(call);
    };
    const answer = this.#replica.reserve(
      accounts.map((account) => ({ account, units, force: false })),
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
    const used = accounts.map((_, index) =>
      indices.includes(index) ? this.#chance.pick([0, call.reserved, this.#chance.below(2 * call.reserved)]) : null,
    );
    for (const index of indices) call.record.limits[index]!.settled = call.settled[index] = used[index]!;
    call.reservation.settle(used);
  }

  #end(call: Running): void {
    this.#running.splice(this.#running.indexOf(call), 1);
    if (call.entry === null) return call.reservation.release();
    const open = accounts.flatMap((_, index) => (call.settled[index] === null ? [index] : []));
    if (open.length > 0) this.#settle(call, open);
    void this.journal.close(call.entry, ended(call.record));
  }

  async #turn(): Promise<void> {
    await new Promise((resolve) => setImmediate(resolve));
  }

  async finish(): Promise<void> {
    while (this.#running.length > 0) this.#end(this.#running[0]!);
    await this.#turn();
    for (let tick = 0; tick < 60; tick++) this.#pass();
    this.judge("when all has ended");
    await this.journal.end();
    this.#file.remove();
  }

  /** Compares what the store is told if the process is killed now with what the ledger states. */
  judge(when: string): void {
    const ledger = this.#unitsOfLedger();
    const found = findJournals(this.#leases, "").find(({ replica }) => replica === "r1");
    const figures = new Map(
      accounts.map(({ rule, value }) => {
        const key = this.#keys.account(rule, value);
        return [key, new Map(this.#store.own(this.#keys.own(key, "r1")))];
      }),
    );
    for (const { accounts: lines, statements, keys } of deadMessages("r1", found!.buckets(), this.#keys))
      for (const [line, kind, bucket, units] of statements) {
        const of = figures.get(keys[3 + 2 * (line - 1)]!)!;
        expect(lines[line - 1]).toBeDefined();
        if (kind === 2) for (const later of of.keys()) if (later > bucket!) of.delete(later);
        of.set(bucket!, units!);
      }
    const counted = [...figures.values()].map((of) => [...of.values()].reduce((sum, units) => sum + units, 0));
    // What is thrown in a write of the disk would count as its fault.
    if (!Bun.deepEquals(counted, ledger)) this.wrong.push({ when, counted, ledger });
  }

  #unitsOfLedger(): readonly number[] {
    const calls = new Map<string, readonly number[]>();
    const { openings } = inspectJournal(this.#ledgerFolder, {
      sinceMs: 0,
      onEntry: (text) => {
        const record = JSON.parse(text) as CallRecord;
        calls.set(record.traceId, stated(record));
      },
    });
    expect(openings.length).toBeLessThanOrEqual(calls.size);
    return accounts.map((_, index) => [...calls.values()].reduce((sum, units) => sum + units[index]!, 0));
  }

  /** What the file states after the start that follows a kill now has completed it. */
  completedCopy(): { readonly before: readonly JournalledBucket[]; readonly after: () => readonly JournalledBucket[] } {
    const copy = join(newFolder(), "leases");
    cpSync(this.#leases, copy, { recursive: true });
    const buckets = (): readonly JournalledBucket[] => findJournals(copy, "")[0]!.buckets();
    const before = buckets();
    completeJournals(copy);
    return { before, after: buckets };
  }
}

describe("the lease file and the ledger", () => {
  test.each(SEEDS)(
    "[d4.2 d11.2] a kill at any step of a write of the ledger charges what its rows state, with the seed %d",
    async (seed) => {
      const world = new World(chanceOf(seed));
      world.open();
      for (let step = 0; step < STEPS && world.wrong.length === 0; step++) await world.step();
      await world.finish();
      expect(world.wrong.slice(0, 1)).toEqual([]);
      expect(world.torn).toBeGreaterThan(10);
    },
  );
});
