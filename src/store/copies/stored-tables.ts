// All tables of the database, for what copies them to another one. Tables that can be large are compared and copied in
// parts by a number in each row; the others are copied whole, in one transaction and in this order, because of their
// references.
import { PARTITIONED, type Partitioned } from "../calls/call-partitions.ts";
import type { StoredTable } from "../database/pages.ts";
import { DIMENSION_COLUMNS } from "../calls/call-schema.ts";
import { ROLL_UPS } from "../sums/roll-up-triggers.ts";

const HOUR_MS = 3_600_000;
const DAY_MS = 24 * HOUR_MS;
/** Keys of calls have 20 bits below the time (call-keys.ts). */
const KEYS_IN_HOUR = HOUR_MS * 2 ** 20;

export interface PartedTable extends StoredTable {
  /** A part has the rows with the same whole number of `column / size`. */
  readonly part: { readonly column: string; readonly size: number };
  /** Whether it has partitions in PostgreSQL, for the days of its keys. */
  readonly isByDay: boolean;
}

/** Rows of tables whose documents may have a million characters that are read at once. */
const LONG_ROWS = 50;

const whole = (name: string, ...key: readonly string[]): StoredTable => ({ name, key });

export const WHOLE_TABLES: readonly StoredTable[] = [
  whole("revisions", "name"),
  whole("tenants", "id"),
  whole("projects", "id"),
  whole("users", "id"),
  whole("memberships"),
  whole("access_tokens", "id"),
  whole("token_secrets", "token_id", "sha256"),
  { ...whole("resources", "id"), page: LONG_ROWS },
  whole("versions", "number"),
  { ...whole("version_changes", "version", "ordinal"), page: LONG_ROWS },
  whole("audit_chains", "chain"),
  whole("kept_answers", "token_id", "answer_key"),
  whole("event", "id"),
  whole("webhook_delivery", "id"),
  whole("console_sessions", "id"),
  whole("console_codes", "code_hash"),
  whole("login_failures", "failure_key"),
  whole("console_views", "id"),
  whole("drafts"),
  whole("provider_drains", "tenant_id", "provider", "model"),
  whole("token_claims", "id"),
  whole("vendor_object", "id_hash", "project_id", "provider_id", "credential"),
  whole("content_key", "tenant_id"),
  whole("call_name", "number"),
  whole("journal_place", "journal", "run"),
];

const parted = (name: string, column: string, size: number, ...key: readonly string[]): PartedTable => ({
  name,
  key,
  part: { column, size },
  isByDay: PARTITIONED.includes(name as Partitioned),
});

export const PARTED_TABLES: readonly PartedTable[] = [
  { ...parted("audit_log", "at_ms", DAY_MS, "id"), page: LONG_ROWS },
  parted("audit_removed", "sequence", 10_000, "chain", "sequence"),
  parted("call", "id", KEYS_IN_HOUR, "id"),
  parted("call_block", "id", KEYS_IN_HOUR, "id"),
  parted("call_tag", "id", KEYS_IN_HOUR, "tag", "id"),
  // What was said in one call may have megabytes.
  { ...parted("call_content", "expires_ms", DAY_MS, "trace_id"), page: 20 },
  parted("call_hour", "hour_ms", DAY_MS, "hour_ms", ...DIMENSION_COLUMNS),
  parted("call_attempt_hour", "hour_ms", DAY_MS, "tenant_id", "hour_ms", "project_id", "provider", "model", "code"),
  parted("call_user_day", "day_ms", DAY_MS, "day_ms", ...DIMENSION_COLUMNS, "end_user"),
];

/** What belongs to the database itself and to who uses it now, and the roll-ups, which its triggers make of the sums. */
export const OWN_TABLES: readonly string[] = [
  "kysely_migration",
  "kysely_migration_lock",
  "gateway_replica",
  "database_move",
  "schema_contraction",
  ...ROLL_UPS.map(({ table }) => table),
];

/** Every table whose rows are copied, and the names of those by which the schema is known. */
export const COPIED_TABLES: readonly StoredTable[] = [...WHOLE_TABLES, ...PARTED_TABLES];
