// Measures what one attempt uses and charges the call for it once, however the attempt ends (promise 4.2,
// docs/design/sliding-windows.md). A request that reached a provider and was not refused is paid for: by the provider's
// figures where there are any, otherwise by an estimate, which is at least the prompt and what was generated.
import { estimatedUsage } from "../../accounting/estimate.ts";
import { summedUsage } from "../../accounting/summed-usage.ts";
import type { ChatRequest, Usage } from "../../core/chat.ts";
import type { AttemptRecorder } from "./attempt-recorder.ts";
import { type PricedAttempt, charge } from "../plan/call-price.ts";
import type { Call } from "../call/call.ts";
import { promptTokens } from "../plan/cost-estimate.ts";
import type { StreamNormalizer } from "../answer/stream-normalizer.ts";

export interface AttemptUsage {
  readonly usage: Usage;
  /** Whether the usage, or a part of it, is the gateway's estimate. */
  readonly isEstimated: boolean;
}

/**
 * Returns the usage that the answer to the upstream request at this index shows so far; `null` while nothing was
 * generated and no figures came.
 */
export type UsageSource = (index: number) => AttemptUsage | null;

export class AttemptMeter {
  readonly #call: Call;
  readonly #attempt: PricedAttempt & { readonly fitted: { readonly request: ChatRequest } };
  readonly #requests: readonly AttemptRecorder[];
  #source: UsageSource | null = null;
  /** Upstream requests that reached their providers and were not refused. */
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

  /** From here on, usage is read from the answers. */
  readFrom(source: UsageSource): void {
    this.#source = source;
  }

  /** Records whether the provider has the request: false when it never arrived or was refused. */
  accepted(request: AttemptRecorder, isAccepted: boolean): void {
    if (isAccepted) this.#accepted.add(request);
    else this.#accepted.delete(request);
  }

  /** Whether the answer to this request has shown usage: figures, or generated content. */
  hasUsage(request: AttemptRecorder): boolean {
    return this.#source?.(this.#requests.indexOf(request)) != null;
  }

  /**
   * What the attempt has used so far, as the sum over its requests; `null` when it reached no provider or was refused.
   */
  get usage(): AttemptUsage | null {
    if (this.#requests.length === 1) return this.#usageOf(0);
    const parts = this.#requests.map((_, index) => this.#usageOf(index)).filter((part) => part !== null);
    const usage = parts.length === 0 ? null : summedUsage(parts.map((part) => part.usage));
    return usage === null ? null : { usage, isEstimated: parts.some(({ isEstimated }) => isEstimated) };
  }

  #usageOf(index: number): AttemptUsage | null {
    const seen = this.#source?.(index) ?? null;
    if (seen !== null || !this.#accepted.has(this.#requests[index]!)) return seen;
    const prompt = promptTokens(this.#attempt.fitted.request);
    return { usage: { prompt_tokens: prompt, completion_tokens: 0, total_tokens: prompt }, isEstimated: true };
  }

  /** Charges the call; only the first charge of an attempt counts. */
  charge({ usage }: Pick<AttemptUsage, "usage">): void {
    if (this.#isCharged) return;
    this.#isCharged = true;
    charge(this.#call, this.#attempt.fitted.request, this.#attempt.resolved, usage);
  }

  /**
   * Called when the attempt is over. Records the usage of each upstream request, and charges what was not charged with
   * an answer.
   */
  close(): void {
    for (const [index, request] of this.#requests.entries()) {
      const part = this.#usageOf(index);
      request.usageKnown(part?.usage ?? null, part === null ? null : part.isEstimated ? "estimated" : "provider");
    }
    const used = this.usage;
    if (this.#isCharged || used === null) return;
    this.charge(used);
    // the usage of an attempt without an answer becomes the call's usage only where nothing better is known
    if (!this.#call.recorder.knowsUsage) this.#call.recorder.used(used.usage, used.isEstimated);
  }
}

/**
 * Returns what a stream has used so far; `null` when nothing is known. Figures that came before its end need not
 * contain all that was generated since.
 */
export function streamUsage(
  request: ChatRequest,
  stream: Pick<StreamNormalizer, "reportedUsage" | "hasGenerated" | "generated" | "isComplete">,
): AttemptUsage | null {
  const { reportedUsage: reported } = stream;
  if (reported !== null && (stream.isComplete || !stream.hasGenerated)) return { usage: reported, isEstimated: false };
  if (!stream.hasGenerated) return null;
  const estimated = estimatedUsage(promptTokens(request), stream.generated);
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
