// Adds to a target the credential with which it is called, without a wait where nothing has to be exchanged, and says
// whether another one is left when the provider has refused it.

// Decides (targets and attempts): When is a call repeated with another key of the provider? By: `isOfCredential`,
// `isAnotherCredentialAble`. Also: `engine/plan/complete.ts` (`complete`), `routing/plan/plan.ts`. Rule: After 401, 402,
// 403 and 429 for one of several keys of the operator, while an untried one is able; at most ten keys of a target.
import { MOST_TRIED, NONE_TRIED, type ResolveContext } from "../../core/configured/credential.ts";
import type { ErrorCode } from "../../core/errors.ts";
import type { Attempt } from "../../core/record/record.ts";
import { serverOf } from "../../core/snapshot.ts";
import type { Credential } from "../../core/target.ts";
import { isPending, type MaybePromise } from "../../core/maybe-promise.ts";
import type { UpstreamFailure } from "../../providers/interface/upstream-failure.ts";
import { askedRestMs, meaningOf, REFUSALS } from "../../routing/plan/verdict.ts";
import type { Call } from "../call/call.ts";
import type { RouteCandidate } from "../plan/candidate.ts";
import type { FittedRequest } from "../fit/fit.ts";
import type { Resolved } from "../plan/resolve-target.ts";

/** Throws GatewayError `upstream_authentication` or `credential_rejected`, or the signal's reason. */
export function resolveCredential(
  resolved: Resolved,
  candidate: Pick<RouteCandidate, "cachedConversation">,
  call: Call,
  tried: ReadonlySet<string>,
): MaybePromise<Resolved> {
  if (resolved.credentials.length === 0) return resolved;
  const stickyKey = resolved.credentials.length === 1 ? null : candidate.cachedConversation();
  const context = { ...resolveContext(resolved, call), stickyKey, tried };
  const resolving = call.context.credentials.resolve(resolved.credentials, context);
  return isPending(resolving)
    ? call.clock.waiting(resolving).then((credential) => withCredential(resolved, credential))
    : withCredential(resolved, resolving);
}

/**
 * Reports that the provider refused the credential, or asked it to wait for `askedMs`, if that is what the failure means.
 * The credential is then avoided for a while, unless the reason may be what the caller has added to the request, which
 * says nothing to others. A rate limit on counts of tokens does not concern answers, and one that a single request is
 * larger than does not concern others, so these are ignored.
 */
export function reportRefused(
  failure: UpstreamFailure,
  askedMs: number | null,
  attempt: {
    readonly candidate: Pick<RouteCandidate, "isAsConfigured">;
    readonly fitted: FittedRequest;
    readonly resolved: Resolved;
  },
  call: Call,
): void {
  const { candidate, fitted, resolved } = attempt;
  const { target, credentials } = resolved;
  const means = REFUSALS[failure.class].credential;
  if (target.credential === null || means === undefined) return;
  const context = resolveContext(resolved, call);
  if (means !== "rests")
    call.context.credentials.refused(target.credential, candidate.isAsConfigured ? means : null, context);
  else if (
    credentials.length > 1 &&
    candidate.isAsConfigured &&
    failure.isOfRequest !== true &&
    fitted.request.form.counts !== true
  )
    call.context.credentials.limited(target.credential, askedMs, context);
}

/** Whether a failure with this code is that of the credential, so that another one of the same target may do. */
export function isOfCredential(code: ErrorCode | null | undefined): boolean {
  return meaningOf(code).isOfCredential === true;
}

/** Whether the target can be called now with a credential that was not tried for the call. */
export function isAnotherCredentialAble(resolved: Resolved, call: Call, tried: ReadonlySet<string>): boolean {
  const { credentials } = resolved;
  return (
    credentials.length > 1 &&
    tried.size < MOST_TRIED &&
    call.context.credentials.isAnotherAble(credentials, { ...resolveContext(resolved, call), tried })
  );
}

/**
 * Returns for how long a target is not called whose provider has asked a credential to wait: until the first of several is
 * able. `null` where it has not, or has told no time.
 */
export function targetRestMs(
  resolved: Resolved,
  { code, retryAfterMs }: Pick<Attempt, "code" | "retryAfterMs">,
  call: Call,
): number | null {
  const { credentials } = resolved;
  const askedMs = askedRestMs(code, retryAfterMs);
  if (credentials.length < 2 || !isOfCredential(code)) return askedMs;
  const known = call.context.credentials;
  const context = resolveContext(resolved, call);
  // a refusal of the last credential does not undo that the provider has asked another one to wait
  const isAnothersWait = meaningOf(code).rests !== true && known.isFirstWaiting(credentials, context);
  return askedMs !== null || isAnothersWait ? known.freeInMs(credentials, context) || askedMs : null;
}

function resolveContext({ target, provider }: Resolved, call: Call): ResolveContext {
  const { providerId, model } = target;
  const server = serverOf(call.snapshot.providers.get(providerId)!);
  return { providerId, server, model, label: provider.label, signal: call.signal, stickyKey: null, tried: NONE_TRIED };
}

function withCredential(resolved: Resolved, credential: Credential): Resolved {
  return { ...resolved, target: { ...resolved.target, credential } };
}
