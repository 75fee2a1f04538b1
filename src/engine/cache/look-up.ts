// Looks an attempt up in the response cache, once everything that would go out is known and before anything is sent.
import { isPending } from "../../core/maybe-promise.ts";
import type { EncodedThere } from "../long-bodies/long-body-worker.ts";
import type { Call } from "../call/call.ts";
import type { Resolved } from "../plan/resolve-target.ts";
import { cacheAddress, credentialIdentity } from "./cache-address.ts";
import { CachedAttempt } from "./cached-attempt.ts";
import type { CacheUse } from "./cache-use.ts";

/**
 * Waits for an equal call that is about to send its request, and takes over if that call leaves first. Throws the reason
 * of the call's signal.
 */
export async function lookUp(
  use: CacheUse,
  encoded: EncodedThere,
  { target }: Resolved,
  route: string,
  call: Call,
): Promise<CachedAttempt> {
  const { clock, credentials } = call.context;
  const cache = call.context.cache!;
  const { credential } = target;
  const identity = credentialIdentity(credential, credential === null ? null : credentials.identityOf(credential));
  const question = {
    tenantId: call.record.tenantId ?? "",
    key: cacheAddress(cache, call.record, use.scope, target, identity, encoded.request),
    route,
    maxAgeMs: use.maxAgeMs,
    ttlMs: use.ttlMs,
    reads: use.reads,
  };
  const asked = cache.lookUp(question, call.signal);
  const found = isPending(asked) ? await call.clock.waiting(asked) : asked;
  if ("begun" in found && !found.hasBegun) await call.clock.waiting(found.begun());
  return new CachedAttempt({
    cache,
    question,
    scope: use.scope,
    encoded,
    found,
    nowMs: clock.now(),
    onTakenOver: (recorded) => call.recorder.cached(recorded),
  });
}
