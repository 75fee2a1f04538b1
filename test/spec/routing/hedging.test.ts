// A second attempt beside one whose first content is late, through the whole gateway: which answer the client gets, and
// how the other one ends.
import { afterEach, beforeEach, describe, expect, test } from "bun:test";
import { compilePrices, priceSchema } from "../../../src/accounting/price-settings.ts";
import { MESSAGES } from "../../../src/operations/messages/messages.ts";
import { RESPONSES } from "../../../src/operations/responses/responses.ts";
import { noLedger } from "../../../src/store/journal/ledger.ts";
import { type Fault, OK, status, WORDS } from "../../harness/faults.ts";
import { projectToken } from "../../harness/in-process.ts";
import { routedGateway, routeOf, type Routed, type RouteParts } from "../../harness/routed.ts";
import { readStream } from "../../harness/sse.ts";
import { type TurnedTime, turnTime } from "../../harness/time/turned-time.ts";

const HEDGED: RouteParts = { hedge: { after: 20, maxExtra: 1 } };
const SLOW: Fault = { kind: "ok", delayMs: 200 };
const STALL: Fault = { kind: "stall" };
const HOW = [
  ["plain", {}],
  ["streamed", { stream: true }],
] as const;

let time: TurnedTime;
beforeEach(() => void (time = turnTime()));
afterEach(() => time.stop());

function hedgedGateway(up0: readonly Fault[], up1: readonly Fault[], parts: RouteParts = {}): Routed {
  return routedGateway(
    [routeOf("r", ["up0:m", "up1:m"], { ...HEDGED, ...parts })],
    { up0, up1 },
    { clock: time.clock },
  );
}

async function contentOf(
  gateway: Routed,
  how: object,
): Promise<{ readonly content: string; readonly status: number; readonly headers: Headers }> {
  const asked = gateway.chat({ route: "r", messages: [{ role: "user", content: "Hello" }], ...how });
  const response = await time.until(asked);
  const text = await time.until(response.text());
  const { status: code, headers } = response;
  if (headers.get("content-type")!.startsWith("text/event-stream"))
    return { content: readStream(text).content, status: code, headers };
  return {
    content: (JSON.parse(text) as { choices?: { message: { content: string } }[] }).choices?.[0]?.message.content ?? "",
    status: code,
    headers,
  };
}

/** The upstream request that is cancelled reports this a moment after the answer. */
const settled = (): Promise<number> => time.drain(5);
const ends = ({ upstream }: Routed): readonly (readonly [string, string | null])[] =>
  upstream.served.map(({ target, ended }) => [target, ended]);
const codes = ({ records }: Routed): readonly (string | null)[] => records.at(-1)!.attempts.map(({ code }) => code);

describe.each([...HOW])("a late first content, %s", (_, how) => {
  test("the second attempt answers: the first is ended, and none of its text is sent", async () => {
    const gateway = hedgedGateway([SLOW], [OK]);
    const { content, headers } = await contentOf(gateway, how);
    await settled();
    expect([content, headers.get("x-gateway-model"), headers.get("x-gateway-attempts")]).toEqual([
      "up1.1;".repeat(WORDS),
      "up1:m",
      "2",
    ]);
    expect(ends(gateway)).toEqual([
      ["up0", "cancelled"],
      ["up1", "read"],
    ]);
    expect(codes(gateway)).toEqual(["superseded", null]);
    expect(gateway.context.routing.health.snapshot(0).map(({ inFlight, state }) => [inFlight, state])).toEqual([
      [0, "closed"],
      [0, "closed"],
    ]);
  });

  test("[d7.1] an answer in which nothing was generated does not end the other attempt", async () => {
    const empty: Fault = { kind: "empty", delayMs: 60 };
    const late: Fault = { kind: "ok", delayMs: 300 };
    for (const [up0, up1, answer] of [
      [empty, late, "up1.1;"],
      [{ kind: "ok", delayMs: 300 }, { kind: "empty" }, "up0.1;"],
    ] as const) {
      const gateway = hedgedGateway([up0], [up1]);
      const { content } = await contentOf(gateway, how);
      await settled();
      expect(content).toBe(answer.repeat(WORDS));
      expect(ends(gateway)).toEqual([
        ["up0", "read"],
        ["up1", "read"],
      ]);
      expect(codes(gateway)).toHaveLength(2);
      expect(new Set(codes(gateway))).toEqual(new Set([null, "upstream_incomplete"]));
      expect(gateway.context.routing.health.snapshot(0).map(({ inFlight }) => inFlight)).toEqual([0, 0]);
    }
  });

  test("[d7.1] of two answers in which nothing was generated, none holds up what follows", async () => {
    const empty: Fault = { kind: "empty", delayMs: 60 };
    const gateway = hedgedGateway([empty, OK], [empty, OK], { retries: 1 });
    const { content, status: code } = await contentOf(gateway, how);
    await settled();
    expect([code, content.length > 0, gateway.upstream.served.length]).toEqual([200, true, 3]);
    expect(gateway.context.routing.health.snapshot(0).map(({ inFlight }) => inFlight)).toEqual([0, 0]);
  });

  test("the first attempt is quicker after all: the second is ended", async () => {
    const gateway = hedgedGateway([{ kind: "ok", delayMs: 60 }], [{ kind: "ok", delayMs: 300 }]);
    const { content } = await contentOf(gateway, how);
    await settled();
    expect([content, ends(gateway), codes(gateway)]).toEqual([
      "up0.1;".repeat(WORDS),
      [
        ["up0", "read"],
        ["up1", "cancelled"],
      ],
      [null, "superseded"],
    ]);
  });

  test("[d11.1] both are paid for, and the record names the price of the one that answered", async () => {
    const priceOf = (target: string, prompt: string): Parameters<typeof compilePrices>[0][number] => ({
      id: target,
      name: target,
      tenantId: null,
      projectId: null,
      origin: "store",
      setBy: "owner",
      version: 1,
      document: priceSchema.parse({ model: `${target}:m`, prompt, completion: prompt }),
    });
    const prices = compilePrices([priceOf("up0", "1"), priceOf("up1", "1000")]);
    for (const [up0, up1, answering] of [
      [{ kind: "ok", delayMs: 60 }, { kind: "ok", delayMs: 300 }, "up0"],
      [{ kind: "ok", delayMs: 300 }, OK, "up1"],
    ] as const) {
      const gateway = routedGateway(
        [routeOf("r", ["up0:m", "up1:m"], HEDGED)],
        { up0: [up0], up1: [up1] },
        { clock: time.clock, snapshot: { prices } },
      );
      await contentOf(gateway, how);
      await settled();
      const { provider, cost, attempts } = gateway.records.at(-1)!;
      const spent = attempts.map(({ provider: id, usage }) => usage!.total_tokens * (id === "up0" ? 1_000 : 1_000_000));
      expect([provider, cost]).toEqual([answering, { nanoUsd: spent[0]! + spent[1]!, priceId: `${answering}@1` }]);
    }
  });

  test("the second attempt fails: the first is still waited for", async () => {
    const gateway = hedgedGateway([{ kind: "ok", delayMs: 80 }], [status(500)]);
    expect((await contentOf(gateway, how)).content).toBe("up0.1;".repeat(WORDS));
    expect(codes(gateway)).toEqual([null, "upstream_error"]);
  });

  test("both fail: the call goes on as after one failure, and every attempt is reported", async () => {
    const gateway = hedgedGateway([{ kind: "status", status: 500, delayMs: 60 }, OK], [status(500)], { retries: 1 });
    const { content, headers } = await contentOf(gateway, how);
    expect([content, gateway.upstream.targets().slice(0, 2)]).toEqual(["up0.2;".repeat(WORDS), ["up0", "up1"]]);
    expect([headers.get("x-gateway-attempts"), codes(gateway).length]).toEqual([
      String(gateway.upstream.served.length),
      gateway.upstream.served.length,
    ]);
  });

  test.each([401, 400])(
    "[d7.1] both fail, the second with %i: it is not repeated, and the client is told of it",
    async (code) => {
      const gateway = hedgedGateway([{ kind: "status", status: 500, delayMs: 60 }], [status(code)], { retries: 1 });
      await contentOf(gateway, how);
      const targets = gateway.upstream.targets();
      expect(targets.slice(0, 2)).toEqual(["up0", "up1"]);
      expect(targets.filter((target) => target === "up1")).toHaveLength(1);
      expect(gateway.records[0]!.code).toBe(code === 401 ? "upstream_authentication" : "upstream_invalid_request");
    },
  );

  test("[d7.10] a second attempt that stays silent is given up for a target that is left", async () => {
    const gateway = routedGateway(
      [routeOf("r", ["up0:m", "up1:m", "up2:m"], HEDGED)],
      { up0: [{ kind: "status", status: 500, delayMs: 60 }], up1: [STALL] },
      { clock: time.clock },
    );
    expect([(await contentOf(gateway, how)).content, gateway.upstream.targets()]).toEqual([
      "up2.1;".repeat(WORDS),
      ["up0", "up1", "up2"],
    ]);
    expect(codes(gateway)).toEqual(["upstream_error", "upstream_timeout", null]);
  });

  test("an answer in time has no second attempt", async () => {
    const gateway = hedgedGateway([OK], [OK]);
    expect([(await contentOf(gateway, how)).content, gateway.upstream.targets()]).toEqual([
      "up0.1;".repeat(WORDS),
      ["up0"],
    ]);
  });

  test("with one target the second attempt goes to the same one", async () => {
    const gateway = routedGateway([routeOf("r", ["up0:m"], HEDGED)], { up0: [SLOW, OK] }, { clock: time.clock });
    expect([(await contentOf(gateway, how)).content, gateway.upstream.targets()]).toEqual([
      "up0.2;".repeat(WORDS),
      ["up0", "up0"],
    ]);
  });

  test("a client that leaves ends both", async () => {
    const gateway = hedgedGateway([SLOW], [SLOW]);
    const leaving = new AbortController();
    const asked = gateway
      .chat({ route: "r", messages: [{ role: "user", content: "Hello" }], ...how }, { signal: leaving.signal })
      .then(
        (response) => response.text(),
        () => "",
      );
    await time.drain(60);
    leaving.abort();
    await time.until(asked);
    expect(ends(gateway)).toEqual([
      ["up0", "cancelled"],
      ["up1", "cancelled"],
    ]);
    expect(gateway.records.map(({ status: code }) => code)).toEqual([499]);
  });
});

test("the record names the target that answers a stream, although the other attempt becomes ready in the middle of it", async () => {
  const written = Promise.withResolvers<void>();
  let admitted = 0;
  const gateway = routedGateway(
    [routeOf("r", ["up0:m", "up1:m"], HEDGED)],
    { up0: [{ kind: "ok", delayMs: 60, gapMs: 50 }] },
    {
      clock: time.clock,
      // the second attempt waits for the disk
      ledger: { ...noLedger, written: () => (++admitted === 2 ? written.promise : Promise.resolve()) },
    },
  );
  setTimeout(() => written.resolve(), 150);
  expect((await contentOf(gateway, { stream: true })).content).toBe("up0.1;".repeat(WORDS));
  const { provider, attempts } = gateway.records[0]!;
  expect([admitted, provider, attempts.length, gateway.upstream.targets()]).toEqual([2, "up0", 1, ["up0"]]);
});

test("[d7.7] no second attempt begins beside an answer that is read on for a client that has left", async () => {
  const gateway = hedgedGateway([{ kind: "ok", gapMs: 300 }], [OK]);
  const leaving = new AbortController();
  const asked = gateway.chat(
    { route: "r", messages: [{ role: "user", content: "Hello" }] },
    { signal: leaving.signal },
  );
  await time.drain(10);
  leaving.abort();
  expect((await time.until(asked)).status).toBe(499);
  expect([ends(gateway), codes(gateway)]).toEqual([[["up0", "read"]], ["client_closed"]]);
});

test("[d7.5] an attempt that waits for a place at its target leaves the queue when another one of its call has answered", async () => {
  const full = { name: "up1:m", maxConcurrency: 1 };
  const queue = { max: 1, timeoutMs: 60_000 };
  const gateway = routedGateway(
    [
      routeOf("full", [full], { queue }),
      routeOf("second", ["up0:m", full], { ...HEDGED, queue }),
      routeOf("first", [full, "up0:m"], { ...HEDGED, queue }),
    ],
    { up0: [SLOW], up1: [{ kind: "ok", delayMs: 2000 }, OK] },
    { clock: time.clock },
  );
  const ask = (route: string): Promise<Response> =>
    gateway.chat({ route, messages: [{ role: "user", content: "Hello" }] });
  const holds = ask("full");
  for (const route of ["second", "first"]) {
    const response = await time.until(ask(route));
    expect([route, response.headers.get("x-gateway-model")]).toEqual([route, "up0:m"]);
  }
  // there is room for one that waits
  const waits = await time.until(ask("full"));
  expect([waits.status, (await time.until(holds)).status]).toEqual([200, 200]);
  expect(gateway.upstream.targets()).toEqual(["up1", "up0", "up0", "up1"]);
});

test.each([
  ["responses", RESPONSES, { input: "Hello" }],
  ["messages", MESSAGES, { max_tokens: 9, messages: [{ role: "user", content: "Hello" }] }],
] as const)(
  "[d12.5] events of %s name the model that answers to a client that named only a route, and not that of a later attempt",
  async (_, operation, body) => {
    const gateway = hedgedGateway([SLOW], [STALL]);
    const asked = gateway.call(operation, { ...body, stream: true, x_gateway: { route: "r" } });
    const text = await time.until((await time.until(asked)).text());
    await settled();
    expect(gateway.upstream.targets()).toEqual(["up0", "up1"]);
    expect([...new Set(text.match(/"model":"[^"]*"/g))]).toEqual(['"model":"up0:m"']);
  },
);

test("no more calls than max_extra allows have a second attempt, and no route has one unless it asks for it", async () => {
  const slow: Fault = { kind: "ok", delayMs: 30 };
  const gateway = hedgedGateway([slow], [slow], { hedge: { after: 5, maxExtra: 0.1 } });
  for (let call = 0; call < 20; call++) await contentOf(gateway, {});
  expect(gateway.upstream.targets().length).toBe(22);
  const without = hedgedGateway([SLOW], [OK], { hedge: null });
  await contentOf(without, {});
  expect(without.upstream.targets()).toEqual(["up0"]);
});

test("[d7.5] the share of hedges is that of a tenant's own route, and not of routes of others with its name", async () => {
  const routes = () =>
    new Map([["r", routeOf("r", ["up0:m", "up1:m"], { hedge: { after: 20, maxExtra: 0.5 } })] as const]);
  const [busy, quiet] = ["busy", "quiet"].map((id) => ({
    id,
    ...projectToken({ tenantId: id, projectId: `of-${id}` }),
  }));
  const both = [busy!, quiet!];
  const gateway = routedGateway(
    [],
    { up0: [...Array.from({ length: 10 }, () => OK), SLOW] },
    {
      clock: time.clock,
      snapshot: {
        tokens: new Map(both.map(({ token }) => [token.id, token])),
        projects: new Map(both.map(({ id }) => [`of-${id}`, { id: `of-${id}`, tenantId: id, name: id }])),
        tenantRoutes: new Map(both.map(({ id }) => [id, routes()])),
      },
    },
  );
  const ask = async ({ text }: (typeof both)[number]): Promise<string | null> => {
    const headers = { authorization: `Bearer ${text}` };
    const asked = gateway.chat({ route: "r", messages: [{ role: "user", content: "Hello" }] }, { headers });
    const response = await time.until(asked);
    await time.until(response.text());
    return response.headers.get("x-gateway-attempts");
  };
  for (let call = 0; call < 10; call++) expect(await ask(busy!)).toBe("1");
  // half of one call is none
  expect(await ask(quiet!)).toBe("1");
  // and half of twelve calls is not used up
  expect(await ask(busy!)).toBe("2");
});
