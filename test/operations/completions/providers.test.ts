// How each kind of endpoint is asked with a raw prompt, and what its answer becomes.
import { describe, expect, test } from "bun:test";
import { COMPLETIONS } from "../../../src/operations/completions/completions.ts";
import { cannedUpstream, stubGateway } from "../../harness/in-process.ts";

type Body = Readonly<Record<string, any>>;

interface Endpoint {
  readonly model: string;
  readonly fields?: Body;
  readonly url: string;
  readonly sent: Body;
  readonly answer: Body;
}
const TEXT = {
  object: "text_completion",
  choices: [{ text: "B", index: 0, logprobs: null, finish_reason: "stop" }],
  usage: { prompt_tokens: 1, completion_tokens: 2, total_tokens: 3 },
};
const FIM = {
  object: "chat.completion",
  choices: [{ index: 0, message: { role: "assistant", content: "B" }, finish_reason: "stop" }],
  usage: TEXT.usage,
};
const GENERATED = { response: "B", done: true, done_reason: "stop", prompt_eval_count: 1, eval_count: 2 };
const TGI = {
  generated_text: "B",
  details: { finish_reason: "eos_token", generated_tokens: 2, prefill: [{ id: 1 }] },
};
const PLAIN = { prompt: "A", max_tokens: 9 };

const ENDPOINTS: readonly Endpoint[] = [
  { model: "openai:davinci-002", url: "https://api.openai.com/v1/completions", sent: PLAIN, answer: TEXT },
  {
    model: "openai:ft:babbage-002:acme::x",
    url: "https://api.openai.com/v1/completions",
    sent: PLAIN,
    answer: TEXT,
  },
  {
    model: "deepseek:deepseek-chat",
    fields: { suffix: "C", echo: true },
    url: "https://api.deepseek.com/beta/completions",
    sent: { ...PLAIN, suffix: "C", echo: true },
    answer: TEXT,
  },
  {
    model: "deepseek-generate:deepseek-chat",
    url: "https://api.deepseek.com/beta/completions",
    sent: PLAIN,
    answer: TEXT,
  },
  { model: "together:m", url: "https://api.together.ai/v1/completions", sent: PLAIN, answer: TEXT },
  { model: "fireworks:m", url: "https://api.fireworks.ai/inference/v1/completions", sent: PLAIN, answer: TEXT },
  { model: "deepinfra:m", url: "https://api.deepinfra.com/v1/openai/completions", sent: PLAIN, answer: TEXT },
  {
    model: "mistral:codestral-latest",
    fields: { suffix: "C", seed: 5 },
    url: "https://api.mistral.ai/v1/fim/completions",
    sent: { ...PLAIN, suffix: "C", random_seed: 5 },
    answer: FIM,
  },
  { model: "vllm:m", url: "http://localhost:8000/v1/completions", sent: PLAIN, answer: TEXT },
  { model: "sglang:m", url: "http://localhost:30000/v1/completions", sent: PLAIN, answer: TEXT },
  { model: "llamacpp:m", url: "http://localhost:8080/v1/completions", sent: PLAIN, answer: TEXT },
  { model: "lmstudio:m", url: "http://localhost:1234/v1/completions", sent: PLAIN, answer: TEXT },
  {
    model: "ollama:m",
    url: "http://localhost:11434/api/generate",
    sent: { prompt: "A", raw: true, stream: false, options: { num_predict: 9 } },
    answer: GENERATED,
  },
  {
    model: "ollama:m",
    fields: { suffix: "C" },
    url: "http://localhost:11434/api/generate",
    sent: { prompt: "A", suffix: "C", stream: false, options: { num_predict: 9 } },
    answer: GENERATED,
  },
  {
    model: "tgi:m",
    url: "http://localhost:3000/generate",
    sent: { inputs: "A", parameters: { details: true, return_full_text: false, max_new_tokens: 9 } },
    answer: TGI,
  },
];

describe("an endpoint", () => {
  for (const { model, fields = {}, url, sent, answer } of ENDPOINTS)
    test(`[d12.4 d12.10] of ${model} is asked with ${JSON.stringify(fields)} at its own address, and its answer is a text`, async () => {
      const gateway = stubGateway({
        operation: COMPLETIONS,
        upstream: cannedUpstream({ body: JSON.stringify(answer) }),
      });
      const response = await gateway.chat({ model, ...PLAIN, ...fields });
      const told = (await response.json()) as Body;
      expect([gateway.sent[0]?.url, JSON.parse(gateway.sent[0]?.body ?? "{}")]).toEqual([
        url,
        { model: model.slice(model.indexOf(":") + 1), ...sent },
      ]);
      expect(told).toMatchObject({
        object: "text_completion",
        model,
        choices: [{ index: 0, text: "B", logprobs: null, finish_reason: "stop" }],
        usage: TEXT.usage,
      });
      expect(Object.keys(told["choices"][0])).not.toContain("message");
    });
  const AZURE: readonly (readonly [string | undefined, string, string])[] = [
    [undefined, "https://acme.openai.azure.com/openai/v1/completions", "gpt-35-turbo-instruct"],
    [
      "2024-10-21",
      "https://acme.openai.azure.com/openai/deployments/gpt-35-turbo-instruct/completions?api-version=2024-10-21",
      "gpt-35-turbo-instruct",
    ],
  ];
  for (const [version, url, model] of AZURE)
    test(`[d12.10] of Azure is asked at the address of the api_version ${version}, with its own header for keys`, async () => {
      const gateway = stubGateway({
        operation: COMPLETIONS,
        upstream: cannedUpstream({ body: JSON.stringify(TEXT) }),
      });
      const { providers } = gateway.context.snapshot();
      const azure = { ...providers.get("azure")!, baseUrl: "https://acme.openai.azure.com" };
      const { api_version: _version, ...settings } = azure.settings;
      const own = stubGateway({
        operation: COMPLETIONS,
        upstream: cannedUpstream({ body: JSON.stringify(TEXT) }),
        providers: [{ ...azure, settings: version === undefined ? settings : { ...settings, api_version: version } }],
      });
      expect((await own.chat({ model: `azure:${model}`, prompt: "A" })).status).toBe(200);
      const [{ url: address, headers, body }] = own.sent as [(typeof own.sent)[number]];
      expect([address, headers["api-key"], JSON.parse(body)["model"]]).toEqual([url, "stored-key", model]);
    });

  const BASES = [
    ["ollama", "https://ollama.com/api", "https://ollama.com/api/generate", GENERATED],
    ["databricks", "https://adb-1.test", "https://adb-1.test/serving-endpoints/completions", TEXT],
  ] as const;
  for (const [id, baseUrl, url, answer] of BASES)
    test(`[d12.10] of ${id} is asked below the same address as its chat, where the base address is ${baseUrl}`, async () => {
      const upstream = cannedUpstream({ body: JSON.stringify(answer) });
      const provider = stubGateway({ operation: COMPLETIONS, upstream }).context.snapshot().providers.get(id)!;
      const own = stubGateway({
        operation: COMPLETIONS,
        upstream,
        providers: [{ ...provider, baseUrl, native: ["completions"] }],
      });
      expect((await own.chat({ model: `${id}:m`, prompt: "A" })).status).toBe(200);
      expect(own.sent[0]!.url).toBe(url);
    });

  const STREAMS: readonly (readonly [string, string, string])[] = [
    [
      "mistral:codestral-latest",
      "text/event-stream",
      `data: ${JSON.stringify({ choices: [{ index: 0, delta: { content: "B" }, finish_reason: null }] })}\n\ndata: ${JSON.stringify({ choices: [{ index: 0, delta: { content: "" }, finish_reason: "stop" }], usage: TEXT.usage })}\n\ndata: [DONE]\n\n`,
    ],
    [
      "ollama:m",
      "application/x-ndjson",
      `${JSON.stringify({ response: "B", done: false })}\n${JSON.stringify({ ...GENERATED, response: "" })}\n`,
    ],
    [
      "tgi:m",
      "text/event-stream",
      `data: ${JSON.stringify({ token: { text: "B", special: false } })}\n\ndata: ${JSON.stringify({ token: { text: "</s>", special: true }, details: { finish_reason: "eos_token", generated_tokens: 2, input_length: 1 } })}\n\n`,
    ],
  ];
  for (const [model, type, body] of STREAMS)
    test(`[d12.5 d12.10] of ${model} streams a text in the form of the operation`, async () => {
      const gateway = stubGateway({
        operation: COMPLETIONS,
        upstream: cannedUpstream({ headers: { "content-type": type }, body }),
      });
      const response = await gateway.chat({
        model,
        prompt: "A",
        stream: true,
        stream_options: { include_usage: true },
      });
      const events = (await response.text()).split("\n\n").filter((event) => event.startsWith("data: {"));
      const read = events.map((event) => JSON.parse(event.slice("data: ".length)) as Body);
      expect(read.flatMap(({ choices }) => choices.map(({ text }: Body) => text as string)).join("")).toBe("B");
      expect(read.at(-2)!["choices"][0]).toMatchObject({ text: "", finish_reason: "stop" });
      expect(read.at(-1)!["usage"]).toEqual(TEXT.usage);
      expect(JSON.parse(gateway.sent[0]!.body)).not.toHaveProperty(
        model.startsWith("mistral") ? "stream_options" : "messages",
      );
    });
});
