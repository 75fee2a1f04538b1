// The deprecated `functions` and `function_call`: tools and tool_choice on the way in, and back on the way out, one call at a time (decisions 6.6).
import type { Message, ToolCall } from "../core/chat.ts";
import { GatewayError } from "../core/errors.ts";
import type { Json, JsonObject } from "../core/json.ts";

export interface LegacyParams {
  readonly params: Readonly<Record<string, Json>>;
  /** The client spoke the old form. */
  readonly active: boolean;
  readonly rewritten: readonly string[];
}

export function withToolsForFunctions(common: Readonly<Record<string, Json>>, gateway: Readonly<Record<string, Json>>): LegacyParams {
  const functions = gateway["functions"] as readonly JsonObject[] | undefined;
  const call = gateway["function_call"] as string | JsonObject | undefined;
  if (functions === undefined && call === undefined) return { params: common, active: false, rewritten: [] };
  const clash = (["tools", "tool_choice", "parallel_tool_calls"] as const).find((name) => common[name] !== undefined);
  if (clash !== undefined) {
    const legacy = functions === undefined ? "function_call" : "functions";
    throw new GatewayError("invalid_request", `${legacy} is the deprecated form of tools and cannot stand beside ${clash}; send tools and tool_choice alone.`, { param: legacy });
  }
  if (typeof call === "string" && call !== "none" && call !== "auto")
    throw new GatewayError("invalid_request", `function_call must be "none", "auto" or an object with a name.`, { param: "function_call" });
  const params: Record<string, Json> = { ...common };
  if (functions !== undefined && functions.length > 0) {
    params["tools"] = functions.map((definition) => ({ type: "function", function: definition }));
    // the old form answers with one call; a second one would be lost on the way back
    params["parallel_tool_calls"] = false;
  }
  if (call !== undefined) params["tool_choice"] = typeof call === "string" ? call : { type: "function", function: { name: call["name"]! } };
  return { params, active: true, rewritten: ["tools", "tool_choice", "parallel_tool_calls"] };
}

/** Whether a message is in the old form. */
export function isLegacyMessage(message: JsonObject): boolean {
  return message["role"] === "function" || (message["function_call"] !== undefined && message["function_call"] !== null);
}

/** Old calls and their results as tool calls and tool messages, tied together by ids that are made from their place. */
export function withToolCalls(messages: readonly Message[]): readonly Message[] {
  let lastId = "";
  return messages.map((message, index) => {
    if (message.role === "function") {
      const { name: _name, ...rest } = message;
      return { ...rest, role: "tool", tool_call_id: lastId || `call_${index}` } as Message;
    }
    const call = message.function_call;
    if (call === undefined || call === null) return message;
    lastId = `call_${index}`;
    const { function_call: _call, ...rest } = message;
    return { ...rest, tool_calls: [{ id: lastId, type: "function", function: { name: call.name, arguments: call.arguments } }] } as Message;
  });
}

/** A message in the old form for a client that asked in it: its first call as `function_call`. */
export function asFunctionCall(calls: readonly ToolCall[]): { readonly name: string; readonly arguments: string } | undefined {
  return calls[0]?.function;
}
