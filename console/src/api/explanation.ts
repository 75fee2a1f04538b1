// The answer of `x-gateway-explain` (docs/api.md), as far as the console shows it.
export interface ExplainedTarget {
  readonly order: number;
  readonly target: string;
  readonly why: string;
  /** Present where the call would not be sent to this target; the members below are then absent. */
  readonly passed_over?: { readonly code: string; readonly message: string };
  readonly parameters?: readonly { readonly name: string; readonly fate: string; readonly note: string | null }[];
  readonly request?: {
    readonly method: string;
    readonly url: string;
    readonly headers?: Readonly<Record<string, string>>;
    readonly body: unknown;
    readonly body_text?: string | null;
  };
  readonly estimate?: {
    readonly prompt_tokens: number;
    readonly completion_tokens_bound: number | null;
    readonly cost_usd: { readonly total_bound: string | null };
  };
}

export interface Explanation {
  readonly route: string;
  readonly targets: readonly ExplainedTarget[];
  readonly limits: readonly {
    readonly id: string;
    readonly kind: string;
    readonly mode: string;
    readonly fits: boolean;
  }[];
  readonly policies: readonly { readonly name: string; readonly kind: string; readonly mode: string }[];
}
