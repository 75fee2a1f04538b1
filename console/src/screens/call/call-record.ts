// The members of a call's record that the page shows, with the names that they have in the log (docs/operations.md). What is absent was not
// recorded: an earlier version knew less, and a refused call has no attempts.
import type { CacheMissFields } from "./cache-miss.ts";

export interface AttemptFields {
  readonly provider: string;
  readonly model?: string;
  readonly round?: number;
  readonly status?: number;
  readonly code?: string;
  readonly native_code?: string;
  readonly retry_after_ms?: number;
  readonly from_cache?: boolean;
  readonly prompt_cache_miss?: CacheMissFields;
  readonly start_ms?: number;
  readonly head_ms?: number;
  readonly first_content_ms?: number;
  readonly total_ms?: number;
}

export interface ToolFields {
  readonly server: string;
  readonly tool?: string;
  readonly round: number;
  readonly code?: string;
  readonly is_error?: boolean;
  readonly start_ms?: number;
  readonly total_ms?: number;
}

export interface PlanFields {
  readonly target: string;
  readonly why: string;
  readonly at_ms?: number;
  readonly wait_ms?: number;
  readonly round?: number;
  readonly refused?: string;
}

export interface RecordFields {
  readonly error_detail?: string;
  readonly mirror_of?: string;
  readonly mirror?: {
    readonly target?: string;
    readonly trace_id?: string;
    readonly dropped?: string;
  };
  readonly caller_cost_nano_usd?: number;
  readonly price_id?: string;
  readonly cache?: {
    readonly outcome: string;
    readonly bypass?: string;
    readonly saved_nano_usd?: number;
  };
  readonly provider_model?: string;
  readonly provider_request_id?: string;
  readonly params?: Readonly<Record<string, string>>;
  readonly messages?: {
    readonly count: number;
    readonly body_characters: number;
  };
  readonly attempts?: readonly AttemptFields[];
  readonly route_version?: number;
  readonly candidates?: readonly string[];
  readonly plan?: readonly PlanFields[];
  readonly head_ms?: number;
  readonly keep_alives?: number;
  readonly cancelled?: boolean;
  readonly code?: string;
  readonly tools?: readonly ToolFields[];
  readonly policies?: readonly { readonly name: string; readonly effect: string; readonly why?: string }[];
  /** What services of guards were asked. */
  readonly guard_services?: readonly {
    readonly policy: string;
    readonly type: string;
    readonly place: string;
    readonly requests: number;
    readonly characters: number;
    readonly waited_ms: number;
    readonly found?: readonly string[];
    readonly failures?: number;
    readonly cost_nano_usd?: number;
  }[];
  readonly warnings?: readonly string[];
  readonly metadata?: Readonly<Record<string, unknown>>;
  readonly client_request_id?: string;
  readonly otel_trace_id?: string;
  readonly snapshot?: number;
  readonly own_ms?: number;
}

/** The gateway writes the record; its members are as the type says, or absent. */
export function recordOf(record: Readonly<Record<string, unknown>> | null): RecordFields {
  return record ?? {};
}
