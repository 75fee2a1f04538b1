// JSON Schema in the OpenAPI subset, for models that know no other; and that those models get it.
import { describe, expect, test } from "bun:test";
import { GatewayError } from "../../../src/core/errors.ts";
import type { JsonObject } from "../../../src/core/json.ts";
import { encodeGenerationConfig } from "../../../src/providers/gemini/encode-params.ts";
import { encodeTools } from "../../../src/providers/gemini/encode-tools.ts";
import { AI_STUDIO } from "../../../src/providers/gemini/platform.ts";
import { openApiSubset } from "../../../src/providers/gemini/schema-subset.ts";

describe("what the subset can express", () => {
  test.each([
    [
      "annotations go, a null beside a type is nullable",
      { $schema: "s", $comment: "c", type: ["string", "null"], examples: ["e"] },
      { type: "string", nullable: true },
    ],
    ["a constant is a list of one", { const: "red" }, { type: "string", enum: ["red"] }],
    ["a null among the values is nullable", { enum: ["a", null] }, { type: "string", enum: ["a"], nullable: true }],
    [
      "oneOf is anyOf",
      { oneOf: [{ type: "string" }, { type: "integer" }, { type: "null" }] },
      { nullable: true, anyOf: [{ type: "string" }, { type: "integer" }] },
    ],
    [
      "a union of one and null is that one",
      { anyOf: [{ type: "string", minLength: 1 }, { type: "null" }], description: "d" },
      { type: "string", minLength: 1, description: "d", nullable: true },
    ],
    ["several types are a union", { type: ["string", "number"] }, { anyOf: [{ type: "string" }, { type: "number" }] }],
    [
      "members and items are converted too",
      { type: "array", items: { type: "OBJECT", additionalProperties: false, properties: { a: { const: "x" } } } },
      { type: "array", items: { type: "object", properties: { a: { type: "string", enum: ["x"] } } } },
    ],
    ["one allOf is itself", { allOf: [{ type: "string" }], description: "d" }, { type: "string", description: "d" }],
    [
      "objects that all hold are one",
      { allOf: [{ type: "object", properties: { a: {} }, required: ["a"] }, { properties: { b: {} } }] },
      { type: "object", properties: { a: {}, b: {} }, required: ["a"] },
    ],
    [
      "nulls are nullable at every depth",
      {
        type: ["array", "null"],
        items: {
          anyOf: [
            { type: "object", properties: { a: { type: ["integer", "null"] }, b: { enum: ["x", null] } } },
            { type: "null" },
          ],
        },
      },
      {
        type: "array",
        nullable: true,
        items: {
          type: "object",
          nullable: true,
          properties: { a: { type: "integer", nullable: true }, b: { type: "string", enum: ["x"], nullable: true } },
        },
      },
    ],
    [
      "formats and bounds stay",
      { type: "string", format: "date-time", pattern: "^a", maxLength: 3, uniqueItems: false },
      { type: "string", format: "date-time", pattern: "^a", maxLength: 3 },
    ],
    [
      "objects that are open or closed are objects",
      {
        type: "object",
        properties: { a: { type: "object", additionalProperties: true, properties: { b: { type: "string" } } } },
        additionalProperties: false,
      },
      { type: "object", properties: { a: { type: "object", properties: { b: { type: "string" } } } } },
    ],
    [
      "a reference to a union of one and null is that one, nullable",
      {
        properties: { p: { $ref: "#/$defs/p" } },
        $defs: {
          p: { anyOf: [{ $ref: "#/$defs/q" }, { type: "null" }] },
          q: { type: "object", properties: { r: { const: "s" } } },
        },
      },
      { properties: { p: { type: "object", nullable: true, properties: { r: { type: "string", enum: ["s"] } } } } },
    ],
    [
      "references are put in place",
      { type: "object", properties: { p: { $ref: "#/$defs/a~1b", title: "t" } }, $defs: { "a/b": { type: "string" } } },
      { type: "object", properties: { p: { type: "string", title: "t" } } },
    ],
  ] as const)("%s", (_, schema, expected) => {
    expect(openApiSubset(schema as unknown as JsonObject, "s")).toEqual(expected as unknown as JsonObject);
  });
});

describe("what the subset cannot express is refused with its path", () => {
  test.each([
    ["s.not", { not: {} }],
    ["s.properties.x.patternProperties", { properties: { x: { patternProperties: {} } } }],
    ["s.enum", { enum: [1, 2] }],
    ["s.const", { const: true }],
    ["s.const", { const: null }],
    ["s.enum", { enum: [null] }],
    ["s.enum", { enum: [] }],
    ["s.type", { type: "null" }],
    ["s.uniqueItems", { type: "array", items: { type: "string" }, uniqueItems: true }],
    ["s.anyOf", { anyOf: [{ type: "null" }] }],
    ["s.oneOf", { anyOf: [{ type: "string" }], oneOf: [{ type: "string" }] }],
    [
      "s.anyOf[0].properties.x.additionalProperties",
      { anyOf: [{ properties: { x: { additionalProperties: { type: "string" } } } }] },
    ],
    ["s.exclusiveMinimum", { type: "number", exclusiveMinimum: 0 }],
    ["s.prefixItems", { type: "array", prefixItems: [{ type: "string" }] }],
    ["s.properties.p.$ref", { properties: { p: { $ref: "#/$defs/none" } } }],
    ["s.additionalProperties", { type: "object", additionalProperties: { type: "string" } }],
    ["s.items.$ref", { items: { $ref: "https://elsewhere.test/schema" } }],
    ["s.properties.x.properties.x.$ref", { properties: { x: { $ref: "#" } } }],
    ["s.type", { type: "file" }],
    ["s.items", { items: true }],
    ["s.anyOf[1].type", { anyOf: [{ type: "string" }, { type: 7 }] }],
    ["s.allOf", { allOf: [{ type: "string" }, { minLength: 2 }] }],
  ] as const)("%s", (path, schema) => {
    try {
      openApiSubset(schema, "s");
      throw new Error("nothing was refused");
    } catch (thrown) {
      expect(thrown).toBeInstanceOf(GatewayError);
      expect(thrown).toMatchObject({ code: "unsupported_value", param: path });
    }
  });
});

test("old models get the subset, others the schema unchanged", () => {
  const schema = { type: "object", properties: { a: { const: "x" } }, additionalProperties: false };
  const subset = { type: "object", properties: { a: { type: "string", enum: ["x"] } } };
  const tools = [{ type: "function", function: { name: "f", parameters: schema } }];
  expect(encodeTools({ tools }, "gemini-1.5-pro", AI_STUDIO).tools).toEqual([
    { functionDeclarations: [{ name: "f", parameters: subset }] },
  ]);
  expect(encodeTools({ tools }, "gemini-2.0-flash", AI_STUDIO).tools).toEqual([
    { functionDeclarations: [{ name: "f", parametersJsonSchema: schema }] },
  ]);
  const response_format = { type: "json_schema", json_schema: { name: "n", schema } } as const;
  expect(encodeGenerationConfig({ response_format }, "models/gemini-1.5-flash")).toEqual({
    responseMimeType: "application/json",
    responseSchema: subset,
  });
});

test("a schema of a tool or an answer that cannot be expressed is refused with its path in the request", () => {
  const tools = [
    { type: "function", function: { name: "f" } },
    {
      type: "function",
      function: {
        name: "g",
        parameters: { type: "object", properties: { a: { type: "object", additionalProperties: { type: "string" } } } },
      },
    },
  ];
  const refused = (run: () => unknown): unknown => {
    try {
      return run();
    } catch (thrown) {
      return thrown instanceof GatewayError ? [thrown.code, thrown.param] : thrown;
    }
  };
  expect(refused(() => encodeTools({ tools }, "gemini-1.5-pro", AI_STUDIO))).toEqual([
    "unsupported_value",
    "tools[1].function.parameters.properties.a.additionalProperties",
  ]);
  const response_format = {
    type: "json_schema",
    json_schema: { name: "n", schema: { type: "object", properties: { a: { const: 7 } } } },
  } as const;
  expect(refused(() => encodeGenerationConfig({ response_format }, "gemini-1.5-pro"))).toEqual([
    "unsupported_value",
    "response_format.json_schema.schema.properties.a.const",
  ]);
});
