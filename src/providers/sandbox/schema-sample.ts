// Makes a value that fits a JSON Schema, always the same one, and as small as the schema's keywords allow. Patterns are
// not solved.
import { isObject, type Json, type JsonObject, listIn } from "../../core/json.ts";

const MAX_DEPTH = 16;
/**
 * Bounds on the work and on the value, because a short schema can require a value of any size and lead to its largest
 * part at every place. Where a bound is exhausted, the value is null.
 */
const MAX_VALUES = 1000;
const MAX_MEMBERS = 50_000;
const MAX_COPIED_CHARACTERS = 50_000;
const MAX_TEXT = 1000;
const MAX_REFERENCE = 1000;

/** The state that all places of one schema share. */
interface Whole {
  readonly root: Json | undefined;
  valuesLeft: number;
  /** The members of the schema that may still be read. */
  membersLeft: number;
  /** The characters that may still be copied from the schema: constants, defaults, names of members. */
  charactersLeft: number;
}

export function sampleOf(schema: Json | undefined): Json {
  const whole = {
    root: schema,
    valuesLeft: MAX_VALUES,
    membersLeft: MAX_MEMBERS,
    charactersLeft: MAX_COPIED_CHARACTERS,
  };
  return sampleAt(schema, whole, 0);
}

function sampleAt(schema: Json | undefined, whole: Whole, depth: number): Json {
  if (!isObject(schema) || depth > MAX_DEPTH || whole.valuesLeft <= 0 || whole.membersLeft <= 0) return null;
  whole.valuesLeft -= 1;
  if ("const" in schema) return copied(schema["const"]!, whole);
  if (Array.isArray(schema["enum"]) && schema["enum"].length > 0) return copied(schema["enum"][0] as Json, whole);
  if (schema["default"] !== undefined) return copied(schema["default"], whole);
  const reference = schema["$ref"];
  if (typeof reference === "string") return sampleAt(follow(reference, whole.root), whole, depth + 1);
  for (const word of ["anyOf", "oneOf"]) {
    const options = schema[word];
    if (Array.isArray(options) && options.length > 0)
      return sampleAt(joined(schema, word, [options[0] as Json], whole), whole, depth + 1);
  }
  if (Array.isArray(schema["allOf"]))
    return sampleAt(joined(schema, "allOf", schema["allOf"] as readonly Json[], whole), whole, depth + 1);
  return sampleOfType(schema, whole, depth);
}

/** A value or a name that the schema contains. `null` when there is no room left for it. */
function copied(value: Json, whole: Whole): Json {
  whole.charactersLeft -= typeof value === "string" ? value.length : JSON.stringify(value).length;
  if (whole.charactersLeft >= 0) return value;
  // A value that is too long is measured only once, and not again at each place.
  whole.membersLeft = 0;
  return null;
}

/** The schema without the member `word`, but with the members of the schemas that `word` held. */
function joined(schema: JsonObject, word: string, parts: readonly Json[], whole: Whole): JsonObject {
  const members = Object.entries(schema).filter(([name]) => name !== word);
  for (const part of parts) {
    if (members.length > whole.membersLeft) break;
    if (isObject(part)) members.push(...Object.entries(part));
  }
  whole.membersLeft -= members.length + parts.length;
  return Object.fromEntries(members);
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
  const required = listIn(schema["required"]);
  const isRequired = new Set(required);
  const names = Object.keys(properties);
  whole.membersLeft -= names.length + required.length;
  return Object.fromEntries(
    names
      .filter((name) => isRequired.has(name) && copied(name, whole) !== null)
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

/** Follows only local references: `#/$defs/Name`. */
function follow(reference: string, root: Json | undefined): Json | undefined {
  if (!reference.startsWith("#/") || reference.length > MAX_REFERENCE) return undefined;
  return reference
    .slice(2)
    .split("/")
    .reduce<Json | undefined>(
      (at, key) => (isObject(at) ? at[key.replaceAll("~1", "/").replaceAll("~0", "~")] : undefined),
      root,
    );
}
