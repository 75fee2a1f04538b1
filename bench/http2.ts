// The cost of a provider call for the process that makes it: over our own HTTP/1.1 connections, over node:http2, and
// over fetch with HTTP/2, all over TLS to one server, whose cost is not counted. `npm run bench:http2` prints the table
// of docs/decisions/0030-connections-within-one-tenant.md.
import { connect, type ClientHttp2Session, type ClientHttp2Stream } from "node:http2";
import { mkdtempSync, readFileSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { spawnSync } from "node:child_process";
import { Cancellation } from "../src/core/cancellation.ts";
import { createSocketUpstream } from "../src/wire/upstream-socket.ts";
import { bindToCore, chooseCores } from "./process-stats.ts";
import { startServer, underBun } from "./subject.ts";

const REQUEST = JSON.stringify({
  model: "m",
  messages: [{ role: "user", content: "A queue hands out what came first. ".repeat(26) }],
});
const ANSWER = JSON.stringify({
  id: "x",
  choices: [{ index: 0, message: { role: "assistant", content: "A stack hands out what came last. ".repeat(26) } }],
});
const EVENT = `data: ${JSON.stringify({ id: "x", choices: [{ index: 0, delta: { content: "what came first leaves first, and so on through the line of all that wait".repeat(2) } }] })}\n\n`;
const EVENTS = 200;
const EVENTS_TOGETHER = 10;
const CONCURRENCY = 32;
const HEADERS = { "content-type": "application/json", authorization: "Bearer a-key-of-the-usual-length-000000000000" };
const LIMITS = { connectTimeoutMs: 5_000, firstByteTimeoutMs: 30_000, betweenBytesTimeoutMs: 30_000 };

/** Makes one call, reads its answer to the end, and returns the number of bytes. */
type CallOnce = (path: string) => Promise<number>;

function serve(folder: string): void {
  const event = Buffer.from(EVENT.repeat(EVENTS_TOGETHER));
  const server = Bun.serve({
    hostname: "127.0.0.1",
    port: 0,
    development: false,
    http2: true,
    tls: { key: readFileSync(join(folder, "key.pem"), "utf8"), cert: readFileSync(join(folder, "cert.pem"), "utf8") },
    async fetch(request) {
      await request.bytes();
      if (!request.url.endsWith("/stream"))
        return new Response(ANSWER, { headers: { "content-type": "application/json" } });
      let left = EVENTS / EVENTS_TOGETHER;
      const body = new ReadableStream({
        pull(controller) {
          controller.enqueue(event);
          if (--left === 0) controller.close();
        },
      });
      return new Response(body, { headers: { "content-type": "text/event-stream" } });
    },
  });
  process.stdout.write(`port ${server.port}\n`);
}

async function main(): Promise<void> {
  const folder = mkdtempSync(join(tmpdir(), "dragoman-bench-"));
  const made = spawnSync("openssl", [
    "req",
    "-x509",
    "-newkey",
    "ec",
    "-pkeyopt",
    "ec_paramgen_curve:prime256v1",
    "-nodes",
    "-keyout",
    join(folder, "key.pem"),
    "-out",
    join(folder, "cert.pem"),
    "-days",
    "2",
    "-subj",
    "/CN=bench.example",
    "-addext",
    "subjectAltName=IP:127.0.0.1",
  ]);
  if (made.status !== 0) throw new Error("the benchmark needs the openssl command to make a certificate with");
  const cores = chooseCores();
  bindToCore(process.pid, cores.subject);
  const server = await startServer(underBun(import.meta.path, "serve", folder), cores.load);
  try {
    const origin = `https://127.0.0.1:${server.port}`;
    const ca = readFileSync(join(folder, "cert.pem"), "utf8");
    const rows: string[] = [];
    for (const [label, open] of CLIENTS) {
      const client = open(origin, ca);
      const plain = await measured(client.call, "/plain", 10_000);
      const stream = await measured(client.call, "/stream", 1_000);
      client.close();
      rows.push(
        `| ${label} | ${plain.cpuUs.toFixed(1)} | ${plain.perSecond.toFixed(0)} | ${(stream.cpuUs / EVENTS).toFixed(2)} | ${((stream.perSecond * EVENTS) / 1_000).toFixed(0)},000 |`,
      );
    }
    process.stdout.write(
      [
        "| client, over TLS | CPU µs a plain call of 1 KB | calls/s | CPU µs a streamed event | events/s |",
        "| --- | ---: | ---: | ---: | ---: |",
        ...rows,
        "",
      ].join("\n"),
    );
  } finally {
    await server.stop();
    rmSync(folder, { recursive: true, force: true });
  }
}

interface Measured {
  readonly cpuUs: number;
  readonly perSecond: number;
}

/**
 * Returns the best of three rounds after a warm-up round, because other work of the machine only makes a round slower.
 */
async function measured(call: CallOnce, path: string, calls: number): Promise<Measured> {
  const rounds: Measured[] = [];
  for (let round = 0; round < 6; round++) {
    const before = process.cpuUsage();
    const startedMs = performance.now();
    let left = calls;
    const expected = await call(path);
    await Promise.all(
      Array.from({ length: CONCURRENCY }, async () => {
        while (left-- > 0) if ((await call(path)) !== expected) throw new Error("an answer of another length came");
      }),
    );
    const { user, system } = process.cpuUsage(before);
    if (round > 0)
      rounds.push({ cpuUs: (user + system) / calls, perSecond: (1_000 * calls) / (performance.now() - startedMs) });
  }
  return rounds.toSorted((one, other) => one.cpuUs - other.cpuUs)[0] as Measured;
}

interface Client {
  readonly call: CallOnce;
  close(): void;
}

const CLIENTS: readonly (readonly [label: string, open: (origin: string, ca: string) => Client])[] = [
  ["HTTP/1.1, connections of our own", openOwn],
  ["HTTP/2, `node:http2`, one session", (origin, ca) => openHttp2(origin, ca, 1)],
  ["HTTP/2, `node:http2`, four sessions", (origin, ca) => openHttp2(origin, ca, 4)],
  ["HTTP/1.1, `fetch`", (origin, ca) => openFetch(origin, ca, "http1.1")],
  ["HTTP/2, `fetch` (experimental)", (origin, ca) => openFetch(origin, ca, "http2")],
];

function openOwn(origin: string, ca: string): Client {
  const upstream = createSocketUpstream({ ca });
  return {
    async call(path) {
      const { body } = await upstream.send(
        { url: origin + path, headers: HEADERS, body: REQUEST },
        { ...LIMITS, signal: new Cancellation(), partition: "p" },
      );
      let bytes = 0;
      for (let some = await body.read(); some !== null; some = await body.read()) bytes += some.length;
      return bytes;
    },
    close() {},
  };
}

function openHttp2(origin: string, ca: string, count: number): Client {
  const sessions = Array.from({ length: count }, (): ClientHttp2Session => connect(origin, { ca }));
  let next = 0;
  return {
    call: (path) =>
      new Promise((resolve, reject) => {
        const session = sessions[next++ % count] as ClientHttp2Session;
        const stream: ClientHttp2Stream = session.request({ ":method": "POST", ":path": path, ...HEADERS });
        let bytes = 0;
        stream.on("data", (some: Buffer) => (bytes += some.length));
        stream.on("end", () => resolve(bytes));
        stream.on("error", reject);
        stream.end(REQUEST);
      }),
    close: () => sessions.forEach((session) => session.close()),
  };
}

function openFetch(origin: string, ca: string, protocol: "http1.1" | "http2"): Client {
  return {
    async call(path) {
      const response = await fetch(origin + path, {
        method: "POST",
        headers: HEADERS,
        body: REQUEST,
        tls: { ca },
        protocol,
        proxy: false,
      });
      const reader = (response.body as ReadableStream<Uint8Array>).getReader();
      let bytes = 0;
      for (let some = await reader.read(); !some.done; some = await reader.read()) bytes += some.value.length;
      return bytes;
    },
    close() {},
  };
}

if (process.argv[2] === "serve") serve(process.argv[3] as string);
else await main();
