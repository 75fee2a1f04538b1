// Promise 3.5 at targets that read the conversation, or several texts of it, as one text: what extends over several of the
// caller's texts there is found, and the marks of the form are no match.
import { describe, expect, test } from "bun:test";
import { cannedUpstream, type StubOptions } from "../../harness/in-process.ts";
import { policiesFor } from "../../policies/policy-documents.ts";
import { answeringGateway, ask, type Asked } from "../chat-calls.ts";

const guard = (more: object): StubOptions => ({
  snapshot: { policies: policiesFor({ name: "g", message: "Not allowed.", guard: { on: "input", ...more } }) },
});
const BLOCKS = guard({ patterns: ["verboten"], action: "block" });
const MASKS = guard({ classes: ["email"], action: "mask" });
const user = (...contents: readonly string[]): readonly object[] =>
  contents.map((content) => ({ role: "user", content }));

const asked = (options: StubOptions, fields: object, headers: Record<string, string> = {}): Promise<Asked> =>
  ask(
    answeringGateway({ ...options, permissions: ["byo_endpoint", "debug"] }),
    { model: "vllm-generate:m", ...fields },
    headers,
  );

describe("a prompt that is made of several texts", () => {
  test.each([
    ["a mark and a message", BLOCKS, { messages: user("oten"), roles: { user: { pre_message: "verb" } } }],
    ["a message and a mark", BLOCKS, { messages: user("verb"), roles: { user: { post_message: "oten" } } }],
    ["two messages", BLOCKS, { messages: user("verb", "oten"), roles: {} }],
    [
      "two parts of a message, which the form joins with a line break",
      guard({ patterns: ["ver\\nboten"], action: "block" }),
      { messages: [{ role: "user", content: ["ver", "boten"].map((text) => ({ type: "text", text })) }] },
    ],
    [
      "the first token and what follows it",
      BLOCKS,
      { messages: user("x"), bos_token: "ver", initial_prompt_value: "boten" },
    ],
    [
      "the last message and what ends the prompt",
      BLOCKS,
      { messages: user("verb"), final_prompt_value: "oten", roles: {} },
    ],
    ["two messages, for a guard that masks", MASKS, { messages: user("ada@", "mail.example.org"), roles: {} }],
    [
      "two messages, beside a mask that the guard would find",
      guard({ patterns: ["falcon"], action: "mask", mask: "[falcon]" }),
      { messages: user("fal", "con"), roles: {}, bos_token: "falcon" },
    ],
    [
      "a mark and a message at another provider",
      MASKS,
      {
        model: "replicate:meta/meta-llama-3-8b-instruct",
        messages: user("mail.example.org"),
        roles: { user: { pre_message: "ada@" } },
      },
    ],
  ])(
    "[d3.5] a match across %s is refused, and nothing is sent; an explanation refuses it too",
    async (_where, options, fields) => {
      const plain = await asked(options, fields);
      expect([plain.outcome, plain.wire]).toEqual(["403 policy_violation null", null]);
      const explained = await asked(options, fields, { "x-gateway-explain": "true" });
      expect([explained.outcome, explained.wire]).toEqual(["403 policy_violation null", null]);
    },
  );

  test("[d3.5 d3.4] such a target is passed over, and one that reads each message by itself answers", async () => {
    const { outcome, wire } = await asked(BLOCKS, {
      messages: user("verb", "oten"),
      fallbacks: [{ model: "openai:gpt-4o" }],
    });
    expect(outcome).toBe("200");
    expect(wire).toMatchObject({ prompt: expect.any(String) });
    const joined = await asked(BLOCKS, {
      model: "vllm-generate:m",
      messages: user("verb", "oten"),
      roles: {},
      drop_params: true,
      fallbacks: [{ model: "openai:gpt-4o" }],
    });
    expect(joined.outcome).toBe("200");
    expect(joined.wire).toMatchObject({ model: "gpt-4o" });
  });

  test("[d3.5] what a text has by itself is masked there, also with a mask that the guard would find, and as often as it occurs", async () => {
    const { outcome, wire } = await asked(guard({ patterns: ["falcon"], action: "mask", mask: "[falcon]" }), {
      messages: user("falcon", "a falcon", "falcon and falcon"),
      roles: { user: { pre_message: "falcon: ", post_message: "\n" } },
    });
    expect(outcome).toBe("200");
    expect(wire!["prompt"]).toBe("[falcon]: [falcon]\n[falcon]: a [falcon]\n[falcon]: [falcon] and [falcon]\n");
  });

  test.each([
    ["vllm-generate:m", "(?i)user:|assistant"],
    ["vllm-generate:Qwen/Qwen2.5-7B-Instruct", "im_start|user"],
    ["vllm-generate:meta-llama/Llama-3.1-8B-Instruct", "header"],
  ])("[d3.5] the marks of the form of %s are no match", async (model, pattern) => {
    const { outcome } = await asked(guard({ patterns: [pattern], action: "block" }), {
      model,
      messages: [
        { role: "system", content: "Be brief." },
        ...user("Hello"),
        { role: "assistant", content: "Hi." },
        ...user("Go on"),
      ],
    });
    expect(outcome).toBe("200");
  });

  test("[d3.5 d3.1] with mode audit it is reported, and sent", async () => {
    const stub = answeringGateway({
      upstream: cannedUpstream({
        body: JSON.stringify({ choices: [{ index: 0, text: "Hi", finish_reason: "stop" }] }),
      }),
      snapshot: {
        policies: policiesFor({
          name: "g",
          mode: "audit",
          guard: { on: "input", patterns: ["verboten"], action: "block" },
        }),
      },
    });
    const { outcome } = await ask(stub, { model: "vllm-generate:m", messages: user("verb", "oten"), roles: {} });
    expect(outcome).toBe("200");
    expect(stub.records[0]!.policies).toEqual([{ name: "g", effect: "would_deny" }]);
  });
});

const text = (one: string): object => ({ type: "text", text: one });
const textFile = (data: string, more: object = {}): object => ({
  type: "document",
  source: { type: "text", media_type: "text/plain", data },
  ...more,
});
const inParts = (role: string, parts: readonly object[], more: object = {}): object => ({
  role,
  content: parts,
  ...more,
});
const asPart = (one: string): object => text(one);
const asFile = (one: string): object => textFile(one);
const signed = (one: string, signature: string): object => ({ type: "reasoning.text", text: one, signature });
const CALL = { id: "call00001", type: "function", function: { name: "weather", arguments: "{}" } };
const calledBefore = (result: object): readonly object[] => [
  ...user("x"),
  { role: "assistant", content: null, tool_calls: [CALL] },
  result,
];

interface Joining {
  readonly model: string;
  /** The request's fields for two texts that reach the model as one. */
  readonly of: (one: string, other: string) => object;
  /** What the provider writes between them. */
  readonly between: string;
  readonly address?: string;
}

const JOINING: Readonly<Record<string, Joining>> = {
  "two parts of a message at Ollama": {
    model: "ollama:llama3.2",
    of: (...texts) => ({ messages: [inParts("user", texts.map(asPart))] }),
    between: "\n\n",
  },
  "two parts of the result of a tool at Ollama": {
    model: "ollama:llama3.2",
    of: (...texts) => ({
      messages: calledBefore(inParts("tool", texts.map(asPart), { tool_call_id: CALL.id })),
    }),
    between: "\n\n",
  },
  "a text and a document at Ollama": {
    model: "ollama:llama3.2",
    of: (one, other) => ({ messages: [inParts("user", [text(one), textFile(other)])] }),
    between: "\n\n",
  },
  "a document and its title at Ollama": {
    model: "ollama:llama3.2",
    of: (title, data) => ({ messages: [inParts("user", [textFile(data, { title })])] }),
    between: "\n",
  },
  "two parts at a server that takes only strings": {
    model: "morph:morph-v3-large",
    of: (...texts) => ({ messages: [inParts("user", texts.map(asPart))] }),
    between: "\n",
  },
  "two parts at a model that takes only strings": {
    model: "nvidia:mistralai/mixtral-8x7b-instruct",
    of: (...texts) => ({ messages: [inParts("user", texts.map(asPart))] }),
    between: "\n",
  },
  "two system messages at MiniMax": {
    model: "minimax:MiniMax-M2",
    of: (...texts) => ({ messages: [...texts.map((content) => ({ role: "system", content })), ...user("x")] }),
    between: "\n\n",
  },
  "two pieces of signed reasoning at Databricks": {
    model: "databricks:databricks-claude-sonnet-4-5",
    address: "https://93.184.215.14",
    of: (one, other) => ({
      messages: [
        ...user("x"),
        { role: "assistant", content: "y", reasoning_details: [signed(one, "s1"), signed(other, "s2")] },
        ...user("z"),
      ],
    }),
    between: "",
  },
  "reasoning and an answer at Cerebras": {
    model: "cerebras:zai-glm-4.6",
    of: (reasoning, content) => ({
      messages: [...user("x"), { role: "assistant", content, reasoning }, ...user("z")],
    }),
    between: "</think>",
  },
  "a text and a document in the result of a tool at Gemini": {
    model: "gemini:gemini-2.5-flash",
    of: (one, other) => ({
      messages: calledBefore(inParts("tool", [text(one), textFile(other)], { tool_call_id: CALL.id })),
    }),
    between: "",
  },
  "a text and a document in the result of a tool at a Gemini model of Vertex AI": {
    model: "vertex:gemini-2.5-flash",
    address: "https://93.184.215.14",
    of: (one, other) => ({
      messages: calledBefore(inParts("tool", [text(one), textFile(other)], { tool_call_id: CALL.id })),
    }),
    between: "",
  },
  "a text and a document of an answer in the form of Responses": {
    model: "openai:o3-pro",
    of: (one, other) => ({
      messages: [...user("x"), inParts("assistant", [asPart(one), asFile(other)]), ...user("z")],
    }),
    between: "",
  },
  "two parts of a single question at Replicate": {
    model: "replicate:meta/meta-llama-3-8b-instruct",
    of: (...texts) => ({ messages: [inParts("user", texts.map(asPart))] }),
    between: "\n",
  },
  "two system messages of a single question at Replicate": {
    model: "replicate:meta/meta-llama-3-8b-instruct",
    of: (...texts) => ({ messages: [...texts.map((content) => ({ role: "system", content })), ...user("x")] }),
    between: "\n\n",
  },
};

describe("a text that a provider makes of several", () => {
  const at = ({ model, address }: Joining): object => ({ model, ...(address !== undefined && { base_url: address }) });

  for (const [where, one] of Object.entries(JOINING)) {
    test(`[d3.5] a match across ${where} is refused, and nothing is sent; an explanation refuses it too`, async () => {
      const options = guard({ patterns: [`ver${one.between}boten`], action: "mask" });
      const fields = { ...at(one), ...one.of("ver", "boten") };
      const plain = await asked(options, fields);
      expect([plain.outcome, plain.wire]).toEqual(["403 policy_violation null", null]);
      const explained = await asked(options, fields, { "x-gateway-explain": "true" });
      expect([explained.outcome, explained.wire]).toEqual(["403 policy_violation null", null]);
    });

    test(`[d3.5] ${where}: what each has by itself is masked, also with a mask that the guard would find, and is no match of both`, async () => {
      const options = guard({ patterns: ["falcon"], action: "mask", mask: "[falcon]" });
      const { outcome, request } = await asked(options, { ...at(one), ...one.of("falcon", "a falcon") });
      expect(outcome).toBe("200");
      const joined = JSON.stringify(`[falcon]${one.between}a [falcon]`).slice(1, -1);
      expect(request!.body).toContain(joined);
      expect(request!.body.replaceAll("[falcon]", "")).not.toContain("falcon");
    });
  }

  test("[d3.5] the marks between reasoning and an answer are no match", async () => {
    const options = guard({ patterns: ["think"], action: "block" });
    const { outcome } = await asked(options, {
      model: "cerebras:zai-glm-4.6",
      messages: [...user("x"), { role: "assistant", content: "y", reasoning: "r" }, ...user("z")],
    });
    expect(outcome).toBe("200");
  });

  test("[d3.5 d3.4] a target that joins the parts is passed over, and one that takes them apart answers", async () => {
    const { outcome, wire } = await asked(guard({ patterns: ["ver\\n\\nboten"], action: "block" }), {
      model: "ollama:llama3.2",
      messages: [inParts("user", [text("ver"), text("boten")])],
      fallbacks: [{ model: "openai:gpt-4o" }],
    });
    expect(outcome).toBe("200");
    expect(wire).toMatchObject({ model: "gpt-4o" });
  });
});
