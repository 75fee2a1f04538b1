// Promise 12.8 where the store of responses is away when a call in the background ends.
import { expect, test } from "bun:test";
import type { DurableObject, DurableStore } from "../../../src/engine/keeping/durable-store.ts";
import { KeptObjects } from "../../../src/engine/keeping/kept-objects.ts";
import { KEEPING_BOUNDS, type KeptStore } from "../../../src/engine/keeping/kept-store.ts";
import { GatewayError } from "../../../src/core/errors.ts";
import { eventsAt } from "../../../src/operations/responses/background/background-marks.ts";
import { until, untilFound } from "../../harness/time/until.ts";
import { eventStream, openaiAnswer, openaiChunk } from "../../harness/servers/upstream.ts";
import { cannedUpstream } from "../../harness/in-process.ts";
import { limitSet } from "../../harness/limited.ts";
import { eventsOf, OPENAI, responsesGateway } from "./responses-calls.ts";

const clock = { now: () => Date.now(), monotonic: () => performance.now() };

/** A gateway whose store goes away when the provider is asked. */
function leaving() {
  const whole = new KeptObjects(clock);
  const store = { isAway: false, refused: 0 };
  const kept: KeptStore<unknown> = {
    get untilMs() {
      return whole.untilMs;
    },
    get isAway() {
      return store.isAway;
    },
    async keep(object) {
      if (!store.isAway) return whole.keep(object);
      store.refused += 1;
      throw new GatewayError("kept_store_unavailable", "The store is away.");
    },
    find: (tenantId, id) => whole.find(tenantId, id),
    remove: (tenantId, id) => whole.remove(tenantId, id),
    removeAll: (tenantId, projectId) => whole.removeAll(tenantId, projectId),
    close: () => whole.close(),
  };
  const gateway = responsesGateway({
    clock,
    kept,
    upstream: cannedUpstream(({ body }) => {
      store.isAway = true;
      return (JSON.parse(body) as Record<string, unknown>)["stream"] === true
        ? {
            headers: { "content-type": "text/event-stream" },
            body: eventStream(openaiChunk({ content: "Hello" }), openaiChunk({}, "stop")),
          }
        : { headers: { "content-type": "application/json" }, body: JSON.stringify(openaiAnswer("Hello")) };
    }),
  });
  const statusOf = (id: string): string =>
    (whole.find("default", id)!.value as Record<string, any>)["response"]["status"];
  return { store, gateway, whole, statusOf };
}

test("[d12.8] what a call in the background made while the store was away is kept when the store is back, with all events", async () => {
  for (const stream of [false, true]) {
    const { store, gateway, whole, statusOf } = leaving();
    const response = await gateway.respond({ ...OPENAI, input: "One.", stream, background: true });
    // the events come to their end although nothing can be kept
    const text = await response.text();
    const { id } = (stream ? eventsOf(text).at(-1)!["response"] : JSON.parse(text)) as { readonly id: string };
    await until(() => store.refused > 1, "the store refuses what the call has made");
    expect(["queued", "in_progress"]).toContain(statusOf(id));
    store.isAway = false;
    await gateway.context.background!.get(id)?.ended;
    expect(statusOf(id)).toBe("completed");
    if (!stream) continue;
    const stores = { kept: whole, clock };
    const parts: string[] = [];
    for (let part = 0; ; part++) {
      const events = await eventsAt(stores, "default", id, part);
      if (events === null) break;
      parts.push(...events);
    }
    expect(`${parts.join("")}data: [DONE]\n\n`).toBe(text);
  }
}, 60_000);

test("[d12.8] a call in the background that still runs is found again after the store has lost it, and ends as it would", async () => {
  const kept = new KeptObjects(clock);
  const answer = Promise.withResolvers<void>();
  const canned = cannedUpstream({
    headers: { "content-type": "application/json" },
    body: JSON.stringify(openaiAnswer("Hello")),
  });
  const gateway = responsesGateway({
    clock,
    kept,
    upstream: { send: (...sent) => answer.promise.then(() => canned.send(...sent)) },
  });
  const response = await gateway.respond({ ...OPENAI, input: "One.", background: true });
  const { id } = (await response.json()) as { readonly id: string };
  const statusOf = (): string | undefined =>
    (kept.find("default", id)?.value as Record<string, any> | undefined)?.["response"]["status"];
  await until(() => statusOf() === "in_progress", "the call runs");
  kept.remove("default", id);
  expect(statusOf()).toBeUndefined();
  await until(() => statusOf() === "in_progress", "the call is found again");
  answer.resolve();
  await gateway.context.background!.get(id)?.ended;
  expect(statusOf()).toBe("completed");
}, 60_000);

test("[d12.8] a call in the background holds also the places of its provider and model while it is queued", async () => {
  const kept = new KeptObjects(clock);
  const begun = Promise.withResolvers<void>();
  const queuing = Promise.withResolvers<void>();
  const limits = { one: { metric: "concurrency", limit: 1, scope: { model: "*" } } };
  const gateway = responsesGateway({
    clock,
    kept: {
      get untilMs() {
        return kept.untilMs;
      },
      isAway: false,
      keep: (object) => {
        begun.resolve();
        return queuing.promise.then(() => kept.keep(object));
      },
      find: (tenantId, id) => kept.find(tenantId, id),
      remove: (tenantId, id) => kept.remove(tenantId, id),
      removeAll: (tenantId, projectId) => kept.removeAll(tenantId, projectId),
      close: () => kept.close(),
    },
    snapshot: { limitRules: limitSet({ limits }) },
    upstream: cannedUpstream({
      headers: { "content-type": "application/json" },
      body: JSON.stringify(openaiAnswer("Hello")),
    }),
  });
  const ask = () => gateway.respond({ ...OPENAI, input: "One.", background: true });
  const first = ask();
  await begun.promise;
  const second = await ask();
  expect([second.status, ((await second.json()) as any).error.code]).toEqual([429, "rate_limit_exceeded"]);
  queuing.resolve();
  const { id } = (await (await first).json()) as { readonly id: string };
  await gateway.context.background!.get(id)?.ended;
  expect((kept.find("default", id)!.value as Record<string, any>)["response"]["status"]).toBe("completed");
  expect((await ask()).status).toBe(200);
}, 60_000);

test("[d12.8] a gateway that ends does not wait for a store that is away", async () => {
  const { store, gateway } = leaving();
  const response = await gateway.respond({ ...OPENAI, input: "One.", background: true });
  const { id } = (await response.json()) as Record<string, any>;
  const run = await untilFound(() => gateway.context.background!.get(id), "the call runs");
  await until(() => store.refused > 1, "the store refuses what the call has made");
  await gateway.context.background!.close();
  await run.ended;
  expect(store.isAway).toBe(true);
}, 60_000);

test("[d12.8] a call in the background whose answer is too large to be kept has failed, and says why and what it used", async () => {
  const gateway = responsesGateway({
    clock,
    kept: new KeptObjects(clock),
    upstream: cannedUpstream({
      headers: { "content-type": "application/json" },
      body: JSON.stringify(openaiAnswer("x".repeat(KEEPING_BOUNDS.objectBytes))),
    }),
  });
  const response = await gateway.respond({ ...OPENAI, input: "One.", background: true });
  const { id } = (await response.json()) as Record<string, any>;
  await gateway.context.background!.get(id)?.ended;
  const { response: ended } = (await gateway.context.kept!.find("default", id))!.value as Record<string, any>;
  expect(ended).toMatchObject({ id, status: "failed", output: [], error: { code: "server_error" } });
  expect([ended.error.message, ended.usage.total_tokens > 0]).toEqual(["The response is too large to be kept.", true]);
}, 60_000);

test("[d12.8] what is kept of a running call does not hide its answer in the database, where it could not be removed at first", async () => {
  const objects: DurableObject[] = [];
  const kept = new KeptObjects(clock);
  const remove = kept.remove.bind(kept);
  let refused = 0;
  Object.assign(kept, {
    remove(tenantId: string, id: string) {
      if (objects.length === 0 || refused > 0) return remove(tenantId, id);
      refused += 1;
      throw new GatewayError("kept_store_unavailable", "The store is away.");
    },
  });
  const durable: DurableStore = {
    keep: async (object) => void objects.push(object),
    find: async () => null,
    remove: () => Promise.resolve(),
  };
  const gateway = responsesGateway({
    clock,
    kept,
    durable,
    snapshot: {
      tenantSettings: new Map([
        ["default", { dropParams: null, disableStopSequenceLimit: null, responsesStore: "on" as const }],
      ]),
      contentLogs: new Map([
        ["default", { sample: 1, retentionMs: 86_400_000, isStored: true, maxCharacters: 1000, detectors: [] }],
      ]),
    },
    upstream: cannedUpstream({
      headers: { "content-type": "application/json" },
      body: JSON.stringify(openaiAnswer("Hello")),
    }),
  });
  const response = await gateway.respond({ ...OPENAI, input: "One.", background: true });
  const { id } = (await response.json()) as Record<string, any>;
  await gateway.context.background!.get(id)?.ended;
  expect(kept.find("default", id)).toBeNull();
  expect([refused, (objects.at(-1)!.value as Record<string, any>)["response"]["status"]]).toEqual([1, "completed"]);
}, 60_000);
