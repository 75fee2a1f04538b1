// What the failure of an attempt means, kind by kind: which error the client gets, what is attempted next, whether it
// counts at the target's breaker, and whether the provider's key or the target rests (promises 7.1, 7.3 and 7.8). All
// who act on a failure read these tables. The status of each error, and whether its client should repeat the call, are
// in `core/errors.ts`. Whatever its failure, a request is paid for that has reached its provider and was not refused.

// Decides (targets and attempts): What does a failure mean: what does the client get, what is attempted next, what
// counts at the breaker, and what rests? By: `REFUSALS`, `FAULTS`, `MEANINGS`; by status and time `failureAfter`,
// `outcomeAfter`. Also: acted on by `plan.ts` (`createPlan`) and `engine/attempt/run-attempt.ts` (`AttemptRun`); paid for:
// `attempt-recorder.ts` (`isAccepted`). Rule: Only `retryable` failures are retried at the same target, and `timed_out`
// ones while no other able target is left; `elsewhere` goes to the next one; faults of the request end the call or leave
// the group.
import type { RefusalReason } from "../../core/configured/credential.ts";
import { CATALOGUE, type ErrorCode } from "../../core/errors.ts";
import type { FailureClass } from "../../providers/interface/upstream-failure.ts";
import type { UpstreamFaultKind } from "../../wire/upstream.ts";
import type { Outcome } from "../health/health.ts";
import type { Failure } from "./plan-steps.ts";

interface Meaning {
  /** What is attempted next. */
  readonly next: Failure["kind"];
  /** Which side was at fault, for the breaker of the target. `cancelled`: the end says nothing about the upstream. */
  readonly outcome: Outcome;
  /** The upstream has refused the credential of the operator, so that another one of the same target may do. */
  readonly isOfCredential?: true;
  /** Where the upstream says for how long, the target is not called, and the failure does not count at its breaker. */
  readonly rests?: true;
  /** The client gets the upstream's own body where the upstream speaks the operation of the call. */
  readonly passes?: true;
}

/** The upstream's fault: the call may succeed there a moment later, or elsewhere. */
const AT_FAULT: Meaning = { next: "retryable", outcome: "upstream_fault" };
/** A problem of the operator's account there: a retry cannot help, but another target has another account. */
const OUR_ACCOUNT: Meaning = { next: "elsewhere", outcome: "upstream_fault", isOfCredential: true };
/** The upstream does not have the model, or refuses the credential that the caller sent for it. */
const NOT_THERE: Meaning = { next: "elsewhere", outcome: "client_fault" };
/** The attempt was ended for a reason that says nothing about the upstream. */
const ENDED_HERE: Meaning = { next: "final", outcome: "cancelled" };
/** Any other error is that of the call. */
const OTHER: Meaning = { next: "final", outcome: "client_fault" };

const MEANINGS = {
  upstream_connection: AT_FAULT,
  upstream_error: AT_FAULT,
  upstream_overloaded: AT_FAULT,
  upstream_incomplete: AT_FAULT,
  upstream_invalid_response: AT_FAULT,
  upstream_timeout: { next: "timed_out", outcome: "upstream_fault" },
  rate_limit_exceeded: { ...AT_FAULT, isOfCredential: true, rests: true },
  upstream_authentication: OUR_ACCOUNT,
  upstream_quota: OUR_ACCOUNT,
  model_not_found: { ...NOT_THERE, passes: true },
  credential_rejected: NOT_THERE,
  credential_forbidden: NOT_THERE,
  payment_required: NOT_THERE,
  insufficient_quota: NOT_THERE,
  upstream_invalid_request: { next: "request_fault", outcome: "client_fault", passes: true },
  unknown_reference: { next: "request_fault", outcome: "client_fault", passes: true },
  context_length_exceeded: { next: "context_length", outcome: "client_fault", passes: true },
  content_policy_violation: { next: "content_policy", outcome: "client_fault", passes: true },
  superseded: ENDED_HERE,
  shutting_down: ENDED_HERE,
  // a full queue of a target is no error but a refusal before the attempt: `enterSlot`
  gateway_overloaded: ENDED_HERE,
  // an unusual silence before it is the upstream's fault: `outcomeAfter`
  client_closed: ENDED_HERE,
} as const satisfies Partial<Record<ErrorCode, Meaning>>;

type JudgedCode = keyof typeof MEANINGS;

/** A request that has not failed has no code. */
export function meaningOf(code: ErrorCode | null | undefined): Meaning {
  return (code == null ? null : (MEANINGS as Readonly<Partial<Record<ErrorCode, Meaning>>>)[code]) ?? OTHER;
}

/**
 * Whether an attempt with this code failed by its provider: neither by what was asked for, nor because the account may
 * send no more requests for now.
 */
export function isProvidersFault(code: string): boolean {
  const { outcome, rests } = meaningOf(code as ErrorCode);
  return outcome === "upstream_fault" && rests !== true;
}

interface Refusal {
  readonly code: JudgedCode;
  /** Replaces `code` when the caller sent the credential: that caller is told of errors about it and its account. */
  readonly callersCode?: JudgedCode;
  /** Why the credential is set aside, or that it rests for calls of the model where the target has others. */
  readonly credential?: RefusalReason | "rests";
}

/** What each way means in which a provider refuses or fails, in a response of its own or in place of an answer. */
export const REFUSALS: Readonly<Record<FailureClass, Refusal>> = {
  authentication: {
    code: "upstream_authentication",
    callersCode: "credential_rejected",
    credential: "authentication",
  },
  permission: { code: "upstream_authentication", callersCode: "credential_forbidden" },
  quota: { code: "upstream_quota", callersCode: "insufficient_quota", credential: "quota" },
  rate_limit: { code: "rate_limit_exceeded", credential: "rests" },
  not_found: { code: "model_not_found" },
  reference: { code: "unknown_reference" },
  context_length: { code: "context_length_exceeded" },
  content_policy: { code: "content_policy_violation" },
  invalid_request: { code: "upstream_invalid_request" },
  overloaded: { code: "upstream_overloaded" },
  server: { code: "upstream_error" },
  timeout: { code: "upstream_timeout" },
};

/** `isCallers`: the caller has sent the credential, or has to. */
export function codeOfRefusal(failure: FailureClass, status: number | null, isCallers: boolean): ErrorCode {
  const { code, callersCode } = REFUSALS[failure];
  if (!isCallers || callersCode === undefined) return code;
  return failure === "quota" && status === 402 ? "payment_required" : callersCode;
}

/** What each fault of the exchange with a provider means. `says` completes a sentence that begins with its name. */
export const FAULTS: Readonly<Record<UpstreamFaultKind, { readonly code: JudgedCode; readonly says: string }>> = {
  connection: { code: "upstream_connection", says: "could not be reached" },
  timeout: { code: "upstream_timeout", says: "did not answer in time" },
  malformed: { code: "upstream_invalid_response", says: "did not answer as its protocol requires" },
  cut: { code: "upstream_incomplete", says: "ended its answer too early" },
  too_large: { code: "upstream_invalid_response", says: "sent more than the gateway accepts" },
};

export interface AttemptEnd {
  readonly code: ErrorCode;
  /** The client disconnected, or the time of the whole operation is over. */
  readonly isCallOver: boolean;
  /**
   * What the caller asked for may be why it failed: the upstream sent more than the gateway accepts, was sent more than a
   * rate limit ever allows, or refused something that the request names there.
   */
  readonly isOfRequest?: boolean;
  /** What is known of the last upstream request of the attempt; `undefined` where it ended before one was begun. */
  readonly last:
    | { readonly status: number | null; readonly retryAfterMs: number | null; readonly headMs: number | null }
    | undefined;
}

/** What is known of the wait for an answer when its attempt has ended. */
export interface AnswerWait {
  /** Whether the caller chose the time that the call may take. */
  readonly hasOwnTimeout: boolean;
  /** Whether a tenant has set time limits for a target that is not its own. */
  readonly hasLimitsOfTenant: boolean;
  /** The attempt was ended because another target may answer instead (promise 7.10). */
  readonly isGivenUp: boolean;
  readonly waitedMs: number;
  /** A longer silence is the target's fault. */
  readonly patienceMs: number;
}

/**
 * The statuses by which an upstream refuses the request itself. Any other 4xx is about the model, the address or the
 * moment there.
 */
const REQUEST_STATUSES: ReadonlySet<number> = new Set([400, 413, 422]);

/** What the plan has to know of the failure of an attempt, whose call goes on. */
export function failureAfter({ code, last }: Pick<AttemptEnd, "code" | "last">): Failure {
  const status = last?.status ?? 0;
  // with an error of the upstream, no limit of the gateway has ended the attempt
  const meant = code === "upstream_timeout" && status >= 400 ? "retryable" : meaningOf(code).next;
  const kind = isElsewhere(code, status) || (meant === "retryable" && isNeverRepeated(status)) ? "elsewhere" : meant;
  return { kind, retryAfterMs: kind === "retryable" ? (last?.retryAfterMs ?? null) : null };
}

/** Whether the status shows that a retry would not change anything, whatever the code says. */
function isElsewhere(code: ErrorCode, status: number): boolean {
  return isRedirect(status) || (code === "upstream_invalid_request" && isOtherRefusal(status));
}

/** Such a request is not repeated at the same target, whatever the body says of the reason (promise 7.1). */
function isNeverRepeated(status: number): boolean {
  return status >= 400 && status < 500 && status !== 408 && status !== 429;
}

/** A redirect means that the address is wrong. */
function isRedirect(status: number): boolean {
  return status >= 300 && status < 400;
}

function isOtherRefusal(status: number): boolean {
  return status >= 400 && status < 500 && !REQUEST_STATUSES.has(status);
}

/**
 * What goes wrong before a request is begun says nothing about the target. An attempt that a limit of the operator ended
 * waited as long as the operator allows. Where the caller, the time of the call or a limit of a tenant ended it, only an
 * unusual silence is the target's fault (promise 7.9): otherwise impatient callers could open breakers for all others.
 */
export function outcomeAfter({ code, isCallOver, isOfRequest, last }: AttemptEnd, wait: AnswerWait): Outcome {
  const { outcome } = meaningOf(code);
  // such as the content that is fetched for the request: others would pay for what a caller names
  if (last === undefined) return "cancelled";
  if (isOfRequest === true) return "client_fault";
  const hasLeft = code === "client_closed";
  if (outcome === "cancelled" && !hasLeft) return outcome;
  const hasHead = last.headMs !== null;
  // with an error of the upstream, no limit has ended it
  const isOfTenant = wait.hasLimitsOfTenant && code === "upstream_timeout" && (last.status ?? 0) < 400;
  if (hasLeft || wait.isGivenUp || isOfTenant || (isCallOver && (wait.hasOwnTimeout || hasHead)))
    return !hasHead && wait.waitedMs > wait.patienceMs ? "upstream_fault" : "cancelled";
  return outcome;
}

/**
 * Returns for how long the upstream has asked not to be called; `null` where it has not. `retryAfterMs` is what it said
 * beside any code.
 */
export function askedRestMs(code: ErrorCode | null, retryAfterMs: number | null): number | null {
  return meaningOf(code).rests === true ? retryAfterMs : null;
}

/** Selects which failure of a call its client receives when everything has failed (promise 7.3). */
export class Failures<T> {
  #incurable: T | null = null;
  #last: T | null = null;
  #wasCalled = false;

  /**
   * `wasCalled` is false when the gateway refused to call the target. A failure of a target that was called is more
   * informative. `isCurable` is true when another credential of the target follows: what the call then ends with decides.
   */
  add(failure: T, code: ErrorCode, wasCalled: boolean, isCurable = CATALOGUE[code].retry): void {
    if (!wasCalled && this.#wasCalled) return;
    if (wasCalled && !this.#wasCalled) this.#incurable = null;
    this.#wasCalled = wasCalled;
    this.#last = failure;
    if (wasCalled && !isCurable) this.#incurable ??= failure;
  }

  /** The first failure that repeating the call cannot cure, or else the last one; `null` when nothing has failed. */
  get reported(): T | null {
    return this.#incurable ?? this.#last;
  }
}
