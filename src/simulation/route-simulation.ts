// Where the last calls of a route would go, as the route is now and with another document, while targets fail as the
// question says. It runs in the thread of simulations.

// Decides (records and configuration): Where would recorded calls go with another route? By: `routeSimulation`. Also:
// `replay.ts` (`replay`). Rule: Plans, health and verdicts are the engine's own; outcomes come from records.
import { scopeOf, type TenantOrProject } from "../auth/grants.ts";
import { routesFor } from "../routing/resolve-route.ts";
import type { RouteTest } from "../routing/test-settings.ts";
import type { Snapshot } from "../core/snapshot.ts";
import { normalizedName } from "../core/target.ts";
import type { RecordedCall, RecordedCalls } from "../store/calls/calls.ts";
import { differenceOf, type ReplaySums, sumsOf } from "./compared-replays.ts";
import type { Fault } from "./faults.ts";
import type { KeptReads } from "./kept-reads.ts";
import { observedTimes } from "./observed-times.ts";
import { type ProposedRoute, withProposedRoute } from "./proposed-route.ts";
import { canBeSimulated, type Replay, replay, type ReplayInput, wasAttempted } from "./replay.ts";
import { testResults } from "./route-tests.ts";
import { type RuleEffect, ruleEffects } from "./rule-effects.ts";
import { type SimulatedConfiguration, simulatedSnapshot } from "./simulated-configuration.ts";
import { suggestedTests } from "./suggested-tests.ts";

/** A target with fewer recorded answers is looked up among other calls of the tenant or project. */
const FEW_ANSWERS = 10;
const OTHER_CALLS = 200;
const MOST_LOOKED_UP = 5;
const SEED = 1;

export interface RouteQuestion {
  readonly configuration: SimulatedConfiguration;
  readonly place: TenantOrProject;
  readonly name: string;
  /** Whether there is such a route now. */
  readonly isPublished: boolean;
  /** `null` where the route is only simulated as it is. */
  readonly proposal: ProposedRoute | null;
  /** Projects whose calls of this name go to a route of their own. */
  readonly ownIn: ReadonlySet<string>;
  readonly tests: readonly RouteTest[];
  readonly faults: readonly Omit<Fault, "from_ms" | "to_ms">[];
  /** The most calls. */
  readonly limit: number;
}

export interface SimulatedOutcome extends ReplaySums {
  /** What limits, budgets and policies would refuse of the calls that are answered. */
  readonly rules: readonly RuleEffect[];
}

export type RouteSimulation = Awaited<ReturnType<typeof routeSimulation>>;

export async function routeSimulation(question: RouteQuestion, reads: KeptReads) {
  const { configuration, name, proposal, isPublished, place, faults } = question;
  const { tenantId, projectId } = place;
  const snapshot = simulatedSnapshot(configuration);
  const now = isPublished ? snapshot : null;
  const proposed = proposal === null ? null : withProposedRoute(snapshot, proposal);
  const found = await reads.calls({ ...scopeOf(place), route: name, limit: question.limit });
  const { used: all, leftOut } = sorted(found, question.ownIn);
  const used = all.map((call) => withoutAdded(call, snapshot, tenantId, name));
  const times = observedTimes([...used, ...(await otherAnswers(used, (proposed ?? now)!, question, reads))]);
  const tokens = await reads.tokens([...new Set(used.flatMap(({ tokenId }) => tokenId ?? []))]);
  const input: Omit<ReplayInput, "snapshot"> = {
    calls: used,
    tenantId,
    tokens,
    route: name,
    faults,
    times,
    seed: SEED,
  };
  const before = now === null ? null : replay({ ...input, snapshot: now });
  const after = proposed === null ? null : replay({ ...input, snapshot: proposed });
  const tested = { snapshot: (proposed ?? now)!, tenantId, projectId, name };
  const world = { tenantId, route: name, configuration, tokens };
  const outcomeOf = (one: Replay): SimulatedOutcome => ({ ...sumsOf(one, used), rules: ruleEffects(one, used, world) });
  const targets = new Set([...(before?.targets ?? []), ...(after?.targets ?? [])]);
  return {
    calls: used.length,
    fromMs: used[0]?.timeMs ?? null,
    toMs: used.at(-1)?.timeMs ?? null,
    leftOut,
    searchedToMs: found.searchedToMs,
    recorded: recordedSums(used),
    now: before === null ? null : outcomeOf(before),
    proposed: after === null ? null : outcomeOf(after),
    /** Recorded answers of targets, from which their times are taken. */
    answers: new Map([...targets].map((target) => [target, times.count(target)])),
    difference: before === null || after === null ? null : differenceOf(before, after, used),
    tests: testResults(question.tests, tested),
    suggestedTests: question.tests.length > 0 ? [] : suggestedTests(used, tested),
    asOfMs: found.asOfMs,
  };
}

/** The calls that can be simulated, the oldest first, and why the others cannot. */
function sorted({ calls, fromCache, withoutRecord }: RecordedCalls, ownIn: ReadonlySet<string>) {
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
      ...[
        { reason: "The response cache answered the call.", calls: fromCache },
        { reason: "The details of the call are not kept any more.", calls: withoutRecord },
      ].filter((left) => left.calls > 0),
    ],
  };
}

/**
 * Returns the call without the parameters that its target or fallback adds to the calls of the route: another target is
 * not sent them. Records do not tell them from those of the client.
 */
function withoutAdded(call: RecordedCall, snapshot: Snapshot, tenantId: string, name: string): RecordedCall {
  const { projectId, provider, model } = call;
  const route = routesFor(snapshot, { tenantId, projectId }).get(name);
  if (route === undefined || provider === null || model === null) return call;
  const added = new Set(
    [...route.targets.map((one) => ({ ...one, model: one.name })), ...route.fallbacks, ...route.contentPolicyFallbacks]
      .filter((one) => one.model !== null && normalizedName(one.model) === `${provider}:${model}`)
      .flatMap(({ params }) => Object.keys(params)),
  );
  return added.size === 0 ? call : { ...call, parameters: call.parameters.filter((one) => !added.has(one)) };
}

/** Answers of targets that the route's own calls say little of, among the other calls of the place. */
async function otherAnswers(
  used: readonly RecordedCall[],
  snapshot: Snapshot,
  { name, place }: RouteQuestion,
  reads: KeptReads,
): Promise<readonly RecordedCall[]> {
  const known = observedTimes(used);
  const unknown = routesFor(snapshot, place)
    .get(name)!
    .targets.filter(({ name: target }) => known.count(target) < FEW_ANSWERS)
    .slice(0, MOST_LOOKED_UP);
  const own = new Set(used.map(({ traceId }) => traceId));
  const found: RecordedCall[] = [];
  for (const { providerId: provider, model } of unknown) {
    const { calls } = await reads.calls({ ...scopeOf(place), provider, model, limit: OTHER_CALLS });
    found.push(...calls.filter(({ traceId }) => !own.has(traceId)));
  }
  return found;
}

function recordedSums(calls: readonly RecordedCall[]) {
  const targets = Map.groupBy(
    calls.filter(({ code, provider }) => code === null && provider !== null),
    ({ provider, model }) => `${provider}:${model}`,
  );
  return {
    targets: [...targets]
      .map(([target, list]) => ({ target, calls: list.length }))
      .toSorted((a, b) => b.calls - a.calls),
    failed: calls.filter(({ code }) => code !== null).length,
    costNanoUsd: calls.reduce((sum, { costNanoUsd }) => sum + (costNanoUsd ?? 0), 0),
  };
}
