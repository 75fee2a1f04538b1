// Tools of a request and tool calls of earlier answers, for providers that restrict what they accept of them: function calls only, ids of a
// certain form, input that is an object.
import { createHash } from "node:crypto";
import type { ToolCall } from "../../core/chat.ts";
import { isObject, type JsonObject } from "../../core/json.ts";
import { invalidRequest } from "../../core/refusals.ts";
import { parseJson } from "../../wire/json/json.ts";
import { JsonError } from "../../wire/json/json-error.ts";

/**
 * Reads a tool call as a function call. Tool calls of a vendor's own type have not been checked before. Throws
 * GatewayError `invalid_request` at `path`.
 */
export function calledFunction(call: ToolCall, path: string): ToolCall["function"] {
  const { id, function: called } = call as Partial<ToolCall>;
  if (
    typeof id !== "string" ||
    !isObject(called) ||
    typeof called.name !== "string" ||
    typeof called.arguments !== "string"
  )
    throw invalidRequest(path, `${path}: this provider supports only function calls.`);
  return called;
}

export interface CallIdForm {
  /** An id that matches is sent unchanged. */
  readonly fits: RegExp;
  /**
   * The length of a replacement id. It consists of hexadecimal characters of a digest: digits and the letters a to f.
   */
  readonly length: number;
}

/**
 * The id is changed in the same way in a tool call and in its result, and on every turn, so that no mapping has to be
 * kept.
 */
export function fittingCallId(id: string, { fits, length }: CallIdForm): string {
  return fits.test(id) ? id : createHash("sha256").update(id).digest("hex").slice(0, length);
}

/**
 * JSON that a model or a tool wrote, as an object. `null` when it is not an object, for example because the answer was
 * cut off.
 */
export function parseObject(text: string): JsonObject | null {
  try {
    const value = parseJson(text);
    return isObject(value) ? value : null;
  } catch (thrown) {
    if (thrown instanceof JsonError) return null;
    throw thrown;
  }
}

/**
 * The arguments as an object, for providers that take the object itself. Throws GatewayError `invalid_request` at
 * `path`.
 */
export function requireInput(text: string, path: string): JsonObject {
  const isEmpty = text.trim() === "" || text.trim() === "null";
  const input = isEmpty ? {} : parseObject(text);
  if (input !== null) return input;
  throw invalidRequest(
    path,
    `${path} must be a JSON object, written as a string: this provider takes the object itself.`,
  );
}

/**
 * For providers that accept only an object as input. Other arguments (of a tool call that was cut off, or invalid JSON
 * of the model) are wrapped as Anthropic advises, so that the model sees what it wrote:
 * https://platform.claude.com/docs/en/agents-and-tools/tool-use/fine-grained-tool-streaming
 */
export function toolInput(text: string): JsonObject {
  return text.trim() === "" ? {} : (parseObject(text) ?? { INVALID_JSON: text });
}

/** The name of a tool of the request, whether it is a function or a tool of the vendor's own type. */
export function toolName({ function: definition, name }: JsonObject): unknown {
  return isObject(definition) ? definition["name"] : name;
}
