// Calls, folders, disks and sinks for the tests of the ledger.
import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterAll } from "bun:test";
import { systemClock } from "../../../src/core/clock.ts";
import { newTraceId } from "../../../src/core/ids.ts";
import type { CallRecord, LimitOutcome } from "../../../src/core/record/record.ts";
import { Journal, type JournalOptions } from "../../../src/store/journal/journal.ts";
import { type JournalDisk, systemDisk } from "../../../src/store/journal/journal-disk.ts";
import { segmentPath } from "../../../src/store/journal/journal-folder.ts";
import { newRandomName } from "../../../src/store/journal/journal-identity.ts";
import type { ShipperOptions } from "../../../src/store/journal/journal-shipper.ts";
import type { Ledger, LedgerRow, LedgerSink, OpenEntry, ShippedPlace } from "../../../src/store/journal/ledger.ts";
import { bareRecord } from "../../contract/store/call-records.ts";
import { DiskRoom, diskFull } from "./disk-room.ts";

const folders: string[] = [];
afterAll(() => folders.forEach((folder) => rmSync(folder, { recursive: true, force: true })));

export function newFolder(): string {
  const folder = mkdtempSync(join(tmpdir(), "dragoman-ledger-"));
  folders.push(folder);
  return folder;
}

/** A call that was admitted. */
export function aCall(more: Partial<CallRecord> = {}): CallRecord {
  const { startedAtMs = 1_767_225_600_000 } = more;
  return bareRecord({
    traceId: newTraceId(startedAtMs),
    startedAtMs,
    tokenId: "t1",
    tenantId: "default",
    projectId: "default",
    modelAsked: "sandbox:echo",
    route: "direct",
    ...more,
  });
}

/** The same at its end. */
export function ended(call: CallRecord, more: Partial<CallRecord> = {}): CallRecord {
  return {
    ...call,
    status: 200,
    usage: { prompt_tokens: 3, completion_tokens: 4, total_tokens: 7 },
    usageSource: "provider",
    totalMs: 12.5,
    // makes the row as long as that of a real call
    providerRequestId: "r".repeat(500),
    ...more,
  };
}

export function outcome(unit: LimitOutcome["unit"], reserved: number): LimitOutcome {
  return {
    id: `lim_${unit}`,
    value: "",
    unit,
    before: 0,
    reserved,
    settled: null,
    after: reserved,
    wouldRefuse: false,
  };
}

export function newJournal(folder: string, more: Partial<JournalOptions> = {}): Journal {
  return new Journal({
    folder,
    run: newRandomName(),
    firstSegment: 1,
    settings: { sync: "background", onFull: "refuse" },
    disk: systemDisk,
    clock: systemClock,
    onFault: () => {},
    onMended: () => {},
    reserveBytes: 4096,
    probeMs: 5,
    ...more,
  });
}

/** Admits a call. Its opening entry is written when it resolves. */
export async function opened(ledger: Pick<Ledger, "open" | "written">, call: CallRecord): Promise<OpenEntry> {
  const entry = ledger.open(call, null);
  await ledger.written(entry);
  return entry;
}

/** Records calls one after the other, each as it began and as it ended. Returns their trace ids. */
export async function recordCalls(
  ledger: Pick<Ledger, "open" | "written" | "close">,
  count: number,
): Promise<readonly string[]> {
  const traceIds: string[] = [];
  while (traceIds.length < count) {
    const call = aCall();
    await ledger.close(await opened(ledger, call), ended(call));
    traceIds.push(call.traceId);
  }
  return traceIds;
}

/** As a shipper releases one; damaged ones as well. */
export async function release(folder: string, journal: Journal, segment: number): Promise<boolean> {
  if (!(await journal.mayRelease(segment))) return false;
  systemDisk.remove(segmentPath(folder, segment));
  return true;
}

/** What a shipper needs of a journal. */
export function shipperParts(
  folder: string,
  journal: Journal,
  sink: LedgerSink,
  problems: string[] = [],
): ShipperOptions {
  return {
    folder,
    journal: "test",
    run: newRandomName(),
    sink,
    clock: systemClock,
    disk: systemDisk,
    writtenTo: () => journal.writtenTo,
    tail: journal.tail,
    release: (segment) => release(folder, journal, segment),
    onProblem: (words) => problems.push(words),
    pollMs: 2,
  };
}

/** A disk whose room and faults the test says. */
export interface TestDisk extends JournalDisk {
  /** Bytes that it still takes. */
  room: number;
  syncFails: boolean;
  /** Syncs wait until this resolves. */
  syncGate: Promise<void>;
  readonly syncs: number[];
  /** Zeros wait until this resolves. */
  zeroGate: Promise<void>;
}

export function testDisk(): TestDisk {
  const space = new DiskRoom();
  const { write, truncate, close, reserve, takeOver, remove } = space;
  const disk: TestDisk = {
    ...systemDisk,
    write,
    truncate,
    close,
    reserve,
    takeOver,
    remove,
    get room() {
      return space.left;
    },
    set room(bytes) {
      space.left = bytes;
    },
    syncFails: false,
    syncGate: Promise.resolve(),
    syncs: [],
    zeroGate: Promise.resolve(),
    async zero(fd, from, to) {
      await disk.zeroGate;
      if (disk.room === 0) throw diskFull();
      await systemDisk.zero(fd, from, to);
    },
    async sync(fd) {
      disk.syncs.push(fd);
      await disk.syncGate;
      if (disk.syncFails) throw Object.assign(new Error("EIO: i/o error, fdatasync"), { code: "EIO" });
      await systemDisk.sync(fd);
    },
  };
  return disk;
}

export interface TestSink extends LedgerSink {
  readonly rows: Map<string, LedgerRow>;
  /** By run. */
  readonly taken: Map<string, ShippedPlace>;
  /** Of each call of `ingest`. */
  readonly batches: number[];
  /** Throws for batches that it refuses. */
  refuses: (rows: readonly LedgerRow[]) => boolean;
}

/** Keeps the first row of each trace id, as a database does. */
export function testSink(): TestSink {
  const sink: TestSink = {
    rows: new Map(),
    taken: new Map(),
    batches: [],
    refuses: () => false,
    places: (journals, runs) =>
      Promise.resolve(
        [...sink.taken.values()].filter((place) => journals.includes(place.journal) || runs.includes(place.run)),
      ),
    ingest(rows, place) {
      sink.batches.push(rows.length);
      if (sink.refuses(rows)) return Promise.reject(new Error("the database is down"));
      if (place !== undefined) sink.taken.set(place.run, place);
      for (const row of rows) if (!sink.rows.has(row.record.traceId)) sink.rows.set(row.record.traceId, row);
      return Promise.resolve();
    },
  };
  return sink;
}
