// Validates the arguments of a tool call against the schema of the tool (promise 10.4). The schema is untrusted:
// regular expressions, which could run endlessly, are left to the tool server, and the cost of a validation is bounded.
import type * as JsonSchema from "@cfworker/json-schema";
import { isObject, type Json, type JsonObject } from "../core/json.ts";
import { lazy } from "../core/memoization.ts";
import { mayHoldLongNumber, parseBoundedJson } from "../wire/json/json.ts";
import { isDeeperThan } from "./depth.ts";

const MAX_CHARACTERS = 1_048_576;
const MAX_DEPTH = 100;
/** The most steps of one validation, which takes about 50 ms at worst. */
const MAX_STEPS = 20_000;
/** A schema that takes too many steps even for so few characters of arguments is not used again. */
const SHORT = 16_384;
const MAX_FAULTS = 5;
const MAX_FAULT = 300;

export type CheckedArguments =
  | { readonly args: JsonObject; readonly fault: null }
  | { readonly args: null; /** The fault as the model reads it. */ readonly fault: string };

interface Meter {
  left: number;
  /** The number of characters of the arguments. */
  length: number;
  /** Even short arguments take too many steps, so nothing is checked any more. */
  isTooMuch: boolean;
}
class TooManySteps extends Error {}

interface MeteredSchema {
  readonly validator: JsonSchema.Validator;
  readonly meter: Meter;
}

/** Checks arguments for as long as the process runs, and remembers which schemas are too expensive. */
export class ArgumentChecks {
  /** `null` for an invalid schema. */
  readonly #schemas = new WeakMap<JsonObject, MeteredSchema | null>();

  /**
   * Empty text counts as no arguments, because some models send it. Numbers keep all of their digits; the schema judges
   * them as doubles.
   */
  check(text: string, schema: JsonObject): CheckedArguments {
    if (text.length > MAX_CHARACTERS)
      return { args: null, fault: `The arguments have more than ${MAX_CHARACTERS} characters.` };
    let value: unknown;
    let exact: unknown;
    try {
      value = text.trim() === "" ? {} : JSON.parse(text);
      exact = mayHoldLongNumber(text) ? parseBoundedJson(text) : value;
    } catch (thrown) {
      return { args: null, fault: `The arguments are not JSON: ${(thrown as Error).message.slice(0, MAX_FAULT)}` };
    }
    if (!isObject(value)) return { args: null, fault: "The arguments must be a JSON object." };
    if (isDeeperThan(value, MAX_DEPTH))
      return { args: null, fault: `The arguments are nested deeper than ${MAX_DEPTH} levels.` };
    const faults = this.#faultsOf(value, schema, text.length);
    return faults.length === 0
      ? { args: exact as JsonObject, fault: null }
      : { args: null, fault: `The arguments do not match the tool's schema: ${faults.join(" ")}` };
  }

  /** Returns no faults if the schema is invalid or too expensive. Only the tool server checks the arguments then. */
  #faultsOf(value: JsonObject, schema: JsonObject, length: number): readonly string[] {
    const known = this.#compiled(schema);
    if (known === null || known.meter.isTooMuch) return [];
    known.meter.left = MAX_STEPS;
    known.meter.length = length;
    try {
      const { valid, errors } = known.validator.validate(value);
      if (valid) return [];
      const leaves = errors.filter(({ keyword }) => !STRUCTURAL.has(keyword));
      return (leaves.length === 0 ? errors : leaves)
        .slice(0, MAX_FAULTS)
        .map(({ instanceLocation, error }) => `${instanceLocation}: ${error}`.slice(0, MAX_FAULT));
    } catch (thrown) {
      if (thrown instanceof TooManySteps && length <= SHORT) known.meter.isTooMuch = true;
      if (thrown instanceof Error) return [];
      throw thrown;
    }
  }

  #compiled(schema: JsonObject): MeteredSchema | null {
    return this.#schemas.getOrInsertComputed(schema, meteredSchema);
  }
}

/** Only rounds of tools need the library. */
const jsonSchema = lazy(() => require("@cfworker/json-schema") as typeof JsonSchema);

function meteredSchema(schema: JsonObject): MeteredSchema | null {
  const { Validator } = jsonSchema();
  const meter: Meter = { left: 0, length: 0, isTooMuch: false };
  try {
    return { validator: new Validator(metered(schema, meter) as object, "2020-12"), meter };
  } catch {
    return null;
  }
}

const STRUCTURAL: ReadonlySet<string> = new Set([
  "properties",
  "items",
  "prefixItems",
  "$ref",
  "allOf",
  "additionalItems",
  "dependentSchemas",
  "if",
  "then",
  "else",
]);

const ONE: ReadonlySet<string> = new Set([
  "items",
  "additionalItems",
  "unevaluatedItems",
  "contains",
  "additionalProperties",
  "unevaluatedProperties",
  "propertyNames",
  "not",
  "if",
  "then",
  "else",
]);
const LIST: ReadonlySet<string> = new Set(["prefixItems", "items", "allOf", "anyOf", "oneOf"]);
const MAP: ReadonlySet<string> = new Set(["$defs", "definitions", "properties", "dependentSchemas"]);
/**
 * Keywords that are left out: regular expressions, comparisons of all items with each other, `dependencies`, which has
 * two forms in older drafts, and `type`, which the meter replaces.
 */
const LEFT_OUT: ReadonlySet<string> = new Set([
  "$schema",
  "pattern",
  "patternProperties",
  "format",
  "uniqueItems",
  "dependencies",
  "type",
]);
/** Keywords that examine all of a value at each visit. */
const WHOLE = [
  "minLength",
  "maxLength",
  "minProperties",
  "maxProperties",
  "additionalProperties",
  "unevaluatedProperties",
  "propertyNames",
  "enum",
  "const",
] as const;

/** Copies the schema with a meter in each of its nodes. The validator reads `type` at each visit. */
function metered(schema: Json | undefined, meter: Meter): unknown {
  if (!isObject(schema)) return schema !== false;
  const node: Record<string, unknown> = Object.create(null) as Record<string, unknown>;
  const hasPatterns = schema["patternProperties"] !== undefined;
  for (const [name, value] of Object.entries(schema)) {
    if (LEFT_OUT.has(name) || (hasPatterns && (name === "additionalProperties" || name === "unevaluatedProperties")))
      continue;
    if (LIST.has(name) && Array.isArray(value)) node[name] = value.map((item: Json) => metered(item, meter));
    else if (MAP.has(name) && isObject(value))
      node[name] = Object.fromEntries(Object.entries(value).map(([key, item]) => [key, metered(item, meter)]));
    else node[name] = ONE.has(name) ? metered(value, meter) : value;
  }
  const values =
    JSON.stringify(schema["enum"] ?? schema["const"] ?? "").length / 4 +
    Object.keys(isObject(schema["properties"]) ? schema["properties"] : {}).length;
  const isWhole = WHOLE.some((name) => schema[name] !== undefined);
  Object.defineProperty(node, "type", {
    enumerable: false,
    get: () => {
      meter.left -= 1 + values + (isWhole ? meter.length / 16 : 0);
      if (meter.left < 0) throw new TooManySteps();
      return schema["type"];
    },
  });
  return node;
}
