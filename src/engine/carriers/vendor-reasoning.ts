// A vendor's own encrypted reasoning in an answer that the gateway keeps. It is sealed with the credential that it was made
// for, because only the same account of the vendor can read it, and no other vendor shall get it (promise 12.9).
import type { OpenAttempt } from "../attempt/run-attempt.ts";
import type { Call } from "../call/call.ts";
import { VENDOR, VENDOR_CREDENTIAL } from "./reasoning-carrier.ts";
import { credentialName } from "./returned-reasoning.ts";

/** Returns `null` for more than may be carried. */
export type SealReasoning = (encrypted: string) => string | null;

/** What becomes of encrypted reasoning in an answer. */
export interface Sealing {
  /** Seals what is kept of it. */
  readonly seal: SealReasoning;
  /** Whether the client is not shown it. */
  readonly hides: boolean;
}

export function sealingAt({ fitted, resolved: { target } }: OpenAttempt, call: Call): Sealing {
  const { carriers, credentials } = call.context;
  const { tenantId, projectId } = call.record;
  const { credential, providerId: provider, model } = target;
  const name = credentialName(credential === null ? null : credentials.identityOf(credential));
  const seal: SealReasoning = (encrypted) =>
    tenantId === null || projectId === null
      ? null
      : carriers.seal({ [VENDOR]: encrypted, [VENDOR_CREDENTIAL]: name }, { tenantId, projectId, provider, model });
  return { seal, hides: fitted.hidesReasoning === true };
}
