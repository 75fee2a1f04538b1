// What the end of an attempt means (decisions 7.1): to the plan, whether to go on and where; to the health of its target, whose fault it was.
import { CATALOGUE, type ErrorCode } from "../core/errors.ts";
import type { Outcome } from "./health.ts";
import type { Failure } from "./plan.ts";

export interface AttemptEnd {
  readonly code: ErrorCode;
  /** The client left, or the whole operation is out of time. */
  readonly isCallOver: boolean;
  /** What is known of its last request that went out. */
  readonly last:
    | { readonly status: number | null; readonly retryAfterMs: number | null; readonly headMs: number | null }
    | undefined;
}

/** Failures that the upstream is to blame for: the call may succeed there a moment later, or elsewhere. */
const UPSTREAM_FAULTS: ReadonlySet<ErrorCode> = new Set([
  "upstream_connection",
  "upstream_timeout",
  "upstream_error",
  "upstream_overloaded",
  "upstream_incomplete",
  "upstream_invalid_response",
  "rate_limit_exceeded",
]);
/** The operator's account at the upstream: no repeat there can mend it, and another target has another account. */
const OUR_ACCOUNT: ReadonlySet<ErrorCode> = new Set(["upstream_authentication", "upstream_quota"]);
/** The upstream does not have the model, or refuses the credential that the caller brought for it. */
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
  ["context_length_exceeded", "context_length"],
  ["content_policy_violation", "content_policy"],
]);
/** This side has ended the attempt, for a reason that says nothing of the upstream. */
const ENDED_HERE: ReadonlySet<ErrorCode> = new Set(["client_closed", "superseded", "shutting_down"]);

export function failureAfter({ code, isCallOver, last }: AttemptEnd): Failure {
  if (isCallOver) return { kind: "final", retryAfterMs: null };
  // a redirect is a wrong address: it is the same the next time
  if (OUR_ACCOUNT.has(code) || NOT_THERE.has(code) || isRedirect(last?.status))
    return { kind: "elsewhere", retryAfterMs: null };
  if (UPSTREAM_FAULTS.has(code)) return { kind: "retryable", retryAfterMs: last?.retryAfterMs ?? null };
  return { kind: OF_THE_REQUEST.get(code) ?? "final", retryAfterMs: null };
}

function isRedirect(status: number | null | undefined): boolean {
  return status != null && status >= 300 && status < 400;
}

export function outcomeAfter({ code, isCallOver, last }: AttemptEnd, hasOwnTimeout: boolean): Outcome {
  if (ENDED_HERE.has(code)) return "cancelled";
  // a client that sets a short time could open breakers for everybody; one that sets none waited as long as the operator finds right
  if (isCallOver && (hasOwnTimeout || last?.headMs != null)) return "cancelled";
  return UPSTREAM_FAULTS.has(code) || OUR_ACCOUNT.has(code) ? "upstream_fault" : "client_fault";
}

/** Which of a call's failures its client is told of when everything has failed (decisions 7.3). */
export class Failures<T> {
  #incurable: T | null = null;
  #last: T | null = null;
  #wasCalled = false;

  /** `wasCalled` false: the gateway refused to call the target. What was called and failed says more than what was not called. */
  add(failure: T, code: ErrorCode, wasCalled: boolean): void {
    if (!wasCalled && this.#wasCalled) return;
    if (wasCalled && !this.#wasCalled) this.#incurable = null;
    this.#wasCalled = wasCalled;
    this.#last = failure;
    if (wasCalled && !CATALOGUE[code].retry) this.#incurable ??= failure;
  }

  /** The first failure that repeating the call cannot cure, else the last one. Null: nothing has failed. */
  get told(): T | null {
    return this.#incurable ?? this.#last;
  }
}
