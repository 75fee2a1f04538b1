// A file that changes in all the ways in which editors, deployments and accidents change files.
import { afterEach, beforeEach, describe, expect, test } from "bun:test";
import {
  mkdirSync,
  mkdtempSync,
  readFileSync,
  renameSync,
  rmSync,
  symlinkSync,
  unlinkSync,
  utimesSync,
  writeFileSync,
} from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { FileFollower } from "../../src/config/file-follower.ts";
import { until } from "../harness/time/until.ts";

let folder: string;
let file: string;
let told: string[];
let follower: FileFollower | null;

beforeEach(() => {
  folder = mkdtempSync(join(tmpdir(), "dragoman-follower-"));
  file = join(folder, "dragoman.yaml");
  told = [];
  follower = null;
});
afterEach(() => {
  follower?.close();
  rmSync(folder, { recursive: true });
});

function follow(text: string, pollMs = 20): void {
  writeFileSync(file, text);
  follower = new FileFollower({
    file,
    text,
    pollMs,
    onText: (changed) => void told.push(changed),
    onFault: (fault) => void told.push(fault.message.replace(file, "F")),
  });
}
/** Resolves when so many changes have been reported; then waits a little longer for reports that should not come. */
async function toldThings(count: number): Promise<readonly string[]> {
  await until(() => told.length >= count);
  await Bun.sleep(120);
  return told;
}

describe("a followed file", () => {
  test("that does not change reports nothing", async () => {
    follow("a");
    expect(await toldThings(0)).toEqual([]);
  });

  test("reports a text that is written over it, and one that replaces it", async () => {
    follow("a");
    writeFileSync(file, "b");
    expect(await toldThings(1)).toEqual(["b"]);
    writeFileSync(join(folder, "new"), "c");
    renameSync(join(folder, "new"), file);
    expect(await toldThings(2)).toEqual(["b", "c"]);
  });

  test("reports a change that keeps size and time stamp", async () => {
    const at = new Date();
    follow("a");
    utimesSync(file, at, at);
    await toldThings(0);
    writeFileSync(file, "b");
    utimesSync(file, at, at);
    expect(await toldThings(1)).toEqual(["b"]);
  });

  test("is found through a symbolic link whose target changes", async () => {
    for (const [name, text] of [
      ["one", "a"],
      ["two", "b"],
    ] as const) {
      mkdirSync(join(folder, name));
      writeFileSync(join(folder, name, "dragoman.yaml"), text);
    }
    symlinkSync("one", join(folder, "data"));
    symlinkSync("data/dragoman.yaml", file);
    follower = new FileFollower({
      file,
      text: "a",
      pollMs: 20,
      onText: (changed) => void told.push(changed),
      onFault: (fault) => void told.push(fault.message),
    });
    await toldThings(0);
    symlinkSync("two", join(folder, "new"));
    renameSync(join(folder, "new"), join(folder, "data"));
    expect(await toldThings(1)).toEqual(["b"]);
  });

  test("that is removed is a fault, reported once, and its return with another text is reported", async () => {
    follow("a");
    unlinkSync(file);
    expect(await toldThings(1)).toEqual(["F: there is no such file"]);
    writeFileSync(file, "a");
    expect(await toldThings(1)).toEqual(["F: there is no such file"]);
    writeFileSync(file, "b");
    expect(await toldThings(2)).toEqual(["F: there is no such file", "b"]);
  });

  test("that is cut to nothing is a fault, and not an empty text", async () => {
    follow("a");
    writeFileSync(file, "");
    expect(await toldThings(1)).toEqual(["F: is empty now"]);
    writeFileSync(file, "b");
    expect(await toldThings(2)).toEqual(["F: is empty now", "b"]);
  });

  test("that is being written is not read until it is complete", async () => {
    follow("start");
    for (let length = 1; length <= 20; length++) {
      writeFileSync(file, "whole".repeat(length));
      await Bun.sleep(5);
    }
    expect(await toldThings(1)).toEqual(["whole".repeat(20)]);
  });

  test("that is written all the time is read all the same", async () => {
    follow("start");
    // a report comes between two writes
    for (let count = 0; told.length === 0; count++) {
      writeFileSync(file, `text ${count}`);
      await Bun.sleep(8);
    }
    await until(() => told.at(-1) === readFileSync(file, "utf8"));
  });

  test("is noticed by polling alone when the watcher reports nothing, and by the watcher long before the next poll", async () => {
    follow("a", 60_000);
    await Bun.sleep(20);
    writeFileSync(file, "b");
    expect(await toldThings(1)).toEqual(["b"]);
    follower!.close();
    // The file of this one lies in a folder that is not there yet, and cannot be watched.
    const late = join(folder, "later", "dragoman.yaml");
    told = [];
    follower = new FileFollower({
      file: late,
      text: "a",
      pollMs: 20,
      onText: (changed) => void told.push(changed),
      onFault: () => undefined,
    });
    mkdirSync(join(folder, "later"));
    writeFileSync(late, "c");
    expect(await toldThings(1)).toEqual(["c"]);
  });

  test("is reported again on demand, and never after the end", async () => {
    follow("a", 60_000);
    await follower!.check({ again: true });
    expect(told).toEqual(["a"]);
    await follower!.check();
    expect(told).toEqual(["a"]);
    writeFileSync(file, "b");
    const look = follower!.check();
    follower!.close();
    await look;
    await follower!.check({ again: true });
    expect(await toldThings(1)).toEqual(["a"]);
  });
});
