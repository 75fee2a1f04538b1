// Parses the text of a body to a ChatRequest: every field is in exactly one class (promise 6.1), and is checked by the
// table of the common set and the rules of promise 5. fit.ts checks what depends on the target, such as what its vendor
// understands.

// Decides (the request): What if a request has both `max_tokens` and `max_completion_tokens`? By: `BOUNDS`. Also: the name
// that goes out: `renames` of the provider's row. Rule: They are one bound; different values are 400 `invalid_request`.
import { invalidRequest, reservedParameter } from "../../core/refusals.ts";
import { requestOfText, type RequestSource } from "../../core/request/request-source.ts";
import { rateOfToken } from "../../accounting/price.ts";
import type { CacheScope } from "../../core/configured/cache.ts";
import type { RequestedToolServer, CallOptions, ChatParams, ChatRequest, RequestForm } from "../../core/chat.ts";
import { type BodyBounds, LEAST_BODY_BOUNDS } from "../../core/request/body-bounds.ts";
import type { Permission } from "../../core/identity.ts";
import { isObject, isRawNumber, type Json, type JsonObject, mergeObjects, setMember } from "../../core/json.ts";
import { COMMON, FIELDS, GATEWAY } from "../../core/params.ts";
import { parseJsonObject } from "../../wire/json/json.ts";
import { JsonError } from "../../wire/json/json-error.ts";
import { jsonBounds, requireShortNames, unreadableBody } from "./bounded-body.ts";
import { NOTHING_BROUGHT, parseBrought } from "./caller-endpoint.ts";
import { BYO_FIELDS, BYO_PREFIX } from "../fit/endpoint-fields.ts";
import { withNestedTools } from "./flat-tools.ts";
import { withToolsForFunctions } from "./legacy-functions.ts";
import { requestWithEntry } from "./entry-text.ts";
import { isToolServer, parseToolServers } from "../tools/parse-mcp.ts";
import { type ParsedConversation, parseMessages } from "./parse-messages.ts";
import { AS_CONFIGURED, parseRouting, ROUTING_FIELDS } from "./parse-routing.ts";
import { parseResponseFormat, parseToolChoice, parseTools } from "./parse-tools.ts";

/** The two names of one bound. */
const BOUNDS = ["max_tokens", "max_completion_tokens"] as const;

/** The form of chat completions. */
export const CHAT_FORM: RequestForm = {
  parse: (text, bounds) => parseChatRequest(text, bounds),
  pathOf: (path) => path,
  withEntry: requestWithEntry,
};

/**
 * Throws GatewayError `invalid_json`, `invalid_request` and similar errors with the path in `param`. `bounds` is null
 * when the text consists of parts that were checked before.
 */
export function parseChatRequest(
  text: string,
  bounds: BodyBounds | null = LEAST_BODY_BOUNDS,
  unchecked: ReadonlySet<string> = NO_MEMBERS,
): ChatRequest {
  const { value, members } = parsedBody(text, bounds);
  return chatRequestOf(value, (rewritten) => ({ text, members, rewritten }), unchecked);
}

/**
 * Returns the request that a body makes. `sourceOf` gets the members whose value in the request differs from the body.
 * The values of `unchecked` members pass as they are. Throws GatewayError.
 */
export function chatRequestOf(
  body: JsonObject,
  sourceOf: (rewritten: ReadonlySet<string>) => RequestSource,
  unchecked: ReadonlySet<string> = NO_MEMBERS,
): ChatRequest {
  const fields = classify(body, unchecked);
  const usesFunctions = fields.gateway["functions"] !== undefined || fields.gateway["function_call"] !== undefined;
  const legacy = usesFunctions
    ? withToolsForFunctions(fields.common, fields.gateway)
    : { params: fields.common, active: false, rewritten: NO_NAMES };
  const { tools, tool_choice: choice } = legacy.params;
  const toolServers = tools === undefined ? NO_TOOL_SERVERS : parseToolServers(tools as readonly Json[]);
  const nested = tools === undefined && choice === undefined ? legacy.params : withNestedTools(legacy.params);
  const params = checkParams(nested, toolServers);
  const conversation = parseMessages(fields.gateway["messages"], legacy.active, toolServers.length > 0);
  const forms = [...conversation.vendorForms];
  // the errors name positions in the text, so that tool servers are not removed here but skipped
  if (tools !== undefined) parseTools(tools as readonly JsonObject[], forms);
  if (params.tool_choice !== undefined) parseToolChoice(params.tool_choice, toolServers, forms);
  if (params.response_format !== undefined) parseResponseFormat(params.response_format, forms);
  const extra = mergeExtraBody(fields.extra, fields.gateway["extra_body"], body);
  // a client that sends tools reads their calls, whatever an earlier part of its conversation looks like
  const isLegacy = legacy.active || (conversation.legacy && params.tools === undefined);
  return requestOfText<ChatRequest>({
    form: CHAT_FORM,
    variant: "client",
    messages: conversation.messages,
    params,
    extra,
    options: readOptions(fields.gateway, fields.common, extra, toolServers, isLegacy),
    blocks: conversation.blocks,
    vendorForms: forms,
    offered: null,
    toolImages: conversation.toolImages,
    source: sourceOf(
      rewrittenMembers(
        body,
        params,
        nested === legacy.params ? legacy.rewritten : [...legacy.rewritten, "tools", "tool_choice"],
        toolServers,
        conversation,
      ),
    ),
    warnings: [],
  });
}

/** Returns the members whose text differs from what the request holds. */
function rewrittenMembers(
  body: JsonObject,
  params: ChatParams,
  byFunctions: readonly string[],
  toolServers: readonly RequestedToolServer[],
  { rewritten }: ParsedConversation,
): ReadonlySet<string> {
  const names = byFunctions.slice();
  if (toolServers.length > 0) names.push("tools");
  if (rewritten) names.push("messages");
  // null and -1 mean "not set"
  for (const name of BOUNDS) if (body[name] !== undefined && body[name] !== params[name]) names.push(name);
  if (body["function_call"] === null) names.push("function_call");
  return names.length === 0 ? NO_MEMBERS : new Set(names);
}
const NO_MEMBERS: ReadonlySet<string> = new Set();
const NO_NAMES: readonly string[] = [];
const NO_TOOL_SERVERS: readonly RequestedToolServer[] = [];

/** Returns the body, which is within the bounds, and where its members stand. Throws `invalid_json` and the like. */
export function parsedBody(text: string, bounds: BodyBounds | null): ReturnType<typeof parseJsonObject> {
  try {
    const parsed = parseJsonObject(text, bounds === null ? {} : jsonBounds(bounds));
    if (bounds !== null) requireShortNames(parsed.value, bounds);
    return parsed;
  } catch (thrown) {
    if (thrown instanceof JsonError) throw unreadableBody(thrown, "The body is not a JSON object: ");
    throw thrown;
  }
}

/**
 * Puts each field into its class and checks it. null means "not set" (promise 5.2), except in fields that are passed
 * through untouched.
 */
function classify(body: JsonObject, unchecked: ReadonlySet<string>) {
  const gateway: Record<string, Json> = {};
  const common: Record<string, Json> = {};
  const extra: Record<string, Json> = {};
  for (const name of Object.keys(body)) {
    const sent = body[name];
    if (sent === undefined) continue;
    const field = FIELDS.get(name);
    if (field === undefined) {
      setMember(extra, name, sent);
      continue;
    }
    if (sent === null) continue;
    // some languages print 0.7 as 0.69999999999999996, which is the same double; only a seed may need more digits
    const value = isRawNumber(sent) && field !== COMMON.seed ? Number(sent.rawJSON) : sent;
    if (!unchecked.has(name)) field.check(value, name);
    (field.class === "common" ? common : gateway)[name] = value;
  }
  return { gateway, common, extra };
}

/** Checks and applies the rules that connect parameters (promises 5.3 and 5.5). */
function checkParams(common: Readonly<Record<string, Json>>, toolServers: readonly RequestedToolServer[]): ChatParams {
  const params: Record<string, Json> = { ...common };
  for (const name of BOUNDS) if (params[name] === -1) delete params[name];
  const { max_tokens: bound, max_completion_tokens: completionBound } = params;
  if (bound !== undefined && completionBound !== undefined && bound !== completionBound)
    throw invalidRequest(
      "max_tokens",
      "max_tokens and max_completion_tokens have different values but the same meaning; send one of them.",
    );
  const either = bound ?? completionBound;
  if (either !== undefined) params["max_tokens"] = params["max_completion_tokens"] = either;
  if (params["stream_options"] !== undefined && params["stream"] !== true)
    throw invalidRequest("stream_options", "stream_options may be set only when stream is true.");
  if (params["top_logprobs"] !== undefined && params["logprobs"] !== true)
    throw invalidRequest("top_logprobs", "top_logprobs may be set only when logprobs is true.");
  if (toolServers.length > 0) {
    if (typeof params["n"] === "number" && params["n"] > 1)
      throw invalidRequest(
        "n",
        "n must be 1 in a call with tool servers, because each choice would call tools differently.",
      );
    const functions = (params["tools"] as readonly Json[]).filter((tool) => !isToolServer(tool));
    if (functions.length > 0) params["tools"] = functions;
    else delete params["tools"];
  }
  return params;
}

function readOptions(
  gateway: Readonly<Record<string, Json>>,
  common: Readonly<Record<string, Json>>,
  extra: JsonObject,
  toolServers: readonly RequestedToolServer[],
  legacyFunctions: boolean,
): CallOptions {
  const text = (name: string): string | null => (gateway[name] as string | undefined) ?? null;
  const timeout = gateway["timeout"] as number | undefined;
  return {
    tenantId: text("tenant_id"),
    projectId: text("project_id"),
    route: text("route"),
    model: text("model"),
    timeoutMs: timeout === undefined ? null : timeout * 1000,
    metadata: (gateway["metadata"] as JsonObject | undefined) ?? null,
    dropParams: (gateway["drop_params"] as boolean | undefined) ?? null,
    ...(BYO_FIELDS.some((name) => gateway[name] !== undefined) ? parseBrought(gateway) : NOTHING_BROUGHT),
    ownPrice: parseOwnPrice(gateway),
    cache: parseCacheRequest(gateway["cache"]),
    ...(ROUTING_FIELDS.some((name) => gateway[name] !== undefined) ? parseRouting(gateway) : AS_CONFIGURED),
    hasExtraBody: Object.keys((gateway["extra_body"] as JsonObject | undefined) ?? {}).length > 0,
    legacyFunctions,
    toolServers,
    maxToolRounds: (gateway["max_tool_rounds"] as number | undefined) ?? null,
    needs: neededPermissions(gateway, common, extra, toolServers),
  };
}

function parseCacheRequest(value: Json | undefined): CallOptions["cache"] {
  if (value === undefined) return null;
  if (!isObject(value)) return "off";
  const { ttl_s: ttl, scope } = value as { readonly ttl_s?: number | null; readonly scope?: CacheScope | null };
  return { ttlMs: ttl == null ? null : ttl * 1000, scope: scope ?? null };
}

function parseOwnPrice({
  input_cost_per_token: prompt,
  output_cost_per_token: completion,
}: Readonly<Record<string, Json>>): CallOptions["ownPrice"] {
  if (prompt === undefined && completion === undefined) return null;
  return {
    prompt: typeof prompt === "number" ? rateOfToken(prompt) : null,
    completion: typeof completion === "number" ? rateOfToken(completion) : null,
  };
}

function neededPermissions(
  gateway: Readonly<Record<string, Json>>,
  common: Readonly<Record<string, Json>>,
  extra: JsonObject,
  toolServers: readonly RequestedToolServer[],
): ReadonlyMap<Permission, string> {
  const first =
    BYO_FIELDS.find((name) => gateway[name] !== undefined || common[name] !== undefined) ??
    Object.keys(extra).find((name) => BYO_PREFIX.test(name)) ??
    broughtField(toolServers);
  return first === undefined ? NO_NEEDS : new Map([["byo_endpoint", first]]);
}

function broughtField(toolServers: readonly RequestedToolServer[]): string | undefined {
  const bringing = toolServers.find(({ url, headers }) => url !== null || Object.keys(headers).length > 0);
  return bringing && `${bringing.path}.${bringing.url === null ? "headers" : "server_url"}`;
}
const NO_NEEDS: ReadonlyMap<Permission, string> = new Map();

/**
 * `extra_body` joins the pass-through fields; objects that exist already are merged key by key. It cannot set fields
 * that the gateway acts on, nor parameters that the request sets. `store` is the gateway's own decision (promise 12.15).
 */
function mergeExtraBody(extra: JsonObject, explicit: Json | undefined, body: JsonObject): JsonObject {
  if (!isObject(explicit)) return extra;
  for (const name of Object.keys(explicit)) {
    const isReserved =
      Object.hasOwn(GATEWAY, name) ||
      name === "store" ||
      (Object.hasOwn(COMMON, name) && body[name] !== undefined && body[name] !== null);
    if (isReserved)
      throw reservedParameter(
        `extra_body.${name}`,
        `extra_body.${name} would overwrite a field of the request; send it as ${name} instead.`,
      );
  }
  return mergeObjects(extra, explicit, (_path, _there, added) => added);
}
