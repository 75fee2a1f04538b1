// One thing that is configured (a route, a limit, a policy, ...), wherever it stands: in the file or in the store. What a snapshot is compiled from.
import type { Role } from "./identity.ts";

/** The kinds of things that the file and the store both can hold, by their words in paths and audit rows. */
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

/** `T` is what the kind's own schema gives. */
export interface Configured<T> {
  /** Unique among its kind, and the same for as long as the thing is there. */
  readonly id: string;
  /** Its name, where the kind has names. */
  readonly name: string | null;
  /** Null: of all tenants, which only the file can say. */
  readonly tenantId: string | null;
  /** Null: of the whole tenant. */
  readonly projectId: string | null;
  readonly origin: "file" | "store";
  /** The role of who wrote it last: read-only for lower ones (decisions 2.11). Null: it stands in the file, and is read-only for all. */
  readonly setBy: Role | null;
  /** Of the store: whether an operator wrote it last. Its addresses are then the operator's, like those of the file, and pass no guard (decisions 2.12). */
  readonly byOperator?: boolean;
  /** Counts up with each change; 0 in the file. */
  readonly version: number;
  readonly document: T;
}
