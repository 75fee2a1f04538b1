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

/** Notes it as the usage of a call of which nothing better is known. */
export function chargeLeft(call: Call, { fitted: { request }, resolved }: PricedAttempt, scope: AttemptScope): void {
  const usage = leftUsage(request, scope);
  if (usage === null) return;
  charge(call, request, resolved, usage);
  if (call.record.usage === null) Object.assign(call.record, { usage, usageSource: "estimated" });
}
