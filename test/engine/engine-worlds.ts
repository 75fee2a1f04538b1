// Random worlds for the engine: routes, fallbacks, upstreams that fail, clients that leave; and one run of such a world through the whole gateway in turned time.
import fc from "fast-check";
import type { EntryCondition, Route, StrategyType } from "../../src/core/configured/route.ts";
import type { LimitStore } from "../../src/admission/limit-store.ts";
import { type LimitSet, NO_LIMITS } from "../../src/core/configured/limit.ts";
import type { CallRecord } from "../../src/core/record/record.ts";
import type { Health } from "../../src/routing/health/health.ts";
import { type Fault, type Served, status } from "../harness/faults.ts";
import { routedGateway, routeOf, UPSTREAMS } from "../harness/routed.ts";
import { readStream } from "../harness/sse.ts";
import type { TurnedTime } from "../harness/time/turned-time.ts";
import { chanceOf } from "../../src/simulation/chance.ts";

/** A place in a route: an upstream, whether it can take the request at all, and which calls it is for. */
export interface Place {
  readonly at: number;
  readonly isUnfit: boolean;
  readonly condition: Condition;
}

/** `tier` cannot be evaluated for callers without one, and `fails` for nobody. */
type Condition = "none" | "stream" | "tier" | "fails" | "share";

const WHENS = {
  stream: "request.stream",
  tier: 'request.metadata.tier == "gold"',
  fails: "request.metadata.missing > 5",
} as const satisfies Partial<Record<Condition, string>>;
export const SHARE = 30;

export interface Caller {
  readonly startMs: number;
  readonly stream: boolean;
  readonly numRetries: number | null;
  readonly timeoutMs: number;
  readonly fallbacks: readonly number[];
  readonly fallsToRoute: boolean;
  readonly dict: number | null;
  readonly tier: "gold" | "silver" | null;
  /** Milliseconds after its start; null: it stays. */
  readonly leavesAfterMs: number | null;
  /** Before each read. */
  readonly pauseMs: number;
}

export interface World {
  readonly strategy: StrategyType;
  readonly places: readonly Place[];
  readonly second: readonly Place[];
  readonly retries: number;
  readonly onExhausted: "error" | "least_bad";
  readonly breakerFailures: number;
  /** `null`: the route sets no limit, so that a silent target is given up for another one. */
  readonly firstByteMs: number | null;
  readonly firstTokenMs: number | null;
  readonly retryTimeouts: boolean;
  readonly headHoldMs: number;
  readonly policy: number | null;
  /** The route's own fallback. */
  readonly fallback: Pick<Place, "at" | "condition"> | null;
  readonly scripts: readonly (readonly Fault[])[];
  readonly callers: readonly Caller[];
  readonly chance: number;
}

export const CONNECT_MS = 60;
export const FIRST_BYTE_MS = 150;
export const BETWEEN_MS = 90;

const TOO_LONG = status(
  400,
  {},
  { code: "context_length_exceeded", message: "This model's maximum context length is 8 tokens." },
);
const UNFIT = status(400, {}, { code: "content_filter", message: "The content was flagged." });
/** By these an upstream refuses the request itself. */
export const REQUEST_FAULTS: readonly number[] = [400, 413, 422];
/** What is no use at the same target. */
export const ELSEWHERE_STATUSES: readonly number[] = [401, 402, 403, 404];
const RETRYABLE_STATUSES = [408, 429, 500, 502, 503, 504, 529];

const delay = fc.oneof({ weight: 3, arbitrary: fc.constant(0) }, fc.integer({ min: 1, max: 200 }));
const well = fc.record({
  kind: fc.constant("ok" as const),
  words: fc.integer({ min: 1, max: 4 }),
  delayMs: delay,
  gapMs: fc.constantFrom(0, 0, 5, 40),
});
const fault: fc.Arbitrary<Fault> = fc.oneof(
  { weight: 3, arbitrary: well },
  {
    weight: 2,
    arbitrary: fc.record({
      kind: fc.constantFrom("refused" as const, "garbage" as const, "empty" as const),
      delayMs: delay,
    }),
  },
  {
    weight: 2,
    arbitrary: fc.record({ kind: fc.constantFrom("no_connection" as const, "stall" as const, "silence" as const) }),
  },
  {
    weight: 3,
    arbitrary: fc.record({
      kind: fc.constantFrom("cut" as const, "error_event" as const, "falls_silent" as const),
      words: fc.integer({ min: 0, max: 3 }),
      delayMs: delay,
      gapMs: fc.constantFrom(0, 10),
    }),
  },
  {
    weight: 3,
    arbitrary: fc
      .tuple(fc.constantFrom(...RETRYABLE_STATUSES), fc.constantFrom(null, 0, 40, 700, 20_000), delay)
      .map(
        ([code, wait, delayMs]) =>
          ({ ...status(code, wait === null ? {} : { "retry-after-ms": String(wait) }), delayMs }) as Fault,
      ),
  },
  {
    weight: 1,
    arbitrary: fc.constantFrom(
      ...[...REQUEST_FAULTS, ...ELSEWHERE_STATUSES].map((code) => status(code)),
      TOO_LONG,
      UNFIT,
    ),
  },
);
const upstream = fc.integer({ min: 0, max: UPSTREAMS.length - 1 });
const condition = fc.oneof(
  { weight: 6, arbitrary: fc.constant("none" as const) },
  { weight: 4, arbitrary: fc.constantFrom("stream" as const, "tier" as const, "fails" as const, "share" as const) },
);
const place: fc.Arbitrary<Place> = fc.record({
  at: upstream,
  isUnfit: fc.integer({ min: 0, max: 7 }).map((drawn) => drawn === 0),
  condition,
});
const places = (least: number) => fc.uniqueArray(place, { minLength: least, maxLength: 3, selector: ({ at }) => at });
const anyCaller: fc.Arbitrary<Caller> = fc.record({
  startMs: fc.constantFrom(0, 0, 1, 30, 300),
  stream: fc.boolean(),
  numRetries: fc.constantFrom(null, null, 0, 1, 2),
  timeoutMs: fc.constantFrom(80, 300, 1_000, 5_000, 30_000),
  fallbacks: fc.uniqueArray(upstream, { maxLength: 2 }),
  fallsToRoute: fc.boolean(),
  dict: fc.option(upstream, { freq: 3 }),
  tier: fc.constantFrom("gold", "silver", null),
  leavesAfterMs: fc.option(fc.integer({ min: 0, max: 400 }), { freq: 4 }),
  pauseMs: fc.constantFrom(0, 0, 0, 70),
});

export const worlds: fc.Arbitrary<World> = fc.record({
  strategy: fc.constantFrom(
    "priority" as const,
    "weighted" as const,
    "least_latency" as const,
    "least_cost" as const,
    "least_busy" as const,
  ),
  places: places(1),
  second: places(1),
  retries: fc.integer({ min: 0, max: 2 }),
  onExhausted: fc.constantFrom("error" as const, "least_bad" as const),
  breakerFailures: fc.constantFrom(1, 2, 5),
  firstByteMs: fc.constantFrom(null, FIRST_BYTE_MS),
  firstTokenMs: fc.constantFrom(null, 120),
  retryTimeouts: fc.integer({ min: 0, max: 3 }).map((drawn) => drawn === 0),
  headHoldMs: fc.constantFrom(10, 100, 10_000),
  policy: fc.option(upstream, { freq: 3 }),
  fallback: fc.option(fc.record({ at: upstream, condition }), { freq: 3 }),
  scripts: fc.array(fc.array(fault, { minLength: 1, maxLength: 4 }), {
    minLength: UPSTREAMS.length,
    maxLength: UPSTREAMS.length,
  }),
  callers: fc.array(anyCaller, { minLength: 1, maxLength: 3 }),
  chance: fc.integer(),
});

export interface Outcome {
  readonly caller: Caller;
  readonly id: string;
  /** In order. */
  readonly attempts: readonly Served[];
  readonly startedMs: number;
  readonly tookMs: number;
  /** Null: the client left before. */
  readonly status: number | null;
  readonly text: string;
  readonly hasLeft: boolean;
  /** When it left. */
  readonly leftMs: number | null;
  readonly record: CallRecord | undefined;
  readonly records: number;
}

export interface Ran {
  readonly outcomes: readonly Outcome[];
  /** What `begin` and `end` of the health did not do in pairs. */
  readonly unpaired: readonly string[];
  readonly inFlight: number;
  readonly timersLeft: number;
  readonly limits: LimitStore;
}

export function modelAt(at: number): string {
  return `${UPSTREAMS[at]}:m`;
}

/** A target or fallback that is not for all calls has a model of its own, which nothing else in a world names. */
export function nameOf({ at, isUnfit, condition: of }: Place): string {
  if (isUnfit) return `${UPSTREAMS[at]}:unfit`;
  return of === "none" ? modelAt(at) : `${UPSTREAMS[at]}:for-${of}`;
}

export function fallbackName({ at, condition: of }: Pick<Place, "at" | "condition">): string {
  return `${UPSTREAMS[at]}:fallback-${of}`;
}

function conditionOf(of: Condition): EntryCondition {
  if (of === "none") return {};
  return of === "share" ? { share: SHARE } : { when: WHENS[of] };
}

/** Whether a call is one for which an entry with the condition is meant; `null` where its trace id decides. */
export function isMeant(of: Condition, { stream, tier }: Caller): boolean | null {
  if (of === "share") return null;
  return of === "none" || (of === "stream" && stream) || (of === "tier" && tier === "gold");
}

function targetsOf(all: readonly Place[]) {
  // a parameter that no request may have: the target cannot take what is asked of it
  return all.map((one, index) => ({
    name: nameOf(one),
    order: index % 2,
    ...conditionOf(one.condition),
    ...(one.isUnfit && { params: { temperature: 9 } }),
  }));
}

function routesOf({
  strategy,
  places: first,
  second,
  retries,
  onExhausted,
  breakerFailures,
  firstByteMs,
  firstTokenMs,
  retryTimeouts,
  policy,
  fallback,
}: World): readonly Route[] {
  const timeouts = { connectMs: CONNECT_MS, firstByteMs, betweenChunksMs: BETWEEN_MS, firstTokenMs };
  const common = {
    strategy,
    retries,
    retryTimeouts,
    onExhausted,
    timeouts,
    breaker: { failures: breakerFailures, ratio: 0.5, windowMs: 10_000, openMs: 400 },
  };
  return [
    routeOf("direct", [], common),
    routeOf("r", targetsOf(first), {
      ...common,
      ...(fallback !== null && {
        fallbacks: [{ model: fallbackName(fallback), route: null, params: {}, ...conditionOf(fallback.condition) }],
      }),
      ...(policy !== null && { contentPolicyFallbacks: [`${UPSTREAMS[policy]}:free`] }),
    }),
    routeOf("second", targetsOf(second), common),
  ];
}

/** Counts what begins and ends at each target. */
function watched(health: Health, unpaired: string[]): Health {
  const open = new Map<string, number>();
  const begin = health.begin.bind(health);
  const end = health.end.bind(health);
  const snapshot = health.snapshot.bind(health);
  const watching: Pick<Health, "begin" | "end" | "snapshot"> = {
    begin(key, breaker, nowMs) {
      open.set(key, (open.get(key) ?? 0) + 1);
      return begin(key, breaker, nowMs);
    },
    end(key, breaker, outcome, nowMs, told) {
      const left = (open.get(key) ?? 0) - 1;
      if (left < 0) unpaired.push(`${key} ended more often than it began`);
      open.set(key, left);
      end(key, breaker, outcome, nowMs, told);
    },
    snapshot(nowMs) {
      for (const [key, left] of open) if (left > 0) unpaired.push(`${key} began and did not end`);
      return snapshot(nowMs);
    },
  };
  return Object.assign(health, watching);
}

/** `limitRules`: none, if left out. */
export async function run(
  world: World,
  time: TurnedTime,
  limitRules: LimitSet = NO_LIMITS,
  watchLimits: (store: LimitStore) => LimitStore = (store) => store,
): Promise<Ran> {
  const gateway = routedGateway(
    routesOf(world),
    Object.fromEntries(UPSTREAMS.map((id, at) => [id, world.scripts[at]!])),
    { clock: time.clock, limits: { headHoldMs: world.headHoldMs, keepAliveMs: 50 }, snapshot: { limitRules } },
  );
  const unpaired: string[] = [];
  Object.assign(gateway.context, {
    limits: watchLimits(gateway.context.limits),
    routing: { health: watched(gateway.context.routing.health, unpaired), random: chanceOf(world.chance) },
  });

  const call = async (caller: Caller, index: number): Promise<Omit<Outcome, "attempts" | "record" | "records">> => {
    const id = `call-${index}-`;
    if (caller.startMs > 0) await new Promise((resume) => setTimeout(resume, caller.startMs));
    const { numRetries, timeoutMs, fallbacks, fallsToRoute, dict, tier, leavesAfterMs, stream } = caller;
    const body = JSON.stringify({
      route: "r",
      user: `user-${index % 2}`,
      max_tokens: index % 2 === 0 ? 20 : 1,
      messages: [{ role: "user", content: id }],
      metadata: { id, ...(tier !== null && { tier }) },
      timeout: timeoutMs / 1000,
      stream,
      ...(numRetries !== null && { num_retries: numRetries }),
      fallbacks: [...fallbacks.map(modelAt), ...(fallsToRoute ? ["route:second"] : [])],
      ...(dict !== null && { context_window_fallback_dict: { m: `${UPSTREAMS[dict]}:long` } }),
    });
    const startedMs = time.nowMs();
    const leaving = new AbortController();
    let leftMs: number | null = null;
    const open: { cancel(): Promise<void> }[] = [];
    const leave = (): void => {
      leftMs = time.nowMs();
      leaving.abort();
      for (const reader of open) void reader.cancel();
    };
    const timer = leavesAfterMs === null ? null : setTimeout(leave, leavesAfterMs);
    const response = await gateway.chat(body, { signal: leaving.signal });
    const parts: Uint8Array[] = [];
    if (leftMs === null) {
      const reading = response.body!.getReader();
      open.push(reading);
      const next = async () => {
        // a client that is slow takes the time of the call, and of nothing else
        if (caller.pauseMs > 0) await new Promise((resume) => setTimeout(resume, caller.pauseMs));
        return reading.read();
      };
      for (let part = await next(); !part.done; part = await next())
        parts.push(typeof part.value === "string" ? Buffer.from(part.value) : part.value);
    } else await response.body?.cancel();
    if (timer !== null) clearTimeout(timer);
    return {
      caller,
      id,
      startedMs,
      tookMs: time.nowMs() - startedMs,
      status: response.status,
      text: Buffer.concat(parts).toString("utf8"),
      hasLeft: leftMs !== null,
      leftMs,
    };
  };

  const answers = await time.until(Promise.all(world.callers.map(call)));
  const timersLeft = await time.drain(5_000);
  const inFlight = gateway.context.routing.health.snapshot(time.nowMs()).reduce((sum, each) => sum + each.inFlight, 0);
  const outcomes = answers.map((answer): Outcome => {
    const records = gateway.records.filter(({ metadata }) => metadata?.["id"] === answer.id);
    return {
      ...answer,
      attempts: gateway.upstream.served.filter(({ request }) => request.body.includes(answer.id)),
      record: records[0],
      records: records.length,
    };
  });
  return { outcomes, unpaired, inFlight, timersLeft, limits: gateway.context.limits };
}

/** What the client got, in one form. */
export interface Heard {
  readonly content: string;
  readonly isWhole: boolean;
  readonly code: string | null;
  readonly attempts: number | null;
}

export function heardBy({ status: code, text }: Outcome): Heard {
  if (!text.startsWith("data:") && !text.startsWith(":")) {
    const body = JSON.parse(text) as Record<string, any>;
    const error = body["error"] as Record<string, any> | undefined;
    return {
      content: error === undefined ? body["choices"][0].message.content : "",
      isWhole: code === 200,
      code: error?.["code"] ?? null,
      attempts: error?.["metadata"]?.attempts?.length ?? null,
    };
  }
  const read = readStream(text);
  const finishes = read.events.filter((event) => event["choices"]?.[0]?.finish_reason != null).length;
  if (!read.done) throw new Error("a stream without [DONE]");
  if (read.events.filter((event) => event["error"] !== undefined).length > 1)
    throw new Error("more than one error event");
  if (read.error !== null && (finishes > 0 || read.events.at(-1)!["error"] === undefined))
    throw new Error("a stream that failed and looks complete");
  if (read.error === null && finishes !== 1) throw new Error(`${finishes} finish reasons`);
  if (new Set(read.events.flatMap(({ id, model }) => (id === undefined ? [] : [`${id} ${model}`]))).size > 1)
    throw new Error("events of two answers");
  return {
    content: read.content,
    isWhole: read.error === null,
    code: read.error?.["code"] ?? null,
    attempts: read.error?.["metadata"]?.attempts?.length ?? null,
  };
}
