// Chunks with signatures of reasoning: a signature ends its text, which then has to be judged as a whole.
import type { ChatChunk, ChunkChoice, ReasoningDetail } from "../../core/chat.ts";
import { isObject, isText } from "../../core/json.ts";

function detailsOf(chunk: ChatChunk): readonly ReasoningDetail[] {
  const choices: unknown = chunk.choices;
  return (Array.isArray(choices) ? (choices as readonly ChunkChoice[]) : []).flatMap((choice) => {
    const details: unknown = choice.delta?.reasoning_details;
    return Array.isArray(details) ? (details as readonly ReasoningDetail[]).filter(isObject) : [];
  });
}

export function isSigned(chunk: ChatChunk): boolean {
  return detailsOf(chunk).some(({ signature }) => typeof signature === "string" && signature !== "");
}

/** A signature ends its text at once, so that the text comes in a chunk before it. */
export function withSignaturesApart(chunk: ChatChunk): readonly ChatChunk[] {
  if (!isSigned(chunk)) return [chunk];
  const texts: ChatChunk = {
    choices: chunk.choices.map(({ index, delta }) => ({
      ...(index !== undefined && { index }),
      delta: {
        reasoning_details: (delta?.reasoning_details ?? [])
          .filter(({ text, summary }) => isText(text) || isText(summary))
          .map(({ signature: _signature, data: _data, ...detail }) => detail),
      },
    })),
  };
  const signatures: ChatChunk = {
    ...chunk,
    choices: chunk.choices.map((choice) => ({
      ...choice,
      ...(choice.delta?.reasoning_details != null && {
        delta: {
          ...choice.delta,
          reasoning_details: choice.delta.reasoning_details.map((detail) => ({
            ...detail,
            ...(isText(detail["text"]) && { text: "" }),
            ...(isText(detail["summary"]) && { summary: "" }),
          })),
        },
      }),
    })),
  };
  return [texts, signatures];
}
