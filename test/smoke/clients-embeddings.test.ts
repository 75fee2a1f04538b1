// Client libraries that ask for embeddings (openai, the AI SDK, LangChain) against the running gateway, with the sandbox
// and with a provider that sends numbers only. The library openai asks for base64 where its user says nothing, and gives
// an empty vector without an error where it gets numbers.
import { afterAll, beforeAll, describe, expect, test } from "bun:test";
import { createOpenAICompatible } from "@ai-sdk/openai-compatible";
import { OpenAIEmbeddings } from "@langchain/openai";
import { cosineSimilarity, embed, embedMany } from "ai";
import OpenAI from "openai";
import { type GatewayProcess, startGateway } from "../harness/processes/gateway-process.ts";
import { type FakeUpstream, startUpstream } from "../harness/servers/upstream.ts";

let gateway: GatewayProcess;
let upstream: FakeUpstream;
let client: OpenAI;
beforeAll(async () => {
  upstream = startUpstream(({ body }) => {
    const texts = body["texts"] as readonly string[];
    return Response.json({
      embeddings: { float: texts.map((text) => [text.length, 0.5, -1]) },
      meta: { billed_units: { input_tokens: texts.length } },
    });
  });
  gateway = await startGateway({
    config: `providers: {cohere: {base_url: "${upstream.url}", api_key: key}}`,
  });
  client = new OpenAI({ baseURL: `${gateway.url}/api/v1`, apiKey: gateway.firstToken!, maxRetries: 0 });
});
afterAll(async () => {
  await gateway.stop();
  await upstream.stop();
});

const NUMBERS = "cohere:embed-v4.0";
const SANDBOX = "sandbox:embed-64";

describe("openai", () => {
  test("[d12.10] gets vectors by its own default, which is base64, from a provider of numbers", async () => {
    const { data, usage, model } = await client.embeddings.create({ model: NUMBERS, input: ["a", "bcd"] });
    expect(data.map(({ embedding, index }) => [index, embedding])).toEqual([
      [0, [1, 0.5, -1]],
      [1, [3, 0.5, -1]],
    ]);
    expect([usage, model]).toEqual([{ prompt_tokens: 2, total_tokens: 2 }, NUMBERS]);
  });
  test("[d12.10] gets numbers where it asks for them, in order, of more texts than the provider takes at once", async () => {
    const input = Array.from({ length: 500 }, (_, index) => "x".repeat(index + 1));
    const { data } = await client.embeddings.create({ model: NUMBERS, input, encoding_format: "float" });
    expect(data.map(({ embedding }) => embedding[0])).toEqual(input.map(({ length }) => length));
  });
  test("[d12.10] gets as many dimensions as it asks for", async () => {
    const { data } = await client.embeddings.create({ model: SANDBOX, input: "hello", dimensions: 7 });
    expect(data[0]!.embedding.length).toBe(7);
  });
  test("[d12.6] gets errors as its own, with the path", async () => {
    const failed = await client.embeddings
      .create({ model: NUMBERS, input: ["a", ""] })
      .catch((error: unknown) => error);
    expect(failed).toBeInstanceOf(OpenAI.BadRequestError);
    expect(failed).toMatchObject({ param: "input[1]", code: "invalid_request", type: "invalid_request_error" });
  });
});

test("[d12.10] the AI SDK finds the text that is nearest to a question", async () => {
  const provider = createOpenAICompatible({
    name: "dragoman",
    baseURL: `${gateway.url}/v1`,
    apiKey: gateway.firstToken!,
  });
  const model = provider.embeddingModel(SANDBOX);
  const values = ["the cat sits on the mat", "interest rates rise again", "a train to the coast"];
  const { embeddings } = await embedMany({ model, values });
  const { embedding } = await embed({ model, value: "where does the cat sit? on the mat" });
  const near = embeddings.map((one) => cosineSimilarity(one, embedding));
  expect(near.indexOf(Math.max(...near))).toBe(0);
});

test("[d12.10] LangChain embeds documents and questions", async () => {
  const embeddings = new OpenAIEmbeddings({
    model: NUMBERS,
    apiKey: gateway.firstToken!,
    maxRetries: 0,
    configuration: { baseURL: `${gateway.url}/v1` },
  });
  expect(await embeddings.embedDocuments(["ab", "abc"])).toEqual([
    [2, 0.5, -1],
    [3, 0.5, -1],
  ]);
  expect(await embeddings.embedQuery("abcd")).toEqual([4, 0.5, -1]);
});
