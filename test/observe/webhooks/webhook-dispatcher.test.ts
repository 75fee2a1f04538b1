// Deliveries over a real queue and real sockets, in simulated time: what is retried, what is given up, and that no
// receiver delays another.
import { afterEach, beforeEach, describe, expect, test } from "bun:test";
import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { Webhook as Verifier } from "standardwebhooks";
import type { Webhook } from "../../../src/core/record/event.ts";
import { type EventFigures, newEventFigures } from "../../../src/observe/webhooks/event-figures.ts";
import { openDispatcher } from "../../../src/observe/webhooks/webhook-dispatcher.ts";
import { webhookSender } from "../../../src/observe/webhooks/webhook-sender.ts";
import {
  compileWebhooks,
  newWebhookSecret,
  type WebhookDocument,
  webhookSchema,
} from "../../../src/observe/webhooks/webhook-settings.ts";
import type { Delivery, EventQueue } from "../../../src/store/events/events.ts";
import { openSqliteEvents } from "../../../src/store/events/sqlite-events.ts";
import { openSqliteDatabase } from "../../../src/store/sqlite.ts";
import type { Store } from "../../../src/store/store.ts";
import { createSocketUpstream } from "../../../src/wire/http/upstream-socket.ts";
import { someEvent } from "../../contract/store/event-queue.suite.ts";
import { type FakeUpstream, type SeenRequest, startUpstream } from "../../harness/servers/upstream.ts";
import { until, untilFound } from "../../harness/time/until.ts";

const secret = newWebhookSecret();
const START = Date.now();

describe("deliveries to webhooks", () => {
  let folder: string;
  let store: Store;
  let queue: EventQueue;
  let receiver: FakeUpstream;
  let answer: (request: SeenRequest) => Response | Promise<Response>;
  let dispatcher: ReturnType<typeof openDispatcher> | null;
  let figures: EventFigures;
  let nowMs: number;
  let gone: string[];
  let webhooks: ReturnType<typeof compileWebhooks>;
  let states: string[];

  beforeEach(async () => {
    folder = mkdtempSync(join(tmpdir(), "dragoman-dispatcher-"));
    const file = join(folder, "db");
    ({ store } = await openSqliteDatabase({ file }));
    await store.migrate();
    queue = openSqliteEvents({ file });
    answer = () => new Response("thanks");
    receiver = startUpstream((request) => answer(request));
    figures = newEventFigures();
    nowMs = START;
    gone = [];
    states = [];
    dispatcher = null;
  });
  afterEach(async () => {
    await dispatcher?.close(1000);
    await receiver.stop();
    await queue.close();
    await store.close();
    rmSync(folder, { recursive: true });
  });

  const configured = (
    name: string,
    own: Partial<WebhookDocument> & { readonly origin?: "file" | "store"; readonly tenantId?: string } = {},
  ) => {
    const { origin = "file", tenantId = "default", ...document } = own;
    return {
      id: name,
      name,
      tenantId,
      projectId: null,
      origin,
      setBy: null,
      version: 0,
      document: webhookSchema.parse({ url: `${receiver.url}/${name}`, secret, ...document }),
    };
  };
  const begin = (all: readonly ReturnType<typeof configured>[], allowPrivate = false): void => {
    webhooks = compileWebhooks(all);
    const clock = { now: () => nowMs, monotonic: () => performance.now() };
    dispatcher = openDispatcher({
      queue,
      clock,
      webhooks: () => webhooks,
      removeUnaddressed: (beforeMs) => store.removeUnaddressedEvents(beforeMs),
      send: webhookSender({ upstream: createSocketUpstream(), clock, allowPrivateAddresses: () => allowPrivate }),
      random: () => 0.5,
      figures,
      onGone: ({ id }: Webhook) => gone.push(id),
      onDead: () => {},
      onState: (state) => states.push(state),
      pollMs: 20,
    });
  };
  const tell = async (...events: readonly ReturnType<typeof someEvent>[]): Promise<void> => {
    await queue.append(events);
    dispatcher!.wake();
  };
  const all = async (): Promise<readonly Delivery[]> => (await store.listDeliveries({ limit: 1000 })).data;
  const attempted = (attempts: number): Promise<Delivery> =>
    untilFound(async () => (await all()).find((one) => one.history.length >= attempts), `${attempts} attempts`);

  test("[d11.4] an event arrives once, signed so that the Standard Webhooks library verifies it, with what happened and where", async () => {
    begin([configured("a")]);
    const event = someEvent({ projectId: "site", data: { token_id: "AAAAAAAAAAAA", name: "naïve ☂" } });
    await tell(event);
    const delivery = await attempted(1);
    expect(delivery).toMatchObject({
      state: "delivered",
      attempts: 1,
      lastStatus: 200,
      lastError: null,
      history: [{ status: 200, answer: "thanks" }],
    });
    expect(receiver.seen).toHaveLength(1);
    const { text, headers } = receiver.last();
    expect(new Verifier(secret).verify(text, headers as Record<string, string>)).toEqual({
      id: event.id,
      type: event.type,
      timestamp: new Date(event.atMs).toISOString(),
      tenant_id: "default",
      project_id: "site",
      data: event.data,
    });
    expect(headers["webhook-id"]).toBe(event.id);
    await Bun.sleep(100);
    expect(receiver.seen).toHaveLength(1);
    expect(figures.attempts).toEqual({ delivered: 1, failed: 0 });
  });

  test("[d11.4] a receiver that always answers 500 is retried on the schedule, under the same id with a fresh signature, and given up after the last attempt", async () => {
    answer = () => new Response("a bad day", { status: 500 });
    begin([configured("a", { max_attempts: 4 })]);
    const event = someEvent();
    await tell(event);
    const waits: number[] = [];
    for (let n = 1; n <= 4; n++) {
      const delivery = await attempted(n);
      if (delivery.state === "dead") break;
      waits.push(delivery.nextAtMs! - nowMs);
      await Bun.sleep(60);
      expect(receiver.seen).toHaveLength(n);
      nowMs = delivery.nextAtMs!;
    }
    expect(waits.map((wait) => Math.round(wait / 1000))).toEqual([5, 300, 1800]);
    const dead = await attempted(4);
    expect(dead).toMatchObject({ state: "dead", attempts: 4, lastStatus: 500, lastError: "answered 500" });
    expect(dead.history.every(({ answer: text }) => text === "a bad day")).toBe(true);
    nowMs += 30 * 86_400_000;
    await Bun.sleep(100);
    expect(receiver.seen.map(({ headers }) => headers["webhook-id"])).toEqual([event.id, event.id, event.id, event.id]);
    expect(new Set(receiver.seen.map(({ headers }) => headers["webhook-timestamp"])).size).toBe(4);
    expect([figures.dead, figures.attempts.failed]).toEqual([1, 4]);
  });

  test("[d11.4] a delivery whose receiver could not be reached says so of the receiver", async () => {
    const { url } = receiver;
    await receiver.stop();
    begin([configured("a", { url })]);
    await tell(someEvent());
    expect((await attempted(1)).lastError).toBe("the receiver could not be reached (ECONNREFUSED)");
  });

  test("[d2.12] [d11.4] a redirect is a failure, wherever it leads, and is not followed", async () => {
    answer = ({ path }) =>
      path === "/a" ? Response.redirect(`${receiver.url}/elsewhere`, 307) : new Response("caught");
    begin([configured("a")]);
    await tell(someEvent());
    expect(await attempted(1)).toMatchObject({
      state: "pending",
      lastStatus: 307,
      lastError: "answered 307: redirects are not followed",
    });
    expect(receiver.seen.map(({ path }) => path)).toEqual(["/a"]);
  });

  test("[d2.12] [d11.4] an internal address that did not come from the file is not called, unless private addresses are allowed; metadata services are never called", async () => {
    begin([
      configured("file"),
      configured("store", { origin: "store" }),
      configured("metadata", { origin: "store", url: "http://169.254.169.254/latest/meta-data" }),
    ]);
    await tell(someEvent());
    const done = await untilFound(async () => {
      const deliveries = await all();
      return deliveries.length === 3 && deliveries.every(({ history }) => history.length > 0) && deliveries;
    }, "all three");
    const of = (id: string) => done.find(({ webhookId }) => webhookId === id)!;
    expect([of("file").state, of("store").state, of("metadata").state]).toEqual(["delivered", "pending", "pending"]);
    expect(of("store").lastError).toMatch(
      /^The host of url is not on the public Internet.*providers\.allow_private_addresses: true/,
    );
    expect(of("metadata").lastError).toContain("metadata service");
    expect(receiver.seen.map(({ path }) => path)).toEqual(["/file"]);
    expect(JSON.stringify(done)).not.toContain("is 127.0.0.1");
  });

  test("[d11.4] 410 Gone ends the delivery and all that waits for the webhook, and switches the webhook off", async () => {
    answer = ({ path }) => new Response("bye", { status: path === "/a" ? 410 : 503 });
    begin([configured("a"), configured("b")]);
    await tell(someEvent());
    await until(
      async () =>
        gone.length > 0 &&
        (await all()).length === 2 &&
        (await all()).every(({ webhookId, state, history }) =>
          webhookId === "a" ? state === "dead" : history.length > 0,
        ),
      "gone",
    );
    expect(gone).toEqual(["a"]);
    expect(
      (await all())
        .map(({ webhookId, state, lastStatus }) => [webhookId, state, lastStatus])
        .toSorted((x, y) => (x[0]! < y[0]! ? -1 : 1)),
    ).toEqual([
      ["a", "dead", 410],
      ["b", "pending", 503],
    ]);
  });

  test("[d11.4] 410 Gone from a webhook's former address does not affect its present one", async () => {
    let release = (): void => {};
    const held = new Promise<void>((resolve) => (release = resolve));
    answer = async ({ path }) => {
      if (path !== "/a") return new Response("ok");
      await held;
      return new Response("bye", { status: 410 });
    };
    begin([configured("a")]);
    await tell(someEvent());
    await until(() => receiver.seen.length === 1, "under way");
    webhooks = compileWebhooks([configured("a", { url: `${receiver.url}/moved` })]);
    release();
    await attempted(1);
    await tell(someEvent());
    await until(async () => (await all()).some(({ state }) => state === "delivered"), "the next at the new address");
    expect(gone).toEqual([]);
    expect(receiver.last().path).toBe("/moved");
  });

  test("[d11.4] a hanging receiver delays no other, and is abandoned after its time", async () => {
    answer = async ({ path }) => {
      if (path !== "/quick") await Bun.sleep(60_000);
      return new Response("ok");
    };
    begin([configured("slow", { timeout_s: 60 }), configured("late", { timeout_s: 0.4 }), configured("quick")]);
    await tell(...Array.from({ length: 30 }, () => someEvent()));
    await until(
      async () =>
        (await all()).filter(({ webhookId, state }) => webhookId === "quick" && state === "delivered").length === 30,
      "all of the quick one",
    );
    expect((await all()).filter(({ webhookId, history }) => webhookId === "slow" && history.length > 0)).toEqual([]);
    const late = await untilFound(
      async () => (await all()).find(({ webhookId, history }) => webhookId === "late" && history.length > 0),
      "an attempt at the late one",
    );
    expect(late).toMatchObject({ state: "pending", lastStatus: null, lastError: "no answer within 0.4 s" });
    expect(receiver.seen.filter(({ path }) => path === "/slow").length).toBeLessThan(30);
  });

  test("[d11.4] forty hanging receivers of one tenant delay no other tenant's", async () => {
    answer = async ({ path }) => {
      if (path !== "/zz") await Bun.sleep(60_000);
      return new Response("ok");
    };
    const slow = Array.from({ length: 40 }, (_, index) =>
      configured(`slow${String(index).padStart(2, "0")}`, { timeout_s: 60 }),
    );
    begin([...slow, configured("zz", { tenantId: "other" })]);
    await tell(...Array.from({ length: 10 }, () => someEvent()));
    await until(() => receiver.seen.length >= 32, "slow ones under way");
    await tell(...Array.from({ length: 10 }, () => someEvent({ tenantId: "other" })));
    await until(
      async () =>
        (await all()).filter(({ webhookId, state }) => webhookId === "zz" && state === "delivered").length === 10,
      "all of the quick one",
    );
  });

  test("[d11.4] a database that becomes unavailable during many deliveries is reported once, and once when it is back", async () => {
    let isAway = false;
    const inner = queue;
    queue = {
      ...inner,
      settle: (claimed, outcome) => (isAway ? Promise.reject(new Error("away")) : inner.settle(claimed, outcome)),
      due: (ms) => (isAway ? Promise.reject(new Error("away")) : inner.due(ms)),
    };
    let release = (): void => {};
    const held = new Promise<void>((resolve) => (release = resolve));
    answer = async () => {
      await held;
      return new Response("ok");
    };
    begin(Array.from({ length: 5 }, (_, index) => configured(`w${index}`)));
    await tell(...Array.from({ length: 4 }, () => someEvent()));
    await until(() => receiver.seen.length === 20, "all under way");
    isAway = true;
    release();
    await until(() => states.length > 0, "away");
    await Bun.sleep(300);
    expect(states).toEqual(["away"]);
    isAway = false;
    await until(() => states.length > 1, "back");
    expect(states).toEqual(["away", "back"]);
    queue = inner;
  });

  test("[d11.4] the end waits for deliveries that a turn under way still begins", async () => {
    const inner = queue;
    const claiming = Promise.withResolvers<void>();
    const mayClaim = Promise.withResolvers<void>();
    queue = {
      ...inner,
      async claim(...claim) {
        claiming.resolve();
        await mayClaim.promise;
        return await inner.claim(...claim);
      },
    };
    begin([configured("a")]);
    await tell(someEvent());
    await claiming.promise;
    const closed = dispatcher!.close(60_000);
    mayClaim.resolve();
    await closed;
    queue = inner;
    expect(await all()).toMatchObject([{ state: "delivered", attempts: 1 }]);
  });

  test("[d11.4] a delivery that the end cuts off is not reported as an outage of the queue, which is closed by then", async () => {
    const inner = queue;
    const settling = Promise.withResolvers<void>();
    queue = {
      ...inner,
      settle() {
        settling.resolve();
        return Promise.reject(new Error("closed"));
      },
    };
    const held = Promise.withResolvers<Response>();
    answer = () => held.promise;
    begin([configured("a")]);
    await tell(someEvent());
    await until(() => receiver.seen.length === 1, "under way");
    await dispatcher!.close(0);
    held.resolve(new Response("ok"));
    await settling.promise;
    await dispatcher!.close(60_000);
    queue = inner;
    expect(states).toEqual([]);
  });

  test("[d11.4] after a start without webhooks the deliveries waiting for earlier ones are given up, and earlier events are kept for none", async () => {
    const recipient = { webhookId: "gone", webhookName: "gone", tenantId: "default", projectId: null };
    const [waiting, unheard, fresh] = [
      someEvent({ atMs: nowMs - 120_000 }),
      someEvent({ atMs: nowMs - 90_000 }),
      someEvent({ atMs: nowMs - 1000 }),
    ];
    await queue.append([waiting]);
    await queue.fanOut([{ event: waiting, recipients: [recipient] }], nowMs - 120_000);
    await queue.append([unheard, fresh]);
    expect(await store.removeUnaddressedEvents(nowMs - 60_000)).toBe(true);
    expect((await queue.awaitingFanOut(10)).map(({ id }) => id)).toEqual([fresh.id]);
    begin([]);
    await until(async () => (await all())[0]!.state === "dead", "given up");
    expect(dispatcher!.isInUse()).toBe(true);
    expect(await store.removeUnaddressedEvents(nowMs - 60_000)).toBe(true);
    expect(await queue.prune(nowMs)).toBe(1);
    expect(await store.removeUnaddressedEvents(nowMs - 60_000)).toBe(false);
  });

  test("[d11.4] after a start without webhooks the queue is in use while it has ended deliveries, which are then removed in time", async () => {
    begin([configured("a")]);
    await tell(someEvent({ atMs: nowMs }));
    await attempted(1);
    await dispatcher!.close(60_000);
    begin([]);
    await until(() => dispatcher!.isInUse(), "in use");
    expect(await queue.prune(nowMs + 1)).toBe(1);
    expect(await all()).toEqual([]);
  });

  test("[d11.4] a gateway that never had webhooks does not use the queue, and delivers no earlier events to a new one", async () => {
    begin([]);
    await queue.append([someEvent({ atMs: nowMs - 61_000 })]);
    dispatcher!.wake();
    await until(async () => (await queue.awaitingFanOut(10)).length === 0, "forgotten");
    expect(dispatcher!.isInUse()).toBe(false);
    await dispatcher!.close(1000);
    begin([configured("a")]);
    const after = someEvent({ atMs: nowMs + 10 });
    await tell(after);
    await attempted(1);
    expect(receiver.seen.map(({ headers }) => headers["webhook-id"])).toEqual([after.id]);
  });

  test("[d11.4] only the beginning of a receiver's answer is read and stored, without control characters", async () => {
    answer = () => new Response(`\u001b[31mred\u0000\n${"x".repeat(50_000_000)}`, { status: 500 });
    begin([configured("a")]);
    await tell(someEvent());
    const { lastStatus, history } = await attempted(1);
    expect(lastStatus).toBe(500);
    expect(history[0]!.answer).toStartWith("[31mred x");
    expect(history[0]!.answer!.length).toBeLessThanOrEqual(500);
  });

  test("[d11.4] while one secret replaces another each delivery carries both signatures, and then one", async () => {
    const next = newWebhookSecret();
    begin([
      configured("a", {
        secret: next,
        previous_secret: secret,
        previous_secret_until: new Date(START + 60_000).toISOString(),
      }),
    ]);
    await tell(someEvent());
    await attempted(1);
    for (const one of [secret, next])
      expect(() =>
        new Verifier(one).verify(receiver.last().text, receiver.last().headers as Record<string, string>),
      ).not.toThrow();
    nowMs += 60_000;
    await tell(someEvent());
    await until(() => receiver.seen.length === 2, "the second");
    expect(receiver.last().headers["webhook-signature"]!.split(" ")).toHaveLength(1);
  });

  test("[d11.4] deliveries waiting for a webhook that is switched off or removed are given up after a minute; earlier events are not delivered to a new one", async () => {
    begin([]);
    await queue.append([someEvent({ atMs: nowMs - 1 })]);
    dispatcher!.wake();
    await Bun.sleep(50);
    webhooks = compileWebhooks([configured("a", { url: "http://127.0.0.1:1/closed" })]);
    nowMs += 10;
    await tell(someEvent({ atMs: nowMs }));
    await attempted(1);
    expect(await all()).toHaveLength(1);
    webhooks = compileWebhooks([configured("a", { enabled: false })]);
    nowMs += 5_000;
    dispatcher!.wake();
    await Bun.sleep(100);
    expect((await all())[0]!.state).toBe("pending");
    nowMs += 61_000;
    dispatcher!.wake();
    await until(async () => (await all())[0]!.state === "dead", "given up");
    expect((await all())[0]!.lastError).toContain("deleted or disabled");
  });
});
