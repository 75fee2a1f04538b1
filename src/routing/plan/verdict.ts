// What the end of an attempt means (promise 7.1): for the plan, whether and where to continue; for the health of its
// target, which side was at fault.

// Decides (targets and attempts): What does a failure mean, and what is attempted next? By: `failureAfter`. Also:
// `plan.ts` (`createPlan`). Rule: Only `retryable` failures are retried at the same target, and `timed_out` ones
// while no other able target is left; `elsewhere` goes to the next one; faults of the request end the call or leave
// the group.
import { CATALOGUE, type ErrorCode } from "../../core/errors.ts";
import type { Outcome } from "../health/health.ts";
import type { Failure } from "./plan-steps.ts";

export interface AttemptEnd {
  readonly code: ErrorCode;
  /** The client disconnected, or the time of the whole operation is over. */
  readonly isCallOver: boolean;
  /** What is known of the last upstream request of the attempt. */
  readonly last:
    | { readonly status: number | null; readonly retryAfterMs: number | null; readonly headMs: number | null }
    | undefined;
}

/** What is known of the wait for an answer when its attempt has ended. */
export interface AnswerWait {
  /** Whether the caller chose the time that the call may take. */
  readonly hasOwnTimeout: boolean;
  /** The attempt was ended because another target may answer instead (promise 7.10). */
  readonly isGivenUp: boolean;
  readonly waitedMs: number;
  /** A longer silence is the target's fault. */
  readonly patienceMs: number;
}

/** Failures that are the upstream's fault: the call may succeed there a moment later, or elsewhere. */
const UPSTREAM_FAULTS: ReadonlySet<ErrorCode> = new Set([
  "upstream_connection",
  "upstream_timeout",
  "upstream_error",
  "upstream_overloaded",
  "upstream_incomplete",
  "upstream_invalid_response",
  "rate_limit_exceeded",
]);
/**
 * Problems of the operator's account at the upstream: a retry there cannot help, but another target has another
 * account.
 */
const OUR_ACCOUNT: ReadonlySet<ErrorCode> = new Set(["upstream_authentication", "upstream_quota"]);
/** The upstream does not have the model, or refuses the credential that the caller sent for it. */
const NOT_THERE: ReadonlySet<ErrorCode> = new Set([
  "model_not_found",
  "credential_rejected",
  "credential_forbidden",
  "payment_required",
  "insufficient_quota",
]);
/** Faults of the request itself, as the upstream sees them. */
const OF_THE_REQUEST: ReadonlyMap<ErrorCode, Failure["kind"]> = new Map([
  ["upstream_invalid_request", "request_fault"],
  ["unknown_reference", "request_fault"],
  ["context_length_exceeded", "context_length"],
  ["content_policy_violation", "content_policy"],
]);
/**
 * The statuses by which an upstream refuses the request itself. Any other 4xx is about the model, the address or the
 * moment there.
 */
const REQUEST_STATUSES: ReadonlySet<number> = new Set([400, 413, 422]);
/** The gateway ended the attempt for a reason that says nothing about the upstream. */
const ENDED_HERE: ReadonlySet<ErrorCode> = new Set(["superseded", "shutting_down", "gateway_overloaded"]);

export function failureAfter({ code, isCallOver, last }: AttemptEnd): Failure {
  if (isCallOver) return { kind: "final", retryAfterMs: null };
  // a redirect means that the address is wrong, and a retry would not change that
  if (OUR_ACCOUNT.has(code) || NOT_THERE.has(code) || isRedirect(last?.status) || isOtherRefusal(code, last?.status))
    return { kind: "elsewhere", retryAfterMs: null };
  if (code === "upstream_timeout" && !isRefusal(last?.status)) return { kind: "timed_out", retryAfterMs: null };
  if (UPSTREAM_FAULTS.has(code)) return { kind: "retryable", retryAfterMs: last?.retryAfterMs ?? null };
  return { kind: OF_THE_REQUEST.get(code) ?? "final", retryAfterMs: null };
}

function isOtherRefusal(code: ErrorCode, status: number | null | undefined): boolean {
  return (
    code === "upstream_invalid_request" &&
    status != null &&
    status >= 400 &&
    status < 500 &&
    !REQUEST_STATUSES.has(status)
  );
}

/** Whether the upstream answered with an error, so that no limit of the gateway ended the attempt. */
function isRefusal(status: number | null | undefined): boolean {
  return status != null && status >= 400;
}

function isRedirect(status: number | null | undefined): boolean {
  return status != null && status >= 300 && status < 400;
}

/**
 * An attempt that a limit of the operator ended waited as long as the operator allows. Where the caller or the time of
 * the call ended it, only an unusual silence is the target's fault (promise 7.9): otherwise impatient callers could open
 * breakers for all others.
 */
export function outcomeAfter({ code, isCallOver, last }: AttemptEnd, wait: AnswerWait): Outcome {
  if (ENDED_HERE.has(code)) return "cancelled";
  const hasHead = last?.headMs != null;
  const isByCaller = code === "client_closed" || (isCallOver && wait.hasOwnTimeout);
  if (isByCaller || wait.isGivenUp || (isCallOver && hasHead))
    return !hasHead && wait.waitedMs > wait.patienceMs ? "upstream_fault" : "cancelled";
  return UPSTREAM_FAULTS.has(code) || OUR_ACCOUNT.has(code) ? "upstream_fault" : "client_fault";
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
