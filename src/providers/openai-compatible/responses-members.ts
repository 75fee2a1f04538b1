// What a row's models that speak only the Responses API take back of a conversation: reasoning that this provider has
// encrypted, and turns that chat completions cannot express.
import { withMarks } from "../conversation/cache-breakpoints.ts";
import {
  conversationMembers,
  type ConversationMembers,
  type MemberTable,
} from "../conversation/conversation-members.ts";
import { hasReasoningBack, type ReasoningBack } from "../responses/encode-items.ts";
import type { OpenAICompatibleRow, ResponsesModels } from "./row.ts";

export function reasoningBack(
  { id }: Pick<OpenAICompatibleRow, "id">,
  { reasoningFormat }: ResponsesModels,
): ReasoningBack {
  return { accepts: (format) => format === reasoningFormat, carriedAs: id };
}

/** What messages may hold: https://platform.openai.com/docs/api-reference/responses/create (input). */
export function responsesMembers(
  row: Pick<OpenAICompatibleRow, "id">,
  models: ResponsesModels,
  isMarked: boolean,
): ConversationMembers {
  const back = reasoningBack(row, models);
  const table: MemberTable = {
    source: models.source,
    assistant: ["refusal", "function_call", "annotations", "reasoning_content", "reasoning_details"],
    tool: ["name"],
    extraContent: [back.carriedAs],
    hasSignedReasoning: (message) => hasReasoningBack(message, back),
  };
  return conversationMembers(isMarked ? withMarks(table) : table);
}
