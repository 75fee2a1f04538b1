// The port to the calls that were made: single ones, and what they used in sums. Filled from the ledger; asked by reports, by the admin API, and by budgets when
// a process starts. Drivers: sqlite-calls.ts, postgres-calls.ts. All pass test/contract/call-store.suite.ts.
import type { CallRecord } from "../core/record.ts";
import type { LedgerSink } from "./ledger.ts";
import type { Page, PageRequest } from "./reader.ts";
import type { ReplicaTable } from "./replicas.ts";

/** One call in short. What did not apply is null. */
export interface CallSummary {
  readonly traceId: string;
  /** When it arrived. */
  readonly timeMs: number;
  readonly tenantId: string | null;
  readonly projectId: string | null;
  readonly tokenId: string | null;
  readonly userId: string | null;
  readonly endUser: string | null;
  readonly route: string | null;
  readonly provider: string | null;
  readonly model: string | null;
  readonly status: number;
  readonly code: string | null;
  readonly stream: boolean;
  readonly cancelled: boolean;
  readonly attempts: number;
  readonly promptTokens: number;
  readonly completionTokens: number;
  readonly cachedTokens: number;
  readonly reasoningTokens: number;
  /** Null: not known. */
  readonly costNanoUsd: number | null;
  readonly totalMs: number;
  readonly firstContentMs: number | null;
  /** False: its process ended before it did, and it was charged with what was reserved for it. */
  readonly settled: boolean;
  /** `model` as the caller wrote it. */
  readonly modelAsked: string | null;
  /** Of the first choice. */
  readonly finishReason: string | null;
}

/** Everything that is left out lets all pass. */
export interface CallScope {
  readonly tenantId?: string;
  readonly projectId?: string;
  readonly tokenId?: string;
  readonly userId?: string;
  readonly endUser?: string;
  readonly route?: string;
  readonly provider?: string;
  /** The provider's own name. */
  readonly model?: string;
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

/** By every field that people look for. A bound is inclusive. */
export interface LogFilter extends CallFilter {
  /** By arrival; `ended`: by their ends, the first to end first, for whoever waits for more. */
  readonly order: LogOrder;
  readonly traceId?: string;
  /** Ended at this time or later: looked up in the order of their ends. */
  readonly endedFromMs?: number;
  /** The first digit of the status. */
  readonly statusClass?: number;
  readonly modelAsked?: string;
  readonly finishReason?: string;
  readonly stream?: boolean;
  readonly cancelled?: boolean;
  readonly explained?: boolean;
  readonly atLeast?: LogBounds;
  readonly atMost?: LogBounds;
  /** Of call-tags.ts; all of them hold. */
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

/** A page that may be shorter than asked for, and empty, where it ends at the bound of what one look-up looks at: the cursor leads on. */
export interface LogPage extends Page<CallSummary> {
  /** Until when it has looked; null: until the end, or until the page was full. */
  readonly lookedToMs: number | null;
}

/** What was said in a call, as it is kept. */
export interface StoredContent {
  readonly traceId: string;
  readonly tenantId: string;
  readonly projectId: string;
  readonly expiresMs: number;
  /** Encrypted: see content-store.ts. */
  readonly body: Uint8Array;
}

/** What sums can be told apart by. `day` is a day in UTC. */
export const USAGE_DIMENSIONS = [
  "tenant",
  "project",
  "token",
  "user",
  "end_user",
  "route",
  "provider",
  "model",
  "day",
] as const;
export type UsageDimension = (typeof USAGE_DIMENSIONS)[number];

export const USAGE_ORDERS = ["group", "cost", "tokens", "calls"] as const;
export type UsageOrder = (typeof USAGE_ORDERS)[number];

export interface UsageQuery extends CallScope {
  /** Inclusive and exclusive: full hours, or full days where end users are asked for. StoreError `invalid` otherwise. */
  readonly fromMs?: number;
  readonly toMs?: number;
  readonly by: readonly UsageDimension[];
  /** `group`: by the values of `by`, in pages. The others: the largest first, one page. */
  readonly order: UsageOrder;
}

/** Upper bounds of the buckets that the times of calls are counted in, in milliseconds; what is above the last is in one more. */
export const LATENCY_BOUNDS_MS = [100, 250, 500, 1000, 2500, 5000, 10_000, 30_000, 60_000, 120_000] as const;

/** Sums of calls; bigints, because a sum may be more than a number counts. */
export interface UsageSums {
  readonly calls: bigint;
  readonly errors: bigint;
  /** Calls that used something whose price was not known. */
  readonly unpriced: bigint;
  readonly promptTokens: bigint;
  readonly completionTokens: bigint;
  readonly cachedTokens: bigint;
  readonly reasoningTokens: bigint;
  readonly costNanoUsd: bigint;
  readonly totalMs: bigint;
  /** Calls by their time: one for each of LATENCY_BOUNDS_MS, and one more. */
  readonly latency: readonly bigint[];
}

export interface UsageRow {
  /** A value for each of `by`, in its order: the day as `2026-01-31`; null: none. */
  readonly group: readonly (string | null)[];
  readonly sums: UsageSums;
}

export interface StoredCall {
  readonly summary: CallSummary;
  /** Null: it is older than details are kept. */
  readonly record: CallRecord | null;
}

/** Dimensions by which a budget may have an account for each value. */
export type AccountDimension = Exclude<UsageDimension, "day" | "tenant" | "project">;

export interface SpentQuery extends CallScope {
  /** What began before is left out. Any moment. */
  readonly sinceMs: number;
  readonly by: readonly (AccountDimension | "tenant" | "project")[];
}

export interface Spent {
  /** A value for each of `by`, in its order; null: none. */
  readonly values: readonly (string | null)[];
  readonly calls: bigint;
  /** Of prompts and answers together. */
  readonly tokens: bigint;
  readonly costNanoUsd: bigint;
}

/** What began before these moments goes; null: nothing of that kind does. */
export interface KeptSince {
  readonly callsMs: number | null;
  readonly detailsMs: number | null;
  /** Of journal-places.ts: places that a journal has left behind. */
  readonly placesMs: number | null;
}

/** Every method throws StoreError. Reads never delay calls: they run beside the process's own thread, or in the database. */
export interface CallStore extends LedgerSink, ReplicaTable {
  /** Looks at a bounded number of calls. */
  searchCalls(page: PageRequest, filter: LogFilter): Promise<LogPage>;
  /** The sealed key of a tenant's contents: the one that is there, else this one. */
  contentKey(tenantId: string, sealed: string): Promise<string>;
  /** A content whose call has one already is left out, and one whose project is not there any more. */
  keepContents(contents: readonly StoredContent[]): Promise<void>;
  findContent(traceId: string): Promise<StoredContent | null>;
  /** Of how many calls something is kept in a place. */
  countContents(place: { readonly tenantId: string; readonly projectId: string | null }): Promise<number>;
  /** Removes contents whose time is over, or all of a place; some at a time, so ask until it is 0. Gives how many went. */
  removeContents(
    which: { readonly expiredMs: number } | { readonly tenantId: string; readonly projectId: string | null },
  ): Promise<number>;
  /** Null also where it is of another tenant than `tenantId`. */
  findCall(traceId: string, tenantId?: string): Promise<StoredCall | null>;
  /** Sums by group. An order other than `group` gives one page, whose cursor is null. */
  usage(page: PageRequest, query: UsageQuery): Promise<Page<UsageRow>>;
  /** The sum over everything that the query covers. */
  usageTotals(query: Omit<UsageQuery, "by" | "order">): Promise<UsageSums>;
  /** What has been used since a moment, for accounts that begin anew. */
  spent(query: SpentQuery): Promise<readonly Spent[]>;
  /** Removes what is older; sums stay. Gives how many rows went; at most some thousand of each kind at a time, so ask until it is 0. */
  prune(before: KeptSince): Promise<number>;
  close(): Promise<void>;
}
