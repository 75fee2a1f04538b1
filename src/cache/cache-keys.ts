// Keys of the response cache, which are derived from the master key (RFC 5869): one that makes the addresses of entries,
// and one for each tenant that seals what is kept outside of this process. Without the master key, an address does not
// reveal what was asked, and what was answered cannot be read.
import { hkdfSync } from "node:crypto";
import { openedBytes, SEALING_KEY_BYTES, sealedBytes } from "../config/sealed-bytes.ts";
import { memoizeBounded } from "../core/memoization.ts";
import type { CacheEntry } from "./answer-cache.ts";

const MAX_TENANTS = 1000;

export type CacheKeys = ReturnType<typeof cacheKeys>;

export function cacheKeys(masterKey: Uint8Array) {
  const derived = (purpose: string): Uint8Array =>
    new Uint8Array(hkdfSync("sha256", masterKey, "", `dragoman response cache\0${purpose}`, SEALING_KEY_BYTES));
  const addressKey = derived("address");
  const sealingKey = memoizeBounded(MAX_TENANTS, (tenantId: string) => derived(`sealing\0${tenantId}`));
  return {
    /** Returns the address of what is asked: an HMAC-SHA-256 in hex. The two texts are not confused with one another. */
    addressOf: (circumstances: string, body: string | Uint8Array) =>
      new Bun.CryptoHasher("sha256", addressKey)
        .update(`${circumstances.length}\0${circumstances}`)
        .update(body)
        .digest("hex"),
    /** Encrypts the body with AES-256-GCM, bound to everything else that the entry says. */
    seal: (entry: CacheEntry) => sealedBytes(sealingKey(entry.tenantId), entry.body, boundTo(entry)),
    /** Returns `null` when the entry was sealed with another key, changed, or moved. */
    open(entry: CacheEntry): Uint8Array | null {
      try {
        return openedBytes(sealingKey(entry.tenantId), entry.body, boundTo(entry));
      } catch {
        return null;
      }
    },
  };
}

function boundTo({ key, tenantId, route, askedAtMs, expiresAtMs }: CacheEntry): Uint8Array {
  return Buffer.from(JSON.stringify([key, tenantId, route, askedAtMs, expiresAtMs]));
}
