// One run of the model: gateways that start and end on one machine, and a record of every call that a client saw, which
// knows nothing of journals. At the end, and at each start, the record and the gateway have to agree.
import { cpSync, mkdirSync, rmSync } from "node:fs";
import { join } from "node:path";
import type { CallLimits } from "../../../../src/admission/call-limits.ts";
import type { AttemptReservation } from "../../../../src/admission/held-attempt.ts";
import { type MemoryLimits, openMemoryLimits } from "../../../../src/admission/memory.ts";
import { systemClock } from "../../../../src/core/clock.ts";
import type { CallRecord, LimitOutcome } from "../../../../src/core/record/record.ts";
import { segmentsOf, slotsOf } from "../../../../src/store/journal/journal-folder.ts";
import type { OpenEntry } from "../../../../src/store/journal/ledger.ts";
import { type OpenLedger, openLedger } from "../../../../src/store/journal/open-ledger.ts";
import { aCall, ended } from "../ledger-parts.ts";
import { limitsOf, reserve, type Units, unitsOf } from "./accounts.ts";
import { type Book, type Expected, judgeCounts, judgeRows, judgeTold, type Told } from "./book.ts";
import type { ModelDatabase } from "./databases.ts";
import { journalled } from "./journalled.ts";
import { Knowledge, type KnowledgeCopy } from "./knowledge.ts";
import { type KeptCounts, Machine, type ModelProcess } from "./machine.ts";
import { until } from "../../../harness/time/until.ts";

interface OpenCall {
  readonly user: string;
  readonly record: CallRecord;
  readonly limits: CallLimits;
  attempt: AttemptReservation;
  readonly entry: OpenEntry;
  reserved: Units;
  /** Tokens of reservations that the disk had no room for: they are in the journal only if its opening was written again since. */
  unsure: readonly number[];
}

interface Gateway extends ModelProcess {
  readonly ledger: OpenLedger;
  readonly limits: MemoryLimits;
  readonly open: OpenCall[];
  /** What the start, and later steps, have reported. */
  readonly told: Told[];
}

interface Copy {
  readonly folder: string;
  readonly database: unknown;
  /** Rows that the database had when the folder was copied. */
  readonly stored: ReadonlySet<string>;
  readonly counts: KeptCounts;
  readonly book: Book;
  readonly takenMs: number;
  /** The database was copied before the folder: rows that were shipped in between, and whose segments were removed, are in neither. */
  readonly isDatabaseFirst: boolean;
  readonly disturbances: number;
  readonly known: KnowledgeCopy;
}

const PACE = { pollMs: 1, backoffMs: 1, probeMs: 2, adoptMs: 3 };

export class World {
  readonly machine = new Machine();
  readonly gateways: Gateway[] = [];
  readonly #root: string;
  readonly #database: ModelDatabase;
  readonly #onFull: "refuse" | "continue";
  readonly #segmentBytes: number;
  #book: Book = { rows: new Map(), counted: new Map() };
  /** Calls of which nothing is promised: they ran without a row, or are newer than what was restored and may be in the database. */
  readonly #maybe = new Set<string>();
  #copies: Copy[] = [];
  #isCountExact = true;
  readonly #ended: Promise<unknown>[] = [];
  readonly #knowledge: Knowledge;

  constructor(
    root: string,
    database: ModelDatabase,
    { onFull, segmentBytes }: { readonly onFull: "refuse" | "continue"; readonly segmentBytes: number },
  ) {
    this.#root = root;
    this.#database = database;
    this.#onFull = onFull;
    this.#segmentBytes = segmentBytes;
    mkdirSync(this.#folder, { recursive: true });
    this.#knowledge = new Knowledge(this.#folder);
  }

  get #folder(): string {
    return join(this.#root, "ledger");
  }
  get copies(): number {
    return this.#copies.length;
  }

  /** Beside those that run. */
  async start(): Promise<void> {
    const owner: ModelProcess = { isDead: false };
    const told: Gateway["told"] = [];
    const countStore = this.machine.keeperOf(owner);
    const counts = countStore.hold();
    let limits: MemoryLimits | null = null;
    const ledger = await openLedger({
      folder: this.#folder,
      settings: { sync: "background", onFull: this.#onFull },
      sink: this.#knowledge.listening(this.machine.sinkOf(owner, this.#database)),
      clock: systemClock,
      disk: this.machine.diskOf(owner),
      lock: this.machine.lockOf(owner),
      counted: {
        atStart: counts,
        keepsCounts: () => countStore.isHeld,
        sinceMs: () => Math.min(countStore.keptAtMs(), systemClock.now()) - 60_000,
        kept: () => limits?.kept() ?? null,
      },
      segmentBytes: this.#segmentBytes,
      pace: PACE,
      log: (_, words, fields = {}) => told.push({ words, fields }),
    });
    limits = openMemoryLimits({
      clock: systemClock,
      countStore,
      journalled: ledger.counts,
      laterJournalled: () => ledger.laterCounts(),
      keepEveryMs: 1,
    });
    const gateway: Gateway = Object.assign(owner, { ledger, limits, open: [], told });
    this.gateways.push(gateway);
    if (counts && this.gateways.length === 1) this.#judgeCounts(gateway, "after a start");
  }

  /** A call that is admitted and runs on; `null` when it was refused. */
  async begin(gateway: Gateway, user: string, tokens: number): Promise<OpenCall | null> {
    const outcomes: LimitOutcome[] = [];
    const limits = limitsOf(user, gateway.limits, outcomes);
    const attempt = reserve(limits, tokens);
    const record = aCall({ startedAtMs: systemClock.now(), userId: user, limits: outcomes });
    const isSure = gateway.ledger.status().fault === null;
    let entry: OpenEntry;
    try {
      entry = gateway.ledger.open(record, null);
      await gateway.ledger.written(entry);
    } catch {
      limits.settle();
      return null;
    }
    const reserved = unitsOf(tokens);
    if (!isSure || gateway.ledger.status().fault !== null) this.#unsure(record.traceId);
    const begun: OpenCall = { user, record, limits, attempt, entry, reserved, unsure: [] };
    gateway.open.push(begun);
    this.#count(record.traceId, user, reserved);
    return begun;
  }

  /** A further attempt, which may use more. */
  async again(gateway: Gateway, index: number, tokens: number): Promise<void> {
    const call = gateway.open[index]!;
    call.attempt.sent(() => ({ tokens: 0, nanoUsd: 0 }));
    call.attempt.settle();
    call.attempt = reserve(call.limits, tokens);
    gateway.ledger.reopen(call.entry);
    await gateway.ledger.written(call.entry);
    const reserved = unitsOf(Math.max(call.reserved.tokens, tokens));
    // On a full disk the opening before it stands, unless its segment goes: then the opening that is written again is the latest one.
    if (gateway.ledger.status().fault === null) Object.assign(call, { reserved, unsure: [] });
    else if (reserved.tokens > call.reserved.tokens) {
      this.#isCountExact = false;
      call.unsure = [...call.unsure, reserved.tokens];
    }
    this.#count(call.record.traceId, call.user, call.reserved);
  }

  /** The client has the answer when it resolves. */
  async end(gateway: Gateway, index: number, tokens: number): Promise<void> {
    const [call] = gateway.open.splice(index, 1) as [OpenCall];
    const used = unitsOf(tokens);
    call.attempt.sent(() => used);
    call.attempt.settle();
    call.limits.settle();
    const { traceId } = call.record;
    const row = ended(call.record, {
      usage: { prompt_tokens: tokens, completion_tokens: 0, total_tokens: tokens },
      cost: { nanoUsd: used.nanoUsd, priceId: "model" },
    });
    await gateway.ledger.close(call.entry, row);
    if (this.#onFull === "continue" && gateway.ledger.status().fault !== null) this.#unsure(traceId);
    if (!this.#maybe.has(traceId)) this.#book.rows.set(traceId, { tokens, isSettled: true });
    this.#count(traceId, call.user, used);
  }

  async refuse(gateway: Gateway): Promise<void> {
    const record = aCall({ startedAtMs: systemClock.now(), status: 403, code: "policy_denied" as CallRecord["code"] });
    const { unrecorded } = gateway.ledger.status();
    await gateway.ledger.close(null, record);
    const { unrecorded: after, fault } = gateway.ledger.status();
    if (after === unrecorded && fault === null) this.#book.rows.set(record.traceId, { tokens: 0, isSettled: true });
    else this.#maybe.add(record.traceId);
  }

  async stop(gateway: Gateway): Promise<void> {
    while (gateway.open.length > 0) await this.end(gateway, 0, 7);
    await gateway.limits.close();
    await gateway.ledger.end();
    this.#forget(gateway);
    this.machine.kill(gateway);
    await this.#judgeTakeover();
  }

  async kill(gateway: Gateway): Promise<void> {
    this.#disturbances += 1;
    this.machine.kill(gateway);
    for (const call of gateway.open)
      if (!this.#maybe.has(call.record.traceId)) this.#book.rows.set(call.record.traceId, interrupted(call));
    this.#forget(gateway);
    // what is left of it in this test comes to its end; nothing of that reaches disk or database
    void gateway.limits.close();
    this.#ended.push(gateway.ledger.end().catch(() => {}));
    await this.#judgeTakeover();
  }

  async copy(isDatabaseFirst: boolean): Promise<void> {
    await this.#database.idle();
    const folder = join(this.#root, `copy-${this.#copies.length}`);
    let copying = isDatabaseFirst ? this.#database.copy() : null;
    if (copying !== null) await Promise.all([copying, Bun.sleep(2)]);
    cpSync(this.#folder, folder, { recursive: true });
    copying ??= this.#database.copy();
    const book: Book = { rows: new Map(this.#book.rows), counted: new Map(this.#book.counted) };
    for (const gateway of this.gateways)
      for (const call of gateway.open)
        if (!this.#maybe.has(call.record.traceId)) book.rows.set(call.record.traceId, interrupted(call));
    const copy = {
      folder,
      counts: this.machine.copyCounts(),
      book,
      takenMs: systemClock.now(),
      isDatabaseFirst,
      disturbances: this.#disturbances,
      known: this.#knowledge.copy(),
    };
    this.#copies.push({ ...copy, database: await copying, stored: await this.#stored() });
  }

  /** Nothing runs. `what`: the data folder with a database in it; the data folder beside a database that stays; the database alone. */
  async restore(index: number, what: "all" | "folder" | "database"): Promise<void> {
    const copy = this.#copies[index]!;
    const storedBefore = await this.#stored();
    if (what !== "folder") await this.#database.restore(copy.database);
    if (what !== "database") {
      rmSync(this.#folder, { recursive: true });
      cpSync(copy.folder, this.#folder, { recursive: true });
      this.machine.restoreCounts(copy.counts);
      this.#knowledge.restore(copy.known);
    }
    await this.#readAgain(copy, what, storedBefore);
  }

  /** What must be there from now on: what the copy promised, and what is still in the part that was not restored. */
  async #readAgain(copy: Copy, what: "all" | "folder" | "database", storedBefore: ReadonlySet<string>): Promise<void> {
    const before = this.#book;
    const stored = new Map((await this.#database.calls()).map((call) => [call.traceId, call]));
    const { ends, unsettled, begins } = journalled(this.#folder);
    const isThere = (traceId: string, { isSettled }: Expected): boolean =>
      stored.has(traceId) || ends.has(traceId) || unsettled.has(traceId) || (!isSettled && begins.has(traceId));
    if (what !== "database")
      for (const [traceId, expected] of copy.book.rows)
        if (!expected.isSettled) this.#interrupted.set(traceId, expected);
    // of a call that ended after the copy was made, the copy's journal has the reservation alone
    const inJournal = (traceId: string, expected: Expected): Expected =>
      expected.isSettled && !ends.has(traceId) ? (this.#interrupted.get(traceId) ?? expected) : expected;
    const rows = new Map<string, Expected>();
    const lost: string[] = [];
    for (const [traceId, expected] of what === "database" ? before.rows : copy.book.rows) {
      // since the copy it may have ended on a full disk, and its end may or may not be in the database
      if (this.#maybe.has(traceId)) continue;
      // what the database has of a call stays
      if (isThere(traceId, expected))
        rows.set(traceId, stored.has(traceId) ? (before.rows.get(traceId) ?? expected) : inJournal(traceId, expected));
      else lost.push(traceId);
    }
    // beside a database that went back since, a folder alone does not bring what had been shipped by then
    const mayLack = (traceId: string): boolean => (what === "folder" ? copy.stored.has(traceId) : copy.isDatabaseFirst);
    if (what !== "database" && !lost.every(mayLack))
      throw new Error(`${lost.length} calls that had ended before the copy are not in it`);
    // later calls are there where the database that stayed has them
    if (what === "folder")
      for (const [traceId, expected] of before.rows)
        if (!rows.has(traceId) && stored.has(traceId)) rows.set(traceId, expected);
    // a newer database brings back what an older one, restored before it, did not have
    if (what === "database")
      for (const [traceId, expected] of copy.book.rows)
        if (!rows.has(traceId) && stored.has(traceId)) rows.set(traceId, expected);
    this.#book = { rows, counted: what === "database" ? before.counted : new Map(copy.book.counted) };
    // how far it was shipped is kept once a second, and at the end
    const isToldOf = this.#disturbances === copy.disturbances;
    if (what === "database") for (const traceId of this.#lost) if (stored.has(traceId)) this.#lost.delete(traceId);
    if (what !== "database") this.#lost.clear();
    if (!isToldOf) return;
    if (what !== "database") this.#copiedMs = copy.takenMs;
    if (what === "all") return;
    for (const traceId of lost)
      if ((what === "folder" || storedBefore.has(traceId)) && this.#knowledge.has(traceId)) this.#lost.add(traceId);
  }

  async #stored(): Promise<ReadonlySet<string>> {
    return new Set((await this.#database.calls()).map(({ traceId }) => traceId));
  }

  /** The outcome of calls that were in flight when a copy was made that was restored since. */
  readonly #interrupted = new Map<string, Expected>();
  /** Rows that neither of the two has any more since the database went back, and of which the folder knew; the next start has to say so. */
  readonly #lost = new Set<string>();
  /** When the copy was made that was restored last; null: none was, or the disk was full meanwhile. */
  #copiedMs: number | null = null;
  /** Kills and full disks. */
  #disturbances = 0;

  /** The disk takes so many bytes more. */
  fill(room: number): void {
    this.machine.room = room;
    this.#disturbances += 1;
  }

  /** The disk takes rows again, and what waited in memory is written. */
  async makeRoom(): Promise<void> {
    this.machine.room = Number.POSITIVE_INFINITY;
    for (const { ledger } of this.gateways)
      await until(
        () => ledger.status().fault === null && ledger.status().waitingRows === 0,
        "the disk is written to again",
      );
  }

  /** Everything is well again, and everything that was written gets where it goes. */
  async finish(): Promise<void> {
    this.#database.mood = "up";
    await this.makeRoom();
    while (this.gateways.length > 0) await this.stop(this.gateways[0]!);
    await this.start();
    const gateway = this.gateways[0]!;
    await until(
      () =>
        gateway.ledger.status().unshippedBytes === 0 &&
        slotsOf(this.#folder).every((slot) => slot === "0" || segmentsOf(join(this.#folder, slot)).length === 0),
      "all rows are shipped",
    );
    await this.stop(gateway);
    await Promise.all(this.#ended);
    judgeTold(this.#told, { copiedMs: this.#copiedMs, lost: this.#lost.size });
    await judgeRows(this.#database, this.#book.rows, this.#maybe);
  }

  /** By gateways that have ended. */
  readonly #told: Told[] = [];

  #forget(gateway: Gateway): void {
    this.#told.push(...gateway.told);
    this.gateways.splice(this.gateways.indexOf(gateway), 1);
  }

  /** Of those that are left one has the counts within a moment. The last one knows what all that have ended had counted. */
  async #judgeTakeover(): Promise<void> {
    if (this.gateways.length === 0) return;
    await until(() => this.gateways.some((gateway) => this.machine.isCounting(gateway)), "the counts are taken over");
    const [last] = this.gateways;
    if (this.gateways.length > 1) return;
    // as when a segment of the ledger asks whether it may go
    last!.limits.kept();
    this.#judgeCounts(last!, "when the others have ended");
  }

  #count(traceId: string, user: string, units: Units): void {
    this.#book.counted.set(traceId, { ...units, user });
  }

  #unsure(traceId: string): void {
    if (this.#onFull === "refuse") return;
    this.#maybe.add(traceId);
    this.#isCountExact = false;
  }

  #judgeCounts({ limits }: Gateway, when: string): void {
    if (this.#isCountExact) judgeCounts(limits, this.#book.counted, when);
  }
}

/** What becomes of a call whose process is killed. */
function interrupted({ reserved: { tokens }, unsure }: OpenCall): Expected {
  return { tokens, others: unsure, isSettled: false };
}
