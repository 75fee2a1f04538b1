// `POST .../routes/{id}/simulate`: where the last calls of a route would go, as the route is now and with another
// document, while targets fail as the request says. It reads what is recorded of calls, and calls no provider.
import { z } from "zod";
import { usd } from "../../accounting/price.ts";
import type { Clock } from "../../core/clock.ts";
import type { JsonObject } from "../../core/json.ts";
import type { Snapshot } from "../../core/snapshot.ts";
import { routesFor } from "../../routing/resolve-route.ts";
import { type RouteEntry, routeSchema } from "../../routing/settings.ts";
import type { RouteTest } from "../../routing/test-settings.ts";
import {
  type Difference,
  differenceOf,
  type Percentiles,
  type ReplaySums,
  sumsOf,
} from "../../simulation/compared-replays.ts";
import { FAULT_SHAPE, faultFindings } from "../../simulation/faults.ts";
import { observedTimes } from "../../simulation/observed-times.ts";
import { openPace } from "../../simulation/pace.ts";
import { type RouteTestResult, testResults } from "../../simulation/route-tests.ts";
import { suggestedTests } from "../../simulation/suggested-tests.ts";
import { canBeSimulated, replay, type ReplayInput, wasAttempted } from "../../simulation/replay.ts";
import type { RecordedCall } from "../../store/calls.ts";
import type { Reader } from "../../store/reader.ts";
import { nothingThere, placeText } from "../../auth/grants.ts";
import { PLACES } from "./call-shapes.ts";
import { type ConfiguredContext, fromFile } from "./configured-resources.ts";
import { problemsError } from "./input.ts";
import { type AdminCall, type AdminOperation, apart } from "./operation.ts";
import { type AdminCalls, keptCalls, openGate } from "./report-reads.ts";
import { projectsWithOwn, proposedSnapshot } from "./route-proposal.ts";
import { iso, isoOrNull, time } from "./schemas.ts";

const MOST_CALLS = 1000;
const MOST_FAULTS = 20;
/** A target with fewer recorded answers is looked up among other calls of the tenant or project. */
const FEW_ANSWERS = 10;
const OTHER_CALLS = 200;
const MOST_LOOKED_UP = 5;
const SEED = 1;

const body = z
  .strictObject({
    route: routeSchema.optional().meta({ description: "The fields of the route as they would become." }),
    faults: z.array(z.strictObject(FAULT_SHAPE)).max(MOST_FAULTS).default([]).meta({
      description: "What is wrong with targets during all of the calls, as in the file of `dragoman simulate`.",
    }),
    calls: z.int().min(1).max(MOST_CALLS).default(MOST_CALLS).meta({ description: "How many calls, the newest." }),
  })
  .meta({ id: "RouteSimulationRequest" });
type Body = z.output<typeof body>;

const count = z.int();
const traceIds = z.array(z.string()).meta({ description: "Some of these calls, the newest first." });
const percentiles = z.strictObject({ p50: count.nullable(), p95: count.nullable() });
const outcome = z
  .strictObject({
    answered: count,
    failed: count,
    attempts: count,
    failures: z.array(z.strictObject({ code: z.string(), calls: count, trace_ids: traceIds })),
    refusals: z
      .array(
        z.strictObject({
          target: z.string().nullable(),
          code: z.string(),
          param: z.string().nullable(),
          message: z.string(),
          calls: count,
          trace_ids: traceIds,
        }),
      )
      .meta({ description: "Calls that a target does not take, whatever becomes of them elsewhere." }),
    targets: z.array(
      z.strictObject({
        target: z.string(),
        calls: count.meta({ description: "Calls that it answers." }),
        share: z.number(),
        refused: count,
        too_long: count.meta({ description: "Calls whose prompts are too long for its model." }),
        cost_usd: z.string(),
        unpriced: count,
        recorded_answers: count.meta({
          description: "Recorded answers of the target, from which its times are taken; 0 if its times are not known.",
        }),
      }),
    ),
    cost_usd: z.string(),
    unpriced: count.meta({ description: "Answered calls whose cost is not known." }),
    first_content_ms: percentiles,
    total_ms: percentiles,
  })
  .meta({ id: "SimulatedOutcome" });
const difference = z
  .strictObject({
    moved_calls: count,
    moves: z.array(
      z.strictObject({ from: z.string().nullable(), to: z.string().nullable(), calls: count, trace_ids: traceIds }),
    ),
    newly_failed: count,
    newly_answered: count,
    cost_usd: z
      .string()
      .meta({ description: "Of the calls whose cost is known on both sides; negative if they would cost less." }),
    sentences: z.array(z.string()),
  })
  .meta({ id: "SimulatedDifference" });
const answer = z
  .strictObject({
    route: z.string(),
    calls: count,
    from: time.nullable(),
    to: time.nullable(),
    left_out: z.array(z.strictObject({ reason: z.string(), calls: count })),
    looked_to: time.nullable().meta({
      description:
        "Earlier calls were not looked at, because one request reads a bounded number of them; null if all were.",
    }),
    recorded: z
      .strictObject({
        targets: z.array(z.strictObject({ target: z.string(), calls: count })),
        failed: count,
        cost_usd: z.string(),
      })
      .meta({ description: "What really became of these calls." }),
    now: outcome.nullable().meta({
      description: "What becomes of the calls with the published route; null when no such route is published.",
    }),
    proposed: outcome.nullable().meta({ description: "With the route of the request; null if it has none." }),
    difference: difference.nullable(),
    tests: z.array(z.strictObject({ name: z.string(), passed: z.boolean(), fault: z.string().nullable() })).meta({
      description: "The tests of the proposed route or, without one, of the route as it is.",
    }),
    suggested_tests: z.array(z.looseObject({ name: z.string() })).meta({
      description:
        "Tests that hold and are made of the calls, where the route has none; they can be sent as its `tests`.",
    }),
    as_of: time,
  })
  .meta({ id: "RouteSimulation" });

type Call = AdminCall<Body, unknown>;

export interface SimulationWorld {
  readonly calls: AdminCalls;
  readonly context: ConfiguredContext;
  readonly clock: Clock;
}

export function routeSimulationOperations(
  calls: AdminCalls | null,
  context: ConfiguredContext,
  clock: Clock,
): readonly AdminOperation[] {
  const world: SimulationWorld = { calls: keptCalls(calls), context, clock };
  const turn = openGate(1);
  return (["tenant", "project"] as const).map((reach) => {
    const { name: place, base, scopeText } = PLACES[reach];
    return apart({
      method: "post",
      id: `simulate${place}Route`,
      path: `${base}/routes/{id}/simulate`,
      tag: "routes",
      summary: `Simulate a route on its last recorded calls in ${scopeText}, as it is and with a change`,
      body,
      answer,
      run: async (call, store) => {
        const faults = faultFindings(call.body.faults);
        if (faults.length > 0) throw problemsError(faults);
        const question = await questionOf(call, store, world);
        return { body: await turn(() => simulated(question, call, world)) };
      },
    });
  });
}

interface Question {
  readonly name: string;
  readonly now: Snapshot | null;
  readonly proposed: Snapshot | null;
  /** Projects whose calls of this name go to a route of their own. */
  readonly ownIn: ReadonlySet<string>;
  readonly tests: readonly RouteTest[];
}

/** Throws `not_found`, and `invalid_request` for a document that could not be stored either. */
async function questionOf(call: Call, store: Reader, { context }: SimulationWorld): Promise<Question> {
  const place = call.place!;
  const name = await routeName(call, store, context);
  const { dependencies } = context;
  const ownIn = await projectsWithOwn(dependencies, call.snapshot, place, name, store);
  const isThere = routesFor(call.snapshot, place).has(name);
  const entry = call.body.route;
  if (entry === undefined && !isThere) throw nothingThere(`route ${name} in the ${placeText(place)}`);
  if (entry !== undefined) await requireStorable(call, store, name, entry, context);
  return {
    name,
    now: isThere ? call.snapshot : null,
    proposed: entry === undefined ? null : proposedSnapshot(dependencies, call.snapshot, place, { name, entry, ownIn }),
    ownIn,
    tests: (entry === undefined ? await presentTests(call, store, name, context) : entry.tests) ?? [],
  };
}

/** A route is named by the id of its resource, or by its name. */
async function routeName(call: Call, store: Reader, context: ConfiguredContext): Promise<string> {
  const key = call.params["id"]!;
  const byId = await store.findResource("route", key);
  const place = call.place!;
  if (byId !== null && byId.tenantId === place.tenantId && byId.projectId === place.projectId) return byId.name!;
  return fromFile(call, "route", key, context)?.name ?? key;
}

async function requireStorable(
  call: Call,
  store: Reader,
  name: string,
  entry: RouteEntry,
  { rules }: ConfiguredContext,
): Promise<void> {
  const document = entry as unknown as JsonObject;
  const problems = await rules.routes!.problems({ call, name, document, reader: store });
  if (problems.length > 0) throw problemsError(problems.map((one) => ({ ...one, path: ["route", ...one.path] })));
}

async function presentTests(
  call: Call,
  store: Reader,
  name: string,
  context: ConfiguredContext,
): Promise<RouteEntry["tests"]> {
  const document =
    fromFile(call, "route", name, context)?.document ??
    (await store.findResourceByName("route", call.place!, name))?.document;
  const parsed = routeSchema.safeParse(document);
  return parsed.success ? parsed.data.tests : [];
}

async function simulated(question: Question, call: Call, world: SimulationWorld): Promise<JsonObject> {
  const { name, now, proposed, ownIn } = question;
  const { tenantId, projectId } = call.place!;
  const scope = { tenantId, ...(projectId !== null && { projectId }) };
  const found = await world.calls.recordedCalls({ ...scope, route: name, limit: call.body.calls });
  const { used, leftOut } = sorted(found.calls, found.withoutRecord, ownIn);
  const times = observedTimes([...used, ...(await otherAnswers(used, question, call, world))]);
  const pace = openPace(world.clock);
  const input: Omit<ReplayInput, "snapshot"> = {
    calls: used,
    tenantId,
    route: name,
    faults: call.body.faults,
    times,
    seed: SEED,
  };
  const [before, after] = [
    now === null ? null : await replay({ ...input, snapshot: now }, pace),
    proposed === null ? null : await replay({ ...input, snapshot: proposed }, pace),
  ];
  const shown = (sums: ReplaySums): JsonObject => shownOutcome(sums, (target) => times.count(target));
  const tested = { snapshot: (proposed ?? now)!, tenantId, projectId, name };
  return {
    route: name,
    calls: used.length,
    from: isoOrNull(used[0]?.timeMs ?? null),
    to: isoOrNull(used.at(-1)?.timeMs ?? null),
    left_out: leftOut,
    looked_to: isoOrNull(found.searchedToMs),
    recorded: shownRecorded(used),
    now: before === null ? null : shown(sumsOf(before, used)),
    proposed: after === null ? null : shown(sumsOf(after, used)),
    difference: before === null || after === null ? null : shownDifference(differenceOf(before, after, used)),
    tests: testResults(question.tests, tested).map(shownTest),
    suggested_tests: question.tests.length > 0 ? [] : suggestedTests(used, tested).map(shownSuggestion),
    as_of: iso(found.asOfMs),
  };
}

/** The calls that can be simulated, the oldest first, and why the others cannot. */
function sorted(
  calls: readonly RecordedCall[],
  withoutRecord: number,
  ownIn: ReadonlySet<string>,
): { readonly used: readonly RecordedCall[]; readonly leftOut: readonly JsonObject[] } {
  const reasonOf = (one: RecordedCall): string | null => {
    if (one.projectId !== null && ownIn.has(one.projectId)) return "The project has a route of its own with this name.";
    if (!canBeSimulated(one)) return `Calls of the operation ${one.operation} cannot be simulated.`;
    return wasAttempted(one) ? null : "The call ended before a target was attempted.";
  };
  const judged = calls.map((one) => ({ one, reason: reasonOf(one) }));
  const reasons = Map.groupBy(judged, ({ reason }) => reason);
  return {
    used: (reasons.get(null) ?? []).map(({ one }) => one).toReversed(),
    leftOut: [
      ...[...reasons].flatMap(([reason, list]) => (reason === null ? [] : [{ reason, calls: list.length }])),
      ...(withoutRecord === 0
        ? []
        : [{ reason: "The details of the call are not kept any more.", calls: withoutRecord }]),
    ],
  };
}

/** Answers of targets that the route's own calls say little of, among the other calls of the place. */
async function otherAnswers(
  used: readonly RecordedCall[],
  { name, now, proposed }: Question,
  call: Call,
  { calls }: SimulationWorld,
): Promise<readonly RecordedCall[]> {
  const place = call.place!;
  const route = routesFor(proposed ?? now!, place).get(name)!;
  const known = observedTimes(used);
  const unknown = route.targets
    .filter(({ name: target }) => known.count(target) < FEW_ANSWERS)
    .slice(0, MOST_LOOKED_UP);
  const scope = { tenantId: place.tenantId, ...(place.projectId !== null && { projectId: place.projectId }) };
  const own = new Set(used.map(({ traceId }) => traceId));
  const found = await Promise.all(
    unknown.map(({ providerId: provider, model }) =>
      calls.recordedCalls({ ...scope, provider, model, limit: OTHER_CALLS }),
    ),
  );
  return found.flatMap((one) => one.calls.filter(({ traceId }) => !own.has(traceId)));
}

function shownRecorded(calls: readonly RecordedCall[]): JsonObject {
  const targets = Map.groupBy(
    calls.filter(({ code, provider }) => code === null && provider !== null),
    ({ provider, model }) => `${provider}:${model}`,
  );
  return {
    targets: [...targets]
      .map(([target, list]) => ({ target, calls: list.length }))
      .toSorted((a, b) => b.calls - a.calls),
    failed: calls.filter(({ code }) => code !== null).length,
    cost_usd: usd(calls.reduce((sum, { costNanoUsd }) => sum + (costNanoUsd ?? 0), 0)),
  };
}

const shownSuggestion = ({ name, when, expect }: RouteTest): JsonObject => ({ name, when, expect });
const shownTest = ({ name, fault }: RouteTestResult): JsonObject => ({ name, passed: fault === null, fault });

const shownPercentiles = ({ p50, p95 }: Percentiles): JsonObject => ({ p50, p95 });

function shownOutcome(sums: ReplaySums, answersOf: (target: string) => number): JsonObject {
  return {
    answered: sums.answered,
    failed: sums.failed,
    attempts: sums.attempts,
    failures: sums.failures.map(({ code, calls, traceIds: trace_ids }) => ({ code, calls, trace_ids })),
    refusals: sums.refusals.map(({ target, code, param, message, calls, traceIds: trace_ids }) => ({
      target,
      code,
      param,
      message,
      calls,
      trace_ids,
    })),
    targets: sums.targets.map(({ target, calls, refused, tooLong, costNanoUsd, unpriced }) => ({
      target,
      calls,
      share: sums.answered === 0 ? 0 : calls / sums.answered,
      refused,
      too_long: tooLong,
      cost_usd: usd(costNanoUsd),
      unpriced,
      recorded_answers: answersOf(target),
    })),
    cost_usd: usd(sums.costNanoUsd),
    unpriced: sums.unpriced,
    first_content_ms: shownPercentiles(sums.firstContentMs),
    total_ms: shownPercentiles(sums.totalMs),
  };
}

function shownDifference({
  movedCalls,
  moves,
  newlyFailed,
  newlyAnswered,
  costNanoUsd,
  sentences,
}: Difference): JsonObject {
  return {
    moved_calls: movedCalls,
    moves: moves.map(({ from, to, calls, traceIds: trace_ids }) => ({ from, to, calls, trace_ids })),
    newly_failed: newlyFailed,
    newly_answered: newlyAnswered,
    cost_usd: `${costNanoUsd < 0 ? "-" : ""}${usd(Math.abs(costNanoUsd))}`,
    sentences,
  };
}
