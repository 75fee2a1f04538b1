// Which tools a client leaves out because of `x-mcp-header` (promise 10.5).
import { expect, test } from "bun:test";
import type { JsonObject } from "../../src/core/json.ts";
import { hasValidHeaders } from "../../src/mcp/parameter-headers.ts";

const city = (parts: JsonObject = {}): JsonObject => ({ type: "string", "x-mcp-header": "City", ...parts });

test("[d10.5] a tool is kept whose annotations stand on properties of a permitted type, each with a name of its own", () => {
  for (const schema of [
    {},
    { properties: { city: { type: "string" } } },
    { properties: { city: city(), days: { type: "integer", "x-mcp-header": "Days" } } },
    { properties: { at: { type: "object", properties: { city: city({ type: "boolean" }) } } } },
    // no annotations: a property of this name, and values
    { properties: { "x-mcp-header": { type: "string" } } },
    { properties: { city: { default: { "x-mcp-header": "a b" }, enum: [{ "x-mcp-header": "" }] } } },
  ] as readonly JsonObject[])
    expect([JSON.stringify(schema), hasValidHeaders(schema)]).toEqual([JSON.stringify(schema), true]);
});

test("[d10.5] a tool is left out where one of them breaks a rule", () => {
  for (const schema of [
    { properties: { city: city({ "x-mcp-header": "" }) } },
    { properties: { city: city({ "x-mcp-header": 5 }) } },
    { properties: { city: city({ "x-mcp-header": "City Name" }) } },
    { properties: { city: city({ "x-mcp-header": "City\r\nHost" }) } },
    { properties: { city: city({ type: "number" }) } },
    { properties: { city: { "x-mcp-header": "City" } } },
    { properties: { city: city({ type: ["string"] }) } },
    { properties: { city: city(), town: city({ "x-mcp-header": "cITY" }) } },
    { "x-mcp-header": "Whole", type: "object" },
    { properties: { cities: { type: "array", items: city() } } },
    { additionalProperties: city() },
    { patternProperties: { "^c": city() } },
    { anyOf: [{ properties: { city: city() } }] },
    { $defs: { city: city() }, properties: { city: { $ref: "#/$defs/city" } } },
    { dependentSchemas: { properties: { properties: { city: city() } } } },
  ] as readonly JsonObject[])
    expect([JSON.stringify(schema), hasValidHeaders(schema)]).toEqual([JSON.stringify(schema), false]);
});
