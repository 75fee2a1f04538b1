// What a search of the log compares that no index answers, as conditions of SQL.
import { type RawBuilder, sql } from "kysely";
import { camelCase } from "../../core/text/camel-case.ts";
import { storedOutcome } from "../calls/call-columns.ts";
import { keyBoundAt, timeOfKeySql } from "../calls/call-keys.ts";
import { withoutIndex } from "../calls/call-reads.ts";
import type { FoundRow } from "../calls/call-schema.ts";
import type { LogBounds, LogFilter } from "../calls/calls.ts";
import { toInteger } from "../database/columns.ts";

export type Condition = RawBuilder<boolean>;

/** The index that a search follows. */
export type WayIndex = "tag" | (typeof NARROWEST)[number] | "time" | "end";
/** Columns with an index, the most selective one first, because the database has no statistics to choose by. */
export const NARROWEST = ["token_id", "end_user", "user_id", "code", "project_id", "tenant_id"] as const;

/** A filter whose names have numbers. */
export interface NumberedFilter {
  readonly filter: LogFilter;
  /** Has every name of the filter. */
  readonly numbers: ReadonlyMap<string, number>;
  /** The only call that may be found. */
  readonly callKey?: bigint;
  /** Of the provider's id of the request (call-columns.ts). */
  readonly requestHash?: number;
}

/** Columns that hold the numbers of names. A filter of a column is the member with its name in camel case. */
export const NAMED = [
  "token_id",
  "user_id",
  "code",
  "project_id",
  "tenant_id",
  "route",
  "provider",
  "model",
  "finish_reason",
  "operation",
] as const satisfies readonly (keyof FoundRow)[];
const TEXTS = ["end_user", "model_asked"] as const satisfies readonly (keyof FoundRow)[];

export const allOf = (conditions: readonly Condition[]): RawBuilder<unknown> =>
  conditions.length === 0 ? sql`1 = 1` : sql.join(conditions, sql` and `);

const BOUNDED: Readonly<Record<keyof LogBounds, string>> = {
  totalMs: `(end_ms - ${timeOfKeySql("call.id")})`,
  firstContentMs: "first_content_ms",
  attempts: "attempts",
  promptTokens: "prompt_tokens",
  completionTokens: "completion_tokens",
  tokens: "(prompt_tokens + completion_tokens)",
  costNanoUsd: "cost_nano_usd",
};

const flag =
  (column: keyof FoundRow) =>
  (isSet: boolean): Condition =>
    sql<boolean>`${sql.ref(column)} = ${isSet ? 1n : 0n}`;

/** Conditions that no index answers, but for the failed calls of a tenant. */
const CONDITIONS: { readonly [Name in keyof LogFilter]?: (asked: NonNullable<LogFilter[Name]>) => Condition } = {
  outcome: (outcome) => (outcome === "ok" ? sql<boolean>`status < 400` : sql<boolean>`status >= 400`),
  status: (status) => sql<boolean>`status = ${toInteger(status)}`,
  statusClass: (digit) =>
    sql<boolean>`status >= ${toInteger(digit * 100)} and status < ${toInteger(digit * 100 + 100)}`,
  stream: flag("stream"),
  cancelled: flag("cancelled"),
  explained: flag("explained"),
  settled: flag("settled"),
  estimated: flag("estimated"),
  mirrored: (isCopy) => (isCopy ? sql<boolean>`mirror_of <> ''` : sql<boolean>`mirror_of = ''`),
  cache: (outcome) => sql<boolean>`cache = ${toInteger(storedOutcome(outcome))}`,
};

/**
 * Conditions that the index does not answer. A column whose index is not used is put into an expression, so that the
 * database does not choose that index.
 */
export function restOf(numbered: NumberedFilter, by: WayIndex): readonly Condition[] {
  const { filter } = numbered;
  const { outcome, tags = [], atLeast = {}, atMost = {}, fromMs, toMs, endedFromMs, order } = filter;
  const others = by === "tag" ? tags.slice(1) : tags;
  const isFailedAlone = by === "tenant_id" && outcome === "failed";
  return [
    ...wordConditions(numbered, by),
    ...(order === "ended"
      ? [
          ...(fromMs === undefined ? [] : [sql<boolean>`call.id + 0 >= ${keyBoundAt(fromMs)}`]),
          ...(toMs === undefined ? [] : [sql<boolean>`call.id + 0 < ${keyBoundAt(toMs)}`]),
        ]
      : []),
    ...(order === "ended" || endedFromMs === undefined
      ? []
      : [sql<boolean>`call.end_ms + 0 >= ${toInteger(endedFromMs)}`]),
    ...Object.entries(CONDITIONS).flatMap(([name, condition]) => {
      const asked = filter[name as keyof typeof CONDITIONS];
      return asked === undefined || (isFailedAlone && name === "outcome") ? [] : [condition(asked as never)];
    }),
    ...(numbered.requestHash === undefined ? [] : [sql<boolean>`request_hash = ${toInteger(numbered.requestHash)}`]),
    ...among(atLeast, ">="),
    ...among(atMost, "<="),
    ...others.map(
      (tag) => sql<boolean>`exists (select 1 from call_tag as other where other.tag = ${tag} and other.id = call.id)`,
    ),
  ];
}

/** For names and texts. */
function wordConditions({ filter, numbers }: NumberedFilter, by: WayIndex): readonly Condition[] {
  const names = NAMED.flatMap((column) => {
    const given = filter[camelCase(column)];
    if (given === undefined || by === column) return [];
    const number = BigInt(numbers.get(given)!);
    // The place of a tagged call can be checked without reading the call.
    if (by === "tag" && (column === "tenant_id" || column === "project_id"))
      return [sql<boolean>`${sql.ref(`t.${column}`)} = ${number}`];
    return [sql<boolean>`${withoutIndex(`call.${column}`, number)} = ${number}`];
  });
  const texts = TEXTS.flatMap((column) => {
    const given = filter[camelCase(column)];
    return given === undefined || by === column
      ? []
      : [sql<boolean>`${withoutIndex(`call.${column}`, given)} = ${given}`];
  });
  return [...names, ...texts];
}

function among(bounds: LogBounds, sign: string): readonly Condition[] {
  return (Object.keys(BOUNDED) as (keyof LogBounds)[]).flatMap((name) =>
    bounds[name] === undefined
      ? []
      : [sql<boolean>`${sql.raw(BOUNDED[name])} ${sql.raw(sign)} ${toInteger(bounds[name])}`],
  );
}
