// Adds to a target the credential with which it is called, without a wait where nothing has to be exchanged.
import type { ResolveContext, RefusalReason } from "../../core/configured/credential.ts";
import type { Credential } from "../../core/target.ts";
import { isPending, type MaybePromise } from "../../core/maybe-promise.ts";
import type { Call } from "../call/call.ts";
import type { Resolved } from "../plan/resolve-target.ts";

/** Throws GatewayError `upstream_authentication` or `credential_rejected`, or the signal's reason. */
export function resolveCredential(resolved: Resolved, call: Call): MaybePromise<Resolved> {
  if (resolved.credentials.length === 0) return resolved;
  const resolving = call.context.credentials.resolve(resolved.credentials, resolveContext(resolved, call));
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

function resolveContext({ target, provider }: Pick<Resolved, "target" | "provider">, call: Call): ResolveContext {
  return { providerId: target.providerId, label: provider.label, signal: call.signal };
}

function withCredential(resolved: Resolved, credential: Credential): Resolved {
  return { ...resolved, target: { ...resolved.target, credential } };
}
