// Keys of the response cache, which are derived from the master key: one that makes the addresses of entries,
// and one for each tenant that seals what is kept outside of this process. Without the master key, an address does not
// reveal what was asked, and what was answered cannot be read.
import { derivedKey, tenantKeys } from "../config/derived-keys.ts";
import { openedBytes, sealedBytes } from "../config/sealed-bytes.ts";
import type { CacheEntry } from "./answer-cache.ts";

export type CacheKeys = ReturnType<typeof cacheKeys>;

export function cacheKeys(masterKey: Uint8Array) {
  const addressKey = derivedKey(masterKey, "dragoman response cache\0address");
  const sealingKey = tenantKeys(masterKey, "dragoman response cache\0sealing");
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
