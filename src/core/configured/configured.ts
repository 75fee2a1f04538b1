// One configured object (a route, a limit, a policy, ...), whether the file or the store defines it. Snapshots are
// compiled from these.
import type { Role } from "../identity.ts";

/** The kinds of objects that both the file and the store can hold, by their names in paths and audit rows. */
export const CONFIGURED_KINDS = [
  "provider",
  "route",
  "policy",
  "limit",
  "budget",
  "price",
  "tool_server",
  "webhook",
  "setting",
] as const;
export type ConfiguredKind = (typeof CONFIGURED_KINDS)[number];

/** `T` is the type that the schema of the kind yields. */
export interface Configured<T> {
  /** Unique within its kind, and unchanged for the lifetime of the object. */
  readonly id: string;
  /** `null` for kinds that have no names. */
  readonly name: string | null;
  /** `null` for an object that applies to all tenants, which only the file can define. */
  readonly tenantId: string | null;
  /** `null` for an object that applies to the whole tenant. */
  readonly projectId: string | null;
  readonly origin: "file" | "store";
  /**
   * The role of the user who wrote it last; it is read-only for lower roles (promise 2.11). `null` when the file
   * defines it, so that it is read-only for everyone.
   */
  readonly setBy: Role | null;
  /**
   * Whether an operator wrote this object of the store last. Its addresses are then trusted like those of the file, and
   * the address guard does not check them (promise 2.12).
   */
  readonly byOperator?: boolean;
  /** Increases with each change; 0 for objects of the file. */
  readonly version: number;
  readonly document: T;
}
