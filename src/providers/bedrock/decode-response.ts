// Decodes a non-streaming answer of Converse:
// https://docs.aws.amazon.com/bedrock/latest/APIReference/API_runtime_Converse.html. What chat completions have no form
// for is carried in `extra_content` (turn-content.ts).
import type { ChatAnswer } from "../../core/chat.ts";
import { isObject, type JsonObject } from "../../core/json.ts";
import { answerToolOf } from "../claude/json-output.ts";
import { emptyParts, noteBlock, turnMessage, type TurnParts } from "../answers/turn-message.ts";
import { wholeInput } from "../content-blocks/turn-chunks.ts";
import type { DecodeContext } from "../encoded-request.ts";
import { MalformedAnswer, StreamError } from "../upstream-failure.ts";
import { classifyError } from "./errors.ts";
import { besideAnswer, finishOf, isCutOff, usageOf } from "./outcome.ts";
import { hiddenDetail, reasoningDetail } from "./reasoning.ts";
import { annotationsOf, carriedTurn, citedText, isOfService } from "./turn-content.ts";
import { parseSentObject, textOrEmpty } from "../answers/sent-json.ts";

/** Throws StreamError for an error inside a 200, and MalformedAnswer for a body that is not an answer. */
export function decodeResponse(
  body: string,
  context: DecodeContext,
  answer = parseSentObject(body, "answer"),
): ChatAnswer {
  const { output, stopReason, usage } = answer;
  const message = isObject(output) ? output["message"] : undefined;
  const content = isObject(message) ? message["content"] : undefined;
  if (!Array.isArray(content)) {
    if (output === undefined && ["message", "Message", "__type", "error"].some((name) => answer[name] !== undefined))
      throw new StreamError(classifyError({ status: 200, body }));
    throw new MalformedAnswer("The provider's answer has no list of content blocks.");
  }
  const answerTool = answerToolOf(context.memo);
  const blocks = content.filter(isObject);
  const isCut = typeof stopReason === "string" && isCutOff(stopReason);
  const parts = collect(blocks, isCut, answerTool, context.model);
  return {
    choices: [
      {
        index: 0,
        message: { ...turnMessage(parts), ...carriedTurn(blocks, answerTool) },
        ...(typeof stopReason === "string" ? finishOf(stopReason, parts.calls.length > 0) : { finish_reason: null }),
      },
    ],
    usage: isObject(usage) ? usageOf(usage) : null,
    ...besideAnswer(answer),
  };
}

/** Blocks are unions: each is read by one member, even if others are present. */
function collect(blocks: readonly JsonObject[], isCut: boolean, answerTool: string | null, model: string): TurnParts {
  const parts = emptyParts();
  for (const [index, { text, reasoningContent, toolUse, citationsContent }] of blocks.entries()) {
    if (typeof text === "string") parts.text += text;
    else if (isObject(reasoningContent)) addReasoning(parts, reasoningContent, model);
    else if (isObject(toolUse)) addCall(parts, toolUse, isCut && index === blocks.length - 1, answerTool);
    else if (isObject(citationsContent)) addCited(parts, citationsContent);
    noteBlock(parts);
  }
  return parts;
}

function addReasoning(parts: TurnParts, { reasoningText, redactedContent }: JsonObject, model: string): void {
  if (typeof redactedContent === "string" && redactedContent !== "")
    parts.details.push(hiddenDetail(redactedContent, parts.details.length, model));
  if (!isObject(reasoningText)) return;
  const thought = textOrEmpty(reasoningText["text"]);
  parts.reasoning += thought;
  const detail = reasoningDetail(thought, textOrEmpty(reasoningText["signature"]), parts.details.length, model);
  if (detail !== null) parts.details.push(detail);
}

function addCall(parts: TurnParts, toolUse: JsonObject, mayLackInput: boolean, answerTool: string | null): void {
  if (isOfService(toolUse)) return;
  if (toolUse["name"] === answerTool) parts.text += wholeInput(toolUse["input"], false);
  else
    parts.calls.push({
      id: textOrEmpty(toolUse["toolUseId"]),
      type: "function",
      function: { name: textOrEmpty(toolUse["name"]), arguments: wholeInput(toolUse["input"], mayLackInput) },
    });
}

function addCited(parts: TurnParts, content: JsonObject): void {
  const start = parts.text.length;
  parts.text += citedText(content);
  parts.annotations.push(...annotationsOf(content["citations"], start, parts.text.length));
}
