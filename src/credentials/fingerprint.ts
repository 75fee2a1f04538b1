// Identifies a credential without revealing it: the same content has the same fingerprint, whichever snapshot or
// request contains it.
import { createHash } from "node:crypto";
import type { StoredCredential } from "../core/configured/credential.ts";
import { memoizePerObject } from "../core/memoization.ts";

/**
 * Covers everything except the weight. It includes whether the credential came from a caller, so that a token exchanged
 * for a caller's credential is never used as the operator's.
 */
export const fingerprint = memoizePerObject((stored: StoredCredential): string => {
  const { weight: _, ...content } = stored;
  return createHash("sha256")
    .update(JSON.stringify(Object.entries(content).toSorted(([a], [b]) => (a < b ? -1 : 1))))
    .digest("hex");
});

/**
 * The last characters of the text by which people recognize the credential, for the log; `null` where that would reveal
 * too much, or where there is no such text.
 */
export function lastFour(stored: StoredCredential): string | null {
  const text = visiblePart(stored);
  return text === null || text.length < 12 ? null : text.slice(-4);
}

function visiblePart(stored: StoredCredential): string | null {
  switch (stored.kind) {
    case "key":
    case "token":
      return stored.secret;
    case "aws_keys":
      return stored.accessKeyId;
    case "google_service_account":
      return stored.privateKeyId;
    case "entra_client":
      return stored.clientSecret;
    case "ibm_iam":
      return stored.apiKey;
    default:
      return null;
  }
}
