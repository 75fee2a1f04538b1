// The operation completions: raw prompts go out as they were written, and texts come back in OpenAI's legacy form.
import { describe, expect, test } from "bun:test";
import { COMPLETIONS } from "../../../src/operations/completions/completions.ts";
import { compilePolicies } from "../../../src/policies/compile-policies.ts";
import { policiesSection } from "../../../src/policies/policy-settings.ts";
import type { Snapshot } from "../../../src/core/snapshot.ts";
import type { UpstreamRequest } from "../../../src/wire/upstream.ts";
import { cannedUpstream, type CannedAnswer, type Stub, stubGateway } from "../../harness/in-process.ts";

type Body = Readonly<Record<string, any>>;
const INSTRUCT = "openai:gpt-3.5-turbo-instruct";
const ANSWER = {
  id: "cmpl-1",
  object: "text_completion",
  created: 1_700_000_000,
  model: "gpt-3.5-turbo-instruct:20230824-v2",
  choices: [{ text: " there was a bear", index: 0, logprobs: null, finish_reason: "length" }],
  usage: { prompt_tokens: 3, completion_tokens: 4, total_tokens: 7 },
};
const EVENTS = [
  { ...ANSWER, choices: [{ text: " there", index: 0, logprobs: null, finish_reason: null }], usage: null },
  { ...ANSWER, choices: [{ text: ' "was"\n', index: 0, logprobs: null, finish_reason: null }], usage: null },
  { ...ANSWER, choices: [{ text: "", index: 0, logprobs: null, finish_reason: "stop" }], usage: null },
  { ...ANSWER, choices: [] },
];
const STREAM = `${EVENTS.map((event) => `data: ${JSON.stringify(event)}\n\n`).join("")}data: [DONE]\n\n`;
const EVENT_STREAM = { "content-type": "text/event-stream" };

/** A choice for each prompt. */
function answerTo({ body }: UpstreamRequest): CannedAnswer {
  const { prompt } = JSON.parse(body) as Body;
  const prompts = Array.isArray(prompt) && typeof prompt[0] !== "number" ? prompt.length : 1;
  const choices = Array.from({ length: prompts }, (_, index) => ({ ...ANSWER.choices[0]!, index }));
  return { body: JSON.stringify({ ...ANSWER, choices }) };
}

function gatewayOf(
  answer: Parameters<typeof cannedUpstream>[0] = answerTo,
  snapshot: Partial<Snapshot> = {},
  permissions?: readonly "debug"[],
): Stub {
  return stubGateway({
    operation: COMPLETIONS,
    upstream: cannedUpstream(answer),
    snapshot,
    ...(permissions !== undefined && { permissions }),
  });
}

async function sentBody(fields: Body, model = INSTRUCT): Promise<Body> {
  const gateway = gatewayOf();
  const response = await gateway.chat({ model, prompt: "Once upon a time", ...fields });
  expect([response.status, await response.text()]).toEqual([200, expect.anything()]);
  return JSON.parse(gateway.sent[0]!.body) as Body;
}

function eventsIn(text: string): readonly Body[] {
  return text
    .split("\n\n")
    .filter((event) => event.startsWith("data: {"))
    .map((event) => JSON.parse(event.slice("data: ".length)) as Body);
}

describe("the request", () => {
  const PROMPTS = ["Once", ["a", "b"], [1, 2, 3], [[1, 2], [3]], ["only one"], ""];
  for (const prompt of PROMPTS)
    test(`[d12.1 d12.10] the prompt ${JSON.stringify(prompt)} goes out as it was written, without a role`, async () => {
      expect(await sentBody({ prompt })).toEqual({ model: "gpt-3.5-turbo-instruct", prompt });
    });
  test("[d12.10] every parameter of the form reaches a target that has it, and what is not known passes", async () => {
    const fields = {
      suffix: "the end",
      max_tokens: 5,
      temperature: 0.5,
      top_p: 0.9,
      n: 2,
      logprobs: 3,
      echo: true,
      stop: "END",
      presence_penalty: 1,
      frequency_penalty: -1,
      best_of: 4,
      logit_bias: { "50256": -100 },
      seed: 7,
      user: "u1",
      min_p: 0.1,
    };
    expect(await sentBody(fields)).toEqual({
      model: "gpt-3.5-turbo-instruct",
      prompt: "Once upon a time",
      ...fields,
    });
  });
  test("[d12.10] logprobs 0, and members that ask for what is so anyway, are no parameters that a target could lack", async () => {
    expect(await sentBody({ logprobs: 0 })).toMatchObject({ logprobs: 0 });
    expect(await sentBody({ echo: false, best_of: 1, suffix: "", n: null, stop: null }, "lmstudio:m")).toEqual({
      model: "m",
      prompt: "Once upon a time",
    });
  });

  const REFUSED: readonly (readonly [string, Body, string])[] = [
    ["no prompt", { prompt: undefined }, "prompt"],
    ["an empty list", { prompt: [] }, "prompt"],
    ["a number", { prompt: 5 }, "prompt"],
    ["a text and tokens", { prompt: ["a", [1]] }, "prompt[1]"],
    ["tokens and a text", { prompt: [[1], "a"] }, "prompt[1]"],
    ["a token below 0", { prompt: [1, -1] }, "prompt[1]"],
    ["more choices than can be told apart", { prompt: ["a", "b"], n: 65 }, "prompt"],
    ["a suffix that is no text", { suffix: 1 }, "suffix"],
    ["echo that is no truth value", { echo: "yes" }, "echo"],
    ["too many log probabilities", { logprobs: 6 }, "logprobs"],
    ["log probabilities of chat completions", { logprobs: true }, "logprobs"],
    ["best_of beyond its bound", { best_of: 21 }, "best_of"],
    ["best_of below n", { n: 3, best_of: 2 }, "best_of"],
    ["best_of in a stream", { best_of: 2, stream: true }, "best_of"],
    ["a field of conversations", { tools: [] }, "tools"],
    ["messages", { messages: [] }, "messages"],
    ["a field of the gateway outside of x_gateway", { route: "r" }, "route"],
    ["a wrong parameter", { temperature: 3 }, "temperature"],
    ["a model that takes only conversations", { model: "openai:gpt-5" }, "model"],
    ["a model of a provider without raw prompts", { model: "anthropic:claude-sonnet-4-5" }, "model"],
    ["a list where the target takes one text", { model: "together:m", prompt: ["a", "b"] }, "prompt"],
    ["tokens where the target takes text", { model: "together:m", prompt: [1, 2] }, "prompt"],
    ["a suffix at a target without one", { model: "vllm:m", suffix: "x" }, "suffix"],
    ["a suffix that would be dropped", { model: "vllm:m", suffix: "x", x_gateway: { drop_params: true } }, "suffix"],
    ["echo at a target without it", { model: "llamacpp:m", echo: true }, "echo"],
    ["best_of at a target without it", { model: "deepseek:deepseek-chat", best_of: 2 }, "best_of"],
    ["log probabilities at a target without them", { model: "lmstudio:m", logprobs: 1 }, "logprobs"],
    [
      "a penalty at a target without it",
      { model: "mistral:codestral-latest", presence_penalty: 1 },
      "presence_penalty",
    ],
  ];
  for (const [what, fields, param] of REFUSED)
    test(`[d12.6 d12.10] ${what} is 400 with its path, and nothing is sent`, async () => {
      const gateway = gatewayOf();
      const response = await gateway.chat({ model: INSTRUCT, prompt: "a", ...fields });
      const { error } = (await response.json()) as Body;
      expect([response.status, error["param"], gateway.sent.length]).toEqual([400, param, 0]);
      expect(Object.keys(error).toSorted()).toEqual(["code", "message", "param", "type"]);
    });
  for (const [what, own, path] of [
    ["a suffix that is no text", { suffix: { a: 1 } }, "suffix"],
    ["best_of in a text, which would be reserved as 1", { best_of: "20" }, "best_of"],
    ["best_of beyond its bound", { best_of: 21 }, "best_of"],
    ["best_of below n", { n: 3, best_of: 2 }, "best_of"],
    ["echo that is no truth value", { echo: "yes" }, "echo"],
    ["more choices than can be told apart", { n: 65 }, null],
  ] as const)
    test(`[d3.4 d12.10] ${what} is 400 in an entry of fallbacks and in extra_body too, before anything is sent`, async () => {
      for (const [given, place] of [
        [{ fallbacks: [{ model: "openai:babbage-002", ...own }] }, "fallbacks[0]"],
        [{ extra_body: own }, ""],
      ] as const) {
        if (place === "" && "n" in own) continue;
        const gateway = gatewayOf();
        const response = await gateway.chat({ model: INSTRUCT, prompt: ["a", "b"], x_gateway: given });
        const { error } = (await response.json()) as Body;
        const param = place === "" ? path : `${place}${path === null ? "" : `.${path}`}`;
        expect([response.status, error["param"], gateway.sent.length]).toEqual([400, param, 0]);
      }
    });
  test("[d12.10] a model that takes only conversations is refused with the cure", async () => {
    const response = await gatewayOf().chat({ model: "openai:gpt-5", prompt: "a" });
    expect(((await response.json()) as Body)["error"].message).toContain(
      "Send the prompt as a message to POST /api/v1/chat/completions",
    );
  });
  test("[d12.4 d12.10] what may be dropped is named in the head", async () => {
    const gateway = gatewayOf();
    const response = await gateway.chat({
      model: "llamacpp:m",
      prompt: "a",
      echo: true,
      user: "u",
      x_gateway: { drop_params: true },
    });
    expect([response.status, response.headers.get("x-gateway-dropped-params")]).toEqual([200, "echo"]);
    expect(JSON.parse(gateway.sent[0]!.body)).toEqual({ model: "m", prompt: "a" });
  });
  test("[d12.3] an operator can say that the models of an entry take raw prompts", async () => {
    const gateway = gatewayOf();
    const { providers } = gateway.context.snapshot();
    const set = new Map([...providers, ["custom", { ...providers.get("custom")!, native: ["completions" as const] }]]);
    const able = gatewayOf(undefined, { providers: set });
    expect((await gateway.chat({ model: "custom:m", prompt: "a" })).status).toBe(400);
    expect((await able.chat({ model: "custom:m", prompt: "a" })).status).toBe(200);
    expect(able.sent[0]!.url).toBe("https://provider.test/v1/completions");
  });
});

describe("the answer", () => {
  test("[d12.1 d12.7] is that of the provider but for the model, and is recorded with its figures", async () => {
    const gateway = gatewayOf({ body: JSON.stringify({ ...ANSWER, system_fingerprint: "fp" }) });
    const response = await gateway.chat({ model: INSTRUCT, prompt: "Once upon a time" });
    expect(await response.json()).toEqual({ ...ANSWER, system_fingerprint: "fp", model: INSTRUCT });
    expect(gateway.records[0]).toMatchObject({
      operation: "completions",
      status: 200,
      usage: ANSWER.usage,
      usageSource: "provider",
      finishReasons: ["length"],
      providerModel: ANSWER.model,
    });
    expect(response.headers.get("x-gateway-route")).toBe("direct");
  });
  test("[d12.10] has the choices of all prompts in their order, with members of the provider", async () => {
    const choices = [2, 0, 3, 1].map((index) => ({
      text: `t${index}`,
      index,
      logprobs: null,
      finish_reason: "stop",
      stop_reason: index,
    }));
    const gateway = gatewayOf({ body: JSON.stringify({ ...ANSWER, choices }) });
    const answer = (await (await gateway.chat({ model: "vllm:m", prompt: ["a", "b"], n: 2 })).json()) as Body;
    expect(answer["choices"]).toEqual(choices);
  });
  const of = (index: number): Body => ({ text: `t${index}`, index, logprobs: null, finish_reason: "stop" });
  test.each([
    ["the choice of one prompt", ["a", "b"], 1, [1]],
    ["three of four choices", ["a", "b"], 2, [0, 1, 3]],
    ["more choices than were asked for", ["a", "b"], 1, [0, 1, 2]],
  ] as const)("[d12.10] to several prompts is no answer with %s, and is charged", async (_, prompt, n, indexes) => {
    for (const stream of [false, true]) {
      const gateway = gatewayOf({
        headers: { "content-type": "application/json" },
        body: JSON.stringify({ ...ANSWER, choices: indexes.map(of) }),
      });
      const response = await gateway.chat({ model: "vllm:m", prompt, n, stream });
      const { error } = (await response.json()) as Body;
      expect([response.status, error["code"]]).toEqual([502, "upstream_invalid_response"]);
      expect(gateway.records[0]!.usage).toEqual(ANSWER.usage);
    }
  });
  test("[d12.10] to one prompt may have fewer choices than were asked for", async () => {
    const gateway = gatewayOf({ body: JSON.stringify({ ...ANSWER, choices: [of(0)] }) });
    const answer = (await (await gateway.chat({ model: "vllm:m", prompt: ["a"], n: 2 })).json()) as Body;
    expect(answer["choices"]).toEqual([of(0)]);
  });
  const LISTS = {
    tokens: ["On", "ce", " a"],
    token_logprobs: [null, -0.5, -9.25],
    top_logprobs: [null, { ce: -0.5, e: -2 }, { " a": -9.25 }],
    text_offset: [0, 2, 4],
  };
  test("[d12.10] has log probabilities as the provider told them, also those of the prompt", async () => {
    const choices = [{ text: "Once a", index: 0, logprobs: LISTS, finish_reason: "stop" }];
    const gateway = gatewayOf({ body: JSON.stringify({ ...ANSWER, choices }) });
    const answer = await gateway.chat({ model: INSTRUCT, prompt: "Once", echo: true, logprobs: 2, max_tokens: 1 });
    expect(((await answer.json()) as Body)["choices"]).toEqual(choices);
  });
  test("[d12.10] has places of tokens that begin behind the prompt", async () => {
    const lists = { tokens: [" up", "on"], token_logprobs: [-1, -2], top_logprobs: [{}, {}], text_offset: [4, 7] };
    const choices = [{ text: " upon", index: 0, logprobs: lists, finish_reason: "stop" }];
    const gateway = gatewayOf({ body: JSON.stringify({ ...ANSWER, choices }) });
    const answer = await gateway.chat({ model: INSTRUCT, prompt: "Once", logprobs: 0 });
    expect(((await answer.json()) as Body)["choices"]).toEqual(choices);
  });
  describe("has these places by what the target was asked for", () => {
    const lists = { tokens: [" up"], token_logprobs: [-1], top_logprobs: [{ " up": -1 }], text_offset: [4] };
    const answer = (count: number): string => {
      const choices = Array.from({ length: count }, (_, index) => ({
        text: " up",
        index,
        logprobs: { ...lists, text_offset: [0] },
        finish_reason: "stop",
      }));
      return JSON.stringify({ ...ANSWER, choices });
    };
    const placesIn = async (response: Response): Promise<unknown> => {
      expect(response.status).toBe(200);
      return ((await response.json()) as Body)["choices"].map(({ logprobs }: Body) => logprobs);
    };
    test("[d12.10 d6.4] without echo, where it is dropped", async () => {
      const fields = { model: "llamacpp:m", echo: true, logprobs: 1, x_gateway: { drop_params: true } };
      expect(await placesIn(await gatewayOf({ body: answer(1) }).chat({ prompt: "Once", ...fields }))).toEqual([lists]);
    });
    test("[d12.10 d7.3] with the n of a fallback", async () => {
      const gateway = gatewayOf(({ body }) =>
        body.includes('"n":2') ? { body: answer(2) } : { status: 500, body: "{}" },
      );
      const fallbacks = [{ model: "vllm:m", n: 2 }];
      const response = await gateway.chat({ model: INSTRUCT, prompt: "Once", logprobs: 1, x_gateway: { fallbacks } });
      expect(await placesIn(response)).toEqual([lists, lists]);
    });
  });
  test("[d12.6] an error of the provider has OpenAI's envelope", async () => {
    const error = { message: "Too long.", type: "invalid_request_error", param: "prompt", code: null };
    const response = await gatewayOf({ status: 400, body: JSON.stringify({ error }) }).chat({
      model: INSTRUCT,
      prompt: "a",
    });
    expect([response.status, await response.json()]).toEqual([
      400,
      { error: { ...error, code: "upstream_invalid_request" } },
    ]);
  });
  test("[d12.10] an answer without choices is 502", async () => {
    expect((await gatewayOf({ body: '{"object":"x"}' }).chat({ model: INSTRUCT, prompt: "a" })).status).toBe(502);
  });
});

describe("a stream", () => {
  const streamed = (fields: Body = {}, answer: Partial<CannedAnswer> = {}): Promise<Response> =>
    gatewayOf({ headers: EVENT_STREAM, body: STREAM, ...answer }).chat({
      model: INSTRUCT,
      prompt: "Once upon a time",
      stream: true,
      ...fields,
    });
  for (const chunk of ["whole", "event", 1, 7] as const)
    test(`[d12.1 d12.5] in pieces of ${chunk} has the texts, one finish reason and the end of the form`, async () => {
      const text = await (await streamed({}, { chunk })).text();
      const events = eventsIn(text);
      expect(text.endsWith("data: [DONE]\n\n")).toBe(true);
      expect(events.map(({ choices }) => choices[0].text).join("")).toBe(' there "was"\n');
      expect(events.map(({ choices }) => choices[0].finish_reason)).toEqual([null, null, "stop"]);
      for (const event of events)
        expect([Object.keys(event).toSorted(), event["object"], event["model"], event["id"]]).toEqual([
          ["choices", "created", "id", "model", "object"],
          "text_completion",
          INSTRUCT,
          "cmpl-1",
        ]);
    });
  test("[d12.1 d12.5] has the provider's id also where a chunk about the prompt comes first, as at Azure", async () => {
    const filters = [{ prompt_index: 0, content_filter_results: {} }];
    const first = { id: "", object: "", created: 0, model: "", choices: [], prompt_filter_results: filters };
    const body = `data: ${JSON.stringify(first)}\n\n${STREAM}`;
    const events = eventsIn(await (await streamed({}, { body })).text());
    expect(new Set(events.map(({ id }) => id))).toEqual(new Set(["cmpl-1"]));
    expect(new Set(events.map(({ created }) => created))).toEqual(new Set([ANSWER.created]));
    expect(events[0]!["prompt_filter_results"]).toEqual(filters);
  });
  test("[d12.5] asks the provider for the usage, and shows it where the client asks", async () => {
    const gateway = gatewayOf({ headers: EVENT_STREAM, body: STREAM });
    const response = await gateway.chat({
      model: INSTRUCT,
      prompt: "a",
      stream: true,
      stream_options: { include_usage: true },
    });
    const events = eventsIn(await response.text());
    expect(events.map(({ usage }) => usage)).toEqual([null, null, null, ANSWER.usage]);
    expect(events.at(-1)!["choices"]).toEqual([]);
    expect(JSON.parse(gateway.sent[0]!.body)).toMatchObject({ stream: true, stream_options: { include_usage: true } });
    expect(gateway.records[0]).toMatchObject({ usage: ANSWER.usage, finishReasons: ["stop"], stream: true });
  });
  test("[d12.5] that breaks off ends with an error and never as complete", async () => {
    const gateway = gatewayOf({ headers: EVENT_STREAM, body: STREAM, chunk: "event", cutAt: STREAM.length / 2 });
    const text = await (await gateway.chat({ model: INSTRUCT, prompt: "a", stream: true })).text();
    const events = eventsIn(text);
    expect(events.at(-1)!["error"]).toMatchObject({ code: expect.any(String), param: null });
    expect(events.some(({ choices }) => choices?.[0]?.finish_reason != null)).toBe(false);
    expect(gateway.records[0]!.code).not.toBeNull();
  });
  test("[d12.5] of several prompts keeps the index of each choice", async () => {
    const events = [3, 0, 2, 1].map((index) => ({
      ...ANSWER,
      choices: [{ text: `t${index}`, index, logprobs: null, finish_reason: "stop" }],
    }));
    const body = `${events.map((event) => `data: ${JSON.stringify(event)}\n\n`).join("")}data: [DONE]\n\n`;
    const text = await (await streamed({ prompt: ["a", "b"], n: 2 }, { body })).text();
    const said = eventsIn(text).flatMap(({ choices }) =>
      choices.map((choice: Body) => [choice["index"], choice["text"]]),
    );
    for (const index of [0, 1, 2, 3]) expect(said).toContainEqual([index, `t${index}`]);
  });
  test.each([
    ["the protocol's end", "data: [DONE]\n\n"],
    ["the end of the body", ""],
  ])("[d8.3 d12.5] of several prompts never ends as complete without a choice of each, at %s", async (_, end) => {
    for (const reason of ["stop", null]) {
      const choices = [{ text: "for b", index: 1, logprobs: null, finish_reason: reason }];
      const body = `data: ${JSON.stringify({ ...ANSWER, choices })}\n\n${end}`;
      const text = await (await streamed({ prompt: ["a", "b"] }, { body, chunk: "event" })).text();
      const events = eventsIn(text);
      expect(events.at(-1)!["error"]).toMatchObject({ code: "upstream_incomplete" });
      expect(events.some(({ choices: shown }) => shown?.[0]?.finish_reason != null)).toBe(false);
    }
  });
  test("[d12.10] has log probabilities with places that go on from event to event", async () => {
    const lists = (token: string) => ({ tokens: [token], token_logprobs: [-1], top_logprobs: [{}], text_offset: [0] });
    const events = [" up", "on"].map((text) => ({
      ...ANSWER,
      choices: [{ text, index: 0, logprobs: lists(text), finish_reason: null }],
    }));
    const last = { ...ANSWER, choices: [{ text: "", index: 0, logprobs: null, finish_reason: "stop" }] };
    const body = [...events, last].map((event) => `data: ${JSON.stringify(event)}\n\n`).join("");
    const text = await (await streamed({ prompt: "Once", logprobs: 0 }, { body })).text();
    const told = eventsIn(text).flatMap(({ choices }) => choices[0].logprobs?.text_offset ?? []);
    expect(told).toEqual([4, 7]);
  });
});

describe("what holds for every call", () => {
  const guarded = (action: "mask" | "block"): Partial<Snapshot> => {
    const document = policiesSection.parse({
      secret: { guard: { patterns: ["hushhush"], action, on: "both" } },
    });
    const policies = compilePolicies([
      {
        id: "secret",
        name: "secret",
        tenantId: null,
        projectId: null,
        origin: "file",
        setBy: null,
        version: 0,
        document: document["secret"]!,
      },
    ]);
    return { policies };
  };
  const SAID = { ...ANSWER, choices: [{ ...ANSWER.choices[0]!, text: "it is hushhush now" }] };

  test("[d12.2] guards mask what goes out and what comes back, and withhold log probabilities", async () => {
    const lists = { tokens: ["hushhush"], token_logprobs: [-1], top_logprobs: [{}], text_offset: [0] };
    const choices = [0, 1].map((index) => ({ ...SAID.choices[0]!, index, logprobs: lists }));
    const gateway = gatewayOf({ body: JSON.stringify({ ...SAID, choices }) }, guarded("mask"));
    const response = await gateway.chat({
      model: INSTRUCT,
      prompt: ["say hushhush", "b"],
      suffix: "after hushhush",
      logprobs: 1,
    });
    const answer = (await response.json()) as Body;
    expect(gateway.sent[0]!.body).not.toContain("hushhush");
    expect(JSON.parse(gateway.sent[0]!.body)["prompt"][1]).toBe("b");
    expect(JSON.stringify(answer)).not.toContain("hushhush");
    expect(answer["choices"][0]).toMatchObject({ text: expect.stringContaining("it is "), logprobs: null });
  });
  test("[d12.2] guards mask a text that is split between events of a stream", async () => {
    const events = ["it is hush", "hush now"].map((text) => ({
      ...ANSWER,
      choices: [{ text, index: 0, logprobs: null, finish_reason: null }],
    }));
    const last = { ...ANSWER, choices: [{ text: "", index: 0, logprobs: null, finish_reason: "stop" }] };
    const body = [...events, last].map((event) => `data: ${JSON.stringify(event)}\n\n`).join("");
    const gateway = gatewayOf({ headers: EVENT_STREAM, body, chunk: "event" }, guarded("mask"));
    const text = await (await gateway.chat({ model: INSTRUCT, prompt: "a", stream: true })).text();
    const said = eventsIn(text)
      .map(({ choices }) => choices[0].text)
      .join("");
    expect([said.startsWith("it is "), said.endsWith(" now"), said.includes("hush")]).toEqual([true, true, false]);
  });
  test("[d12.2 d12.6] a guard that blocks refuses in the form of the operation", async () => {
    const gateway = gatewayOf({ body: JSON.stringify(ANSWER) }, guarded("block"));
    const response = await gateway.chat({ model: INSTRUCT, prompt: "hushhush" });
    const { error } = (await response.json()) as Body;
    expect([response.status, error.code, gateway.sent.length]).toEqual([403, "policy_violation", 0]);
  });
  test("[d12.2] tokens, which no guard can read, are refused in a project with guards", async () => {
    const gateway = gatewayOf({ body: JSON.stringify(ANSWER) }, guarded("mask"));
    const response = await gateway.chat({ model: INSTRUCT, prompt: [1, 2] });
    expect([response.status, ((await response.json()) as Body)["error"].param]).toEqual([400, "prompt"]);
  });
  test("[d12.2] an explanation shows the request that would go out, and what it would cost", async () => {
    const gateway = gatewayOf(undefined, {}, ["debug"]);
    const response = await gateway.chat(
      { model: INSTRUCT, prompt: ["Once", "Twice"], n: 2, best_of: 3, max_tokens: 10, logprobs: 1 },
      { headers: { "x-gateway-explain": "true" } },
    );
    const plan = (await response.json()) as Body;
    const [target] = plan["targets"] as readonly Body[];
    expect([response.status, gateway.sent.length]).toEqual([200, 0]);
    expect(target!["request"]).toMatchObject({ url: "https://api.openai.com/v1/completions" });
    expect(target!["estimate"]).toMatchObject({ completion_tokens_bound: 10, choices: 6 });
  });
  test("[d12.2] a call that fails goes on at its fallback, with the parameters of the entry", async () => {
    const gateway = gatewayOf();
    const response = await gateway.chat({
      model: "sandbox:fail-500",
      prompt: "a b c",
      x_gateway: { fallbacks: [{ model: "sandbox:echo", max_tokens: 2 }] },
    });
    const { model, choices } = (await response.json()) as Body;
    expect([response.status, response.headers.get("x-gateway-model")]).toEqual([200, "sandbox:echo"]);
    expect([model, choices[0].text, choices[0].finish_reason]).toEqual(["sandbox:fail-500", "a b ", "length"]);
  });
});
