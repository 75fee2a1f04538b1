// What is charged of an attempt that this side ended after the provider's answer had begun and before anything came of it (decisions 4.2, docs/decisions/0016).
import type { ChatRequest, Usage } from "../core/chat.ts";
import type { AttemptScope } from "./attempt-scope.ts";
import { type PricedAttempt, charge } from "./call-price.ts";
import type { Call } from "./call.ts";
import { promptTokens } from "./cost-estimate.ts";

/** The prompt, which the provider has taken; null: the answer had not begun, or something is known of it. */
export function leftUsage(request: ChatRequest, scope: AttemptScope): Usage | null {
  const begun = scope.usage() === null ? scope.leftBegun() : 0;
  if (begun === 0) return null;
  const prompt = promptTokens(request) * begun;
  return { prompt_tokens: prompt, completion_tokens: 0, total_tokens: prompt };
}

/** Notes what each of an attempt's requests used, once nothing of it is under way: won, failed or left behind. */
export function noteUsage(request: ChatRequest, scope: AttemptScope): void {
  const { attempts } = scope;
  for (const [index, attempt] of attempts.entries()) {
    attempt.usage = scope.reported(index);
    attempt.usageSource = attempt.usage === null ? null : "provider";
  }
  const [only] = attempts;
  // an estimate is one of the whole attempt
  if (attempts.length !== 1 || only!.usage !== null) return;
  only!.usage = scope.usage() ?? leftUsage(request, scope);
  only!.usageSource = only!.usage === null ? null : "estimated";
}

/** Notes it as the usage of a call of which nothing better is known. */
export function chargeLeft(call: Call, { fitted: { request }, resolved }: PricedAttempt, scope: AttemptScope): void {
  const seen = scope.isUnshown ? scope.usage() : null;
  const usage = seen ?? leftUsage(request, scope);
  if (usage === null) return;
  charge(call, request, resolved, usage);
  if (!call.knowsUsage) call.noteUsage(usage, seen === null || scope.reported(0) === null);
}
