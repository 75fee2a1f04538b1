// What the bodies of all tasks have in common: which members the form has, and which it cannot have.
import { type Json, type JsonObject, setMember } from "../../core/json.ts";
import { COMMON, GATEWAY } from "../../core/params.ts";
import type { GatewayError } from "../../core/errors.ts";
import { invalidRequest } from "../../core/refusals.ts";

/** The error for a field of the gateway that stands among the members of another form than chat completions. */
export function fieldOfGateway(name: string): GatewayError {
  return invalidRequest(name, `${name} is a field of the gateway: send it as x_gateway.${name}.`);
}

const OF_CONVERSATIONS: ReadonlySet<string> = new Set(["messages", "functions", "function_call"]);

/**
 * Returns the members that a form does not know, without those that are null: they go to the provider. Throws
 * `invalid_request` for a field of the gateway, which belongs into `x_gateway`, and for one of conversations.
 */
export function passedMembers(body: JsonObject, known: ReadonlySet<string>): JsonObject {
  const passed: Record<string, Json> = {};
  for (const name of Object.keys(body)) {
    if (known.has(name) || body[name] === null) continue;
    if (Object.hasOwn(GATEWAY, name) && !OF_CONVERSATIONS.has(name)) throw fieldOfGateway(name);
    if (Object.hasOwn(COMMON, name) || OF_CONVERSATIONS.has(name))
      throw invalidRequest(name, `${name} is a field of conversations and means nothing here.`);
    setMember(passed, name, body[name]!);
  }
  return passed;
}
