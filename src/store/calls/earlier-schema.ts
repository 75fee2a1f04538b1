// The tables in which earlier versions kept calls, with names as text and trace ids as keys. They are emptied in the
// background (earlier-calls.ts).
export interface EarlierCall {
  readonly trace_id: string;
  readonly time_ms: bigint;
  readonly tenant_id: string;
  readonly project_id: string;
  readonly token_id: string;
  readonly user_id: string;
  readonly route: string;
  readonly provider: string;
  readonly model: string;
  readonly end_user: string;
  readonly status: bigint;
  readonly code: string;
  readonly stream: bigint;
  readonly cancelled: bigint;
  readonly explained: bigint;
  readonly attempts: bigint;
  readonly prompt_tokens: bigint;
  readonly completion_tokens: bigint;
  readonly cached_tokens: bigint;
  readonly reasoning_tokens: bigint;
  readonly cost_nano_usd: bigint | null;
  readonly total_ms: bigint;
  readonly first_content_ms: bigint | null;
  readonly settled: bigint;
  readonly model_asked: string;
  readonly finish_reason: string;
  readonly tags: string;
}

export interface EarlierSchema {
  readonly earlier_call: EarlierCall;
  readonly earlier_call_detail: { readonly trace_id: string; readonly time_ms: bigint; readonly record: string };
}
