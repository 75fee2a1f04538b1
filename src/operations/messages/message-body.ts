// A non-streaming answer as a message: https://platform.claude.com/docs/en/api/messages. It is made of the strict answer
// of chat completions, whose message has one choice.
import { isOfExtras } from "../../engine/carriers/sealed-reasoning.ts";
import type { Usage } from "../../core/chat.ts";
import { webCitations } from "./citations.ts";
import { turnPieces } from "../../core/request/turn-order.ts";
import type { Steps } from "../../core/concurrency/steps.ts";
import { isObject, type Json, type JsonObject, listIn, textOrEmpty } from "../../core/json.ts";
import {
  type AnswerFacts,
  inputOf,
  messageEnd,
  messageFrame,
  messageUsage,
  redactedBlock,
  signatureOf,
  toolUse,
} from "./answer-facts.ts";

export function* messageBody(answer: JsonObject, facts: AnswerFacts): Steps<JsonObject> {
  const [choice] = answer["choices"] as readonly JsonObject[];
  const message = choice!["message"] as JsonObject;
  const { refusal, tool_calls: calls } = message;
  const content: JsonObject[] = [];
  for (const piece of turnPieces(message)) content.push(...(yield* blocksOf(piece, facts)));
  return {
    ...messageFrame(facts, answer["model"] as string),
    content,
    ...messageEnd({
      finishReason: choice!["finish_reason"],
      native: choice!["native_finish_reason"],
      stopSequence: choice!["stop_sequence"],
      refusal: textOrEmpty(refusal),
      hasCalls: Array.isArray(calls) && calls.length > 0,
    }),
    usage: messageUsage(answer["usage"] as unknown as Usage),
  };
}

function* blocksOf(piece: JsonObject, facts: AnswerFacts): Steps<readonly JsonObject[]> {
  const { content, annotations, tool_calls: calls, reasoning_details: details } = piece;
  const list = listIn(details);
  return [
    ...thinking(
      list.filter((detail) => !isOfExtras(detail)),
      piece["reasoning_content"],
    ),
    ...(typeof content === "string" && content !== "" ? [textBlock(content, annotations)] : []),
    // many clients read the text of the first block
    ...thinking(list.filter(isOfExtras), undefined),
    ...(yield* toolUses(calls, facts)),
  ];
}

function textBlock(text: string, annotations: Json | undefined): JsonObject {
  const citations = webCitations(annotations);
  return { type: "text", text, ...(citations.length > 0 && { citations }) };
}

/** Signed blocks are those that the provider wrote; other reasoning is one block without a signature. */
function thinking(details: readonly Json[], text: Json | undefined): readonly JsonObject[] {
  const blocks: JsonObject[] = [];
  let signed = false;
  for (const detail of details) {
    const redacted = redactedBlock(detail);
    const signature = signatureOf(detail);
    if (redacted !== null) blocks.push(redacted);
    else if (signature !== "") {
      signed = true;
      const thought = (detail as JsonObject)["text"];
      blocks.push({ type: "thinking", thinking: textOrEmpty(thought), signature });
    }
  }
  if (signed || typeof text !== "string" || text === "") return blocks;
  return [{ type: "thinking", thinking: text, signature: "" }, ...blocks];
}

function* toolUses(calls: Json | undefined, facts: AnswerFacts): Steps<readonly JsonObject[]> {
  const uses: JsonObject[] = [];
  for (const { id, function: called } of Array.isArray(calls) ? (calls as readonly JsonObject[]) : []) {
    if (!isObject(called)) continue;
    uses.push(toolUse(id as string, called["name"] as string, inputOf(called["arguments"] as string), facts));
    yield;
  }
  return uses;
}
