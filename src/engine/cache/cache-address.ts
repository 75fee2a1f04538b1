// The address of an answer in the response cache: a keyed hash of everything on which the answer may depend (promise
// 13.4). Two requests that differ in anything that reaches the provider have different addresses.

// Decides (the response cache): When do two calls share an answer? By: `cacheAddress`. Rule: Everything that would go
// out is the same, byte for byte, and so is the scope.
import type { ResponseCache } from "../../cache/response-cache.ts";
import type { CacheScope } from "../../core/configured/cache.ts";
import type { CallRecord } from "../../core/record/record.ts";
import type { Credential, Target } from "../../core/target.ts";
import type { UpstreamRequest } from "../../wire/upstream.ts";

/** Changes with the meaning of an address or of what is kept there. */
const VERSION = 1;

type Asker = Pick<CallRecord, "operation" | "tenantId" | "projectId" | "userId" | "tokenId" | "stream">;

/** `request` is what goes out, before it is signed; `credential` identifies the credential with which it is signed. */
export function cacheAddress(
  cache: Pick<ResponseCache, "addressOf">,
  asker: Asker,
  scope: CacheScope,
  { providerId, family, model, baseUrl, settings }: Target,
  credential: string,
  { method = "POST", url, headers, body, bytes }: UpstreamRequest,
): string {
  const circumstances = JSON.stringify([
    VERSION,
    asker.operation,
    asker.tenantId,
    sharers(scope, asker),
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

/** Those who share the answer. A token without a user shares with itself only. */
function sharers(scope: CacheScope, { projectId, userId, tokenId }: Asker): readonly (string | null)[] {
  if (scope === "tenant") return ["tenant"];
  if (scope === "project") return ["project", projectId];
  return scope === "user" && userId !== null ? ["user", userId] : ["token", tokenId];
}

/** The parts of a credential that decide with which account a provider is called; the address does not reveal them. */
export function credentialIdentity(credential: Credential | null, fingerprint: string | null): string {
  if (credential === null) return "";
  if (fingerprint !== null) return fingerprint;
  const { kind, secret, accessKeyId = "", sessionToken = "" } = credential;
  return JSON.stringify([kind, secret, accessKeyId, sessionToken]);
}
