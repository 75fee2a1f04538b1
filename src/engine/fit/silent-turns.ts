// Turns of the model that say nothing to a target. In a translated request, a turn may have nothing but reasoning that
// only another provider can read; without it, an empty message of the assistant would be left, which providers refuse
// or take for an answer.
import type { ChatRequest, Message, MessageRole } from "../../core/chat.ts";
import { withMembers } from "../../core/request/request-source.ts";

/** The roles whose empty messages are left out of translated requests at every provider. */
export const SILENT_ROLES: ReadonlySet<MessageRole> = new Set(["assistant"]);

/** Returns the same request when it has no such turn. */
export function withoutSilentTurns(request: ChatRequest): ChatRequest {
  if (request.written === undefined || !request.messages.some(isSilent)) return request;
  const messages = request.messages.filter((message) => !isSilent(message));
  return messages.length === 0 ? request : withMembers(request, { messages });
}

function isSilent({ role, content, ...others }: Message): boolean {
  return (
    SILENT_ROLES.has(role) &&
    (content === "" || content === null || (Array.isArray(content) && content.length === 0)) &&
    Object.values(others).every((member) => member === undefined || member === null)
  );
}
