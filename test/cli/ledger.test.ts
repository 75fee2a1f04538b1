// `dragoman ledger status` and `verify`: what the journal holds, beside a process that writes it, and what is damaged.
import { expect, test } from "bun:test";
import { mkdirSync, readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { segmentPath } from "../../src/store/journal-folder.ts";
import { runCli } from "../harness/gateway-process.ts";
import { aCall, ended, newFolder, newJournal } from "../store/ledger-parts.ts";

const run = async (command: string, data: string) => {
  const { code, stdout, stderr } = await runCli(["ledger", command, "--data", data, "--json"]);
  return { code, told: stdout === "" ? null : (JSON.parse(stdout) as Record<string, unknown>[]), stderr };
};

test("[d11.2] status counts ended and open calls and what has not been shipped; verify names what is damaged", async () => {
  const data = newFolder();
  const folder = join(data, "ledger", "0");
  mkdirSync(folder, { recursive: true });
  const journal = newJournal(folder);
  for (let count = 0; count < 3; count++) {
    const call = aCall();
    void journal.close(journal.open(call), ended(call));
  }
  journal.open(aCall());
  const path = segmentPath(folder, 1);
  const bytes = readFileSync(path);
  expect(await run("status", data)).toMatchObject({ code: 0, told: [{ folder, segments: 1, bytes: bytes.length, unshipped_bytes: bytes.length, closings: 3, unsettled: 0, open_calls: 1, damages: [] }] });
  expect(await run("verify", data)).toMatchObject({ code: 0, told: [] });
  bytes[200]! ^= 1;
  writeFileSync(path, Buffer.concat([bytes, Buffer.from("torn")]));
  const { code, told } = await run("verify", data);
  expect(code).toBe(1);
  expect(told).toMatchObject([{ damages: [{ file: path, offset: 0, tail: false }, { file: path, offset: bytes.length, bytes: 4, tail: true }] }]);
  await journal.end();
});

test("a folder without a ledger is told with its cure", async () => {
  const { code, stderr } = await run("status", newFolder());
  expect([code, stderr]).toEqual([2, expect.stringContaining("--data") as unknown as string]);
});
