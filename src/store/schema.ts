// The tables as Kysely sees them, and how their columns become values: one function for each kind of column, the same for every database.
// Drivers give and take every integer as a bigint, because a wide one comes back rounded, without an error, as a number.
import { PERMISSIONS, ROLES, type Permission, type Role } from "../core/identity.ts";
import { StoreError } from "./store.ts";

export interface Schema {
  /** One row for each thing that is watched for changes. Its row is also the lock under which that thing is written. */
  readonly revisions: { readonly name: string; readonly counter: bigint };
  readonly tenants: { readonly id: string; readonly name: string; readonly personal_token_max_ms: bigint | null; readonly project_token_max_ms: bigint | null };
  readonly projects: { readonly id: string; readonly tenant_id: string; readonly name: string };
  readonly users: { readonly id: string; readonly tenant_id: string; readonly name: string };
  readonly memberships: { readonly tenant_id: string; readonly user_id: string; readonly project_id: string | null; readonly role: string };
  readonly access_tokens: {
    readonly id: string;
    readonly kind: string;
    readonly name: string;
    readonly tenant_id: string;
    readonly project_id: string | null;
    readonly user_id: string | null;
    readonly role: string | null;
    /** A JSON list of words. */
    readonly permissions: string;
    readonly created_at_ms: bigint;
    readonly lifetime_ms: bigint;
    readonly expires_at_ms: bigint;
    readonly revoked_at_ms: bigint | null;
  };
  readonly token_secrets: {
    readonly token_id: string;
    /** Lower-case hex. */
    readonly sha256: string;
    readonly retires_at_ms: bigint | null;
  };
}

export const toInteger = (value: number): bigint => BigInt(Math.round(value));

/** Throws where a number cannot hold the integer. */
export function fromInteger(value: bigint): number {
  const number = Number(value);
  if (!Number.isSafeInteger(number)) throw new StoreError("unusable", `The database holds the integer ${value}, which is no time or duration in milliseconds. It was not written by Dragoman: restore a backup.`);
  return number;
}

export const toIntegerOrNull = (value: number | null): bigint | null => (value === null ? null : toInteger(value));
export const fromIntegerOrNull = (value: bigint | null): number | null => (value === null ? null : fromInteger(value));

export const toHex = (bytes: Uint8Array): string => Buffer.from(bytes.buffer, bytes.byteOffset, bytes.byteLength).toString("hex");
export const fromHex = (hex: string): Uint8Array => new Uint8Array(Buffer.from(hex, "hex"));

export function fromRole(word: string): Role {
  const role = ROLES.find((known) => known === word);
  if (role === undefined) throw new StoreError("unusable", `The database holds the role ${JSON.stringify(word)}, which this version does not know. Run the version that wrote it.`);
  return role;
}

/** A permission that this version does not know is left out: it can only give more than is understood here. */
export function fromPermissions(text: string): readonly Permission[] {
  const words: unknown = JSON.parse(text);
  return PERMISSIONS.filter((permission) => Array.isArray(words) && words.includes(permission));
}
