// Encodes messages as systemInstruction and contents. Roles are user and model. A turn of function calls is followed by
// one turn that holds every response to it. https://ai.google.dev/api/caching#Content,
// https://ai.google.dev/gemini-api/docs/function-calling

// Decides (the request): Where does an image in a tool's result go? By: `standsInResponse`. Also:
// `engine/fit/fit-conversation.ts` (`withToolImages`) for models without images; the encoders of other providers. Rule:
// Into the function's response where the vendor has room for it, and else into a turn of the user behind all results.
// Decides (the request): What if the result of a tool names no call of the conversation? By: `putResponse`. Also: ids
// in the form of a vendor: `providers/conversation/tool-calls.ts` (`fittingCallId`). Rule: The vendor judges it. Gemini
// needs the name of the function: that of the message, if it has one, else 400 `invalid_request`.
// Decides (the request): In which order does a provider get the results of several tools? By: `inCallOrder`. Also:
// `operations/messages/translate-turns.ts`; others than results behind them: `resultsFirst` of
// `providers/anthropic/encode-messages.ts`. Rule: As they were sent. Gemini gets them in the order of their calls, and
// so does every provider of a call by `/messages` whose request is translated.
import type { ContentPart, Message, MessageRole, ToolCall } from "../../core/chat.ts";
import { isObject, type Json, type JsonObject } from "../../core/json.ts";
import { invalidRequest, unsupportedBlock } from "../../core/refusals.ts";
import { turnPieces } from "../../core/request/turn-order.ts";
import { type Joins, joinTexts } from "../conversation/join-texts.ts";
import { calledFunction, parseObject, requireInput } from "../conversation/tool-calls.ts";
import { isOwnCallId } from "./call-ids.ts";
import { answeredImagePart, encodePart } from "./encode-parts.ts";
import { isGemini3OrLater, takesSystemInstruction } from "./models.ts";
import type { GeminiPlatform } from "./platform.ts";
import { googleExtra, signatureOf, signaturesOf, SKIP_VALIDATION, withSignature } from "./signatures.ts";

/** Adjacent messages of one kind become one turn. Function responses get a turn of their own. */
type TurnKind = "user" | "model" | "responses";
interface Turn {
  readonly kind: TurnKind;
  readonly parts: JsonObject[];
  /** In a turn of responses, the position of the function call that each response belongs to. */
  readonly order: number[];
  /** Media of responses that cannot be placed inside them. */
  readonly media: JsonObject[];
}

/** The model and the platform for which a conversation is encoded. */
interface Reader {
  readonly model: string;
  readonly platform: GeminiPlatform;
  /** Returns the name under which a function is declared. */
  readonly wireName: (name: string) => string;
}
interface Walk extends Reader {
  readonly joins: Joins;
  readonly turns: Turn[];
  readonly system: JsonObject[];
  readonly calls: Map<string, { readonly name: string; readonly place: number }>;
}

/** Throws GatewayError with the path. */
export function encodeConversation(messages: readonly Message[], reader: Reader, joins: Joins = null) {
  const { model } = reader;
  const walk: Walk = { turns: [], system: [], calls: new Map(), joins, ...reader };
  messages.forEach((message, index) => encodeMessage(message, `messages[${index}]`, walk));
  if (walk.system.length > 0 && !takesSystemInstruction(model)) {
    const first = walk.turns[0];
    if (first?.kind === "user") first.parts.unshift(...walk.system.splice(0));
    else walk.turns.unshift({ kind: "user", parts: walk.system.splice(0), order: [], media: [] });
  }
  if (isGemini3OrLater(model)) signCurrentTurn(walk.turns);
  return {
    systemInstruction: walk.system.length === 0 ? null : { parts: walk.system },
    contents: contentsOf(walk.turns),
  };
}

/** Empty user messages are not left out: they are sent with an empty part. */
export const LEFT_OUT_EMPTY: ReadonlySet<MessageRole> = new Set(["system", "developer", "assistant"]);

function encodeMessage(message: Message, path: string, walk: Walk): void {
  switch (message.role) {
    case "system":
    case "developer":
      walk.system.push(...systemParts(message, path, walk));
      return;
    case "user": {
      const parts = contentParts(message.content, path, walk);
      turnOf("user", walk).parts.push(...(parts.length > 0 ? parts : [{ text: "" }]));
      return;
    }
    case "assistant": {
      const parts = modelParts(message, path, walk);
      if (parts.length > 0) turnOf("model", walk).parts.push(...parts);
      return;
    }
    case "tool":
    case "function":
      putResponse(message, path, walk);
  }
}

function turnOf(kind: TurnKind, walk: Walk): Turn {
  const last = walk.turns.at(-1);
  if (last?.kind === kind) return last;
  const turn: Turn = { kind, parts: [], order: [], media: [] };
  walk.turns.push(turn);
  return turn;
}

function contentParts(content: Message["content"], path: string, { platform }: Walk): JsonObject[] {
  if (content === null || content === undefined || content === "") return [];
  if (typeof content === "string") return [{ text: content }];
  return content
    .map((block, index) => encodePart(block, `${path}.content[${index}]`, platform))
    .filter((part) => part !== null);
}

function systemParts(message: Message, path: string, walk: Walk): JsonObject[] {
  const blocks = Array.isArray(message.content) ? (message.content as readonly ContentPart[]) : [];
  const other = blocks.findIndex((block) => block.type !== "text");
  if (other >= 0) {
    const param = `${path}.content[${other}]`;
    throw unsupportedBlock(param, `${param}: a message of role ${message.role} can hold only text for this provider.`);
  }
  return contentParts(message.content, path, walk);
}

function modelParts(message: Message, path: string, walk: Walk): JsonObject[] {
  const signatures = signaturesOf(message);
  const kept = googleExtra(message)?.["parts"];
  const pieces = turnPieces(message);
  const texts = pieces.map(({ content }) => contentParts(content, path, walk));
  const last = texts.findLast((text) => text.length > 0) ?? texts.at(-1)!;
  if (last.length === 0 && typeof message.refusal === "string" && message.refusal !== "")
    last.push({ text: message.refusal });
  if (signatures.text !== null) last.push(withSignature(last.pop() ?? { text: "" }, signatures.text));
  let place = 0;
  const ofPieces = pieces.map(({ tool_calls: calls }, index): JsonObject[] => [
    ...texts[index]!,
    ...(index === pieces.length - 1 ? imageParts(message, path, walk) : []),
    ...(calls ?? []).map((call) => {
      const at = `${path}.tool_calls[${place}]`;
      const called = calledFunction(call, at);
      walk.calls.set(call.id, { name: called.name, place });
      return withSignature(functionCall(call, at, walk), signatures.call(call, place++));
    }),
  ]);
  return [...(Array.isArray(kept) ? kept.filter(isObject) : []), ...ofPieces.flat()];
}

function imageParts(message: Message, path: string, walk: Walk): readonly JsonObject[] {
  const images = message["images"];
  if (!Array.isArray(images)) return [];
  return (images as readonly Json[]).map((image, index) =>
    withSignature(
      answeredImagePart(image, `${path}.images[${index}]`, walk.platform),
      isObject(image) ? signatureOf(image) : null,
    ),
  );
}

/** An id that the gateway created is left out, because the server sent none and does not know it. */
function functionCall(call: ToolCall, path: string, walk: Walk): JsonObject {
  const args = requireInput(call.function.arguments, `${path}.function.arguments`);
  return {
    functionCall: { ...(!isOwnCallId(call.id) && { id: call.id }), name: walk.wireName(call.function.name), args },
  };
}

function putResponse(message: Message, path: string, walk: Walk): void {
  const id = message.role === "tool" ? (message.tool_call_id ?? "") : "";
  const call = walk.calls.get(id);
  const name = call?.name ?? message.name;
  if (name === undefined)
    throw invalidRequest(
      `${path}.tool_call_id`,
      `${path}.tool_call_id must be the id of an earlier tool call, because this provider needs the function's name; got ${JSON.stringify(id.slice(0, 64))}.`,
    );
  const parts = contentParts(message.content, path, walk);
  const media = parts.filter((part) => part["text"] === undefined);
  const fits = isGemini3OrLater(walk.model) ? standsInResponse : () => false;
  const inside = media.filter(fits);
  const texts = parts.map((part) => part["text"]).filter((one) => typeof one === "string");
  const text = joinTexts(texts, "", walk.joins);
  const turn = turnOf("responses", walk);
  turn.parts.push({
    functionResponse: {
      ...(id !== "" && !isOwnCallId(id) && { id }),
      name: walk.wireName(name),
      response: responseObject(text),
      ...(inside.length > 0 && { parts: inside }),
    },
  });
  turn.order.push(call?.place ?? Number.MAX_SAFE_INTEGER);
  for (const part of media) if (!fits(part)) turn.media.push(part);
}

/**
 * Media types that a function response may hold from Gemini 3 on:
 * https://ai.google.dev/gemini-api/docs/function-calling#multimodal
 */
function standsInResponse(part: JsonObject): boolean {
  const media = part["inlineData"] ?? part["fileData"];
  const type = isObject(media) ? media["mimeType"] : undefined;
  return (
    typeof type === "string" &&
    (/^image\/(png|jpeg|webp)$/.test(type) || type === "application/pdf" || type === "text/plain")
  );
}

function responseObject(text: string): JsonObject {
  return (text.trimStart().startsWith("{") ? parseObject(text) : null) ?? { result: text };
}

/**
 * The first function call of each step of the current turn, which begins with the last user message, must be signed. A
 * call without a signature was made by another model, or came through a client that dropped it.
 */
function signCurrentTurn(turns: readonly Turn[]): void {
  const start = turns.findLastIndex((turn) => turn.kind === "user");
  for (const turn of turns.slice(start + 1)) {
    const first = turn.kind === "model" ? turn.parts.findIndex((part) => part["functionCall"] !== undefined) : -1;
    if (first >= 0 && turn.parts[first]!["thoughtSignature"] === undefined)
      turn.parts[first] = withSignature(turn.parts[first]!, SKIP_VALIDATION);
  }
}

function contentsOf(turns: readonly Turn[]): JsonObject[] {
  const contents: JsonObject[] = [];
  // The list may not be empty, and a turn of function calls may not come first.
  const first = turns[0];
  if (first === undefined || (first.kind === "model" && first.parts.some((part) => part["functionCall"] !== undefined)))
    contents.push({ role: "user", parts: [{ text: "" }] });
  for (const turn of turns) {
    contents.push({
      role: turn.kind === "model" ? "model" : "user",
      parts: turn.kind === "responses" ? inCallOrder(turn) : turn.parts,
    });
    if (turn.media.length > 0) contents.push({ role: "user", parts: turn.media });
  }
  return contents;
}

/**
 * Sorts the responses by the position of their calls, because responses without ids are told apart by their position.
 */
function inCallOrder(turn: Turn): JsonObject[] {
  return turn.parts
    .map((part, index) => ({ part, place: turn.order[index]! }))
    .toSorted((a, b) => a.place - b.place)
    .map(({ part }) => part);
}
