// A conversation that another thread holds: the facts about it that the serving thread gets, and how the request that
// the serving thread has prepared is joined with the conversation again (promise 5.8).
import { invalidRequest } from "../../core/refusals.ts";
import { referencesInText, referencesOf } from "../objects/vendor-references.ts";
import { estimateConversation, estimateValues } from "../../accounting/estimate.ts";
import { memberFacts } from "../../policies/policy-facts.ts";
import type { BlockType, ChatParams, ChatRequest, HeldConversation, Message, OfferedTools } from "../../core/chat.ts";
import {
  bodyCharacters,
  messageCount,
  openingOf,
  partCounts,
  partsIn,
  roleCounts,
  textCharacters,
} from "../../core/request/conversation-figures.ts";
import { type MemberSpan, requestOfText, type RequestSource } from "../../core/request/request-source.ts";
import { parseBoundedJson } from "../../wire/json/json.ts";
import { type Json, setMember } from "../../core/json.ts";
import { FIELDS } from "../../core/params.ts";
import { heldMember, heldPlace } from "../../core/request/held-member.ts";
import { ordersOf, withOrders } from "../../core/request/turn-order.ts";
import { hasOwnMarks } from "../fit/cache-marks.ts";
import { emptyRolesOf } from "../fit/fit.ts";
import { skeletonOf } from "./conversation-skeleton.ts";
import { webAddressIn } from "../attempt/addressed-block.ts";
import { unansweredCalls } from "../tools/tool-turns.ts";

/** Replaces the conversation in a text that is parsed without it. */
export const STAND_IN = '[{"role":"user","content":""}]';

/** Returns the facts about a conversation that the serving thread gets. */
export function heldFigures(
  request: ChatRequest,
  id: number,
  members: readonly string[],
): Omit<HeldConversation, "unanswered"> {
  const addressed = new Set<BlockType>();
  for (const part of partsIn(request.messages)) if (webAddressIn(part) !== null) addressed.add(part.type as BlockType);
  const references = request.written === undefined ? referencesInText(request.source.text) : referencesOf(request);
  return {
    ...(references.length > 0 && { references }),
    id,
    members,
    count: messageCount(request),
    roles: Object.fromEntries(roleCounts(request)),
    parts: Object.fromEntries(partCounts(request)),
    characters: textCharacters(request),
    bodyCharacters: bodyCharacters(request),
    promptTokens: estimateConversation(request) + estimateValues(...members.map((name) => request.extra[name])),
    skeleton: skeletonOf(request.messages),
    ...(hasOwnMarks(request) && { isMarked: true as const }),
    opening: openingOf(request),
    emptyRoles: emptyRolesOf(request),
    addressed,
    memberFacts: members.length === 0 ? null : memberFacts(members.map((name) => request.extra[name] ?? null)),
  };
}

/**
 * Returns the calls that the gateway may have to run before the first round, as JSON. Throws `invalid_request` if they
 * are too long for the serving thread.
 */
export function unansweredText({ messages, options }: ChatRequest, maxCharacters: number): string {
  if (options.toolServers.length === 0) return "[]";
  const calls = unansweredCalls(messages);
  const text = JSON.stringify(calls);
  if (text.length <= maxCharacters) return text;
  const path = calls[0]!.path.replace(/\.tool_calls.*$/, ".tool_calls");
  throw invalidRequest(
    path,
    `The tool calls without results in ${path} may have at most ${maxCharacters} characters together; got ${text.length}.`,
  );
}

/** Shorter members stay in the text beside the conversation. */
const LONG_MEMBER = 16_384;

/**
 * Returns the text of a request with placeholders for its conversation and for long members that the gateway does not
 * know, and the names of these members. Throws `invalid_request` if it is still too long.
 */
export function textWithoutConversation({ text, members }: RequestSource, maxCharacters: number) {
  const held: string[] = [];
  let rest = "";
  let copied = 0;
  for (const [name, span] of members) {
    // members are not replaced if `extra_body` is present, because both are merged into one value
    const isLong = !FIELDS.has(name) && span.valueEnd - span.valueStart >= LONG_MEMBER && !members.has("extra_body");
    if (name !== "messages" && !isLong) continue;
    rest += text.slice(copied, span.valueStart) + (isLong ? JSON.stringify(heldMember(held.length)) : STAND_IN);
    if (isLong) held.push(name);
    copied = span.valueEnd;
  }
  rest += text.slice(copied);
  if (rest.length <= maxCharacters) return { text: rest, members: held };
  const [longest] = [...members]
    .filter(([name]) => name !== "messages" && !held.includes(name))
    .toSorted(([, one], [, other]) => lengthOf(other) - lengthOf(one));
  const name = longest?.[0] ?? null;
  throw invalidRequest(
    name,
    `The fields other than messages may have at most ${maxCharacters} characters; ${name === null ? "the body" : name} is too long.`,
  );
}

function lengthOf({ keyStart, valueEnd }: MemberSpan): number {
  return valueEnd - keyStart;
}

/**
 * What the serving thread sends to the thread that holds the conversation: the request as fitted to a target. It is
 * sent as JSON text, to preserve numbers that a double cannot represent.
 */
export type RequestOutline = ReturnType<typeof outlineOf>;

export function outlineOf({
  form: _form,
  written: _written,
  entryParams: _entryParams,
  messages,
  held,
  params,
  extra,
  offered,
  ...rest
}: ChatRequest) {
  // encoders need no credentials, no metadata of the caller and no fallbacks, so these are not sent
  const options = { ...rest.options, metadata: null, credentials: new Map(), fallbacks: [], modelList: null };
  return {
    params: JSON.stringify(params),
    extra: JSON.stringify(extra),
    /** The messages that follow the conversation, but for those that are inserted. */
    behind: JSON.stringify(messages),
    orders: ordersOf(messages),
    inserted: held?.inserted,
    rest: { ...rest, options },
    offered: offered === null ? null : withoutRequested(offered),
  };
}

function withoutRequested({ requested: _requested, ...offered }: OfferedTools): Omit<OfferedTools, "requested"> {
  return offered;
}

/**
 * The parts of a request that are held, with the names of the members that are held beside its conversation. What
 * guards have replaced is marked as rewritten.
 */
export interface HeldRequest {
  readonly request: ChatRequest;
  readonly members: readonly string[];
}

/** Joins an outline with the held parts of its request. */
export function withConversation(
  { params, extra, behind, orders, inserted, rest, offered }: RequestOutline,
  { request: whole, members: held }: HeldRequest,
): ChatRequest {
  const { text, members } = rest.source;
  const spans = new Map<string, MemberSpan>();
  const rewritten = new Set(rest.source.rewritten);
  if (whole.source.rewritten.has("messages")) rewritten.add("messages");
  let joined = "";
  let copied = 0;
  for (const [name, { keyStart, valueStart, valueEnd }] of members) {
    const written = text.slice(valueStart, valueEnd);
    const own = name === "messages" ? name : held[heldPlaceIn(written) ?? -1];
    const sent = own === undefined ? undefined : whole.source.members.get(own);
    joined += text.slice(copied, valueStart);
    const start = joined.length;
    joined += sent === undefined ? written : whole.source.text.slice(sent.valueStart, sent.valueEnd);
    spans.set(name, { keyStart: start - (valueStart - keyStart), valueStart: start, valueEnd: joined.length });
    copied = valueEnd;
  }
  const ownExtra = parseBoundedJson(extra) as Record<string, Json>;
  for (const name of Object.keys(ownExtra)) {
    const own = held[heldPlace(ownExtra[name]) ?? -1];
    if (own === undefined) continue;
    setMember(ownExtra, name, whole.extra[own]!);
    if (whole.source.rewritten.has(own)) rewritten.add(name);
  }
  return requestOfText<ChatRequest>({
    ...rest,
    form: whole.form,
    ...(whole.written !== undefined && { written: whole.written }),
    offered: offered === null ? null : { ...offered, requested: whole },
    params: parseBoundedJson(params) as ChatParams,
    extra: ownExtra,
    messages: behind === "[]" ? whole.messages : joinedMessages(whole.messages, { behind, orders, inserted }),
    source: { text: joined + text.slice(copied), members: spans, rewritten },
  });
}

function joinedMessages(
  conversation: readonly Message[],
  { behind, orders, inserted }: Pick<RequestOutline, "behind" | "orders" | "inserted">,
): readonly Message[] {
  const added = withOrders(parseBoundedJson(behind) as readonly Message[], orders);
  const { at, count } = inserted ?? { at: conversation.length, count: 0 };
  return [...conversation.slice(0, at), ...added.slice(0, count), ...conversation.slice(at), ...added.slice(count)];
}

/** Returns the placeholder's index in a value of a JSON text, or null. */
function heldPlaceIn(written: string): number | null {
  return written.startsWith('"held ') && written.length < 100 ? heldPlace(JSON.parse(written) as Json) : null;
}
