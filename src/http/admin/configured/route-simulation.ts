// `POST .../routes/{id}/simulate`: where the last calls of a route would go, as the route is now and with another
// document, while targets fail as the request says. It reads what is recorded of calls, and calls no provider.

// Decides (money and limits): At which prices are recorded calls simulated? Also: `simulation/replay.ts` (`costAt`),
// `simulation/simulated-call.ts` (`pricesFor`). Rule: At those of the moment of the simulation, for the usage of the
// answer alone. What is recorded beside it is what was charged then, with all attempts.
import { z } from "zod";
import type { JsonObject } from "../../../core/json.ts";
import { routesFor } from "../../../routing/resolve-route.ts";
import { type RouteEntry, routeSchema } from "../../../routing/settings.ts";
import { FAULT_SHAPE, faultFindings } from "../../../simulation/faults.ts";
import type { RouteQuestion, RouteSimulation, SimulatedOutcome } from "../../../simulation/route-simulation.ts";
import { simulatedConfiguration } from "../../../simulation/simulated-configuration.ts";
import type { Simulations } from "../../../simulation/simulations.ts";
import type { Reader } from "../../../store/reader.ts";
import { nothingThere, placeText } from "../../../auth/grants.ts";
import { type ConfiguredContext, findInUse, nameInPath } from "./configured-resources.ts";
import { requireStorable } from "./desired-document.ts";
import { problemsError } from "../input.ts";
import { type AdminCall, type AdminOperation, apart, PLACES_BELOW } from "../operation.ts";
import { keptSimulations } from "../report-reads.ts";
import { projectsWithOwn, proposedRoute } from "./route-proposal.ts";
import { orNull, percentiles, time, simulatedCalls, traceIds } from "../schemas.ts";
import { shownAs } from "../shown.ts";

const MOST_FAULTS = 20;

const body = z
  .strictObject({
    route: routeSchema.optional().meta({ description: "The fields of the route as they would become." }),
    faults: z.array(z.strictObject(FAULT_SHAPE)).max(MOST_FAULTS).default([]).meta({
      description: "What is wrong with targets during all of the calls, as in the file of `dragoman simulate`.",
    }),
    calls: simulatedCalls,
  })
  .meta({ id: "RouteSimulationRequest" });
type Body = z.output<typeof body>;

const count = z.int();
const simulatedFailure = z
  .strictObject({ code: z.string(), calls: count, trace_ids: traceIds })
  .meta({ id: "SimulatedFailure" });
const refusal = z
  .strictObject({
    target: z.string().nullable(),
    code: z.string(),
    param: z.string().nullable(),
    message: z.string(),
    calls: count,
    trace_ids: traceIds,
  })
  .meta({ id: "SimulatedRefusal" });
const simulatedTarget = z
  .strictObject({
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
  })
  .meta({ id: "SimulatedTarget" });
const simulatedRule = z
  .strictObject({
    kind: z.enum(["limit", "budget", "policy"]),
    name: z.string(),
    calls: count.meta({ description: "Answered calls that it would refuse." }),
    unknown: count.meta({ description: "Calls of which the records do not hold what a policy reads." }),
    trace_ids: traceIds,
  })
  .meta({ id: "SimulatedRule" });
const outcome = z
  .strictObject({
    answered: count,
    failed: count,
    attempts: count,
    failures: z.array(simulatedFailure),
    refusals: z
      .array(refusal)
      .meta({ description: "Calls that a target does not take, whatever becomes of them elsewhere." }),
    targets: z.array(simulatedTarget),
    rules: z.array(simulatedRule).meta({
      description:
        "Limits, budgets and policies that would refuse some of the answered calls at the targets that answer them. Limits and budgets count these calls alone, each at its own time.",
    }),
    cost_usd: z.string(),
    unpriced: count.meta({ description: "Answered calls whose cost is not known." }),
    unjudged: count.meta({
      description:
        "Calls on which a condition of the route was asked that reads what records do not keep. Headers and the client's address count as not sent; a condition that reads anything else that is not recorded passes its target over.",
    }),
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
    now: orNull(outcome, "What becomes of the calls with the published route; null when no such route is published."),
    proposed: orNull(outcome, "With the route of the request; null if it has none."),
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

type Call = AdminCall<Body>;

export function routeSimulationOperations(
  simulations: Simulations | null,
  context: ConfiguredContext,
): readonly AdminOperation[] {
  return PLACES_BELOW.map(({ name: place, base, scopeText }) =>
    apart({
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
        const question = await questionOf(call, store, context);
        return { body: shownSimulation(question.name, await keptSimulations(simulations).route(question)) };
      },
    }),
  );
}

/** Throws `not_found`, and `invalid_request` for a document that could not be stored either. */
async function questionOf(call: Call, store: Reader, context: ConfiguredContext): Promise<RouteQuestion> {
  const place = call.place!;
  const name = await nameInPath(call, store, "route", context);
  const { dependencies } = context;
  const ownIn = await projectsWithOwn(dependencies, call.snapshot, place, name, store);
  const isPublished = routesFor(call.snapshot, place).has(name);
  const entry = call.body.route;
  if (entry === undefined && !isPublished) throw nothingThere(`route ${name} in the ${placeText(place)}`);
  if (entry !== undefined) {
    const desired = { name, document: entry as unknown as JsonObject };
    await requireStorable(call, context.rules.routes!, "route", desired, store);
  }
  return {
    configuration: simulatedConfiguration(call.snapshot, place),
    place,
    name,
    isPublished,
    proposal: entry === undefined ? null : proposedRoute(dependencies, call.snapshot, call, { name, entry, ownIn }),
    ownIn,
    tests: (entry === undefined ? await presentTests(call, store, name, context) : entry.tests) ?? [],
    faults: call.body.faults,
    limit: call.body.calls,
  };
}

async function presentTests(
  call: Call,
  store: Reader,
  name: string,
  context: ConfiguredContext,
): Promise<RouteEntry["tests"]> {
  const parsed = routeSchema.safeParse((await findInUse(call, store, "route", name, context))?.document);
  return parsed.success ? parsed.data.tests : [];
}

function shownSimulation(route: string, made: RouteSimulation): JsonObject {
  const shared = ({ targets, answered, ...sums }: SimulatedOutcome) => ({
    ...sums,
    answered,
    targets: targets.map((one) => ({
      ...one,
      share: answered === 0 ? 0 : one.calls / answered,
      recordedAnswers: made.answers.get(one.target) ?? 0,
    })),
  });
  return shownAs(answer, {
    ...made,
    route,
    lookedToMs: made.searchedToMs,
    now: made.now === null ? null : shared(made.now),
    proposed: made.proposed === null ? null : shared(made.proposed),
    tests: made.tests.map((test) => ({ ...test, passed: test.fault === null })),
    suggestedTests: made.suggestedTests.map(({ name, when, expect }) => ({ name, when, expect })),
  });
}
