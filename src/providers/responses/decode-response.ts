// Decodes a non-streaming answer of the Responses form: https://platform.openai.com/docs/api-reference/responses/object.
// What chat completions have no form for is carried in `extra_content` (carried-items.ts).
import type { ChatAnswer } from "../../core/chat.ts";
import { isObject, type Json, type JsonObject, objectsIn, textOrEmpty } from "../../core/json.ts";
import { MalformedAnswer, StreamError } from "../interface/upstream-failure.ts";
import { parseSentObject } from "../answers/sent-json.ts";
import { emptyParts, noteBlock, turnMessage, type TurnParts } from "../answers/turn-message.ts";
import { carriedItems } from "./carried-items.ts";
import { besideChoices, finishOf, frameOf, requireEnded } from "./outcome.ts";
import { annotationsOf, kindOf, toolCallOf } from "./output-items.ts";
import { REASONING_BREAK, reasoningDetails, reasoningTexts } from "./reasoning-items.ts";
import type { ResponsesRules } from "./rules.ts";

/** Throws StreamError for an error inside a 200 and for a failed answer, and MalformedAnswer for other bodies. */
export function decodeResponse(
  body: string,
  rules: ResponsesRules,
  response = parseSentObject(body, "answer"),
): ChatAnswer {
  const { output } = response;
  if (!Array.isArray(output)) {
    if ((response["error"] ?? null) !== null || response["type"] === "error" || response["detail"] !== undefined)
      throw new StreamError(rules.failureOf(response, body));
    throw new MalformedAnswer("The provider's answer has no list of output items.");
  }
  const items = (output as readonly Json[]).filter(isObject);
  requireEnded(response, rules, body);
  const collected = collect(items, rules, finishOf(response, false).finish_reason === "length");
  return {
    ...frameOf(response),
    choices: [
      {
        index: 0,
        message: { ...turnMessage(collected), ...carriedItems(items, rules.carriedAs) },
        logprobs: collected.logprobs.length === 0 ? null : { content: collected.logprobs, refusal: null },
        ...finishOf(response, collected.calls.length > 0),
      },
    ],
    ...besideChoices(response, items),
  };
}

interface Collected extends TurnParts {
  readonly logprobs: JsonObject[];
}

function collect(items: readonly JsonObject[], { reasoningFormat }: ResponsesRules, isCut: boolean): Collected {
  const collected: Collected = { ...emptyParts(), logprobs: [] };
  for (const item of items) {
    const kind = kindOf(item);
    if (kind === "message") addMessage(collected, item);
    else if (kind === "reasoning") {
      collected.reasoning = [collected.reasoning, ...reasoningTexts(item)]
        .filter((text) => text !== "")
        .join(REASONING_BREAK);
      collected.details.push(...reasoningDetails(item, collected.details.length, reasoningFormat));
    } else if (kind !== "other") collected.calls.push(toolCallOf(item, isCut));
    noteBlock(collected);
  }
  return collected;
}

function addMessage(collected: Collected, { content }: JsonObject): void {
  if (typeof content === "string") collected.text += content;
  for (const part of objectsIn(content)) {
    collected.refusal += textOrEmpty(part["refusal"]);
    if (part["type"] !== "output_text" && part["type"] !== "text") continue;
    collected.annotations.push(...annotationsOf(part["annotations"], collected.text.length));
    collected.logprobs.push(...objectsIn(part["logprobs"]));
    collected.text += textOrEmpty(part["text"]);
  }
}
