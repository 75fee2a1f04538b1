// Requests that are sent twice under one idempotency key: the second one gets the response of the first and changes
// nothing.
import { GatewayError } from "../../core/errors.ts";
import { isObject, type Json } from "../../core/json.ts";
import type { Reader } from "../../store/reader.ts";
import type { KeptAnswer } from "../../store/records.ts";
import type { AdminReply } from "./operation.ts";

export interface Repeatable {
  readonly key: string;
  readonly requestHash: string;
}

/** Runs the work when no other request with that key runs. */
export type Turns = <T>(key: string, work: () => Promise<T>) => Promise<T>;

/**
 * Runs requests with the same key one after the other within this process. The store rejects the second of two changes,
 * but work outside the store would have been done twice.
 */
export function openTurns(): Turns {
  const last = new Map<string, Promise<unknown>>();
  return async (key, work) => {
    const own = (last.get(key) ?? Promise.resolve()).then(work);
    const over = own.catch(() => undefined);
    last.set(key, over);
    try {
      return await own;
    } finally {
      if (last.get(key) === over) last.delete(key);
    }
  };
}

export function requestHash(parts: readonly string[]): string {
  return new Bun.CryptoHasher("sha256").update(JSON.stringify(parts)).digest("hex");
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
