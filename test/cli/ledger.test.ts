// `dragoman ledger status` and `verify`: the content of the journal, beside a process that writes it, and its damage.
import { expect, test } from "bun:test";
import { mkdirSync, readdirSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { systemClock } from "../../src/core/clock.ts";
import { segmentPath, segmentsOf } from "../../src/store/journal/journal-folder.ts";
import { openLedger } from "../../src/store/journal/open-ledger.ts";
import { runCli } from "../harness/processes/gateway-process.ts";
import { aCall, newFolder, newJournal, opened, recordCalls, testSink } from "../store/journal/ledger-parts.ts";

const run = async (command: string, data: string) => {
  const { code, stdout, stderr } = await runCli(["ledger", command, "--data", data, "--json"]);
  return { code, told: stdout === "" ? null : (JSON.parse(stdout) as Record<string, unknown>[]), stderr };
};

test("[d11.2] status counts ended and open calls and unshipped entries; verify names damaged ones", async () => {
  const data = newFolder();
  const folder = join(data, "ledger", "0");
  mkdirSync(folder, { recursive: true });
  const journal = newJournal(folder);
  await recordCalls(journal, 3);
  await opened(journal, aCall());
  const path = segmentPath(folder, 1);
  const bytes = readFileSync(path);
  expect(await run("status", data)).toMatchObject({
    code: 0,
    told: [
      {
        folder,
        segments: 1,
        bytes: bytes.length,
        unshipped_bytes: bytes.length,
        closings: 3,
        unsettled: 0,
        open_calls: 1,
        damages: [],
      },
    ],
  });
  expect(await run("verify", data)).toMatchObject({ code: 0, told: [] });
  bytes[200]! ^= 1;
  writeFileSync(path, Buffer.concat([bytes, Buffer.from("torn")]));
  const { code, told } = await run("verify", data);
  expect(code).toBe(1);
  expect(told).toMatchObject([
    {
      damages: [
        { file: path, offset: 67, tail: false },
        { file: path, offset: bytes.length, bytes: 4, tail: true },
      ],
    },
  ]);
  await journal.end();
});

test("[d11.2] verify finds a missing segment, between others, before and after them, and what was set aside", async () => {
  const data = newFolder();
  const folder = join(data, "ledger");
  const sink = testSink();
  sink.refuses = () => true;
  const open = () =>
    openLedger({
      folder,
      settings: { sync: "background", onFull: "refuse" },
      sink,
      clock: systemClock,
      segmentBytes: 1500,
      log: () => {},
    });
  const ledger = await open();
  await recordCalls(ledger, 12);
  await ledger.end();
  const own = join(folder, "0");
  const segments = segmentsOf(own);
  expect(await run("verify", data)).toMatchObject({ code: 0, told: [] });
  const whole = segments.map(
    (segment) => [segmentPath(own, segment), readFileSync(segmentPath(own, segment))] as const,
  );
  const [first, , third, fourth] = whole.map(([path]) => path);
  const last = whole.at(-1)![0];
  for (const gone of [[first!], [third!, fourth!], [last]]) {
    for (const path of gone) rmSync(path);
    expect(await run("verify", data)).toMatchObject({
      code: 1,
      told: [{ missing: [{ from: gone[0], to: gone.at(-1) }] }],
    });
    for (const [path, bytes] of whole) writeFileSync(path, bytes);
  }
  // damage in the middle of one: what can be read is shipped, and the file stays
  const [path, bytes] = whole[2]!;
  const broken = Buffer.from(bytes);
  broken[Math.floor(broken.length / 2)]! ^= 4;
  writeFileSync(path, broken);
  sink.refuses = () => false;
  const again = await open();
  await again.end();
  expect(segmentsOf(own)).toEqual([]);
  expect(sink.rows.size).toBeGreaterThanOrEqual(11);
  const aside = readdirSync(own).find((name) => name.endsWith(".damaged"))!;
  expect(readFileSync(join(own, aside))).toEqual(broken);
  expect(await run("verify", data)).toMatchObject({ code: 1, told: [{ missing: [], set_aside: [join(own, aside)] }] });
});

test("a folder without a ledger is reported with its cure", async () => {
  const { code, stderr } = await run("status", newFolder());
  expect([code, stderr]).toEqual([2, expect.stringContaining("--data") as unknown as string]);
});
