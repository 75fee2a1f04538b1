// `max_concurrency` of a target through the whole gateway: which calls wait, which get a place, and which are sent to
// another target or refused.
import { describe, expect, test } from "bun:test";
import { OK } from "../../harness/faults.ts";
import { routedGateway, routeOf, type Routed, type RouteParts } from "../../harness/routed.ts";
import { until } from "../../harness/time/until.ts";

const SLOW = { kind: "ok", delayMs: 40 } as const;

function boundedGateway(parts: RouteParts, others: readonly string[] = []): Routed {
  const first = { name: "up0:m", maxConcurrency: 1 };
  return routedGateway([routeOf("r", [first, ...others], parts)], { up0: [SLOW], up1: [OK] });
}

const chat = (gateway: Routed, fields: object = {}, init: { readonly signal?: AbortSignal } = {}): Promise<Response> =>
  gateway.chat({ route: "r", messages: [{ role: "user", content: "Hello" }], ...fields }, init);
/** The largest number of calls that were in flight at once. */
function peak({ upstream }: Routed, tookMs: number): number {
  return Math.max(
    ...upstream.served.map(
      (one) =>
        upstream.served.filter(
          (other) => other.startedMs <= one.startedMs && one.startedMs < other.startedMs + tookMs - 2,
        ).length,
    ),
  );
}

describe.each([
  ["plain", {}],
  ["streamed", { stream: true }],
] as const)("a target with room for one call, %s", (_, how) => {
  test("calls wait in the queue, and all are answered in turn", async () => {
    const gateway = boundedGateway({ queue: { max: 8, timeoutMs: 10_000 } });
    const answers = await Promise.all(
      Array.from({ length: 4 }, async () => {
        const response = await chat(gateway, how);
        await response.text();
        return response.status;
      }),
    );
    expect([answers, peak(gateway, 40), gateway.context.routing.concurrency.waiting("up0:m")]).toEqual([
      [200, 200, 200, 200],
      1,
      0,
    ]);
  });

  test("a full queue is answered with 503 gateway_overloaded and retry-after; its place is free again afterwards", async () => {
    const gateway = boundedGateway({ queue: { max: 1, timeoutMs: 10_000 } });
    const responses = await Promise.all(
      [chat(gateway, how), chat(gateway, how), chat(gateway, how)].map(async (asked) => {
        const response = await asked;
        return [response.status, response.headers.get("retry-after"), await response.text()] as const;
      }),
    );
    const refused = responses.filter(([status]) => status === 503);
    expect([responses.filter(([status]) => status === 200).length, refused.length, refused[0]![1]]).toEqual([
      2,
      1,
      "1",
    ]);
    expect(JSON.parse(refused[0]![2])).toMatchObject({ error: { code: "gateway_overloaded" } });
    expect(refused[0]![2]).toContain("and its queue is full.");
    expect((await chat(gateway, how)).status).toBe(200);
  });

  test("a full queue sends the call to the next target", async () => {
    const gateway = boundedGateway({ queue: { max: 0, timeoutMs: 10_000 } }, ["up1:m"]);
    const models = await Promise.all(
      [chat(gateway, how), chat(gateway, how)].map(async (asked) => {
        const response = await asked;
        await response.text();
        return response.headers.get("x-gateway-model");
      }),
    );
    expect(models).toEqual(["up0:m", "up1:m"]);
  });

  test("[d7.8] a wait that is too long is refused like a full queue, and the error says that it was the wait", async () => {
    const gateway = boundedGateway({ queue: { max: 8, timeoutMs: 10 } });
    const answers = await Promise.all([chat(gateway, how), chat(gateway, how)]);
    const statuses = answers.map(({ status }) => status);
    expect([statuses, gateway.context.routing.concurrency.waiting("up0:m")]).toEqual([[200, 503], 0]);
    expect(await answers[1].text()).toContain("and no place became free within 10 ms.");
  });

  test("a client that leaves the queue frees its place", async () => {
    const gateway = boundedGateway({ queue: { max: 8, timeoutMs: 10_000 } });
    const leaving = new AbortController();
    const first = chat(gateway, how);
    const second = chat(gateway, how, { signal: leaving.signal }).then(
      (response) => response.text(),
      () => "",
    );
    const third = chat(gateway, how);
    await until(() => gateway.context.routing.concurrency.waiting("up0:m") === 2);
    leaving.abort();
    await second;
    for (const asked of [first, third]) expect((await (await asked).text()).includes("up0.")).toBe(true);
    expect([gateway.upstream.targets().length, gateway.context.routing.concurrency.waiting("up0:m")]).toEqual([2, 0]);
  });
});

test("a place is held until the stream has ended, and released by a client that leaves it", async () => {
  const gateway = boundedGateway({ queue: { max: 0, timeoutMs: 10_000 } });
  const first = await chat(gateway, { stream: true });
  const reader = first.body!.getReader();
  await reader.read();
  expect((await chat(gateway)).status).toBe(503);
  await reader.cancel();
  expect((await chat(gateway)).status).toBe(200);
});
