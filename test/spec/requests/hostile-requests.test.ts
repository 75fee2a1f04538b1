// Hostile callers with a valid token: no short request may block the serving thread, fill the memory, or end in an internal error.
import { describe, expect, test } from "bun:test";
import { cannedUpstream, stubGateway } from "../../harness/in-process.ts";
import { openaiAnswer } from "../../harness/servers/upstream.ts";
import { providers } from "../../../src/providers/registry.ts";
import { growth, MOST_GROWTH } from "../../harness/time/cpu-time.ts";

/** What an operator may allow: more than the bounds of promise 5.8, which have tests of their own. */
const WIDE = {
  body: {
    maxValues: 10_000_000,
    maxLevels: 512,
    maxMessages: 1_000_000,
    maxTools: 1_000_000,
    maxItems: 1_000_000,
    maxNameCharacters: 65_536,
    maxNumberDigits: 65_536,
  },
};
const hello = [{ role: "user", content: "Hello" }];
const many = <T>(length: number, make: (index: number) => T): T[] => Array.from({ length }, (_, index) => make(index));

/** Calls with what `bodyOf` makes of a number take CPU time in proportion to it. */
async function expectProportion(bodyOf: (size: number) => object, size: number): Promise<void> {
  const refusing = stubGateway({ limits: WIDE, upstream: cannedUpstream({ status: 500, body: "" }) });
  const call = async (body: string): Promise<string> => (await refusing.chat(body)).text();
  expect(await growth((n) => JSON.stringify(bodyOf(n)), call, size)).toBeLessThan(MOST_GROWTH);
}

describe("time", () => {
  const call = (index: number) => ({ id: `call_${index}`, type: "function", function: { name: "f", arguments: "{}" } });
  const conversations: Readonly<Record<string, (size: number) => readonly object[]>> = {
    "messages of one role": (size) => many(size, () => ({ role: "user", content: "x" })),
    "results of tools": (size) => [
      ...hello,
      { role: "assistant", content: null, tool_calls: many(size, call) },
      ...many(size, (index) => ({ role: "tool", tool_call_id: `call_${index}`, content: "x" })),
    ],
    "signed calls": (size) => [
      ...hello,
      {
        role: "assistant",
        content: null,
        tool_calls: many(size, call),
        reasoning_details: many(size, (index) => ({
          type: "reasoning.encrypted",
          format: "google-gemini-v1",
          id: `call_${index}`,
          data: "d",
        })),
      },
    ],
    "pictures in a result": (size) => [
      ...hello,
      { role: "assistant", content: null, tool_calls: [call(0)] },
      {
        role: "tool",
        tool_call_id: "call_0",
        content: many(size, () => ({ type: "image_url", image_url: { url: "data:image/png;base64,AA==" } })),
      },
    ],
  };
  for (const model of ["anthropic:claude-sonnet-4-5", "gemini:gemini-3-pro-preview"])
    for (const [what, messagesOf] of Object.entries(conversations))
      test(`[d5.6] ${model}: ${what} by the ten thousand are encoded in time proportional to their length`, async () => {
        const gateway = stubGateway({ limits: WIDE, upstream: cannedUpstream({ status: 500, body: "" }) });
        const bodyOf = (size: number): object => ({ model, messages: messagesOf(size), max_tokens: 5 });
        await gateway.chat(bodyOf(10_000));
        expect(gateway.sent).toHaveLength(1);
        await expectProportion(bodyOf, 10_000);
      });

  const documents: Readonly<Record<string, (index: number) => object>> = {
    "documents of one title": () => ({ type: "document", title: "same", source: { type: "text", data: "x" } }),
    "files of one long name": () => ({
      type: "file",
      file: { filename: `${"a".repeat(200)}.txt`, file_data: "data:text/plain;base64,AAAA" },
    }),
    "documents that take the next one's title": (index) => ({
      type: "document",
      title: index % 2 === 0 ? "same" : `same ${index + 2}`,
      source: { type: "text", data: "x" },
    }),
  };
  for (const [what, block] of Object.entries(documents))
    test(`[d5.6] bedrock: ${what} by the ten thousand are named in time proportional to their number`, async () => {
      const gateway = stubGateway({ limits: WIDE, upstream: cannedUpstream({ status: 500, body: "" }) });
      const bodyOf = (size: number): object => ({
        model: "bedrock:anthropic.claude-opus-4-5",
        messages: [{ role: "user", content: [{ type: "text", text: "Read." }, ...many(size, block)] }],
      });
      await expectProportion(bodyOf, 5_000);
      await gateway.chat(bodyOf(20_000));
      const names = (
        JSON.parse(gateway.sent[0]!.body) as {
          messages: readonly { content: readonly { document: { name: string } }[] }[];
        }
      ).messages[0]!.content.slice(1).map(({ document }) => document.name);
      expect(new Set(names).size).toBe(20_000);
    });

  test("[d5.7] calls of a vendor's own type and free-form blocks never cause an internal error", async () => {
    for (const provider of [...providers.values()].filter(({ sameShape }) => !sameShape))
      for (const type of provider.dialect.tools.map((word) => word.replace("*", "1")))
        for (const called of [undefined, null, {}, "f", { name: "f" }, { arguments: "{}" }]) {
          const { status } = await stubGateway({ upstream: cannedUpstream({ status: 400, body: "" }) }).chat({
            model: `${provider.id}:m`,
            messages: [
              ...hello,
              {
                role: "assistant",
                content: null,
                tool_calls: [{ type, ...(called !== undefined && { function: called }) }],
              },
            ],
          });
          expect([provider.id, type, called, status]).toEqual([provider.id, type, called, 400]);
        }
    for (const type of ["tool_search_tool_result", "mcp_tool_result", "compaction"])
      for (const content of [[null], [1], [[null]], [{ source: null }], [{ content: [null] }]])
        expect([
          type,
          (
            await stubGateway({ upstream: cannedUpstream({ status: 400, body: "" }) }).chat({
              model: "anthropic:claude-opus-4-5",
              messages: [{ role: "user", content: [{ type, content }] }],
            })
          ).status,
        ]).toEqual([type, 400]);
  });

  const laughs = Object.fromEntries(
    many(40, (index) => [
      `d${index}`,
      index === 39 ? { type: "string" } : { anyOf: many(2, () => ({ $ref: `#/$defs/d${index + 1}` })) },
    ]),
  );
  const schemas: Readonly<Record<string, object>> = {
    "references that double with each step": {
      $defs: laughs,
      type: "object",
      properties: { a: { $ref: "#/$defs/d0" } },
    },
    "a chain of references without end": {
      $defs: Object.fromEntries(
        many(3000, (index) => [`d${index}`, { type: "object", properties: { a: { $ref: `#/$defs/d${index + 1}` } } }]),
      ),
      type: "object",
      properties: { a: { $ref: "#/$defs/d0" } },
    },
    "a reference with invalid percent-encoding": { type: "object", properties: { a: { $ref: "#/%zz" } } },
  };
  for (const [what, schema] of Object.entries(schemas))
    test(`[d6.3] ${what}: refused where references are replaced`, async () => {
      const gateway = stubGateway();
      const answer = await gateway.chat({
        model: "gemini:gemini-1.5-flash",
        messages: hello,
        response_format: { type: "json_schema", json_schema: { name: "n", schema } },
      });
      expect(await answer.json()).toMatchObject({ error: { code: "unsupported_value" } });
    });

  test("[d1.8] an address of unlimited length is refused before a pattern runs over it", async () => {
    const bodyOf = (size: number): object => ({
      model: "openai:m",
      messages: hello,
      base_url: `https://provider.test/${"/".repeat(size)}a`,
    });
    const answer = await stubGateway().chat(bodyOf(200_000));
    expect(await answer.json()).toMatchObject({ error: { code: "invalid_request", param: "base_url" } });
    await expectProportion(bodyOf, 50_000);
  });
});

describe("credentials", () => {
  test("[d5.2] an api_key that no header can hold is the caller's error, and is not repeated in it", async () => {
    const gateway = stubGateway({ upstream: cannedUpstream({ body: JSON.stringify(openaiAnswer()) }) });
    const answer = await gateway.chat({ model: "openai:m", messages: hello, api_key: "sk-mine\r\nx-injected: yes" });
    const said = await answer.text();
    expect(answer.status).toBe(400);
    expect(JSON.parse(said)).toMatchObject({ error: { code: "invalid_request", param: "api_key" } });
    expect(said + JSON.stringify(gateway.records)).not.toContain("sk-mine");
    expect(gateway.sent).toHaveLength(0);
  });
});

describe("the sandbox", () => {
  const nested = (levels: number): object =>
    levels === 0 ? { type: "string" } : { type: "array", minItems: 8, items: nested(levels - 1) };
  const itself = {
    $defs: {
      o: {
        type: "object",
        required: many(10, (index) => `p${index}`),
        properties: Object.fromEntries(many(10, (index) => [`p${index}`, { $ref: "#/$defs/o" }])),
      },
    },
    $ref: "#/$defs/o",
  };
  const schemas: Readonly<Record<string, object>> = {
    "a text of a thousand million characters": { type: "string", minLength: 1e9 },
    "lists in lists": nested(12),
    "objects that hold themselves ten times": itself,
    "a format that every object has": { type: "string", format: "constructor" },
    "a size that is not a number": { type: "array", minItems: { valueOf: 1, toString: 1 } },
  };
  for (const [what, schema] of Object.entries(schemas))
    for (const model of ["json", "tools"])
      test(`[d5.6] ${model}: ${what} is answered, with a small answer`, async () => {
        const asked =
          model === "json"
            ? { response_format: { type: "json_schema", json_schema: { name: "n", schema } } }
            : { tools: [{ type: "function", function: { name: "f", parameters: schema } }] };
        const answer = await stubGateway().chat({ model: `sandbox:${model}`, messages: hello, ...asked });
        expect(answer.status).toBe(200);
        expect((await answer.text()).length).toBeLessThan(100_000);
      });

  test("[d5.6] an echo of a long text, many times over, is cut and says so", async () => {
    const answer = await stubGateway().chat({
      model: "sandbox:echo",
      n: 128,
      messages: [{ role: "user", content: "x".repeat(1_000_000) }],
    });
    const text = await answer.text();
    expect(text.length).toBeLessThan(5_000_000);
    expect(JSON.parse(text)).toMatchObject({ choices: { 127: { finish_reason: "length" } } });
  });
});
