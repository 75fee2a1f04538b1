// Decodes a non-streaming answer of the Responses form: https://platform.openai.com/docs/api-reference/responses/object.
// What chat completions have no form for is carried in `extra_content` (carried-items.ts).
import type { AnswerMessage, ChatAnswer, ReasoningDetail, ToolCall } from "../../core/chat.ts";
import { TurnOrder, withOrder } from "../../core/request/turn-order.ts";
import { isObject, type Json, type JsonObject } from "../../core/json.ts";
import { MalformedAnswer, StreamError } from "../upstream-failure.ts";
import { objectsIn, parseSentObject, textOrEmpty } from "../answers/sent-json.ts";
import { carriedItems } from "./carried-items.ts";
import { besideChoices, finishOf, frameOf } from "./outcome.ts";
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
  const collected = collect(items, rules);
  const finish = finishOf(response, collected.calls.length > 0, rules, body);
  return {
    ...frameOf(response),
    choices: [
      {
        index: 0,
        message: { ...messageOf(collected), ...carriedItems(items, rules.carriedAs) },
        logprobs: collected.logprobs.length === 0 ? null : { content: collected.logprobs, refusal: null },
        ...finish,
      },
    ],
    ...besideChoices(response, items),
  };
}

interface Collected {
  text: string;
  refusal: string;
  readonly reasoning: string[];
  readonly details: ReasoningDetail[];
  readonly calls: ToolCall[];
  readonly annotations: JsonObject[];
  readonly logprobs: JsonObject[];
  readonly order: TurnOrder;
}

function collect(items: readonly JsonObject[], { reasoningFormat }: ResponsesRules): Collected {
  const collected: Collected = {
    text: "",
    refusal: "",
    reasoning: [],
    details: [],
    calls: [],
    annotations: [],
    logprobs: [],
    order: new TurnOrder(),
  };
  for (const item of items) {
    const kind = kindOf(item);
    if (kind === "message") addMessage(collected, item);
    else if (kind === "reasoning") {
      collected.reasoning.push(...reasoningTexts(item));
      collected.details.push(...reasoningDetails(item, collected.details.length, reasoningFormat));
    } else if (kind !== "other") collected.calls.push(toolCallOf(item));
    const { text, reasoning, details, calls } = collected;
    const thought = reasoning.join(REASONING_BREAK).length;
    collected.order.note({ text: text.length, reasoning: thought, details: details.length, calls: calls.length });
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

function messageOf({ text, refusal, reasoning, details, calls, annotations, order }: Collected): AnswerMessage {
  const message = {
    role: "assistant" as const,
    content: text === "" && (calls.length > 0 || refusal !== "") ? null : text,
    ...(refusal !== "" && { refusal }),
    ...(reasoning.length > 0 && { reasoning_content: reasoning.join(REASONING_BREAK) }),
    ...(details.length > 0 && { reasoning_details: details }),
    ...(calls.length > 0 && { tool_calls: calls }),
    ...(annotations.length > 0 && { annotations }),
  };
  return withOrder(message, order.pieces);
}
