// Calls of the Responses API that run in the background, over HTTP: their client leaves, asks again, reads the events on, and
// cancels, at the process that runs them and at another one; and what is told of them after a shutdown and a crash.
import { afterAll, beforeAll, describe, expect, test } from "bun:test";
import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { findServer, startRedis, type RedisServer } from "../../harness/servers/redis-server.ts";
import { type GatewayProcess, startGateway } from "../../harness/processes/gateway-process.ts";
import { until, untilFound } from "../../harness/time/until.ts";
import {
  eventStream,
  type FakeUpstream,
  openaiAnswer,
  openaiChunk,
  startUpstream,
} from "../../harness/servers/upstream.ts";

const hasRedis = findServer("redis-server") !== null;
if (!hasRedis) console.log("skipped: there is no redis-server on this machine");

const folder = mkdtempSync(join(tmpdir(), "dragoman-background-"));
const dataFolder = join(folder, "data");
let redis: RedisServer | null = null;
let upstream: FakeUpstream;
let gateway: GatewayProcess;
let token: string;
/** Answers and streams end when it is resolved. */
let held: PromiseWithResolvers<void> | null = null;
let asked = 0;
let left = 0;

function slowStream(): ReadableStream<string> {
  const first = eventStream(openaiChunk({ content: "Hello" })).replace("data: [DONE]\n\n", "");
  const rest = eventStream(openaiChunk({ content: " there" }), openaiChunk({}, "stop"));
  return new ReadableStream<string>({
    async start(controller) {
      controller.enqueue(first);
      await held?.promise;
      controller.enqueue(rest);
      controller.close();
    },
    cancel: () => void (left += 1),
  });
}

const config = (): string => `
server: {drain_s: 0.2}
providers:
  mine: {type: custom, base_url: "${upstream.url}/v1", api_key: key, models: [model]}
routes:
  narrow: {targets: ["mine:model"]}
limits:
  narrow: {metric: concurrency, limit: 1, scope: {route: narrow}}
`;

async function start(): Promise<GatewayProcess> {
  const environment = {
    DRAGOMAN_MASTER_KEY: Buffer.from(new Uint8Array(32).fill(7)).toString("base64"),
    ...(redis !== null && { DRAGOMAN_LIMIT_STORE_URL: redis.url }),
  };
  return startGateway({ config: config(), dataFolder, environment });
}

beforeAll(async () => {
  if (hasRedis) redis = await startRedis({ flags: ["--appendonly", "no"] });
  upstream = startUpstream(async ({ body }, raw) => {
    asked += 1;
    if (body["stream"] === true)
      return new Response(slowStream(), { headers: { "content-type": "text/event-stream" } });
    raw.signal.addEventListener("abort", () => void (left += 1));
    await held?.promise;
    return Response.json(openaiAnswer("Hello there"));
  });
  gateway = await start();
  token = await gateway.createToken("--project", "default");
}, 100_000);
afterAll(async () => {
  held?.resolve();
  await gateway.stop("SIGKILL");
  await upstream.stop();
  await redis?.stop();
  rmSync(folder, { recursive: true, force: true });
});

interface Answer {
  readonly status: number;
  readonly json: Record<string, any>;
}

async function ask(
  path: string,
  {
    method = "GET",
    body,
    at = gateway,
  }: { readonly method?: string; readonly body?: object; readonly at?: GatewayProcess } = {},
): Promise<Answer> {
  const response = await fetch(`${at.url}/v1${path}`, {
    method: body === undefined ? method : "POST",
    headers: { authorization: `Bearer ${token}`, "content-type": "application/json" },
    ...(body !== undefined && { body: JSON.stringify(body) }),
  });
  return { status: response.status, json: (await response.json()) as Record<string, any> };
}
const BACKGROUND = { model: "mine:model", input: "Hello", background: true };
const create = async (more: object = {}): Promise<Record<string, any>> => {
  const { status, json } = await ask("/responses", { body: { ...BACKGROUND, ...more } });
  expect([status, json["status"], json["background"], json["output"]]).toEqual([200, "queued", true, []]);
  return json;
};
/** The response when it has ended. */
const ended = async (id: string, at = gateway): Promise<Record<string, any>> =>
  untilFound(async () => {
    const { json } = await ask(`/responses/${id}`, { at });
    return json["status"] === "queued" || json["status"] === "in_progress" ? null : json;
  }, `the response ${id} ends`);
const begun = (before: number): Promise<void> => until(() => asked > before, "the provider is asked");

interface Events {
  readonly types: readonly string[];
  readonly numbers: readonly number[];
  readonly last: Record<string, any>;
}

function eventsIn(text: string): Events {
  const events = text
    .split("\n")
    .filter((line) => line.startsWith("data: {"))
    .map((line) => JSON.parse(line.slice(6)) as Record<string, any>);
  return {
    types: events.map(({ type }) => type as string),
    numbers: events.map(({ sequence_number: number }) => number as number),
    last: events.at(-1) ?? {},
  };
}
const read = async (path: string, at = gateway): Promise<string> => {
  const response = await fetch(`${at.url}/v1${path}`, { headers: { authorization: `Bearer ${token}` } });
  expect([response.status, response.headers.get("content-type")]).toEqual([200, "text/event-stream; charset=utf-8"]);
  return response.text();
};

test("[d12.1, d12.8] a call in the background is queued, in progress and completed, recorded and paid, and refers to earlier ones", async () => {
  held = Promise.withResolvers();
  const before = asked;
  const { id } = await create();
  await begun(before);
  expect((await ask(`/responses/${id}`)).json["status"]).toBe("in_progress");
  const follows = { model: "mine:model", input: "And?", previous_response_id: id };
  expect((await ask("/responses", { body: follows })).json["error"].param).toBe("previous_response_id");
  held.resolve();
  const response = await ended(id);
  expect(response).toMatchObject({
    status: "completed",
    background: true,
    store: false,
    output: [{ content: [{ text: "Hello there" }] }],
  });
  expect(response["usage"].total_tokens).toBeGreaterThan(0);
  expect((await ask("/responses", { body: follows })).status).toBe(200);
  const line = await untilFound(
    () => gateway.lines().find((one) => one["operation"] === "responses" && one["status"] === 200),
    "the call is logged",
  );
  expect(line).toMatchObject({ status: 200, finish: ["stop"] });
  // it has ended, so that there is nothing to cancel
  expect((await ask(`/responses/${id}/cancel`, { body: {} })).json).toEqual(response);
}, 60_000);

test("[d12.8] a client that leaves ends nothing, and reads on from the event that it read last, during the call and after it", async () => {
  held = Promise.withResolvers();
  const aborted = new AbortController();
  const response = await fetch(`${gateway.url}/v1/responses`, {
    method: "POST",
    headers: { authorization: `Bearer ${token}`, "content-type": "application/json" },
    body: JSON.stringify({ ...BACKGROUND, stream: true }),
    signal: aborted.signal,
  });
  let text = "";
  for await (const piece of response.body as unknown as AsyncIterable<Uint8Array>) {
    text += Buffer.from(piece).toString();
    if (text.includes("response.output_text.delta")) break;
  }
  aborted.abort();
  const first = eventsIn(text.slice(0, text.lastIndexOf("\n\n")));
  const { id } = (JSON.parse(text.split("data: ")[1]!.split("\n")[0]!) as Record<string, any>)["response"];
  const during = read(`/responses/${id}?stream=true&starting_after=${first.numbers.at(-1)}`);
  held.resolve();
  const rest = eventsIn(await during);
  expect([...first.numbers, ...rest.numbers]).toEqual([...Array(first.numbers.length + rest.numbers.length).keys()]);
  expect(rest.last).toMatchObject({
    type: "response.completed",
    response: { id, background: true, output: [{ content: [{ text: "Hello there" }] }] },
  });
  const kept = await ended(id);
  expect(kept).toEqual(rest.last["response"]);
  const again = await fetch(`${gateway.url}/v1/responses/${id}?stream=true`, {
    headers: { authorization: `Bearer ${token}` },
  });
  expect(["cache-control", "x-accel-buffering"].map((name) => again.headers.get(name))).toEqual([
    "no-cache, no-transform",
    "no",
  ]);
  const all = eventsIn(await again.text());
  expect(all.types).toEqual([...first.types, ...rest.types]);
  expect(eventsIn(await read(`/responses/${id}?stream=true&starting_after=2`)).numbers).toEqual(all.numbers.slice(3));
  expect((await ask(`/responses/${id}?stream=true&starting_after=x`)).json["error"].param).toBe("starting_after");
}, 60_000);

test("[d12.8] a call in the background is cancelled at the provider, and deleted", async () => {
  for (const stream of [false, true]) {
    held = Promise.withResolvers();
    const [before, leftBefore] = [asked, left];
    let id: string;
    if (stream) {
      const response = await fetch(`${gateway.url}/v1/responses`, {
        method: "POST",
        headers: { authorization: `Bearer ${token}`, "content-type": "application/json" },
        body: JSON.stringify({ ...BACKGROUND, stream }),
      });
      const reader = (response.body as unknown as ReadableStream<Uint8Array>).getReader();
      ({ id } = JSON.parse(
        Buffer.from((await reader.read()).value!)
          .toString()
          .split("data: ")[1]!
          .split("\n")[0]!,
      ).response);
      await reader.cancel();
    } else ({ id } = (await create()) as { readonly id: string });
    await begun(before);
    expect((await ask(`/responses/${id}/cancel`, { body: {} })).json).toMatchObject({
      id,
      status: "cancelled",
      error: null,
    });
    await until(() => left > leftBefore, "the provider's request is ended");
    expect((await ask(`/responses/${id}`)).json["status"]).toBe("cancelled");
    expect((await ask(`/responses/${id}`, { method: "DELETE" })).json["deleted"]).toBe(true);
    expect((await ask(`/responses/${id}`)).status).toBe(404);
    held.resolve();
  }
}, 60_000);

test("[d12.8] a call in the background holds its place until it ends, also when its client has its response", async () => {
  held = Promise.withResolvers();
  const before = asked;
  const { id } = await create({ x_gateway: { route: "narrow" } });
  await begun(before);
  const narrow = { model: "mine:model", input: "Hello", x_gateway: { route: "narrow" } };
  expect((await ask("/responses", { body: narrow })).status).toBe(429);
  held.resolve();
  expect((await ended(id))["status"]).toBe("completed");
  expect((await ask("/responses", { body: narrow })).status).toBe(200);
}, 60_000);

test("[d12.8] a call in the background ends after its timeout, and one that fails says so", async () => {
  held = Promise.withResolvers();
  const { id } = await create({ x_gateway: { timeout: 0.3 } });
  const late = await ended(id);
  expect([late["status"], late["error"].code]).toEqual(["failed", "server_error"]);
  expect(late["error"].message).toContain("timeout of 0.3 s");
  held.resolve();
}, 60_000);

test("[d12.8] a call in the background needs a response that is kept", async () => {
  const { status, json } = await ask("/responses", { body: { ...BACKGROUND, store: false } });
  expect([status, json["error"].param]).toEqual([400, "background"]);
  const { id } = (await ask("/responses", { body: { ...BACKGROUND, background: false } })).json;
  expect((await ask(`/responses/${id}/cancel`, { body: {} })).status).toBe(400);
  expect((await ask(`/responses/${id}?stream=true`)).json["error"].param).toBe("stream");
  // marks of a call are no responses
  expect((await ask(`/responses/${id}%3Arun`)).status).toBe(404);
}, 60_000);

describe.skipIf(!hasRedis)("with a store that outlives the process", () => {
  test("[d12.8] another process tells of a call, reads its events and cancels it; after a crash it is interrupted, after a shutdown shutting_down", async () => {
    const other = await start();
    try {
      held = Promise.withResolvers();
      let before = asked;
      const cancelled = await create();
      await begun(before);
      expect((await ask(`/responses/${cancelled["id"]}`, { at: other })).json["status"]).toBe("in_progress");
      const answer = await ask(`/responses/${cancelled["id"]}/cancel`, { body: {}, at: other });
      expect(answer.json["status"]).toBe("cancelled");

      const response = await fetch(`${gateway.url}/v1/responses`, {
        method: "POST",
        headers: { authorization: `Bearer ${token}`, "content-type": "application/json" },
        body: JSON.stringify({ ...BACKGROUND, stream: true }),
      });
      const reader = (response.body as unknown as ReadableStream<Uint8Array>).getReader();
      const { id } = JSON.parse(
        Buffer.from((await reader.read()).value!)
          .toString()
          .split("data: ")[1]!
          .split("\n")[0]!,
      ).response;
      await reader.cancel();
      const reading = read(`/responses/${id}?stream=true`, other);
      held.resolve();
      const events = eventsIn(await reading);
      expect(events.numbers).toEqual([...events.numbers.keys()]);
      expect(events.last).toMatchObject({ type: "response.completed", response: { id } });

      held = Promise.withResolvers();
      before = asked;
      const crashed = await create();
      await begun(before);
      await gateway.stop("SIGKILL");
      expect(await ended(crashed["id"], other)).toMatchObject({ status: "failed", error: { code: "interrupted" } });

      gateway = await start();
      before = asked;
      const shut = await create();
      await begun(before);
      await gateway.stop("SIGTERM");
      expect(await ended(shut["id"], other)).toMatchObject({ status: "failed", error: { code: "shutting_down" } });
      held.resolve();
    } finally {
      await other.stop("SIGKILL");
      gateway = await start();
    }
  }, 120_000);
});
