// Arguments against schemas of untrusted servers: validated correctly in usual cases, and always quickly.
import { describe, expect, test } from "bun:test";
import { Ajv2020 } from "ajv/dist/2020.js";
import fc from "fast-check";
import { Cancellation } from "../../src/core/concurrency/cancellation.ts";
import type { JsonObject } from "../../src/core/json.ts";
import { ArgumentChecks } from "../../src/mcp/tool-arguments.ts";
import { closeFaultyTools, openFaultyTools } from "../harness/tools/faulty-tools.ts";
import { ASKER } from "../harness/tools/tool-server.ts";
import { timesAsMuch } from "../harness/time/cpu-time.ts";

const checks = new ArgumentChecks();
const faultOf = (args: JsonObject, schema: JsonObject): string | null =>
  checks.check(JSON.stringify(args), schema).fault;

describe("arguments of tools", () => {
  test("[d5.8 d10.4] that are deeper than the stack are a fault, which the model reads", () => {
    const nested = (levels: number): string => `{"a":${"[".repeat(levels)}${"]".repeat(levels)}}`;
    expect(checks.check(nested(200_000), { type: "object" }).fault).toBe(
      "The arguments are nested deeper than 100 levels.",
    );
    expect(checks.check(nested(90), { type: "object" }).fault).toBeNull();
  });
  test("[d10.4] are judged as another validator judges them", () => {
    const schema: JsonObject = {
      type: "object",
      required: ["path"],
      additionalProperties: false,
      properties: {
        path: { type: "string", minLength: 1, maxLength: 5 },
        depth: { type: ["integer", "null"], minimum: 0, exclusiveMaximum: 4 },
        kinds: { type: "array", items: { enum: ["a", "b", 3] }, minItems: 1, maxItems: 3 },
        either: { anyOf: [{ type: "string" }, { type: "object", properties: { x: { const: 1 } }, required: ["x"] }] },
        tree: { $ref: "#/$defs/tree" },
        one: { oneOf: [{ type: "number" }, { type: "integer" }] },
      },
      $defs: {
        tree: {
          type: "object",
          properties: { left: { $ref: "#/$defs/tree" }, leaf: { type: "boolean" } },
          additionalProperties: false,
        },
      },
    };
    const judge = new Ajv2020({ strict: false }).compile(schema);
    const tree = fc.letrec<{ readonly tree: unknown }>((tie) => ({
      tree: fc.oneof(
        { depthSize: "small" },
        fc.record({ leaf: fc.oneof(fc.boolean(), fc.string()) }),
        fc.record({ left: tie("tree") }),
      ),
    })).tree;
    const args = fc.record(
      {
        path: fc.oneof(
          { weight: 9, arbitrary: fc.string({ minLength: 1, maxLength: 5 }) },
          { weight: 2, arbitrary: fc.string({ maxLength: 7, unit: "grapheme" }) },
          { weight: 1, arbitrary: fc.integer() },
        ),
        depth: fc.oneof(fc.integer({ min: -1, max: 5 }), fc.constant(null), fc.constant(1.5)),
        kinds: fc.array(fc.constantFrom("a", "b", 3, "c"), { maxLength: 4 }),
        either: fc.oneof(fc.string(), fc.record({ x: fc.constantFrom(1, 2) }), fc.boolean()),
        tree,
        one: fc.constantFrom(1.5, 2.5, 3),
      },
      { requiredKeys: ["path"] },
    );
    let fits = 0;
    fc.assert(
      fc.property(args, fc.integer({ min: 0, max: 9 }), (known, chance) => {
        const value = chance === 0 ? { ...known, more: "a" } : known;
        const isFit = judge(value);
        if (isFit) fits += 1;
        expect(faultOf(value as unknown as JsonObject, schema) === null).toBe(isFit);
      }),
      { seed: 20_261_120, numRuns: 1000 },
    );
    expect(fits).toBeGreaterThan(20);
  });

  test("that are empty count as no arguments", () => {
    for (const text of ["", "  ", "{}"])
      expect(checks.check(text, { type: "object" })).toEqual({ args: {}, fault: null });
  });

  test("[d10.4] with a schema that was made to run for ever cost little, and then the server alone validates", async () => {
    const doubling: Record<string, JsonObject> = {};
    for (let level = 0; level < 40; level++)
      doubling[`a${level}`] = { allOf: [{ $ref: `#/$defs/a${level + 1}` }, { $ref: `#/$defs/a${level + 1}` }] };
    doubling["a40"] = { type: "object" };
    const hostile: readonly JsonObject[] = [
      { $defs: doubling, $ref: "#/$defs/a0" },
      { $defs: { a: { allOf: [{ $ref: "#/$defs/a" }, { $ref: "#/$defs/a" }] } }, $ref: "#/$defs/a" },
      { properties: { text: { pattern: "^(a+)+$" } } },
      { patternProperties: { "^(a+)+$": false }, additionalProperties: false },
      { properties: { list: { uniqueItems: true } } },
      { properties: { list: { items: { enum: Array.from({ length: 5000 }, (_, index) => index + 0.5) } } } },
      {
        properties: {
          list: { items: { anyOf: Array.from({ length: 1000 }, () => ({ type: "string", maxLength: 1 })) } },
        },
      },
      { properties: { text: { format: "regex" } } },
      { $ref: "http://elsewhere.test/schema" },
      { $ref: "#/nowhere" },
      { $id: "not a uri\u0000" },
      { type: 5 },
      { properties: { list: { multipleOf: 0 } } },
      { required: 5 },
      { enum: 5 },
      { allOf: 5 },
    ];
    const args = {
      text: `${"a".repeat(2000)}!`,
      list: Array.from({ length: 4000 }, (_, index) => index),
      [`${"a".repeat(40)}!`]: 1,
    };
    const text = JSON.stringify(args);
    // With the steps that a validation may take, it costs about a hundred times what reading the arguments costs; without a bound it would not end.
    for (const schema of hostile) {
      checks.check(text, schema);
      const times = await timesAsMuch(
        () => checks.check(text, schema),
        () => JSON.parse(text) as unknown,
        1000,
      );
      expect([JSON.stringify(schema).slice(0, 60), times < 1000]).toEqual([JSON.stringify(schema).slice(0, 60), true]);
    }
    expect(faultOf(args, hostile[0]!)).toBe(null);
    expect(faultOf(args, hostile[2]!)).toBe(null);
  });

  test("may have names of the prototype", () => {
    const schema = JSON.parse(
      '{"type":"object","properties":{"__proto__":{"type":"string"},"constructor":{"type":"string"}},"additionalProperties":false}',
    ) as JsonObject;
    expect(checks.check('{"__proto__":"a","constructor":"b"}', schema).fault).toBe(null);
    expect(checks.check('{"__proto__":5}', schema).fault).toContain("__proto__");
    expect(checks.check('{"toString":"a"}', schema).fault).toContain("toString");
  });

  test("[d10.4] keep all digits of their numbers on the way to the tool server", async () => {
    const text = '{"id":12345678901234567890,"of":[0.12345678901234567890,1e400],"to":2}';
    const schema = {
      type: "object",
      properties: { id: { type: "integer", minimum: 10 }, to: { type: "integer", maximum: 3 } },
    } as JsonObject;
    const { args, fault } = checks.check(text, schema);
    expect(fault).toBeNull();
    expect(JSON.stringify(args)).toBe(text);
    expect(checks.check(text.replace('"to":2', '"to":4'), schema).fault).toContain("to");
    const bodies: Promise<string>[] = [];
    const { server, servers } = openFaultyTools({
      respond: (request) => {
        bodies.push(request.clone().text());
        return null;
      },
    });
    try {
      await servers.call(server, "echo", args!, new Cancellation(), ASKER);
    } finally {
      await closeFaultyTools();
    }
    const sent = (await Promise.all(bodies)).find((body) => body.includes("tools/call"));
    expect(sent).toContain(`"arguments":${text}`);
  });

  test("of more than a million characters are not validated", () => {
    expect(checks.check(`{"a":"${"b".repeat(1_048_576)}"}`, {}).fault).toContain("1048576 characters");
  });

  test("[d10.4] are not checked any more against a schema that takes too many steps even for a few of them", () => {
    let visits = 0;
    const value = {
      get type(): string {
        visits += 1;
        return "integer";
      },
    };
    const schema: JsonObject = { items: { allOf: Array.from({ length: 4_000 }, () => value) } };
    const own = new ArgumentChecks();
    const args = JSON.stringify({ list: Array.from({ length: 100 }, () => 1) });
    const within: JsonObject = { properties: { list: schema } };
    expect(own.check(args, within).fault).toBe(null);
    const before = visits;
    expect(before).toBeGreaterThan(0);
    expect(own.check(args, within).fault).toBe(null);
    expect(visits).toBe(before);
    expect(new ArgumentChecks().check(args, within).fault).toBe(null);
    expect(visits).toBeGreaterThan(before);
  });
});
