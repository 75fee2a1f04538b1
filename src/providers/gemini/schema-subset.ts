// Converts JSON Schema to the subset of OpenAPI 3.0 that models without JSON Schema accept:
// https://ai.google.dev/api/caching#Schema. Annotations are dropped, references are resolved, and keywords whose loss
// would change the meaning are refused with their path.
import type { GatewayError } from "../../core/errors.ts";
import { describe, isObject, type Json, type JsonObject, listIn } from "../../core/json.ts";
import { unsupportedValue } from "../../core/refusals.ts";
import { percentDecoded } from "../../core/text/percent-encoding.ts";

/** Keywords that are kept unchanged. */
const KEPT = [
  "format",
  "title",
  "description",
  "nullable",
  "minItems",
  "maxItems",
  "minProperties",
  "maxProperties",
  "minimum",
  "maximum",
  "minLength",
  "maxLength",
  "pattern",
  "default",
  "example",
  "propertyOrdering",
  "required",
];
/** Keywords that do not restrict what the model may write, or that are handled elsewhere. */
const DROPPED = new Set([
  "$schema",
  "$id",
  "$defs",
  "definitions",
  "$comment",
  "$anchor",
  "examples",
  "deprecated",
  "readOnly",
  "writeOnly",
  "strict",
]);
const HANDLED = new Set([
  ...KEPT,
  ...DROPPED,
  "type",
  "enum",
  "const",
  "uniqueItems",
  "items",
  "properties",
  "additionalProperties",
  "anyOf",
  "oneOf",
  "allOf",
  "$ref",
]);
const TYPES: ReadonlySet<unknown> = new Set(["string", "number", "integer", "boolean", "array", "object"]);

/** References are replaced by what they refer to, so a short text can stand for a schema of any size. */
const MAX_SCHEMAS = 10_000;
const MAX_DEPTH = 512;

interface Place {
  readonly root: JsonObject;
  /** The references followed so far. A reference that recurs would never end. */
  readonly references: readonly string[];
  readonly depth: number;
  /** The count for the complete root schema. */
  readonly written: { schemas: number };
}

/** Throws GatewayError `unsupported_value` with the path of what the subset cannot express. */
export function openApiSubset(schema: JsonObject, path: string): JsonObject {
  return convert(schema, path, { root: schema, references: [], depth: 0, written: { schemas: 0 } });
}

function convert(schema: Json | undefined, path: string, outer: Place): JsonObject {
  outer.written.schemas += 1;
  if (outer.written.schemas > MAX_SCHEMAS || outer.depth >= MAX_DEPTH)
    throw refused(
      path.slice(0, 200),
      `more than ${MAX_SCHEMAS} schemas or ${MAX_DEPTH} levels, with all references in place`,
    );
  const place = { ...outer, depth: outer.depth + 1 };
  if (!isObject(schema)) throw refused(path, `${describe(schema)} as a schema`);
  if (typeof schema["$ref"] === "string") return followed(schema, schema["$ref"], path, place);
  for (const keyword of Object.keys(schema))
    if (!HANDLED.has(keyword) && !keyword.startsWith("x-")) throw refused(`${path}.${keyword}`, keyword);
  if (schema["allOf"] !== undefined) return convert(withAllOf(schema, path), path, place);

  const out: Record<string, Json> = {};
  for (const keyword of KEPT) if (schema[keyword] !== undefined) out[keyword] = schema[keyword];
  putType(out, schema, path);
  putValues(out, schema, path);
  if (schema["items"] !== undefined) out["items"] = convert(schema["items"], `${path}.items`, place);
  if (isObject(schema["properties"]))
    out["properties"] = Object.fromEntries(
      Object.entries(schema["properties"]).map(([name, member]) => [
        name,
        convert(member, `${path}.properties.${name}`, place),
      ]),
    );
  const open = schema["additionalProperties"];
  if (isObject(open) && Object.keys(open).length > 0)
    throw refused(`${path}.additionalProperties`, "additionalProperties with a schema");
  if (schema["uniqueItems"] === true) throw refused(`${path}.uniqueItems`, "uniqueItems");
  putUnion(out, schema, path, place);
  return out;
}

function followed(schema: JsonObject, reference: string, path: string, place: Place): JsonObject {
  if (place.references.includes(reference)) throw refused(`${path}.$ref`, "a schema that holds itself");
  let found: Json | undefined = reference === "#" || reference.startsWith("#/") ? place.root : undefined;
  for (const step of reference.split("/").slice(1))
    found = isObject(found) ? found[percentDecoded(step).replaceAll("~1", "/").replaceAll("~0", "~")] : undefined;
  if (!isObject(found)) throw refused(`${path}.$ref`, `a reference to ${JSON.stringify(reference.slice(0, 60))}`);
  const { $ref: _reference, ...beside } = schema;
  return convert({ ...found, ...beside }, path, { ...place, references: [...place.references, reference] });
}

/** A type together with `null` is that type and nullable. Several other types become `anyOf`. */
function putType(out: Record<string, Json>, schema: JsonObject, path: string): void {
  const type = schema["type"];
  if (type === undefined) return;
  const types = (Array.isArray(type) ? (type as readonly Json[]) : [type]).map((name) =>
    typeof name === "string" ? name.toLowerCase() : name,
  );
  if (types.includes("null")) out["nullable"] = true;
  const others = types.filter((name) => name !== "null");
  if (others.length === 0 || !others.every((name) => TYPES.has(name)))
    throw refused(`${path}.type`, `the type ${JSON.stringify(type)}`);
  if (others.length === 1) out["type"] = others[0] as string;
  else out["anyOf"] = others.map((name) => ({ type: name as string }));
}

/** The subset accepts only lists of strings. A const becomes a list of one. */
function putValues(out: Record<string, Json>, schema: JsonObject, path: string): void {
  const keyword = schema["const"] !== undefined ? "const" : "enum";
  const values = keyword === "const" ? [schema["const"]] : schema["enum"];
  if (values === undefined) return;
  if (!Array.isArray(values)) throw refused(`${path}.enum`, describe(values));
  const nonNull = values.filter((value) => value !== null);
  if (nonNull.length < values.length) out["nullable"] = true;
  if (nonNull.length === 0 || !nonNull.every((value) => typeof value === "string"))
    throw refused(`${path}.${keyword}`, `${keyword} of other values than strings`);
  out["enum"] = nonNull;
  out["type"] ??= "string";
}

function putUnion(out: Record<string, Json>, schema: JsonObject, path: string, place: Place): void {
  const keyword = schema["anyOf"] !== undefined ? "anyOf" : "oneOf";
  const members = schema[keyword];
  if (members === undefined) return;
  if (!Array.isArray(members) || out["anyOf"] !== undefined) throw refused(`${path}.${keyword}`, keyword);
  if (keyword === "anyOf" && schema["oneOf"] !== undefined) throw refused(`${path}.oneOf`, "oneOf beside anyOf");
  const isNull = (member: unknown): boolean => isObject(member) && member["type"] === "null";
  const others = members
    .map((member, index) => [member as Json, `${path}.${keyword}[${index}]`] as const)
    .filter(([member]) => !isNull(member));
  if (others.length === 0) throw refused(`${path}.${keyword}`, `${keyword} without a schema but null`);
  if (others.length < members.length) out["nullable"] = true;
  const converted = others.map(([member, at]) => convert(member, at, place));
  if (converted.length === 1) Object.assign(out, { ...converted[0], ...out });
  else out["anyOf"] = converted;
}

/** Merges several object schemas, all of which hold, into one with all their members. */
function withAllOf(schema: JsonObject, path: string): JsonObject {
  const { allOf: all, ...rest } = schema;
  if (!Array.isArray(all) || !all.every(isObject)) throw refused(`${path}.allOf`, "allOf");
  if (all.length === 1) return { ...all[0]!, ...rest };
  const parts = [...all, rest];
  if (
    !all.every(
      (part) =>
        isObject(part["properties"]) &&
        Object.keys(part).every((keyword) => keyword === "type" || keyword === "properties" || keyword === "required"),
    )
  )
    throw refused(`${path}.allOf`, "allOf of more than plain objects");
  const required = parts.flatMap((part) => listIn(part["required"]));
  return {
    ...rest,
    type: "object",
    properties: Object.assign({}, ...parts.map((part) => part["properties"] ?? {})) as JsonObject,
    ...(required.length > 0 && { required }),
  };
}

function refused(path: string, what: string): GatewayError {
  return unsupportedValue(
    path,
    `${path}: this model accepts schemas only in the OpenAPI 3.0 subset, which does not support ${what}.`,
  );
}
