// The operation embeddings: what it refuses, what it makes of a provider's vectors, and what holds for it as for any call.
import { describe, expect, test } from "bun:test";
import { embeddingsOf } from "../../../src/providers/sandbox/embeddings.ts";
import { EMBEDDINGS } from "../../../src/operations/embeddings/embeddings.ts";
import { type CannedAnswer, type StubOptions, type Stub, stubGateway } from "../../harness/in-process.ts";
import { answerOf, base64For, type Body, bodyOf, vectorFor, vendors } from "./vendors.ts";

const MODEL = "openai:text-embedding-3-small";
const gatewayOf = (answer = answerOf, options: StubOptions = {}): Stub =>
  stubGateway({ operation: EMBEDDINGS, upstream: vendors(answer), ...options });

async function refusal(body: Body, gateway = gatewayOf()): Promise<readonly unknown[]> {
  const answer = await gateway.chat({ model: MODEL, ...body });
  const { error } = (await answer.json()) as Body;
  return [answer.status, error["code"], error["param"], gateway.sent.length];
}

describe("bad input", () => {
  const REFUSED: readonly (readonly [string, Body, string])[] = [
    ["no input", {}, "input"],
    ["an object", { input: { text: "a" } }, "input"],
    ["an empty text", { input: "" }, "input"],
    ["no inputs", { input: [] }, "input"],
    ["an empty text among others", { input: ["a", "", "b"] }, "input[1]"],
    ["2,049 inputs", { input: Array.from({ length: 2049 }, () => "a") }, "input"],
    ["10,000 inputs", { input: Array.from({ length: 10_000 }, () => "a") }, "input"],
    ["a number after a text", { input: ["a", 1] }, "input[1]"],
    ["tokens after a text", { input: ["a", [1]] }, "input[1]"],
    ["a text after tokens", { input: [[1], "a"] }, "input[1]"],
    ["a text within tokens", { input: [1, "a"] }, "input[1]"],
    ["half a token", { input: [[1, 2.5]] }, "input[0][1]"],
    ["a negative token", { input: [-1] }, "input[0]"],
    ["no tokens", { input: [[1], []] }, "input[1]"],
    [
      "too many tokens",
      { input: [Array.from({ length: 200_000 }, () => 1), Array.from({ length: 100_001 }, () => 1)] },
      "input",
    ],
    ["a format that there is not", { input: "a", encoding_format: "int8" }, "encoding_format"],
    ["no dimensions", { input: "a", dimensions: 0 }, "dimensions"],
    ["half a dimension", { input: "a", dimensions: 1.5 }, "dimensions"],
    ["an input type that is no text", { input: "a", input_type: 1 }, "input_type"],
    ["a field of conversations", { input: "a", temperature: 1 }, "temperature"],
    ["messages", { input: "a", messages: [] }, "messages"],
    ["functions", { input: "a", functions: [] }, "functions"],
    ["a field of the gateway beside x_gateway", { input: "a", timeout: 1 }, "timeout"],
    ["an unknown field of the gateway", { input: "a", x_gateway: { input: 1 } }, "x_gateway.input"],
    ["a user that is no text", { input: "a", user: 1 }, "user"],
  ];
  for (const [what, body, param] of REFUSED)
    test(`[d12.10] ${what} is 400 with its path`, async () => {
      expect(await refusal(body)).toEqual([400, "invalid_request", param, 0]);
    });

  test("[d12.6] errors have the envelope of the form, and the gateway's trace id in the head", async () => {
    const gateway = gatewayOf();
    const answer = await gateway.chat({ model: MODEL, input: "" });
    expect(await answer.json()).toEqual({
      error: {
        message: "input must not be an empty string.",
        type: "invalid_request_error",
        param: "input",
        code: "invalid_request",
      },
    });
    expect(answer.headers.get("x-gateway-trace-id")).toBe(gateway.records[0]!.traceId);
    expect(answer.headers.get("x-should-retry")).toBe("false");
  });

  test("[d12.10] dimensions that the sandbox cannot give are refused and not clamped, and those that it can are given", () => {
    const asked = (body: object) => embeddingsOf(JSON.stringify({ input: "a", ...body }));
    const { body } = asked({ model: "embed-8", dimensions: 4096 });
    expect(
      (body as { readonly data: readonly { readonly embedding: readonly number[] }[] }).data[0]!.embedding,
    ).toHaveLength(4096);
    expect(asked({ model: "embed-8", dimensions: 4097 })).toMatchObject({
      status: 400,
      body: { error: { param: "dimensions" } },
    });
    for (const model of ["embed-0", "embed-4097"])
      expect(asked({ model })).toMatchObject({ status: 404, body: { error: { param: "model" } } });
  });

  test("[d12.7] the vendor's own members of usage reach the client, summed over the upstream requests", async () => {
    const gateway = gatewayOf((request) => {
      const { input } = bodyOf(request);
      const data = input.map((text: string, index: number) => ({ index, embedding: vectorFor(text) }));
      const usage = { prompt_tokens: 3, total_tokens: 4, cost: 0.25, prompt_tokens_details: { text_tokens: 3 } };
      return { headers: { "content-type": "application/json" }, body: JSON.stringify({ data, usage }) };
    });
    const input = Array.from({ length: 30 }, (_, index) => `text ${index}`);
    const asked = await gateway.chat({ model: "dashscope:text-embedding-v1", input });
    expect([gateway.sent.length, ((await asked.json()) as Body)["usage"]]).toEqual([
      2,
      { prompt_tokens: 6, total_tokens: 6, cost: 0.5, prompt_tokens_details: { text_tokens: 6 } },
    ]);
  });

  test("[d12.10] token ids at a vendor without that vocabulary are 400", async () => {
    for (const model of ["cohere:embed-v4.0", "gemini:gemini-embedding-001", "mistral:mistral-embed", "ollama:nomic"])
      expect(await refusal({ model, input: [[1, 2]] })).toEqual([400, "unsupported_value", "input", 0]);
  });

  test("[d12.10] a model without embeddings is 400, with the model as path", async () => {
    for (const model of [
      "anthropic:claude-sonnet-4-5",
      "bedrock:anthropic.claude-sonnet-4-5",
      "vertex:claude-sonnet-4-5",
    ])
      expect(await refusal({ model, input: "a" })).toEqual([400, "invalid_request", "model", 0]);
  });

  test("[d12.10] more inputs than 256 upstream requests can hold are 400", async () => {
    const input = Array.from({ length: 257 }, () => "a");
    const model = "bedrock:amazon.titan-embed-text-v2:0";
    expect(await refusal({ model, input })).toEqual([400, "invalid_request", "input", 0]);
    const gateway = gatewayOf();
    expect((await gateway.chat({ model, input: input.slice(1) })).status).toBe(200);
    expect(gateway.sent.length).toBe(256);
  });
});

describe("what a client gets", () => {
  const vector = [0.1, -2, 3e-7];
  const answering = (embedding: unknown) => (): CannedAnswer => ({
    body: JSON.stringify({ data: [{ index: 0, embedding }], usage: { prompt_tokens: 3, total_tokens: 3 } }),
  });
  const asked = async (format: object, embedding: unknown): Promise<unknown> =>
    ((await (await gatewayOf(answering(embedding)).chat({ model: MODEL, input: "a", ...format })).json()) as Body)[
      "data"
    ][0].embedding;

  test("[d12.10] is base64 of 32-bit floats where it asks for that, whatever the provider sends", async () => {
    for (const embedding of [vector, base64For(vector)])
      expect(await asked({ encoding_format: "base64" }, embedding)).toBe(base64For(vector));
  });
  test("[d12.10] is numbers where it asks for them or says nothing, whatever the provider sends", async () => {
    for (const format of [{}, { encoding_format: "float" }, { encoding_format: null }]) {
      expect(await asked(format, vector)).toEqual(vector);
      expect(await asked(format, base64For(vector))).toEqual(vector.map(Math.fround));
    }
  });
  test("[d12.2] names the model in the client's own word, and the target in the head", async () => {
    const answer = await gatewayOf().chat({ model: "openai/text-embedding-3-small", input: "a" });
    expect(((await answer.json()) as Body)["model"]).toBe("openai/text-embedding-3-small");
    expect(answer.headers.get("x-gateway-model")).toBe(MODEL);
    expect(answer.headers.get("x-gateway-route")).toBe("direct");
  });
  test("[d12.10] is what the vendor's own client asks for: its format and its other fields go out", async () => {
    const gateway = gatewayOf();
    await gateway.chat({ model: MODEL, input: "a", encoding_format: "base64", user: "u", truncate: "END" });
    expect(bodyOf(gateway.sent[0]!)).toEqual({
      model: "text-embedding-3-small",
      input: "a",
      encoding_format: "base64",
      user: "u",
      truncate: "END",
    });
  });
  test("[d12.10] is of token ids where the vendor has the vocabulary", async () => {
    for (const input of [
      [1, 2, 3],
      [[1, 2], [3]],
    ]) {
      const gateway = gatewayOf();
      expect((await gateway.chat({ model: MODEL, input })).status).toBe(200);
      expect(bodyOf(gateway.sent[0]!)["input"]).toEqual(input);
    }
  });
  test("[d12.10] is of more token ids than a body of a conversation may have values", async () => {
    const input = Array.from({ length: 299 }, () => Array.from({ length: 1000 }, () => 7));
    const gateway = gatewayOf();
    expect((await gateway.chat({ model: MODEL, input })).status).toBe(200);
    expect(bodyOf(gateway.sent[0]!)["input"]).toEqual(input);
  });
});

describe("a provider's answer that is none", () => {
  const odd: readonly (readonly [string, string])[] = [
    ["NaN", '{"data":[{"index":0,"embedding":[NaN]}]}'],
    ["Infinity", '{"data":[{"index":0,"embedding":[1e999]}]}'],
    ["more than a 32-bit float", '{"data":[{"index":0,"embedding":[1e39]}]}'],
    ["null in a vector", '{"data":[{"index":0,"embedding":[null]}]}'],
    ["an empty vector", '{"data":[{"index":0,"embedding":[]}]}'],
    ["NaN in base64", `{"data":[{"index":0,"embedding":"${base64For([Number.NaN])}"}]}`],
    ["base64 of odd length", '{"data":[{"index":0,"embedding":"AACAPwA="}]}'],
    ["base64 cut in the middle", '{"data":[{"index":0,"embedding":"AACAP"}]}'],
    ["a text that is no base64", '{"data":[{"index":0,"embedding":"!!!!"}]}'],
    ["no vector", '{"data":[]}'],
    ["one vector too many", '{"data":[{"index":0,"embedding":[1]},{"index":1,"embedding":[1]}]}'],
    ["two vectors for one input", '{"data":[{"index":0,"embedding":[1]},{"index":0,"embedding":[1]}]}'],
    ["an index beyond the inputs", '{"data":[{"index":7,"embedding":[1]}]}'],
    ["a chat completion", '{"choices":[{"message":{"content":"hi"}}]}'],
    ["a page", "<html>hello</html>"],
    ["nothing", ""],
  ];
  for (const [what, body] of odd)
    test(`[d12.10] ${what} is 502, and no vector`, async () => {
      expect(
        (
          await refusal(
            { input: "a" },
            gatewayOf(() => ({ body })),
          )
        ).slice(0, 2),
      ).toEqual([502, "upstream_invalid_response"]);
    });
  test("[d12.10] a text that is too long for the model is context_length_exceeded", async () => {
    const message = "This model's maximum context length is 8192 tokens, however you requested 9000 tokens";
    const body = JSON.stringify({ error: { message, type: "invalid_request_error", param: null, code: null } });
    expect(
      (
        await refusal(
          { input: "a" },
          gatewayOf(() => ({ status: 400, body })),
        )
      ).slice(0, 2),
    ).toEqual([400, "context_length_exceeded"]);
  });
  test("[d12.10] an error inside a 200 is an error", async () => {
    const body = JSON.stringify({ error: { message: "slow down", code: "rate_limit_exceeded" } });
    expect(
      (
        await refusal(
          { input: "a" },
          gatewayOf(() => ({ body })),
        )
      )[0],
    ).toBe(429);
  });
});

describe("several upstream requests", () => {
  const input = Array.from({ length: 100 }, (_, index) => `text ${index}`);
  const model = "dashscope:text-embedding-v4";

  test("[d12.10] are at most eight at once", async () => {
    const all = vendors();
    const waiting: (() => void)[] = [];
    let left = 10;
    let most = 0;
    const upstream: StubOptions["upstream"] = {
      async send(request, call) {
        await new Promise<void>((resolve) => {
          waiting.push(resolve);
          most = Math.max(most, waiting.length);
          // they are answered when as many wait as can, the last first
          if (waiting.length !== Math.min(8, left)) return;
          left -= waiting.length;
          queueMicrotask(() =>
            waiting
              .splice(0)
              .toReversed()
              .forEach((answer) => answer()),
          );
        });
        return all.send(request, call);
      },
    };
    const gateway = stubGateway({ operation: EMBEDDINGS, upstream });
    const answer = await gateway.chat({ model, input });
    expect([answer.status, most]).toEqual([200, 8]);
  });

  test("[d12.10] one that fails fails the call, and each has its row", async () => {
    const gateway = gatewayOf((request) =>
      bodyOf(request)["input"].includes("text 55") ? { status: 500, body: "{}" } : answerOf(request),
    );
    const answer = await gateway.chat({ model, input });
    expect(answer.status).toBe(502);
    const { attempts, usage } = gateway.records[0]!;
    expect(attempts.length).toBe(gateway.sent.length);
    expect(attempts.filter(({ code }) => code === "upstream_error").length).toBe(1);
    // what reached the provider is paid for, each request for its own inputs: 20 tokens, or an estimate of 10 short texts
    const used = attempts.flatMap((one) => (one.usage === null ? [] : [one.usage.prompt_tokens]));
    expect(usage!.prompt_tokens).toBe(used.reduce((sum, tokens) => sum + tokens, 0));
    expect(used.length).toBeGreaterThan(0);
    for (const tokens of used) expect(tokens).toBeLessThanOrEqual(20);
  });

  test("[d12.10] of which one tells no usage are estimated there, and marked", async () => {
    const gateway = gatewayOf((request) => {
      const answer = answerOf(request);
      const body = JSON.parse(answer.body as string) as Body;
      return { body: JSON.stringify(bodyOf(request)["input"].includes("text 0") ? { ...body, usage: null } : body) };
    });
    const answer = await gateway.chat({ model, input: input.slice(0, 20) });
    expect(answer.headers.get("x-gateway-warnings")).toBe("usage_estimated");
    const { usage, usageSource, attempts } = gateway.records[0]!;
    expect([usageSource, attempts.map((one) => String(one.usageSource)).toSorted()]).toEqual([
      "estimated",
      ["estimated", "provider"],
    ]);
    expect(((await answer.json()) as Body)["usage"]["total_tokens"]).toBe(usage!.total_tokens);
    expect(usage!.completion_tokens).toBe(0);
  });
});

describe("what holds for every call", () => {
  test("[d12.2] fields of the gateway stand in x_gateway, and none of them goes out", async () => {
    const gateway = gatewayOf((request) =>
      request.url.includes("openai") ? { status: 500, body: "{}" } : answerOf(request),
    );
    const answer = await gateway.chat({
      model: MODEL,
      input: "ab",
      dimensions: 256,
      x_gateway: { fallbacks: ["mistral:mistral-embed"], drop_params: true, timeout: 20 },
    });
    expect(((await answer.json()) as Body)["data"][0].embedding).toEqual([...vectorFor("ab")]);
    expect(answer.headers.get("x-gateway-model")).toBe("mistral:mistral-embed");
    expect(answer.headers.get("x-gateway-dropped-params")).toBe("dimensions");
    expect(bodyOf(gateway.sent.at(-1)!)).toEqual({ model: "mistral-embed", input: "ab" });
  });
  test("[d12.2] a fallback may have dimensions of its own", async () => {
    const gateway = gatewayOf((request) =>
      bodyOf(request)["dimensions"] === 8 ? answerOf(request) : { status: 500, body: "{}" },
    );
    const answer = await gateway.chat({
      model: MODEL,
      input: "ab",
      x_gateway: { fallbacks: [{ model: MODEL, dimensions: 8 }] },
    });
    expect(answer.status).toBe(200);
  });
  test("[d3.4 d12.10] a wrong parameter of a fallback is 400 with its path, before anything is sent", async () => {
    for (const own of [{ dimensions: -4 }, { dimensions: "8" }, { input_type: 5 }]) {
      const gateway = gatewayOf();
      const answer = await gateway.chat({
        model: MODEL,
        input: "ab",
        x_gateway: { fallbacks: [{ model: MODEL, ...own }] },
      });
      const { error } = (await answer.json()) as Body;
      const param = `fallbacks[0].${Object.keys(own)[0]}`;
      expect([answer.status, error["param"], gateway.sent.length]).toEqual([400, param, 0]);
    }
  });
  test("[d6.5 d12.10] a member of any name passes", async () => {
    const gateway = gatewayOf();
    await gateway.chat(`{"model":"${MODEL}","input":"ab","__proto__":{"a":1},"constructor":2}`);
    expect(gateway.sent[0]!.body).toEndWith(',"__proto__":{"a":1},"constructor":2}');
  });
  test("[d4.2 d12.7] an estimate counts what passes through, and not the parameters of the form", async () => {
    const used = async (fields: object): Promise<unknown> => {
      const gateway = gatewayOf((request) => {
        const { usage: _usage, ...answer } = JSON.parse(answerOf(request).body as string) as Body;
        return { body: JSON.stringify(answer) };
      });
      expect((await gateway.chat({ model: MODEL, input: "ab", ...fields })).status).toBe(200);
      return gateway.records[0]!.usage?.total_tokens;
    };
    expect(await used({ dimensions: 8 })).toBe(1);
    expect(await used({ odd: "x".repeat(4000) })).toBeGreaterThan(1000);
  });
  test("[d12.2] the record says the operation, and counts the inputs", async () => {
    const gateway = gatewayOf();
    await gateway.chat({ model: MODEL, input: ["a", "b"], dimensions: 3, metadata: { job: "7" } });
    expect(gateway.records[0]).toMatchObject({
      operation: "embeddings",
      modelAsked: MODEL,
      model: "text-embedding-3-small",
      dispositions: { dimensions: "native" },
      metadata: { job: "7" },
      usage: { prompt_tokens: 4, completion_tokens: 0, total_tokens: 4 },
      usageSource: "provider",
      finishReasons: [],
    });
  });
  test("[d12.2] an explanation shows what would be sent, and sends nothing", async () => {
    const gateway = gatewayOf(answerOf, { permissions: ["debug"] });
    const answer = await gateway.chat(
      { model: "cohere:embed-v4.0", input: ["a", "b"], dimensions: 256 },
      { headers: { "x-gateway-explain": "true" } },
    );
    const { targets } = (await answer.json()) as Body;
    expect(targets[0].request).toMatchObject({
      url: "https://api.cohere.com/v2/embed",
      body: { texts: ["a", "b"], output_dimension: 256 },
    });
    expect(targets[0].estimate.completion_tokens_bound).toBe(0);
    expect(targets[0]).not.toHaveProperty("further_requests");
    expect(gateway.sent).toEqual([]);
  });
  test("[d9.4 d12.10] an explanation shows each of the requests that the inputs need", async () => {
    const gateway = gatewayOf(answerOf, { permissions: ["debug"] });
    const asking = async (input: readonly string[], more = {}): Promise<any> => {
      const answer = await gateway.chat(
        { model: "cohere:embed-v4.0", input, ...more },
        { headers: { "x-gateway-explain": "true" } },
      );
      return ((await answer.json()) as Body).targets[0];
    };
    const input = Array.from({ length: 200 }, (_, index) => `text ${index}`);
    const { request, further_requests: further, ...rest } = await asking(input);
    const texts = [request, ...further].map(({ body }) => body.texts);
    expect(texts.map(({ length }: readonly string[]) => length)).toEqual([96, 96, 8]);
    expect(texts.flat()).toEqual(input);
    expect(rest).not.toHaveProperty("further_requests_left_out");
    // what each of them repeats is not repeated without a bound
    const long = await asking(
      Array.from({ length: 2000 }, () => "a"),
      { passed: "x".repeat(100_000) },
    );
    expect(long.further_requests.length + long.further_requests_left_out).toBe(20);
    expect(long.further_requests.length).toBeLessThan(5);
    expect(gateway.sent).toEqual([]);
  });
});
