// Requests to a tool server and how much of its answers is read, whatever the client library asks for.
import { describe, expect, test } from "bun:test";
import { boundedFetch, type BoundedFetch } from "../../src/mcp/bounded-fetch.ts";
import { openPinnedOrigins } from "../../src/mcp/pinned-origins.ts";
import { type UpstreamCall, UpstreamFault, type UpstreamRequest } from "../../src/wire/upstream.ts";

const MIB = 1024 * 1024;
const ORIGIN = "https://tools.example";
const bounds = {
  connectTimeoutMs: 1,
  answerTimeoutMs: 2,
  streamSilenceMs: 3,
  maxCallBytes: MIB,
  maxMessageBytes: 2 * MIB,
  maxCalls: 2,
};
const COMMENTS = new TextEncoder().encode(": x\n\n".repeat(4096));

interface World {
  readonly fetch: BoundedFetch;
  readonly sent: readonly { readonly request: UpstreamRequest; readonly call: UpstreamCall }[];
  readonly clock: { nowMs: number };
}

/** Streams of comments without end; `fail`: no connection, so often. */
function world({
  fail = 0,
  check = null,
  answer = null,
}: {
  readonly fail?: number;
  readonly check?: ((url: string) => Promise<string>) | null;
  readonly answer?: { readonly type: string; readonly pieces: readonly string[] } | null;
} = {}): World {
  const sent: { request: UpstreamRequest; call: UpstreamCall }[] = [];
  const clock = { nowMs: 0 };
  const fetch = boundedFetch({
    clock: { monotonic: () => clock.nowMs },
    partition: "p",
    origin: ORIGIN,
    headers: { authorization: "Bearer secret" },
    pinned: check === null ? null : openPinnedOrigins(check),
    bounds,
    upstream: {
      send(request, call) {
        sent.push({ request, call });
        if (sent.length <= fail) return Promise.reject(new UpstreamFault("connection", "ECONNREFUSED"));
        const pieces = answer?.pieces.map((piece) => new TextEncoder().encode(piece)) ?? null;
        const body = {
          read: () => Promise.resolve(pieces === null ? COMMENTS : (pieces.shift() ?? null)),
          bytes: () => Promise.resolve(COMMENTS),
          text: () => Promise.resolve(""),
          accept: () => undefined,
          cancel: () => undefined,
        };
        return Promise.resolve({
          status: 200,
          header: (name) => (name === "content-type" ? (answer?.type ?? "text/event-stream") : null),
          body,
        });
      },
    },
  });
  return { fetch, sent, clock };
}

async function bytesRead(response: Response): Promise<number> {
  let bytes = 0;
  const reader = response.body!.getReader();
  for (;;) {
    const piece = await reader.read().catch(() => null);
    if (piece === null || piece.done) return bytes;
    bytes += piece.value.length;
  }
}

const post = (method: string, headers: Readonly<Record<string, string>> = {}): RequestInit => ({
  method: "POST",
  body: JSON.stringify({ jsonrpc: "2.0", id: 1, method, params: {} }),
  headers,
});

describe("the fetch below the client", () => {
  const most = 100_000;
  const JSON_TYPE = "application/json";
  const STREAM = "text/event-stream";
  const objects = (count: number): string => "{},".repeat(count / 2);
  test.each<readonly [string, string, readonly string[], boolean]>([
    ["a message with as many values as one may have", JSON_TYPE, [objects(most)], true],
    ["one with more", JSON_TYPE, [objects(most), ","], false],
    ["the same with empty lines", JSON_TYPE, [objects(most), "\n\n", ","], false],
    ["texts with what stands before values", JSON_TYPE, [JSON.stringify(['{,["\\'.repeat(most)])], true],
    ["values behind a text that ends in an escape", JSON_TYPE, [`["\\\\",`, objects(most), "]"], false],
    [
      "events that have few values each",
      STREAM,
      [`data: ${objects(most)}\r\n\r\n`, `data: ${objects(most)}\n\n`],
      true,
    ],
    ["an event with more", STREAM, [`data: ${objects(most)}\r\n`, `data: ${objects(most)}\r\n\r\n`], false],
    ["an event behind a comment that begins a text", STREAM, [': "\\\n', `data: ${objects(most)},\n\n`], false],
  ])("[d5.8] a tool server cannot make the gateway parse many values: %s", async (_, type, pieces, isRead) => {
    const { fetch } = world({ answer: { type, pieces } });
    const all = pieces.join("").length;
    const read = await bytesRead(await fetch(`${ORIGIN}/mcp`, post("tools/list")));
    expect(read === all).toBe(isRead);
  });

  test("[d2.9] sends nothing to another origin, whatever names it", async () => {
    const { fetch, sent } = world();
    for (const url of [
      "https://elsewhere.example/mcp",
      "http://tools.example/mcp",
      "https://tools.example:8443/mcp",
      "https://tools.example.evil.example/",
      "https://tools.example@evil.example/",
    ])
      expect([url, (await fetch(url).catch((thrown: unknown) => thrown)) instanceof UpstreamFault]).toEqual([
        url,
        true,
      ]);
    expect(sent.length).toBe(0);
  });

  test("reads a stream that stays open within a bounded rate, over all that are opened again, comments included", async () => {
    const { fetch, clock } = world();
    expect(await bytesRead(await fetch(`${ORIGIN}/mcp`))).toBeLessThanOrEqual(4 * MIB);
    clock.nowMs += 1000;
    expect(await bytesRead(await fetch(`${ORIGIN}/mcp`))).toBeLessThanOrEqual(256 * 1024 + COMMENTS.length);
  });

  test("reads on such a stream the requested answers, however large, for no more calls than run at once", async () => {
    const { fetch } = world();
    const credit = 2 * (5 * MIB + 4096);
    for (let count = 0; count < 10; count++) await (await fetch(`${ORIGIN}/mcp`, post("tools/call"))).body!.cancel();
    const bytes = await bytesRead(await fetch(`${ORIGIN}/mcp`));
    expect([bytes > credit, bytes <= credit + 4 * MIB]).toEqual([true, true]);
  });

  test("abandons an answer that takes too long, however steadily it is written, but no stream that stays open", async () => {
    const { fetch, clock } = world();
    const [answer, stream] = [
      (await fetch(`${ORIGIN}/mcp`, post("tools/list"))).body!.getReader(),
      (await fetch(`${ORIGIN}/mcp`)).body!.getReader(),
    ];
    for (const reader of [answer, stream]) expect((await reader.read()).done).toBe(false);
    clock.nowMs += 10;
    expect(await answer.read().catch((thrown: unknown) => String(thrown))).toContain("took too long");
    expect((await stream.read()).done).toBe(false);
  });

  test("lets the newer protocol's stream of changes be silent as long as the older one's, but no call that uses the same word", async () => {
    const { fetch, sent } = world();
    await fetch(`${ORIGIN}/mcp`);
    await fetch(`${ORIGIN}/mcp`, post("subscriptions/listen", { "mcp-method": "subscriptions/listen" }));
    const call = await fetch(`${ORIGIN}/mcp`, {
      method: "POST",
      body: JSON.stringify({
        method: "tools/call",
        params: { name: "a", arguments: { method: "subscriptions/listen" } },
      }),
      headers: { "mcp-method": "tools/call" },
    });
    expect(sent.map(({ call: { betweenBytesTimeoutMs } }) => betweenBytesTimeoutMs)).toEqual([3, 3, 2]);
    expect(await bytesRead(call)).toBeLessThanOrEqual(5 * MIB + 4096);
  });

  test("[d2.12] calls the address that was checked, and checks again after it could not be reached, or the name could not be looked up", async () => {
    const answers = ["", "192.0.2.1", "192.0.2.2", "192.0.2.3"];
    let checks = 0;
    const check = (): Promise<string> =>
      checks++ === 0 ? Promise.reject(new Error("no name server")) : Promise.resolve(answers[checks - 1]!);
    const { fetch, sent } = world({ fail: 1, check });
    for (let count = 0; count < 4; count++) await fetch(`${ORIGIN}/mcp`).catch(() => undefined);
    expect(sent.map(({ call }) => call.pinnedAddress)).toEqual(["192.0.2.1", "192.0.2.2", "192.0.2.2"]);
  });
});
