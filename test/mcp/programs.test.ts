// Tool servers that are programs: what they receive from the gateway, and what happens to the present and the next call
// when they end, write nonsense or never stop.
import { afterEach, beforeEach, describe, expect, test } from "bun:test";
import { mkdtempSync, readdirSync, realpathSync, rmSync, statSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { Cancellation } from "../../src/core/concurrency/cancellation.ts";
import { systemClock } from "../../src/core/clock.ts";
import type { ToolServer } from "../../src/core/configured/tool.ts";
import { openToolServers, type OpenToolServers } from "../../src/mcp/open-tool-servers.ts";
import { createSocketUpstream } from "../../src/wire/http/upstream-socket.ts";
import { until } from "../harness/time/until.ts";
import { failure } from "../harness/tools/faulty-tools.ts";
import { ASKER } from "../harness/tools/tool-server.ts";

const isAlive = (pid: number): boolean => {
  try {
    return process.kill(pid, 0);
  } catch {
    return false;
  }
};
const PROGRAM = join(import.meta.dir, "../harness/tools/tool-program.ts");

let folder: string;
let servers: OpenToolServers;
let told: string[];

beforeEach(() => {
  folder = realpathSync(mkdtempSync(join(tmpdir(), "dragoman-program-")));
  told = [];
  servers = openToolServers({
    clock: systemClock,
    upstream: createSocketUpstream(),
    allowPrivateAddresses: () => false,
    log: (_level, words, fields) => told.push(`${words}: ${fields["error_detail"] ?? ""}`),
  });
});
afterEach(async () => {
  await servers.close();
  rmSync(folder, { recursive: true });
});

const starts = (): number => readdirSync(folder).filter((file) => file.startsWith("start-")).length;

function program({
  flags = [],
  environment = {},
  ...more
}: Partial<ToolServer> & {
  readonly flags?: readonly string[];
  readonly environment?: Readonly<Record<string, string>>;
} = {}): ToolServer {
  const transport = {
    kind: "stdio",
    command: process.execPath,
    args: [PROGRAM, folder, ...flags],
    environment,
    folder,
  } as const;
  return {
    key: folder,
    tenantId: null,
    label: "program",
    transport,
    // far above what a start takes on a busy machine: tests about the timeout set their own
    timeoutMs: 60_000,
    maxResultBytes: 64 * 1024,
    maxConcurrent: 8,
    allowedTools: null,
    role: null,
    approval: "never",
    ...more,
  };
}

async function call(server: ToolServer, tool: string, args = {}): Promise<string> {
  const { parts } = await servers.call(server, tool, args, new Cancellation(), ASKER);
  return parts.map((part) => (part.kind === "text" ? part.text : part.kind)).join("|");
}

describe("a program", () => {
  test("gets the variables that are configured for it, none of the gateway's secrets, and its folder", async () => {
    process.env["DRAGOMAN_MASTER_KEY_OF_THIS_TEST"] = "secret";
    const variables = (await call(program({ environment: { COLOUR: "blue" } }), "env")).split(" ");
    delete process.env["DRAGOMAN_MASTER_KEY_OF_THIS_TEST"];
    expect(variables).toContain("COLOUR");
    expect(
      variables.filter((name) => !["COLOUR", "HOME", "LOGNAME", "PATH", "SHELL", "TERM", "USER"].includes(name)),
    ).toEqual([]);
    expect(await call(program(), "where")).toBe(folder);
  });

  test("that ends in the middle of a call is reported at once, and started again for the next", async () => {
    const server = program({ timeoutMs: 30_000 });
    const first = await call(server, "pid");
    const beganMs = performance.now();
    const error = await failure(call(server, "dies"));
    expect([error.code, error.message, performance.now() - beganMs < 20_000]).toEqual([
      "tool_server_failed",
      "The tool server program failed.",
      true,
    ]);
    expect(await call(server, "pid")).not.toBe(first);
    expect(told.join()).toContain("the program has ended");
  });

  test("that ends whenever it is started is not started for a while", async () => {
    const server = program({ flags: ["--dies-at-start"] });
    for (let count = 0; count < 20; count++)
      expect((await failure(call(server, "echo"))).code).toBe("tool_server_failed");
    // each of the first attempts starts one to ask for its version, and one to speak with
    expect(starts()).toBeLessThan(8);
    expect((await failure(call(server, "echo"))).detail).toContain("not started again");
  });

  test("that does not exist fails with a message that does not name it", async () => {
    const server = {
      ...program(),
      transport: {
        kind: "stdio",
        command: join(folder, "no-such-secret-program"),
        args: [],
        environment: {},
        folder: null,
      },
    } as ToolServer;
    const error = await failure(call(server, "echo"));
    expect([error.code, error.message]).toEqual(["tool_server_failed", "The tool server program failed."]);
  });

  test("that writes nonsense among its answers, and much to its error output, goes on, and the log stays short", async () => {
    const server = program();
    expect(await call(server, "noise")).toBe("still here");
    expect(await call(server, "echo", { a: 1 })).toBe('{"a":1}');
    await Bun.sleep(100);
    expect(told.length).toBeLessThanOrEqual(60);
  });

  test("is quoted in the log without the values of its variables, letter by letter and to its last line", async () => {
    const key = "tk-6f1c9d2b8e7a4053";
    expect(await call(program({ environment: { TOOL_KEY: key } }), "tells")).toBe("told");
    await servers.close();
    await until(() => told.some((line) => line.endsWith(": ä")));
    expect(told.join("\n")).toContain("refused: [credential]");
    expect(told.join("\n")).not.toContain("6f1c9d2b");
  });

  test("that answers without end is stopped once it has sent more than is read, and started again", async () => {
    const server = program();
    const error = await failure(call(server, "giant"));
    expect([error.code, error.detail]).toEqual(["tool_server_failed", expect.stringContaining("maximum size")]);
    const sentMb = statSync(join(folder, "megabytes")).size;
    // what the program has written ahead of its pipe counts as well
    expect([sentMb > 4, sentMb < 64]).toEqual([true, true]);
    expect(await call(server, "echo", {})).toBe("{}");
  });

  test("whose result is larger than its bound fails, and others are served", async () => {
    const server = program();
    expect((await failure(call(server, "large"))).detail).toContain("larger than 65536 bytes");
    expect((await call(program({ key: "another", maxResultBytes: 1024 * 1024 }), "large")).length).toBe(200_000);
    expect(await call(server, "echo", {})).toBe("{}");
  });

  test("[d5.8] whose message has too many values is stopped before it is read, and started again", async () => {
    const server = program({ maxResultBytes: 1024 * 1024 });
    // each message has a bound of its own
    for (let sent = 0; sent < 2; sent++) expect(await call(server, "many", { values: 90_000 })).toBe("90000");
    expect((await failure(call(server, "many", { values: 100_001 }))).detail).toContain("more than 100000 values");
    expect(await call(server, "echo", {})).toBe("{}");
  });

  test("that never answers runs into its timeout, and ends with the gateway", async () => {
    const server = program({ timeoutMs: 2000 });
    const pid = Number(await call({ ...server, timeoutMs: 20_000 }, "pid"));
    expect((await failure(call(server, "forever"))).code).toBe("tool_timeout");
    await servers.close();
    await until(() => !isAlive(pid));
  });

  test("that stops reading its requests is stopped, and started again", async () => {
    const server = program({ timeoutMs: 300, maxConcurrent: 2 });
    const pid = await call({ ...server, timeoutMs: 20_000 }, "pid");
    const big = { big: "x".repeat(1024 * 1024) };
    const codes: string[] = [];
    for (let count = 0; count < 20 && !codes.includes("tool_server_failed"); count++)
      codes.push((await failure(call(server, count === 0 ? "deaf" : "echo", big))).code);
    expect([codes[0], codes.at(-1), codes.length < 10]).toEqual(["tool_timeout", "tool_server_failed", true]);
    await until(() => !isAlive(Number(pid)));
    expect(await call({ ...server, timeoutMs: 20_000 }, "pid")).not.toBe(pid);
  });

  test("that is not used for a while is stopped, and started for the next call", async () => {
    const idle = openToolServers(
      { clock: systemClock, upstream: createSocketUpstream(), allowPrivateAddresses: () => false, log: () => {} },
      { idleMs: 200 },
    );
    const server = program();
    const { parts } = await idle.call(server, "pid", {}, new Cancellation(), ASKER);
    await until(() => idle.figures().connections === 0);
    expect((await idle.call(server, "pid", {}, new Cancellation(), ASKER)).parts).not.toEqual(parts);
    await idle.close();
  });
});
