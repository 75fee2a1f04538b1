// A conversation that another thread holds: what the thread that serves calls is told of it, and how what it decided becomes a whole request again (decisions 5.8).
import { estimatePrompt } from "../accounting/estimate.ts";
import type { BlockType, ChatRequest, ContentPart, HeldConversation, MemberSpan, Message, RequestSource } from "../core/chat.ts";
import { GatewayError } from "../core/errors.ts";
import { parseJson } from "../wire/json.ts";
import type { JsonObject } from "../core/json.ts";
import { hasWebAddress } from "./fetch-parts.ts";

/** So much of a conversation's beginning that vendors' caches of prompts hit. */
const STICKY_CHARACTERS = 2048;
/** Stands in the place of the conversation in a text that is parsed without it. */
export const STAND_IN = '[{"role":"user","content":""}]';

/** The beginning of the first two messages, by which a sticky route knows a conversation. */
export function openingOf(messages: readonly Message[]): string {
  return JSON.stringify(messages.slice(0, 2).map(beginningOf)).slice(0, STICKY_CHARACTERS);
}

/** What is longer is cut before it is written, because it may be megabytes. */
function beginningOf(message: Message): JsonObject {
  const { content } = message;
  if (typeof content === "string") return content.length <= STICKY_CHARACTERS ? message : { ...message, content: content.slice(0, STICKY_CHARACTERS) };
  return Array.isArray(content) ? { ...message, content: (content as readonly ContentPart[]).slice(0, STICKY_CHARACTERS).map((part) => (typeof part["text"] === "string" ? { ...part, text: part["text"].slice(0, STICKY_CHARACTERS) } : { type: part.type })) } : message;
}

/** What the serving thread is told of a conversation. */
export function heldFigures(request: ChatRequest, id: number): HeldConversation {
  const roles: Record<string, number> = {};
  const parts: Record<string, number> = {};
  const addressed = new Set<BlockType>();
  let characters = 0;
  for (const { role, content } of request.messages) {
    roles[role] = (roles[role] ?? 0) + 1;
    if (typeof content === "string") characters += content.length;
    else
      for (const part of content ?? []) {
        parts[part.type] = (parts[part.type] ?? 0) + 1;
        if (typeof part["text"] === "string") characters += part["text"].length;
        if (hasWebAddress(part)) addressed.add(part.type as BlockType);
      }
  }
  return { id, count: request.messages.length, roles, parts, characters, bodyCharacters: request.source.text.length, promptTokens: estimatePrompt(request.messages), opening: openingOf(request.messages), addressed };
}

/** The text of a request with a stand-in for its conversation. Throws `invalid_request` where it is long without it. */
export function textWithoutConversation({ text, members }: RequestSource, maxCharacters: number): string {
  const span = members.get("messages")!;
  if (text.length - (span.valueEnd - span.valueStart) > maxCharacters) {
    const [longest] = [...members].filter(([name]) => name !== "messages").toSorted(([, one], [, other]) => lengthOf(other) - lengthOf(one));
    const name = longest?.[0] ?? null;
    throw new GatewayError("invalid_request", `What stands beside messages may have at most ${maxCharacters} characters; ${name === null ? "the body" : name} is too long.`, { param: name });
  }
  return text.slice(0, span.valueStart) + STAND_IN + text.slice(span.valueEnd);
}

function lengthOf({ keyStart, valueEnd }: MemberSpan): number {
  return valueEnd - keyStart;
}

/** What goes to the thread that holds the conversation: the request as it was fitted to a target. Numbers that no double holds go over as they are written. */
export interface RequestOutline {
  readonly params: string;
  readonly extra: string;
  readonly rest: Omit<ChatRequest, "messages" | "params" | "extra" | "held">;
}

export function outlineOf({ messages: _messages, held: _held, params, extra, ...rest }: ChatRequest): RequestOutline {
  // what an encoder does not look at stays here: credentials, data of the caller's, other requests
  const options = { ...rest.options, metadata: null, credentials: new Map(), fallbacks: [], modelList: null };
  return { params: JSON.stringify(params), extra: JSON.stringify(extra), rest: { ...rest, options } };
}

/** The request of an outline with its conversation, whose text stands where the stand-in was. `whole` is the request as the caller sent it; `options` where the outline lacks some. */
export function withConversation({ params, extra, rest }: RequestOutline, whole: ChatRequest, options = rest.options): ChatRequest {
  const sent = whole.source.members.get("messages")!;
  const conversation = whole.source.text.slice(sent.valueStart, sent.valueEnd);
  const { text, members } = rest.source;
  const place = members.get("messages")!;
  const longer = conversation.length - (place.valueEnd - place.valueStart);
  const moved = (at: number): number => (at >= place.valueEnd ? at + longer : at);
  const spans = new Map([...members].map(([name, { keyStart, valueStart, valueEnd }]) => [name, { keyStart: moved(keyStart), valueStart: moved(valueStart), valueEnd: moved(valueEnd) }]));
  return {
    ...rest,
    options,
    params: parseJson(params) as ChatRequest["params"],
    extra: parseJson(extra) as JsonObject,
    messages: whole.messages,
    source: { text: text.slice(0, place.valueStart) + conversation + text.slice(place.valueEnd), members: spans, rewritten: rest.source.rewritten },
  };
}
