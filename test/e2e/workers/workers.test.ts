// A gateway with two workers as real processes: one address, limits exact over both, workers that are killed, hang or are
// restarted, and a supervisor that is killed.
import { Database } from "bun:sqlite";
import { afterEach, describe, expect, test } from "bun:test";
import { existsSync, mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { createConnection } from "node:net";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { isDeepStrictEqual } from "node:util";
import { Client } from "@modelcontextprotocol/sdk/client/index.js";
import { StreamableHTTPClientTransport } from "@modelcontextprotocol/sdk/client/streamableHttp.js";
import { ElicitRequestSchema } from "@modelcontextprotocol/sdk/types.js";
import { newAccessToken } from "../../../src/auth/tokens/access-token.ts";
import { type GatewayProcess, runCli } from "../../harness/processes/gateway-process.ts";
import { openToolServer, said } from "../../harness/tools/tool-server.ts";
import { until } from "../../harness/time/until.ts";
import { childrenOf, isRunning } from "../../harness/processes/processes.ts";
import { openaiAnswer, startUpstream } from "../../harness/servers/upstream.ts";
import { callAlone, startWorkers } from "../../harness/workers.ts";
import { MODEL, openWorkerWorld, statusOf, type WorkerWorld } from "./worker-world.ts";

/** In bytes. */
const MORE_THAN_SOCKETS_HOLD = 32 * 1024 * 1024;

const LAST_CHUNK = "\r\n0\r\n\r\n";

const ends: (() => unknown)[] = [];
afterEach(async () => {
  for (const end of ends.splice(0).toReversed()) await end();
});

async function openWorld(config?: string): Promise<WorkerWorld> {
  const world = await openWorkerWorld(config);
  ends.push(() => world.close());
  return world;
}

interface CallRow {
  readonly status: number;
  readonly settled: number;
}

function rowsOf(dataFolder: string): readonly CallRow[] {
  const database = new Database(join(dataFolder, "dragoman.sqlite"), { readonly: true });
  const rows = database.query<CallRow, []>("SELECT status, settled FROM call").all();
  database.close();
  return rows;
}

function tokensOf(dataFolder: string): number {
  const database = new Database(join(dataFolder, "dragoman.sqlite"), { readonly: true });
  const sum = database
    .query<{ readonly tokens: number }, []>("SELECT sum(prompt_tokens + completion_tokens) AS tokens FROM call")
    .get()!.tokens;
  database.close();
  return sum;
}

const ended = (gateway: GatewayProcess): number =>
  gateway.lines().filter(({ msg }) => msg === "a worker has ended unexpectedly and is replaced").length;

const replaced = (gateway: GatewayProcess): number =>
  gateway.lines().filter(({ msg }) => msg === "a worker serves calls").length;

describe("two workers", () => {
  test("[d13.1] serve one address, have one log and one ledger, and end together without leaving anything", async () => {
    const { gateway, dataFolder } = await openWorld(
      "limits:\n  hourly: {metric: requests, limit: 1000000, window: hour}",
    );
    const workers = childrenOf(gateway.pid);
    expect(workers).toHaveLength(2);
    const statuses = await Promise.all(Array.from({ length: 60 }, () => statusOf(callAlone(gateway, MODEL))));
    expect(new Set(statuses)).toEqual(new Set([200]));
    expect(await gateway.stop("SIGTERM")).toBe(0);
    expect(workers.filter(isRunning)).toEqual([]);
    // every line of the log is whole
    expect(gateway.lines().filter(({ msg }) => msg === "call")).toHaveLength(60);
    expect(rowsOf(dataFolder)).toEqual(Array.from({ length: 60 }, () => ({ status: 200, settled: 1 })));
    expect(gateway.errors()).toBe("");
    expect(gateway.lines().filter(({ level }) => level === "error" || level === "warn")).toEqual([]);
  });

  test("[d9.5 d13.1] are not ready before the first project and token are there, and serve the token as soon as one of them is ready", async () => {
    const free = Bun.serve({ port: 0, hostname: "127.0.0.1", fetch: () => new Response() });
    const port = String(free.port);
    await free.stop(true);
    const token = newAccessToken("project").text;
    const ready = until(async () => {
      const answer = await fetch(`http://127.0.0.1:${port}/readyz`, { keepalive: false }).catch(() => null);
      return answer?.status === 200;
    });
    const starting = startWorkers(4, { config: "", port, environment: { DRAGOMAN_FIRST_TOKEN: token } });
    ends.push(async () => (await starting).stop("SIGKILL"));
    await ready;
    const answer = await fetch(`http://127.0.0.1:${port}/api/v1/models`, {
      headers: { authorization: `Bearer ${token}`, connection: "close" },
    });
    expect([answer.status, await answer.text()]).toEqual([200, expect.stringContaining("sandbox:echo")]);
  });

  test("[d13.1] admit exactly as many calls as a limit allows, and hold exactly its concurrency", async () => {
    const { gateway, hold, upstream } = await openWorld(
      "limits:\n  hourly: {metric: requests, limit: 25, window: hour}\n  few: {metric: concurrency, limit: 5}",
    );
    hold(true);
    const first = Array.from({ length: 20 }, () => statusOf(callAlone(gateway, MODEL)));
    let refused = 0;
    for (const status of first) void status.then((code) => (refused += code === 429 ? 1 : 0));
    await until(
      () => refused === 15,
      () => `${refused} of 15 calls are refused`,
    );
    // The calls that were admitted may still be on their way.
    await until(() => upstream.seen.length === 5);
    hold(false);
    expect((await Promise.all(first)).filter((code) => code === 200)).toHaveLength(5);
    let served = 5;
    for (let round = 0; round < 12; round++)
      served += (await Promise.all(Array.from({ length: 4 }, () => statusOf(callAlone(gateway, MODEL))))).filter(
        (code) => code === 200,
      ).length;
    expect(served).toBe(25);
    expect(upstream.seen).toHaveLength(25);
  });

  test("[d13.1] a second gateway on the port is refused, although the workers share it", async () => {
    const { gateway } = await openWorld();
    const { port } = new URL(gateway.url);
    for (const workers of ["1", "2"]) {
      const folder = mkdtempSync(join(tmpdir(), "dragoman-workers-"));
      const { code, stderr } = await runCli(["serve", "--port", port, "--data", folder, "--workers", workers]);
      expect([code, stderr]).toEqual([1, expect.stringContaining(`port ${port} on 127.0.0.1 is in use`)]);
      rmSync(folder, { recursive: true });
    }
  });

  test("[d13.2] a worker that is killed is replaced; its calls are recovered, their places are free, and no other call fails", async () => {
    const { gateway, hold, dataFolder, upstream } = await openWorld(
      "limits:\n  few: {metric: concurrency, limit: 8}\nbudgets:\n  all: {tokens: 1000000, window: total}",
    );
    hold(true);
    const calls = Array.from({ length: 8 }, () => statusOf(callAlone(gateway, MODEL)).catch(() => "reset" as const));
    await until(() => upstream.seen.length === 8);
    const [victim, other] = childrenOf(gateway.pid);
    process.kill(victim!, "SIGKILL");
    await until(() => ended(gateway) === 1);
    hold(false);
    const outcomes = await Promise.all(calls);
    const lost = outcomes.filter((outcome) => outcome === "reset").length;
    expect(outcomes.filter((outcome) => outcome === 200)).toHaveLength(8 - lost);
    await until(() => childrenOf(gateway.pid).length === 2);
    expect(childrenOf(gateway.pid)).toContain(other!);
    hold(true);
    const again = Array.from({ length: 9 }, () => statusOf(callAlone(gateway, MODEL)));
    await until(() => upstream.seen.length === 16);
    hold(false);
    const statuses = await Promise.all(again);
    expect(statuses.filter((status) => status === 200)).toHaveLength(8);
    // the supervisor reads the journal of the killed worker beside its other work, or at the next start
    const recovered = (): readonly CallRow[] => rowsOf(dataFolder).filter(({ settled }) => settled === 0);
    await until(() => recovered().length >= lost, "the calls of the killed worker are recovered");
    expect(await gateway.stop("SIGTERM")).toBe(0);
    expect(recovered()).toHaveLength(lost);
    expect(rowsOf(dataFolder)).toHaveLength(17);
  });

  test.each([
    ["is broken", "policies: [\n"],
    ["is empty", ""],
    ["is gone", null],
    ["names another database", 'server: {database_url: "postgres://nobody@127.0.0.1:1/none"}\n'],
  ])("[d13.2] a worker is replaced with what is in use while the configuration file %s", async (_, text) => {
    const { gateway, config } = await openWorld(`policies:\n  no-echo: {rule: 'target.provider == "sandbox"'}\n`);
    const file = join(gateway.folder, "dragoman.yaml");
    const statuses = async (body: object): Promise<ReadonlySet<number>> =>
      new Set(await Promise.all(Array.from({ length: 20 }, () => statusOf(callAlone(gateway, body)))));
    if (text === null) rmSync(file);
    else writeFileSync(file, text.startsWith("server") ? text + config : text);
    process.kill(childrenOf(gateway.pid)[0]!, "SIGKILL");
    await until(() => gateway.lines().some(({ msg }) => msg === "a worker serves calls"));
    expect(await statuses(MODEL)).toEqual(new Set([200]));
    expect(await statuses({ ...MODEL, model: "sandbox:echo" })).toEqual(new Set([403]));
    // it follows the file from there
    writeFileSync(file, config.replace("sandbox", "mine"));
    await until(async () => isDeepStrictEqual(await statuses(MODEL), new Set([403])));
  });

  test("[d13.2] a worker is replaced with the settings of the others where a changed one needs a restart", async () => {
    const { gateway, config, folder, dataFolder } = await openWorld();
    const elsewhere = join(folder, "elsewhere");
    writeFileSync(
      join(gateway.folder, "dragoman.yaml"),
      `${config}policies:\n  none: {rule: "true"}\nledger: {folder: ${JSON.stringify(elsewhere)}}\nlog: {level: error}\n`,
    );
    await until(async () => (await statusOf(callAlone(gateway, MODEL))) === 403);
    process.kill(childrenOf(gateway.pid)[0]!, "SIGKILL");
    await until(() => gateway.lines().some(({ msg }) => msg === "a worker serves calls"));
    const logged = (): number => gateway.lines().filter(({ msg }) => msg === "call").length;
    const before = logged();
    for (let call = 0; call < 20; call++) expect(await statusOf(callAlone(gateway, MODEL))).toBe(403);
    await until(() => logged() >= before + 20, "both workers log their calls");
    expect(existsSync(elsewhere)).toBe(false);
    expect(existsSync(join(dataFolder, "ledger"))).toBe(true);
  });

  test("[d13.2] a worker is replaced although the files of secrets and of the first token are gone", async () => {
    const folder = mkdtempSync(join(tmpdir(), "dragoman-workers-"));
    ends.push(() => rmSync(folder, { recursive: true, force: true }));
    const keyFile = join(folder, "key");
    const tokenFile = join(folder, "token");
    const token = newAccessToken("project").text;
    writeFileSync(keyFile, "secret-of-the-file\n");
    writeFileSync(tokenFile, token);
    const upstream = startUpstream(() => Response.json(openaiAnswer("hello")));
    ends.push(() => upstream.stop());
    const gateway = await startWorkers(2, {
      dataFolder: join(folder, "data"),
      environment: { DRAGOMAN_FIRST_TOKEN_FILE: tokenFile },
      config: `
providers:
  mine: {type: custom, base_url: "${upstream.url}/v1", api_key: "\${file:${keyFile}}", models: [model]}
`,
    });
    ends.push(() => gateway.stop("SIGKILL"));
    rmSync(keyFile);
    rmSync(tokenFile);
    for (const worker of childrenOf(gateway.pid)) {
      const before = replaced(gateway);
      process.kill(worker, "SIGKILL");
      await until(() => replaced(gateway) > before, "the worker is replaced");
    }
    for (let call = 0; call < 10; call++) expect(await statusOf(callAlone(gateway, MODEL, { token }))).toBe(200);
    expect(new Set(upstream.seen.map(({ headers }) => headers["authorization"]))).toEqual(
      new Set(["Bearer secret-of-the-file"]),
    );
    const errors = gateway.lines().filter(({ level }) => level === "error");
    expect(errors.map(({ msg }) => msg)).toEqual(
      Array<string>(2).fill("a worker has ended unexpectedly and is replaced"),
    );
  });

  test("[d13.2] a restart of the workers reads the files of secrets again", async () => {
    const folder = mkdtempSync(join(tmpdir(), "dragoman-workers-"));
    ends.push(() => rmSync(folder, { recursive: true, force: true }));
    const keyFile = join(folder, "key");
    writeFileSync(keyFile, "first-secret\n");
    const upstream = startUpstream(() => Response.json(openaiAnswer("hello")));
    ends.push(() => upstream.stop());
    const gateway = await startWorkers(2, {
      config: `
providers:
  mine: {type: custom, base_url: "${upstream.url}/v1", api_key: "\${file:${keyFile}}", models: [model]}
`,
    });
    ends.push(() => gateway.stop("SIGKILL"));
    expect(await statusOf(callAlone(gateway, MODEL))).toBe(200);
    writeFileSync(keyFile, "second-secret\n");
    const old = childrenOf(gateway.pid);
    process.kill(gateway.pid, "SIGUSR2");
    await until(() => !old.some(isRunning), "the workers are restarted");
    expect(await statusOf(callAlone(gateway, MODEL))).toBe(200);
    expect(upstream.seen.map(({ headers }) => headers["authorization"])).toEqual([
      "Bearer first-secret",
      "Bearer second-secret",
    ]);
  });

  test("[d13.2] a worker that hangs is ended and replaced; one that gets no CPU is left alone, and gets no connections", async () => {
    const { gateway } = await openWorld();
    const [stopped, spinning] = childrenOf(gateway.pid);
    process.kill(stopped!, "SIGSTOP");
    // it is avoided after a while, and from then on every call is answered by the other one
    let inARow = 0;
    await until(async () => {
      const status = await statusOf(callAlone(gateway, MODEL, { signal: AbortSignal.timeout(200) })).catch(() => 0);
      inARow = status === 200 ? inARow + 1 : 0;
      return inARow === 20;
    });
    expect(isRunning(stopped!)).toBe(true);
    process.kill(stopped!, "SIGCONT");
    process.kill(spinning!, "SIGUSR1");
    await until(() => !isRunning(spinning!));
    await until(() => childrenOf(gateway.pid).length === 2);
    expect(childrenOf(gateway.pid)).toContain(stopped!);
    await until(() =>
      gateway
        .lines()
        .some(({ msg }) => msg === "a worker does not respond although it computes: it is ended and replaced"),
    );
  });

  test("[d13.2] a restart of the workers, one after the other, loses no call", async () => {
    const { gateway, upstream } = await openWorld();
    const before = childrenOf(gateway.pid);
    let isOver = false;
    const statuses: (number | string)[] = [];
    const caller = async (): Promise<void> => {
      while (!isOver) statuses.push(await statusOf(callAlone(gateway, MODEL)).catch(String));
    };
    const running = Promise.all(Array.from({ length: 6 }, caller));
    process.kill(gateway.pid, "SIGUSR2");
    await until(() => gateway.lines().some(({ msg }) => msg === "all workers have been restarted"));
    await until(() => before.every((pid) => !isRunning(pid)));
    isOver = true;
    await running;
    expect(new Set(statuses)).toEqual(new Set([200]));
    expect(upstream.seen).toHaveLength(statuses.length);
    expect(childrenOf(gateway.pid)).toHaveLength(2);
    expect(gateway.lines().filter(({ level }) => level === "error" || level === "warn")).toEqual([]);
  });

  test("[d13.2 d16.3] a restart of the workers waits for a person who was asked whether a tool may run, and then runs the tool", async () => {
    const office = openToolServer({ tools: [{ name: "open_door", run: () => said("the door is open") }] });
    ends.push(() => office.stop());
    const { gateway } = await openWorld(`tool_servers:\n  office: {url: "${office.url}"}`);
    const client = new Client({ name: "client", version: "1" }, { capabilities: { elicitation: {} } });
    ends.push(() => client.close());
    const [asked, thought] = [Promise.withResolvers<void>(), Promise.withResolvers<void>()];
    client.setRequestHandler(ElicitRequestSchema, async () => {
      asked.resolve();
      await thought.promise;
      return { action: "accept", content: { approve: true } };
    });
    const headers = { authorization: `Bearer ${gateway.firstToken!}` };
    await client.connect(
      new StreamableHTTPClientTransport(new URL(`${gateway.url}/mcp`), { requestInit: { headers } }),
    );
    const before = childrenOf(gateway.pid);
    const running = client.callTool({ name: "office__open_door", arguments: {} });
    await asked.promise;
    process.kill(gateway.pid, "SIGUSR2");
    await until(() => gateway.lines().some(({ msg }) => msg === "all workers have been restarted"));
    // the worker without a call has ended, and the other one waits
    await until(() => before.filter(isRunning).length === 1);
    thought.resolve();
    expect(await running).toMatchObject({ content: [{ type: "text", text: "the door is open" }] });
    await until(() => !before.some(isRunning));
    expect(gateway.lines().filter(({ level }) => level === "error" || level === "warn")).toEqual([]);
  });

  test("[d13.2] a restart of the workers cuts no answer whose client reads slowly", async () => {
    const text = "x".repeat(MORE_THAN_SOCKETS_HOLD);
    const upstream = startUpstream(() => Response.json(openaiAnswer(text)));
    ends.push(() => upstream.stop());
    const gateway = await startWorkers(2, {
      config: `providers:\n  mine: {type: custom, base_url: "${upstream.url}/v1", api_key: key, models: [model]}`,
    });
    ends.push(() => gateway.stop());
    const before = childrenOf(gateway.pid);
    const { hostname, port } = new URL(gateway.url);
    const client = createConnection(Number(port), hostname);
    ends.push(() => client.destroy());
    const body = JSON.stringify(MODEL);
    client.write(
      `POST /v1/chat/completions HTTP/1.1\r\nhost: ${hostname}:${port}\r\nauthorization: Bearer ${gateway.firstToken!}\r\n` +
        `content-type: application/json\r\ncontent-length: ${body.length}\r\nconnection: close\r\n\r\n${body}`,
    );
    const parts: Buffer[] = [];
    await new Promise<void>((resolve) => {
      client.on("data", (part: Buffer) => {
        parts.push(part);
        if (parts.length > 1) return;
        client.pause();
        resolve();
      });
    });
    // until the call has ended for longer than last bytes have when the whole gateway ends
    const endsMs = performance.now() + 6_000;
    for (let restarts = 1; performance.now() < endsMs; restarts++) {
      process.kill(gateway.pid, "SIGUSR2");
      const restarted = (): number =>
        gateway.lines().filter(({ msg }) => msg === "all workers have been restarted").length;
      await until(() => restarted() === restarts);
    }
    await until(() => before.filter(isRunning).length === 1);
    client.resume();
    await until(() => client.closed, "the client has read everything");
    const read = Buffer.concat(parts);
    expect(read.subarray(-LAST_CHUNK.length).toString()).toBe(LAST_CHUNK);
    expect(read.length).toBeGreaterThan(text.length);
    await until(() => !before.some(isRunning));
  });

  test("[d13.2 d11.2] a gateway that ends during a restart also ends the calls of workers that were replaced in its own time", async () => {
    const { gateway, hold, dataFolder, upstream } = await openWorld("server: {drain_s: 1}");
    hold(true);
    const running = callAlone(gateway, MODEL);
    await until(() => upstream.seen.length === 1);
    process.kill(gateway.pid, "SIGUSR2");
    await until(() => gateway.lines().some(({ msg }) => msg === "all workers have been restarted"));
    const stopped = gateway.stop("SIGTERM");
    const answer = await running;
    expect([answer.status, await answer.json()]).toEqual([
      503,
      expect.objectContaining({ error: expect.objectContaining({ code: "shutting_down" }) }),
    ]);
    expect(await stopped).toBe(0);
    expect(gateway.lines().filter(({ level }) => level === "error")).toEqual([]);
    expect(rowsOf(dataFolder)).toEqual([{ status: 503, settled: 1 }]);
  });

  test("[d13.2] without a supervisor workers end: calls that run may finish, and nothing under a limit is admitted", async () => {
    const { gateway, hold, upstream } = await openWorld(
      "limits:\n  hourly: {metric: requests, limit: 1000, window: hour}",
    );
    const workers = childrenOf(gateway.pid);
    hold(true);
    const running = Array.from({ length: 4 }, () => statusOf(callAlone(gateway, MODEL)));
    await until(() => upstream.seen.length === 4);
    process.kill(gateway.pid, "SIGKILL");
    await until(() => !isRunning(gateway.pid));
    // connections are refused as soon as the workers have closed their listeners
    const later = await statusOf(callAlone(gateway, MODEL)).catch(() => "refused" as const);
    expect([503, "refused"]).toContain(later);
    expect(upstream.seen).toHaveLength(4);
    hold(false);
    expect(await Promise.all(running)).toEqual([200, 200, 200, 200]);
    await until(() => workers.every((pid) => !isRunning(pid)));
  });

  test("[d13.2] workers whose supervisor is killed under load close the port at once, and the next gateway starts on it", async () => {
    const config = "limits:\n  hourly: {metric: requests, limit: 1000000, window: hour}";
    const { gateway, hold, upstream, ...world } = await openWorld(config);
    const workers = childrenOf(gateway.pid);
    hold(true);
    const running = Array.from({ length: 4 }, () => statusOf(callAlone(gateway, MODEL)));
    await until(() => upstream.seen.length === 4);
    let served = 0;
    let refused = 0;
    const caller = async (): Promise<void> => {
      for (;;) {
        const status = await statusOf(callAlone(gateway, { ...MODEL, model: "sandbox:echo" })).catch(() => null);
        if (status === null) return;
        if (status === 200) served += 1;
        else refused += 1;
      }
    };
    const callers = Array.from({ length: 6 }, caller);
    await until(() => served > 100);
    process.kill(gateway.pid, "SIGKILL");
    await Promise.all(callers);
    // a caller is refused by a worker only where its call was under way when that worker lost the supervisor
    expect(refused).toBeLessThanOrEqual(callers.length * workers.length);
    expect(workers.filter(isRunning)).not.toEqual([]);
    const { port } = new URL(gateway.url);
    const next = await startWorkers(2, { dataFolder: world.dataFolder, config: world.config, port });
    ends.push(() => next.stop("SIGKILL"));
    expect(await statusOf(callAlone(next, { ...MODEL, model: "sandbox:echo" }, { token: gateway.firstToken! }))).toBe(
      200,
    );
    hold(false);
    expect(await Promise.all(running)).toEqual([200, 200, 200, 200]);
  });

  test("[d11.2 d13.2] a gateway that starts while workers of a killed supervisor end their calls counts what they reserved, and then what they used", async () => {
    const limit = 1_000_000;
    const world = await openWorld(`budgets:\n  all: {tokens: ${limit}, window: total}`);
    const { gateway, hold, upstream, dataFolder } = world;
    const token = gateway.firstToken!;
    const workers = childrenOf(gateway.pid);
    hold(true);
    const running = Array.from({ length: 4 }, () => statusOf(callAlone(gateway, { ...MODEL, max_tokens: 1000 })));
    await until(() => upstream.seen.length === 4);
    process.kill(gateway.pid, "SIGKILL");
    await until(() => !isRunning(gateway.pid));
    const next = await startWorkers(2, { dataFolder, config: world.config });
    ends.push(() => next.stop("SIGKILL"));
    const used = async (): Promise<number> => {
      const response = await next.chat({ ...MODEL, model: "sandbox:echo" }, { token });
      await response.text();
      return limit - Number(response.headers.get("x-ratelimit-remaining-tokens"));
    };
    let last = await used();
    expect(last).toBeGreaterThan(4 * 1000);
    expect(workers.filter(isRunning).length).toBeGreaterThan(0);
    hold(false);
    expect(await Promise.all(running)).toEqual([200, 200, 200, 200]);
    // the workers end one after the other, and each of the calls had reserved 1,000 tokens
    await until(async () => (last = await used()) < 1000);
    expect(await next.stop("SIGTERM")).toBe(0);
    expect(last).toBe(tokensOf(dataFolder));
  });

  test.each(["before", "after"] as const)(
    "[d13.2] a worker that hangs %s its supervisor is killed ends too",
    async (order) => {
      const { gateway, hold, upstream } = await openWorld();
      const [hanging, other] = childrenOf(gateway.pid);
      hold(true);
      // each worker has some of them, but for one time in many thousands
      const running = Array.from({ length: 16 }, () => statusOf(callAlone(gateway, MODEL)).catch(() => "reset"));
      await until(() => upstream.seen.length === 16);
      if (order === "before") process.kill(hanging!, "SIGUSR1");
      process.kill(gateway.pid, "SIGKILL");
      if (order === "after") {
        // the workers have seen it when they listen no more; until then the provider holds back every answer
        await until(async () => {
          const fault = await callAlone(gateway, MODEL, { signal: AbortSignal.timeout(200) }).catch(
            (error: unknown) => (error as Error).name,
          );
          return fault !== "TimeoutError";
        });
        process.kill(hanging!, "SIGUSR1");
      }
      hold(false);
      await until(() => !isRunning(hanging!) && !isRunning(other!));
      expect(await Promise.all(running)).toContain("reset");
    },
  );
});
