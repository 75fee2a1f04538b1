// The content of a call as OpenTelemetry's conventions write it: messages of parts, as JSON text. It is made only when
// the tenant keeps content and the integration asks for it.
// https://github.com/open-telemetry/semantic-conventions-genai/blob/main/docs/gen-ai/gen-ai-input-messages.json
import type { Message, ToolCall } from "../../../core/chat.ts";
import type { CallContent, AnswerContent } from "../../../core/configured/content.ts";
import { isObject, type Json, jsonIn, type JsonObject } from "../../../core/json.ts";
import type { Attributes } from "./attributes.ts";
import type { Dialect } from "./call-spans.ts";

/** Content belongs to the span of the whole call, because it is what the caller sent and received. */
export const spanContent: Dialect = ({ content }, part) =>
  content === null || part.of !== "call" ? {} : contentAttributes(content);

function contentAttributes({ messages, tools, answers }: CallContent): Attributes {
  return {
    "gen_ai.input.messages": JSON.stringify(messages.map(inputMessage)),
    "gen_ai.output.messages": answers.length === 0 ? undefined : JSON.stringify(answers.map(outputMessage)),
    "gen_ai.tool.definitions": tools.length === 0 ? undefined : JSON.stringify(tools),
  };
}

export function inputMessage(message: Message): JsonObject {
  const { role, name } = message;
  const parts = [
    ...textParts("reasoning", message.reasoning_content),
    ...contentParts(message),
    ...textParts("refusal", message.refusal),
    ...(message.tool_calls ?? []).map(toolCallPart),
  ];
  if (message.function_call !== undefined)
    parts.push({
      type: "tool_call",
      name: message.function_call.name,
      arguments: parsed(message.function_call.arguments),
    });
  return { role: role === "function" ? "tool" : role, parts, ...(name !== undefined && { name }) };
}

export function outputMessage({ content, reasoning, refusal, toolCalls, finishReason }: AnswerContent): JsonObject {
  return {
    role: "assistant",
    parts: [
      ...textParts("reasoning", reasoning),
      ...textParts("text", content),
      ...textParts("refusal", refusal),
      ...toolCalls.map(toolCallPart),
    ],
    finish_reason:
      finishReason === "tool_calls" || finishReason === "function_call" ? "tool_call" : (finishReason ?? "error"),
  };
}

function textParts(type: "text" | "reasoning" | "refusal", text: string | null | undefined): JsonObject[] {
  return text === null || text === undefined || text === "" ? [] : [{ type, content: text }];
}

function contentParts({ role, content, tool_call_id: id }: Message): readonly JsonObject[] {
  if (content === null || content === undefined) return [];
  if (role === "tool" || role === "function")
    return [{ type: "tool_call_response", ...(id !== undefined && { id }), response: content }];
  return typeof content === "string"
    ? textParts("text", content)
    : content.map((part) => contentPart(part as JsonObject));
}

/** A part for which the convention has no form keeps its own type. */
function contentPart(part: JsonObject): JsonObject {
  if (part["type"] === "text" && typeof part["text"] === "string") return { type: "text", content: part["text"] };
  const image = part["type"] === "image_url" && isObject(part["image_url"]) ? part["image_url"]["url"] : undefined;
  if (typeof image !== "string") return part;
  const data = /^data:([^;,]{0,100});base64,/.exec(image);
  return data === null
    ? { type: "uri", modality: "image", uri: image }
    : { type: "blob", modality: "image", mime_type: data[1]!, content: image.slice(data[0].length) };
}

function toolCallPart(call: ToolCall): JsonObject {
  const { name, input } = calledTool(call);
  return { type: "tool_call", id: call.id, name: name ?? "", arguments: parsed(input ?? "") };
}

/** A function with its arguments, or a custom tool with its text. */
export function calledTool({ function: called, custom }: ToolCall): {
  readonly name?: string;
  readonly input?: string;
} {
  if (called !== undefined) return { name: called.name, input: called.arguments };
  const { name, input } = isObject(custom) ? custom : {};
  return { ...(typeof name === "string" && { name }), ...(typeof input === "string" && { input }) };
}

/** The model wrote the arguments as text; the convention requires the parsed value. */
function parsed(text: string): Json {
  const value = jsonIn(text);
  return value === undefined ? text : value;
}
