// Keys that are derived from a master key (RFC 5869), one for each purpose: who knows one of them learns no other.
import { hkdfSync } from "node:crypto";
import { memoizeBounded } from "../core/memoization.ts";

const KEY_BYTES = 32;
/** The most tenants whose keys are remembered. */
const MAX_TENANTS = 1000;

/** Returns 32 bytes, which are the same for the same purpose in all processes and after a restart. */
export function derivedKey(masterKey: Uint8Array, purpose: string): Uint8Array {
  return new Uint8Array(hkdfSync("sha256", masterKey, "", purpose, KEY_BYTES));
}

export function tenantKeys(masterKey: Uint8Array, purpose: string): (tenantId: string) => Uint8Array {
  return memoizeBounded(MAX_TENANTS, (tenantId) => derivedKey(masterKey, `${purpose}\0${tenantId}`));
}
