// A value that fits a JSON Schema, always the same one: the smallest that the schema's own words lead to. Patterns are not solved.
import { isObject, type Json, type JsonObject } from "../../core/json.ts";

const MAX_DEPTH = 16;

export function sampleOf(schema: Json | undefined, root: Json | undefined = schema, depth = 0): Json {
  if (!isObject(schema) || depth > MAX_DEPTH) return null;
  if ("const" in schema) return schema["const"]!;
  if (Array.isArray(schema["enum"]) && schema["enum"].length > 0) return schema["enum"][0] as Json;
  if (schema["default"] !== undefined) return schema["default"];
  const reference = schema["$ref"];
  if (typeof reference === "string") return sampleOf(follow(reference, root), root, depth + 1);
  for (const word of ["anyOf", "oneOf"]) {
    const options = schema[word];
    if (Array.isArray(options) && options.length > 0) return sampleOf({ ...withoutKey(schema, word), ...(isObject(options[0]) ? options[0] : {}) }, root, depth + 1);
  }
  if (Array.isArray(schema["allOf"])) return sampleOf(Object.assign(withoutKey(schema, "allOf"), ...(schema["allOf"] as readonly Json[]).filter(isObject)) as JsonObject, root, depth + 1);
  return sampleOfType(schema, root, depth);
}

function sampleOfType(schema: JsonObject, root: Json | undefined, depth: number): Json {
  const named = (Array.isArray(schema["type"]) ? schema["type"][0] : schema["type"]) as Json | undefined;
  switch (named ?? (isObject(schema["properties"]) ? "object" : "string")) {
    case "object":
      return sampleObject(schema, root, depth);
    case "array":
      return Array.from({ length: Math.min(8, Number(schema["minItems"] ?? 1)) }, () => sampleOf(schema["items"], root, depth + 1));
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

function sampleObject(schema: JsonObject, root: Json | undefined, depth: number): JsonObject {
  const properties = isObject(schema["properties"]) ? schema["properties"] : {};
  const required = Array.isArray(schema["required"]) ? (schema["required"] as readonly string[]) : [];
  return Object.fromEntries(Object.keys(properties).filter((name) => required.includes(name)).map((name) => [name, sampleOf(properties[name], root, depth + 1)]));
}

function sampleNumber(schema: JsonObject, step: number): number {
  const { minimum, exclusiveMinimum, maximum, multipleOf } = schema;
  if (typeof multipleOf === "number") return Math.ceil((typeof minimum === "number" ? minimum : 0) / multipleOf) * multipleOf;
  if (typeof minimum === "number") return minimum;
  if (typeof exclusiveMinimum === "number") return exclusiveMinimum + (step || 0.5);
  return typeof maximum === "number" && maximum < 1 ? maximum : 1;
}

const FORMATS: Readonly<Record<string, string>> = { "date-time": "2026-01-01T00:00:00Z", date: "2026-01-01", time: "00:00:00Z", email: "someone@example.com", uri: "https://example.com/", uuid: "00000000-0000-4000-8000-000000000000", ipv4: "192.0.2.1", ipv6: "2001:db8::1", hostname: "example.com" };

function sampleText(schema: JsonObject): string {
  const { format, minLength, maxLength } = schema;
  const text = (typeof format === "string" && FORMATS[format]) || "text";
  const long = typeof minLength === "number" ? text.padEnd(minLength, "x") : text;
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
    .reduce<Json | undefined>((at, key) => (isObject(at) ? at[key.replaceAll("~1", "/").replaceAll("~0", "~")] : undefined), root);
}
