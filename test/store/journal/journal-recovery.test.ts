// A start after a crash: cut and flipped bytes at every offset, and calls without an end, each counted once.
import { describe, expect, test } from "bun:test";
import { mkdirSync, readFileSync, statSync, writeFileSync } from "node:fs";
import { basename, join } from "node:path";
import { systemClock } from "../../../src/core/clock.ts";
import { EntryEncoder, type JournalEntry, readEntry } from "../../../src/store/journal/journal-entry.ts";
import { type JournalDisk, systemDisk } from "../../../src/store/journal/journal-disk.ts";
import { lockFolder, lockPath, segmentPath, segmentsOf } from "../../../src/store/journal/journal-folder.ts";
import { inspectJournal, recordOfKilledCall } from "../../../src/store/journal/journal-recovery.ts";
import { openingText } from "../../../src/store/journal/journal-row.ts";
import type { LedgerSink } from "../../../src/store/journal/ledger.ts";
import { openLedger } from "../../../src/store/journal/open-ledger.ts";
import {
  aCall,
  ended,
  newFolder,
  newJournal,
  opened,
  recordCalls,
  release,
  testDisk,
  testSink,
  outcome,
} from "./ledger-parts.ts";
import { until } from "../../harness/time/until.ts";

/** Three calls, the second of which did not end, without a heading; the bytes and where each entry begins. */
async function written(): Promise<{ readonly bytes: Buffer; readonly starts: readonly number[] }> {
  const folder = newFolder();
  const journal = newJournal(folder);
  const calls = [aCall(), aCall({ metadata: { note: "ünï — \u001eDJ\u0001" } }), aCall()];
  const entries = calls.map((call) => journal.open(call));
  await journal.close(entries[0]!, ended(calls[0]!));
  await journal.close(entries[2]!, ended(calls[2]!));
  await journal.end();
  const bytes = withoutHeading(readFileSync(segmentPath(folder, 1)));
  const starts: number[] = [];
  for (let at = 0; at < bytes.length;) {
    starts.push(at);
    at = (readEntry(bytes, at) as { readonly end: number }).end;
  }
  return { bytes, starts };
}

function withoutHeading(bytes: Buffer): Buffer {
  const heading = readEntry(bytes, 0) as JournalEntry;
  expect(heading.kind).toBe("heading");
  return bytes.subarray(heading.end);
}

function textsOf(bytes: Buffer, starts: readonly number[]): readonly string[] {
  return starts.map((start) => (readEntry(bytes, start) as { readonly text: string }).text);
}

/** A database that is down. */
const DOWN: LedgerSink = {
  ingest: () => Promise.reject(new Error("down")),
  places: () => Promise.reject(new Error("down")),
};

/** Texts of the entries that a reader finds. */
function found(bytes: Buffer, folder: string): ReturnType<typeof inspectJournal> {
  writeFileSync(segmentPath(folder, 1), bytes);
  return inspectJournal(folder);
}

describe("damage", () => {
  test("[d11.2] a journal that was cut at any byte holds every complete entry, and the rest is reported and cut", async () => {
    const { bytes, starts } = await written();
    expect(starts).toHaveLength(5);
    const folder = newFolder();
    for (let cut = 0; cut < bytes.length; cut++) {
      const findings = found(bytes.subarray(0, cut), folder);
      const whole = starts.filter((_, index) => (starts[index + 1] ?? bytes.length) <= cut).length;
      const isClean = starts.includes(cut);
      const closings = Math.max(0, whole - 3);
      expect({
        cut,
        closings: findings.closings,
        openings: findings.openings.length,
        damages: findings.damages.length,
      }).toEqual({ cut, closings, openings: Math.min(3, whole) - closings, damages: isClean ? 0 : 1 });
      if (!isClean)
        expect(findings.damages[0]).toMatchObject({ isTail: true, offset: starts.findLast((start) => start < cut)! });
    }
  });

  test("[d11.2] a flipped bit at any byte costs the entry that it stands in and no other, and is never taken for an entry", async () => {
    const { bytes, starts } = await written();
    const texts = textsOf(bytes, starts);
    const folder = newFolder();
    for (let at = 0; at < bytes.length; at++) {
      const flipped = Buffer.from(bytes);
      flipped[at]! ^= 1 << (at % 8);
      const hit = starts.findLastIndex((start) => start <= at);
      const { damages, closings, openings } = found(flipped, folder);
      expect({ at, closings, damages: damages.length }).toEqual({ at, closings: hit >= 3 ? 1 : 2, damages: 1 });
      // an opening that lost its closing counts as in flight, and a damaged one is missing
      const expected = new Set(
        [1, ...(hit === 3 ? [0] : []), ...(hit === 4 ? [2] : [])]
          .filter((index) => index !== hit)
          .map((index) => texts[index]!),
      );
      expect(new Set(openings)).toEqual(expected);
    }
  });

  test("[d11.2] random damage in many places invents nothing and loses only the damaged entries", async () => {
    const { bytes, starts } = await written();
    const texts = new Set(textsOf(bytes, starts));
    const folder = newFolder();
    let state = 42;
    const random = (below: number): number => (state = (state * 1_103_515_245 + 12_345) % 2_147_483_648) % below;
    for (let round = 0; round < 400; round++) {
      const broken = Buffer.from(bytes);
      for (let count = random(6); count >= 0; count--) {
        const from = random(bytes.length);
        broken.fill(random(256), from, Math.min(bytes.length, from + 1 + random(40)));
      }
      for (const opening of found(broken.subarray(0, random(bytes.length) + 1), folder).openings)
        expect(texts.has(opening)).toBe(true);
    }
  });

  test("a damaged length is not trusted", () => {
    const encoder = new EntryEncoder();
    encoder.add("closing", "{}");
    const bytes = Buffer.from(encoder.bytes.subarray(0, encoder.length));
    bytes.writeUInt32LE(0x7fff_ffff, 8);
    expect(readEntry(bytes, 0)).toBe("damaged");
  });
});

test("[d11.2] the reservations of further attempts are charged too", async () => {
  const folder = newFolder();
  const journal = newJournal(folder, { segmentBytes: 2000 });
  const call = aCall({ limits: [outcome("tokens", 100)] });
  const entry = journal.open(call);
  const other = aCall();
  await journal.close(await opened(journal, other), ended(other));
  call.limits[0]!.reserved = 350;
  journal.reopen(entry);
  await journal.written(entry);
  const { openings } = inspectJournal(folder);
  expect(openings.map((opening) => recordOfKilledCall(opening).usage?.total_tokens)).toEqual([350]);
  while (segmentsOf(folder).length < 3) await journal.close(await opened(journal, aCall()), ended(aCall()));
  for (const segment of [1, 2]) await release(folder, journal, segment);
  expect(
    inspectJournal(folder)
      .openings.filter((opening) => opening.includes(call.traceId))
      .map((opening) => recordOfKilledCall(opening).usage?.total_tokens),
  ).toEqual([350]);
  await journal.end();
});

test("[d11.2] a call that was in flight is charged with its reservation", () => {
  const call = aCall({
    provider: "openai",
    model: "gpt",
    limits: [
      outcome("requests", 1),
      outcome("tokens", 500),
      { ...outcome("tokens", 700), id: "other" },
      outcome("nano_usd", 12_000),
    ],
  });
  expect(recordOfKilledCall(JSON.stringify(call))).toMatchObject({
    traceId: call.traceId,
    projectId: "default",
    provider: "openai",
    status: 500,
    code: "internal_error",
    usage: { total_tokens: 700 },
    usageSource: "estimated",
    cost: { nanoUsd: 12_000, priceId: "reservation" },
    limits: [
      { reserved: 1, settled: 1 },
      { reserved: 500, settled: 500 },
      { reserved: 700, settled: 700 },
      { reserved: 12_000, settled: 12_000 },
    ],
  });
  expect(recordOfKilledCall(JSON.stringify(aCall()))).toMatchObject({ usage: null, usageSource: null, cost: null });
});

/** What the call might use, as its opening entry says. */
const CHARGE = {
  usage: { prompt_tokens: 100, completion_tokens: 400, total_tokens: 500 },
  cost: { nanoUsd: 9000, priceId: "own@3" },
};

test("[d11.2 d4.2] a call that was in flight without a limit is charged its estimate, which is marked as one", () => {
  expect(recordOfKilledCall(openingText(aCall(), CHARGE))).toMatchObject({ ...CHARGE, usageSource: "estimated" });
});

test("[d11.2 d4.2] what an earlier attempt has reserved beyond the estimate is charged too, as the budget counts it", () => {
  const limits = [outcome("tokens", 700), outcome("nano_usd", 12_000)];
  expect(recordOfKilledCall(openingText(aCall({ limits }), CHARGE))).toMatchObject({
    usage: { prompt_tokens: 100, completion_tokens: 600, total_tokens: 700 },
    usageSource: "estimated",
    cost: { nanoUsd: 12_000, priceId: "own@3" },
  });
});

test("[d11.2 d4.2] of a budget that counts attempts, one that has ended is charged what it used", () => {
  const limits = [{ ...outcome("nano_usd", 12_000), settled: 40 }, outcome("nano_usd", 10_000)];
  expect(recordOfKilledCall(openingText(aCall({ limits }), CHARGE))).toMatchObject({
    cost: { nanoUsd: 10_040 },
    limits: [{ settled: 40 }, { settled: 10_000 }],
  });
});

describe("a start after a crash", () => {
  const start = async (folder: string, sink: LedgerSink, disk: JournalDisk = systemDisk) => {
    const told: string[] = [];
    const ledger = await openLedger({
      folder,
      settings: { sync: "background", onFull: "refuse" },
      sink,
      clock: systemClock,
      disk,
      log: (_, words) => told.push(words),
    });
    return { ledger, told };
  };
  /** A journal as a process that was killed leaves it. */
  const crashed = async (
    folder: string,
    slot = "0",
  ): Promise<{ readonly whole: readonly string[]; readonly inFlight: readonly string[] }> => {
    const own = join(folder, slot);
    mkdirSync(own, { recursive: true });
    writeFileSync(lockPath(own), "");
    const journal = newJournal(own, { segmentBytes: 3000 });
    const whole = await recordCalls(journal, 10);
    const entries = await Promise.all(
      Array.from({ length: 3 }, () => opened(journal, aCall({ limits: [outcome("tokens", 90)] }))),
    );
    return { whole, inFlight: entries.map(({ traceId }) => traceId) };
  };

  test("[d11.2] every call is shipped once: as it ended, or unsettled with its reservation; a torn end is cut and reported", async () => {
    const folder = newFolder();
    const { whole, inFlight } = await crashed(folder);
    const own = join(folder, "0");
    const last = segmentPath(own, segmentsOf(own).at(-1)!);
    const length = statSync(last).size;
    writeFileSync(last, Buffer.concat([readFileSync(last), Buffer.from([0x1e, 0x44, 0x4a, 0x01, 9, 9])]));
    const sink = testSink();
    const { ledger, told } = await start(folder, sink);
    expect(statSync(last).size).toBe(length);
    expect(told).toContain("the ledger ended with an incomplete entry, which was removed");
    expect(ledger.recovered.map(({ traceId }) => traceId)).toEqual([...inFlight]);
    await until(() => sink.rows.size === 13, "all rows");
    for (const traceId of whole)
      expect(sink.rows.get(traceId)).toMatchObject({ settled: true, record: { status: 200 } });
    for (const traceId of inFlight)
      expect(sink.rows.get(traceId)).toMatchObject({ settled: false, record: { usage: { total_tokens: 90 } } });
    await ledger.end();
    expect(segmentsOf(own)).toEqual([]);
  });

  test("[d11.2] a crash during the recovery changes nothing: each call in flight is present once", async () => {
    const folder = newFolder();
    const { inFlight } = await crashed(folder);
    // three starts that end without shipping, as a kill would end them
    for (let count = 0; count < 3; count++) {
      const { ledger } = await start(folder, DOWN);
      expect(ledger.recovered).toHaveLength(count === 0 ? 3 : 0);
      await ledger.end();
    }
    expect(inspectJournal(join(folder, "0"))).toMatchObject({ openings: [], unsettled: inFlight.length });
  });

  test("[d11.2] while the database takes nothing, one journal of another process is tried in a round, so that many do not hold up the end", async () => {
    const folder = newFolder();
    for (const slot of ["1", "2", "3"]) await crashed(folder, slot);
    const { ledger, told } = await start(folder, DOWN);
    await ledger.adopt();
    expect(told.filter((words) => words.startsWith("taking over rows"))).toHaveLength(2);
    await ledger.end();
  });

  test("[d11.2] a journal of another process that cannot be read stays free for whoever can, and holds up no other one", async () => {
    const folder = newFolder();
    await crashed(folder, "1");
    const { whole, inFlight } = await crashed(folder, "2");
    const newer = segmentPath(join(folder, "1"), segmentsOf(join(folder, "1"))[0]!);
    writeFileSync(newer, Buffer.concat([Buffer.from([0x1e, 0x44, 0x4a, 0x02]), readFileSync(newer).subarray(4)]));
    const sink = testSink();
    const { ledger, told } = await start(folder, sink);
    await ledger.adopt();
    expect([...sink.rows.keys()].toSorted()).toEqual([...whole, ...inFlight].toSorted());
    expect(told).toContain("rows of the ledger that another process left cannot be taken over");
    const lock = lockFolder(join(folder, "1"));
    expect(lock).not.toBeNull();
    lock?.release();
    await ledger.end();
  });

  test("[d11.2 d13.1] a process finds a folder beside those of all workers and of those that they have replaced, and another process adopts what it leaves there", async () => {
    const folder = newFolder();
    const taken = (path: string) => (Number(basename(path)) < 200 ? null : lockFolder(path));
    const { whole, inFlight } = await crashed(folder, "200");
    const sink = testSink();
    const ledger = await openLedger({
      folder,
      settings: { sync: "background", onFull: "refuse" },
      sink,
      clock: systemClock,
      lock: (path) => (basename(path) === "200" ? null : taken(path)),
      log: () => {},
    });
    expect(ledger.status().folder).toBe(join(folder, "201"));
    await ledger.end();
    const { ledger: other } = await start(folder, sink);
    await until(() => sink.rows.size === whole.length + inFlight.length, "all rows");
    await other.end();
  });

  test("[d11.2] a recovery on a full disk loses nothing and reports it: the next one finds the same calls", async () => {
    const folder = newFolder();
    const { whole, inFlight } = await crashed(folder);
    const full = testDisk();
    full.room = 0;
    const sink = testSink();
    const first = await start(folder, sink, full);
    expect(first.ledger.recovered).toHaveLength(inFlight.length);
    expect(first.ledger.status()).toMatchObject({ waitingRows: inFlight.length });
    await first.ledger.end();
    expect(first.told.filter((words) => words.includes("lost"))).toEqual([]);
    const second = await start(folder, sink);
    await until(() => sink.rows.size === whole.length + inFlight.length, "all rows");
    await second.ledger.end();
    for (const traceId of inFlight) expect(sink.rows.get(traceId)).toMatchObject({ settled: false });
  });

  test("[d11.2] segment numbers never decrease, and a position in one run is not taken for a position in another", async () => {
    const folder = newFolder();
    const own = join(folder, "0");
    const sink = testSink();
    const numbers: number[] = [];
    for (let run = 1; run <= 4; run++) {
      const { ledger, told } = await start(folder, sink);
      await recordCalls(ledger, run);
      numbers.push(...segmentsOf(own));
      await ledger.end();
      expect(segmentsOf(own)).toEqual([]);
      expect(told).toEqual([]);
    }
    expect(sink.rows.size).toBe(1 + 2 + 3 + 4);
    expect(numbers).toEqual([1, 2, 3, 4]);
    expect([...sink.taken.values()].map(({ rows }) => rows)).toEqual([1, 3, 6, 10]);
  });

  test("two processes on one folder keep apart, and the rows of one that died are taken over by the next start beside it", async () => {
    const folder = newFolder();
    const { whole, inFlight } = await crashed(folder);
    const firstSink = testSink();
    const first = await start(folder, firstSink);
    const secondSink = testSink();
    const second = await start(folder, secondSink);
    expect([first.ledger.status().folder, second.ledger.status().folder]).toEqual([
      join(folder, "0"),
      join(folder, "1"),
    ]);
    await recordCalls(second.ledger, 1);
    await until(
      () => secondSink.rows.size === 1 && firstSink.rows.size === whole.length + inFlight.length,
      "rows of both",
    );
    await first.ledger.end();
    await second.ledger.end();
    // left by a process with the folder 1 that does not come back
    const left = newJournal(join(folder, "1"), { firstSegment: 7 });
    const lost = await opened(left, aCall());
    const third = await start(folder, firstSink);
    await until(() => firstSink.rows.has(lost.traceId), "the row of the dead");
    await third.ledger.end();
    expect(segmentsOf(join(folder, "1"))).toEqual([]);
  });

  test("an unusable folder is reported with its cure", async () => {
    const file = join(newFolder(), "file");
    writeFileSync(file, "");
    expect(
      await start(file, DOWN).then(
        () => "started",
        (fault: unknown) => (fault as Error).message,
      ),
    ).toContain("ledger.folder");
  });
});
