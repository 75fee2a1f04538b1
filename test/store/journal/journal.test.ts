// The journal on disk: what is written when, how a full or broken disk affects calls, and the life of segments.
import { describe, expect, jest, test } from "bun:test";
import { existsSync, readFileSync, statSync, writeFileSync } from "node:fs";
import type { GatewayError } from "../../../src/core/errors.ts";
import { systemDisk } from "../../../src/store/journal/journal-disk.ts";
import { lockFolder, reservePath, segmentPath, segmentsOf } from "../../../src/store/journal/journal-folder.ts";
import { cutTorn, inspectJournal, recordOfKilledCall } from "../../../src/store/journal/journal-recovery.ts";
import { diskFull } from "./disk-room.ts";
import {
  aCall,
  ended,
  newFolder,
  newJournal,
  opened,
  outcome,
  recordCalls,
  release,
  testDisk,
} from "./ledger-parts.ts";
import { until } from "../../harness/time/until.ts";

const codeOf = (act: () => unknown): string | null => {
  try {
    act();
    return null;
  } catch (thrown) {
    return (thrown as GatewayError).code;
  }
};

describe("writing", () => {
  test("[d11.2] an opening and a closing are handed to the operating system before the call goes on", async () => {
    const folder = newFolder();
    const journal = newJournal(folder);
    const call = aCall();
    const entry = await opened(journal, call);
    expect(inspectJournal(folder)).toMatchObject({
      openings: [expect.stringContaining(call.traceId)],
      closings: 0,
      damages: [],
    });
    await journal.close(entry, ended(call));
    expect(inspectJournal(folder)).toMatchObject({ openings: [], closings: 1, damages: [] });
    await journal.end();
  });

  test("[d11.2] the entries of one turn of the event loop are written together, and none of their calls goes on before", async () => {
    const disk = testDisk();
    const folder = newFolder();
    const journal = newJournal(folder, { disk });
    const writes: number[] = [];
    const before = { ...disk };
    disk.write = (...args) => writes[writes.push(before.write(...args)) - 1]!;
    const calls = Array.from({ length: 5 }, () => aCall());
    const entries = calls.map((call) => journal.open(call));
    const seen: number[] = [];
    const goOn = entries.map((entry) => journal.written(entry).then(() => seen.push(writes.length)));
    const refused = journal.close(null, { ...aCall(), status: 400, code: "invalid_request" });
    expect([writes, seen]).toEqual([[], []]);
    await Promise.all([...goOn, refused]);
    // the heading of the segment is a write of its own
    expect([writes.length, seen]).toEqual([2, [2, 2, 2, 2, 2]]);
    expect(inspectJournal(folder)).toMatchObject({ closings: 1, damages: [] });
    expect(inspectJournal(folder).openings).toHaveLength(5);
    await journal.end();
  });

  test("[d11.2] a call that ends in the turn in which it was admitted is not in flight any more", async () => {
    const folder = newFolder();
    const journal = newJournal(folder);
    const call = aCall();
    const entry = journal.open(call);
    await journal.close(entry, ended(call));
    await journal.written(entry);
    expect(journal.status()).toMatchObject({ openCalls: 0, rows: 2 });
    expect(inspectJournal(folder)).toMatchObject({ openings: [], closings: 1 });
    await journal.end();
  });

  test("[d11.2] the opening of a call in flight is stated again at once with what was settled, and one that has ended is not", async () => {
    const folder = newFolder();
    const journal = newJournal(folder);
    const [call, other] = [aCall({ limits: [outcome("tokens", 90)] }), aCall()];
    const entry = await opened(journal, call);
    await journal.close(await opened(journal, other), ended(other));
    call.limits[0]!.settled = 7;
    journal.writeStateOf([call.traceId, other.traceId]);
    const { openings } = inspectJournal(folder);
    expect(openings.map((text) => recordOfKilledCall(text))).toMatchObject([
      { traceId: call.traceId, limits: [{ reserved: 90, settled: 7 }], usage: { total_tokens: 7 } },
    ]);
    await journal.close(entry, ended(call));
    await journal.end();
  });

  test("[d11.2 d4.2] a settlement counts right after the entry with it was written: of a call in flight, and of one that has ended", async () => {
    const folder = newFolder();
    const journal = newJournal(folder);
    const [call, other] = [aCall({ limits: [outcome("tokens", 90)] }), aCall()];
    const [entry, otherEntry] = [await opened(journal, call), await opened(journal, other)];
    const counted: (readonly [string, number, number | null | undefined])[] = [];
    const count = (name: string) => (): void => {
      const { openings, closings } = inspectJournal(folder);
      counted.push([name, closings, recordOfKilledCall(openings[0]!).limits[0]!.settled]);
    };
    expect(journal.countSettled()).toBe(false);
    call.limits[0]!.settled = 7;
    journal.countWhenStated(call.traceId, count("in flight"));
    journal.countWhenStated(other.traceId, count("ended"));
    const closed = journal.close(otherEntry, ended(other));
    expect(counted).toEqual([]);
    await closed;
    expect(counted).toEqual([
      ["in flight", 1, 7],
      ["ended", 1, 7],
    ]);
    call.limits[0]!.settled = 8;
    journal.countWhenStated(call.traceId, count("at once"));
    expect([journal.countSettled(), counted.at(-1)]).toEqual([true, ["at once", 1, 8]]);
    // without an entry in this turn
    journal.countWhenStated("a call that is not known", count("unknown"));
    await Bun.sleep(0);
    await journal.synced();
    expect(counted.at(-1)).toEqual(["unknown", 1, 8]);
    await journal.close(entry, ended(call));
    await journal.end();
  });

  test("[d11.2] written entries are synced within 5 ms in the background, many at once", async () => {
    const disk = testDisk();
    const journal = newJournal(newFolder(), { disk });
    jest.useFakeTimers();
    try {
      await Promise.all(Array.from({ length: 100 }, () => journal.close(journal.open(aCall()), ended(aCall()))));
      expect(disk.syncs).toHaveLength(0);
      jest.advanceTimersByTime(5);
      expect(disk.syncs).toHaveLength(1);
    } finally {
      jest.useRealTimers();
    }
    await Bun.sleep(20);
    expect(disk.syncs.length).toBeLessThanOrEqual(2);
    await journal.end();
  });

  test("[d11.2] with before_answer the last byte waits for the disk, and one sync serves all waiting calls", async () => {
    const disk = testDisk();
    const { promise, resolve } = Promise.withResolvers<void>();
    const journal = newJournal(newFolder(), { disk, settings: { sync: "before_answer", onFull: "refuse" } });
    disk.syncGate = promise;
    let released = 0;
    const waits = Array.from({ length: 20 }, () =>
      journal.close(journal.open(aCall()), ended(aCall())).then(() => (released += 1)),
    );
    await Bun.sleep(15);
    expect(released).toBe(0);
    resolve();
    await Promise.all(waits);
    // the first closing began one; the nineteen behind it wait for the next
    expect(disk.syncs.length).toBeLessThanOrEqual(3);
    await journal.end();
  });

  test("a failed sync is reported, and later entries go to another segment", async () => {
    const disk = testDisk();
    const faults: string[] = [];
    const mended: string[] = [];
    const folder = newFolder();
    const journal = newJournal(folder, {
      disk,
      onFault: (words) => faults.push(words),
      onMended: (words) => mended.push(words),
    });
    disk.syncFails = true;
    journal.open(aCall());
    await journal.synced();
    expect(faults).toEqual(["EIO: i/o error, fdatasync"]);
    expect(journal.refusal()).toContain("EIO");
    disk.syncFails = false;
    await until(() => mended.length > 0, "mended");
    await opened(journal, aCall());
    expect(segmentsOf(folder)).toEqual([1, 2]);
    await journal.end();
  });

  test("a file that cannot be closed holds up nobody", async () => {
    const disk = testDisk();
    const faults: string[] = [];
    const journal = newJournal(newFolder(), { disk, segmentBytes: 1, onFault: (words) => faults.push(words) });
    const close = disk.close.bind(disk);
    disk.close = (fd) => {
      close(fd);
      throw Object.assign(new Error("EIO: i/o error, close"), { code: "EIO" });
    };
    for (let calls = 0; calls < 3; calls++) {
      await journal.close(await opened(journal, aCall()), aCall());
      await journal.synced();
    }
    await journal.end();
    expect(faults).toEqual([]);
  });

  test("a text that exceeds the size of an entry is cut and marked", async () => {
    const folder = newFolder();
    const journal = newJournal(folder);
    const call = aCall();
    await journal.close(
      await opened(journal, { ...call, metadata: { much: "x".repeat(5_000_000) } }),
      ended(call, { metadata: { much: "x".repeat(5_000_000) } }),
    );
    expect(readFileSync(segmentPath(folder, 1)).length).toBeLessThan(10_000);
    expect(readFileSync(segmentPath(folder, 1), "latin1")).toContain('"record_cut"');
    await journal.end();
  });

  test("segments are readable by the owner alone", async () => {
    const folder = newFolder();
    const journal = newJournal(folder);
    await opened(journal, aCall());
    expect(statSync(segmentPath(folder, 1)).mode & 0o777).toBe(0o600);
    await journal.end();
  });
});

describe("calls that were refused before they were admitted", () => {
  test("leave a closing row each, and a flood of them a bounded number", async () => {
    const folder = newFolder();
    const journal = newJournal(folder);
    for (let count = 0; count < 5000; count++)
      void journal.close(null, { ...aCall({ tenantId: null, tokenId: null }), status: 401, code: "invalid_token" });
    for (let count = 0; count < 10; count++)
      await journal.close(null, { ...aCall(), status: 400, code: "invalid_request" });
    await journal.synced();
    const { rows, unrecorded } = journal.status();
    expect(rows).toBeGreaterThanOrEqual(210);
    expect(rows).toBeLessThan(250);
    expect(rows + unrecorded).toBe(5010);
    expect(inspectJournal(folder).closings).toBe(rows);
    await journal.end();
  });
});

describe("a full disk", () => {
  test("[d11.2] refuses new calls, keeps the rows of calls in flight, and recovers by itself when there is room", async () => {
    const disk = testDisk();
    const told: string[] = [];
    const folder = newFolder();
    disk.room = 4 * 4096;
    const journal = newJournal(folder, {
      disk,
      onFault: (words) => told.push(words),
      onMended: (words) => told.push(words),
    });
    await journal.start();
    const calls = Array.from({ length: 4 }, () => aCall());
    const entries = await Promise.all(calls.map((call) => opened(journal, call)));
    disk.room = 0;
    // what was set aside takes these rows
    await Promise.all(entries.map((entry, index) => journal.close(entry, ended(calls[index]!))));
    expect(told).toHaveLength(1);
    expect(inspectJournal(folder)).toMatchObject({ openings: [], closings: 4, damages: [] });
    expect(codeOf(() => journal.open(aCall()))).toBe("ledger_unavailable");
    expect(journal.refusal()).toContain("ENOSPC");
    disk.room = 1_000_000;
    await until(() => journal.refusal() === null, "calls run again");
    expect(told[1]).toBe("no row was lost");
    await journal.close(await opened(journal, aCall()), ended(aCall()));
    expect(inspectJournal(folder)).toMatchObject({ closings: 5 });
    await journal.end();
  });

  test("[d11.2] leaves the journal its reserve: rows of calls in flight reach a disk that fills up again, also after a kill", async () => {
    const disk = testDisk();
    const folder = newFolder();
    disk.room = 4 * 4096;
    const killed = newJournal(folder, { disk, probeMs: 60_000, segmentBytes: 100 });
    await killed.start();
    const calls = Array.from({ length: 4 }, () => aCall());
    const entries = await Promise.all(calls.map((call) => opened(killed, call)));
    for (const [index, entry] of entries.entries()) {
      // another program takes whatever is free, but for less than a row
      disk.room = 100;
      await killed.close(entry, ended(calls[index]!));
    }
    expect(killed.status()).toMatchObject({ openCalls: 0, waitingRows: 0 });
    // what is read by the next process: the rest of the room behind the rows counts as nothing
    const findings = inspectJournal(folder);
    expect(findings).toMatchObject({ openings: [], closings: 4, damages: [] });
    cutTorn(folder, findings);
    expect(statSync(segmentPath(folder, findings.lastSegment)).size).toBe(findings.sizes.get(findings.lastSegment)!);
    await killed.end();
  });

  test.each([0, 1])(
    "[d11.2] gives up the reserve where overwriting it takes new blocks, from byte %d on",
    async (from) => {
      const disk = testDisk();
      const folder = newFolder();
      disk.room = 4 * 4096;
      const journal = newJournal(folder, { disk, probeMs: 60_000 });
      await journal.start();
      const calls = Array.from({ length: 2 }, () => aCall());
      const entries = await Promise.all(calls.map((call) => opened(journal, call)));
      const taken: number[] = [];
      const before = { ...disk };
      disk.takeOver = (path, name) => taken[taken.push(before.takeOver(path, name)) - 1]!;
      disk.write = (fd, bytes, length, position) => {
        if (taken.includes(fd) && position >= from && disk.room < length) throw diskFull();
        return before.write(fd, bytes, length, position);
      };
      disk.room = 0;
      await Promise.all(entries.map((entry, index) => journal.close(entry, ended(calls[index]!))));
      expect(taken).toHaveLength(1);
      expect(inspectJournal(folder)).toMatchObject({ openings: [], closings: 2, damages: [] });
      await journal.end();
    },
  );

  test("[d11.2] with on_full: continue calls run without a row, and rows wait in memory for room", async () => {
    const disk = testDisk();
    const told: string[] = [];
    const folder = newFolder();
    const journal = newJournal(folder, {
      disk,
      settings: { sync: "background", onFull: "continue" },
      onFault: (words) => told.push(words),
    });
    disk.room = 0;
    for (let count = 0; count < 10_050; count++) {
      const call = aCall();
      await journal.close(journal.open(call), ended(call));
    }
    expect(told).toHaveLength(1);
    expect(journal.refusal()).toBeNull();
    expect(journal.status()).toMatchObject({
      waitingRows: 10_000,
      lost: 50,
      fault: expect.stringContaining("ENOSPC") as string,
    });
    disk.room = Number.POSITIVE_INFINITY;
    await until(() => journal.status().fault === null, "the disk takes rows again");
    expect(inspectJournal(folder)).toMatchObject({ closings: 10_000 });
    await journal.end();
  });

  test("[d11.2] whatever number of bytes the disk still takes, the journal stays intact and no closing is lost", async () => {
    for (let room = 0; room < 2200; room += 7) {
      const disk = testDisk();
      const folder = newFolder();
      const journal = newJournal(folder, { disk });
      const calls = [aCall(), aCall()];
      disk.room = room;
      const entries = await Promise.all(calls.map((call) => opened(journal, call).catch(() => null)));
      await Promise.all(
        entries.flatMap((entry, index) => (entry === null ? [] : journal.close(entry, ended(calls[index]!)))),
      );
      const admitted = entries.filter((entry) => entry !== null).length;
      disk.room = 1_000_000;
      await until(() => journal.refusal() === null, "calls run again");
      expect({ room, ...inspectJournal(folder) }).toMatchObject({
        room,
        openings: [],
        closings: admitted,
        damages: [],
      });
      await journal.end();
    }
  });

  test("the end waits for the reserve that is being made, and leaves none behind", async () => {
    const disk = testDisk();
    const folder = newFolder();
    const begun = Promise.withResolvers<void>();
    const gate = Promise.withResolvers<void>();
    const made = Promise.withResolvers<void>();
    const reserve = disk.reserve.bind(disk);
    disk.reserve = async (...args) => {
      begun.resolve();
      await gate.promise;
      await reserve(...args).finally(made.resolve);
    };
    const journal = newJournal(folder, { disk });
    disk.room = 0;
    journal.open(aCall());
    await until(() => journal.refusal() !== null, "the fault");
    disk.room = 1_000_000;
    await begun.promise;
    let isOver = false;
    const over = journal.end().then(() => (isOver = true));
    // others that end meanwhile, one after the other, take longer than this one would
    for (let others = 0; others < 3; others++) {
      const other = newJournal(newFolder());
      await opened(other, aCall());
      await other.end();
    }
    expect(isOver).toBe(false);
    gate.resolve();
    await Promise.all([over, made.promise]);
    expect(existsSync(reservePath(folder))).toBe(false);
  });

  test("a disk that is full at the start refuses calls until there is room", async () => {
    const disk = testDisk();
    disk.room = 100;
    const journal = newJournal(newFolder(), { disk });
    await journal.start();
    expect(codeOf(() => journal.open(aCall()))).toBe("ledger_unavailable");
    disk.room = 1_000_000;
    await until(() => journal.refusal() === null, "calls run");
    await journal.end();
  });
});

describe("segments", () => {
  test("a full one is followed by the next, and released ones are removed; calls in flight are written again first", async () => {
    const folder = newFolder();
    const journal = newJournal(folder, { segmentBytes: 2000 });
    const long = aCall();
    const entry = await opened(journal, long);
    while (segmentsOf(folder).length < 4) await journal.close(await opened(journal, aCall()), ended(aCall()));
    for (const segment of [1, 2, 3]) expect(await release(folder, journal, segment)).toBe(true);
    expect(segmentsOf(folder)[0]).toBe(4);
    expect(inspectJournal(folder).openings.some((opening) => opening.includes(long.traceId))).toBe(true);
    await journal.close(entry, ended(long));
    expect(inspectJournal(folder).openings.some((opening) => opening.includes(long.traceId))).toBe(false);
    await journal.end();
  });

  test("a number that is already in use is skipped", async () => {
    const folder = newFolder();
    const late = newJournal(folder, { firstSegment: 3 });
    await opened(late, aCall());
    const journal = newJournal(folder, { firstSegment: 2, segmentBytes: 400 });
    for (let count = 0; count < 3; count++) await opened(journal, aCall());
    expect(journal.refusal()).toBeNull();
    expect(segmentsOf(folder)).toEqual([2, 3, 4]);
    expect(inspectJournal(folder).openings).toHaveLength(4);
    await Promise.all([journal.end(), late.end()]);
  });

  test("are kept where the disk does not take the openings again", async () => {
    const disk = testDisk();
    const folder = newFolder();
    const journal = newJournal(folder, { disk, segmentBytes: 2000 });
    await opened(journal, aCall());
    while (segmentsOf(folder).length < 3) await journal.close(await opened(journal, aCall()), ended(aCall()));
    disk.room = 0;
    expect(await release(folder, journal, 1)).toBe(false);
    expect(segmentsOf(folder)).toEqual([1, 2, 3]);
    await journal.end();
  });
});

describe("preallocated zeros after the entries", () => {
  const sizeOf = (folder: string, segment: number): number => statSync(segmentPath(folder, segment)).size;

  test("a segment that fills has space prepared, which is not counted and is removed at its end", async () => {
    const folder = newFolder();
    const journal = newJournal(folder);
    await recordCalls(journal, 20);
    expect(sizeOf(folder, 1)).toBe(journal.writtenTo.offset);
    await recordCalls(journal, 80);
    await until(() => sizeOf(folder, 1) > journal.writtenTo.offset + 512 * 1024, "zeros ahead");
    expect(inspectJournal(folder)).toMatchObject({
      closings: 100,
      openings: [],
      damages: [],
      sizes: new Map([[1, journal.writtenTo.offset]]),
    });
    await recordCalls(journal, 50);
    expect(inspectJournal(folder)).toMatchObject({ closings: 150, damages: [] });
    const written = journal.writtenTo.offset;
    await journal.end();
    expect(sizeOf(folder, 1)).toBe(written);
  });

  test("[d11.2] the space that a killed process left is cut at the next start, after the entry that was being written", async () => {
    const folder = newFolder();
    const journal = newJournal(folder);
    const ids = await recordCalls(journal, 100);
    await until(() => sizeOf(folder, 1) > journal.writtenTo.offset + 512 * 1024, "zeros ahead");
    const written = journal.writtenTo.offset;
    const left = readFileSync(segmentPath(folder, 1));
    await journal.end();
    for (const torn of [0, 1, 40]) {
      const bytes = Buffer.from(left);
      bytes.fill(0, written - torn, written);
      writeFileSync(segmentPath(folder, 1), bytes);
      const findings = inspectJournal(folder);
      expect(findings).toMatchObject({
        closings: torn === 0 ? 100 : 99,
        damages: torn === 0 ? [] : [{ isTail: true }],
        lastSegment: 1,
      });
      cutTorn(folder, findings);
      expect(sizeOf(folder, 1)).toBe(findings.damages[0]?.offset ?? written);
      expect(inspectJournal(folder)).toMatchObject({ closings: findings.closings, damages: [] });
    }
    expect(ids).toHaveLength(100);
  });

  test("no entry goes where zeros are being written: where those are slow, the next segment takes it", async () => {
    const disk = testDisk();
    const { promise, resolve } = Promise.withResolvers<void>();
    disk.zeroGate = promise;
    const folder = newFolder();
    const journal = newJournal(folder, { disk });
    await recordCalls(journal, 400);
    expect(segmentsOf(folder).length).toBeGreaterThan(1);
    resolve();
    await until(() => inspectJournal(folder).closings === 400, "all rows");
    await recordCalls(journal, 100);
    await journal.end();
    expect(inspectJournal(folder)).toMatchObject({ closings: 500, openings: [], damages: [] });
    expect(inspectJournal(folder).sizes.values().toArray()).toEqual(
      segmentsOf(folder).map((segment) => sizeOf(folder, segment)),
    );
  });

  test("a disk without room for them still takes entries", async () => {
    const disk = testDisk();
    const folder = newFolder();
    const journal = newJournal(folder, {
      disk: { ...disk, zero: () => Promise.reject(new Error("ENOSPC: no space left on device, write")) },
    });
    await recordCalls(journal, 100);
    await Bun.sleep(10);
    await recordCalls(journal, 500);
    expect(journal.refusal()).toBeNull();
    expect(segmentsOf(folder)).toEqual([1]);
    expect(inspectJournal(folder)).toMatchObject({ closings: 600, damages: [] });
    await journal.end();
  });
});

describe("the lock", () => {
  test("one process holds a folder, and the system releases it when the process is killed", async () => {
    const folder = newFolder();
    const program = `const { lockFolder } = await import(${JSON.stringify(new URL("../../../src/store/journal/journal-folder.ts", import.meta.url).href)}); const lock = lockFolder(${JSON.stringify(folder)}); console.log(lock !== null); await Bun.sleep(60_000); lock.release();`;
    const child = Bun.spawn([process.execPath, "-e", program], { stdout: "pipe" });
    const reader = child.stdout.getReader();
    expect(new TextDecoder().decode((await reader.read()).value)).toBe("true\n");
    expect(lockFolder(folder)).toBeNull();
    child.kill("SIGKILL");
    await child.exited;
    const lock = lockFolder(folder);
    expect(lock).not.toBeNull();
    expect(lockFolder(folder)).toBeNull();
    lock!.release();
    const again = lockFolder(folder);
    expect(again).not.toBeNull();
    again!.release();
  });
});

test("no reserve is kept where the disk has not twice as much room", async () => {
  const reserving = systemDisk.reserve(`${newFolder()}/reserve`, 2 ** 52, 0).then(
    () => "done",
    (fault: unknown) => (fault as { readonly code: string }).code,
  );
  expect(await reserving).toBe("ENOSPC");
});
