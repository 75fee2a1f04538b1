// What is charged of an attempt, whichever way it ends on (decisions 4.2, docs/decisions/0016): what reached a provider that did not refuse it is paid for, by the
// provider's figures where they came, else by estimate: the prompt at least, and what was generated.
import { estimatedUsage } from "../accounting/estimate.ts";
import type { ChatRequest, Usage } from "../core/chat.ts";
import type { AttemptScope } from "./attempt-scope.ts";
import { type PricedAttempt, charge } from "./call-price.ts";
import type { Call } from "./call.ts";
import { conversationTokens, promptTokens } from "./cost-estimate.ts";
import type { StreamGrammar } from "./stream-grammar.ts";

export interface AttemptUsage {
  readonly usage: Usage;
  readonly isEstimated: boolean;
}

/** Null: it did not reach a provider, or was refused. */
export function usageOf(request: ChatRequest, scope: AttemptScope): AttemptUsage | null {
  const seen = scope.usage();
  if (seen !== null) return { usage: seen, isEstimated: scope.isEstimated() };
  if (scope.taken === 0) return null;
  const prompt = promptTokens(request) * scope.taken;
  return { usage: { prompt_tokens: prompt, completion_tokens: 0, total_tokens: prompt }, isEstimated: true };
}

/** What a stream has used by now; null: nothing is known. Figures that came before its end need not hold all that was generated since. */
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

/** Notes what each of an attempt's requests used, once nothing of it is under way: won, failed or left behind. */
export function noteUsage(request: ChatRequest, scope: AttemptScope): void {
  const { attempts } = scope;
  const used = usageOf(request, scope);
  const [only] = attempts;
  // an estimate is one of the whole attempt
  if (attempts.length === 1 && used !== null && used.isEstimated) {
    only!.usage = used.usage;
    only!.usageSource = "estimated";
    return;
  }
  for (const [index, attempt] of attempts.entries()) {
    attempt.usage = scope.reported(index);
    attempt.usageSource = attempt.usage === null ? null : "provider";
  }
}

/** Charges the call for an attempt, once. */
export function chargeAttempt(
  call: Call,
  { fitted: { request }, resolved }: PricedAttempt,
  scope: AttemptScope,
  { usage }: Pick<AttemptUsage, "usage">,
): void {
  if (scope.isCharged) return;
  scope.isCharged = true;
  charge(call, request, resolved, usage);
}

/** Charges what nothing came of, and notes it as the usage of a call of which nothing better is known. */
export function chargeLeft(call: Call, attempt: PricedAttempt, scope: AttemptScope): void {
  const used = scope.isCharged ? null : usageOf(attempt.fitted.request, scope);
  if (used === null) return;
  chargeAttempt(call, attempt, scope, used);
  if (!call.knowsUsage) call.noteUsage(used.usage, used.isEstimated);
}
