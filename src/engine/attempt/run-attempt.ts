// One attempt of a call at one candidate, as a list of steps. Each step acquires something, and whatever was acquired
// is released by `#settle` when the attempt ends, however it ends: answered, refused, failed, superseded by another
// attempt, or abandoned with its call.

// Decides (targets and attempts): In which order does an attempt acquire and release? By: `AttemptRun`. Rule: The
// request in the form of the target, limits and budgets, the ledger, the credential, the response cache, the slot, and
// the breaker. However the attempt ends, all of it is released.
// Decides (targets and attempts): In which order are rules, guards, limits, budgets and the response cache applied? By:
// `AttemptRun`. Also: `engine/policies/call-policies.ts` (`admit`), `engine/plan/candidate.ts`. Rule: Once, rules and then
// guards on the request. For each target, access, drains, its own rules, masks and fit; then limits and budgets together,
// the ledger, the credential, the response cache, the slot and the breaker.
import { asGatewayError, GatewayError } from "../../core/errors.ts";
import type { Attempt } from "../../core/record/record.ts";
import { isPending, type MaybePromise } from "../../core/maybe-promise.ts";
import type { GuardPolicy } from "../../core/configured/policy.ts";
import type { NativeOperation } from "../../providers/interface/native-operation.ts";
import { RequestBeyondLimit } from "../../providers/interface/upstream-failure.ts";
import type { Outcome } from "../../routing/health/health.ts";
import { isReplacedSince } from "../../routing/health/replaced-accounts.ts";
import type { TryStep } from "../../routing/plan/plan-steps.ts";
import { type AttemptEnd, outcomeAfter } from "../../routing/plan/verdict.ts";
import { bypassedCall, type CachedCall } from "../../core/configured/cache.ts";
import { AttemptLifetime } from "./attempt-lifetime.ts";
import type { AttemptRecorder } from "./attempt-recorder.ts";
import { enterSlot } from "./target-slot.ts";
import type { CachedAttempt } from "../cache/cached-attempt.ts";
import { type CacheUse, cacheUseAt } from "../cache/cache-use.ts";
import { lookUp } from "../cache/cache-address.ts";
import type { Call } from "../call/call.ts";
import { encodedFor } from "./encode-attempt.ts";
import type { FittedRequest } from "../fit/fit.ts";
import { storesAnswer } from "../native/native-facts.ts";
import type { AttemptMeter } from "../metering/attempt-meter.ts";
import type { RouteCandidate } from "../plan/candidate.ts";
import type { ReadyTarget } from "../fit/ready-target.ts";
import { isOwn, type ObjectsWatch } from "../objects/call-objects.ts";
import { type PromptWatch, watchPrompt } from "./prompt-watch.ts";
import { isAnotherCredentialAble, isOfCredential, resolveCredential, targetRestMs } from "./resolve-credential.ts";
import type { Resolved } from "../plan/resolve-target.ts";
import { UnfitForTarget } from "../fit/unfit-for-target.ts";
import { type UpstreamBody, UpstreamFault } from "../../wire/upstream.ts";

/** An attempt that holds everything that it needs, so that its upstream requests may be sent. */
export interface OpenAttempt {
  readonly candidate: RouteCandidate;
  /** Replaced when the thread that holds a long conversation has said what it left out. */
  fitted: FittedRequest;
  /** The target with its credential. */
  readonly resolved: Resolved;
  /** The name of the route that serves the call, as the answer has it. */
  readonly route: string;
  /** Guards that search the answer. */
  readonly outputGuards: readonly GuardPolicy[];
  /** One for each upstream request that was sent; there are several where choices are fanned out. */
  readonly requests: AttemptRecorder[];
  /** The bodies of the responses to them. Those that were not accepted are cancelled when the attempt ends. */
  readonly bodies: UpstreamBody[];
  /** The first request that failed, which is why the attempt ends; `null` when none has failed. */
  failing: AttemptRecorder | null;
  readonly lifetime: AttemptLifetime;
  /** `null` when the attempt does not use the response cache. */
  readonly cached: CachedAttempt | null;
  /** Why it goes past the response cache, which is on for it; `null` where it is off, or used. */
  readonly bypassed: CachedCall | null;
  /** What was reserved for the attempt, and what it uses. */
  readonly meter: AttemptMeter;
  /** Reads what the answer hands out; `null` where it hands out nothing that lives at the vendor. */
  readonly objects: ObjectsWatch | null;
  /** Learns what the provider's prompt cache has of the conversation; `null` where that is not asked. */
  readonly prompt: PromptWatch | null;
  /** Headers of the provider's response that the client receives. */
  passedHeaders: Readonly<Record<string, string>>;
  /** Releases everything that the attempt holds; only the first call has an effect. */
  settle(outcome: Outcome): void;
}

/** What an operation does in an attempt. */
export interface AttemptWork<T> {
  readonly run: (attempt: OpenAttempt) => Promise<T>;
  /**
   * Whether nothing at all was generated: another attempt follows, and the empty answer is used if nothing better comes
   * (promise 7.1).
   */
  readonly isEmpty: (answer: T) => boolean;
  /** Releases an answer that will not be read. */
  readonly discard: (answer: T) => void;
}

export interface Answered<T> {
  readonly kind: "answered";
  readonly answer: T;
  /** The attempt keeps everything until it has ended. */
  readonly attempt: OpenAttempt;
}

/**
 * The target was not called, because it does not accept the request or the call may not go there. The attempt holds
 * nothing any more.
 */
export interface RefusedAttempt {
  readonly kind: "refused";
  /** `null` when the caller need not learn the reason. */
  readonly reason: GatewayError | null;
  /** The target became unable after the plan had chosen it. */
  readonly isBlocked?: true;
}

/** Why this target is attempted, and whether the plan has another one left. */
export interface ChosenAttempt extends Pick<TryStep<RouteCandidate>, "candidate" | "isLastResort"> {
  /** `null` when the call has only one target. */
  readonly isAnotherLeft: (() => boolean) | null;
  /** The identities of the target's credentials that the provider has refused in this call. */
  readonly tried: ReadonlySet<string>;
  /** Whether another attempt of the call waits at the same target, with which this one shares no request. */
  readonly isBeside?: boolean;
}

export class AttemptRun<T> {
  /** Rejects with the failure of the attempt, after its end. */
  readonly result: Promise<Answered<T> | RefusedAttempt>;
  readonly #candidate: RouteCandidate;
  readonly #chosen: ChosenAttempt;
  readonly #call: Call;
  // What the attempt holds; each is null while it does not hold it.
  #meter: AttemptMeter | null = null;
  #cached: CachedAttempt | null = null;
  #leaveSlot: (() => void) | null = null;
  #lifetime: AttemptLifetime | null = null;
  /** The number of the breaker's probe; 0 when the attempt is not a probe. */
  #probe: number | null = null;
  #isSettled = false;
  /** Those of `#open`; before it, only one that was never sent because no credential could be obtained for it. */
  readonly #requests: AttemptRecorder[] = [];
  #open: OpenAttempt | null = null;
  /** Why the attempt has to end as soon as it is open; `null` when it need not. */
  #endReason: GatewayError | null = null;

  constructor(chosen: ChosenAttempt, call: Call, work: AttemptWork<T>) {
    this.#chosen = chosen;
    this.#candidate = chosen.candidate;
    this.#call = call;
    this.result = this.#run(work);
  }

  get hasContent(): boolean {
    return this.#open?.lifetime.hasContent === true;
  }

  /** How the target is called where it speaks the operation; undefined where it is sent the translation, or nothing. */
  get native(): NativeOperation | undefined {
    return this.#open?.fitted.native;
  }

  /** The upstream request that shows how the attempt ended. */
  get endingRequest(): Readonly<Attempt> | undefined {
    return (this.#open === null ? this.#requests.at(-1) : endingRequest(this.#open))?.row;
  }

  /** The identity of the credential with which the target was called; `null` without one. */
  get credential(): string | null {
    const credential = this.#open?.resolved.target.credential ?? null;
    return credential === null ? null : this.#call.context.credentials.identityOf(credential);
  }

  /** Whether the provider refused the credential of the attempt, and the target can be called with another one. */
  get hasOtherCredential(): boolean {
    if (this.#open === null || !isOfCredential(this.endingRequest?.code)) return false;
    const { credential } = this;
    if (credential === null) return false;
    return isAnotherCredentialAble(this.#open.resolved, this.#call, new Set([...this.#chosen.tried, credential]));
  }

  /**
   * Called when another attempt of the call was quicker. This is recorded at once, because the record may be written
   * before the attempt has ended.
   */
  supersede(): void {
    this.#endReason = new GatewayError("superseded", "Another attempt of this call was faster.");
    for (const request of this.#requests) request.endedBy("superseded");
    this.#lifetime?.end(this.#endReason);
  }

  async #run(work: AttemptWork<T>): Promise<Answered<T> | RefusedAttempt> {
    try {
      const opened = await this.#acquire();
      if (opened.kind === "refused") {
        this.#settle("cancelled");
        return opened;
      }
      const { attempt } = opened;
      const startedMs = this.#call.clock.elapsedMs();
      if (this.#endReason !== null) throw this.#endReason;
      const answer = await work.run(attempt);
      this.#contentCame(attempt, startedMs);
      return { kind: "answered", answer, attempt };
    } catch (thrown) {
      if (thrown instanceof UnfitForTarget) {
        this.#settle("cancelled");
        return { kind: "refused", reason: thrown.reason };
      }
      if (this.#open !== null) endBesides(this.#open, this.#call);
      this.#settle(
        outcomeOf(thrown, this.#candidate, this.#call, this.endingRequest, this.#lifetime?.isGivenUp === true),
      );
      throw thrown;
    }
  }

  /** Performs the steps before anything is sent. */
  async #acquire(): Promise<{ readonly kind: "open"; readonly attempt: OpenAttempt } | RefusedAttempt> {
    const call = this.#call;
    const candidate = this.#candidate;
    const { route } = candidate;

    // 1. the request in the form that the target accepts, where the caller may call it
    const ready = readyAt(candidate, call);
    if (ready.kind === "refused") return ready;
    const { resolved: withoutCredential, outputGuards } = ready.ready;
    const { use } = ready;
    const asked = use?.kind === "used" && this.#chosen.isBeside === true ? { ...use, reads: false } : use;

    // 2. a reservation under every limit and budget that applies; its meter charges what is used, and settles, even if
    // the call ends before the attempt does
    const requests = this.#requests;
    const reserving = reserve(candidate, ready.ready, call, requests);
    const meter = isPending(reserving) ? await reserving : reserving;
    if (meter instanceof GatewayError) return { kind: "refused", reason: meter };
    this.#meter = meter;
    // the call may be over by now, and its record must not change any more
    if (this.#endReason !== null) throw this.#endReason;

    // 3. the ledger's opening entry: from here on the call is charged, even if the process dies
    call.recorder.headedFor(withoutCredential.target, route.name);
    await call.lifetime.enterLedger();

    // 4. a credential
    const resolveMs = call.clock.elapsedMs();
    let resolved: Resolved;
    try {
      const resolving = resolveCredential(withoutCredential, candidate, call, this.#chosen.tried);
      resolved = isPending(resolving) ? await resolving : resolving;
    } catch (thrown) {
      this.#credentialFailed(thrown, withoutCredential, resolveMs);
      throw thrown;
    }
    const fitted = fittedAt(ready.ready, resolved, call);
    const conversation = candidate.cachedConversation();
    const prompt = conversation === null ? null : watchPrompt(conversation, candidate, resolved, call);

    // 5. the signal that ends it, also while it waits for others
    const lifetime = new AttemptLifetime(call, route.timeouts, requests, this.#chosen.isAnotherLeft);
    this.#lifetime = lifetime;
    if (this.#endReason !== null) lifetime.end(this.#endReason);

    // 6. where the response cache is on, an answer that was kept, or the request that equal calls share
    const bypassed = asked?.kind === "bypassed" ? bypassedCall(asked.why) : null;
    if (asked?.kind !== "used") call.recorder.cached(bypassed);
    // what an answer hands out at the vendor is for one conversation alone
    const objects = watchOf(fitted, resolved, call);
    const cached =
      asked?.kind === "used"
        ? await this.#lookUp(
            { ...asked, isAlone: objects !== null },
            fitted,
            resolved,
            meter,
            lifetime,
            prompt !== null,
          )
        : null;
    const sends = cached === null || cached.sends;

    // 7. a slot among the attempts in flight at the target, for an attempt that sends something
    const entering =
      sends && candidate.target.maxConcurrency !== null ? enterSlot(candidate, call, lifetime.signal) : null;
    const slot = isPending(entering) ? await entering : entering;
    if (slot instanceof GatewayError) return { kind: "refused", reason: slot };
    this.#leaveSlot = slot;

    // 8. its timeouts, unless the attempt was ended or the target became unable while the attempt waited
    lifetime.signal.throwIfAborted();
    if (sends && this.#isBlocked()) return { kind: "refused", reason: null, isBlocked: true };
    lifetime.sends();

    // 9. the breaker of the target, whose probe this attempt may be, unless only a count is asked for: counts have rate
    // limits of their own and take a fraction of the time (https://platform.claude.com/docs/en/build-with-claude/token-counting)
    if (sends && fitted.request.form.counts !== true) this.#enterBreaker();

    call.recorder.targeted(resolved.target, route.name);
    call.recorder.fitted(fitted);

    const settle = (outcome: Outcome): void => this.#settle(outcome);
    this.#open = {
      candidate,
      fitted,
      resolved,
      route: route.name,
      outputGuards,
      requests,
      bodies: [],
      cached,
      bypassed,
      failing: null,
      lifetime,
      meter,
      objects,
      prompt,
      passedHeaders: {},
      settle,
    };
    return { kind: "open", attempt: this.#open };
  }

  /** Records what failed for want of a credential like a request that did not arrive: the target cannot be called. */
  #credentialFailed(thrown: unknown, { target }: Resolved, startMs: number): void {
    const call = this.#call;
    // what ended the attempt or its call has ended the wait
    if (this.#endReason !== null || call.signal.aborted) return;
    const request = call.beginAttempt(target, startMs);
    this.#requests.push(request);
    request.accepted(false);
    request.ended();
    request.failed(asGatewayError(thrown).code);
    this.#enterBreaker();
  }

  /** Throws UnfitForTarget. */
  async #lookUp(
    use: CacheUse,
    fitted: FittedRequest,
    resolved: Resolved,
    meter: AttemptMeter,
    lifetime: AttemptLifetime,
    tellsPrompt: boolean,
  ): Promise<CachedAttempt> {
    const call = this.#call;
    const attempt = { resolved, candidate: this.#candidate, lifetime };
    const encoded = await encodedFor(fitted.request, attempt, call, null, tellsPrompt);
    const cached = await lookUp(use, encoded, resolved, this.#candidate.route.name, call, lifetime.signal);
    this.#cached = cached;
    call.recorder.cached(cached.recorded);
    meter.paidWith(cached);
    return cached;
  }

  /** Of calls that chose a half-open target at the same time, only the first may probe it. */
  #isBlocked(): boolean {
    const { candidate, isLastResort } = this.#chosen;
    const { clock, routing } = this.#call.context;
    return (
      !isLastResort && routing.health.blockedReason(candidate.key, candidate.route.breaker, clock.monotonic()) !== null
    );
  }

  #enterBreaker(): void {
    const { key, upstream, route } = this.#candidate;
    const { clock, routing } = this.#call.context;
    const nowMs = clock.monotonic();
    routing.health.called(upstream, nowMs);
    this.#probe = routing.health.begin(key, route.breaker, nowMs);
  }

  #leaveBreaker(probe: number, outcome: Outcome): void {
    const { key, route } = this.#candidate;
    const { clock, routing } = this.#call.context;
    const nowMs = clock.monotonic();
    // what a provider says to one of several credentials, or to an account that was replaced, says nothing about the target
    if (this.#isReplaced || (outcome === "upstream_fault" && this.hasOtherCredential))
      return routing.health.end(key, route.breaker, "cancelled", nowMs, { probe });
    const last = this.endingRequest;
    // after a fault of the client, calls of other clients do not have to wait for the target
    const restMs =
      last === undefined || this.#open === null || outcome === "client_fault"
        ? null
        : targetRestMs(this.#open.resolved, last, this.#call);
    const observed = restMs === null ? { probe } : { probe, retryAfterMs: restMs };
    routing.health.end(key, route.breaker, outcome, nowMs, observed);
  }

  /** Whether calls that come now go to another account or another server at this target. */
  get #isReplaced(): boolean {
    const { snapshot, context, record } = this.#call;
    const now = context.snapshot();
    return (
      now.version !== snapshot.version && isReplacedSince(snapshot, now, this.#candidate.target.providerId, record)
    );
  }

  /** An answer or the first content of a stream has come, for an attempt that began at `startedMs` of the call. */
  #contentCame({ candidate: { key, route }, lifetime }: OpenAttempt, startedMs: number): void {
    lifetime.contentCame();
    const probe = this.#probe;
    if (probe === null || this.#isReplaced) return;
    const { clock, context } = this.#call;
    const tookMs = clock.elapsedMs() - startedMs;
    const last = this.endingRequest;
    const firstByteMs = last?.headMs == null ? tookMs : last.headMs - last.startMs;
    context.routing.health.answering(key, route.breaker, context.clock.monotonic(), tookMs, probe, firstByteMs);
  }

  #settle(outcome: Outcome): void {
    if (this.#isSettled) return;
    this.#isSettled = true;
    if (this.#probe !== null) this.#leaveBreaker(this.#probe, outcome);
    if (outcome !== "success" && this.#open !== null) endRequests(this.#open);
    this.#lifetime?.close();
    if (this.#leaveSlot !== null && this.#cached !== null) this.#cached.whenOver(this.#leaveSlot);
    else this.#leaveSlot?.();
    this.#cached?.leave();
    this.#meter?.close();
    this.#open?.prompt?.ended(this.#open.requests);
  }
}

/** Ends what an attempt without success has in flight, such as requests beside the one that has failed. */
function endRequests({ lifetime, bodies }: OpenAttempt): void {
  lifetime.end(new GatewayError("superseded", "Another request of the same attempt has failed."));
  for (const body of bodies) body.cancel();
}

/** Nearly no answer hands anything out: only one of the vendor's own tools, of what was named, or of what is stored. */
function watchOf(
  { native, request, runsHostedTools }: FittedRequest,
  resolved: Resolved,
  call: Call,
): ObjectsWatch | null {
  const { objects, context, snapshot } = call;
  if (context.objects === null) return null;
  const { providerId, credential } = resolved.target;
  const isStored = native !== undefined && storesAnswer(native, request.written!, snapshot.providers.get(providerId));
  if ((!isStored && runsHostedTools !== true && !objects.hasReferences) || isOwn(resolved)) return null;
  const account = credential === null ? "" : context.credentials.identityOf(credential);
  return account === null ? null : objects.watch(providerId, account, isStored);
}

/** Returns the request for the credential that the target is called with. */
function fittedAt({ fitted, fittedFor }: ReadyTarget, { target: { credential } }: Resolved, call: Call): FittedRequest {
  if (fittedFor === undefined) return fitted;
  return fittedFor(credential === null ? null : call.context.credentials.identityOf(credential));
}

/** Returns, of several requests in parallel, the one that failed first, or without a failure the last one. */
export function endingRequest({ failing, requests }: OpenAttempt): AttemptRecorder | undefined {
  return failing ?? requests.at(-1);
}

/** Records that the other requests ended because of the one that failed. */
export function endBesides({ failing, requests }: OpenAttempt, { signal }: Call): void {
  for (const request of requests) {
    if (failing === null || request === failing) continue;
    request.ended();
    request.endedBy(signal.aborted ? asGatewayError(signal.reason).code : "superseded");
  }
}

/** Returns the outcome of an attempt for the health of its target. */
export function outcomeOf(
  thrown: unknown,
  { key, hasLimitsOfTenant }: Pick<RouteCandidate, "key" | "hasLimitsOfTenant">,
  call: Call,
  last: Readonly<Attempt> | undefined,
  isGivenUp = false,
): Outcome {
  return outcomeAfter(endOf(thrown, call, last), {
    hasOwnTimeout: call.deadline.isSetByClient,
    hasLimitsOfTenant,
    isGivenUp,
    waitedMs: last === undefined ? 0 : call.clock.elapsedMs() - last.startMs,
    patienceMs: call.context.routing.health.patienceMs(key),
  });
}

/** Google's status for a file that the account may not read, or that does not exist. */
const FORBIDDEN = 403;

export function endOf(thrown: unknown, call: Call, last: Readonly<Attempt> | undefined): AttemptEnd {
  const { code, cause } = asGatewayError(thrown);
  const isOfRequest =
    cause instanceof RequestBeyondLimit ||
    (cause instanceof UpstreamFault && cause.kind === "too_large") ||
    (last?.status === FORBIDDEN && call.objects.mayNameStored);
  return { code, isCallOver: call.signal.aborted, isOfRequest, last };
}

/** How the candidate would be called; `use` is that of the response cache. */
interface Ready {
  readonly kind: "ready";
  readonly ready: ReadyTarget;
  readonly use: ReturnType<typeof cacheUseAt>;
}

/** Returns the request as the candidate accepts it, or why it may not go there. */
export function readyAt(candidate: RouteCandidate, call: Call): Ready | RefusedAttempt {
  // the target to which a budget redirects is only for calls that the budget redirects
  if (!candidate.isOffered) return { kind: "refused", reason: null };
  try {
    candidate.permit();
    const ready = candidate.ready();
    return { kind: "ready", ready, use: cacheUseAt(candidate.route, ready.fitted, ready.resolved, call) };
  } catch (thrown) {
    if (!(thrown instanceof GatewayError)) throw thrown;
    // where a budget redirects a call and the caller or the request is refused, the budget's own error is returned
    return { kind: "refused", reason: candidate.redirect === null ? thrown : null };
  } finally {
    call.policies?.note(candidate.policyOutcomes());
  }
}

/**
 * Reserves what the attempt may use, and returns its meter. Returns an error when a limit or a budget has no room for
 * it (promises 3.4 and 4.2).
 */
export function reserve(
  { route, target, redirect, otherNames }: RouteCandidate,
  ready: ReadyTarget,
  call: Call,
  requests: readonly AttemptRecorder[] = [],
): MaybePromise<AttemptMeter | GatewayError> {
  return call.meter.reserve(
    { route: route.name, provider: target.providerId, model: target.name, otherNames },
    ready,
    redirect !== null,
    requests,
  );
}
