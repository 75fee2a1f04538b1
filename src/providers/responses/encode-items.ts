// Encodes messages as input items, in order: https://platform.openai.com/docs/api-reference/responses/create (input).
// A participant's `name` has no counterpart. Reasoning goes before the message or call that it led to.
import type { ContentPart, Message, ToolCall } from "../../core/chat.ts";
import type { GatewayError } from "../../core/errors.ts";
import { isObject, type Json, type JsonObject, textOrEmpty } from "../../core/json.ts";
import { unsupportedBlock } from "../../core/refusals.ts";
import { turnPieces } from "../../core/request/turn-order.ts";
import { breakpointOf, withBreakpoints } from "../conversation/cache-breakpoints.ts";
import { calledFunction } from "../conversation/tool-calls.ts";
import { type Joins, joinTexts } from "../conversation/join-texts.ts";
import { itemsCarriedBy } from "./carried-items.ts";
import { reasoningItems } from "./reasoning-items.ts";

/** Which reasoning of earlier answers the provider takes back. */
export interface ReasoningBack {
  readonly accepts: (format: string) => boolean;
  readonly carriedAs: string;
}

/** Throws GatewayError `invalid_request` or `unsupported_content_block` with the path. */
export function encodeItems(
  messages: readonly Message[],
  back: ReasoningBack,
  joins: Joins = null,
): readonly JsonObject[] {
  const walk: Walk = { back, customCalls: new Set(), joins };
  return messages.flatMap((message, index) => {
    const path = `messages[${index}]`;
    switch (message.role) {
      case "assistant":
        return encodeAssistant(message, path, walk);
      case "tool":
      case "function":
        return [encodeResult(message, path, walk.customCalls)];
      default:
        return [{ type: "message", role: message.role, content: encodeContent(message, path) }];
    }
  });
}

/** Whether a message has reasoning that the provider accepts. */
export function hasReasoningBack(message: Message, { accepts, carriedAs }: ReasoningBack): boolean {
  return itemsCarriedBy(message, carriedAs) !== null || reasoningItems(message, accepts).length > 0;
}

interface Walk {
  readonly back: ReasoningBack;
  /** The ids of the calls of custom tools so far. */
  readonly customCalls: Set<string>;
  readonly joins: Joins;
}

function encodeAssistant(
  message: Message,
  path: string,
  { back: { accepts, carriedAs }, customCalls, joins }: Walk,
): readonly JsonObject[] {
  const given = message.tool_calls ?? [];
  for (const call of given) if ((call.type as string) === "custom") customCalls.add(call.id);
  const carried = itemsCarriedBy(message, carriedAs);
  if (carried !== null) return carried;
  const pieces = turnPieces(message);
  return pieces.flatMap((piece) => encodePiece(piece, path, { accepts, isPart: pieces.length > 1, joins }));
}

function encodePiece(
  message: Message,
  path: string,
  { accepts, isPart, joins }: Pick<ReasoningBack, "accepts"> & { readonly isPart: boolean; readonly joins: Joins },
): readonly JsonObject[] {
  const reasoning = reasoningItems(message, accepts);
  const calls = (message.tool_calls ?? []).map((call, index) => encodeCall(call, `${path}.tool_calls[${index}]`));
  const content = assistantContent(message, path, joins);
  const isEmpty = content.length === 0 && (isPart || reasoning.length + calls.length > 0);
  return [...reasoning, ...(isEmpty ? [] : [{ type: "message", role: "assistant", content }]), ...calls];
}

/** The text alone where there is no refusal. */
function assistantContent(message: Message, path: string, joins: Joins): string | readonly JsonObject[] {
  const { content, refusal } = message;
  const parts = Array.isArray(content) ? (content as readonly ContentPart[]) : [];
  const refusals = [
    ...parts.filter(({ type }) => type === "refusal").map((part) => textOrEmpty(part["refusal"])),
    textOrEmpty(refusal),
  ].filter((text) => text !== "");
  const texts =
    typeof content === "string"
      ? [content]
      : parts.flatMap((part, at) => assistantText(part, `${path}.content[${at}]`));
  if (refusals.length === 0) return joinTexts(texts, "", joins);
  return [
    ...texts.filter((text) => text !== "").map((text) => ({ type: "output_text", text, annotations: [] })),
    ...refusals.map((text) => ({ type: "refusal", refusal: text })),
  ];
}

function assistantText(part: ContentPart, path: string): readonly string[] {
  if (part.type === "text") return [textOrEmpty(part["text"])];
  if (part.type === "refusal") return [];
  throw unsupported(part, path);
}

function encodeCall(call: ToolCall, path: string): JsonObject {
  const custom = call["custom"];
  if ((call.type as string) === "custom" && isObject(custom))
    return {
      type: "custom_tool_call",
      call_id: call.id,
      name: custom["name"],
      input: textOrEmpty(custom["input"]),
    };
  const called = calledFunction(call, path);
  return { type: "function_call", call_id: call.id, name: called.name, arguments: called.arguments };
}

function encodeResult(message: Message, path: string, customCalls: ReadonlySet<string>): JsonObject {
  const id = message.tool_call_id ?? message.name ?? "";
  return {
    type: customCalls.has(id) ? "custom_tool_call_output" : "function_call_output",
    call_id: id,
    output: encodeContent(message, path),
  };
}

function encodeContent(message: Message, path: string): string | readonly JsonObject[] {
  const { content } = withBreakpoints(message);
  if (typeof content === "string") return content;
  return (content ?? []).map((part, at) => ({ ...encodePart(part, `${path}.content[${at}]`), ...breakpointOf(part) }));
}

function encodePart(part: ContentPart, path: string): JsonObject {
  switch (part.type) {
    case "text":
      return { type: "input_text", text: textOrEmpty(part["text"]) };
    case "image_url": {
      const image: Json | undefined = part["image_url"];
      const { url, detail } = isObject(image) ? image : { url: image, detail: undefined };
      return { type: "input_image", image_url: url, detail: detail ?? "auto" };
    }
    case "file":
      return { type: "input_file", ...(isObject(part["file"]) && part["file"]) };
    default:
      throw unsupported(part, path);
  }
}

function unsupported({ type }: ContentPart, path: string): GatewayError {
  return unsupportedBlock(path, `${path}: this provider takes no content of type ${JSON.stringify(type)} here.`);
}
