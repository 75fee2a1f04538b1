// Promise 12.8 where the clocks of two gateways differ: the one that is asked judges a call that another one runs.
import { expect, test } from "bun:test";
import { BackgroundRuns } from "../../../src/engine/keeping/background-runs.ts";
import { GatewayError } from "../../../src/core/errors.ts";
import { KeptObjects } from "../../../src/engine/keeping/kept-objects.ts";
import { NoRoom } from "../../../src/engine/keeping/kept-store.ts";
import { askToCancel, RunMarks } from "../../../src/operations/responses/background/background-marks.ts";
import { keepResponse } from "../../../src/operations/responses/keeping/kept-responses.ts";
import type { Reader } from "../../../src/operations/responses/keeping/opened-responses.ts";
import { deletedResponse, retrievedResponse } from "../../../src/operations/responses/kept-response-requests.ts";
import { projectToken } from "../../harness/in-process.ts";
import { eventsOf } from "./responses-calls.ts";
import { turnedClock } from "../../harness/time/turned-clock.ts";
import { until } from "../../harness/time/until.ts";

const ID = "resp_1";
const NOW_MS = 1_790_000_000_000;

function twoGateways() {
  const clock = turnedClock(NOW_MS);
  const kept = new KeptObjects(clock);
  const { token } = projectToken();
  const created = { projectMs: null, userMs: null };
  const owner = { tenantId: "default", projectId: "default", tokenId: token.id, userId: null, created };
  const marks = new RunMarks({ kept, clock }, owner, ID);
  const keep = (status: string, more: { readonly isStreamed?: boolean } = {}) =>
    keepResponse(kept, { owner, response: { id: ID, status, output: [], background: true }, input: [], ...more });
  /** The other gateway, whose clock is a minute ahead. */
  const snapshot = { memberships: new Map(), operators: new Map(), projects: new Map(), users: new Map() };
  const own: Reader = { token, address: () => null, snapshot };
  const reader = {
    ...own,
    readerNow: async () => own,
    kept: { kept, durable: null, background: null, audit: null, clock: turnedClock(NOW_MS + 60_000) },
  };
  const asked = async (): Promise<unknown> => {
    const found = await retrievedResponse({ ...reader, id: ID, query: () => undefined });
    return found instanceof ReadableStream ? null : found["status"];
  };
  return { clock, marks, keep, reader, asked };
}

test("[d12.8] a call that runs is in progress for a gateway whose clock is a minute ahead, and one that does not is interrupted", async () => {
  const { clock, marks, keep, asked } = twoGateways();
  await keep("in_progress");
  await marks.runs();
  let status: unknown = null;
  void asked().then((said) => (status = said));
  while (status === null) {
    clock.turnTo(clock.now() + 1_000);
    await marks.runs();
    await Bun.sleep(20);
  }
  expect(status).toBe("in_progress");
  expect(await asked()).toBe("failed");
}, 60_000);

test("[d12.8] a call whose process was killed is interrupted also where the clock was set back by an hour since", async () => {
  const { marks, keep, reader } = twoGateways();
  await keep("in_progress");
  await marks.runs();
  const kept = { ...reader.kept, clock: turnedClock(NOW_MS - 3_600_000) };
  const found = await retrievedResponse({ ...reader, kept, id: ID, query: () => undefined });
  expect(found).toMatchObject({ status: "failed", error: { code: "interrupted" } });
}, 60_000);

test("[d12.8] a call that ends while another gateway looks whether it runs keeps its answer", async () => {
  const { marks, keep, asked } = twoGateways();
  await keep("in_progress");
  await marks.runs();
  const asking = asked();
  await keep("completed");
  expect(await asking).toBe("completed");
  expect(await asked()).toBe("completed");
}, 60_000);

test("[d8.3, d12.8] the events of a call whose process was killed end with an error and response.failed, numbered on, and not as if they were all", async () => {
  const { clock, marks, keep, reader } = twoGateways();
  await keep("in_progress", { isStreamed: true });
  await marks.runs();
  marks.brought('event: response.created\ndata: {"type":"response.created","sequence_number":0}\n\n');
  marks.brought(
    'event: response.output_text.delta\ndata: {"type":"response.output_text.delta","sequence_number":1}\n\n',
  );
  await marks.flush();
  clock.turnTo(clock.now() + 60_000);
  const read = async (after: string): Promise<string> => {
    const query = (name: string): string | undefined => ({ stream: "true", starting_after: after })[name];
    const found = await retrievedResponse({ ...reader, id: ID, query });
    return new Response(found as ReadableStream<string>).text();
  };
  const text = await read("-1");
  const all = eventsOf(text);
  expect(all.map(({ type, sequence_number: number }) => [number, type])).toEqual([
    [0, "response.created"],
    [1, "response.output_text.delta"],
    [2, "error"],
    [3, "response.failed"],
  ]);
  expect(all[2]).toMatchObject({ code: "interrupted", error: { type: "server_error", code: "interrupted" } });
  expect(all[3]!["response"]).toMatchObject({ id: ID, status: "failed", error: { code: "interrupted" } });
  expect(await read("2")).toBe(text.slice(text.indexOf("event: response.failed")));
  expect(await read("3")).toBe("data: [DONE]\n\n");
}, 60_000);

test("[d8.3, d12.8] a reader that goes on with the events of a call gets its end, also where its events are not kept any more", async () => {
  const { keep, reader } = twoGateways();
  await keep("completed", { isStreamed: true });
  const query = (name: string): string | undefined => ({ stream: "true", starting_after: "7" })[name];
  const found = await retrievedResponse({ ...reader, id: ID, query });
  const text = await new Response(found as ReadableStream<string>).text();
  const [last, ...others] = [...text.matchAll(/^data: (\{.*)$/gm)].map(([, data]) => JSON.parse(data!) as object);
  expect(last).toMatchObject({ type: "response.completed", sequence_number: 8, response: { id: ID } });
  expect(others).toEqual([]);
  expect(text).toEndWith("data: [DONE]\n\n");
});

test("[d12.8] events of many megabytes that come together are kept in parts, and one that is too large takes none behind it along", async () => {
  const { marks, keep, reader } = twoGateways();
  await keep("in_progress", { isStreamed: true });
  const events = ["a", "b", "c", "d", "e"].map((letter, number) => {
    const delta = letter.repeat(letter === "c" ? 5_000_000 : 1_000_000);
    return `event: response.output_text.delta\ndata: {"sequence_number":${number},"delta":"${delta}"}\n\n`;
  });
  const last = 'event: response.completed\ndata: {"type":"response.completed","sequence_number":5}\n\n';
  for (const event of [...events, last]) marks.brought(event);
  await marks.flush();
  await keep("completed", { isStreamed: true });
  const query = (name: string): string | undefined => ({ stream: "true" })[name];
  const found = await retrievedResponse({ ...reader, id: ID, query });
  const text = await new Response(found as ReadableStream<string>).text();
  const shown = [...events.filter((_, number) => number !== 2), last].join("");
  expect(text === `${shown}data: [DONE]\n\n`).toBe(true);
}, 60_000);

test("[d12.8] another gateway cancels a call also while the store has no room for its events", async () => {
  const clock = turnedClock(NOW_MS);
  const kept = new KeptObjects(clock);
  const full = new Proxy(kept, {
    get(target, name) {
      if (name !== "keep") return Reflect.get(target, name, target).bind(target);
      return (object: Parameters<typeof kept.keep>[0]) => {
        if (object.ids[0]!.includes(":events:")) throw new NoRoom("the server has little memory left");
        return target.keep(object);
      };
    },
  });
  const marks = new RunMarks({ kept: full, clock }, { tenantId: "default", projectId: "default" }, ID);
  marks.brought('event: response.created\ndata: {"type":"response.created","sequence_number":0}\n\n');
  await askToCancel({ kept, clock }, "default", ID);
  const cancelled = Promise.withResolvers<void>();
  const stop = marks.follow(async () => {}, cancelled.resolve);
  await cancelled.promise;
  stop();
});

test("[d12.8] a response whose process was killed leaves none of its events when it is deleted", async () => {
  const { clock, marks, keep, reader } = twoGateways();
  await keep("in_progress", { isStreamed: true });
  await marks.runs();
  for (const text of ["One", "Two"]) {
    marks.brought(`event: response.output_text.delta\ndata: {"delta":"${text}"}\n\n`);
    await marks.flush();
  }
  clock.turnTo(clock.now() + 60_000);
  const { kept } = reader.kept;
  const parts = () => [0, 1].map((part) => kept.find("default", `${ID}:events:${part}`) !== null);
  expect(parts()).toEqual([true, true]);
  expect(await deletedResponse({ ...reader, id: ID, query: () => undefined })).toMatchObject({ deleted: true });
  expect(parts()).toEqual([false, false]);
}, 60_000);

test("[d12.8] a response that is deleted while another one who asks finds that its process was killed is not kept again", async () => {
  const { clock, marks, keep, reader } = twoGateways();
  await keep("in_progress");
  await marks.runs();
  clock.turnTo(clock.now() + 60_000);
  const { kept } = reader.kept;
  const request = { ...reader, id: ID, query: () => undefined };
  /** The other one keeps the response as interrupted once it was deleted. */
  const late = new Proxy(kept, {
    get(target, name) {
      if (name !== "keep") return Reflect.get(target, name, target).bind(target);
      return async (object: Parameters<typeof kept.keep>[0]) => {
        await deletedResponse(request);
        return target.keep(object);
      };
    },
  });
  const asked = retrievedResponse({ ...request, kept: { ...reader.kept, kept: late } });
  expect(await asked.catch((thrown: unknown) => thrown)).toMatchObject({ code: "not_found" });
  expect(kept.find("default", ID)).toBeNull();
}, 60_000);

test("[d12.8] a response is not said to be deleted while another process goes on with its call, which would keep it again", async () => {
  const { clock, marks, keep, reader, asked } = twoGateways();
  await keep("in_progress");
  await marks.runs();
  const stop = marks.follow(
    async () => {},
    () => {},
  );
  const request = { ...reader, kept: { ...reader.kept, clock }, id: ID, query: () => undefined };
  const deleted = await deletedResponse(request).catch((thrown: unknown) => thrown);
  stop();
  expect(deleted).toMatchObject({ code: "kept_store_unavailable" });
  await keep("completed");
  expect(await asked()).toBe("completed");
  expect(await deletedResponse(request)).toMatchObject({ deleted: true });
  expect(await asked().catch((thrown: unknown) => thrown)).toMatchObject({ code: "not_found" });
}, 60_000);

test("[d2.6, d12.8] the events of a call that runs end with an error for a reader whose token or right ends, here and at another gateway", async () => {
  const { clock, marks, keep, reader } = twoGateways();
  await keep("in_progress", { isStreamed: true });
  const first = 'event: response.created\ndata: {"type":"response.created","sequence_number":0}\n\n';
  marks.brought(first);
  await marks.runs();
  await marks.flush();
  const background = new BackgroundRuns();
  const ending = Promise.withResolvers<void>();
  const work = async ({ brought }: { readonly brought: (event: string) => void }): Promise<void> => {
    brought(first);
    await ending.promise;
  };
  background.begin(ID, work, () => {});
  const stranger = projectToken().token;
  const others: readonly (readonly [string, () => Promise<Reader>])[] = [
    ["revoked_token", () => Promise.reject(new GatewayError("revoked_token", "The access token was revoked."))],
    ["not_found", async () => ({ ...reader, token: { ...stranger, id: "BBBBBBBBBBBB" } })],
  ];
  // at the other gateway the clock of the one that runs the call says that it does
  for (const kept of [
    { ...reader.kept, background },
    { ...reader.kept, clock },
  ])
    for (const [code, ended] of others) {
      let now = reader.readerNow;
      const query = (name: string): string | undefined => ({ stream: "true" })[name];
      const found = await retrievedResponse({ ...reader, kept, readerNow: () => now(), id: ID, query });
      const texts = (found as ReadableStream<string>).getReader();
      expect((await texts.read()).value).toBe(first);
      now = ended;
      const { value } = await texts.read();
      expect(value).toStartWith('event: error\ndata: {"type":"error","sequence_number":1,');
      expect([value!.includes(`"code":"${code}"`), value!.endsWith("data: [DONE]\n\n")]).toEqual([true, true]);
      expect((await texts.read()).done).toBe(true);
    }
  ending.resolve();
}, 60_000);

test("[d2.6, d12.8] nothing is looked for any more once the reader of events has left, or has lost the right to them", async () => {
  const { clock, marks, keep, reader } = twoGateways();
  await keep("in_progress", { isStreamed: true });
  const first = 'event: response.created\ndata: {"type":"response.created","sequence_number":0}\n\n';
  marks.brought(first);
  await marks.runs();
  await marks.flush();
  let looks = 0;
  const { kept } = reader.kept;
  const counting = Object.assign(Object.create(kept), {
    find: (...of: Parameters<typeof kept.find>) => {
      looks += 1;
      return kept.find(...of);
    },
  }) as typeof kept;
  let judged = 0;
  let mayRead = true;
  const readerNow = async (): Promise<Reader> => {
    judged += 1;
    if (!mayRead) throw new GatewayError("revoked_token", "The access token was revoked.");
    return reader.readerNow();
  };
  const query = (name: string): string | undefined => ({ stream: "true" })[name];
  for (const ends of [(left: { cancel(): Promise<void> }) => left.cancel(), () => void (mayRead = false)]) {
    const found = await retrievedResponse({
      ...reader,
      kept: { ...reader.kept, kept: counting, clock },
      readerNow,
      id: ID,
      query,
    });
    const texts = (found as ReadableStream<string>).getReader();
    expect((await texts.read()).value).toBe(first);
    const next = texts.read();
    await Bun.sleep(600);
    await ends(texts);
    await next.catch(() => {});
    // what was under way may still look once
    await until(async () => {
      const seen = looks + judged;
      await Bun.sleep(600);
      return looks + judged === seen;
    });
    const before = [looks, judged];
    await Bun.sleep(1500);
    expect([looks, judged]).toEqual(before);
  }
}, 60_000);
