// Requests to a thread.
import { afterAll, expect, test } from "bun:test";
import { mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { pathToFileURL } from "node:url";
import { RequestThread } from "../../src/wire/request-thread.ts";

const folder = mkdtempSync(join(tmpdir(), "dragoman-thread-"));
afterAll(() => rmSync(folder, { recursive: true }));

const ECHO = `
import { parentPort } from "node:worker_threads";
parentPort.on("message", ({ id, args }) => parentPort.postMessage({ id, result: args[0] }));
`;

test("[d5.8] a request that cannot be sent fails alone, and is not counted as waiting", async () => {
  const program = join(folder, "echo.mjs");
  writeFileSync(program, ECHO);
  const thread = new RequestThread<"echo">({
    program: pathToFileURL(program),
    setup: null,
    ended: (why) => new Error(why),
    failed: ({ message }) => new Error(message),
  });
  const fault = await thread.request("echo", [() => {}]).catch((thrown: unknown) => thrown);
  expect(fault).toBeInstanceOf(DOMException);
  expect(thread.pendingCount).toBe(0);
  expect(await thread.request<string>("echo", ["hello"])).toBe("hello");
  expect(thread.pendingCount).toBe(0);
  await thread.close(false);
});
