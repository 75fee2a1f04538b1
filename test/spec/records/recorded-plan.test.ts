// What the record keeps of how a call was routed and answered (promise 11.1): the steps of the plan with their reasons, the targets that it might
// have gone to, and when the client was sent something although there was no content yet.
import { describe, expect, test } from "bun:test";
import type { CallRecord } from "../../../src/core/record/record.ts";
import { type Ledger, noLedger } from "../../../src/store/journal/ledger.ts";
import { recordText } from "../../../src/core/record/record-text.ts";
import { callFields } from "../../../src/observe/log.ts";
import { parseCallRecord } from "../../../src/wire/json/record-json.ts";
import { policiesFor } from "../../policies/policy-documents.ts";
import { openAdminWorld } from "../../harness/admin.ts";
import { type Fault, OK, status } from "../../harness/faults.ts";
import { type Routed, routedGateway, routeOf, type RouteParts } from "../../harness/routed.ts";
import { type TurnedTime, turnTime } from "../../harness/time/turned-time.ts";
import { until } from "../../harness/time/until.ts";

const HELLO = { route: "r", messages: [{ role: "user", content: "Hello" }] };
const SLOW: Fault = { kind: "ok", delayMs: 200 };

function gatewayOf(scripts: readonly (readonly Fault[])[], parts: RouteParts = {}, options = {}): Routed {
  const names = scripts.map((_, index) => `up${index}`);
  const targets = names.map((name) => `${name}:m`);
  return routedGateway(
    [routeOf("r", targets, parts)],
    Object.fromEntries(names.map((name, index) => [name, scripts[index]!])),
    options,
  );
}
const recordOf = ({ records }: Routed) => records.at(-1)!;
const stepsOf = (gateway: Routed) => recordOf(gateway).plan.map(({ target, why, refused }) => [target, why, refused]);

async function inTurnedTime<T>(work: (time: TurnedTime) => Promise<T>): Promise<T> {
  const time = turnTime();
  try {
    return await work(time);
  } finally {
    time.stop();
  }
}

describe("[d11.1] the plan", () => {
  test("has each target that was chosen, with the reason of the strategy, and the candidates in their order", async () => {
    const gateway = gatewayOf([[status(500)], [OK], [OK]]);
    await (await gateway.chat(HELLO)).text();
    const { candidates, plan } = recordOf(gateway);
    expect(candidates).toEqual(["up0:m", "up1:m", "up2:m"]);
    expect(stepsOf(gateway)).toEqual([
      ["up0:m", "first by order", null],
      ["up1:m", "first by order", null],
    ]);
    expect(plan[1]!.atMs).toBeGreaterThanOrEqual(plan[0]!.atMs);
  });

  test("has retries with how long the call waited, as the provider asked", () =>
    inTurnedTime(async (time) => {
      const gateway = gatewayOf([[status(429, { "retry-after": "2" }), OK]], { retries: 1 }, { clock: time.clock });
      const response = await time.until(gateway.chat(HELLO));
      expect(response.status).toBe(200);
      const [first, second] = recordOf(gateway).plan;
      expect(first).toMatchObject({ target: "up0:m", waitMs: 0 });
      expect(second!.why).toBe("retry 1 of 1 after a retryable failure");
      expect(second!.waitMs).toBeGreaterThanOrEqual(2000);
    }));

  test("has targets that were forbidden to the call, with the code, and no attempt for them", async () => {
    const policies = policiesFor({ name: "no-up0", rule: 'target.provider == "up0"' });
    const gateway = gatewayOf([[OK], [OK]], {}, { snapshot: { policies } });
    await (await gateway.chat(HELLO)).text();
    expect(stepsOf(gateway)).toEqual([
      ["up0:m", "first by order", "policy_violation"],
      ["up1:m", "first by order", null],
    ]);
    expect(recordOf(gateway).attempts).toHaveLength(1);
  });

  test("has the second attempt beside a slow one", () =>
    inTurnedTime(async (time) => {
      const gateway = gatewayOf([[SLOW], [OK]], { hedge: { after: 20, maxExtra: 1 } }, { clock: time.clock });
      await time.until((await time.until(gateway.chat(HELLO))).text());
      expect(stepsOf(gateway)).toEqual([
        ["up0:m", "first by order", null],
        ["up1:m", "hedge: first by order", null],
      ]);
    }));

  test("is of a version of its route, where the route is in the store, and of the route that took the call over", async () => {
    const routes = [
      { ...routeOf("r", ["up0:m"], { fallbacks: ["route:later"] }), version: 3 },
      { ...routeOf("later", ["up1:m"]), version: 7 },
      routeOf("filed", ["up1:m"]),
    ];
    const gateway = routedGateway(routes, { up0: [OK, status(500)], up1: [OK, OK] });
    const versions: (readonly [string | null, number | null])[] = [];
    for (const route of ["r", "r", "filed"]) {
      await (await gateway.chat({ ...HELLO, route })).text();
      versions.push([recordOf(gateway).route, recordOf(gateway).routeVersion]);
    }
    expect(versions).toEqual([
      ["r", 3],
      ["later", 7],
      ["filed", null],
    ]);
  });

  test("gets the version of a route from the store, where each change counts", async () => {
    const world = await openAdminWorld();
    const path = "/api/v1/admin/projects/site/routes";
    const version = () => world.source.current().projectRoutes.get("site")?.get("kept")?.version;
    await world.send("acme.owner", "POST", path, { name: "kept", targets: ["sandbox:echo"] });
    const first = version();
    await world.send("acme.owner", "PATCH", `${path}/kept`, { retries: 2 });
    expect([first, version()]).toEqual([1, 2]);
    await world.close();
  });

  test("takes no room in the record of a call with one target that answered, and is read back as it was written", async () => {
    const plain = gatewayOf([[OK]]);
    await (await plain.chat(HELLO)).text();
    const members = Object.keys(JSON.parse(recordText(recordOf(plain))) as object);
    expect(members.filter((name) => ["plan", "candidates", "keepAlives", "headMs"].includes(name))).toEqual([]);
    const several = gatewayOf([[status(500)], [OK]]);
    await (await several.chat(HELLO)).text();
    const record = recordOf(several);
    expect(parseCallRecord(recordText(record)).plan).toEqual(record.plan);
    expect(callFields(record)).toMatchObject({
      candidates: ["up0:m", "up1:m"],
      plan: [
        { target: "up0:m", why: "first by order" },
        { target: "up1:m", why: "first by order" },
      ],
    });
  });
});

describe("[d11.1] the target of a call that nobody answered", () => {
  const nameOf = ({ route, provider, model }: CallRecord) => [route, `${provider}:${model}`];
  const breaker = { failures: 1, ratio: 0.1, windowMs: 30_000, openMs: 30_000 };

  test("is the one that was asked, where the first of the plan was passed over", async () => {
    const gateway = gatewayOf([[status(500)], [OK, { kind: "cut", words: 2 }]], { breaker });
    await (await gateway.chat(HELLO)).text();
    await (await gateway.chat({ ...HELLO, stream: true })).text();
    const record = recordOf(gateway);
    expect(record.attempts.map(({ provider }) => provider)).toEqual(["up1"]);
    expect(record.status).toBe(502);
    expect(nameOf(record)).toEqual(["r", "up1:m"]);
  });

  test("is the one that was asked last, with the route to which it belongs", async () => {
    const routes = [routeOf("r", ["up0:m"], { fallbacks: ["route:later"] }), routeOf("later", ["up1:m"])];
    const gateway = routedGateway(routes, { up0: [status(500)], up1: [status(500)] });
    await (await gateway.chat(HELLO)).text();
    expect(recordOf(gateway).attempts).toHaveLength(2);
    expect(nameOf(recordOf(gateway))).toEqual(["later", "up1:m"]);
  });

  test("is the one whose answer a guard refused", async () => {
    const policies = policiesFor({ name: "no-words", guard: { on: "output", patterns: ["up1"], action: "block" } });
    const gateway = gatewayOf([[status(500)], [OK]], {}, { snapshot: { policies } });
    expect((await gateway.chat(HELLO)).status).toBe(403);
    expect(nameOf(recordOf(gateway))).toEqual(["r", "up1:m"]);
  });

  test("is not one that had no place for an attempt", async () => {
    const full = { name: "up1:m", maxConcurrency: 1 };
    const gateway = routedGateway(
      [routeOf("r", ["up0:m", full], { queue: { max: 0, timeoutMs: 1000 } }), routeOf("busy", [full])],
      { up0: [status(500)], up1: [{ kind: "stall" }] },
    );
    const leaving = new AbortController();
    const busy = gateway.chat({ ...HELLO, route: "busy" }, { signal: leaving.signal });
    await until(() => gateway.upstream.served.length === 1);
    await (await gateway.chat(HELLO)).text();
    expect(stepsOf(gateway).map(([target]) => target)).toEqual(["up0:m", "up1:m"]);
    expect(recordOf(gateway).attempts).toHaveLength(1);
    expect(nameOf(recordOf(gateway))).toEqual(["r", "up0:m"]);
    leaving.abort();
    await busy.catch(() => null);
  });

  test("stands in the opening entry of the ledger before the target is asked, for a process that dies", async () => {
    const opened: [string, number][] = [];
    let record: CallRecord | null = null;
    const note = () => opened.push([nameOf(record!).join(" "), record!.attempts.length]);
    const ledger: Ledger = {
      ...noLedger,
      open: (of) => {
        record = of;
        note();
        return { traceId: of.traceId };
      },
      reopen: note,
    };
    const routes = [routeOf("r", ["up0:m"], { fallbacks: ["route:later"] }), routeOf("later", ["up1:m"])];
    const gateway = routedGateway(routes, { up0: [status(500)], up1: [OK] }, { ledger });
    await (await gateway.chat(HELLO)).text();
    expect(opened).toEqual([
      ["r up0:m", 0],
      ["later up1:m", 1],
    ]);
  });
});

test("[d11.1] the record says when the head of a stream was sent before content, and how many signs of life followed", () =>
  inTurnedTime(async (time) => {
    const gateway = gatewayOf([[SLOW]], {}, { clock: time.clock, limits: { headHoldMs: 20, keepAliveMs: 50 } });
    const response = await time.until(gateway.chat({ ...HELLO, stream: true }));
    await time.until(response.text());
    const { headMs, keepAlives, firstContentMs } = recordOf(gateway);
    expect(headMs).toBeGreaterThanOrEqual(20);
    expect(headMs!).toBeLessThan(firstContentMs!);
    expect(keepAlives).toBeGreaterThanOrEqual(2);
    const quick = gatewayOf([[OK]]);
    await (await quick.chat({ ...HELLO, stream: true })).text();
    expect(recordOf(quick)).toMatchObject({ headMs: null, keepAlives: 0 });
  }));
