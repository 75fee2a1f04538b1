// A call of an earlier answer as the call of a function, for providers that have no other: what a vendor's own type of call holds is not checked before.
import type { ToolCall } from "../core/chat.ts";
import { GatewayError } from "../core/errors.ts";
import { isObject } from "../core/json.ts";

/** Throws `invalid_request` at `path`. */
export function calledFunction(call: ToolCall, path: string): ToolCall["function"] {
  const { id, function: called } = call as Partial<ToolCall>;
  if (
    typeof id !== "string" ||
    !isObject(called) ||
    typeof called.name !== "string" ||
    typeof called.arguments !== "string"
  )
    throw new GatewayError("invalid_request", `${path}: this provider knows no call but that of a function.`, {
      param: path,
    });
  return called;
}
