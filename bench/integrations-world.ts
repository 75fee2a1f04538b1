// Shared by the drill and the benchmark of integrations: receivers of every mood, a configuration with all kinds of
// integrations at once, calls at a fixed rate, and what the gateway reports and uses meanwhile.
import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { createServer, type Server, type Socket } from "node:net";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { type IntegrationSettings, integrationsSection } from "../src/observe/integrations/integration-settings.ts";
import { type GatewayProcess, startGateway } from "../test/harness/processes/gateway-process.ts";
import { residentMb, threadSeconds } from "./subjects/process-stats.ts";

export type Mood = "none" | "healthy" | "dead" | "slow" | "lying";

const SECRET = `whsec_${Buffer.from("0123456789012345678901234567").toString("base64")}`;
/** Small enough to fill within seconds, so that the rest of the run shows whether memory stays bounded. */
const QUEUE_CALLS = 1000;
const MODULES: Readonly<Record<Exclude<Mood, "none">, string>> = {
  healthy:
    "let calls = 0; export const onCallStart = () => { calls += 1; }; export const onCallEnd = () => { calls -= 1; };",
  dead: "export const onCallStart = () => { throw new Error('dead'); }; export const onCallEnd = () => { throw new Error('dead'); };",
  slow: "export const onCallStart = () => {}; export const onCallEnd = () => new Promise((resolve) => setTimeout(resolve, 200));",
  lying:
    "let calls = 0; export const onCallStart = () => {}; export const onCallEnd = () => { calls += 1; if (calls % 300 === 0) for (;;); if (calls % 211 === 0) process.exit(1); if (calls % 7 === 0) throw new Error('no'); };",
};

export interface ReceiverServer {
  readonly url: string;
  requests(): number;
  stop(): Promise<void>;
}

/**
 * Wrong answers that are sent in turn: status 200 with garbage, status 500, an incomplete answer, and text that is not
 * HTTP.
 */
const LIES: readonly string[] = [
  'HTTP/1.1 200 OK\r\ncontent-type: application/json\r\ncontent-length: 9\r\n\r\n{"lie":no',
  "HTTP/1.1 500 No\r\ncontent-length: 0\r\n\r\n",
  "HTTP/1.1 200 OK\r\ncontent-length: 1000\r\n\r\nhalf",
  "no HTTP at all\r\n\r\n",
];

function lyingServer(): Promise<{
  readonly server: Server;
  readonly sockets: ReadonlySet<Socket>;
  readonly seen: { requests: number };
}> {
  const seen = { requests: 0 };
  const sockets = new Set<Socket>();
  const server = createServer((socket) => {
    sockets.add(socket);
    socket.on("close", () => sockets.delete(socket));
    socket.on("error", () => {});
    socket.once("data", () => {
      const lie = LIES[seen.requests++ % LIES.length]!;
      // the whole request is read first, because a connection reset could hide the answer
      setTimeout(() => socket.end(lie), 20);
    });
  });
  return new Promise((resolve) => server.listen(0, "127.0.0.1", () => resolve({ server, sockets, seen })));
}

export async function startReceiver(mood: Mood): Promise<ReceiverServer> {
  if (mood === "lying") {
    const { server, sockets, seen } = await lyingServer();
    const { port } = server.address() as { readonly port: number };
    return {
      url: `http://127.0.0.1:${port}`,
      requests: () => seen.requests,
      stop: () => {
        for (const socket of sockets) socket.destroy();
        return new Promise((resolve) => server.close(() => resolve()));
      },
    };
  }
  let requests = 0;
  const server = Bun.serve({
    port: 0,
    hostname: "127.0.0.1",
    idleTimeout: 0,
    async fetch(request) {
      requests += 1;
      if (mood === "slow") await Bun.sleep(8000);
      await request.arrayBuffer();
      return request.headers.get("content-type")?.includes("json") === true
        ? Response.json({})
        : new Response(new Uint8Array(), {
            headers: { "content-type": request.headers.get("content-type") ?? "text/plain" },
          });
    },
  });
  const receiver: ReceiverServer = {
    url: `http://127.0.0.1:${server.port}`,
    requests: () => requests,
    stop: () => server.stop(true),
  };
  // only the address is needed, where nothing listens
  if (mood === "dead" || mood === "none") await server.stop(true);
  return receiver;
}

const NAMES: Readonly<Record<IntegrationSettings["type"], string>> = {
  json_lines: "archive",
  webhook: "hook",
  otlp: "collector",
  langfuse: "fuse",
  datadog: "dog",
  callback: "module",
};

/**
 * Configures every kind of integration. Files are on the local disk; for a dead or lying receiver, the file cannot be
 * written.
 */
function settingsOf(
  mood: Exclude<Mood, "none">,
  { url, folder, queueCalls }: { readonly url: string; readonly folder: string; readonly queueCalls: number },
): Readonly<Record<string, object>> {
  const bounds = { queue_calls: queueCalls, timeout_ms: 2000, give_up_s: 4, batch_wait_ms: 200 };
  const all: Readonly<Record<IntegrationSettings["type"], object>> = {
    json_lines: {
      type: "json_lines",
      path: mood === "healthy" || mood === "slow" ? join(folder, "calls.jsonl") : "/dev/full",
      max_bytes: 8 * 1024 * 1024,
      keep_files: 2,
      ...bounds,
    },
    webhook: { type: "webhook", url: `${url}/hook`, secrets: [SECRET], ...bounds },
    otlp: { type: "otlp", endpoint: url, ...bounds },
    langfuse: { type: "langfuse", url, public_key: "pk-lf-drill", secret_key: "sk-lf-drill", ...bounds },
    datadog: { type: "datadog", endpoint: url, api_key: "drill", ...bounds },
    callback: { type: "callback", module: join(folder, "module.ts"), hang_s: 1, ...bounds },
  };
  return Object.fromEntries(
    Object.entries(all)
      .map(([type, settings]) => [NAMES[type as IntegrationSettings["type"]], settings] as const)
      .filter(([name, settings]) => integrationsSection.safeParse({ [name]: settings }).success),
  );
}

export interface World extends AsyncDisposable {
  readonly gateway: GatewayProcess;
  readonly receiver: ReceiverServer;
  readonly names: readonly string[];
}

/** `only` selects integrations by name; null selects all. */
export async function startWorld(
  mood: Mood,
  {
    only = null,
    queueCalls = QUEUE_CALLS,
  }: { readonly only?: readonly string[] | null; readonly queueCalls?: number } = {},
): Promise<World> {
  const folder = mkdtempSync(join(tmpdir(), "dragoman-integrations-"));
  mkdirSync(folder, { recursive: true });
  const receiver = await startReceiver(mood);
  const settings =
    mood === "none"
      ? {}
      : Object.fromEntries(
          Object.entries(settingsOf(mood, { url: receiver.url, folder, queueCalls })).filter(
            ([name]) => only === null || only.includes(name),
          ),
        );
  if (mood !== "none") writeFileSync(join(folder, "module.ts"), MODULES[mood]);
  const gateway = await startGateway({
    config: `integrations: ${JSON.stringify(settings)}\n`,
    environment: { NO_PROXY: "*" },
  });
  return {
    gateway,
    receiver,
    names: Object.keys(settings),
    async [Symbol.asyncDispose]() {
      await gateway.stop();
      await receiver.stop();
      rmSync(folder, { recursive: true, force: true });
    },
  };
}

export interface Used {
  readonly serving: number;
  readonly process: number;
}

/** Returns the CPU seconds used so far, of the serving thread and of all threads. */
export function used({ pid }: GatewayProcess): Used {
  const { serving, others } = threadSeconds(pid);
  return { serving, process: serving + others };
}

/** A typical request: some metadata and a system prompt; one call in five is streamed. */
function bodyOf(count: number): string {
  return JSON.stringify({
    model: "sandbox:echo",
    messages: [
      { role: "system", content: "Be brief." },
      { role: "user", content: `Say number ${count}, and a little more than that.` },
    ],
    metadata: { team: "drill", number: count, tags: ["a", "b"] },
    ...(count % 5 === 0 && { stream: true }),
  });
}

export interface CallsSeen {
  /** In milliseconds, ascending. */
  readonly tookMs: Float64Array;
  readonly failed: number;
}

/** Makes this many calls per second, whether or not earlier ones have ended. `each` is called every second. */
export async function callsAtRate(
  gateway: GatewayProcess,
  perSecond: number,
  seconds: number,
  each: () => void = () => {},
): Promise<CallsSeen> {
  const tookMs: number[] = [];
  let failed = 0;
  const call = async (count: number): Promise<void> => {
    const startedMs = performance.now();
    try {
      const response = await gateway.chat(bodyOf(count));
      const text = await response.text();
      if (response.status !== 200 || text === "") failed += 1;
    } catch {
      failed += 1;
    }
    tookMs.push(performance.now() - startedMs);
  };
  const running = new Set<Promise<void>>();
  const startedMs = performance.now();
  let made = 0;
  let told = 0;
  for (let nowMs = 0; nowMs < seconds * 1000; nowMs = performance.now() - startedMs) {
    for (; made < (nowMs / 1000) * perSecond; made++) {
      const one: Promise<void> = call(made).finally(() => running.delete(one));
      running.add(one);
    }
    if (nowMs / 1000 > told + 1) {
      told += 1;
      each();
    }
    await Bun.sleep(2);
  }
  await Promise.all(running);
  return { tookMs: Float64Array.from(tookMs).toSorted(), failed };
}

export interface Told {
  readonly delivered: number;
  readonly shed: number;
  readonly queued: number;
  readonly failures: number;
  readonly retries: number;
  readonly restarts: number;
}

/** Reads the figures of each integration from /metrics. */
export async function toldOf(gateway: GatewayProcess, names: readonly string[]): Promise<ReadonlyMap<string, Told>> {
  const text = await (await fetch(`${gateway.url}/metrics`)).text();
  const sum = (metric: string, name: string): number =>
    [
      ...text.matchAll(
        new RegExp(`^dragoman_integration_${metric}\\{[^}]*integration="${name}"[^}]*\\} (\\S+)$`, "gm"),
      ),
    ].reduce((all, [, value]) => all + Number(value), 0);
  return new Map(
    names.map((name) => [
      name,
      {
        delivered: sum("delivered_total", name),
        shed: sum("shed_total", name),
        queued: sum("queued", name),
        failures: sum("failures_total", name),
        retries: sum("retries_total", name),
        restarts: sum("restarts_total", name),
      },
    ]),
  );
}

export const memoryMb = ({ pid }: GatewayProcess): number => residentMb(pid);
