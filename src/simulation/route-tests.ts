// Tries the tests of a route: each is one call in virtual time, with the policies and models of its project.
import { CallPolicies } from "../engine/policies/call-policies.ts";
import { everyStage, type Prepared } from "../engine/plan/stages.ts";
import { systemClock } from "../core/clock.ts";
import { GatewayError } from "../core/errors.ts";
import type { JsonObject } from "../core/json.ts";
import { snapshotSeenBy, type Snapshot } from "../core/snapshot.ts";
import { FORMS } from "../operations/forms.ts";
import type { RouteTest } from "../routing/test-settings.ts";
import { chanceOf } from "./chance.ts";
import { concerns } from "./faults.ts";
import { firstSentTo, runCalls } from "./run-calls.ts";
import {
  preparedCall,
  type PreparedCall,
  pricesFor,
  type SimulatedCall,
  type SimulatedFacts,
  simulatedPrincipal,
  withMetadata,
} from "./simulated-call.ts";
import { createCourses } from "./upstream-course.ts";
import { MOST_WRITTEN, withPrompt, writtenRequest } from "./written-request.ts";

export interface RouteTestResult {
  readonly name: string;
  /** What holds instead of what the test expects, in one sentence; `null` when it passes. */
  readonly fault: string | null;
}

export interface TestedRoute {
  readonly snapshot: Snapshot;
  readonly tenantId: string;
  /** `null` for a route of a whole tenant, whose tests may name a project. */
  readonly projectId: string | null;
  readonly name: string;
}

/** A strategy that draws lots must not pass by chance, nor must a share that divides calls by their trace ids. */
const DRAWS = 10;
const DIVIDED_DRAWS = 200;
const OPERATION = "chat.completions";
const USUAL_PROMPT = 100;
/** Users and prompts of tests stand for those of all clients; their headers are meant as they are. */
const MADE_UP: NonNullable<SimulatedFacts["madeUp"]> = new Set(["user", "prompt"]);
const NO_PROJECT = "";

export function testResults(tests: readonly RouteTest[], route: TestedRoute): readonly RouteTestResult[] {
  const tested = { ...route, snapshot: withAnyContentLog(route) };
  return tests.map((test) => ({ name: test.name, fault: faultOf(test, tested) }));
}

/** A test that names no project is about the calls of any, and so about those of one that keeps content, if there is one. */
function withAnyContentLog({ snapshot, tenantId }: TestedRoute): Snapshot {
  const { contentLogs, projects } = snapshot;
  const own = [...contentLogs].find(([id]) => projects.get(id)?.tenantId === tenantId);
  return own === undefined ? snapshot : { ...snapshot, contentLogs: new Map([...contentLogs, [NO_PROJECT, own[1]]]) };
}

function faultOf(test: RouteTest, route: TestedRoute): string | null {
  const { expect } = test;
  const wrong = wrongProject(test, route);
  if (wrong !== null) return wrong;
  const first = callOf(test, route, 1);
  if (first instanceof GatewayError)
    return wrongCopies(expect, false) ?? wrongEnd(expect, { ...NOWHERE, code: first.code, message: first.message });
  const isDivided = first.isDividedByTrace;
  const isAnew = isDivided || first.keepsToTrace;
  let isCopied = false;
  for (let draw = 1; draw <= (isDivided ? DIVIDED_DRAWS : DRAWS); draw++) {
    const call = isAnew && draw > 1 ? (callOf(test, route, draw) as typeof first) : first;
    const end = endOf(call, test, route, draw);
    isCopied ||= end.sentTo !== null && call.isCopiedFrom(end.sentTo);
    const fault = (draw === 1 || isDivided ? wrongReach(call, expect) : null) ?? wrongEnd(expect, end);
    if (fault !== null) return fault;
  }
  return wrongCopies(expect, isCopied);
}

function wrongProject({ when: { project } }: RouteTest, { snapshot, tenantId, projectId }: TestedRoute): string | null {
  if (project === undefined || project === projectId) return null;
  if (projectId !== null)
    return `The route belongs to the project ${JSON.stringify(projectId)}, and no call of ${JSON.stringify(project)} can use it.`;
  return snapshot.projects.get(project)?.tenantId === tenantId
    ? null
    : `There is no project ${JSON.stringify(project)} in the tenant.`;
}

/** `isCopied` says whether one of the draws is copied. */
function wrongCopies({ mirrored }: RouteTest["expect"], isCopied: boolean): string | null {
  if (mirrored === undefined || mirrored === isCopied) return null;
  return isCopied ? "The mirror gets a copy of such calls." : "The mirror gets no copy of such calls.";
}

function wrongReach({ prepared }: SimulatedCall, { never }: RouteTest["expect"]): string | null {
  const reached = listOf(never).filter((name) => isReachable(prepared, name));
  return reached.length > 0 ? `Such a call can reach ${reached.join(", ")}.` : null;
}

/** The target that answers such a call in one draw; `null` where none does. */
export function answeringTarget(when: RouteTest["when"], route: TestedRoute): string | null {
  const test: RouteTest = { name: "", when, expect: {} };
  const call = callOf(test, route, 1);
  return call instanceof GatewayError ? null : endOf(call, test, route, 1).target;
}

const listOf = (names: string | readonly string[] | undefined): readonly string[] =>
  names === undefined ? [] : typeof names === "string" ? [names] : names;

/** Returns the call as the engine would plan it, or why it does not get that far. Each draw has a trace id of its own. */
function callOf(
  { when }: RouteTest,
  { snapshot, tenantId, projectId, name }: TestedRoute,
  draw: number,
): (SimulatedCall & PreparedCall) | GatewayError {
  const project = projectId ?? when.project ?? NO_PROJECT;
  const principal = simulatedPrincipal({ tenantId, projectId: project });
  const seen = snapshotSeenBy(snapshot, principal);
  const { stream = false, parameters = [], content = [], prompt_tokens: tokens = USUAL_PROMPT, model } = when;
  try {
    const text = writtenRequest({
      operation: OPERATION,
      route: name,
      model,
      stream,
      promptTokens: Math.min(tokens, MOST_WRITTEN),
      parameters,
      blocks: content,
    });
    const request = withMetadata(
      withPrompt(FORMS.get(OPERATION)!.parse(text, snapshot.limits.body), OPERATION, tokens),
      (when.metadata ?? null) as JsonObject | null,
    );
    const timeMs = when.time === undefined ? systemClock.now() : Date.parse(when.time);
    const own = seen.policies.of(tenantId, project);
    const policies =
      own === null
        ? null
        : new CallPolicies(own, {
            sent: request,
            operation: OPERATION,
            principal,
            clientIp: () => "",
            now: () => timeMs,
            outcomes: [],
            scheduler: null,
          });
    policies?.rules.requireAllowed();
    const place = {
      operation: OPERATION,
      snapshot: seen,
      principal,
      prices: pricesFor(seen, principal),
      policies,
      facts: { traceId: `draw-${draw}`, headers: new Headers(when.headers), timeMs, madeUp: MADE_UP },
    } as const;
    return { atMs: 0, asked: name, tenant: tenantId, isStream: stream, ...preparedCall(request, place) };
  } catch (thrown) {
    if (thrown instanceof GatewayError) return thrown;
    throw thrown;
  }
}

function isReachable(prepared: Prepared, name: string): boolean {
  for (const { candidates } of everyStage(prepared))
    for (const candidate of candidates) {
      if (!concerns(name, candidate.target.name)) continue;
      try {
        candidate.permit();
        candidate.ready();
        return true;
      } catch (thrown) {
        if (!(thrown instanceof GatewayError)) throw thrown;
      }
    }
  return false;
}

interface End {
  readonly target: string | null;
  /** The target to which it was sent first; `null` where it was sent to none. */
  readonly sentTo: string | null;
  readonly code: string | null;
  readonly message: string | null;
}

const NOWHERE = { target: null, sentTo: null } as const;

function endOf(call: SimulatedCall, { when }: RouteTest, { snapshot }: TestedRoute, seed: number): End {
  const { prompt_tokens: tokens = USUAL_PROMPT, down = [] } = when;
  const { calls } = runCalls({
    calls: [call],
    courses: createCourses({
      timesOf: () => ({ firstMs: 1, totalMs: 2 }),
      isTooLong: (_, { facts: { contextTokens } }) => contextTokens !== null && tokens > contextTokens,
      faults: down.map((target) => ({
        target,
        kind: "dead",
        share: 1,
        from_ms: 0,
        to_ms: Number.POSITIVE_INFINITY,
      })),
      random: () => 0,
    }),
    limits: snapshot.limits,
    randomOf: () => chanceOf(seed),
  });
  const [trace] = calls;
  const { code, winner, attempts } = trace!;
  const message = attempts.findLast(({ refusal }) => refusal !== null)?.refusal?.message ?? null;
  return { target: code === null ? winner!.target : null, sentTo: firstSentTo(trace!), code, message };
}

/** One sentence where the call does not end as expected. */
function wrongEnd(
  { target, code: expected }: RouteTest["expect"],
  { target: answering, code, message }: End,
): string | null {
  if (target === undefined && expected === undefined) return null;
  if (code !== null) {
    if (expected === code) return null;
    return `The call fails with ${code}${message === null ? "" : `: ${message}`}`;
  }
  if (expected !== undefined) return `${answering} answers, and the call does not fail with ${expected}.`;
  return target === undefined || listOf(target).includes(answering!)
    ? null
    : `${answering} answers, and not ${listOf(target).join(" or ")}.`;
}
