// The sink of log lines: every line is written once, whole and in order, to a file as to a pipe; what a slow reader leaves waiting is bounded and counted.
import { afterAll, expect, test } from "bun:test";
import { closeSync, mkdtempSync, openSync, readFileSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { fileOutput, openLineSink } from "../../src/observe/line-sink.ts";
import { chanceOf, printedSeed } from "../harness/time/chance.ts";

const BLOCK_BYTES = 4096;
const folder = mkdtempSync(join(tmpdir(), "dragoman-lines-"));
afterAll(() => rmSync(folder, { recursive: true, force: true }));

/** Lines of one to some thousand characters, some of which take several bytes. */
function lines(seed: number, count: number): readonly string[] {
  const chance = chanceOf(seed);
  return Array.from(
    { length: count },
    (_, at) => `${at} ${"xé😀".repeat(chance.below(chance.below(9) === 0 ? 3000 : 60))}\n`,
  );
}

/** Writes the lines, which are flushed now and then, and waits until the system has them. */
async function written(output: ReturnType<typeof fileOutput>, all: readonly string[], seed: number): Promise<void> {
  const chance = chanceOf(seed);
  const sink = openLineSink({ output, blockBytes: BLOCK_BYTES, maxWaitingBytes: Number.POSITIVE_INFINITY });
  for (const line of all) {
    sink.write(line);
    if (chance.below(50) === 0) void sink.flush();
    if (chance.below(50) === 0) await Bun.sleep(0);
  }
  await sink.flush();
}

test("[d11.1] a file gets every line once, whole and in order, behind what it has", async () => {
  const seed = printedSeed("lines to a file");
  const path = join(folder, "log");
  await Bun.write(path, "before\n");
  const file = openSync(path, "a");
  const all = lines(seed, 3000);
  await written(fileOutput(file, 2 * BLOCK_BYTES), all, seed + 1);
  closeSync(file);
  expect(readFileSync(path, "utf8")).toBe(`before\n${all.join("")}`);
});

test("[d11.1] a pipe gets every line once, whole and in order", async () => {
  const seed = printedSeed("lines to a pipe");
  const path = join(folder, "pipe");
  expect(Bun.spawnSync(["mkfifo", path]).exitCode).toBe(0);
  const all = lines(seed, 3000);
  // the output keeps the pipe open
  const reader = Bun.spawn(["head", "-c", String(Buffer.byteLength(all.join(""))), path], { stdout: "pipe" });
  const pipe = openSync(path, "w");
  const read = new Response(reader.stdout).text();
  await written(fileOutput(pipe, 2 * BLOCK_BYTES), all, seed + 1);
  closeSync(pipe);
  expect(await read).toBe(all.join(""));
});

test("[d11.1] while the reader does not read, a bounded number of bytes waits, and further lines are counted", async () => {
  const accepted: string[] = [];
  const reading = Promise.withResolvers<void>();
  const output = {
    async write(text: string) {
      await reading.promise;
      accepted.push(text);
    },
  };
  const sink = openLineSink({ output, blockBytes: 10, maxWaitingBytes: 100 });
  const all = Array.from({ length: 100 }, (_, at) => `line ${at + 100}\n`);
  for (const line of all) sink.write(line);
  const dropped = sink.dropped();
  // the first block has left for the system and waits there
  expect(all.slice(0, 100 - dropped).join("").length).toBeLessThanOrEqual(100 + 18);
  reading.resolve();
  await sink.flush();
  expect(accepted.join("")).toBe(all.slice(0, 100 - dropped).join(""));
  sink.write("later\n");
  await sink.flush();
  expect(accepted.at(-1)).toBe("later\n");
  expect(sink.dropped()).toBe(dropped);
});

test("[d11.1] of several lines that were written together, each that is dropped is counted", async () => {
  const sink = openLineSink({ output: { write: async () => {} }, blockBytes: 10, maxWaitingBytes: 20 });
  sink.write("a line\nanother line\na third line\n");
  expect(sink.dropped()).toBe(3);
});

test("[d11.1] a file that can no longer be written fails nobody", async () => {
  const file = openSync(join(folder, "closed"), "w");
  const output = fileOutput(file, 2 * BLOCK_BYTES);
  closeSync(file);
  const sink = openLineSink({ output, blockBytes: BLOCK_BYTES, maxWaitingBytes: 1_000_000 });
  for (const line of lines(1, 100)) sink.write(line);
  await sink.flush();
});
