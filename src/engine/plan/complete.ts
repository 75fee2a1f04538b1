// The engine of promise 7: it carries out the steps of the plan, and continues until an attempt has answered or nothing
// is left to attempt. The caller passes in the work of an attempt: a non-streaming answer, or a stream up to its first
// content.

// Decides (targets and attempts): When is no other target attempted any more? By: `complete`. Also:
// `engine/stream/reply-stream.ts`. Rule: After the first content of an answer, or when the plan ends.
import { LATE, pause, within } from "../../core/concurrency/timeout.ts";
import { asGatewayError, GatewayError, retryLater } from "../../core/errors.ts";
import type { MaybePromise } from "../../core/maybe-promise.ts";
import { attemptSummary } from "../../core/record/record.ts";
import type { Hedge, Route } from "../../core/configured/route.ts";
import type { NativeOperation } from "../../providers/interface/native-operation.ts";
import { createPlan, type Plan } from "../../routing/plan/plan.ts";
import type { Failure, TryStep } from "../../routing/plan/plan-steps.ts";
import { failureAfter, Failures } from "../../routing/plan/verdict.ts";
import type { Call } from "../call/call.ts";
import { isOfCredential } from "../attempt/resolve-credential.ts";
import type { AttemptMeter } from "../metering/attempt-meter.ts";
import { noneEligible, type Prepared } from "./stages.ts";
import { routeKey } from "./route-key.ts";
import type { PassedOver } from "./route-stages.ts";
import type { RouteCandidate, RouteStage } from "./candidate.ts";
import {
  type Answered,
  AttemptRun,
  type AttemptWork,
  type ChosenAttempt,
  endOf,
  readyAt,
  type RefusedAttempt,
  reserve,
} from "../attempt/run-attempt.ts";

/**
 * Throws the first error that no repetition cures, or else the last one, with all attempts in `metadata.attempts`, or the
 * signal's reason.
 */
export async function complete<T>(prepared: Prepared, call: Call, work: AttemptWork<T>): Promise<Answered<T>> {
  const { clock, routing } = call.context;
  const plan = createPlan<RouteCandidate>({ ...prepared, health: routing.health, random: () => routing.random() });
  const failures = new Failures<unknown>();
  let failure: Failure | null = null;
  let serving: Route | null = null;
  let empty: Answered<T> | null = null;
  const hasSeveral = prepared.stages.length > 1 || prepared.stages[0]!.candidates.length > 1;
  const isAnotherLeft = hasSeveral ? () => plan.isAnotherLeft(clock.monotonic()) : null;
  if (hasSeveral)
    call.recorder.mayGoTo(prepared.stages.flatMap(({ candidates }) => candidates.map(({ target }) => target.name)));
  let noted = NOTHING_NOTED;
  const refusedCredentials = new Map<string, RefusedCredentials>();
  const triedAt = (candidate: RouteCandidate): ReadonlySet<string> => refusedAt(candidate, refusedCredentials).tried;
  /** Notes why an attempt has failed, and returns what that means for the plan. */
  const failureOf = (run: AttemptRun<T>, { candidate, route }: FailedAt, thrown: unknown): Failure => {
    const hasOther = run.hasOtherCredential;
    const reported = refusedOf(run, hasOther, thrown, refusedAt(candidate, refusedCredentials));
    failures.add(reported, asGatewayError(reported).code, true, hasOther || undefined);
    if (hasOther) return { kind: "other_credential", retryAfterMs: null };
    if (isForClient(thrown, run.native, route)) return { kind: "final", retryAfterMs: null };
    return failureAfter(endOf(thrown, call, run.endingRequest));
  };
  /** Tells the plan how the second attempt has ended, where the first one has no answer either. */
  const secondEnded = async (second: AttemptRun<T>, at: FailedAt): Promise<void> => {
    let ended: Failure;
    try {
      const result = await second.result;
      if (result.kind === "answered") return;
      if (result.reason !== null) failures.add(result.reason, result.reason.code, false);
      ended = { kind: result.isBlocked === true ? "blocked" : "refused", retryAfterMs: null };
    } catch (thrown) {
      if (call.signal.aborted) return;
      ended = failureOf(second, at, thrown);
    }
    plan.secondFailed(ended, clock.monotonic());
  };
  for (;;) {
    const step = plan.next(failure, clock.monotonic(), call.deadline.leftMs());
    if (prepared.passedOver.length > noted.size)
      noted = notePassedOver(prepared, step.kind === "give_up" ? null : step.stage, noted, call);
    if (step.kind === "give_up") {
      if (empty !== null) return empty;
      throw finalError(failures.reported ?? noneEligible(prepared), step.why === "deadline", call);
    }
    call.recorder.planned(step.candidate.target.name, whyChosen(step), step.waitMs);
    if (step.waitMs > 0) {
      await call.clock.waiting(pause(step.waitMs, call.signal)).catch((ended: unknown) => {
        if (empty !== null) abandon(empty, work);
        throw withAttempts(ended, call);
      });
    }
    const { candidate } = step;
    serving = served(candidate, serving, prepared.route, call);
    const { hedge } = serving;
    const run = new AttemptRun({ ...step, isAnotherLeft, tried: triedAt(candidate) }, call, work);
    try {
      const result = await (hedge === null
        ? run.result
        : hedged(run, { candidate, isAnotherLeft }, hedge, { plan, triedAt, secondEnded }, call, work));
      if (result.kind === "refused") {
        // after a wait for a slot, the call may be over
        call.signal.throwIfAborted();
        call.recorder.planRefused(result.reason?.code ?? null);
        if (result.reason !== null) failures.add(result.reason, result.reason.code, false);
        failure = { kind: result.isBlocked === true ? "blocked" : "refused", retryAfterMs: null };
        continue;
      }
      if (empty !== null) abandon(empty, work);
      if (!isEmpty(result, work)) return result;
      empty = result;
      // the attempt has ended, and its slot is released for the next one
      result.attempt.settle("success");
      failure = { kind: "retryable", retryAfterMs: null };
    } catch (thrown) {
      if (empty !== null) abandon(empty, work);
      empty = null;
      // the reason that ended the whole call is what its client receives
      if (call.signal.aborted) throw withAttempts(thrown, call);
      failure = failureOf(run, { candidate, route: serving }, thrown);
    }
  }
}

/**
 * Completes a call and returns what `reply` makes of its answer. A fault in that ends the attempt, which would otherwise
 * keep its slot at the target. Throws what `complete` and `reply` throw.
 */
export async function completeReply<T>(
  prepared: Prepared,
  call: Call,
  work: AttemptWork<T>,
  reply: (answered: Answered<T>) => MaybePromise<Response>,
): Promise<Response> {
  const answered = await complete(prepared, call, work);
  try {
    return await reply(answered);
  } catch (thrown) {
    answered.attempt.settle("cancelled");
    throw thrown;
  }
}

/** Where an attempt has failed. */
interface FailedAt {
  readonly candidate: RouteCandidate;
  /** The route that served it. */
  readonly route: Route;
}

interface Hedging<T> {
  /** Chooses the target of the second attempt. */
  readonly plan: Plan<RouteCandidate>;
  /** The credentials of a target that were refused in the call. */
  readonly triedAt: (candidate: RouteCandidate) => ReadonlySet<string>;
  /** Reports to the plan how the second attempt has ended. */
  readonly secondEnded: (second: AttemptRun<T>, at: FailedAt) => Promise<void>;
}

/** The credentials of one target that were refused in the call. */
interface RefusedCredentials {
  /** Their identities. */
  readonly tried: Set<string>;
  /** Why the first of them has to wait; `null` where none has to. */
  limited: unknown;
}

function refusedAt({ key }: RouteCandidate, known: Map<string, RefusedCredentials>): RefusedCredentials {
  const refused = known.get(key) ?? { tried: new Set(), limited: null };
  known.set(key, refused);
  return refused;
}

/**
 * Notes the credential with which an attempt has failed. Returns why the target failed: where one credential only has to
 * wait, that says more than that another one is refused for good.
 */
function refusedOf<T>(run: AttemptRun<T>, hasOther: boolean, thrown: unknown, refused: RefusedCredentials): unknown {
  const code = run.endingRequest?.code;
  if (hasOther) {
    refused.tried.add(run.credential!);
    if (code === "rate_limit_exceeded") refused.limited ??= thrown;
    return thrown;
  }
  if (!isOfCredential(code)) return thrown;
  // all were refused, and a retry may use any of them
  refused.tried.clear();
  const reported = refused.limited ?? thrown;
  refused.limited = null;
  return reported;
}

const NOTHING_NOTED: ReadonlySet<PassedOver> = new Set();

/**
 * Records the candidates that `when` and `share` leave out of the stages up to this one; of all stages when it is
 * `null`. Returns those that are recorded now.
 */
function notePassedOver(
  { stages, passedOver }: Prepared,
  reached: RouteStage | null,
  noted: ReadonlySet<PassedOver>,
  { recorder }: Call,
): ReadonlySet<PassedOver> {
  const place = reached === null ? -1 : stages.indexOf(reached);
  const last = place < 0 ? stages.length : place;
  const due = passedOver.filter((one) => !noted.has(one) && stages.indexOf(one.stage) <= last);
  for (const { candidate } of due) {
    recorder.planned(candidate.target.name, `passed over: ${candidate.passedOver!}`, 0);
    recorder.planRefused("target_not_eligible");
  }
  return new Set([...noted, ...due]);
}

function whyChosen({ candidate: { share }, why }: Pick<TryStep<RouteCandidate>, "candidate" | "why">): string {
  return share === null ? why : `in its share of ${share} %, ${why}`;
}

/** Whether the provider has refused a feature in a way that the client knows how to cure (promise 12.6). */
function isForClient(thrown: unknown, native: NativeOperation | undefined, { fallbackOnRefusal }: Route): boolean {
  return (
    !fallbackOnRefusal &&
    native?.form.refusalsAreClients === true &&
    thrown instanceof GatewayError &&
    thrown.passed !== null &&
    thrown.code === "upstream_invalid_request"
  );
}

/**
 * Returns the route that serves the call from this step on. A route that takes over the call from the `first` one has its
 * own time bound and its own share of hedges.
 */
function served({ route }: RouteCandidate, before: Route | null, first: Route, call: Call): Route {
  const { clock, routing } = call.context;
  if (before?.name === route.name) return route;
  call.recorder.servedBy(route);
  // the first route may have had no target for the call
  if (route.name !== first.name) call.deadline.boundByNextRoute(route.timeouts.totalMs);
  if (route.hedge !== null) routing.hedging.called(routeKey(route, call), clock.monotonic());
  return route;
}

/** Whether nothing was generated for a request that asks for something. */
function isEmpty<T>({ answer, attempt }: Answered<T>, work: AttemptWork<T>): boolean {
  return work.isEmpty(answer) && attempt.fitted.request.written?.asksForNothing !== true;
}

/**
 * Discards an empty answer that is followed by another attempt. The upstream answered, so that its health is good; the
 * record states why there was another attempt.
 */
function abandon<T>({ answer, attempt }: Answered<T>, { discard }: AttemptWork<T>): void {
  for (const request of attempt.requests) request.failed("upstream_incomplete");
  discard(answer);
}

/**
 * Starts a second attempt when the first content is late. The attempt with the first content wins, and the other one is
 * ended; an empty answer ends no other attempt. Rejects with the failure of the first attempt.
 */
async function hedged<T>(
  first: AttemptRun<T>,
  { candidate, isAnotherLeft }: Pick<ChosenAttempt, "candidate" | "isAnotherLeft">,
  hedge: Hedge,
  { plan, triedAt, secondEnded }: Hedging<T>,
  call: Call,
  work: AttemptWork<T>,
): Promise<Answered<T> | RefusedAttempt> {
  const {
    clock,
    routing: { hedging },
  } = call.context;
  const delayMs = hedging.delayMs(hedge, candidate.key);
  if (delayMs === null || !(await isLate(first.result, delayMs)) || first.hasContent) return first.result;
  // the client has left, and the answer is read only for its usage
  if (call.signal.aborted) return first.result;
  const step = plan.second(
    clock.monotonic(),
    ({ upstream }) => hedging.take(routeKey(candidate.route, call), hedge, upstream, clock.monotonic()),
    (one, why) => takes(one, why, call),
  );
  if (step === null) return first.result;
  call.recorder.planned(step.candidate.target.name, whyChosen(step), 0);
  const isBeside = step.candidate === candidate;
  const second = new AttemptRun({ ...step, isAnotherLeft, tried: triedAt(step.candidate), isBeside }, call, work);
  const empty = new Map<AttemptRun<T>, Answered<T>>();
  const withContent = async (run: AttemptRun<T>): ReturnType<typeof answerOf<T>> => {
    const one = await answerOf(run);
    if (!isEmpty(one.answered, work)) return one;
    empty.set(run, one.answered);
    throw new Error("nothing was generated");
  };
  const winner = await Promise.any([withContent(first), withContent(second)]).catch(() => null);
  const [firstEmpty, secondEmpty] = [empty.get(first), empty.get(second)];
  if (winner === null) {
    if (firstEmpty !== undefined && secondEmpty !== undefined) dropEmpty(secondEmpty, work);
    if (secondEmpty === undefined)
      await secondEnded(second, { candidate: step.candidate, route: step.candidate.route });
    return firstEmpty ?? secondEmpty ?? first.result;
  }
  const lost = firstEmpty ?? secondEmpty;
  if (lost !== undefined) dropEmpty(lost, work);
  else {
    const loser = winner.run === first ? second : first;
    loser.supersede();
    void release(loser, work);
  }
  return winner.answered;
}

function dropEmpty<T>(answered: Answered<T>, work: AttemptWork<T>): void {
  abandon(answered, work);
  answered.attempt.settle("success");
}

/** Whether a second attempt may be made there. The plan in the record says why it may not. */
function takes(candidate: RouteCandidate, why: string, call: Call): boolean {
  const ready = readyAt(candidate, call);
  if (ready.kind === "ready") return true;
  call.recorder.planned(candidate.target.name, why, 0);
  call.recorder.planRefused(ready.reason?.code ?? null);
  return false;
}

/** Rejects when the attempt yields no answer. */
async function answerOf<T>(
  run: AttemptRun<T>,
): Promise<{ readonly run: AttemptRun<T>; readonly answered: Answered<T> }> {
  const answered = await run.result;
  if (answered.kind === "refused") throw answered.reason ?? new Error("the target was not called");
  return { run, answered };
}

/** Releases an answer that arrived although its attempt was superseded. */
async function release<T>(loser: AttemptRun<T>, { discard }: AttemptWork<T>): Promise<void> {
  const late = await loser.result.catch(() => null);
  if (late?.kind !== "answered") return;
  discard(late.answer);
  late.attempt.settle("cancelled");
}

/** Whether the attempt is still in flight after this time. */
async function isLate(attempt: Promise<unknown>, delayMs: number): Promise<boolean> {
  const over = attempt.then(
    () => null,
    () => null,
  );
  return (await within(over, delayMs)) === LATE;
}

/**
 * Reserves what a first attempt may use, for work that precedes it: a call that is refused has no effects (promise
 * 4.3), and one that has effects is in the ledger. The call keeps the reservation until its first attempt has one.
 * Returns what counts the call; `null` where it has no target. Throws the last refusal, or `ledger_unavailable`.
 */
export async function reserveInAdvance(
  prepared: Prepared,
  call: Call,
): Promise<Pick<AttemptMeter, "countCall"> | null> {
  const { stages } = prepared;
  let refusal: GatewayError | null = noneEligible(prepared);
  const left = new Set(stages.flatMap(({ candidates }) => candidates));
  for (;;) {
    // a budget may redirect the call to a target that was passed over before
    const candidate = [...left].find(({ isOffered }) => isOffered);
    if (candidate === undefined) break;
    left.delete(candidate);
    const ready = readyAt(candidate, call);
    const meter = ready.kind === "refused" ? ready.reason : await reserve(candidate, ready.ready, call);
    if (meter === null || meter instanceof GatewayError) {
      refusal = meter ?? refusal;
      continue;
    }
    call.recorder.headedFor(candidate.target, candidate.route.name);
    await call.lifetime.enterLedger();
    call.meter.keepInAdvance(meter);
    return meter;
  }
  if (refusal !== null) throw withAttempts(refusal, call);
  return null;
}

function finalError(last: unknown, outOfTime: boolean, call: Call): unknown {
  if (last !== null) return withAttempts(last, call);
  return outOfTime
    ? call.deadline.error()
    : retryLater("no_target_available", "No target of the route is available now; try again shortly.", 1);
}

/** Adds every attempt to the failure of a call (promise 7.6). */
export function withAttempts(thrown: unknown, { record: { attempts } }: Call): unknown {
  return thrown instanceof GatewayError && attempts.length > 0
    ? thrown.withMetadata({ attempts: attempts.map(attemptSummary) })
    : thrown;
}
