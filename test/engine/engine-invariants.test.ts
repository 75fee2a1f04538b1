// Properties of every call, whatever its upstreams and its client do: thousands of random routes, faults and latencies,
// through the whole gateway in simulated time. DRAGOMAN_TEST_SEED repeats a run.
import { afterAll, beforeAll, describe, expect, test } from "bun:test";
import fc from "fast-check";
import { type Fault, OK, type Served, status, WORDS } from "../harness/faults.ts";
import { routedGateway, routeOf, UPSTREAMS } from "../harness/routed.ts";
import { turnTime } from "../harness/time/turned-time.ts";
import { printedSeed } from "../harness/time/chance.ts";
import {
  ELSEWHERE_STATUSES,
  fallbackName,
  type Heard,
  heardBy,
  isMeant,
  modelAt,
  nameOf,
  type Outcome,
  type Ran,
  REQUEST_FAULTS,
  run,
  SHARE,
  type World,
  worlds,
} from "./engine-worlds.ts";
import { drawCount } from "../harness/time/long-run.ts";

const seed = printedSeed("engine");
const RUNS = drawCount(1_000, 10_000);

const unhandled: unknown[] = [];
const onUnhandled = (reason: unknown): void => void unhandled.push(reason);
beforeAll(() => void process.on("unhandledRejection", onUnhandled));
afterAll(() => void process.off("unhandledRejection", onUnhandled));

type Judge = (outcome: Outcome, heard: Heard, world: World) => string | null;

const statusOf = ({ fault }: Served): number | null => (fault.kind === "status" ? fault.status : null);
const modelOf = ({ request }: Served): string => (JSON.parse(request.body) as { readonly model: string }).model;
const keyOf = (served: Served): string => `${served.target}:${modelOf(served)}`;
const bodyOf = ({ fault }: Served): string => (fault.kind === "status" ? (fault.body ?? "") : "");
const isRequestFault = (served: Served): boolean => REQUEST_FAULTS.includes(statusOf(served) ?? 0);
const isTooLong = (served: Served): boolean => bodyOf(served).includes("context_length_exceeded");

/** How an upstream fails that only a time limit ends. */
const TIME_LIMITS: ReadonlySet<Fault["kind"]> = new Set(["no_connection", "stall", "silence"]);

function retriesOf({ retries }: World, { caller: { numRetries } }: Outcome): number {
  return numRetries ?? retries;
}

/** Targets and fallbacks that are not for all calls. A target that cannot take the request is judged by another rule. */
function conditionalEntries(places: World["places"], second: World["second"], fallback: World["fallback"]) {
  return [
    ...[...places, ...second]
      .filter(({ isUnfit, condition }) => !isUnfit && condition !== "none")
      .map((place) => ({ name: nameOf(place), condition: place.condition })),
    ...(fallback === null ? [] : [{ name: fallbackName(fallback), condition: fallback.condition }]),
  ];
}

const INVARIANTS: Readonly<Record<string, Judge>> = {
  "attempts at one target are at most 1 + num_retries": (outcome, _, world) => {
    const counts = new Map<string, number>();
    for (const attempt of outcome.attempts) counts.set(keyOf(attempt), (counts.get(keyOf(attempt)) ?? 0) + 1);
    const bound = 1 + retriesOf(world, outcome);
    return [...counts].find(([, count]) => count > bound)?.join(" ") ?? null;
  },
  "one attempt at a time": ({ attempts }) =>
    attempts
      .slice(1)
      .find((attempt, index) => attempts[index]!.endedMs === null || attempts[index]!.endedMs > attempt.startedMs)
      ?.mark ?? null,
  "contents of two attempts are not mixed, and belong to this call": ({ attempts }, { content }) => {
    const marks = new Set(content.split(";").filter((word) => word !== ""));
    if (marks.size > 1) return [...marks].join();
    return marks.size === 0 || attempts.some(({ mark }) => marks.has(mark.slice(0, -1)))
      ? null
      : `${[...marks].join()} is nobody's`;
  },
  "an answer that looks complete is complete": ({ attempts }, { content, isWhole }) => {
    if (!isWhole) return null;
    const last = attempts.at(-1)!;
    const words = last.fault.kind === "ok" ? (last.fault.words ?? WORDS) : -1;
    // handed on where nothing better came
    if (last.fault.kind === "empty") return content === "" ? null : `an empty answer said ${content}`;
    return content === last.mark.repeat(Math.max(0, words)) && words > 0 ? null : `${last.fault.kind} said ${content}`;
  },
  "every attempt ends": ({ attempts }) => attempts.find(({ ended }) => ended === null)?.mark ?? null,
  "only retryable failures are retried": ({ attempts }) => {
    for (const [index, attempt] of attempts.entries()) {
      const isSpent = isRequestFault(attempt) || ELSEWHERE_STATUSES.includes(statusOf(attempt) ?? 0);
      if (isSpent && attempts.slice(index + 1).some((one) => keyOf(one) === keyOf(attempt)))
        return `${attempt.mark} ${statusOf(attempt)} was repeated`;
    }
    return null;
  },
  "a fault of the request reaches three targets at most, and the third ends the call": ({ attempts }) => {
    const faults = attempts.filter(isRequestFault);
    return faults.length < 3 || (faults.length === 3 && attempts.at(-1) === faults[2])
      ? null
      : `${faults.length} faults of ${attempts.length} attempts`;
  },
  "a context length failure goes first to the model of the map": (
    { attempts, caller: { dict } },
    _,
    { callers, breakerFailures },
  ) => {
    // one whose breaker is open, or that has told another call to wait, is passed over
    if (dict === null || callers.length > 1 || breakerFailures < 5) return null;
    for (const [index, attempt] of attempts.entries()) {
      const next = attempts[index + 1];
      if (next === undefined || !isTooLong(attempt) || modelOf(attempt) !== "m") continue;
      const isTried = attempts.slice(0, index).some((one) => modelOf(one) === "long");
      if (!isTried && keyOf(next) !== `${UPSTREAMS[dict]}:long`) return `${keyOf(attempt)} then ${keyOf(next)}`;
    }
    return null;
  },
  "an attempt that ended by a time limit is repeated only when no other target is left": (
    { attempts, caller: { fallbacks } },
    _,
    { places, callers, breakerFailures, retryTimeouts },
  ) => {
    // the breakers and waits of other targets are those of this call alone
    if (retryTimeouts || callers.length > 1 || breakerFailures < 5) return null;
    const own = places.filter(({ isUnfit, condition }) => !isUnfit && isMeant(condition, callers[0]!) === true);
    const targets = [...own.map(nameOf), ...fallbacks.map(modelAt)];
    for (const [index, attempt] of attempts.entries()) {
      if (isRequestFault(attempt)) return null;
      const next = attempts[index + 1];
      if (next === undefined || !TIME_LIMITS.has(attempt.fault.kind) || keyOf(next) !== keyOf(attempt)) continue;
      const tried = new Set(attempts.slice(0, index + 1).map(keyOf));
      const left = targets.find((one) => !tried.has(one));
      if (left !== undefined) return `${keyOf(attempt)} before ${left}`;
    }
    return null;
  },
  "a call is served by the requested route, or by the one to which it was handed": ({
    record,
    caller: { fallsToRoute },
  }) => (record!.route === "r" || (fallsToRoute && record!.route === "second") ? null : String(record!.route)),
  "the whole call takes no longer than its timeout": ({ tookMs, caller: { timeoutMs, pauseMs } }) =>
    tookMs <= timeoutMs + 50 || pauseMs > 0 ? null : `${tookMs} of ${timeoutMs} ms`,
  "a target that cannot take the request is never called": ({ attempts }) =>
    attempts.find((attempt) => modelOf(attempt) === "unfit")?.mark ?? null,
  "a target or fallback whose condition is false or fails is never called, and the plan gives the reason": (
    { attempts, caller, record },
    _,
    { places, second, fallback },
  ) => {
    const entries = conditionalEntries(places, second, fallback).filter(
      ({ condition }) => isMeant(condition, caller) === false,
    );
    const called = attempts.find((attempt) => entries.some(({ name }) => name === keyOf(attempt)));
    if (called !== undefined) return `${keyOf(called)} was called`;
    for (const { name, condition } of entries) {
      const why = record!.plan.find(({ target }) => target === name)?.why ?? null;
      const fails = condition === "fails" || (condition === "tier" && caller.tier === null);
      if (why !== null && !why.includes(fails ? "`when` could not be evaluated: " : "`when` is false"))
        return `${name}: ${why}`;
    }
    return null;
  },
  "a target whose condition is true, or in whose share the call is, is not passed over for it": (
    { caller, record },
    _,
    { places, second, fallback },
  ) => {
    for (const { name, condition } of conditionalEntries(places, second, fallback)) {
      if (isMeant(condition, caller) !== true) continue;
      const passed = record!.plan.find(({ target, refused }) => target === name && refused === "target_not_eligible");
      if (passed !== undefined) return `${name}: ${passed.why}`;
    }
    return null;
  },
  "a call that nothing is for is refused before anything is sent, and no other is": (
    { caller, attempts, record, status: code },
    { code: heard },
    { places, second, fallback },
  ) => {
    const all = [
      ...places.map(({ condition }) => condition),
      ...(fallback === null ? [] : [fallback.condition]),
      ...caller.fallbacks.map(() => "none" as const),
      ...(caller.fallsToRoute ? second.map(({ condition }) => condition) : []),
    ].map((condition) => isMeant(condition, caller));
    const isRefused = heard === "target_not_eligible";
    if (isRefused) {
      if (all.includes(true)) return "refused, although something is for it";
      return attempts.length === 0 && code === 400 && record!.attempts.length === 0 ? null : "refused and sent";
    }
    return all.every((meant) => meant === false) && heard !== null ? heard : null;
  },
  "after the client has left nothing begins": ({ attempts, leftMs }) =>
    leftMs === null ? null : (attempts.find(({ startedMs }) => startedMs > leftMs)?.mark ?? null),
  "one record, with every attempt": ({ records, record, attempts }) =>
    records === 1 && record!.attempts.length === attempts.length
      ? null
      : `${records} records, ${record?.attempts.length} of ${attempts.length} attempts`,
  "a call is a failure by its code where it is one by its status": ({ record }) =>
    (record!.code !== null) === record!.status >= 400 ? null : `${record!.code} with ${record!.status}`,
  "a failure lists every attempt": ({ attempts }, { isWhole, attempts: told }) =>
    isWhole || (told ?? 0) === attempts.length ? null : `${told} of ${attempts.length}`,
  "no internal error": (_, { code }) => (code === "internal_error" ? code : null),
};

function judge({ outcomes, unpaired, inFlight, timersLeft }: Ran, world: World): void {
  const broken: string[] = [...unpaired];
  if (inFlight !== 0) broken.push(`${inFlight} attempts are under way for ever`);
  if (timersLeft !== 0) broken.push(`${timersLeft} timers are left`);
  if (unhandled.length > 0) broken.push(`unhandled: ${String(unhandled[0])}`);
  for (const outcome of outcomes) {
    const nothing: Heard = { content: "", isWhole: true, code: null, attempts: null };
    const heard = outcome.hasLeft ? nothing : heardBy(outcome);
    for (const [name, rule] of Object.entries(INVARIANTS)) {
      if (outcome.hasLeft && name === "an answer that looks complete is complete") continue;
      const fault = rule(outcome, heard, world);
      if (fault !== null)
        broken.push(
          `${name}: ${fault} (${outcome.id}, heard ${heard.code ?? heard.content}, attempts ${outcome.attempts.map(({ mark, fault: { kind } }) => `${mark}${kind}`).join(" ")})`,
        );
    }
  }
  if (broken.length > 0) throw new Error(broken.join("\n"));
}

async function holds(
  runs: number,
  adapt: (world: World) => World,
  more: (ran: Ran, world: World) => void = () => {},
): Promise<void> {
  await fc.assert(
    fc.asyncProperty(worlds, async (drawn) => {
      const world = adapt(drawn);
      // each its own, so that nothing of one is left to the next
      const time = turnTime();
      try {
        const ran = await run(world, time);
        judge(ran, world);
        more(ran, world);
      } finally {
        time.stop();
      }
    }),
    { seed, numRuns: runs },
  );
}

/** One target of the route answers, whatever the others do. */
function withOneHealthy(world: World): World {
  const { at } = world.places[Math.abs(world.chance) % world.places.length]!;
  const places = world.places.map((place) =>
    place.at === at ? { at, isUnfit: false, condition: "none" as const } : place,
  );
  const scripts = world.scripts.map((script, index) => (index === at ? [OK] : script));
  return { ...world, places, scripts, callers: world.callers.map((caller) => ({ ...caller, leavesAfterMs: null })) };
}

/** Why a call may fail although a target would have answered it. */
function isExcused({ attempts, tookMs, caller: { timeoutMs } }: Outcome, { content }: Heard): boolean {
  const faults = attempts.filter(isRequestFault);
  // further targets of a route are tried after a context length alone
  if (faults.length >= 3 || faults.some((fault) => !isTooLong(fault))) return true;
  return content !== "" || tookMs >= timeoutMs - 1;
}

describe("every call", () => {
  test("[d7.1] [d7.2] [d7.3] [d7.4] [d7.6] [d7.7] [d16.1] keeps the invariants, over random routes, faults and clients", async () => {
    await holds(RUNS, (world) => world);
  }, 240_000);

  test("[d16.1] is in a share as often as the share says, and then goes there before the other targets of its order", async () => {
    let calls = 0;
    let inside = 0;
    await holds(
      RUNS,
      (world) => ({
        ...world,
        places: world.places.map((place, index) => ({
          ...place,
          isUnfit: false,
          condition: index === world.places.length - 1 ? ("share" as const) : ("none" as const),
        })),
        // a target of the same name on another route has a share of its own
        second: world.second.map((place) => ({ ...place, condition: "none" as const })),
        callers: world.callers.map((caller) => ({ ...caller, leavesAfterMs: null })),
      }),
      ({ outcomes }, { places }) => {
        const canary = nameOf(places.at(-1)!);
        for (const { record, id } of outcomes) {
          const line = record!.plan.find(({ target }) => target === canary);
          const isOutside = line?.why.includes(`not in its share of ${SHARE} %`) === true;
          calls += 1;
          if (isOutside) {
            if (record!.attempts.some(({ provider, model }) => `${provider}:${model}` === canary))
              throw new Error(`${id} went to ${canary}`);
          } else inside += 1;
        }
      },
    );
    const expected = (calls * SHARE) / 100;
    // six standard deviations: by chance once in 500 million runs
    const bound = 6 * Math.sqrt(expected * (1 - SHARE / 100));
    expect(Math.abs(inside - expected)).toBeLessThan(bound);
  }, 240_000);

  test("[d7.3] [d7.5] with one healthy target left succeeds within its deadline", async () => {
    await holds(RUNS, withOneHealthy, ({ outcomes }) => {
      for (const outcome of outcomes) {
        const heard = heardBy(outcome);
        if (!heard.isWhole && !isExcused(outcome, heard))
          throw new Error(
            `${outcome.id} got ${heard.code} after ${outcome.tookMs} ms, attempts ${outcome.attempts.map(({ mark, fault }) => `${mark}${JSON.stringify(fault)}`).join(" ")}`,
          );
      }
    });
  }, 240_000);

  test("[d7.2] by the real clock too ends in its timeout", async () => {
    for (let repeat = 0; repeat < 10; repeat++) {
      const gateway = routedGateway(
        [
          routeOf(
            "r",
            UPSTREAMS.map((_, at) => modelAt(at)),
            { retries: 2 },
          ),
        ],
        {
          up0: [status(429, { "retry-after-ms": "40" })],
          up1: [{ kind: "stall" }],
          up2: [{ kind: "silence" }],
          up3: [{ kind: "refused", delayMs: 15 }],
        },
      );
      // without its timeout it would wait for one of those that say nothing
      const response = await gateway.chat({
        route: "r",
        messages: [{ role: "user", content: "Go." }],
        timeout: 0.3,
        stream: repeat % 2 === 0,
      });
      expect([response.status, JSON.parse(await response.text()).error.code]).toEqual([504, "upstream_timeout"]);
    }
  });
});
