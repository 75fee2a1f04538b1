// The reservation estimate: what an attempt may use at most, before it is made (promise 4.2). It consists of the
// estimated prompt and the bound of the answer, for each choice, at the current price. `usedOf` computes what the
// attempt has used.
import { costBound } from "../../accounting/cost.ts";
import type { ReservationEstimate, Used } from "../../admission/call-admission.ts";
import type { Usage } from "../../core/chat.ts";
import { countedTokens } from "../../core/usage.ts";
import { countedCost, countedPrice, type PricedCall } from "./call-price.ts";
import type { Call } from "../call/call.ts";
import { promptTokens } from "./cost-estimate.ts";
import { callsFor, type FittedRequest } from "../fit/fit.ts";
import type { Resolved } from "./resolve-target.ts";

type Attempted = Pick<Resolved, "provider" | "target">;

export function estimateReservation(
  { request }: FittedRequest,
  resolved: Attempted,
  call: PricedCall & Pick<Call, "mayPrice">,
): ReservationEstimate {
  const { n = 1, max_completion_tokens: requested = request.params.max_tokens } = request.params;
  let prompt: number | null = null;
  return {
    requests: callsFor(request, resolved.provider, resolved.target.model),
    bound({ unit, assumeOutputTokens }) {
      prompt ??= promptTokens(request);
      const output =
        requested ?? Math.min(resolved.target.facts.maxOutputTokens ?? Number.POSITIVE_INFINITY, assumeOutputTokens);
      if (unit === "tokens") return (prompt + output) * n;
      const price = countedPrice(request, resolved, call);
      const each = price === null ? null : costBound(prompt, output, 1, price.rates);
      return each === null ? null : each * n;
    },
  };
}

const NOTHING: Used = { tokens: 0, nanoUsd: 0 };

/** `usage` is null when no usage is known. */
export function usedOf(
  usage: Usage | null,
  { request }: FittedRequest,
  resolved: Attempted,
  call: PricedCall & Pick<Call, "mayPrice">,
): Used {
  if (usage === null) return NOTHING;
  return { tokens: countedTokens(usage), nanoUsd: countedCost(usage, request, resolved, call)?.nanoUsd ?? 0 };
}
