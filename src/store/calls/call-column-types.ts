// The columns that a call has in the database beside its record. Its row, its figures and its summary have their members
// from this list: how to add to it is in CONTRIBUTING.md#adding-a-column-of-calls.

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
  /** The trace id of the call that this one is a copy of, which is in no sum; empty for a call of a client. */
  mirror_of: "text",
  attempts: "integer",
  prompt_tokens: "integer",
  completion_tokens: "integer",
  cached_tokens: "integer",
  /** Written to the provider's prompt cache. */
  cache_write_tokens: "integer",
  reasoning_tokens: "integer",
  cost_nano_usd: "integer or null",
  /** How much less the call cost than without the provider's prompt cache; below 0 where it cost more. */
  cache_saved_nano_usd: "integer",
  /** When the call ended. It began at the time in its id. */
  end_ms: "integer",
  first_content_ms: "integer or null",
  settled: "flag",
  /** `model` as the client wrote it. */
  model_asked: "text",
  /** Of the first choice. */
  finish_reason: "name",
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
export type CallColumn = keyof typeof CALL_COLUMN_TYPES;
export const CALL_COLUMNS = Object.keys(CALL_COLUMN_TYPES) as readonly CallColumn[];

export type ColumnOf<Type extends ColumnType> = {
  [Name in CallColumn]: (typeof CALL_COLUMN_TYPES)[Name] extends Type ? Name : never;
}[CallColumn];
export const columnsOf = <Type extends ColumnType>(type: Type): readonly ColumnOf<Type>[] =>
  CALL_COLUMNS.filter((column): column is ColumnOf<Type> => CALL_COLUMN_TYPES[column] === type);

export type NameColumn = ColumnOf<"name">;
export const NAME_COLUMNS = columnsOf("name");

/** The types of columns of which a summary tells. */
export type ToldType = Exclude<ColumnType, "key" | "key or null">;
/** Columns of these types of which it does not: they only serve to find calls, or to tell how long one took. */
const UNTOLD_COLUMNS = ["end_ms", "explained", "request_hash", "tags"] as const;
type UntoldColumn = (typeof UNTOLD_COLUMNS)[number];
export type ToldColumn = Exclude<ColumnOf<ToldType>, UntoldColumn>;
export const isTold = <Name extends CallColumn>(column: Name): column is Exclude<Name, UntoldColumn> =>
  !(UNTOLD_COLUMNS as readonly CallColumn[]).includes(column);
