// Calls in virtual time. Plans, health, hedging, slots and verdicts are those of the engine; what carries them out is written
// here once more beside `engine/plan/complete.ts` and `engine/attempt/run-attempt.ts`, and `simulated-engine.test.ts` compares
// the two. The faults and latencies that are given determine how an attempt ends.
import { noneEligible, type Prepared } from "../engine/plan/stages.ts";
import type { RouteCandidate } from "../engine/plan/candidate.ts";
import type { ReadyTarget } from "../engine/fit/ready-target.ts";
import { type ErrorCode, GatewayError } from "../core/errors.ts";
import type { Route } from "../core/configured/route.ts";
import type { ServerLimits } from "../core/snapshot.ts";
import { type Concurrency, openConcurrency } from "../core/concurrency/slots.ts";
import { headLimitMs } from "../routing/head-limit.ts";
import { openHealth, type Health } from "../routing/health/health.ts";
import { type Hedging, openHedging } from "../routing/plan/hedging.ts";
import { createPlan, type Plan } from "../routing/plan/plan.ts";
import type { Failure, TryStep } from "../routing/plan/plan-steps.ts";
import { askedRestMs, type AttemptEnd, failureAfter, Failures, outcomeAfter } from "../routing/plan/verdict.ts";
import { type EventQueue, openEventQueue } from "./event-queue.ts";
import type { SimulatedCall } from "./simulated-call.ts";
import type { Course, CourseFailure, Courses } from "./upstream-course.ts";
import { type HealthEvent, type HealthWatch, watchHealth } from "./watch-health.ts";

/**
 * `shed`: the target had no free slot. `refused`: the target cannot serve the request. In both cases it was not called.
 */
export type Ending = "success" | "cancelled" | "refused" | "shed" | "failed";

export interface AttemptTrace {
  readonly target: string;
  readonly why: string;
  readonly isHedge: boolean;
  startedMs: number;
  contentMs: number | null;
  endedMs: number;
  ending: Ending;
  code: ErrorCode | null;
  status: number | null;
  /** Why the target cannot serve the request; `null` where it was called. */
  refusal: Pick<GatewayError, "message" | "param"> | null;
  /** Positions in the list of the faults that the attempt met. */
  faults: readonly number[];
}

export interface CallTrace {
  readonly call: SimulatedCall;
  readonly attempts: readonly AttemptTrace[];
  readonly winner: AttemptTrace | null;
  /** `null` when the call succeeded. */
  readonly code: ErrorCode | null;
  readonly endedMs: number;
}

/** The target to which the call was sent first; `null` where it was sent to none. */
export function firstSentTo({ attempts }: Pick<CallTrace, "attempts">): string | null {
  return attempts.find(({ ending }) => ending !== "refused" && ending !== "shed")?.target ?? null;
}

export interface RunInput {
  readonly calls: readonly SimulatedCall[];
  readonly courses: Courses;
  readonly limits: ServerLimits;
  /** The random numbers of a call by its place in the list: at least 0 and below 1. */
  readonly randomOf: (number: number) => () => number;
}

export interface Run {
  /** In the order in which the calls were made. */
  readonly calls: readonly CallTrace[];
  readonly health: readonly HealthEvent[];
  readonly endedMs: number;
  /** Attempts that were not settled, and calls that wait for a slot for ever: 0, unless the engine has a fault. */
  readonly lost: number;
}

interface World extends RunInput {
  readonly queue: EventQueue;
  readonly health: Health;
  readonly watch: HealthWatch;
  readonly hedging: Hedging;
  readonly concurrency: Concurrency;
}

interface Live {
  readonly trace: AttemptTrace;
  readonly candidate: RouteCandidate;
  readonly isLastResort: boolean;
  /** Cancel the events that are still scheduled for the attempt. */
  readonly undo: (() => void)[];
  undoHedge: () => void;
  probe: number;
  course: Course | null;
  /** The attempt was ended because its head was late and another target is left. */
  isGivenUp: boolean;
}

interface Running extends World {
  readonly call: SimulatedCall;
  readonly prepared: Prepared;
  readonly plan: Plan<RouteCandidate>;
  endsMs: number;
  /** The route that serves the call now; `null` before the first attempt. */
  serving: Route | null;
  readonly attempts: AttemptTrace[];
  readonly live: Set<Live>;
  /** The failure of the attempt that the plan's last step made: `next` receives it when the hedge has failed too. */
  failure: Failure | null;
  /** The failure of the hedge of that attempt; `null` as long as the hedge has not failed. */
  hedgeFailure: Failure | null;
  readonly failures: Failures<ErrorCode>;
  winner: Live | null;
  isOver: boolean;
  undoDeadline: () => void;
  readonly finish: (code: ErrorCode | null) => void;
}

export function runCalls(input: RunInput): Run {
  const queue = openEventQueue();
  const health = openHealth();
  const world: World = {
    ...input,
    queue,
    health,
    watch: watchHealth(health),
    hedging: openHedging(health),
    concurrency: openConcurrency(),
  };
  const traces: CallTrace[] = [];
  input.calls.forEach((call, number) =>
    queue.at(call.atMs, () => startCall(world, call, input.randomOf(number), (trace) => (traces[number] = trace))),
  );
  queue.run();
  const lost = health
    .snapshot(queue.nowMs())
    .reduce((sum, { key, inFlight }) => sum + inFlight + world.concurrency.waiting(key), 0);
  return { calls: traces, health: world.watch.events, endedMs: queue.nowMs(), lost };
}

function startCall(world: World, call: SimulatedCall, random: () => number, done: (trace: CallTrace) => void): void {
  const { queue, health } = world;
  const { prepared } = call;
  const running: Running = {
    ...world,
    call,
    prepared,
    plan: createPlan<RouteCandidate>({ ...prepared, health, random }),
    endsMs: queue.nowMs() + call.timeoutMs,
    attempts: [],
    live: new Set(),
    failure: null,
    hedgeFailure: null,
    serving: null,
    failures: new Failures(),
    winner: null,
    isOver: false,
    undoDeadline: () => {},
    finish(code) {
      running.isOver = true;
      running.undoDeadline();
      done({ call, attempts: running.attempts, winner: running.winner?.trace ?? null, code, endedMs: queue.nowMs() });
    },
  };
  running.undoDeadline = queue.at(running.endsMs, () => outOfTime(running));
  goOn(running, null);
}

function goOn(running: Running, failure: Failure | null): void {
  const { queue, plan } = running;
  const step = plan.next(failure, queue.nowMs(), running.endsMs - queue.nowMs());
  running.failure = null;
  if (step.kind === "give_up")
    return running.finish(
      running.failures.reported ??
        noneEligible(running.prepared)?.code ??
        (step.why === "deadline" ? "upstream_timeout" : "no_target_available"),
    );
  serve(running, step.candidate.route);
  if (step.waitMs === 0) return attempt(running, step, false);
  queue.at(queue.nowMs() + step.waitMs, () => {
    if (!running.isOver) attempt(running, step, false);
  });
}

/** As in the engine: a route to which the call falls back has its own time limit and its own share of hedges. */
function serve(running: Running, route: Route): void {
  const { queue, hedging, call, serving, prepared } = running;
  if (serving?.name === route.name) return;
  running.serving = route;
  if (route.hedge !== null) hedging.called(call.routeKey(route), queue.nowMs());
  const { totalMs } = route.timeouts;
  // the bound of the first route holds since the call began
  const isFirst = route.name === prepared.route.name;
  if (isFirst || totalMs === null || call.hasOwnTimeout || queue.nowMs() + totalMs >= running.endsMs) return;
  running.endsMs = queue.nowMs() + totalMs;
  running.undoDeadline();
  running.undoDeadline = queue.at(running.endsMs, () => outOfTime(running));
}

function attempt(running: Running, step: TryStep<RouteCandidate>, isHedge: boolean): void {
  const { queue, concurrency, call, attempts, live } = running;
  const { candidate, isLastResort } = step;
  const nowMs = queue.nowMs();
  const trace: AttemptTrace = {
    target: candidate.target.name,
    why: step.why,
    isHedge,
    startedMs: nowMs,
    contentMs: null,
    endedMs: nowMs,
    ending: "cancelled",
    code: null,
    status: null,
    refusal: null,
    faults: [],
  };
  attempts.push(trace);
  const one: Live = {
    trace,
    candidate,
    isLastResort,
    undo: [],
    undoHedge: () => {},
    probe: 0,
    course: null,
    isGivenUp: false,
  };
  live.add(one);
  const ready = readyAt(candidate);
  if (ready instanceof GatewayError) {
    trace.refusal = ready;
    return passOver(running, one, "refused", ready.code);
  }
  if (!isHedge) armHedge(running, one);
  const { maxConcurrency } = candidate.target;
  if (maxConcurrency === null) return send(running, one, ready);
  let undoWait = (): void => {};
  const { queue: room } = candidate.route;
  const shed = (): void => passOver(running, one, "shed", "gateway_overloaded");
  const place = { key: candidate.key, tenant: call.tenant, max: maxConcurrency, queueMax: room.max };
  const entered = concurrency.enter(place, (turn) => {
    undoWait();
    if (turn === "entered") send(running, one, ready);
    else shed();
  });
  if (entered === "entered") return send(running, one, ready);
  if (entered === "full") return shed();
  undoWait = queue.at(nowMs + room.timeoutMs, () => {
    entered.cancel();
    shed();
  });
  one.undo.push(undoWait, () => entered.cancel());
}

function readyAt(candidate: RouteCandidate): ReadyTarget | GatewayError {
  try {
    candidate.permit();
    return candidate.ready();
  } catch (thrown) {
    if (thrown instanceof GatewayError) return thrown;
    throw thrown;
  }
}

function takeBack(one: Live): void {
  one.undoHedge();
  for (const undo of one.undo) undo();
}

/** Records a target that was not called. */
function passOver(running: Running, one: Live, ending: "refused" | "shed", code: ErrorCode): void {
  takeBack(one);
  Object.assign(one.trace, { ending, code, endedMs: running.queue.nowMs() });
  over(running, one, { kind: "refused", retryAfterMs: null }, code);
}

/** Takes back an attempt whose target became unable while it waited for a slot. */
function blocked(running: Running, one: Live): void {
  const { attempts, live, concurrency } = running;
  const { key, target } = one.candidate;
  takeBack(one);
  live.delete(one);
  attempts.splice(attempts.indexOf(one.trace), 1);
  if (target.maxConcurrency !== null) concurrency.leave(key);
  const failure: Failure = { kind: "blocked", retryAfterMs: null };
  if (one.trace.isHedge) running.hedgeFailure = failure;
  else running.failure = failure;
  goOnWhenOver(running, running.failure);
}

/** Goes on once no attempt is in flight any more. */
function goOnWhenOver(running: Running, failure: Failure | null): void {
  if (running.live.size > 0 || running.isOver) return;
  const { plan, queue, hedgeFailure } = running;
  running.hedgeFailure = null;
  if (hedgeFailure !== null) plan.secondFailed(hedgeFailure, queue.nowMs());
  goOn(running, failure);
}

function send(running: Running, one: Live, { resolved }: ReadyTarget): void {
  const { queue, health, watch, courses, limits, call } = running;
  const {
    candidate: { key, upstream, route, target },
    trace,
  } = one;
  const nowMs = queue.nowMs();
  if (!one.isLastResort && health.blockedReason(key, route.breaker, nowMs) !== null) return blocked(running, one);
  health.called(upstream, nowMs);
  one.probe = health.begin(key, route.breaker, nowMs);
  watch.check(key, nowMs, one.probe);
  const course = courses.of(resolved, target.name, call, nowMs);
  one.course = course;
  trace.startedMs = nowMs;
  trace.faults = course.faults;
  // The simulation assumes that the head arrives with the first content.
  const lateMs =
    nowMs +
    Math.min(
      (call.isStream ? route.timeouts.firstTokenMs : null) ?? Number.POSITIVE_INFINITY,
      route.timeouts.firstByteMs ?? limits.firstByteTimeoutMs,
    );
  const headAtMs = Math.min(course.contentAtMs ?? Number.POSITIVE_INFINITY, course.endAtMs);
  awaitHead(running, one, Math.min(headAtMs, lateMs));
  if (headAtMs > lateMs) one.undo.push(queue.at(lateMs, () => failed(running, one, TIMED_OUT)));
  else {
    if (course.contentAtMs !== null) one.undo.push(queue.at(course.contentAtMs, () => content(running, one)));
    one.undo.push(
      queue.at(course.endAtMs, () =>
        course.failure === null ? succeeded(running, one) : failed(running, one, course.failure),
      ),
    );
  }
}

/** As in the engine: an attempt whose head is late is given up where another target could answer instead. */
function awaitHead(running: Running, one: Live, headAtMs: number): void {
  const {
    queue,
    call: { isStream },
    plan,
    endsMs,
  } = running;
  const limitMs = headLimitMs(one.candidate.route.timeouts, isStream, endsMs - queue.nowMs());
  if (limitMs === null || queue.nowMs() + limitMs >= headAtMs) return;
  one.undo.push(
    queue.at(queue.nowMs() + limitMs, () => {
      if (!plan.isAnotherLeft(queue.nowMs())) return awaitHead(running, one, headAtMs);
      one.isGivenUp = true;
      failed(running, one, TIMED_OUT);
    }),
  );
}

const TIMED_OUT = { code: "upstream_timeout", status: null, retryAfterMs: null } as const;

function armHedge(running: Running, one: Live): void {
  const { queue, hedging, plan, call } = running;
  const { route, key } = one.candidate;
  const { hedge } = route;
  const delayMs = hedge === null ? null : hedging.delayMs(hedge, key);
  if (hedge === null || delayMs === null) return;
  one.undoHedge = queue.at(queue.nowMs() + delayMs, () => {
    const second = plan.second(
      queue.nowMs(),
      ({ upstream }) => hedging.take(call.routeKey(route), hedge, upstream, queue.nowMs()),
      (candidate) => !(readyAt(candidate) instanceof GatewayError),
    );
    if (second !== null) attempt(running, second, true);
  });
}

function content(running: Running, one: Live): void {
  const { queue, health, watch, live } = running;
  const {
    candidate: { key, route },
    trace,
  } = one;
  trace.contentMs = queue.nowMs();
  running.winner = one;
  one.undoHedge();
  health.answering(key, route.breaker, queue.nowMs(), queue.nowMs() - trace.startedMs, one.probe);
  watch.check(key, queue.nowMs());
  for (const other of live) if (other !== one) settle(running, other, "cancelled", null);
}

function succeeded(running: Running, one: Live): void {
  settle(running, one, "success", null);
  running.finish(null);
}

function failed(running: Running, one: Live, answer: CourseFailure): void {
  one.trace.status = answer.status;
  const end = endOf(one, answer, false);
  settle(running, one, "failed", end);
  if (running.winner === one) return running.finish(answer.code);
  over(running, one, failureAfter(end), answer.code);
}

function endOf({ trace }: Live, { code, status, retryAfterMs }: CourseFailure, isCallOver: boolean): AttemptEnd {
  return { code, isCallOver, last: { status, retryAfterMs, headMs: trace.contentMs } };
}

/** An attempt failed before any content: another one may still be in flight beside it, else the plan continues. */
function over(running: Running, one: Live, failure: Failure, code: ErrorCode): void {
  running.live.delete(one);
  if (one.trace.isHedge) running.hedgeFailure = failure;
  else running.failure = failure;
  running.failures.add(code, code, failure.kind !== "refused");
  goOnWhenOver(running, running.failure ?? failure);
}

function settle(running: Running, one: Live, ending: Ending, end: AttemptEnd | null): void {
  const { queue, health, watch, concurrency, call, live } = running;
  const {
    candidate: { key, route, target, hasLimitsOfTenant },
    trace,
    probe,
  } = one;
  live.delete(one);
  takeBack(one);
  trace.endedMs = queue.nowMs();
  trace.ending = ending;
  trace.code = end?.code ?? null;
  // An attempt that waited for a slot was not called.
  if (one.course === null) return;
  const wait = {
    hasOwnTimeout: call.hasOwnTimeout,
    hasLimitsOfTenant,
    isGivenUp: one.isGivenUp,
    waitedMs: queue.nowMs() - trace.startedMs,
    patienceMs: health.patienceMs(key),
  };
  const outcome = end !== null ? outcomeAfter(end, wait) : ending === "success" ? "success" : "cancelled";
  const limitedMs = end?.last === undefined ? null : askedRestMs(end.code, end.last.retryAfterMs);
  health.end(key, route.breaker, outcome, queue.nowMs(), {
    probe,
    ...(limitedMs !== null && { retryAfterMs: limitedMs }),
  });
  watch.check(key, queue.nowMs());
  if (target.maxConcurrency !== null) concurrency.leave(key);
}

function outOfTime(running: Running): void {
  running.isOver = true;
  for (const one of running.live) settle(running, one, "failed", endOf(one, TIMED_OUT, true));
  running.finish("upstream_timeout");
}
