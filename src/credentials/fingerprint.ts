// A name for a credential that says nothing about it: the same content is the same credential, whichever snapshot or request it stands in.
import { createHash } from "node:crypto";
import type { StoredCredential } from "../core/credential.ts";

const known = new WeakMap<StoredCredential, string>();

/** Of everything but its weight. Who brought it counts: what a caller's was exchanged for is never the operator's. */
export function fingerprint(stored: StoredCredential): string {
  const found = known.get(stored);
  if (found !== undefined) return found;
  const { weight: _, ...content } = stored;
  const made = createHash("sha256")
    .update(JSON.stringify(Object.entries(content).toSorted(([a], [b]) => (a < b ? -1 : 1))))
    .digest("hex");
  known.set(stored, made);
  return made;
}

/** The end of what people know a credential by, for the log; null where it would tell too much, or where there is none. */
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
