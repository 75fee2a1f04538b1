// The fields of a request as one table: class, check, neutral value and meaning of each. The parser, the capability
// matrix, the documentation and the list of supported parameters are all derived from it (promise 6.1). Fields that are
// not in it go to the provider.

// Decides (the request): Which values may a parameter have, and what does `null` mean? By: `COMMON`, `GATEWAY`. Also:
// `engine/request/parse.ts`; what one model or vendor takes: `engine/fit/fit.ts` (`checkValue`). Rule: Those of the
// table, else 400 `invalid_request`; `null` is as if the field were not sent.
import { CACHE_SCOPES, MAX_CACHE_TTL_S } from "./configured/cache.ts";
import { MESSAGE_ROLES } from "./chat.ts";
import { isObject, isRawNumber, isWholeNumber, type Json, type JsonObject } from "./json.ts";
import { invalid, invalidRequest } from "./refusals.ts";
import { ADDRESS_WORD } from "./target.ts";

/** Throws GatewayError `invalid_request`, which names the path, when the field does not accept the value. */
export type Check = (value: Json, path: string) => void;

export interface Field {
  /**
   * `gateway`: the gateway acts on the field and never sends it on. `common`: a model parameter that the provider
   * receives in its own form.
   */
  readonly class: "gateway" | "common";
  readonly check: Check;
  /** Recognizes a documented value that means the same as not sending the field (promise 6.3). */
  readonly neutral?: (value: Json) => boolean;
  readonly meaning: string;
}

const number =
  (min: number, max: number): Check =>
  (value, path) => {
    if (typeof value !== "number" || value < min || value > max)
      throw invalid(path, `a number from ${min} to ${max}`, value);
  };
const aboveZero: Check = (value, path) => {
  if (typeof value !== "number" || !(value > 0) || !Number.isFinite(value))
    throw invalid(path, "a number above 0", value);
};
const integer =
  (min: number, max: number = Number.MAX_SAFE_INTEGER): Check =>
  (value, path) => {
    if (!isWholeNumber(value, min, max))
      throw invalid(
        path,
        max === Number.MAX_SAFE_INTEGER ? `an integer of at least ${min}` : `an integer from ${min} to ${max}`,
        value,
      );
  };
const boolean: Check = (value, path) => {
  if (typeof value !== "boolean") throw invalid(path, "true or false", value);
};
const string: Check = (value, path) => {
  if (typeof value !== "string") throw invalid(path, "a string", value);
};
const addressWord: Check = (value, path) => {
  if (typeof value !== "string" || !ADDRESS_WORD.test(value))
    throw invalid(path, "1 to 128 letters, digits, dots, underscores or dashes", value);
};
const object: Check = (value, path) => {
  if (!isObject(value)) throw invalid(path, "an object", value);
};
const array: Check = (value, path) => {
  if (!Array.isArray(value)) throw invalid(path, "an array", value);
};
const listOf =
  (check: Check): Check =>
  (value, path) => {
    array(value, path);
    (value as readonly Json[]).forEach((item, index) => check(item, `${path}[${index}]`));
  };
const anyOf =
  (expected: string, ...checks: readonly ((value: Json) => boolean)[]): Check =>
  (value, path) => {
    if (!checks.some((check) => check(value))) throw invalid(path, expected, value);
  };
const shape =
  (fields: Readonly<Record<string, Check>>): Check =>
  (value, path) => {
    object(value, path);
    for (const [name, check] of Object.entries(fields)) {
      const member = (value as JsonObject)[name];
      if (member !== undefined && member !== null) check(member, `${path}.${name}`);
    }
  };
const required =
  (name: string, check: Check): Check =>
  (value, path) => {
    const member = isObject(value) ? value[name] : undefined;
    if (member === undefined || member === null) throw invalid(`${path}.${name}`, "present", member);
    check(member, `${path}.${name}`);
  };
const mapOf =
  (check: Check): Check =>
  (value, path) => {
    object(value, path);
    for (const [name, member] of Object.entries(value as JsonObject))
      if (member !== undefined && member !== null) check(member, `${path}.${name}`);
  };
const all =
  (...checks: readonly Check[]): Check =>
  (value, path) =>
    checks.forEach((check) => check(value, path));
const oneOf =
  (...allowed: readonly string[]): Check =>
  (value, path) => {
    if (typeof value !== "string" || !allowed.includes(value))
      throw invalid(path, `one of ${allowed.map((word) => JSON.stringify(word)).join(", ")}`, value);
  };

const METADATA_MAX_BYTES = 64 * 1024;
const METADATA_MAX_DEPTH = 32;
const metadata: Check = (value, path) => {
  object(value, path);
  if (depthOf(value, METADATA_MAX_DEPTH) > METADATA_MAX_DEPTH)
    throw invalidRequest(path, `${path} may be at most ${METADATA_MAX_DEPTH} levels deep.`);
  const bytes = Buffer.byteLength(JSON.stringify(value));
  if (bytes > METADATA_MAX_BYTES)
    throw invalidRequest(path, `${path} may have at most ${METADATA_MAX_BYTES} bytes as JSON; got ${bytes}.`);
};
/** Returns the nesting depth, but stops counting one level past `limit`. */
function depthOf(value: Json | undefined, limit: number): number {
  if (typeof value !== "object" || value === null || isRawNumber(value)) return 0;
  let deepest = 0;
  for (const member of Object.values(value)) {
    if (deepest > limit) break;
    deepest = Math.max(deepest, depthOf(member, limit - 1));
  }
  return deepest + 1;
}

const seed: Check = (value, path) => {
  const whole = isRawNumber(value)
    ? /^-?\d+$/.test(value.rawJSON)
    : typeof value === "number" && Number.isInteger(value);
  if (!whole) throw invalid(path, "an integer", value);
};

const isWord = (value: Json): boolean => typeof value === "string";
const isStringList = (value: Json): boolean => Array.isArray(value) && value.every((item) => typeof item === "string");
const responseFormat: Check = (value, path) => {
  required("type", oneOf("text", "json_object", "json_schema"))(value, path);
  if ((value as JsonObject)["type"] === "json_schema")
    required("json_schema", all(object, shape({ name: string, schema: object, strict: boolean, description: string })))(
      value,
      path,
    );
};

/**
 * Accepts `{role: {pre_message, post_message}}` and nothing else: a misspelled name would silently change the prompt
 * (promise 6.7).
 */
const promptRoles: Check = (value, path) => {
  object(value, path);
  for (const [role, form] of Object.entries(value as JsonObject)) {
    const at = `${path}.${role.slice(0, 64)}`;
    if (!(MESSAGE_ROLES as readonly string[]).includes(role))
      throw invalidRequest(at, `${at} is not a message role: roles takes ${MESSAGE_ROLES.join(", ")}.`);
    if (form === undefined || form === null) continue;
    shape({ pre_message: string, post_message: string })(form, at);
    const unknown = Object.keys(form as JsonObject).find((name) => name !== "pre_message" && name !== "post_message");
    if (unknown !== undefined)
      throw invalidRequest(
        `${at}.${unknown.slice(0, 64)}`,
        `${at}.${unknown.slice(0, 64)} is unknown: a role takes pre_message and post_message.`,
      );
  }
};

/** Function names (promise 5.5). */
export const FUNCTION_NAME = /^[a-zA-Z0-9_-]{1,64}$/;
export const functionName: Check = (value, path) => {
  if (typeof value !== "string" || !FUNCTION_NAME.test(value))
    throw invalid(path, "a name of 1 to 64 letters, digits, underscores or dashes", value);
};
const functionDefinition: Check = all(
  object,
  required("name", functionName),
  shape({ description: string, parameters: object, strict: boolean }),
);

/** A model's name, or a request of its own (promise 7.3). */
const fallback: Check = (value, path) => {
  if (typeof value === "string") return;
  if (!isObject(value)) throw invalid(path, "a string or an object", value);
  shape({ model: string, route: string })(value, path);
  if ((value["model"] ?? value["route"] ?? null) === null)
    throw invalid(`${path}.model`, "present, or route", value["model"]);
};
/** An entry of an inline route (promise 1.6). */
const modelListEntry: Check = all(
  object,
  required("model_name", string),
  required("params", all(object, required("model", string))),
  shape({ weight: aboveZero, order: integer(0) }),
);

const tokenBound = integer(-1);
const cost: Check = number(0, 1);
const isZero = (value: Json): boolean => value === 0;
const isEmptyList = (value: Json): boolean => Array.isArray(value) && value.length === 0;

/** Accepts what a route says of the cache, with both members optional. */
const cacheUse: Check = (value, path) => {
  if (value === false) return;
  if (!isObject(value)) throw invalid(path, "an object with ttl_s and scope, or false", value);
  shape({ ttl_s: number(1, MAX_CACHE_TTL_S), scope: oneOf(...CACHE_SCOPES) })(value, path);
  const unknown = Object.keys(value).find((name) => name !== "ttl_s" && name !== "scope");
  if (unknown !== undefined)
    throw invalidRequest(
      `${path}.${unknown.slice(0, 64)}`,
      `${path}.${unknown.slice(0, 64)} is unknown: cache takes ttl_s and scope.`,
    );
};

const common = (
  meaning: string,
  check: Check,
  neutral?: (value: Json) => boolean,
): Field & { readonly class: "common" } => ({ class: "common", check, meaning, ...(neutral && { neutral }) });
const gateway = (meaning: string, check: Check): Field & { readonly class: "gateway" } => ({
  class: "gateway",
  check,
  meaning,
});

/** A `max_tokens` of -1 means "not set" (promise 5.5); clients such as n8n send it by default. */
export const COMMON = {
  temperature: common("Sampling temperature, 0 to 2.", number(0, 2)),
  top_p: common("Nucleus sampling, 0 to 1.", number(0, 1), (value) => value === 1),
  n: common("Number of choices, 1 to 128.", integer(1, 128), (value) => value === 1),
  stream: common("Send the answer as server-sent events.", boolean),
  stream_options: common(
    "Only with `stream`: `include_usage` asks for a last chunk with the usage.",
    shape({ include_usage: boolean }),
  ),
  stop: common(
    "Up to 4 sequences at which the model stops.",
    anyOf("a string or an array of strings", isWord, isStringList),
    (value) => value === "" || isEmptyList(value),
  ),
  max_tokens: common("Upper bound on generated tokens; the same as `max_completion_tokens`.", tokenBound),
  max_completion_tokens: common("Upper bound on generated tokens, reasoning included.", tokenBound),
  presence_penalty: common("Penalty on tokens that occur already, -2 to 2.", number(-2, 2), isZero),
  frequency_penalty: common("Penalty on tokens by how often they occur already, -2 to 2.", number(-2, 2), isZero),
  logit_bias: common(
    "Bias for single tokens, by token id.",
    object,
    (value) => isObject(value) && Object.keys(value).length === 0,
  ),
  user: common("Identifier of the end user, for abuse monitoring.", string),
  safety_identifier: common("Identifier of the end user for safety monitoring.", string),
  response_format: common(
    "`text`, `json_object` or `json_schema`.",
    responseFormat,
    (value) => isObject(value) && value["type"] === "text",
  ),
  seed: common("Seed for reproducible sampling, as far as the provider supports it.", seed),
  tools: common("Tools that the model may call. Functions and custom tools may be flat.", array, isEmptyList),
  tool_choice: common("`none`, `auto`, `required`, or one function.", anyOf("a string or an object", isWord, isObject)),
  parallel_tool_calls: common("Whether one turn may call several tools.", boolean, (value) => value === true),
  logprobs: common("Return log probabilities of the answer's tokens.", boolean, (value) => value === false),
  top_logprobs: common("Number of likeliest tokens for each position, 0 to 5; only with `logprobs`.", integer(0, 5)),
  reasoning_effort: common("How much the model reasons.", string),
  verbosity: common("How long the model answers.", string),
  modalities: common("Kinds of output, such as `text` and `audio`.", listOf(string)),
  audio: common("Voice and format of audio output.", object),
  prediction: common("Text that the answer is expected to repeat.", object),
  service_tier: common("Tier of service at the provider.", string),
  store: common(
    "Whether the provider keeps the answer. `true` is sent as `false` and named in `x-gateway-dropped-params`, unless the entry of the provider says `vendor_store: true`.",
    boolean,
    (value) => value === false,
  ),
  prompt_cache_key: common("Key by which the provider finds a cached prompt.", string),
  web_search_options: common("Web search by the provider.", object),
  deployment_id: common("Deployment, used in the URL instead of the model.", addressWord),
  initial_prompt_value: common("Text at the start of the prompt, for raw prompt endpoints.", string),
  roles: common("How each role is written in the prompt, for raw prompt endpoints.", promptRoles),
  final_prompt_value: common("Text at the end of the prompt, for raw prompt endpoints.", string),
  bos_token: common("Text at the start of a sequence, for raw prompt endpoints.", string),
  eos_token: common("Text at the end of a sequence, for raw prompt endpoints.", string),
  hf_model_name: common(
    "Name of the model on its hub, which selects the chat template, for raw prompt endpoints.",
    string,
  ),
} as const satisfies Record<string, Field>;

export type CommonParameter = keyof typeof COMMON;
export const COMMON_PARAMETERS = Object.keys(COMMON) as readonly CommonParameter[];

/**
 * The gateway itself supports these at every provider, and forwards them where the provider has a field for them
 * (promise 6.3).
 */
export const NEVER_UNSUPPORTED: ReadonlySet<CommonParameter> = new Set([
  "user",
  "safety_identifier",
  "stream",
  "stream_options",
]);

/**
 * These change the cost and never the answer. Where a provider has no place for them they are left out without
 * `drop_params`, and named (promise 6.10).
 */
export const ADVISORY: ReadonlySet<CommonParameter> = new Set(["prompt_cache_key"]);

export const GATEWAY = {
  tenant_id: gateway("Tenant of the call; the token's, if left out.", string),
  project_id: gateway("Project of the call; the token's, if left out.", string),
  route: gateway("Name of a route; `direct` for none.", string),
  model: gateway("`<provider>:<model_name>`, or the name of a route.", string),
  messages: gateway("The conversation so far.", array),
  timeout: gateway(
    "Seconds for the whole call; 600 if left out, unless the client, the route or the server has another limit.",
    (value, path) => {
      if (typeof value !== "number" || !(value > 0) || !Number.isFinite(value))
        throw invalid(path, "a number of seconds above 0", value);
    },
  ),
  metadata: gateway("Data that is recorded with the call.", metadata),
  drop_params: gateway("Drop common parameters that the provider does not support.", boolean),
  extra_body: gateway("Fields for the provider's request body.", object),
  headers: gateway("Headers for the provider's request.", object),
  extra_headers: gateway("Headers for the provider's request; they override `headers`.", object),
  base_url: gateway("Address of the provider for this call.", string),
  api_base: gateway("The same as `base_url`.", string),
  api_key: gateway("Credential of the provider for this call.", string),
  api_version: gateway("API version of the provider.", string),
  aws_region_name: gateway("AWS region for this call.", string),
  aws_access_key_id: gateway("AWS credential for this call, with `aws_secret_access_key`.", string),
  aws_secret_access_key: gateway("AWS credential for this call, with `aws_access_key_id`.", string),
  aws_session_token: gateway("Token of a temporary AWS credential.", string),
  vertex_project: gateway("Google Cloud project for this call.", string),
  vertex_location: gateway("Google Cloud location for this call.", string),
  vertex_credentials: gateway(
    "Key file of a Google service account for this call, as JSON or as text.",
    anyOf("an object or a string", isWord, isObject),
  ),
  vertex_access_token: gateway("Google access token for this call.", string),
  functions: gateway("Deprecated form of `tools`.", listOf(functionDefinition)),
  function_call: gateway(
    "Deprecated form of `tool_choice`.",
    anyOf(
      '"none", "auto" or an object with a name',
      isWord,
      (value) => isObject(value) && typeof value["name"] === "string",
    ),
  ),
  cache: gateway(
    "How the response cache is used for this call: `ttl_s` and `scope`, or false to go past it.",
    cacheUse,
  ),
  num_retries: gateway("Retries after a retryable failure, 0 to 10.", integer(0, 10)),
  fallbacks: gateway("Models to attempt if the first one fails.", listOf(fallback)),
  context_window_fallback_dict: gateway(
    "Models to use instead of others if the conversation is too long for them.",
    mapOf(string),
  ),
  max_tool_rounds: gateway("Rounds of the model in a call with tool servers, 1 to 50; 10 if left out.", integer(1, 50)),
  model_list: gateway("An inline route for this call.", listOf(modelListEntry)),
  input_cost_per_token: gateway("The caller's own price of a prompt token, 0 to 1 USD.", cost),
  output_cost_per_token: gateway("The caller's own price of a generated token, 0 to 1 USD.", cost),
} as const satisfies Record<string, Field>;

/** Every field that is not passed through. */
export const FIELDS: ReadonlyMap<string, Field> = new Map<string, Field>([
  ...Object.entries(GATEWAY),
  ...Object.entries(COMMON),
]);

export { functionDefinition };
