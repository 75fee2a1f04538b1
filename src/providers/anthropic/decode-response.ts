// Decodes a non-streaming answer of the Messages API: https://platform.claude.com/docs/en/api/messages. What chat
// completions have no form for is carried in `extra_content` (turn-content.ts).
import type { ChatAnswer, ToolCall } from "../../core/chat.ts";
import { isObject, type JsonObject } from "../../core/json.ts";
import { answerToolOf } from "../claude/json-output.ts";
import { emptyParts, noteBlock, turnMessage, type TurnParts } from "../answers/turn-message.ts";
import { wholeInput } from "../content-blocks/turn-chunks.ts";
import type { DecodeContext } from "../encoded-request.ts";
import { MalformedAnswer, StreamError } from "../upstream-failure.ts";
import { classifyError } from "./errors.ts";
import { finishOf, isCutOff, refusalOf, serviceTierOf, stopSequenceOf, usageOf } from "./outcome.ts";
import { redactedDetail, thinkingDetail } from "../conversation/signed-thinking.ts";
import { annotationsOf, carriedTurn } from "./turn-content.ts";
import { parseSentObject, textOrEmpty } from "../answers/sent-json.ts";

/** Throws StreamError for an error inside a 200, and MalformedAnswer for a body that is not an answer. */
export function decodeResponse(
  body: string,
  context: DecodeContext,
  answer = parseSentObject(body, "answer"),
): ChatAnswer {
  const { id, model, content, stop_reason: reason, stop_details: details, usage } = answer;
  if (!Array.isArray(content)) {
    if (answer["type"] === "error" || isObject(answer["error"]))
      throw new StreamError(classifyError({ status: 200, body }));
    throw new MalformedAnswer("The provider's answer has no list of content blocks.");
  }
  const answerTool = answerToolOf(context.memo);
  const blocks = content.filter(isObject);
  const isCut = typeof reason === "string" && isCutOff(reason);
  const parts = collect(blocks, answerTool, isCut);
  const refusal = refusalOf(details);
  return {
    ...(typeof id === "string" && { id }),
    ...(typeof model === "string" && { model }),
    choices: [
      {
        index: 0,
        message: {
          ...turnMessage(parts),
          ...(refusal !== null && { refusal }),
          ...carriedTurn(blocks, answer["container"], answerTool),
        },
        ...(typeof reason === "string" ? finishOf(reason, parts.calls.length > 0) : { finish_reason: null }),
        ...stopSequenceOf(answer["stop_sequence"]),
      },
    ],
    usage: isObject(usage) ? usageOf(usage) : null,
    ...(isObject(usage) && serviceTierOf(usage)),
  };
}

function collect(blocks: readonly JsonObject[], answerTool: string | null, isCut: boolean): TurnParts {
  const parts = emptyParts();
  for (const block of blocks) {
    switch (block["type"]) {
      case "text": {
        const start = parts.text.length;
        parts.text += textOrEmpty(block["text"]);
        parts.annotations.push(...annotationsOf(block["citations"], start, parts.text.length));
        break;
      }
      case "thinking": {
        const thought = textOrEmpty(block["thinking"]);
        parts.reasoning += thought;
        const detail = thinkingDetail(thought, textOrEmpty(block["signature"]), parts.details.length);
        if (detail !== null) parts.details.push(detail);
        break;
      }
      case "redacted_thinking":
        parts.details.push(redactedDetail(textOrEmpty(block["data"]), parts.details.length));
        break;
      case "tool_use":
        if (block["name"] === answerTool) parts.text += wholeInput(block["input"], false);
        else parts.calls.push(toolCallOf(block, isCut && block === blocks.at(-1)));
        break;
      default:
    }
    noteBlock(parts);
  }
  return parts;
}

function toolCallOf(block: JsonObject, mayLackInput: boolean): ToolCall {
  return {
    id: textOrEmpty(block["id"]),
    type: "function",
    function: { name: textOrEmpty(block["name"]), arguments: wholeInput(block["input"], mayLackInput) },
    ...callerOf(block),
  };
}

/**
 * The caller of the tool, when it was not the model itself but code that it runs at the vendor. It has to be sent back
 * with the tool call.
 */
export function callerOf({ caller }: JsonObject): { readonly extra_content?: JsonObject } {
  return isObject(caller) && caller["type"] !== "direct" ? { extra_content: { anthropic: { caller } } } : {};
}
