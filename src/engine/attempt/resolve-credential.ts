// Adds to a target the credential with which it is called, without a wait where nothing has to be exchanged.
import type { ResolveContext, RefusalReason } from "../../core/configured/credential.ts";
import type { Credential } from "../../core/target.ts";
import { isPending, type MaybePromise } from "../../core/maybe-promise.ts";
import type { Call } from "../call/call.ts";
import type { RouteCandidate } from "../plan/candidate.ts";
import type { Resolved } from "../plan/resolve-target.ts";

/** Throws GatewayError `upstream_authentication` or `credential_rejected`, or the signal's reason. */
export function resolveCredential(
  resolved: Resolved,
  candidate: Pick<RouteCandidate, "cachedConversation">,
  call: Call,
): MaybePromise<Resolved> {
  if (resolved.credentials.length === 0) return resolved;
  const stickyKey = resolved.credentials.length === 1 ? null : candidate.cachedConversation();
  const resolving = call.context.credentials.resolve(resolved.credentials, resolveContext(resolved, call, stickyKey));
  return isPending(resolving)
    ? call.clock.waiting(resolving).then((credential) => withCredential(resolved, credential))
    : withCredential(resolved, resolving);
}

/** Reports that the provider refused the credential, which is then avoided for a while. */
export function reportRefused(
  { target, provider }: Pick<Resolved, "target" | "provider">,
  reason: RefusalReason,
  call: Call,
): void {
  if (target.credential !== null)
    call.context.credentials.refused(target.credential, reason, resolveContext({ target, provider }, call));
}

function resolveContext(
  { target, provider }: Pick<Resolved, "target" | "provider">,
  call: Call,
  stickyKey: string | null = null,
): ResolveContext {
  return { providerId: target.providerId, label: provider.label, signal: call.signal, stickyKey };
}

function withCredential(resolved: Resolved, credential: Credential): Resolved {
  return { ...resolved, target: { ...resolved.target, credential } };
}
