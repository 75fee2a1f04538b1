// Decodes a non-streaming answer of the chat API: https://docs.cohere.com/reference/chat#response. The plan that older
// models write before a tool call becomes reasoning, as the thinking blocks of newer models do.
import type { AnswerMessage, ChatAnswer, ToolCall } from "../../core/chat.ts";
import { isObject, type Json, type JsonObject, objectsIn, textOrEmpty } from "../../core/json.ts";
import type { DecodeContext } from "../interface/encoded-request.ts";
import { MalformedAnswer, StreamError, withCounted } from "../interface/upstream-failure.ts";
import { annotationsOf, citedBlock } from "./citations.ts";
import { classifyError } from "./errors.ts";
import { finishOf, logprobsOf, usageOf } from "./outcome.ts";
import { parseSentObject } from "../answers/sent-json.ts";
import { emptyParts, noteBlock, turnMessage } from "../answers/turn-message.ts";

/** An answer that failed throws StreamError, as an error inside a 200 does. */
export function decodeResponse(
  body: string,
  _context: DecodeContext,
  answer = parseSentObject(body, "answer"),
): ChatAnswer {
  const { id, message, finish_reason: reason } = answer;
  if (!isObject(message)) {
    if (typeof message === "string" || typeof reason === "string" || (answer["error"] ?? null) !== null)
      failAnswer(answer, body);
    throw new MalformedAnswer("The provider's answer has no message.");
  }
  const logprobs = logprobsOf(answer["logprobs"]);
  const usage = usageOf(answer["usage"]);
  const finish = withCounted(
    () => usage,
    () => finishOf(reason, answer["error"]),
  );
  return {
    ...(typeof id === "string" && { id }),
    choices: [
      {
        index: 0,
        message: messageOf(message, finish.finish_reason === "length"),
        ...finish,
        ...(logprobs !== null && { logprobs }),
      },
    ],
    usage,
  };
}

function failAnswer(answer: JsonObject, body: string): never {
  const { message, finish_reason: reason, error } = answer;
  if (typeof message !== "string" && typeof reason === "string") finishOf(reason, error);
  throw new StreamError(classifyError({ status: 200, body }));
}

function messageOf(message: JsonObject, isCut: boolean): AnswerMessage {
  const { content, tool_plan: plan, tool_calls: given, citations: cited } = message;
  const blocks = typeof content === "string" ? [{ type: "text", text: content }] : objectsIn(content);
  /** Where each block begins in the text. */
  const starts: number[] = [];
  const parts = emptyParts();
  for (const block of blocks) {
    starts.push(parts.text.length);
    parts.text += textOrEmpty(block["text"]);
    parts.reasoning += textOrEmpty(block["thinking"]);
    noteBlock(parts);
  }
  parts.reasoning += textOrEmpty(plan);
  noteBlock(parts);
  parts.calls.push(...objectsIn(given).map((call) => toolCallOf(call, isCut)));
  noteBlock(parts);
  const citations = objectsIn(cited);
  parts.annotations.push(
    ...citations.flatMap((citation) => annotationsOf(citation, starts[citedBlock(citation)] ?? 0)),
  );
  return { ...turnMessage(parts), ...(citations.length > 0 && { citations }) };
}

function toolCallOf({ id, function: called }: JsonObject, isCut: boolean): ToolCall {
  const { name, arguments: text } = isObject(called) ? called : {};
  const written = argumentsOf(text);
  return {
    id: textOrEmpty(id),
    type: "function",
    function: { name: textOrEmpty(name), arguments: written === "" && !isCut ? "{}" : written },
  };
}

/** For a function without parameters, the model writes `null` or nothing as arguments. */
function argumentsOf(text: Json | undefined): string {
  if (isObject(text)) return JSON.stringify(text);
  return text === "null" ? "" : textOrEmpty(text);
}
