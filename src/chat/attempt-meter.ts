// Measures what one attempt uses and charges the call for it once, whichever way the attempt ends (promise 4.2, docs/decisions/0016). What reached a provider that
// did not refuse it is paid for: by the provider's figures where they came, otherwise by estimate, which is the prompt at least and what was generated.
import { estimatedUsage } from "../accounting/estimate.ts";
import type { ChatRequest, Usage } from "../core/chat.ts";
import type { AttemptRecorder } from "./attempt-recorder.ts";
import { type PricedAttempt, charge } from "./call-price.ts";
import type { Call } from "./call.ts";
import { conversationTokens, promptTokens } from "./cost-estimate.ts";
import type { StreamGrammar } from "./stream-grammar.ts";

export interface AttemptUsage {
  readonly usage: Usage;
  /** The usage, or a part of it, is an estimate of the gateway's. */
  readonly isEstimated: boolean;
}

/** What an answer that is being read shows of its usage. */
export interface UsageSource {
  /** The usage so far; null while nothing was generated. */
  seen(): AttemptUsage | null;
  /** The provider's own figures for the upstream request at this place of the attempt; null while there are none. */
  reported(index: number): Usage | null;
}

export class AttemptMeter {
  readonly #call: Call;
  readonly #attempt: PricedAttempt & { readonly fitted: { readonly request: ChatRequest } };
  readonly #requests: readonly AttemptRecorder[];
  #source: UsageSource | null = null;
  /** Upstream requests that their providers have, and did not refuse. */
  readonly #accepted = new Set<AttemptRecorder>();
  #isCharged = false;

  constructor(
    call: Call,
    attempt: PricedAttempt & { readonly fitted: { readonly request: ChatRequest } },
    requests: readonly AttemptRecorder[],
  ) {
    this.#call = call;
    this.#attempt = attempt;
    this.#requests = requests;
  }

  /** Usage is read from the answer from here on. */
  readFrom(source: UsageSource): void {
    this.#source = source;
  }

  /** Notes whether the provider has the request: false where it never arrived, or was refused. */
  accepted(request: AttemptRecorder, isAccepted: boolean): void {
    if (isAccepted) this.#accepted.add(request);
    else this.#accepted.delete(request);
  }

  /** The answer has shown generated content. */
  get hasGenerated(): boolean {
    return this.#source?.seen() != null;
  }

  /** What the attempt has used so far; null where it reached no provider, or was refused. */
  get usage(): AttemptUsage | null {
    const seen = this.#source?.seen() ?? null;
    if (seen !== null) return seen;
    if (this.#accepted.size === 0) return null;
    const prompt = promptTokens(this.#attempt.fitted.request) * this.#accepted.size;
    return { usage: { prompt_tokens: prompt, completion_tokens: 0, total_tokens: prompt }, isEstimated: true };
  }

  /** Charges the call; only the first charge of an attempt counts. */
  charge({ usage }: Pick<AttemptUsage, "usage">): void {
    if (this.#isCharged) return;
    this.#isCharged = true;
    charge(this.#call, this.#attempt.fitted.request, this.#attempt.resolved, usage);
  }

  /** The attempt is over. Records the usage of each upstream request, and charges what no answer was charged for. */
  close(): void {
    const used = this.usage;
    this.#record(used);
    if (this.#isCharged || used === null) return;
    this.charge(used);
    // usage of an attempt that brought no answer is the call's usage only where nothing better is known
    if (!this.#call.knowsUsage) this.#call.noteUsage(used.usage, used.isEstimated);
  }

  #record(used: AttemptUsage | null): void {
    const [only] = this.#requests;
    // an estimate is one of the whole attempt
    if (this.#requests.length === 1 && used !== null && used.isEstimated)
      return only!.usageKnown(used.usage, "estimated");
    for (const [index, request] of this.#requests.entries()) {
      const reported = this.#source?.reported(index) ?? null;
      request.usageKnown(reported, reported === null ? null : "provider");
    }
  }
}

/** What a stream has used by now; null where nothing is known. Figures that came before its end need not hold all that was generated since. */
export function streamUsage(
  request: ChatRequest,
  grammar: Pick<StreamGrammar, "reportedUsage" | "hasGenerated" | "generated" | "isComplete">,
): AttemptUsage | null {
  const { reportedUsage: reported } = grammar;
  if (reported !== null && (grammar.isComplete || !grammar.hasGenerated))
    return { usage: reported, isEstimated: false };
  if (!grammar.hasGenerated) return null;
  const estimated = estimatedUsage(conversationTokens(request), grammar.generated);
  if (reported === null) return { usage: estimated, isEstimated: true };
  const unseen = estimated.completion_tokens - reported.completion_tokens;
  if (unseen <= 0) return { usage: reported, isEstimated: false };
  return {
    usage: {
      ...reported,
      completion_tokens: estimated.completion_tokens,
      total_tokens: reported.total_tokens + unseen,
    },
    isEstimated: true,
  };
}
