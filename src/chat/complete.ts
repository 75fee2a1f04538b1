// The one engine of decisions 7: takes what the plan says, tries it, and goes on until something has been won or there is nothing left. What an attempt is
// (a whole answer, or a stream up to its first content) is handed in.
import type { GuardPolicy } from "../auth/guarded-text.ts";
import { asGatewayError, GatewayError } from "../core/errors.ts";
import { type Attempt, toldAttempt } from "../core/record.ts";
import type { Hedge, Route } from "../core/route.ts";
import type { Turn } from "../routing/concurrency.ts";
import type { Outcome } from "../routing/health.ts";
import { createPlan, type Failure, type Plan } from "../routing/plan.ts";
import { type AttemptEnd, failureAfter, Failures, outcomeAfter } from "../routing/verdict.ts";
import type { Admitted } from "../admission/call-admission.ts";
import type { LimitedCall } from "../admission/limited-call.ts";
import { AttemptScope } from "./attempt-scope.ts";
import type { Call } from "./call.ts";
import { demandOf, usedOf } from "./demand.ts";
import type { FittedRequest } from "./fit.ts";
import { chargeLeft, noteUsage, usageOf } from "./attempt-usage.ts";
import { lendCredential } from "./lend-credential.ts";
import type { Prepared, Ready, RouteCandidate } from "./legs.ts";
import { pause, untilOver } from "./pause.ts";
import type { Resolved } from "./resolve.ts";

/** One attempt that is under way: where to, with what, within which bounds. */
export interface Tried {
  readonly candidate: RouteCandidate;
  readonly fitted: FittedRequest;
  /** With the credential. */
  readonly resolved: Resolved;
  /** The name that stands in the answer. */
  readonly route: string;
  /** What looks at the answer. */
  readonly outputGuards: readonly GuardPolicy[];
  readonly scope: AttemptScope;
}

export interface Won<T> {
  readonly answer: T;
  readonly tried: Tried;
  /** Told once, when nothing of it is under way any more. */
  readonly settle: (outcome: Outcome) => void;
}

/** What an attempt is. */
export interface Attempting<T> {
  readonly run: (tried: Tried) => Promise<T>;
  /** Nothing at all was generated: tried again, and handed on where nothing better comes (decisions 7.1). */
  readonly isEmpty: (answer: T) => boolean;
  /** Lets go of what came too late. */
  readonly discard: (answer: T) => void;
}

/** Throws the error of the last attempt, with all of them in `metadata.attempts`, or the signal's reason. */
export async function complete<T>(prepared: Prepared, call: Call, attempting: Attempting<T>): Promise<Won<T>> {
  const { clock, routing } = call.context;
  const plan = createPlan<RouteCandidate>({ ...prepared, health: routing.health, random: () => routing.random() });
  const failures = new Failures<unknown>();
  let failure: Failure | null = null;
  let serving: Route | null = null;
  let empty: Won<T> | null = null;
  for (;;) {
    const step = plan.next(failure, clock.monotonic(), call.leftMs());
    if (step.kind === "give_up") {
      if (empty !== null) return empty;
      throw finalError(failures.told, step.why === "deadline", call);
    }
    if (step.waitMs > 0) await call.waiting(pause(step.waitMs, call.signal));
    const { candidate } = step;
    serving = served(candidate, serving, call);
    const { hedge } = serving;
    const control: Control = {};
    try {
      const won = await (hedge === null
        ? attemptOnce(candidate, call, attempting, control)
        : hedged(candidate, hedge, plan, call, attempting, control));
      if (empty !== null) leaveBehind(empty, attempting);
      if (!attempting.isEmpty(won.answer)) return won;
      empty = won;
      // it has ended: its place is free for the next
      won.settle("success");
      failure = { kind: "retryable", retryAfterMs: null };
    } catch (thrown) {
      if (thrown instanceof RefusedTarget) {
        // what had to wait for a place may find that the call is over
        call.signal.throwIfAborted();
        if (thrown.reason !== null) failures.add(thrown.reason, asGatewayError(thrown.reason).code, false);
        failure = { kind: "refused", retryAfterMs: null };
        continue;
      }
      if (empty !== null) leaveBehind(empty, attempting);
      empty = null;
      // what has ended the whole call is what its client is told
      if (call.signal.aborted) throw withAttempts(thrown, call);
      failures.add(thrown, asGatewayError(thrown).code, true);
      failure = failureOf(thrown, call, control.scope?.attempts.at(-1));
    }
  }
}

/** The route that serves the call from this step on. One that it was handed to has its own bound of time, and its own share of second attempts. */
function served({ route }: RouteCandidate, before: Route | null, call: Call): Route {
  const { clock, routing } = call.context;
  if (before?.name === route.name) return route;
  if (before !== null) call.handedOver(route.timeouts.totalMs);
  if (route.hedge !== null) routing.hedging.called(route.name, clock.monotonic());
  return route;
}

/** The upstream answered, so its health is good; the attempts say why there was another one. */
function leaveBehind<T>({ answer, tried }: Won<T>, { discard }: Attempting<T>): void {
  for (const attempt of tried.scope.attempts) attempt.code = "upstream_incomplete";
  discard(answer);
}

/** How an attempt is ended from outside. */
interface Control {
  scope?: AttemptScope;
}

/** A second attempt beside one whose first content is late; the first content wins, the other attempt is ended. Throws what the first attempt failed with. */
async function hedged<T>(
  candidate: RouteCandidate,
  hedge: Hedge,
  plan: Plan<RouteCandidate>,
  call: Call,
  attempting: Attempting<T>,
  control: Control,
): Promise<Won<T>> {
  const {
    clock,
    routing: { hedging },
  } = call.context;
  const first = attemptOnce(candidate, call, attempting, control);
  const delayMs = hedging.delayMs(hedge, candidate.key);
  if (delayMs === null || !(await isLate(first, delayMs)) || control.scope?.hasContent === true) return first;
  const step = plan.second(clock.monotonic(), ({ upstream }) =>
    hedging.take(candidate.route.name, hedge, upstream, clock.monotonic()),
  );
  if (step === null) return first;
  const beside: Control = {};
  const second = attemptOnce(step.candidate, call, attempting, beside);
  const winner = await Promise.any([first, second]).catch(() => first);
  const [loser, scope] = winner.tried.scope === control.scope ? [second, beside.scope] : [first, control.scope];
  if (scope !== undefined) supersede(scope);
  void letGo(loser, attempting);
  return winner;
}

/** Told at once: the record may be written before the attempt has noticed. */
function supersede(scope: AttemptScope): void {
  for (const attempt of scope.attempts) attempt.code ??= "superseded";
  scope.end(new GatewayError("superseded", "Another attempt of this call was quicker."));
}

async function letGo<T>(loser: Promise<Won<T>>, { discard }: Attempting<T>): Promise<void> {
  const late = await loser.catch(() => null);
  if (late === null) return;
  discard(late.answer);
  late.settle("cancelled");
}

/** Whether it is still under way after so long. */
async function isLate(attempt: Promise<unknown>, delayMs: number): Promise<boolean> {
  let timer: ReturnType<typeof setTimeout> | undefined;
  const late = new Promise<true>((resolve) => (timer = setTimeout(resolve, delayMs, true)));
  const over = attempt.then(
    () => false,
    () => false,
  );
  try {
    return await Promise.race([over, late]);
  } finally {
    clearTimeout(timer);
  }
}

/** A target that was not called, because it cannot take the request or may not be called. */
class RefusedTarget {
  /** Null: nothing that the caller has to hear. */
  readonly reason: unknown;
  constructor(reason: unknown) {
    this.reason = reason;
  }
}

function readyAt(candidate: RouteCandidate, call: Call): Ready {
  // a budget's cheaper target is there only for calls that it sends there
  if (candidate.insteadOf !== null && call.limited?.isSentTo(candidate.insteadOf, candidate.isAgain) !== true) {
    // oxlint-disable-next-line typescript/only-throw-error
    throw new RefusedTarget(null);
  }
  try {
    candidate.permit();
    return candidate.ready();
  } catch (thrown) {
    // where a budget sends a call and the caller may not go, or the request does not fit, what the budget said is the answer
    throw thrown instanceof GatewayError ? new RefusedTarget(candidate.insteadOf === null ? thrown : null) : thrown;
  } finally {
    call.policies?.note(candidate.spoken());
  }
}

/** A place among the calls that the target takes at once; null where it has no bound. Throws RefusedTarget when its queue is full or the wait was too long. */
function enterPlace({ key, target, route }: RouteCandidate, call: Call): (() => void) | null | Promise<() => void> {
  const { concurrency } = call.context.routing;
  const { maxConcurrency: max } = target;
  if (max === null) return null;
  const leave = (): void => concurrency.leave(key);
  let turn: (came: Turn) => void = () => {};
  const entered = concurrency.enter(key, call.record.tenantId ?? "", max, route.queue.max, (came) => turn(came));
  if (entered === "entered") return leave;
  const full = new RefusedTarget(
    new GatewayError(
      "gateway_overloaded",
      `The target ${target.name} has as many calls at once as it takes (${max}), and its queue is full.`,
      { headers: { "retry-after": "1" } },
    ),
  );
  // oxlint-disable-next-line typescript/only-throw-error
  if (entered === "full") throw full;
  return call.waiting(
    new Promise<() => void>((resolve, reject) => {
      const over = (reason: unknown): void => {
        clearTimeout(timer);
        call.signal.removeEventListener("abort", left);
        entered.cancel();
        // the reason is what the caller gave, to be told as it is
        // oxlint-disable-next-line typescript/prefer-promise-reject-errors
        reject(reason);
      };
      const left = (): void => over(call.signal.reason);
      const timer = setTimeout(() => over(full), route.queue.timeoutMs);
      turn = (came) => {
        if (came === "shed") return over(full);
        clearTimeout(timer);
        call.signal.removeEventListener("abort", left);
        resolve(leave);
      };
      call.signal.addEventListener("abort", left);
    }),
  );
}

/** Sets aside what the attempt may use. Throws RefusedTarget where a limit or a budget has no room for it (decisions 3.4, 4.2). */
function admit(
  { route, target, insteadOf, deployed }: RouteCandidate,
  fitted: FittedRequest,
  resolved: Resolved,
  limited: LimitedCall,
  call: Call,
): Admitted | Promise<Admitted> {
  const place = { route: route.name, provider: target.providerId, model: target.name, deployed };
  const judge = (result: Admitted | GatewayError): Admitted => {
    // oxlint-disable-next-line typescript/only-throw-error
    if (result instanceof GatewayError) throw new RefusedTarget(result);
    return result;
  };
  const result = limited.admit(place, demandOf(fitted, resolved, call), insteadOf !== null, () =>
    call.context.clock.now(),
  );
  // the store of the limits may be late: it is waited for as long as the call itself may take, and what it reserves after that is given back
  return result instanceof Promise ? untilOver(result, call.signal).then(judge) : judge(result);
}

/**
 * Sets aside what a first attempt may use, for what is done before it: a call that is refused has no effects (decisions 4.3), and one that has them stands in the ledger. Throws the last
 * refusal, or `ledger_unavailable`.
 */
export async function admitAhead({ legs }: Prepared, call: Call): Promise<void> {
  let refusal: unknown = null;
  for (const candidate of legs.flatMap(({ candidates }) => candidates)) {
    try {
      const { fitted, resolved } = readyAt(candidate, call);
      const asked = call.limited === null ? null : admit(candidate, fitted, resolved, call.limited, call);
      const admitted = asked instanceof Promise ? await call.waiting(asked) : asked;
      call.admitted();
      admitted?.begun();
      // the call holds what was set aside until it is over
      admitted?.end();
      return;
    } catch (thrown) {
      if (!(thrown instanceof RefusedTarget)) throw thrown;
      refusal = thrown.reason ?? refusal;
    }
  }
  if (refusal !== null) throw withAttempts(refusal, call);
}

async function attemptOnce<T>(
  candidate: RouteCandidate,
  call: Call,
  { run }: Attempting<T>,
  control: Control,
): Promise<Won<T>> {
  const {
    clock,
    routing: { health },
  } = call.context;
  const { fitted, resolved: unarmed, outputGuards } = readyAt(candidate, call);
  const asked = call.limited === null ? null : admit(candidate, fitted, unarmed, call.limited, call);
  const admitted = asked instanceof Promise ? await call.waiting(asked) : asked;
  const { key, upstream, route } = candidate;
  let resolved: Resolved;
  let leave: (() => void) | null;
  try {
    call.admitted();
    const lent = lendCredential(unarmed, call);
    resolved = lent instanceof Promise ? await lent : lent;
    const place = enterPlace(candidate, call);
    leave = place instanceof Promise ? await place : place;
  } catch (thrown) {
    admitted?.end();
    throw thrown;
  }
  const scope = new AttemptScope(call, route.timeouts);
  control.scope = scope;
  admitted?.called(() => usedOf(usageOf(fitted.request, scope)?.usage ?? null, fitted, resolved, call));
  const left = (): void => {
    noteUsage(fitted.request, scope);
    chargeLeft(call, { fitted, resolved }, scope);
  };
  call.underWay.add(left);
  const startedMs = call.elapsedMs();
  health.called(upstream, clock.monotonic());
  const probe = health.begin(key, route.breaker, clock.monotonic());
  let settled = false;
  const settle = (outcome: Outcome): void => {
    if (settled) return;
    settled = true;
    if (call.underWay.delete(left)) left();
    scope.close();
    leave?.();
    admitted?.end();
    const last = scope.attempts.at(-1);
    const limited = last?.code === "rate_limit_exceeded" ? last.retryAfterMs : null;
    health.end(key, route.breaker, outcome, clock.monotonic(), {
      probe,
      ...(limited !== null && { retryAfterMs: limited }),
    });
  };
  const tried: Tried = { candidate, fitted, resolved, route: route.name, outputGuards, scope };
  try {
    const answer = await run(tried);
    scope.contentCame();
    health.answering(key, route.breaker, clock.monotonic(), call.elapsedMs() - startedMs, probe);
    return { answer, tried, settle };
  } catch (thrown) {
    scope.end(thrown);
    settle(outcomeOf(thrown, call, scope.attempts.at(-1)));
    throw thrown;
  }
}

/** What the plan has to know of a failure (decisions 7.1). */
function failureOf(thrown: unknown, call: Call, last: Attempt | undefined): Failure {
  return failureAfter(endOf(thrown, call, last));
}

export function outcomeOf(thrown: unknown, call: Call, last: Attempt | undefined): Outcome {
  return outcomeAfter(endOf(thrown, call, last), call.hasOwnTimeout);
}

function endOf(thrown: unknown, call: Call, last: Attempt | undefined): AttemptEnd {
  return { code: asGatewayError(thrown).code, isCallOver: call.signal.aborted, last };
}

function finalError(last: unknown, outOfTime: boolean, call: Call): unknown {
  if (last !== null) return withAttempts(last, call);
  return outOfTime
    ? call.outOfTime()
    : new GatewayError("no_target_available", "No target of the route is healthy now; try again shortly.", {
        headers: { "retry-after": "1" },
      });
}

/** The failure of a call with every attempt of it (decisions 7.6). */
export function withAttempts(thrown: unknown, { record: { attempts } }: Call): unknown {
  return thrown instanceof GatewayError && attempts.length > 0
    ? thrown.withMetadata({ attempts: attempts.map(toldAttempt) })
    : thrown;
}
