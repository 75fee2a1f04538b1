// A non-streaming answer as a message: https://platform.claude.com/docs/en/api/messages. It is made of the strict answer
// of chat completions, whose message has one choice.
import type { Usage } from "../../core/chat.ts";
import { isObject, type Json, type JsonObject } from "../../core/json.ts";
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

export function messageBody(answer: JsonObject, facts: AnswerFacts): JsonObject {
  const [choice] = answer["choices"] as readonly JsonObject[];
  const message = choice!["message"] as JsonObject;
  const { content, refusal } = message;
  const calls = toolUses(message["tool_calls"], facts);
  return {
    ...messageFrame(facts, answer["model"] as string),
    content: [
      ...thinking(message),
      ...(typeof content === "string" && content !== "" ? [{ type: "text", text: content }] : []),
      ...calls,
    ],
    ...messageEnd({
      finishReason: choice!["finish_reason"],
      native: choice!["native_finish_reason"],
      stopSequence: choice!["stop_sequence"],
      refusal: typeof refusal === "string" ? refusal : "",
      hasCalls: calls.length > 0,
    }),
    usage: messageUsage(answer["usage"] as unknown as Usage),
  };
}

/** Signed blocks are those that the provider wrote; other reasoning is one block without a signature. */
function thinking({ reasoning_details: details, reasoning_content: text }: JsonObject): readonly JsonObject[] {
  const list = Array.isArray(details) ? (details as readonly Json[]) : [];
  const blocks: JsonObject[] = [];
  let signed = false;
  for (const detail of list) {
    const redacted = redactedBlock(detail);
    const signature = signatureOf(detail);
    if (redacted !== null) blocks.push(redacted);
    else if (signature !== "") {
      signed = true;
      const thought = (detail as JsonObject)["text"];
      blocks.push({ type: "thinking", thinking: typeof thought === "string" ? thought : "", signature });
    }
  }
  if (signed || typeof text !== "string" || text === "") return blocks;
  return [{ type: "thinking", thinking: text, signature: "" }, ...blocks];
}

function toolUses(calls: Json | undefined, facts: AnswerFacts): readonly JsonObject[] {
  if (!Array.isArray(calls)) return [];
  return (calls as readonly JsonObject[]).flatMap(({ id, function: called }) =>
    isObject(called)
      ? [toolUse(id as string, called["name"] as string, inputOf(called["arguments"] as string), facts)]
      : [],
  );
}
