// The deprecated `functions` and `function_call`: they become tools and tool_choice in the request, and are restored in
// the answer, with at most one call (promise 6.6).
import type { Message } from "../../core/chat.ts";
import { isObject, type Json, type JsonObject } from "../../core/json.ts";
import { invalidRequest } from "../../core/refusals.ts";
import { isToolServer } from "../tools/parse-mcp.ts";

export interface LegacyParams {
  readonly params: Readonly<Record<string, Json>>;
  /** Whether the client used the deprecated form. */
  readonly active: boolean;
  readonly rewritten: readonly string[];
}

export function withToolsForFunctions(
  common: Readonly<Record<string, Json>>,
  gateway: Readonly<Record<string, Json>>,
): LegacyParams {
  const functions = gateway["functions"] as readonly JsonObject[] | undefined;
  const call = gateway["function_call"] as string | JsonObject | undefined;
  if (typeof call === "string" && call !== "none" && call !== "auto")
    throw invalidRequest("function_call", `function_call must be "none", "auto" or an object with a name.`);
  if (functions === undefined) return withChoice(common, call);
  const servers = onlyToolServers(common["tools"]);
  const clash = (["tools", "tool_choice", "parallel_tool_calls"] as const).find(
    (name) => common[name] !== undefined && !(name === "tools" && servers !== null),
  );
  if (clash !== undefined)
    throw invalidRequest(
      "functions",
      `functions is the deprecated form of tools and cannot be combined with ${clash}; send only tools and tool_choice.`,
    );
  const params: Record<string, Json> = { ...common };
  if (functions.length > 0) {
    params["tools"] = [
      ...(servers ?? []),
      ...functions.map((definition): Json => ({ type: "function", function: definition })),
    ];
    // an answer in the deprecated form has only one call, so that a second one would be lost
    params["parallel_tool_calls"] = false;
  }
  if (call !== undefined) params["tool_choice"] = choiceOf(call);
  return {
    params,
    active: true,
    rewritten: ["tools", "tool_choice", "parallel_tool_calls", "functions", "function_call"],
  };
}

/**
 * Returns the entries of `tools` when all of them are tool servers, which have no deprecated form and may stand beside
 * `functions`. Returns `null` when there are none, or when `tools` has other entries too.
 */
function onlyToolServers(tools: Json | undefined): readonly Json[] | null {
  return Array.isArray(tools) && tools.length > 0 && tools.every((tool: Json) => isToolServer(tool)) ? tools : null;
}

/**
 * Translates `function_call` without `functions`: a choice among tools. `auto` is the default, and a provider of the
 * same shape receives it as it was sent.
 */
function withChoice(common: Readonly<Record<string, Json>>, call: string | JsonObject | undefined): LegacyParams {
  if (call === undefined || call === "auto") return { params: common, active: false, rewritten: [] };
  if (common["tool_choice"] !== undefined)
    throw invalidRequest(
      "function_call",
      "function_call is the deprecated form of tool_choice and cannot be combined with it; send only tool_choice.",
    );
  return {
    params: { ...common, tool_choice: choiceOf(call) },
    active: false,
    rewritten: ["tool_choice", "function_call"],
  };
}

function choiceOf(call: string | JsonObject): Json {
  return typeof call === "string" ? call : { type: "function", function: { name: call["name"]! } };
}

/** Whether a message has the deprecated form. One with tool calls has the new form, whatever stands beside them. */
export function isLegacyMessage(message: JsonObject): boolean {
  const { role, tool_calls: calls } = message;
  return role === "function" || (isFunctionCall(message) && !(Array.isArray(calls) && calls.length > 0));
}

/** An empty `function_call` is no call: some servers write the member into every answer, and clients send it back. */
function isFunctionCall({ function_call: call }: JsonObject): boolean {
  return isObject(call) && call["name"] !== "";
}

/**
 * Turns function calls and their results into tool calls and tool messages, with ids that are derived from their
 * position. A result may also answer a tool call.
 */
export function withToolCalls(messages: readonly Message[]): readonly Message[] {
  let lastId = "";
  const idsByName = new Map<string, string>();
  return messages.map((message, index) => {
    if (message.role === "function") {
      const { name, ...rest } = message;
      return { ...rest, role: "tool", tool_call_id: idsByName.get(name!) ?? (lastId || `call_${index}`) };
    }
    for (const { id, function: called } of message.tool_calls ?? [])
      if (isObject(called)) idsByName.set(called.name, id);
    const call = message.function_call;
    if (call === undefined || call === null) return message;
    const { function_call: _call, ...rest } = message;
    if (!isFunctionCall(message)) return rest;
    const calls = message.tool_calls ?? [];
    // some servers say one call in both forms
    const same = calls.find(
      ({ function: called }) => isObject(called) && called.name === call.name && called.arguments === call.arguments,
    );
    lastId = same?.id ?? `call_${index}`;
    idsByName.set(call.name, lastId);
    if (same !== undefined) return rest;
    const own = { id: lastId, type: "function" as const, function: { name: call.name, arguments: call.arguments } };
    return { ...rest, tool_calls: [...calls, own] };
  });
}
