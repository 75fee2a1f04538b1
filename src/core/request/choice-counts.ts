// How many prompts a request has, and how many choices its answer.
import type { ChatRequest } from "../chat.ts";
import { messageCount } from "./conversation-figures.ts";

/** Returns how many prompts a request has; 1 for a conversation. */
export function promptCount(request: Pick<ChatRequest, "form" | "messages" | "held">): number {
  return request.form.rawPrompts === undefined ? 1 : messageCount(request);
}

/** Returns how many choices the answer has: as many as requested for each prompt. */
export function choiceCount(request: Pick<ChatRequest, "form" | "messages" | "held" | "params">): number {
  return (request.params.n ?? 1) * promptCount(request);
}

/** Returns how many choices a whole answer has at least: those of every prompt, where there are several, and else one. */
export function leastChoices(request: Parameters<typeof choiceCount>[0]): number {
  return promptCount(request) > 1 ? choiceCount(request) : 1;
}

/** Returns how many answers are generated for each prompt, of which some may not be shown. */
export function generatedCount({ form, params, extra }: ChatRequest): number {
  const { n = 1 } = params;
  const best = form.rawPrompts === undefined ? undefined : extra["best_of"];
  return typeof best === "number" ? Math.max(n, best) : n;
}
