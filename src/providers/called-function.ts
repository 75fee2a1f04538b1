// Reads a tool call of an earlier answer as a function call, for providers that have no other type. Tool calls of a
// vendor's own type have not been checked before.
import type { ToolCall } from "../core/chat.ts";
import { GatewayError } from "../core/errors.ts";
import { isObject } from "../core/json.ts";

/** Throws GatewayError `invalid_request` at `path`. */
export function calledFunction(call: ToolCall, path: string): ToolCall["function"] {
  const { id, function: called } = call as Partial<ToolCall>;
  if (
    typeof id !== "string" ||
    !isObject(called) ||
    typeof called.name !== "string" ||
    typeof called.arguments !== "string"
  )
    throw new GatewayError("invalid_request", `${path}: this provider supports only function calls.`, {
      param: path,
    });
  return called;
}
