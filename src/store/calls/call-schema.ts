// The tables of calls as Kysely sees them. Rows of `call` are in the order of time (call-keys.ts), and hold numbers in
// place of names that recur (call-names.ts). Absent texts are stored as empty strings, absent names as 0.
import type { CALL_COLUMN_TYPES, CallColumn, ColumnType } from "./call-column-types.ts";
import { type CONTENT, LATENCY_BOUNDS_MS } from "./calls.ts";
import { SUM_FIGURE_NAMES } from "../sums/sum-figures.ts";
import { integer, type RowOf, text } from "../database/columns.ts";
import type { ReplicaSchema } from "../database/replicas.ts";
import type { VendorObjectSchema } from "./vendor-objects.ts";

/** The caller of a call, the target that answered it, and the operation. */
export const DIMENSION_COLUMNS = [
  "tenant_id",
  "project_id",
  "token_id",
  "user_id",
  "route",
  "provider",
  "model",
  "operation",
] as const;
export type DimensionColumn = (typeof DIMENSION_COLUMNS)[number];

/** What is written into columns, by their types. */
interface ColumnValues {
  readonly key: bigint;
  readonly "key or null": bigint | null;
  readonly text: string;
  readonly name: number;
  readonly integer: number;
  readonly flag: number;
  readonly "integer or null": number | null;
}
/** A call as it is written. */
export type CallRow = { readonly [Name in CallColumn]: ColumnValues[(typeof CALL_COLUMN_TYPES)[Name]] };

/** What is read from columns: drivers read wide integers as bigints, and PostgreSQL's narrow ones as numbers. */
export type FoundValues = { readonly [Type in ColumnType]: Read<ColumnValues[Type]> };
type Read<T> = T extends number ? bigint | number : T;
/** A call as it is read. */
export type FoundRow = { readonly [Name in CallColumn]: FoundValues[(typeof CALL_COLUMN_TYPES)[Name]] };

export const LATENCY_COLUMNS: readonly string[] = [...LATENCY_BOUNDS_MS.map((bound) => `within_${bound}_ms`), "beyond"];
/** The counts of durations stand behind their sum. */
export const SUM_COLUMNS: readonly string[] = SUM_FIGURE_NAMES.flatMap((name) =>
  name === "total_ms" ? [name, ...LATENCY_COLUMNS] : [name],
);

/** What the table keeps of ShippedPlace, whose offset is the position. */
export const PLACE = {
  journal: text,
  run: text,
  segment: integer,
  position: integer,
  shipped_rows: integer,
  last_ms: integer,
};

type DimensionNumbers = Readonly<Record<DimensionColumn, bigint | number>>;

export interface CallSchema extends ReplicaSchema, VendorObjectSchema {
  readonly call: FoundRow;
  /** The names for which other tables hold numbers. */
  readonly call_name: { readonly number: bigint | number; readonly name: string };
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
  readonly call_content: RowOf<typeof CONTENT>;
  /** The encrypted key of a tenant's contents. */
  readonly content_key: { readonly tenant_id: string; readonly sealed: string };
  /** How far the journals of gateways have been shipped; see journal-places.ts. */
  readonly journal_place: RowOf<typeof PLACE>;
  /** Sums of an hour; the table also has the columns SUM_COLUMNS. */
  readonly call_hour: DimensionNumbers & { readonly hour_ms: bigint };
  /** Sums of a day for each end user, of the calls that name one. */
  readonly call_user_day: DimensionNumbers & { readonly day_ms: bigint; readonly end_user: string };
}
