// What the response cache derives from the master key: the key that makes the addresses of entries, and one key for each
// tenant that seals what is kept outside of this process. Without the master key, an address does not reveal what was asked,
// and what was answered cannot be read. Which calls share an address is decided in `engine/cache/cache-address.ts`.
import { derivedKey, tenantKeys } from "../config/derived-keys.ts";
import { openedBytes, sealedBytes } from "../config/sealed-bytes.ts";
import { memoizePerObject } from "../core/memoization.ts";
import type { CacheEntry } from "./answer-cache.ts";

export type CacheSecrets = ReturnType<typeof cacheSecrets>;

const newestOf = memoizePerObject(([masterKey]: readonly Uint8Array[]) => ({
  addressKey: derivedKey(masterKey!, "dragoman response cache\0address"),
  sealingKey: tenantKeys(masterKey!, "dragoman response cache\0sealing"),
}));

/** Of the first of the master keys. */
export function cacheSecrets(masterKeys: () => readonly Uint8Array[]) {
  const sealingKey = (tenantId: string): Uint8Array => newestOf(masterKeys()).sealingKey(tenantId);
  return {
    /** Returns the address of what is asked: an HMAC-SHA-256 in hex. The two texts are not confused with one another. */
    addressOf: (circumstances: string, body: string | Uint8Array) =>
      new Bun.CryptoHasher("sha256", newestOf(masterKeys()).addressKey)
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
