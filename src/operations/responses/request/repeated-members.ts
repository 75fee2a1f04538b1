// The members of a response object that repeat its request. Open Responses requires each of them, so that those that
// were not sent have the default of the API. https://www.openresponses.org/specification
import { isObject, type Json, type JsonObject, objectsIn } from "../../../core/json.ts";

const DEFAULTS: JsonObject = {
  background: false,
  frequency_penalty: 0,
  instructions: null,
  max_output_tokens: null,
  max_tool_calls: null,
  metadata: {},
  parallel_tool_calls: true,
  presence_penalty: 0,
  previous_response_id: null,
  prompt_cache_key: null,
  safety_identifier: null,
  service_tier: "default",
  store: false,
  temperature: 1,
  tool_choice: "auto",
  top_logprobs: 0,
  top_p: 1,
  truncation: "disabled",
  user: null,
};

/** Members that say what the gateway did, not what was asked. */
const OWN: ReadonlySet<string> = new Set([
  "background",
  "store",
  "presence_penalty",
  "frequency_penalty",
  "truncation",
]);

export function repeatedMembers(body: JsonObject): JsonObject {
  const asked: Record<string, Json> = {};
  for (const name in body) {
    const sent = body[name] ?? null;
    if (sent !== null && Object.hasOwn(DEFAULTS, name) && !OWN.has(name)) asked[name] = sent;
  }
  return {
    ...DEFAULTS,
    ...asked,
    text: textOf(body["text"]),
    reasoning: reasoningOf(body["reasoning"]),
    tools: toolsOf(body["tools"]),
  };
}

function textOf(text: Json | undefined): JsonObject {
  const { format, verbosity } = isObject(text) ? text : {};
  return { format: format ?? { type: "text" }, ...(typeof verbosity === "string" && { verbosity }) };
}

function reasoningOf(reasoning: Json | undefined): JsonObject {
  const { effort, summary } = isObject(reasoning) ? reasoning : {};
  return { effort: effort ?? null, summary: summary ?? null };
}

function toolsOf(tools: Json | undefined): readonly Json[] {
  return objectsIn(tools).map((tool) =>
    tool["type"] === "function" ? { description: null, parameters: null, strict: null, ...tool } : withoutSecrets(tool),
  );
}

/** Returns a tool, or an item of an input that offers tools, without the secrets of tool servers: they are not repeated. */
export function withoutSecrets(value: JsonObject): JsonObject {
  const { authorization: _authorization, headers: _headers, ...shown } = value;
  if (value["type"] === "mcp") return shown;
  return Array.isArray(value["tools"]) ? { ...value, tools: objectsIn(value["tools"]).map(withoutSecrets) } : value;
}
