// The text of a chat completion request with the parameters of an entry of `fallbacks` or `model_list`, or of a route's
// target, and the request that it makes.
import type { ChatRequest, EntryAuthor } from "../../core/chat.ts";
import { isObject, type JsonObject } from "../../core/json.ts";
import { invalidRequest } from "../../core/refusals.ts";
import type { MemberSpan, RequestSource } from "../../core/request/request-source.ts";
import { endpointFields } from "../fit/endpoint-fields.ts";
import { STAND_IN } from "../long-bodies/held-conversation.ts";
import { withOfferedTools } from "../tools/offered-tools.ts";

/** Pairs of names for the same thing: setting one of them replaces the other. */
const SYNONYMS: ReadonlyMap<string, string> = new Map([
  ["max_tokens", "max_completion_tokens"],
  ["max_completion_tokens", "max_tokens"],
  ["tools", "functions"],
  ["tool_choice", "function_call"],
]);

/** Fields that are in `options` already, or do not apply to a single attempt. */
const KNOWN = ["model", "route", "fallbacks", "model_list"] as const;

const TOOL_FIELDS = ["tools", "functions"] as const;

/** As `withEntry` of a form says. The request is parsed anew from its text, but for the conversation. */
export function requestWithEntry(
  request: ChatRequest,
  added: JsonObject,
  keepsEndpoint: boolean,
  author: EntryAuthor,
): ChatRequest {
  const left = keepsEndpoint ? [] : endpointFields(request);
  const names = Object.keys(added);
  if (left.length === 0 && names.length === 0) return request;
  const { whole, short, members } = mergedText(
    request.source,
    added,
    new Set([...KNOWN, ...left, ...names.map((name) => SYNONYMS.get(name) ?? name)]),
  );
  const parsed = request.form.parse(short, null);
  if (parsed.options.toolServers.length + request.options.toolServers.length > 0) {
    const name = TOOL_FIELDS.find((one) => Object.hasOwn(added, one));
    if (name !== undefined)
      throw invalidRequest(
        name,
        `${name} cannot be set per target in a call with tool servers; set it in the request itself.`,
      );
  }
  const { model, route, fallbacks, modelList, hasExtraBody, legacyFunctions } = request.options;
  const configured = configuredNames(request, added, author);
  const entryParams = author === "caller" ? { ...request.entryParams, ...added } : request.entryParams;
  const isOfConversation = (path: string): boolean => path.startsWith("messages");
  const fresh: ChatRequest = {
    ...parsed,
    variant: "entry",
    ...(entryParams !== undefined && { entryParams }),
    ...(configured.size > 0 && { configured }),
    ...(request.written !== undefined && {
      written: { ...request.written, added: { ...request.written.added, ...added } },
    }),
    messages: request.messages,
    ...(request.held !== undefined && { held: request.held }),
    toolImages: request.toolImages,
    blocks: request.blocks,
    vendorForms: [
      ...request.vendorForms.filter(({ path }) => isOfConversation(path)),
      ...parsed.vendorForms.filter(({ path }) => !isOfConversation(path)),
    ],
    options: { ...parsed.options, model, route, fallbacks, modelList, hasExtraBody, legacyFunctions },
    source: {
      text: whole,
      members,
      rewritten: request.source.rewritten.has("messages")
        ? new Set([...parsed.source.rewritten, "messages"])
        : parsed.source.rewritten,
    },
    warnings: [...request.warnings, ...(left.length > 0 ? ["endpoint_not_shared"] : [])],
  };
  return request.offered === null
    ? fresh
    : withOfferedTools(fresh, {
        ...request.offered,
        requested: requestWithEntry(request.offered.requested, added, keepsEndpoint, author),
      });
}

/** A name that the caller wrote remains the caller's, because the two values may be merged. */
function configuredNames(
  { configured = NO_NAMES, extra }: ChatRequest,
  added: JsonObject,
  author: EntryAuthor,
): ReadonlySet<string> {
  const { extra_body: inside } = added;
  const names = [...Object.keys(added), ...(isObject(inside) ? Object.keys(inside) : [])];
  if (author === "caller") return new Set([...configured].filter((name) => !names.includes(name)));
  return new Set([...configured, ...names.filter((name) => !Object.hasOwn(extra, name))]);
}
const NO_NAMES: ReadonlySet<string> = new Set();

/**
 * Returns the text of the merged body, and the same with a placeholder for the conversation, which is parsed already
 * and may be long.
 */
function mergedText(
  { text, members }: RequestSource,
  added: JsonObject,
  gone: ReadonlySet<string>,
): { readonly whole: string; readonly short: string; readonly members: ReadonlyMap<string, MemberSpan> } {
  const spans = new Map<string, MemberSpan>();
  let whole = "{";
  let short = "{";
  const put = (name: string, key: string, value: string, standIn = value): void => {
    const lead = spans.size === 0 ? "" : ",";
    const keyStart = whole.length + lead.length;
    whole += `${lead}${key}:${value}`;
    short += `${lead}${key}:${standIn}`;
    const valueStart = keyStart + key.length + 1;
    spans.set(name, { keyStart, valueStart, valueEnd: valueStart + value.length });
  };
  for (const [name, { keyStart, valueStart, valueEnd }] of members) {
    if (Object.hasOwn(added, name)) put(name, JSON.stringify(name), JSON.stringify(added[name]));
    else if (!gone.has(name))
      put(
        name,
        keyText(text, keyStart, valueStart),
        text.slice(valueStart, valueEnd),
        name === "messages" ? STAND_IN : undefined,
      );
  }
  for (const [name, value] of Object.entries(added))
    if (!members.has(name)) put(name, JSON.stringify(name), JSON.stringify(value));
  return { whole: `${whole}}`, short: `${short}}`, members: spans };
}

/** Returns the key as it was written, without the colon and the spaces after it. */
function keyText(text: string, keyStart: number, valueStart: number): string {
  return text.slice(keyStart, text.lastIndexOf('"', valueStart - 1) + 1);
}
