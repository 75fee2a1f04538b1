// Rows on the way from the journal to the database: once, in order, however often the database is down.
import { describe, expect, test } from "bun:test";
import { existsSync, readFileSync, writeFileSync } from "node:fs";
import { rejectedPath, segmentPath, segmentsOf } from "../../../src/store/journal/journal-folder.ts";
import type { LedgerSink, ShippedPlace } from "../../../src/store/journal/ledger.ts";
import type { Journal } from "../../../src/store/journal/journal.ts";
import { JournalShipper } from "../../../src/store/journal/journal-shipper.ts";
import {
  aCall,
  ended,
  newFolder,
  newJournal,
  opened,
  recordCalls,
  shipperParts,
  testSink,
  type TestSink,
} from "./ledger-parts.ts";
import { until } from "../../harness/time/until.ts";

function shipperOf(folder: string, journal: Journal, sink: TestSink, problems: string[] = []): JournalShipper {
  return new JournalShipper(shipperParts(folder, journal, sink, problems));
}

describe("shipping", () => {
  test("[d11.2] every row is shipped once and in order, in batches; files whose rows have all been shipped are removed", async () => {
    const folder = newFolder();
    const journal = newJournal(folder, { segmentBytes: 400_000 });
    const sink = testSink();
    const ids = [...(await recordCalls(journal, 3000))];
    const shipper = shipperOf(folder, journal, sink);
    shipper.start();
    for (let round = 0; round < 10; round++) {
      ids.push(...(await recordCalls(journal, 37)));
      await Bun.sleep(3);
    }
    await until(() => sink.rows.size === ids.length, "all rows");
    expect([...sink.rows.keys()]).toEqual(ids);
    expect(Math.max(...sink.batches)).toBeLessThanOrEqual(2000);
    expect(sink.batches.reduce((sum, rows) => sum + rows, 0)).toBe(ids.length);
    await until(() => segmentsOf(folder).length === 1, "old segments are gone");
    await shipper.end();
    await journal.end();
  });

  test("[d11.2] a batch of long rows has fewer of them: it is held in memory", async () => {
    const folder = newFolder();
    const journal = newJournal(folder);
    const sink = testSink();
    const long = Array.from({ length: 12 }, () => aCall({ errorDetail: "x".repeat(900_000) }));
    for (const call of long) await journal.close(await opened(journal, aCall({ traceId: call.traceId })), ended(call));
    const ids = long.map(({ traceId }) => traceId);
    const shipper = shipperOf(folder, journal, sink);
    expect(await shipper.drain(10_000)).toBe(true);
    expect([...sink.rows.keys()]).toEqual(ids);
    expect(Math.max(...sink.batches)).toBeLessThanOrEqual(5);
    await journal.end();
  });

  test("[d11.2] a database that is down delays rows and loses none, with one batch in memory", async () => {
    const folder = newFolder();
    const journal = newJournal(folder, { segmentBytes: 200_000 });
    const sink = testSink();
    const problems: string[] = [];
    let isDown = true;
    sink.refuses = () => isDown;
    const shipper = shipperOf(folder, journal, sink, problems);
    shipper.start();
    const ids = await recordCalls(journal, 2700);
    await until(() => sink.batches.length >= 3, "some tries");
    expect(Math.max(...sink.batches)).toBeLessThanOrEqual(2000);
    expect(problems).toEqual([expect.stringContaining("the database is down")]);
    expect(segmentsOf(folder).length).toBeGreaterThan(5);
    isDown = false;
    await until(() => sink.rows.size === ids.length, "all rows");
    expect([...sink.rows.keys()]).toEqual([...ids]);
    await shipper.end();
    await journal.end();
  });

  test("[d11.2] after a crash it continues at the last known position, and rows shipped twice are stored once", async () => {
    const folder = newFolder();
    const journal = newJournal(folder);
    const sink = testSink();
    const ids = await recordCalls(journal, 300);
    const first = shipperOf(folder, journal, sink);
    expect(await first.drain(5000)).toBe(true);
    const [[run, place]] = [...sink.taken] as [[string, ShippedPlace]];
    expect(place).toMatchObject({ ...journal.writtenTo, rows: 300 });
    // a crash before the answer of the database came
    sink.taken.set(run, { ...place, offset: 0, rows: 0 });
    const more = await recordCalls(journal, 50);
    const second = shipperOf(folder, journal, sink);
    expect(await second.drain(5000)).toBe(true);
    expect([...sink.rows.keys()]).toEqual([...ids, ...more]);
    const third = shipperOf(folder, journal, sink);
    const before = sink.batches.length;
    expect(await third.drain(5000)).toBe(true);
    expect(sink.batches.length).toBe(before);
    await journal.end();
  });

  test("[d11.2] a database that takes rows and never answers is asked again, and does not delay the end", async () => {
    const folder = newFolder();
    const journal = newJournal(folder);
    const sink = testSink();
    const ids = await recordCalls(journal, 3);
    let hangs = true;
    const hanging: LedgerSink = {
      ...sink,
      ingest: (rows, place) => (hangs ? new Promise<void>(() => {}) : sink.ingest(rows, place)),
    };
    const problems: string[] = [];
    const options = { ...shipperParts(folder, journal, hanging, problems), pollMs: 1, backoffMs: 1 };
    const shipper = new JournalShipper({ ...options, answerMs: 10 });
    shipper.start();
    await until(() => problems.length > 0, "a problem");
    hangs = false;
    await until(() => sink.rows.size === ids.length, "all rows");
    await shipper.end();
    hangs = true;
    void (await recordCalls(journal, 1));
    const second = new JournalShipper(options);
    second.start();
    await Bun.sleep(10);
    // one that waited for its answer would never come back
    await second.end();
    await journal.end();
  });

  test.each([
    ["among others in its segment", {}],
    ["at the end of its segment", { segmentBytes: 1 }],
  ])("a row %s that the database never takes is set aside, reported, and delays no other row", async (_, options) => {
    const folder = newFolder();
    const journal = newJournal(folder, options);
    const sink = testSink();
    const ids = await recordCalls(journal, 5);
    const poison = ids[2]!;
    sink.refuses = (rows) => rows.some(({ record }) => record.traceId === poison);
    const problems: string[] = [];
    const shipper = new JournalShipper({ ...shipperParts(folder, journal, sink, problems), pollMs: 1, backoffMs: 1 });
    shipper.start();
    await until(() => sink.rows.size === 4, "the other rows");
    await shipper.end();
    expect(readFileSync(rejectedPath(folder), "utf8")).toContain(poison);
    expect(problems.at(-1)).toContain(poison);
    await journal.end();
  });

  test("[d11.2] a database that is down for long causes no row to be set aside, however few wait, and takes them all when it is back", async () => {
    const folder = newFolder();
    const journal = newJournal(folder);
    const sink = testSink();
    const ids = await recordCalls(journal, 3);
    let isDown = true;
    sink.refuses = () => isDown;
    const shipper = new JournalShipper({ ...shipperParts(folder, journal, sink), pollMs: 1, backoffMs: 0.01 });
    shipper.start();
    // single rows are tried by then, more often than a row that is refused alone
    await until(() => sink.batches.length > 40, "many tries");
    expect(existsSync(rejectedPath(folder))).toBe(false);
    isDown = false;
    await until(() => sink.rows.size === ids.length, "all rows");
    await shipper.end();
    expect(existsSync(rejectedPath(folder))).toBe(false);
    await journal.end();
  });

  test("[d11.2] a database that comes back between two tries causes no row to be set aside", async () => {
    const folder = newFolder();
    const journal = newJournal(folder);
    const sink = testSink();
    const ids = await recordCalls(journal, 3);
    let first = 0;
    // down until the row behind the first one is tried, to find out whether it is the row
    sink.refuses = (rows) =>
      rows[0]!.record.traceId === ids[0] &&
      first++ < 25 &&
      !rows.some(({ record }) => sink.rows.has(record.traceId)) &&
      sink.rows.size === 0;
    const shipper = new JournalShipper({ ...shipperParts(folder, journal, sink), pollMs: 1, backoffMs: 0.01 });
    shipper.start();
    await until(() => sink.rows.size === ids.length, "all rows");
    await shipper.end();
    expect(existsSync(rejectedPath(folder))).toBe(false);
    await journal.end();
  });

  test("damage in the middle loses its rows and is reported; shipping goes on after it", async () => {
    const folder = newFolder();
    const journal = newJournal(folder);
    const sink = testSink();
    const ids = await recordCalls(journal, 20);
    const bytes = readFileSync(segmentPath(folder, 1));
    bytes[Math.floor(bytes.length / 2)]! ^= 0x10;
    writeFileSync(segmentPath(folder, 1), bytes);
    const problems: string[] = [];
    // rows that are still in memory are not read from the disk
    const { tail: _, ...parts } = shipperParts(folder, journal, sink, problems);
    const shipper = new JournalShipper(parts);
    await shipper.drain(5000);
    expect(sink.rows.size).toBeGreaterThanOrEqual(ids.length - 1);
    expect(problems).toEqual([expect.stringContaining("damaged")]);
    await journal.end();
  });

  test("a row longer than one read is shipped too", async () => {
    const folder = newFolder();
    const journal = newJournal(folder);
    const sink = testSink();
    const call = aCall();
    await journal.close(await opened(journal, call), ended(call, { metadata: { much: "ü".repeat(300_000) } }));
    const ids = await recordCalls(journal, 3);
    expect(await shipperOf(folder, journal, sink).drain(5000)).toBe(true);
    expect([...sink.rows.keys()]).toEqual([call.traceId, ...ids]);
    expect(existsSync(rejectedPath(folder))).toBe(false);
    await journal.end();
  });
});
