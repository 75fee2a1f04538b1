// Requests that are sent twice under one idempotency key: the second one gets the response of the first and changes
// nothing.

// Decides (who may call, and with what): When does a repeated admin request return the first response? By:
// `answeredBefore`. Also: called by `admin-request.ts`. Rule: Same token, idempotency key and request, within 24 h.
import { GatewayError } from "../../../core/errors.ts";
import { isObject, type Json } from "../../../core/json.ts";
import type { Reader } from "../../../store/reader.ts";
import type { KeptAnswer } from "../../../store/records.ts";
import type { AdminReply } from "../operation.ts";

export interface Repeatable {
  readonly key: string;
  readonly requestHash: string;
}

export function keptAnswer(
  tokenId: string,
  { key, requestHash: hash }: Repeatable,
  { status, headers, body }: AdminReply,
): KeptAnswer {
  return { tokenId, key, requestHash: hash, status, body: JSON.stringify({ headers, body }) };
}

/** Null when the key is new. Throws `idempotency_mismatch`. */
export async function answeredBefore(
  store: Reader,
  tokenId: string,
  { key, requestHash: hash }: Repeatable,
): Promise<AdminReply | null> {
  const kept = await store.findAnswer(tokenId, key);
  if (kept === null) return null;
  if (kept.requestHash !== hash)
    throw new GatewayError(
      "idempotency_mismatch",
      "This idempotency key was used for a different request in the last 24 h. Use a new key.",
      { param: "idempotency-key" },
    );
  const stored = JSON.parse(kept.body) as Json;
  const { headers, body } = isObject(stored) ? stored : {};
  return {
    status: kept.status,
    headers: { ...(headers as Readonly<Record<string, string>>), "idempotent-replayed": "true" },
    body: typeof body === "string" ? body : null,
  };
}
