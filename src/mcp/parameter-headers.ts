// `x-mcp-header` in the schema of a tool: parameters that a client repeats in headers. A client leaves out a tool whose
// annotations break the rules: https://modelcontextprotocol.io/specification/2026-07-28/basic/transports
import { isObject, type Json, type JsonObject } from "../core/json.ts";
import { FIELD_NAME } from "../wire/http/http-request-encoding.ts";

const ANNOTATION = "x-mcp-header";
const TYPES: ReadonlySet<Json | undefined> = new Set(["string", "integer", "boolean"]);
/** Under these, a member is a schema by its name, and the name itself is no keyword. */
const MAPS: ReadonlySet<string> = new Set([
  "properties",
  "patternProperties",
  "dependentSchemas",
  "$defs",
  "definitions",
]);
/** What stands under these is a value and no schema. */
const VALUES: ReadonlySet<string> = new Set(["const", "enum", "default", "examples"]);

/** Whether every annotation stands on a property of a permitted type, reached by `properties` alone, with a name of its own. */
export function hasValidHeaders(inputSchema: JsonObject): boolean {
  const names = new Set<string>();
  const isValid = (schema: Json | undefined, isReached: boolean, isProperty: boolean): boolean => {
    if (Array.isArray(schema)) return schema.every((one: Json) => isValid(one, false, false));
    if (!isObject(schema)) return true;
    if (Object.hasOwn(schema, ANNOTATION)) {
      const name = schema[ANNOTATION];
      if (!isReached || !isProperty || typeof name !== "string" || !FIELD_NAME.test(name)) return false;
      if (!TYPES.has(schema["type"]) || names.has(name.toLowerCase())) return false;
      names.add(name.toLowerCase());
    }
    return Object.entries(schema).every(([keyword, inner]) => {
      if (VALUES.has(keyword)) return true;
      if (!MAPS.has(keyword) || !isObject(inner)) return isValid(inner, false, false);
      const isProperties = keyword === "properties";
      return Object.values(inner).every((one) => isValid(one, isReached && isProperties, isProperties));
    });
  };
  return isValid(inputSchema, true, false);
}
