// A vendor's own encrypted reasoning that the gateway keeps for a client that did not ask for it. It is sealed with the
// credential that it was made for, because only the same account of the vendor can read it (promise 12.9).
import type { OpenAttempt } from "../attempt/run-attempt.ts";
import type { Call } from "../call/call.ts";
import { VENDOR, VENDOR_CREDENTIAL } from "./reasoning-carrier.ts";
import { credentialName } from "./returned-reasoning.ts";

/** Returns `null` for more than may be carried. */
export type SealReasoning = (encrypted: string) => string | null;

/** Returns `null` where the client is shown what the provider sends. */
export function sealingAt({ fitted, resolved: { target } }: OpenAttempt, call: Call): SealReasoning | null {
  if (fitted.hidesReasoning !== true) return null;
  const { carriers, credentials } = call.context;
  const { tenantId, projectId } = call.record;
  const { credential, providerId: provider, model } = target;
  const name = credentialName(credential === null ? null : credentials.identityOf(credential));
  return (encrypted) =>
    tenantId === null || projectId === null
      ? null
      : carriers.seal({ [VENDOR]: encrypted, [VENDOR_CREDENTIAL]: name }, { tenantId, projectId, provider, model });
}
