// Request -> body for an OpenAI-shaped provider, made of the caller's own text: each top-level member is copied as it was written, left out, or
// replaced, in the caller's order. So key order, unknown fields and the spelling of numbers reach the provider byte for byte.
import type { ChatRequest, MemberSpan } from "../../core/chat.ts";
import { isObject, type Json, type JsonObject } from "../../core/json.ts";
import type { Target } from "../../core/target.ts";
import { parseJson } from "../../wire/json.ts";
import type { EncodedRequest } from "../provider.ts";
import { wireMessages } from "./messages.ts";
import type { OpenAICompatibleRow } from "./row.ts";
import type { WirePlan } from "./wire-plan.ts";

/**
 * A member whose name is in `source.rewritten`, or that stands in the request and not in the text, is written from the request's value; every other one
 * is trusted to say in the text what the request holds. Throws GatewayError of the row's rewrites.
 */
export function encodeRequest(row: OpenAICompatibleRow, planFor: (model: string) => WirePlan, request: ChatRequest, target: Target): EncodedRequest {
  const plan = planFor(target.model);
  const mapped: string[] = [];
  const body = encodeBody(row, plan, request, target.model, mapped);
  return {
    request: { url: addressOf(row, target), headers: { ...target.headers, "content-type": "application/json" }, body },
    memo: null,
    ...(mapped.length > 0 && { mapped }),
  };
}

function addressOf(row: OpenAICompatibleRow, target: Target): string {
  if (row.hooks?.address !== undefined) return row.hooks.address(target, target.baseUrl);
  const path = row.path ?? "/chat/completions";
  return target.baseUrl + (path.includes("{model}") ? path.replace("{model}", () => target.model.split("/").map(encodeURIComponent).join("/")) : path);
}

function encodeBody(row: OpenAICompatibleRow, plan: WirePlan, request: ChatRequest, model: string, mapped: string[]): string {
  const { source, extra } = request;
  const { text } = source;
  const params = request.params as JsonObject;
  const rewritten = plan.rewrites.length === 0 ? NOTHING_REWRITTEN : rewrite(plan, request, mapped);
  const mergedExtra = source.members.has("extra_body") ? extraBodyNames(request) : null;
  let body = "";
  let boundWritten = false;
  const copy = (span: MemberSpan): void => {
    body += `,${text.slice(span.keyStart, span.valueEnd)}`;
  };
  const put = (name: string, value: Json): void => {
    body += `,${JSON.stringify(name)}:${JSON.stringify(value)}`;
  };
  /** A common parameter, from the text where it still says what the request holds. */
  const putParameter = (name: string, wireName: string, span: MemberSpan | null): void => {
    const value = params[name];
    if (value === undefined || value === null || rewritten.consumed.has(name) || wireName in rewritten.members) return;
    if (wireName !== name) {
      // the vendor's own name, sent by the caller, says more than the one that is mapped to it
      if (extra[wireName] !== undefined) return;
      mapped.push(`${name} -> ${wireName}`);
    }
    if (span === null || source.rewritten.has(name)) put(wireName, value);
    else if (wireName === name) copy(span);
    else body += `,${JSON.stringify(wireName)}:${text.slice(span.valueStart, span.valueEnd)}`;
  };
  const putMember = (name: string, span: MemberSpan | null): void => {
    const member = plan.members.get(name);
    if (member === undefined) {
      const value = extra[name];
      if (value === undefined) return;
      if (span !== null && mergedExtra?.has(name) !== true) copy(span);
      else put(name, value);
      return;
    }
    switch (member.kind) {
      case "absent":
        return;
      case "model":
        body += `,"model":${JSON.stringify(model)}`;
        return;
      case "messages": {
        const messages = wireMessages(row, plan, request, model);
        if (span !== null && messages === request.messages && !source.rewritten.has("messages")) copy(span);
        else put("messages", messages);
        return;
      }
      case "stream_options":
        // null in the text is "not set": the usage is then asked for at the end
        if (params["stream"] === true && (span === null || params["stream_options"] !== undefined)) putStreamOptions(params["stream_options"], span, copy, put);
        return;
      case "token_bound":
        // two names of one bound, of which a provider wants one
        if (boundWritten || params[name] === undefined) return;
        boundWritten = true;
        putParameter(name, member.wireName, span);
        return;
      case "parameter":
        putParameter(name, member.wireName, span);
    }
  };
  for (const [name, span] of source.members) putMember(name, span);
  if (!source.members.has("model")) putMember("model", null);
  for (const name in params) if (params[name] !== undefined && !source.members.has(name)) putMember(name, null);
  if (params["stream"] === true && params["stream_options"] === undefined) putMember("stream_options", null);
  if (mergedExtra !== null) for (const name of mergedExtra) if (!source.members.has(name) || plan.members.has(name)) put(name, extra[name]!);
  for (const name in rewritten.members) put(name, rewritten.members[name]!);
  return `{${body.slice(1)}}`;
}

/** The gateway always meters, so the usage is asked for whatever the caller said. */
function putStreamOptions(options: Json | undefined, span: MemberSpan | null, copy: (span: MemberSpan) => void, put: (name: string, value: Json) => void): void {
  if (span !== null && isObject(options) && options["include_usage"] === true) copy(span);
  else put("stream_options", { ...(isObject(options) && options), include_usage: true });
}

interface Rewritten {
  readonly members: JsonObject;
  /** Parameters that have been rewritten and do not go under their own name. */
  readonly consumed: ReadonlySet<string>;
}
const NOTHING_REWRITTEN: Rewritten = { members: {}, consumed: new Set() };

function rewrite(plan: WirePlan, request: ChatRequest, mapped: string[]): Rewritten {
  const members: Record<string, Json> = {};
  const consumed = new Set<string>();
  for (const [name, { write }] of plan.rewrites) {
    const value = request.params[name];
    const written = value === undefined || value === null ? null : write(value, request.params);
    if (written === null) continue;
    consumed.add(name);
    Object.assign(members, written);
    mapped.push(`${name} -> ${Object.keys(written).join(", ")}`);
  }
  return { members, consumed };
}

/** The names that `extra_body` set or merged into: their values are the request's, not those that stand in the text. */
function extraBodyNames(request: ChatRequest): ReadonlySet<string> {
  const span = request.source.members.get("extra_body")!;
  const given = parseJson(request.source.text.slice(span.valueStart, span.valueEnd));
  return new Set(isObject(given) ? Object.keys(given).filter((name) => request.extra[name] !== undefined) : []);
}
