// The bounds of a chat request's body (promise 5.8): those of its JSON, which are checked before a value is created,
// and those of the names in it.
import { invalidRequest } from "../../core/refusals.ts";
import type { BodyBounds } from "../../core/request/body-bounds.ts";
import { GatewayError } from "../../core/errors.ts";
import { isObject, type Json, type JsonObject } from "../../core/json.ts";
import { memoizePerObject } from "../../core/memoization.ts";
import { FIELDS } from "../../core/params.ts";
import type { JsonError } from "../../wire/json/json-error.ts";
import type { JsonBounds } from "../../wire/json/json-scan.ts";

export const jsonBounds = memoizePerObject((bounds: BodyBounds): JsonBounds => {
  const { maxValues, maxLevels, maxMessages, maxTools, maxItems, maxNameCharacters, maxNumberDigits } = bounds;
  const messages = { own: maxMessages, inside: maxItems };
  const tools = { own: maxTools, inside: maxItems };
  const ofField = { own: maxItems, inside: maxItems };
  const passed = { own: Number.POSITIVE_INFINITY, inside: Number.POSITIVE_INFINITY };
  return {
    maxDepth: maxLevels,
    maxValues,
    maxMembers: maxItems,
    maxDigits: maxNumberDigits,
    maxName: maxNameCharacters,
    maxItems: (member) =>
      member === "messages"
        ? messages
        : member === "tools" || member === "functions"
          ? tools
          : FIELDS.has(member)
            ? ofField
            : passed,
  };
});

/** The error of a body that is no JSON object or exceeds a bound, or in which a name occurs twice. */
export function unreadableBody({ message, beyond, repeated }: JsonError, words = ""): GatewayError {
  if (beyond !== null) return beyondBound(message, beyond);
  return repeated === null
    ? new GatewayError("invalid_json", words + message)
    : new GatewayError("invalid_json", message, { param: repeated });
}

/** `path` is the path of the member that is too large; empty for the whole body. */
export function beyondBound(message: string, path: string): GatewayError {
  return invalidRequest(path === "" ? null : path, message);
}

/** Fields that contain the name of something. */
const NAMES = [
  "model",
  "route",
  "tenant_id",
  "project_id",
  "deployment_id",
  "reasoning_effort",
  "verbosity",
  "service_tier",
  "hf_model_name",
  "tool_choice",
  "function_call",
] as const;

/**
 * Throws `invalid_request` with the path of the first name that is too long. The parser reports values of the wrong
 * type.
 */
export function requireShortNames(body: JsonObject, { maxNameCharacters: max }: BodyBounds): void {
  for (const name of NAMES) requireShort(body[name], name, max);
  const { modalities, fallbacks, model_list: list, context_window_fallback_dict: models } = body;
  each(modalities, (one, index) => requireShort(one, `modalities[${index}]`, max));
  each(fallbacks, (one, index) => {
    const path = `fallbacks[${index}]`;
    requireShort(one, path, max);
    if (isObject(one)) for (const name of ["model", "route"]) requireShort(one[name], `${path}.${name}`, max);
  });
  each(list, (one, index) => {
    if (!isObject(one)) return;
    requireShort(one["model_name"], `model_list[${index}].model_name`, max);
    if (isObject(one["params"])) requireShort(one["params"]["model"], `model_list[${index}].params.model`, max);
  });
  if (isObject(models)) {
    for (const [from, to] of Object.entries(models)) {
      const path = `context_window_fallback_dict.${from.slice(0, max)}`;
      requireShort(from, path, max);
      requireShort(to, path, max);
    }
  }
}

function each(value: Json | undefined, check: (item: Json, index: number) => void): void {
  if (Array.isArray(value)) (value as readonly Json[]).forEach(check);
}

function requireShort(value: Json | undefined, path: string, max: number): void {
  if (typeof value === "string" && value.length > max)
    throw invalidRequest(path, `${path} may have at most ${max} characters; got ${value.length}.`);
}
