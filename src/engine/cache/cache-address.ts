// Looks an attempt up in the response cache, once everything that would go out is known and before anything is sent: at the
// address of its answer.

// Decides (the response cache): When do two calls share an answer? By: `cacheAddress`. Rule: Everything that would go
// out is the same, byte for byte, and so is the scope.
import type { CancelSignal } from "../../core/concurrency/cancellation.ts";
import { isPending } from "../../core/maybe-promise.ts";
import type { EncodedForTarget } from "../long-bodies/long-body-worker.ts";
import type { Call } from "../call/call.ts";
import type { Resolved } from "../plan/resolve-target.ts";
import { CachedAttempt } from "./cached-attempt.ts";
import type { CacheUse } from "./cache-use.ts";
import type { ResponseCache } from "../../cache/response-cache.ts";
import type { CacheScope } from "../../core/configured/cache.ts";
import { createdOf } from "../../core/identity.ts";
import type { CallRecord } from "../../core/record/record.ts";
import type { Snapshot } from "../../core/snapshot.ts";
import type { Credential, Target } from "../../core/target.ts";
import type { UpstreamRequest } from "../../wire/upstream.ts";

/**
 * Waits for an equal call that is about to send its request, and takes over if that call leaves first. `signal` ends the
 * attempt, its wait included. Throws its reason.
 */
export async function lookUp(
  use: CacheUse,
  encoded: EncodedForTarget,
  { target }: Resolved,
  route: string,
  call: Call,
  signal: CancelSignal,
): Promise<CachedAttempt> {
  const { clock, credentials } = call.context;
  const cache = call.context.cache!;
  const { credential } = target;
  const identity = credentialIdentity(credential, credential === null ? null : credentials.identityOf(credential));
  const question = {
    tenantId: call.record.tenantId ?? "",
    key: cacheAddress(
      cache,
      call.record,
      sharersOf(use.scope, call.record, call.snapshot),
      target,
      identity,
      encoded.request,
    ),
    route,
    maxAgeMs: use.maxAgeMs,
    ttlMs: use.ttlMs,
    reads: use.reads,
    isAlone: use.isAlone === true,
  };
  const asked = cache.lookUp(question, signal);
  const found = isPending(asked) ? await call.clock.waiting(asked) : asked;
  if ("begun" in found && !found.hasBegun) {
    try {
      await call.clock.waiting(found.begun());
    } catch (thrown) {
      found.leave();
      throw thrown;
    }
  }
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

/** Changes with the meaning of an address or of what is kept there. */
const VERSION = 2;

type Asker = Pick<CallRecord, "projectId" | "userId" | "tokenId">;
type Sharers = readonly (string | number | null)[];

/**
 * A keyed hash of everything on which the answer may depend (promise 13.4): two requests that differ in anything that reaches
 * the provider have different addresses. `request` is what goes out, before it is signed; `credential` identifies the credential with which it is signed. */
export function cacheAddress(
  cache: Pick<ResponseCache, "addressOf">,
  asker: Pick<CallRecord, "operation" | "tenantId" | "stream">,
  sharers: Sharers,
  { providerId, family, model, baseUrl, settings }: Target,
  credential: string,
  { method = "POST", url, headers, body, bytes }: UpstreamRequest,
): string {
  const circumstances = JSON.stringify([
    VERSION,
    asker.operation,
    asker.tenantId,
    sharers,
    asker.stream,
    providerId,
    family,
    model,
    baseUrl,
    Object.entries(settings),
    credential,
    method,
    url,
    Object.entries(headers),
  ]);
  return cache.addressOf(circumstances, bytes ?? body);
}

/**
 * Those who share the answer. A token without a user shares with itself only. A project or a user that has the id of a
 * removed one shares nothing with it.
 */
function sharersOf(scope: CacheScope, asker: Asker, snapshot: Pick<Snapshot, "projects" | "users">): Sharers {
  if (scope === "tenant") return ["tenant"];
  const { projectId, userId, tokenId } = asker;
  const { projectMs, userMs } = createdOf(asker, snapshot);
  if (scope === "project") return ["project", projectId, projectMs];
  if (scope === "user" && userId !== null) return ["user", userId, userMs];
  // the session of a login link has the id of its user
  return ["token", tokenId, userMs];
}

/** The parts of a credential that decide with which account a provider is called; the address does not reveal them. */
function credentialIdentity(credential: Credential | null, fingerprint: string | null): string {
  if (credential === null) return "";
  if (fingerprint !== null) return fingerprint;
  const { kind, secret, accessKeyId = "", sessionToken = "" } = credential;
  return JSON.stringify([kind, secret, accessKeyId, sessionToken]);
}
