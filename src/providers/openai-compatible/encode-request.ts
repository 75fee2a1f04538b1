// Encodes a request as the body for an OpenAI-compatible provider, from the caller's own text: each top-level member is
// copied as it was written, left out, or replaced, in the caller's order. Key order, unknown fields and the spelling of
// numbers thereby reach the provider byte for byte.
import type { ChatParams, ChatRequest } from "../../core/chat.ts";
import type { MemberSpan } from "../../core/request/request-source.ts";
import { isObject, type Json, type JsonObject } from "../../core/json.ts";
import type { Target } from "../../core/target.ts";
import { parseBoundedJson } from "../../wire/json/json.ts";
import { type EncodedRequest, type JoinedText, jsonPost } from "../interface/encoded-request.ts";
import { wireMessages } from "./encode-messages.ts";
import type { OpenAICompatibleRow } from "./row.ts";
import type { WirePlan } from "./wire-plan.ts";

/**
 * A member is written from the request's value when its name is in `source.rewritten`, or when the request holds it and
 * the text does not. For every other member, the text is assumed to match the request. Throws the GatewayErrors of the
 * row's rewrites.
 */
export function encodeRequest(
  row: OpenAICompatibleRow,
  planFor: (model: string) => WirePlan,
  request: ChatRequest,
  target: Target,
): EncodedRequest {
  const plan = planFor(target.model);
  const mapped: string[] = [];
  const body = encodeBody(row, plan, request, target, mapped);
  const headers = { ...row.hooks?.headers?.(request), ...target.headers };
  return {
    request: jsonPost(addressOf(row, target, request), headers, body),
    memo: null,
    ...(mapped.length > 0 && { mapped }),
  };
}

/** Returns the texts that encodeRequest makes of several. Throws as it does. */
export function joinedTexts(
  row: OpenAICompatibleRow,
  planFor: (model: string) => WirePlan,
  request: ChatRequest,
  target: Target,
): readonly JoinedText[] {
  const plan = planFor(target.model);
  const joins: JoinedText[] = [];
  if (plan.textAsString || row.hooks?.messages !== undefined) wireMessages(row, plan, request, target, joins);
  return joins;
}

function addressOf(row: OpenAICompatibleRow, target: Target, request: ChatRequest): string {
  if (row.hooks?.address !== undefined) return row.hooks.address(target, request);
  const path = row.path ?? "/chat/completions";
  return (
    baseOf(row, target) +
    (path.includes("{model}")
      ? path.replace("{model}", () => target.model.split("/").map(encodeURIComponent).join("/"))
      : path)
  );
}

/** Returns the base address, with the path that one lacks which is only a host. */
export function baseOf({ barePath }: Pick<OpenAICompatibleRow, "barePath">, { baseUrl }: Target): string {
  return barePath !== undefined && HOST_ALONE.test(baseUrl) ? baseUrl + barePath : baseUrl;
}

const HOST_ALONE = /^https?:\/\/[^/]+$/i;

/** A body that is being built. */
interface Draft {
  readonly row: OpenAICompatibleRow;
  readonly plan: WirePlan;
  readonly request: ChatRequest;
  readonly params: JsonObject;
  readonly target: Target;
  readonly rewritten: Rewritten;
  /** Names that `extra_body` set or merged into. `null` without an `extra_body`. */
  readonly fromExtraBody: ReadonlySet<string> | null;
  readonly mapped: string[];
  /** The beginning of the object, with the members written so far. */
  json: string;
  boundWritten: boolean;
}

function encodeBody(
  row: OpenAICompatibleRow,
  plan: WirePlan,
  request: ChatRequest,
  target: Target,
  mapped: string[],
): string {
  const { members } = request.source;
  const params = request.params as ChatParams as JsonObject;
  const rewritten = plan.rewrites.length === 0 ? NOTHING_REWRITTEN : rewrite(plan, request, mapped);
  const fromExtraBody = members.has("extra_body") ? extraBodyNames(request) : null;
  const draft: Draft = {
    row,
    plan,
    request,
    params,
    target,
    rewritten,
    fromExtraBody,
    mapped,
    json: "{",
    boundWritten: false,
  };
  for (const [name, span] of members) putMember(draft, name, span);
  if (!members.has("model")) putMember(draft, "model", null);
  for (const name in params) if (!members.has(name)) putMember(draft, name, null);
  if (params["stream"] === true && params["stream_options"] === undefined) putMember(draft, "stream_options", null);
  if (fromExtraBody !== null)
    for (const name of fromExtraBody)
      if (!members.has(name) || plan.members.has(name)) put(draft, name, request.extra[name]!);
  // Members whose names a guard has replaced.
  for (const name of request.source.rewritten)
    if (!members.has(name) && fromExtraBody?.has(name) !== true && Object.hasOwn(request.extra, name))
      putPassedThrough(draft, name, null);
  for (const name in rewritten.members) put(draft, name, rewritten.members[name]!);
  return `${draft.json}}`;
}

/** `member` is the text of a member. Only the length of the draft is read, so that it is put together once, at the end. */
function append(draft: Draft, member: string): void {
  draft.json += draft.json.length === "{".length ? member : `,${member}`;
}

/** `span` is `null` when the text does not contain the member. */
function putMember(draft: Draft, name: string, span: MemberSpan | null): void {
  const member = draft.plan.members.get(name);
  if (member === undefined) {
    putPassedThrough(draft, name, span);
    return;
  }
  switch (member.kind) {
    case "absent":
      return;
    case "model":
      putModel(draft);
      return;
    case "messages":
      putMessages(draft, span);
      return;
    case "function_call":
      // A function_call that only chose among tools is copied as it was sent.
      if (span !== null && !draft.request.source.rewritten.has("function_call")) copy(draft, span);
      return;
    case "stream_options":
      putStreamOptions(draft, span);
      return;
    case "token_bound":
      // Both names stand for one bound, and a provider accepts only one of them.
      if (draft.boundWritten || draft.params[name] === undefined) return;
      draft.boundWritten = true;
      putParameter(draft, name, member.wireName, span);
      return;
    case "parameter":
      putParameter(draft, name, member.wireName, span);
  }
}

function put(draft: Draft, name: string, value: Json): void {
  append(draft, `${JSON.stringify(name)}:${JSON.stringify(value)}`);
}

function putModel(draft: Draft): void {
  const { row, target, request } = draft;
  if (row.hooks?.model === undefined) put(draft, "model", target.model);
  else for (const [name, value] of Object.entries(row.hooks.model(target, request))) put(draft, name, value!);
}

function copy(draft: Draft, span: MemberSpan): void {
  append(draft, draft.request.source.text.slice(span.keyStart, span.valueEnd));
}

function putPassedThrough(draft: Draft, name: string, span: MemberSpan | null): void {
  const value = draft.request.extra[name];
  if (value === undefined) return;
  if (span !== null && draft.fromExtraBody?.has(name) !== true && !draft.request.source.rewritten.has(name))
    copy(draft, span);
  else put(draft, name, value);
}

function putMessages(draft: Draft, span: MemberSpan | null): void {
  const { request } = draft;
  const messages = wireMessages(draft.row, draft.plan, request, draft.target);
  if (span !== null && messages === request.messages && !request.source.rewritten.has("messages")) copy(draft, span);
  else put(draft, "messages", messages);
}

/** Writes a common parameter, from the text when the text still matches the request. */
function putParameter(draft: Draft, name: string, wireName: string, span: MemberSpan | null): void {
  const { source, extra } = draft.request;
  const value = draft.params[name];
  if (
    value === undefined ||
    value === null ||
    draft.rewritten.consumed.has(name) ||
    wireName in draft.rewritten.members
  )
    return;
  if (wireName !== name) {
    // The vendor's own name, when the caller sent it, is more specific than the parameter that is mapped to it.
    if (extra[wireName] !== undefined) return;
    draft.mapped.push(`${name} -> ${wireName}`);
  }
  if (span === null || source.rewritten.has(name)) put(draft, wireName, value);
  else if (wireName === name) copy(draft, span);
  else append(draft, `${JSON.stringify(wireName)}:${source.text.slice(span.valueStart, span.valueEnd)}`);
}

/**
 * The gateway always counts usage, so it requests the usage whatever the caller set. A null in the text means "not
 * set": the member is then added at the end.
 */
function putStreamOptions(draft: Draft, span: MemberSpan | null): void {
  const options = draft.params["stream_options"];
  if (draft.params["stream"] !== true || (span !== null && options === undefined)) return;
  if (span !== null && isObject(options) && options["include_usage"] === true) copy(draft, span);
  else put(draft, "stream_options", { ...(isObject(options) && options), include_usage: true });
}

interface Rewritten {
  readonly members: JsonObject;
  /** Parameters that have been rewritten and are not sent under their own name. */
  readonly consumed: ReadonlySet<string>;
}
const NOTHING_REWRITTEN: Rewritten = { members: {}, consumed: new Set() };

function rewrite(plan: WirePlan, request: ChatRequest, mapped: string[]): Rewritten {
  const members: Record<string, Json> = {};
  const consumed = new Set<string>();
  for (const [name, { write, note }] of plan.rewrites) {
    const value = request.params[name];
    const written = value === undefined || value === null ? null : write(value, request.params);
    if (written === null) continue;
    consumed.add(name);
    for (const [wireName, wireValue] of Object.entries(written)) {
      if (wireValue === null) {
        consumed.add(wireName);
        continue;
      }
      if (wireName !== name) {
        // As with a renamed parameter, the vendor's own name has precedence.
        if (request.extra[wireName] !== undefined) continue;
        mapped.push(`${name} -> ${wireName}`);
      } else mapped.push(`${name} -> ${note}`);
      members[wireName] = wireValue!;
    }
  }
  return { members, consumed };
}

/** Names whose values are taken from the request and not from the text. */
function extraBodyNames(request: ChatRequest): ReadonlySet<string> {
  const span = request.source.members.get("extra_body")!;
  const given = parseBoundedJson(request.source.text.slice(span.valueStart, span.valueEnd));
  return new Set(isObject(given) ? Object.keys(given).filter((name) => request.extra[name] !== undefined) : []);
}
