// A value that fits a JSON Schema, always the same one: the smallest that the schema's own words lead to. Patterns are not solved.
import { isObject, type Json, type JsonObject } from "../../core/json.ts";

const MAX_DEPTH = 16;
/** A short schema can ask for a value of any size. Where there is no room left stands null. */
const MAX_VALUES = 1000;
const MAX_TEXT = 1000;

/** What is the same at every place of one schema. */
interface Whole {
  readonly root: Json | undefined;
  valuesLeft: number;
}

export function sampleOf(schema: Json | undefined): Json {
  return sampleAt(schema, { root: schema, valuesLeft: MAX_VALUES }, 0);
}

function sampleAt(schema: Json | undefined, whole: Whole, depth: number): Json {
  if (!isObject(schema) || depth > MAX_DEPTH || whole.valuesLeft <= 0) return null;
  whole.valuesLeft -= 1;
  if ("const" in schema) return schema["const"]!;
  if (Array.isArray(schema["enum"]) && schema["enum"].length > 0) return schema["enum"][0] as Json;
  if (schema["default"] !== undefined) return schema["default"];
  const reference = schema["$ref"];
  if (typeof reference === "string") return sampleAt(follow(reference, whole.root), whole, depth + 1);
  for (const word of ["anyOf", "oneOf"]) {
    const options = schema[word];
    if (Array.isArray(options) && options.length > 0)
      return sampleAt({ ...withoutKey(schema, word), ...(isObject(options[0]) ? options[0] : {}) }, whole, depth + 1);
  }
  if (Array.isArray(schema["allOf"]))
    return sampleAt(
      Object.fromEntries(
        [withoutKey(schema, "allOf"), ...(schema["allOf"] as readonly Json[]).filter(isObject)].flatMap((part) =>
          Object.entries(part),
        ),
      ),
      whole,
      depth + 1,
    );
  return sampleOfType(schema, whole, depth);
}

function sampleOfType(schema: JsonObject, whole: Whole, depth: number): Json {
  const named = (Array.isArray(schema["type"]) ? schema["type"][0] : schema["type"]) as Json | undefined;
  switch (named ?? (isObject(schema["properties"]) ? "object" : "string")) {
    case "object":
      return sampleObject(schema, whole, depth);
    case "array":
      return Array.from({ length: typeof schema["minItems"] === "number" ? Math.min(8, schema["minItems"]) : 1 }, () =>
        sampleAt(schema["items"], whole, depth + 1),
      );
    case "integer":
      return sampleNumber(schema, 1);
    case "number":
      return sampleNumber(schema, 0);
    case "boolean":
      return true;
    case "null":
      return null;
    default:
      return sampleText(schema);
  }
}

function sampleObject(schema: JsonObject, whole: Whole, depth: number): JsonObject {
  const properties = isObject(schema["properties"]) ? schema["properties"] : {};
  const required = new Set(Array.isArray(schema["required"]) ? (schema["required"] as readonly Json[]) : []);
  return Object.fromEntries(
    Object.keys(properties)
      .filter((name) => required.has(name))
      .map((name) => [name, sampleAt(properties[name], whole, depth + 1)]),
  );
}

function sampleNumber(schema: JsonObject, step: number): number {
  const { minimum, exclusiveMinimum, maximum, multipleOf } = schema;
  if (typeof multipleOf === "number")
    return Math.ceil((typeof minimum === "number" ? minimum : 0) / multipleOf) * multipleOf;
  if (typeof minimum === "number") return minimum;
  if (typeof exclusiveMinimum === "number") return exclusiveMinimum + (step || 0.5);
  return typeof maximum === "number" && maximum < 1 ? maximum : 1;
}

const FORMATS: ReadonlyMap<unknown, string> = new Map(
  Object.entries({
    "date-time": "2026-01-01T00:00:00Z",
    date: "2026-01-01",
    time: "00:00:00Z",
    email: "someone@example.com",
    uri: "https://example.com/",
    uuid: "00000000-0000-4000-8000-000000000000",
    ipv4: "192.0.2.1",
    ipv6: "2001:db8::1",
    hostname: "example.com",
  }),
);

function sampleText(schema: JsonObject): string {
  const { format, minLength, maxLength } = schema;
  const text = FORMATS.get(format) ?? "text";
  const long = typeof minLength === "number" ? text.padEnd(Math.min(minLength, MAX_TEXT), "x") : text;
  return typeof maxLength === "number" ? long.slice(0, maxLength) : long;
}

function withoutKey(object: JsonObject, name: string): JsonObject {
  return Object.fromEntries(Object.entries(object).filter(([key]) => key !== name));
}

/** Local references only: `#/$defs/Name`. */
function follow(reference: string, root: Json | undefined): Json | undefined {
  if (!reference.startsWith("#/")) return undefined;
  return reference
    .slice(2)
    .split("/")
    .reduce<Json | undefined>(
      (at, key) => (isObject(at) ? at[key.replaceAll("~1", "/").replaceAll("~0", "~")] : undefined),
      root,
    );
}
