// Inputs that no guard can read: lists of token ids.
import type { ChatRequest } from "../../core/chat.ts";
import { invalidRequest } from "../../core/refusals.ts";
import type { Call } from "../call/call.ts";

/** Throws `invalid_request` for inputs that a guard of the call cannot read, where it blocks what it could not search. */
export function requireReadable(request: ChatRequest, { policies }: Pick<Call, "policies">): void {
  if (policies?.requests.blocksUnread("the guard cannot read tokens") !== true) return;
  const path = request.form.pathOf("messages", request);
  throw invalidRequest(
    path,
    `${path} must be text in this call, because a guard searches what is sent and cannot read tokens.`,
  );
}
