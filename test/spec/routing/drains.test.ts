// Drains through the whole gateway: a drained target is passed over for a time, whatever the strategy of its route, and
// the error and the explanation say why.
import { describe, expect, test } from "bun:test";
import type { Drain } from "../../../src/core/configured/drain.ts";
import { handleCall } from "../../../src/engine/handle.ts";
import { CHAT_COMPLETIONS } from "../../../src/operations/chat/chat-completions.ts";
import { OK, status } from "../../harness/faults.ts";
import { type Routed, routedGateway, routeOf } from "../../harness/routed.ts";
import { turnTime } from "../../harness/time/turned-time.ts";
import { turnedClock } from "../../harness/time/turned-clock.ts";
import { HELLO } from "../chat-calls.ts";

const NOW = Date.UTC(2026, 5, 18, 12);
const MINUTE_MS = 60_000;

const drain = (provider: string, parts: Partial<Drain> = {}): Drain => ({
  tenantId: "default",
  provider,
  model: null,
  untilMs: NOW + 10 * MINUTE_MS,
  note: null,
  begunBy: "ann",
  begunAtMs: NOW,
  ...parts,
});

function drainedGateway(...drains: readonly Drain[]) {
  const clock = turnedClock(NOW);
  const gateway = routedGateway(
    [
      routeOf("ordered", ["up0:m", "up1:m"]),
      routeOf("weighted", ["up0:m", "up1:m"], { strategy: "weighted" }),
      routeOf("sticky", ["up0:m", "up1:m"], { sticky: { by: "user" } }),
      routeOf("alone", ["up0:m"], { fallbacks: ["up1:m"] }),
    ],
    { up0: [OK], up1: [OK], up2: [OK] },
    {
      clock,
      permissions: ["byo_endpoint", "debug"],
      snapshot: { drains: Map.groupBy(drains, ({ tenantId }) => tenantId) },
    },
  );
  return { gateway, clock };
}

async function asked(gateway: Routed, body: object, headers: Record<string, string> = {}) {
  const response = await gateway.chat({ messages: HELLO, ...body }, { headers });
  return { status: response.status, headers: response.headers, body: (await response.json()) as any };
}

describe("a drained provider", () => {
  test("gets no call of any route while the others have targets, and gets them again when the drain has ended", async () => {
    const { gateway, clock } = drainedGateway(drain("up0"));
    await asked(gateway, { model: "ordered" });
    expect(gateway.records.at(-1)?.plan.map(({ target, refused }) => [target, refused])).toEqual([
      ["up0:m", "target_drained"],
      ["up1:m", null],
    ]);
    for (const route of ["ordered", "weighted", "sticky", "alone"])
      for (const user of ["ann", "bob", "carla", "dora"])
        expect((await asked(gateway, { model: route, user })).body.model).toBe("up1:m");
    expect(gateway.upstream.targets()).not.toContain("up0");
    clock.turnTo(NOW + 10 * MINUTE_MS - 1);
    expect((await asked(gateway, { model: "ordered" })).body.model).toBe("up1:m");
    clock.turnTo(NOW + 10 * MINUTE_MS);
    expect((await asked(gateway, { model: "ordered" })).body.model).toBe("up0:m");
  });

  test("refuses a call that names it with 503, until when, why, and when to try again; no attempt is made", async () => {
    const { gateway } = drainedGateway(drain("up0", { note: "a new key" }));
    const { status: code, body, headers } = await asked(gateway, { model: "up0:m" });
    expect([code, body.error.code, headers.get("retry-after")]).toEqual([503, "target_drained", "600"]);
    expect(body.error.message).toBe(
      '"up0" is drained until 2026-06-18T12:10:00.000Z (a new key): it gets no calls until then.',
    );
    expect(gateway.upstream.served).toEqual([]);
    expect(gateway.records.at(-1)?.attempts).toEqual([]);
  });

  test("is passed over in the explanation of a call, which says why", async () => {
    const { gateway } = drainedGateway(drain("up0"));
    const { body } = await asked(gateway, { model: "ordered" }, { "x-gateway-explain": "true" });
    const [first, second] = body.targets;
    expect(JSON.stringify(first)).toContain("is drained until 2026-06-18T12:10:00.000Z");
    expect(JSON.stringify(second)).toContain("up1:m");
    expect(JSON.stringify(second)).not.toContain("drained");
  });

  test("is drained in the tenant that drained it, and nowhere else", async () => {
    const { gateway } = drainedGateway(drain("up0", { tenantId: "other" }));
    expect((await asked(gateway, { model: "ordered" })).body.model).toBe("up0:m");
  });

  test("is called by a test of it", async () => {
    const { gateway } = drainedGateway(drain("up0"));
    const request = new Request("http://gateway.test/api/v1/chat/completions", {
      method: "POST",
      headers: { authorization: gateway.authorization, "content-type": "application/json" },
      body: JSON.stringify({ model: "up0:m", messages: HELLO }),
    });
    const answer = await handleCall(CHAT_COMPLETIONS, request, { ...gateway.context, ignoresDrains: true });
    expect([answer.status, gateway.upstream.targets()]).toEqual([200, ["up0"]]);
  });
});

test("a drained model leaves the other models of its provider alone, and of two drains the one that ends last counts", async () => {
  const { gateway, clock } = drainedGateway(
    drain("up0", { model: "m" }),
    drain("up0", { model: null, untilMs: NOW + MINUTE_MS }),
  );
  expect((await asked(gateway, { model: "up0:other" })).status).toBe(503);
  clock.turnTo(NOW + 2 * MINUTE_MS);
  expect((await asked(gateway, { model: "up0:other" })).body.model).toBe("up0:other");
  expect((await asked(gateway, { model: "up0:m" })).headers.get("retry-after")).toBe("480");
});

test("a failure at the other target is what the caller is told, and not the drain", async () => {
  const clock = turnedClock(NOW);
  const gateway = routedGateway(
    [routeOf("ordered", ["up0:m", "up1:m"])],
    { up1: [status(500)] },
    { clock, snapshot: { drains: new Map([["default", [drain("up0")]]]) } },
  );
  const { body } = await asked(gateway, { model: "ordered" });
  expect([body.error.code, gateway.upstream.targets()]).toEqual(["upstream_error", ["up1"]]);
});

test("a second attempt passes a drained target over and goes to the next one, and the plan says why", async () => {
  const time = turnTime();
  try {
    const nowMs = time.clock.now();
    const drains = [drain("up1", { untilMs: nowMs + MINUTE_MS })];
    const gateway = routedGateway(
      [routeOf("late", ["up0:m", "up1:m", "up2:m"], { hedge: { after: 20, maxExtra: 1 } })],
      { up0: [{ kind: "ok", delayMs: 200 }], up1: [OK], up2: [OK] },
      { clock: time.clock, snapshot: { drains: new Map([["default", drains]]) } },
    );
    const response = await time.until(gateway.chat({ model: "late", messages: HELLO }));
    const { model } = JSON.parse(await time.until(response.text())) as { readonly model: string };
    await time.drain(5);
    expect([model, gateway.upstream.targets()]).toEqual(["up2:m", ["up0", "up2"]]);
    expect(gateway.records.at(-1)!.plan.map(({ target, refused }) => [target, refused])).toEqual([
      ["up0:m", null],
      ["up1:m", "target_drained"],
      ["up2:m", null],
    ]);
  } finally {
    time.stop();
  }
});
