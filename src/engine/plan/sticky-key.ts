// What the calls of one conversation have in common, by which they stay at one target (promises 7.5 and 16.2).

// Decides (targets and attempts): Which calls stay together? By: `stickyKeyOf`. Also: the headers of agents:
// `providers/agent-sessions.ts`. Rule: Those of the same sticky key; without one, and with `prompt_cache: auto`, those
// of the same session of a coding agent.
import type { ChatRequest } from "../../core/chat.ts";
import type { Route, Sticky } from "../../core/configured/route.ts";
import { openingOf } from "../long-bodies/held-conversation.ts";
import { agentSession } from "../../providers/agent-sessions.ts";

/** Returns null for a call that the strategy alone sends to a target. */
export function stickyKeyOf(
  { sticky }: Pick<Route, "sticky">,
  request: ChatRequest,
  http: Headers,
  cachesPrompts: boolean,
): string | null {
  const key = sticky === null ? null : stickyKey(sticky, request, http);
  return key === null && cachesPrompts ? agentSession(http) : key;
}

function stickyKey(sticky: Sticky, { params, messages, held }: ChatRequest, http: Headers): string | null {
  if (sticky.by === "user") return params.user ?? params.safety_identifier ?? null;
  return sticky.by === "header" ? http.get(sticky.name) : (held?.opening ?? openingOf(messages));
}
