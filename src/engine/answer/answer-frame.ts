// What non-streaming and streamed answers have in common: the frame around the content, and the response head.

// Decides (the answer): In which headers does an answer tell its target, its cost, and whether it was in the cache? By:
// `answerHeaders`. Also: the cost: `reply-non-streaming.ts`; `engine/call/reply-headers.ts` (`baseHeaders`,
// `providerHeaders`). Rule: `x-gateway-model`, `x-gateway-cache`; `x-gateway-cost-usd` where it was asked for, in answers
// that are no streams. A head that leaves before the target is known names none.
import type { ChatRequest } from "../../core/chat.ts";
import { attemptSummary } from "../../core/record/record.ts";
import { DIRECT_ROUTE } from "../../core/configured/route.ts";
import { type Target, targetName } from "../../core/target.ts";
import type { Call } from "../call/call.ts";
import type { FittedRequest } from "../fit/fit.ts";
import type { OpenAttempt } from "../attempt/run-attempt.ts";
import { choiceCount, leastChoices } from "../../core/request/choice-counts.ts";
import { baseHeaders, pathsHeader, providerHeaders } from "../call/reply-headers.ts";
import type { AnswerFrame } from "./strict-fields.ts";

/**
 * The tool calls of a round take the deprecated form of functions only after those that the gateway runs were removed.
 */
export function answerFrame(
  { fitted, resolved, route, cached }: OpenAttempt,
  call: Call,
  isRound = false,
): AnswerFrame {
  const { provider, target } = resolved;
  return {
    traceId: call.traceId,
    model: targetName(target),
    route,
    nowSeconds: Math.floor(call.record.startedAtMs / 1000),
    sameShape: provider.sameShape,
    legacyFunctions: !isRound && fitted.request.options.legacyFunctions,
    choices: choiceCount(fitted.request),
    leastChoices: leastChoices(fitted.request),
    ...(fitted.firstCallAlone === true && { firstCallAlone: true as const }),
    isRepeated: cached?.isRepeated === true,
  };
}

/** The most attempts that a header lists, because proxies bound the size of a response head. */
const MAX_LISTED = 32;

/** `target` is null when the head is sent before it is known which target will answer (promise 7.4). */
export function answerHeaders(
  call: Call,
  fitted: FittedRequest | null,
  target: Target | null,
  contentType: string,
): Record<string, string> {
  const headers = baseHeaders(call.traceId, call.clock.ownMs());
  headers["content-type"] = contentType;
  Object.assign(headers, call.cors, call.rateHeaders());
  if (target !== null) {
    headers["x-gateway-model"] = targetName(target);
    if (fitted !== null && !hasRouteInBody(fitted.request))
      headers["x-gateway-route"] = call.record.route ?? DIRECT_ROUTE;
    Object.assign(headers, providerHeaders(call.record));
    headers["x-gateway-attempts"] = String(call.record.attempts.length);
    if (call.mayDebug)
      headers["x-gateway-attempt-list"] = JSON.stringify(call.record.attempts.slice(-MAX_LISTED).map(attemptSummary));
  }
  const { cache } = call.record;
  if (cache !== null) {
    headers["x-gateway-cache"] = cache.outcome;
    if (cache.key !== null) headers["x-gateway-cache-key"] = cache.key;
  }
  if (fitted !== null && fitted.dropped.length > 0) headers["x-gateway-dropped-params"] = pathsHeader(fitted.dropped);
  if (call.record.warnings.length > 0) headers["x-gateway-warnings"] = call.record.warnings.join(",");
  return headers;
}

/** Bodies in other forms than the engine's have no member for the route (promise 12.2). */
function hasRouteInBody({ written, form }: ChatRequest): boolean {
  return written === undefined && form.task === undefined;
}
