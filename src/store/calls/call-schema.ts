// The tables of calls as Kysely sees them. Rows of `call` are in the order of time (call-keys.ts), and hold numbers in
// place of names that recur (call-names.ts). Absent texts are stored as empty strings, absent names as 0.
import { LATENCY_BOUNDS_MS } from "./calls.ts";
import type { ReplicaSchema } from "../database/replicas.ts";
import type { VendorObjectSchema } from "../vendor-objects.ts";

/** The caller of a call, and the target that answered it. */
export const DIMENSION_COLUMNS = [
  "tenant_id",
  "project_id",
  "token_id",
  "user_id",
  "route",
  "provider",
  "model",
] as const;
export type DimensionColumn = (typeof DIMENSION_COLUMNS)[number];

/** The columns that hold the number of a name. */
export const NAME_COLUMNS = [...DIMENSION_COLUMNS, "code", "finish_reason", "operation"] as const;
export type NameColumn = (typeof NAME_COLUMNS)[number];

/** `name` is the number of a name; the others are types of both databases. */
export type ColumnType = "key" | "text" | "name" | "integer" | "flag" | "key or null" | "integer or null";

/** The columns of a call, in the order of the statements that write them. */
export const CALL_COLUMN_TYPES = {
  id: "key",
  trace_id: "text",
  tenant_id: "name",
  project_id: "name",
  token_id: "name",
  user_id: "name",
  route: "name",
  provider: "name",
  model: "name",
  end_user: "text",
  status: "integer",
  code: "name",
  stream: "flag",
  cancelled: "flag",
  /** 1 for an explanation, which sent no request to a provider and is in no sum. */
  explained: "flag",
  attempts: "integer",
  prompt_tokens: "integer",
  completion_tokens: "integer",
  cached_tokens: "integer",
  reasoning_tokens: "integer",
  cost_nano_usd: "integer or null",
  /** When the call ended. It began at the time in its id. */
  end_ms: "integer",
  first_content_ms: "integer or null",
  settled: "flag",
  /** `model` as the client wrote it. */
  model_asked: "text",
  /** Of the first choice. */
  finish_reason: "name",
  /** The absent name stands for chat completions, which was the only operation once (call-columns.ts). */
  operation: "name",
  /** An outcome of CACHE_OUTCOMES (call-columns.ts), counted from 1; 0 where the cache was off. */
  cache: "integer",
  /** 1 where the gateway estimated the usage, because the provider did not report it. */
  estimated: "flag",
  /** A hash of the provider's own id of the request (call-columns.ts); 0 where it reported none. */
  request_hash: "integer",
  /** JSON list of the call's rows in `call_tag`; empty when it has none. */
  tags: "text",
  /** The row of `call_block` that holds its record. */
  block_id: "key or null",
} as const satisfies Readonly<Record<string, ColumnType>>;

interface ColumnValues {
  readonly key: bigint;
  readonly "key or null": bigint | null;
  readonly text: string;
  readonly name: number;
  readonly integer: number;
  readonly flag: number;
  readonly "integer or null": number | null;
}
export type CallColumn = keyof typeof CALL_COLUMN_TYPES;
/** A call as it is written. */
export type CallRow = { readonly [Name in CallColumn]: ColumnValues[(typeof CALL_COLUMN_TYPES)[Name]] };
export const CALL_COLUMNS = Object.keys(CALL_COLUMN_TYPES) as readonly CallColumn[];

/** Drivers read wide integers as bigints, and PostgreSQL's narrow ones as numbers. */
type Read<T> = T extends number ? bigint | number : T;
/** A call as it is read. */
export type FoundRow = { readonly [Name in CallColumn]: Read<CallRow[Name]> };

export const LATENCY_COLUMNS: readonly string[] = [...LATENCY_BOUNDS_MS.map((bound) => `within_${bound}_ms`), "beyond"];
export const SUM_COLUMNS: readonly string[] = [
  "calls",
  "errors",
  "unpriced",
  "prompt_tokens",
  "completion_tokens",
  "cached_tokens",
  "reasoning_tokens",
  "cost_nano_usd",
  "total_ms",
  ...LATENCY_COLUMNS,
  /** Calls whose usage the gateway estimated. */
  "estimated",
];
/** The sums of them that clients and providers can make as large as they like; the others are counts of calls. */
export const AMOUNT_COLUMNS: readonly string[] = [
  "prompt_tokens",
  "completion_tokens",
  "cached_tokens",
  "reasoning_tokens",
  "cost_nano_usd",
  "total_ms",
];

export interface ContentColumns {
  readonly trace_id: string;
  readonly tenant_id: string;
  readonly project_id: string;
  readonly expires_ms: bigint;
  /** Encrypted. */
  readonly body: Uint8Array;
}

export interface PlaceColumns {
  readonly journal: string;
  readonly run: string;
  readonly segment: bigint;
  readonly position: bigint;
  readonly shipped_rows: bigint;
  readonly last_ms: bigint;
}

type DimensionNumbers = Readonly<Record<DimensionColumn, bigint | number>>;

export interface CallSchema extends ReplicaSchema, VendorObjectSchema {
  readonly call: FoundRow;
  /** The names for which other tables hold numbers. */
  readonly call_name: { readonly number: bigint | number; readonly name: string };
  /** Where calls are whose trace id does not tell it; see call-keys.ts. */
  readonly call_alias: { readonly trace_id: string; readonly id: bigint };
  /** The records of some calls, compressed together; see call-blocks.ts. */
  readonly call_block: {
    readonly id: bigint;
    readonly first_ms: bigint;
    readonly last_ms: bigint;
    readonly records: bigint | number;
    readonly body: Uint8Array;
  };
  /** Look-up keys that most calls do not have; see call-tags.ts. */
  readonly call_tag: {
    readonly tag: string;
    readonly id: bigint;
    readonly tenant_id: bigint | number;
    readonly project_id: bigint | number;
  };
  /** The content of calls, where a tenant keeps it; see call-contents.ts. */
  readonly call_content: ContentColumns;
  /** The encrypted key of a tenant's contents. */
  readonly content_key: { readonly tenant_id: string; readonly sealed: string };
  /** How far the journals of gateways have been shipped; see journal-places.ts. */
  readonly journal_place: PlaceColumns;
  /** Sums of an hour; the table also has the columns SUM_COLUMNS. */
  readonly call_hour: DimensionNumbers & { readonly hour_ms: bigint };
  /** Sums of a day for each end user, of the calls that name one. */
  readonly call_user_day: DimensionNumbers & { readonly day_ms: bigint; readonly end_user: string };
  /** The part of `call_hour` that calls of other operations than chat completions have, for each operation. */
  readonly call_operation_hour: CallSchema["call_hour"] & { readonly operation: bigint | number };
  /** The same part of `call_user_day`. */
  readonly call_operation_user_day: CallSchema["call_user_day"] & { readonly operation: bigint | number };
}
