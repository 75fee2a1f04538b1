// The newest rows of a journal in memory: a reader that has them gives the same rows as one that reads the disk.
import { describe, expect, test } from "bun:test";
import { readFileSync, writeFileSync } from "node:fs";
import { segmentPath, segmentsOf } from "../../../src/store/journal/journal-folder.ts";
import type { JournalPlace } from "../../../src/store/journal/journal-folder.ts";
import { JournalReader } from "../../../src/store/journal/journal-reader.ts";
import type { Journal } from "../../../src/store/journal/journal.ts";
import { chanceOf, printedSeed } from "../../harness/time/chance.ts";
import { aCall, ended, newFolder, newJournal, opened, recordCalls } from "./ledger-parts.ts";

const readerOf = (folder: string, journal: Journal, hasTail: boolean): JournalReader =>
  new JournalReader({
    folder,
    writtenTo: () => journal.writtenTo,
    ...(hasTail && { tail: journal.tail }),
    onDamage: () => {},
  });

/** The trace ids and the places of all rows, read in batches of at most `maxRows`. */
async function allRows(folder: string, reader: JournalReader, maxRows: number): Promise<readonly string[]> {
  const found: string[] = [];
  for (const segment of segmentsOf(folder)) {
    let offset = 0;
    for (;;) {
      const { rows, ends, end, isSegmentOver, isFull } = await reader.read({ segment, offset }, maxRows);
      rows.forEach(({ record, settled }, index) =>
        found.push(`${record.traceId} ${settled} ${segment} ${ends[index]}`),
      );
      const isMoved = end > offset;
      offset = end;
      if (isSegmentOver || (!isFull && !isMoved)) break;
    }
  }
  await reader.close();
  return found;
}

describe("rows in memory", () => {
  test.each([1, 3, 1000])("are the rows of the disk, in batches of %d", async (maxRows) => {
    const folder = newFolder();
    const journal = newJournal(folder, { segmentBytes: 3000 });
    await recordCalls(journal, 12);
    // a turn with entries of several calls, the last of which remains open
    const entries = await Promise.all([aCall(), aCall(), aCall()].map((call) => opened(journal, call)));
    await Promise.all(
      entries.slice(0, 2).map((entry) => journal.close(entry, ended(aCall({ traceId: entry.traceId })))),
    );
    const fromDisk = await allRows(folder, readerOf(folder, journal, false), maxRows);
    expect(fromDisk).toHaveLength(14);
    expect(await allRows(folder, readerOf(folder, journal, true), maxRows)).toEqual(fromDisk);
    await journal.end();
  });

  test("are the rows of the disk from any place, whatever their lengths and what was forgotten", async () => {
    const random = chanceOf(printedSeed("rows in memory"));
    const folder = newFolder();
    const journal = newJournal(folder, { segmentBytes: 200_000 });
    const [withTail, withoutTail] = [readerOf(folder, journal, true), readerOf(folder, journal, false)];
    let inMemory = 0;
    for (let turn = 0; turn < 60; turn++) {
      // several calls end in one turn, with texts of which some are longer than a block
      const calls = Array.from({ length: 1 + random.below(6) }, () =>
        aCall({ errorDetail: "é".repeat(random.below(10) === 0 ? 50_000 : random.below(3_000)) }),
      );
      const entries = await Promise.all(calls.map((call) => opened(journal, call)));
      await Promise.all(entries.map((entry, index) => journal.close(entry, ended(calls[index]!))));
      const segments = segmentsOf(folder);
      const segment = random.pick(segments);
      const maxRows = 1 + random.below(20);
      // places are between rows
      const places = await withoutTail.read({ segment, offset: 0 }, 1_000);
      const from: JournalPlace = { segment, offset: random.pick([0, ...places.ends]) };
      const shown = async (reader: JournalReader) => {
        const { rows, ends } = await reader.read(from, maxRows);
        return rows.map(({ record, settled }, index) => [record, settled, ends[index]]);
      };
      if (journal.tail.after(from, maxRows, 1e9, journal.writtenTo) !== null) inMemory += 1;
      expect(await shown(withTail)).toEqual(await shown(withoutTail));
      if (random.below(4) === 0) journal.tail.forget(from);
    }
    expect(inMemory).toBeGreaterThan(0);
    await Promise.all([withTail.close(), withoutTail.close()]);
    await journal.end();
  });

  test("are not read from the disk", async () => {
    const folder = newFolder();
    const journal = newJournal(folder);
    const ids = await recordCalls(journal, 5);
    writeFileSync(segmentPath(folder, 1), readFileSync(segmentPath(folder, 1)).fill(0));
    const { rows } = await readerOf(folder, journal, true).read({ segment: 1, offset: 0 }, 1000);
    expect(rows.map(({ record }) => record.traceId)).toEqual([...ids]);
    await journal.end();
  });

  test("are bounded: where the oldest were dropped, all rows are read from the disk", async () => {
    const folder = newFolder();
    const journal = newJournal(folder);
    const long = Array.from({ length: 9 }, () => aCall({ errorDetail: "x".repeat(600_000) }));
    for (const call of long) await journal.close(await opened(journal, aCall({ traceId: call.traceId })), ended(call));
    expect(journal.tail.after({ segment: 1, offset: 0 }, 1000, 1e9, journal.writtenTo)).toBeNull();
    const found = await allRows(folder, readerOf(folder, journal, true), 1000);
    expect(found.map((row) => row.split(" ")[0])).toEqual(long.map(({ traceId }) => traceId));
    await journal.end();
  });

  test("are forgotten up to the place that was shipped", async () => {
    const folder = newFolder();
    const journal = newJournal(folder);
    await recordCalls(journal, 3);
    const { ends } = journal.tail.after({ segment: 1, offset: 0 }, 1000, 1e9, journal.writtenTo)!;
    journal.tail.forget({ segment: 1, offset: ends[1]! });
    expect(journal.tail.after({ segment: 1, offset: 0 }, 1000, 1e9, journal.writtenTo)).toBeNull();
    expect(journal.tail.after({ segment: 1, offset: ends[1]! }, 1000, 1e9, journal.writtenTo)?.rows).toHaveLength(1);
    await journal.end();
  });
});
