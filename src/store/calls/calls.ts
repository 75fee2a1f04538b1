// The port to the calls that were made: single calls, and sums of their usage. It is filled from the ledger, and read
// by reports, by the admin API, and by budgets when a process starts. Its drivers, one for each database,
// pass test/contract/store/call-store.suite.ts.
import type { CacheOutcome } from "../../core/configured/cache.ts";
import type { Attempt, CallRecord } from "../../core/record/record.ts";
import type { CamelCase } from "../../core/text/camel-case.ts";
import { bytes, integer, type KeptIn, text } from "../database/columns.ts";
import type { LedgerSink } from "../journal/ledger.ts";
import type { CALL_COLUMN_TYPES, CallColumn, ToldColumn, ToldType } from "./call-column-types.ts";
import type { SumFigureName } from "../sums/sum-figures.ts";
import type { Page, PageRequest } from "../reader.ts";
import type { ReplicaTable } from "../database/replicas.ts";
import type { VendorObjectTable } from "./vendor-objects.ts";

/** What a summary tells of a column, by its type. Values that did not apply are `null`. */
interface ToldValues extends Readonly<Record<ToldType, unknown>> {
  readonly text: string | null;
  readonly name: string | null;
  readonly integer: number;
  readonly flag: boolean;
  readonly "integer or null": number | null;
}

/** A member for each column, by its name in camel case. */
export type ToldColumns = {
  readonly [Name in ToldColumn as CamelCase<Name>]: ToldValues[(typeof CALL_COLUMN_TYPES)[Name]];
};

/** A call in short. */
export interface CallSummary extends Omit<ToldColumns, "traceId" | "operation" | "cache"> {
  readonly traceId: string;
  readonly operation: string;
  /** `null` when the response cache was off. */
  readonly cache: CacheOutcome | null;
  /** When the call arrived. */
  readonly timeMs: number;
  readonly totalMs: number;
}

/** Members that are left out do not restrict the result. */
export interface CallScope {
  readonly tenantId?: string;
  readonly projectId?: string;
  readonly tokenId?: string;
  readonly userId?: string;
  readonly endUser?: string;
  readonly route?: string;
  readonly provider?: string;
  /** The provider's own name of the model. */
  readonly model?: string;
  /** `chat.completions` and so on. */
  readonly operation?: string;
}

export interface CallFilter extends CallScope {
  /** Inclusive. */
  readonly fromMs?: number;
  /** Exclusive. */
  readonly toMs?: number;
  readonly outcome?: "ok" | "failed";
  readonly status?: number;
  readonly code?: string;
  readonly settled?: boolean;
}

export const LOG_ORDERS = ["newest", "oldest", "ended"] as const;
export type LogOrder = (typeof LOG_ORDERS)[number];

/** Filters for the log search. Bounds are inclusive. */
export interface LogFilter extends CallFilter {
  /**
   * By arrival, except for `ended`, which sorts by the end of calls, the earliest first, for clients that wait for
   * further calls.
   */
  readonly order: LogOrder;
  readonly traceId?: string;
  /** Ended at this time or later. Searched in the order of the ends. */
  readonly endedFromMs?: number;
  /** The first digit of the status. */
  readonly statusClass?: number;
  readonly modelAsked?: string;
  readonly finishReason?: string;
  readonly stream?: boolean;
  readonly cancelled?: boolean;
  readonly explained?: boolean;
  /** Whether the call is a copy for a mirror. */
  readonly mirrored?: boolean;
  readonly estimated?: boolean;
  readonly cache?: CacheOutcome;
  /** The provider's own id of any request of the call. */
  readonly providerRequestId?: string;
  readonly atLeast?: LogBounds;
  readonly atMost?: LogBounds;
  /** Tags of call-tags.ts, all of which must be present. */
  readonly tags?: readonly string[];
}

export interface LogBounds {
  readonly totalMs?: number;
  readonly firstContentMs?: number;
  readonly attempts?: number;
  readonly promptTokens?: number;
  readonly completionTokens?: number;
  /** Of prompt and answer together. */
  readonly tokens?: number;
  readonly costNanoUsd?: number;
}

/**
 * A page may be shorter than requested, or empty, where it reached the limit of how much one query searches: the cursor
 * leads on.
 */
export interface LogPage extends Page<CallSummary> {
  /** The time up to which calls were searched; `null` when the search reached the end or filled the page. */
  readonly searchedToMs: number | null;
}

/** The columns of the content of a call. */
export const CONTENT = {
  trace_id: text,
  tenant_id: text,
  project_id: text,
  expires_ms: integer,
  /** Encrypted; see content-store.ts. */
  body: bytes,
};
export type StoredContent = KeptIn<typeof CONTENT>;

/** The prefix of the ids of rows that hold no content of a call, but an object that is kept in the same way, or a part of one. */
export const KEPT_OBJECT = "kept:";

/** The encrypted key of a tenant's contents, as it is stored. */
export interface ContentKey {
  readonly tenantId: string;
  readonly sealed: string;
}

/** The dimensions by which sums can be grouped. `day` is a day in the time zone of the query. */
export const USAGE_DIMENSIONS = [
  "tenant",
  "project",
  "token",
  "user",
  "end_user",
  "route",
  "provider",
  "model",
  "operation",
  "day",
] as const;
export type UsageDimension = (typeof USAGE_DIMENSIONS)[number];

/** For each dimension but the day: its column in calls and sums, and the member of a scope that narrows it. */
export const DIMENSIONS = {
  token: { column: "token_id", scoped: "tokenId" },
  project: { column: "project_id", scoped: "projectId" },
  tenant: { column: "tenant_id", scoped: "tenantId" },
  user: { column: "user_id", scoped: "userId" },
  end_user: { column: "end_user", scoped: "endUser" },
  route: { column: "route", scoped: "route" },
  provider: { column: "provider", scoped: "provider" },
  model: { column: "model", scoped: "model" },
  operation: { column: "operation", scoped: "operation" },
} as const satisfies Readonly<
  Record<Exclude<UsageDimension, "day">, { readonly column: CallColumn; readonly scoped: keyof CallScope }>
>;

export const USAGE_ORDERS = ["group", "cost", "tokens", "calls"] as const;
export type UsageOrder = (typeof USAGE_ORDERS)[number];

export interface UsageQuery extends CallScope {
  /** Inclusive and exclusive bounds, which may be any moments. */
  readonly fromMs?: number;
  readonly toMs?: number;
  /** The time zone of days by its IANA name; UTC by default. */
  readonly zone?: string;
  readonly by: readonly UsageDimension[];
  /** `group` sorts by the values of `by`, in pages. The other orders sort the largest first, in one page. */
  readonly order: UsageOrder;
}

/** Upper bounds of the latency buckets in milliseconds; slower calls are counted in one more bucket. */
export const LATENCY_BOUNDS_MS = [100, 250, 500, 1000, 2500, 5000, 10_000, 30_000, 60_000, 120_000] as const;

/** Sums of calls, as bigints, because a sum may exceed what a number holds exactly. */
export type UsageSums = { readonly [Name in SumFigureName as CamelCase<Name>]: bigint } & {
  /** Calls by their latency: one count for each of LATENCY_BOUNDS_MS, and one more. */
  readonly latency: readonly bigint[];
};

export interface UsageRow {
  /** A value for each of `by`, in its order; a day is written `2026-01-31`. `null` where a call had no value. */
  readonly group: readonly (string | null)[];
  readonly sums: UsageSums;
}

export interface UsageReport extends Page<UsageRow> {
  /** Of all groups, at the same moment; `null` but on the first page. */
  readonly totals: UsageSums | null;
  /**
   * Hours (of end users: days) before this moment could not be divided where the report begins, ends or has a midnight
   * within them, because their calls are not kept any more: each counts as a whole where it begins. `null` where all is
   * exact.
   */
  readonly wholeUntilMs: number | null;
}

export interface HistogramQuery {
  /** Of a filter on anything but the scope, and of buckets shorter than an hour, single calls are counted. */
  readonly filter: Omit<LogFilter, "order" | "fromMs" | "toMs">;
  /** The times at which buckets begin, and the end of the last one. */
  readonly edges: readonly number[];
}

export interface CallHistogram {
  readonly buckets: readonly UsageSums[];
  /**
   * Calls before this time have not been counted, because one query counts a bounded number of single calls, or because
   * they are not kept any more. `null` where all are counted.
   */
  readonly searchedToMs: number | null;
  /** As in UsageReport. */
  readonly wholeUntilMs: number | null;
}

/** Dimensions whose most frequent values are listed. */
export const FACETS = ["project", "token", "user", "route", "provider", "model", "operation"] as const;
export type FacetName = (typeof FACETS)[number];

export interface FacetsQuery {
  readonly scope: CallScope;
  /** The members of the scope that say what the caller may see; the others are filters. */
  readonly fixed: readonly (keyof CallScope)[];
  readonly fromMs: number;
  readonly toMs: number;
  /** Values of each dimension. */
  readonly limit: number;
  /** Of which dimensions values are looked for; all, if left out. The others have none. */
  readonly dimensions?: readonly FacetName[];
  /** Which values are the first; those with the most calls, if left out. */
  readonly order?: FacetOrder;
  /** Also sums failed calls by their cause, for which each of them is looked up. */
  readonly causes?: boolean;
}

export const FACET_ORDERS = ["calls", "cost"] as const;
export type FacetOrder = (typeof FACET_ORDERS)[number];

/** Failed calls with the same status, code and cause. */
export interface FailureSum {
  readonly status: number;
  readonly code: string | null;
  /** The target of the last attempt; `null` where there was none. */
  readonly provider: string | null;
  readonly model: string | null;
  /** Of the kinds `limit` and `policy`. */
  readonly tags: readonly string[];
  /** The calls have run tools, so that a round may have failed after others had an answer; absent where none has. */
  readonly ranTools?: true;
  readonly calls: number;
}

export interface Facet {
  /** In the order that was asked for. */
  readonly values: readonly {
    readonly value: string | null;
    readonly calls: bigint;
    readonly errors: bigint;
    readonly costNanoUsd: bigint;
  }[];
  /** How many further values there are. */
  readonly others: bigint;
}

export interface CallFacets {
  readonly facets: Readonly<Record<FacetName, Facet>>;
  /** Failed calls by status and code; those before `searchedToMs` have not been counted. */
  readonly failures: {
    readonly values: readonly { readonly status: number; readonly code: string | null; readonly calls: number }[];
    readonly searchedToMs: number | null;
  };
  /** Those with the most calls first; empty unless they were asked for. As far as `failures` were searched. */
  readonly causes: readonly FailureSum[];
}

export interface StoredCall {
  readonly summary: CallSummary;
  /** `null` when the call is older than details are kept. */
  readonly record: CallRecord | null;
}

/** What is known of a request and its attempts beyond the figures: names and sizes, and no text of a prompt or an answer. */
export interface RecordedCall extends Pick<
  CallRecord,
  | "traceId"
  | "operation"
  | "projectId"
  | "tokenId"
  | "userId"
  | "endUser"
  | "stream"
  | "route"
  | "provider"
  | "model"
  | "status"
  | "code"
  | "messages"
  | "usage"
  | "metadata"
  | "policies"
  | "totalMs"
  | "firstContentMs"
> {
  readonly timeMs: number;
  readonly modelAsked: string | null;
  /** Names of the parameters that the client sent. */
  readonly parameters: readonly string[];
  readonly costNanoUsd: number | null;
  readonly attempts: readonly Pick<
    Attempt,
    "provider" | "model" | "code" | "status" | "startMs" | "firstContentMs" | "totalMs"
  >[];
}

export interface RecordedQuery extends CallScope {
  /** The most calls that are returned, the newest: 1 to 1,000. */
  readonly limit: number;
}

export interface RecordedCalls {
  /** The newest first. Calls without a record, those that ended with an explanation and those from the response cache are left out. */
  readonly calls: readonly RecordedCall[];
  /** Calls that were found, and were left out because the response cache answered them. */
  readonly fromCache: number;
  /** Calls that were found, and were left out because their details are not kept any more. */
  readonly withoutRecord: number;
  /** Earlier calls have not been looked at, because one query reads a bounded number of them; `null` when all were. */
  readonly searchedToMs: number | null;
}

export interface LastUse {
  readonly tokenId: string;
  readonly timeMs: number;
}

export interface AttemptsQuery {
  readonly tenantId: string;
  readonly projectId?: string;
  /** The beginning of an hour: attempts of calls that began earlier are left out. */
  readonly fromHourMs: number;
}

/** Attempts that ended alike. */
export interface AttemptSums {
  readonly provider: string;
  readonly model: string;
  /** `null` where the provider answered. */
  readonly code: string | null;
  readonly attempts: number;
  /** By how long they took, as in UsageSums. */
  readonly latency: readonly bigint[];
  /** The newest of their calls. */
  readonly lastTraceId: string;
}

/** Dimensions by which a budget may have one account for each value. */
export type AccountDimension = Exclude<UsageDimension, "day" | "tenant" | "project">;

export interface SpentQuery extends CallScope {
  /** Calls that began earlier are left out. May be any moment. */
  readonly sinceMs: number;
  readonly by: readonly (AccountDimension | "tenant" | "project")[];
}

export interface Spent {
  /** A value for each of `by`, in its order; `null` where a call had no value. */
  readonly values: readonly (string | null)[];
  readonly calls: bigint;
  /** Of prompts and answers together. */
  readonly tokens: bigint;
  readonly costNanoUsd: bigint;
}

/** Rows of calls that began before these times are removed; `null` removes nothing of that kind. */
export interface KeptSince {
  readonly callsMs: number | null;
  readonly detailsMs: number | null;
  /** For places that a journal has left behind; see journal-places.ts. */
  readonly placesMs: number | null;
}

/** Every method throws StoreError. Reads never delay calls: they run outside the main thread, or in the database. */
export interface CallStore extends LedgerSink, ReplicaTable, VendorObjectTable {
  /** Searches a bounded number of calls. */
  searchCalls(page: PageRequest, filter: LogFilter): Promise<LogPage>;
  /**
   * Returns the encrypted key of a tenant's contents: the stored one if there is one, else this one, which is then
   * stored; `null` when the tenant no longer exists.
   */
  contentKey(tenantId: string, encrypted: string): Promise<string | null>;
  /**
   * Skips content whose call already has some, and content whose project no longer exists. `keys` are those with which
   * the contents are encrypted. Returns false, and keeps nothing, when a tenant has another one now.
   */
  keepContents(contents: readonly StoredContent[], keys: readonly ContentKey[]): Promise<boolean>;
  /** What is stored of these calls, in no order. */
  findContents(traceIds: readonly string[]): Promise<readonly StoredContent[]>;
  /** The number of calls in a place that have stored content. */
  countContents(place: { readonly tenantId: string; readonly projectId: string | null }): Promise<number>;
  /**
   * Removes contents whose retention has ended, all contents of a place, or single ones. It removes a bounded number and returns how
   * many, so it is to be repeated until it returns 0.
   */
  removeContents(
    which:
      | { readonly expiredMs: number }
      | { readonly tenantId: string; readonly projectId: string | null }
      | { readonly traceIds: readonly string[] },
  ): Promise<number>;
  /** `null` also when the call belongs to another tenant than `tenantId`. */
  findCall(traceId: string, tenantId?: string): Promise<StoredCall | null>;
  /** Sums by group. An order other than `group` returns one page, whose cursor is `null`. */
  usage(page: PageRequest, query: UsageQuery): Promise<UsageReport>;
  /** Calls over time. */
  histogram(query: HistogramQuery): Promise<CallHistogram>;
  /** When the last call that is kept of each of these tokens began; tokens without one are left out. */
  lastUses(tokenIds: readonly string[]): Promise<readonly LastUse[]>;
  /** What was asked of providers, by provider, model and outcome. */
  attempts(query: AttemptsQuery): Promise<{ readonly data: readonly AttemptSums[] }>;
  /** The most frequent values of some dimensions. */
  facets(query: FacetsQuery): Promise<CallFacets>;
  /** Opens what reports are read with, so that the first one does not wait for it. They can do without. */
  prepareReports(): void;
  /** What has been used since a moment, for accounts that begin with no count. */
  spent(query: SpentQuery): Promise<readonly Spent[]>;
  /**
   * Removes what is older, except sums. It removes at most some thousand rows of each kind and returns how many, so it
   * is to be repeated until it returns 0.
   */
  prune(before: KeptSince): Promise<number>;
  close(): Promise<void>;
}

/** The methods that are one query each (call-queries.ts), by the connection on which it is asked. */
export const ASKED = {
  /** Additions, and what says how far they have come. */
  additions: ["places", "keepContents", "registerReplica", "bindObjects"],
  changes: ["contentKey", "removeContents", "unregisterReplica", "prune", "pruneObjects"],
  /** What calls may wait for. */
  reads: ["findContents", "countContents", "spent", "boundObjects"],
  /** What people ask, which may take long. */
  reports: ["searchCalls", "usage", "histogram", "lastUses", "attempts", "facets"],
} as const satisfies Readonly<Record<string, readonly (keyof CallStore)[]>>;
export type AskedMethod = (typeof ASKED)[keyof typeof ASKED][number];

/** These methods, each of which passes its name and its arguments to `ask`. */
export function asked<Name extends AskedMethod>(
  names: readonly Name[],
  ask: (name: Name, args: readonly unknown[]) => Promise<unknown>,
): Pick<CallStore, Name> {
  const methods = names.map((name) => [name, (...args: unknown[]) => ask(name, args)] as const);
  return Object.fromEntries(methods) as unknown as Pick<CallStore, Name>;
}
