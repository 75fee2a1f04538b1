// Encodes messages: https://docs.cohere.com/reference/chat#request.body.messages. Documents in user messages are moved
// to the top level of the request, where the vendor expects them. A participant's `name` has no counterpart and is left
// out.
import type { ContentPart, Message, ToolCall } from "../../core/chat.ts";
import { isObject, type Json, type JsonObject } from "../../core/json.ts";
import { unsupportedBlock } from "../../core/refusals.ts";
import { asBlocks } from "../conversation/text-block.ts";
import { calledFunction } from "../conversation/tool-calls.ts";
import { plainReasoning } from "../conversation/conversation-members.ts";
import { NOT_THINKING } from "./models.ts";
import { documentText } from "../conversation/document-text.ts";

export interface EncodedConversation {
  readonly messages: readonly JsonObject[];
  /** The documents of all messages, in their order. */
  readonly documents: readonly JsonObject[];
}

/** Throws GatewayError `unsupported_content_block` or `invalid_request` with the path. */
export function encodeConversation(messages: readonly Message[], model: string): EncodedConversation {
  const documents: JsonObject[] = [];
  return {
    messages: messages.map((message, index) => encodeMessage(message, `messages[${index}]`, model, documents)),
    documents,
  };
}

function encodeMessage(message: Message, path: string, model: string, documents: JsonObject[]): JsonObject {
  const contentPath = `${path}.content`;
  switch (message.role) {
    case "assistant":
      return encodeAssistant(message, path, !NOT_THINKING.test(model));
    case "tool":
    case "function":
      return {
        role: "tool",
        tool_call_id: message.tool_call_id ?? message.name ?? "",
        content: encodeContent(message, (part, at) => toolPart(part, at), contentPath),
      };
    case "user":
      return {
        role: "user",
        content: encodeContent(message, (part, at) => userPart(part, at, documents), contentPath),
      };
    default:
      return { role: "system", content: encodeContent(message, textPart, contentPath) };
  }
}

type PartEncoder = (part: ContentPart, path: string) => JsonObject | null;

function encodeContent({ content }: Message, encode: PartEncoder, path: string): string | readonly JsonObject[] {
  if (typeof content === "string") return content;
  return (content ?? []).map((part, index) => encode(part, `${path}[${index}]`)).filter((part) => part !== null);
}

function textPart(part: ContentPart, path: string): JsonObject {
  if (part.type === "text") return { type: "text", text: part["text"] };
  if (part.type === "refusal") return { type: "text", text: part["refusal"] };
  throw unsupportedBlock(
    path,
    `${path}: this provider does not support content blocks of type ${JSON.stringify(part.type)} in a message of this role.`,
  );
}

/** `null` when the part is a document, which has been added to `documents`. */
function userPart(part: ContentPart, path: string, documents: JsonObject[]): JsonObject | null {
  if (part.type === "image_url") return { type: "image_url", image_url: part["image_url"] };
  if (part.type !== "document") return textPart(part, path);
  documents.push(encodeDocument(part, path));
  return null;
}

function toolPart(part: ContentPart, path: string): JsonObject {
  return part.type === "document" ? { type: "document", document: encodeDocument(part, path) } : textPart(part, path);
}

function encodeAssistant(message: Message, path: string, thinks: boolean): JsonObject {
  const calls = message.tool_calls ?? [];
  const given = encodeContent(
    message,
    (part, at) => (part.type === "thinking" ? part : textPart(part, at)),
    `${path}.content`,
  );
  const refused =
    typeof message.refusal === "string" && message.refusal !== "" && given.length === 0 ? message.refusal : given;
  const thought = thoughtOf(message);
  const plan =
    typeof message["tool_plan"] === "string" ? message["tool_plan"] : !thinks && calls.length > 0 ? thought : "";
  const content = thinks && thought !== "" ? [{ type: "thinking", thinking: thought }, ...asBlocks(refused)] : refused;
  const { citations } = message;
  const silent = calls.length > 0 && content.length === 0 && !Array.isArray(message.content);
  return {
    role: "assistant",
    ...(!silent && { content }),
    ...(calls.length > 0 && {
      tool_calls: calls.map((call, index) => encodeCall(call, `${path}.tool_calls[${index}]`)),
    }),
    ...(plan !== "" && { tool_plan: plan }),
    ...(areCitations(citations) && { citations }),
  };
}

/** The thinking, or the plan before a tool call. Empty when the content already contains it. */
function thoughtOf(message: Message): string {
  const { content } = message;
  return Array.isArray(content) && (content as readonly ContentPart[]).some(({ type }) => type === "thinking")
    ? ""
    : plainReasoning(message);
}

function encodeCall(call: ToolCall, path: string): JsonObject {
  const { name, arguments: text } = calledFunction(call, path);
  return { id: call.id, type: "function", function: { name, arguments: text } };
}

/** Checks the form, because other vendors have citations of another form under this name. */
function areCitations(value: Json | undefined): boolean {
  return (
    Array.isArray(value) &&
    (value as readonly Json[]).every(
      (one) => isObject(one) && typeof one["start"] === "number" && Array.isArray(one["sources"]),
    )
  );
}

/** Throws GatewayError `unsupported_content_block` at `path` when the document is not text. */
export function encodeDocument(part: ContentPart, path: string): JsonObject {
  if (part["source"] === undefined && isObject(part["document"])) return part["document"];
  const { id, title } = part;
  return {
    data: { text: documentText(part["source"] as JsonObject, path), ...(typeof title === "string" && { title }) },
    ...(typeof id === "string" && { id }),
  };
}
