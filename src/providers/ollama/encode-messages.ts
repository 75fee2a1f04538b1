// Encodes messages: https://docs.ollama.com/api/chat. A message is one text with images beside it. A tool result names
// the function as well as the tool call. A participant's `name` has no counterpart and is left out.
import type { ContentPart, Message, ToolCall } from "../../core/chat.ts";
import { isObject, type JsonObject, textOrEmpty } from "../../core/json.ts";
import { unsupportedBlock } from "../../core/refusals.ts";
import { calledFunction, requireInput } from "../conversation/tool-calls.ts";
import { readDataUri } from "../conversation/data-uri.ts";
import { documentText } from "../conversation/document-text.ts";
import { plainReasoning } from "../conversation/conversation-members.ts";
import { type Joins, joinTexts } from "../conversation/join-texts.ts";

/** Throws GatewayError `unsupported_content_block` or `invalid_request` with the path. */
export function encodeMessages(messages: readonly Message[], joins: Joins = null): readonly JsonObject[] {
  /** The function name for each tool call id of the conversation so far. */
  const called = new Map<string, string>();
  return messages.map((message, index) => encodeMessage(message, `messages[${index}]`, called, joins));
}

function encodeMessage(message: Message, path: string, called: Map<string, string>, joins: Joins): JsonObject {
  const body = encodeContent(message.content, `${path}.content`, joins);
  switch (message.role) {
    case "assistant":
      return encodeAssistant(message, body, path, called);
    case "tool":
    case "function": {
      const id = message.tool_call_id;
      const name = (id === undefined ? undefined : called.get(id)) ?? message.name;
      return {
        role: "tool",
        ...body,
        ...(name !== undefined && { tool_name: name }),
        ...(typeof id === "string" && { tool_call_id: id }),
      };
    }
    case "user":
      return { role: "user", ...body };
    default:
      return { role: "system", ...body };
  }
}

interface Body extends JsonObject {
  readonly content: string;
  /** Bytes in base64. The server detects from the bytes whether they are audio or an image. */
  readonly images?: readonly string[];
}

function encodeContent(content: Message["content"], path: string, joins: Joins): Body {
  if (!Array.isArray(content)) return { content: textOrEmpty(content) };
  const texts: string[] = [];
  const images: string[] = [];
  (content as readonly ContentPart[]).forEach((part, index) => {
    putPart(part, `${path}[${index}]`, { texts, images, joins });
  });
  return { content: joinTexts(texts, "\n\n", joins), ...(images.length > 0 && { images }) };
}

/** What the parts of one message have come to. */
interface PutParts {
  readonly texts: string[];
  readonly images: string[];
  readonly joins: Joins;
}

function putPart(part: ContentPart, path: string, { texts, images, joins }: PutParts): void {
  switch (part.type) {
    case "text":
      texts.push(part["text"] as string);
      return;
    case "refusal":
      texts.push(part["refusal"] as string);
      return;
    case "image_url":
      images.push(base64Of((part["image_url"] as { readonly url: string }).url, path));
      return;
    case "input_audio":
      images.push((part["input_audio"] as { readonly data: string }).data);
      return;
    case "document": {
      const own = [part["title"], documentText(part["source"] as JsonObject, path)];
      texts.push(
        joinTexts(
          own.filter((text) => typeof text === "string"),
          "\n",
          joins,
        ),
      );
      return;
    }
    default:
      throw unsupportedBlock(
        path,
        `${path}: this provider does not support content blocks of type ${JSON.stringify(part.type)}.`,
      );
  }
}

/** The bare base64 of a data URI. */
function base64Of(url: string, path: string): string {
  const data = readDataUri(url);
  if (data === null)
    throw unsupportedBlock(
      `${path}.image_url.url`,
      `${path}.image_url.url: this provider accepts images only as bytes; send a data URI.`,
    );
  return data.base64;
}

function encodeAssistant(message: Message, body: Body, path: string, called: Map<string, string>): JsonObject {
  const thought = plainReasoning(message);
  const calls = message.tool_calls ?? [];
  const refused = typeof message.refusal === "string" && body.content === "" ? { content: message.refusal } : {};
  for (const call of calls) if (isObject(call.function)) called.set(call.id, call.function.name);
  return {
    role: "assistant",
    ...body,
    ...refused,
    ...(thought !== "" && { thinking: thought }),
    ...(calls.length > 0 && {
      tool_calls: calls.map((call, index) => encodeCall(call, index, `${path}.tool_calls[${index}]`)),
    }),
  };
}

function encodeCall(call: ToolCall, index: number, path: string): JsonObject {
  const { name, arguments: text } = calledFunction(call, path);
  return {
    id: call.id,
    type: "function",
    function: { ...(index > 0 && { index }), name, arguments: requireInput(text, `${path}.function.arguments`) },
  };
}
