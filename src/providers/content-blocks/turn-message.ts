// The message of a non-streaming answer, made from what its content blocks contribute.
import type { AnswerMessage, ReasoningDetail, ToolCall } from "../../core/chat.ts";
import type { JsonObject } from "../../core/json.ts";

export interface TurnParts {
  text: string;
  reasoning: string;
  readonly details: ReasoningDetail[];
  readonly calls: ToolCall[];
  readonly annotations: JsonObject[];
}

export function emptyParts(): TurnParts {
  return { text: "", reasoning: "", details: [], calls: [], annotations: [] };
}

export function turnMessage({ text, reasoning, details, calls, annotations }: TurnParts): AnswerMessage {
  return {
    role: "assistant",
    content: text === "" && calls.length > 0 ? null : text,
    ...(reasoning !== "" && { reasoning_content: reasoning }),
    ...(details.length > 0 && { reasoning_details: details }),
    ...(calls.length > 0 && { tool_calls: calls }),
    ...(annotations.length > 0 && { annotations }),
  };
}
