// `GET .../routes/{id}/compare`: the calls of a route that were copied to its mirror beside their copies: cost, times,
// errors, finish reasons and length. It reads the newest pairs that are recorded, a bounded number of them.
import { nothingThere, placeText, scopeOf } from "../../../auth/grants.ts";
import { routesFor } from "../../../routing/resolve-route.ts";
import { z } from "zod";
import type { JsonObject } from "../../../core/json.ts";
import { percentilesOf } from "../../../core/percentiles.ts";
import { tagOf } from "../../../store/calls/call-tags.ts";
import type { CallScope, CallSummary } from "../../../store/calls/calls.ts";
import { askedBy } from "../asked.ts";
import type { AdminOperation } from "../operation.ts";
import { PLACES_BELOW, reading } from "../operation.ts";
import type { AdminCalls } from "../report-reads.ts";
import { instant, orNull, percentiles, time } from "../schemas.ts";
import { shownAs, type ThingOf } from "../shown.ts";
import { type ConfiguredContext, nameInPath } from "./configured-resources.ts";

/** Calls of one search, which is one page. */
const MOST_PAIRS = 1000;
const MOST_EXAMPLES = 20;

const count = z.int();
const counts = z.record(z.string(), count);
const side = z
  .strictObject({
    targets: counts.meta({ description: "Calls by the target that answered or was asked last." }),
    errors: count.meta({ description: "Calls that failed." }),
    codes: counts.meta({ description: "Failed calls by error code." }),
    finish_reasons: counts.meta({ description: "Answered calls by finish reason; those without one are `none`." }),
    cost_usd: z.string(),
    unpriced: count.meta({ description: "Calls with usage whose price is not known." }),
    prompt_tokens: count,
    completion_tokens: count,
    completion_tokens_each: percentiles.meta({ description: "The length of answers." }),
    first_content_ms: percentiles.meta({ description: "Of answered calls." }),
    total_ms: percentiles.meta({ description: "Of answered calls." }),
  })
  .meta({ id: "ComparedCalls" });
const answer = z
  .strictObject({
    route: z.string(),
    pairs: count.meta({ description: `Calls and copies that have both ended, the newest ${MOST_PAIRS} at most.` }),
    from: orNull(time, "When the first of these calls began; null when there are none."),
    to: orNull(time, "When the last of them began."),
    calls: side.meta({ description: "The calls of clients." }),
    copies: side.meta({ description: "Their copies." }),
    examples: z
      .array(z.strictObject({ call: z.string(), copy: z.string() }))
      .meta({ description: "Trace ids of the newest pairs." }),
  })
  .meta({ id: "RouteComparison" });

const filters = {
  from: instant.optional().meta({ description: "Only calls at this time or later." }),
  to: instant.optional().meta({ description: "Only calls before this time." }),
};

interface Pair {
  readonly call: CallSummary;
  readonly copy: CallSummary;
}

export function routeComparisonOperations(calls: AdminCalls, context: ConfiguredContext): readonly AdminOperation[] {
  return PLACES_BELOW.map(({ name: place, base, scopeText }) =>
    reading({
      id: `compare${place}Route`,
      path: `${base}/routes/{id}/compare`,
      tag: "routes",
      summary: `Compare the calls of a route in ${scopeText} with the copies that its mirror got of them`,
      query: z.strictObject(filters),
      answer,
      run: async (call, store) => {
        const route = await nameInPath(call, store, "route", context);
        const scope = { ...askedBy(filters, call.query), ...scopeOf(call.place!) };
        const pairs = await pairsOf(calls, route, scope);
        // a route that was removed still has its calls
        if (pairs.length === 0 && !routesFor(call.snapshot, call.place!).has(route))
          throw nothingThere(`route ${route} in the ${placeText(call.place!)}`);
        return { body: shownComparison(route, pairs) };
      },
    }),
  );
}

/** The newest first. */
async function pairsOf(
  { searchCalls }: Pick<AdminCalls, "searchCalls">,
  route: string,
  scope: CallScope,
): Promise<readonly Pair[]> {
  const found = async (kind: "mirrored" | "copy"): Promise<readonly CallSummary[]> =>
    (await searchCalls({ limit: MOST_PAIRS }, { order: "newest", ...scope, tags: [tagOf(kind, route)] })).data;
  const [calls, copies] = await Promise.all([found("mirrored"), found("copy")]);
  const byTraceId = new Map(calls.map((call) => [call.traceId, call]));
  return copies.flatMap((copy): readonly Pair[] => {
    const call = byTraceId.get(copy.mirrorOf ?? "");
    return call === undefined ? [] : [{ call, copy }];
  });
}

function shownComparison(route: string, pairs: readonly Pair[]): JsonObject {
  const timesMs = pairs.map(({ call }) => call.timeMs).toSorted((a, b) => a - b);
  return shownAs(answer, {
    route,
    pairs: pairs.length,
    fromMs: timesMs[0] ?? null,
    toMs: timesMs.at(-1) ?? null,
    calls: sideOf(pairs.map(({ call }) => call)),
    copies: sideOf(pairs.map(({ copy }) => copy)),
    examples: pairs.slice(0, MOST_EXAMPLES).map(({ call, copy }) => ({ call: call.traceId, copy: copy.traceId })),
  });
}

function sideOf(calls: readonly CallSummary[]): ThingOf<typeof side.shape> {
  const answered = calls.filter(({ status }) => status < 400);
  const failed = calls.filter(({ status }) => status >= 400);
  const sum = (of: (call: CallSummary) => number): number => calls.reduce((total, call) => total + of(call), 0);
  return {
    targets: countedBy(calls, ({ provider, model }) => (provider === null ? "none" : `${provider}:${model}`)),
    errors: failed.length,
    codes: countedBy(failed, ({ code }) => code ?? "none"),
    finishReasons: countedBy(answered, ({ finishReason }) => finishReason ?? "none"),
    costNanoUsd: sum(({ costNanoUsd }) => costNanoUsd ?? 0),
    unpriced: calls.filter(
      ({ costNanoUsd, promptTokens, completionTokens }) => costNanoUsd === null && promptTokens + completionTokens > 0,
    ).length,
    promptTokens: sum(({ promptTokens }) => promptTokens),
    completionTokens: sum(({ completionTokens }) => completionTokens),
    completionTokensEach: percentilesOf(answered.map(({ completionTokens }) => completionTokens)),
    firstContentMs: percentilesOf(answered.map(({ firstContentMs }) => firstContentMs)),
    totalMs: percentilesOf(answered.map(({ totalMs }) => totalMs)),
  };
}

/** The most frequent first. */
function countedBy(
  calls: readonly CallSummary[],
  nameOf: (call: CallSummary) => string,
): Readonly<Record<string, number>> {
  const counted = Array.from(Map.groupBy(calls, nameOf), ([name, list]) => [name, list.length] as const);
  return Object.fromEntries(counted.toSorted(([, a], [, b]) => b - a));
}
