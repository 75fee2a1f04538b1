// The answers of the admin API that the console reads. `npm run docs` writes this file from the OpenAPI document.

export interface LogPage {
  readonly data: readonly LoggedCall[];
  /** Null on the last page. */
  readonly next_cursor: string | null;
  /** Where the search stopped before the page was full, because one request searches a bounded number of calls; continue with `next_cursor`. Null if the page is full or the last. */
  readonly looked_to: string | null;
}

export interface LoggedCall {
  readonly trace_id: string;
  /** Time in UTC. */
  readonly at: string;
  readonly tenant_id: string | null;
  readonly project_id: string | null;
  readonly token_id: string | null;
  readonly user_id: string | null;
  readonly end_user: string | null;
  readonly route: string | null;
  readonly provider: string | null;
  readonly model: string | null;
  readonly status: number;
  readonly code: string | null;
  readonly stream: boolean;
  readonly cancelled: boolean;
  readonly attempts: number;
  readonly prompt_tokens: number;
  readonly completion_tokens: number;
  readonly cached_tokens: number;
  readonly reasoning_tokens: number;
  readonly cost_usd: string | null;
  readonly total_ms: number;
  readonly first_content_ms: number | null;
  /** `model` as the caller wrote it. */
  readonly model_asked: string | null;
  /** The finish reason of the first choice. */
  readonly finish_reason: string | null;
  /** False if the gateway process ended before the call did; the call was then charged what was reserved for it. */
  readonly settled: boolean;
  /** What was called, such as `chat.completions`. */
  readonly operation: string;
  /** What became of the call in the response cache; null where it was off. */
  readonly cache: "hit" | "miss" | "bypass" | null;
  /** Whether the gateway estimated the usage, because the provider reported none. */
  readonly estimated: boolean;
}

export interface LoggedCallDetail {
  readonly trace_id: string;
  /** Time in UTC. */
  readonly at: string;
  readonly tenant_id: string | null;
  readonly project_id: string | null;
  readonly token_id: string | null;
  readonly user_id: string | null;
  readonly end_user: string | null;
  readonly route: string | null;
  readonly provider: string | null;
  readonly model: string | null;
  readonly status: number;
  readonly code: string | null;
  readonly stream: boolean;
  readonly cancelled: boolean;
  readonly attempts: number;
  readonly prompt_tokens: number;
  readonly completion_tokens: number;
  readonly cached_tokens: number;
  readonly reasoning_tokens: number;
  readonly cost_usd: string | null;
  readonly total_ms: number;
  readonly first_content_ms: number | null;
  /** `model` as the caller wrote it. */
  readonly model_asked: string | null;
  /** The finish reason of the first choice. */
  readonly finish_reason: string | null;
  /** False if the gateway process ended before the call did; the call was then charged what was reserved for it. */
  readonly settled: boolean;
  /** What was called, such as `chat.completions`. */
  readonly operation: string;
  /** What became of the call in the response cache; null where it was off. */
  readonly cache: "hit" | "miss" | "bypass" | null;
  /** Whether the gateway estimated the usage, because the provider reported none. */
  readonly estimated: boolean;
  /** All details of the call, with the field names of the log; null if they are older than details are kept. */
  readonly record: Readonly<Record<string, unknown>> | null;
  /** Until when the content of the call is kept; null if it is not kept. */
  readonly content_kept_until: string | null;
}
