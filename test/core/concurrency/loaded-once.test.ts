// Values that are loaded on first use: once, and again after a failure.
import { describe, expect, test } from "bun:test";
import { mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { loadedOnce } from "../../../src/core/concurrency/loaded-once.ts";

describe("a value that is loaded on first use", () => {
  test("is loaded once for all concurrent and later callers", async () => {
    let loads = 0;
    const load = loadedOnce(async () => {
      loads++;
      await Bun.sleep(1);
      return { loads };
    });
    const [one, other] = await Promise.all([load(), load()]);
    expect([one === other, (await load()) === one, loads]).toEqual([true, true, 1]);
  });

  test("is loaded again after a failure, which all waiting callers receive", async () => {
    let loads = 0;
    const load = loadedOnce(() =>
      ++loads < 3 ? Promise.reject(new Error(`failure ${loads}`)) : Promise.resolve("here"),
    );
    const told = (ask: Promise<unknown>): Promise<string> =>
      ask.then(String, (thrown: unknown) => (thrown as Error).message);
    expect(await Promise.all([told(load()), told(load())])).toEqual(["failure 1", "failure 1"]);
    expect([await told(load()), await told(load()), await told(load())]).toEqual(["failure 2", "here", "here"]);
    expect(loads).toBe(3);
  });

  test("is imported when an unreadable module file becomes readable", async () => {
    const folder = mkdtempSync(join(tmpdir(), "loaded-once-"));
    const file = join(folder, "late.ts");
    const load = loadedOnce(async () => ((await import(file)) as { readonly word: string }).word);
    expect(await load().catch(() => "not there")).toBe("not there");
    writeFileSync(file, 'export const word = "there";');
    expect(await load()).toBe("there");
    rmSync(folder, { recursive: true });
  });
});
