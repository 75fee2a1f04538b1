// The message of a non-streaming answer, made from what its parts contribute.
import type { AnswerMessage, ReasoningDetail, ToolCall } from "../../core/chat.ts";
import { TurnOrder, withOrder } from "../../core/request/turn-order.ts";
import type { JsonObject } from "../../core/json.ts";

export interface TurnParts {
  text: string;
  reasoning: string;
  refusal: string;
  readonly details: ReasoningDetail[];
  readonly calls: ToolCall[];
  readonly annotations: JsonObject[];
  readonly order: TurnOrder;
}

export function emptyParts(): TurnParts {
  return { text: "", reasoning: "", refusal: "", details: [], calls: [], annotations: [], order: new TurnOrder() };
}

/** Called after each block. */
export function noteBlock({ text, reasoning, details, calls, order }: TurnParts): void {
  order.note({ text: text.length, reasoning: reasoning.length, details: details.length, calls: calls.length });
}

export function turnMessage(parts: TurnParts): AnswerMessage {
  const { text, reasoning, refusal, details, calls, annotations, order } = parts;
  const message = {
    role: "assistant" as const,
    content: text === "" && (calls.length > 0 || refusal !== "") ? null : text,
    ...(refusal !== "" && { refusal }),
    ...(reasoning !== "" && { reasoning_content: reasoning }),
    ...(details.length > 0 && { reasoning_details: details }),
    ...(calls.length > 0 && { tool_calls: calls }),
    ...(annotations.length > 0 && { annotations }),
  };
  return withOrder(message, order.pieces);
}
