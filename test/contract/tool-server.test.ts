// The transports to a tool server, through their common suite, and servers of the protocol's newer version, which has
// no sessions.
import { afterAll, describe, expect, test } from "bun:test";
import { Cancellation } from "../../src/core/concurrency/cancellation.ts";
import { systemClock } from "../../src/core/clock.ts";
import type { ToolTransport } from "../../src/core/configured/tool.ts";
import { openToolServers } from "../../src/mcp/open-tool-servers.ts";
import { createSocketUpstream } from "../../src/wire/http/upstream-socket.ts";
import { EVERYTHING_PROGRAM, openEverything } from "../harness/tools/everything-server.ts";
import { openModernToolServer } from "../harness/tools/modern-tool-server.ts";
import { ASKER } from "../harness/tools/tool-server.ts";
import { serverOf, toolServerSuite } from "./tool-server.suite.ts";
import { until } from "../harness/time/until.ts";

const http = (kind: "auto" | "streamable_http" | "sse", url: string): ToolTransport => ({
  kind,
  url,
  headers: {},
  oauth: null,
  guarded: false,
});

toolServerSuite("a program's input and output", () =>
  Promise.resolve({ transport: EVERYTHING_PROGRAM, reached: "stdio", stop: () => Promise.resolve() }),
);
for (const kind of ["streamable_http", "auto"] as const)
  toolServerSuite(`Streamable HTTP (${kind})`, async () => {
    const { url, restart, stop } = await openEverything("streamableHttp");
    return { transport: http(kind, url), reached: "streamable_http", restart, stop };
  });
for (const kind of ["sse", "auto"] as const)
  toolServerSuite(`Server-Sent Events (${kind})`, async () => {
    const { url, restart, stop } = await openEverything("sse");
    return { transport: http(kind, url), reached: "sse", restart, stop };
  });

describe("a tool server of the newer protocol, without sessions", () => {
  const end = openModernToolServer();
  const servers = openToolServers({
    clock: systemClock,
    upstream: createSocketUpstream(),
    allowPrivateAddresses: () => false,
    log: () => {},
  });
  const server = serverOf(http("auto", end.url), { key: "modern", label: "modern", timeoutMs: 3000 });
  afterAll(async () => {
    await servers.close();
    await end.stop();
  });

  test("is called in its own version", async () => {
    expect(await servers.test(server, new Cancellation())).toMatchObject({
      transport: "streamable_http",
      protocolVersion: "2026-07-28",
      name: "modern",
      tools: 4,
    });
    expect(await servers.call(server, "echo", { message: "hello" }, new Cancellation(), ASKER)).toMatchObject({
      parts: [{ kind: "text", text: "hello" }],
      blocks: [{ type: "text", text: "hello" }],
      isError: false,
    });
    expect((await servers.call(server, "sum", { a: 1, b: 2 }, new Cancellation(), ASKER)).structured).toEqual({
      sum: 3,
    });
    expect(end.methods.includes("initialize")).toBe(false);
  });

  test("that asks for input first is refused, and the client is not asked", async () => {
    const { isError, parts } = await servers.call(server, "asks", {}, new Cancellation(), ASKER);
    expect([isError, parts[0]]).toEqual([
      true,
      { kind: "text", text: expect.stringContaining("do not declare the required capability") },
    ]);
  });

  test("notices by the end of the stream that a caller has left", async () => {
    const signal = new Cancellation();
    const gone = new Error("the client left");
    const cancelled = servers.call(server, "slow", {}, signal, ASKER).catch((thrown: unknown) => thrown);
    await until(() => end.slowBegun === 1);
    signal.abort(gone);
    expect(await cancelled).toBe(gone);
    await until(() => end.cancelled === 1);
  });

  test("is asked for its list again when it announces a change", async () => {
    const names = async (): Promise<readonly string[]> =>
      (await servers.list(server, new Cancellation())).map(({ name }) => name);
    expect(await names()).not.toContain("grown");
    end.grow("grown");
    await until(async () => (await names()).includes("grown"));
  });
});

test("[d10.5] a result of the newer protocol that does not say what it is, is complete", async () => {
  const end = openModernToolServer({ saysResultType: false });
  const servers = openToolServers({
    clock: systemClock,
    upstream: createSocketUpstream(),
    allowPrivateAddresses: () => false,
    log: () => {},
  });
  const server = serverOf(http("auto", end.url), { key: "silent", label: "silent", timeoutMs: 3000 });
  try {
    expect(await servers.test(server, new Cancellation())).toMatchObject({ protocolVersion: "2026-07-28", tools: 4 });
    expect(await servers.call(server, "echo", { message: "hello" }, new Cancellation(), ASKER)).toMatchObject({
      parts: [{ kind: "text", text: "hello" }],
      blocks: [{ type: "text", text: "hello" }],
      isError: false,
    });
  } finally {
    await servers.close();
    await end.stop();
  }
});
