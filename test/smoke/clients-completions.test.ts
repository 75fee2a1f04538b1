// The library openai asks the running gateway for legacy completions, with the sandbox and with a provider that stalls in
// the middle of a stream.
import { afterAll, beforeAll, expect, test } from "bun:test";
import OpenAI from "openai";
import { type GatewayProcess, startGateway } from "../harness/processes/gateway-process.ts";

let gateway: GatewayProcess;
let client: OpenAI;
beforeAll(async () => {
  gateway = await startGateway({ config: "" });
  client = new OpenAI({ baseURL: `${gateway.url}/api/v1`, apiKey: gateway.firstToken!, maxRetries: 0 });
});
afterAll(() => gateway.stop());

test("[d12.1 d12.10] openai gets the choices of several prompts, with log probabilities", async () => {
  const answer = await client.completions.create({
    model: "sandbox:echo",
    prompt: ["one two", "three"],
    n: 2,
    echo: true,
    logprobs: 1,
  });
  expect(answer.choices.map(({ index, text }) => [index, text])).toEqual([
    [0, "one twoone two"],
    [1, "one twoone two"],
    [2, "threethree"],
    [3, "threethree"],
  ]);
  // the types of the library do not say that the first token of a prompt has none
  expect(answer.choices[2]!.logprobs as unknown).toEqual({
    tokens: ["three", "three"],
    token_logprobs: [null, -0.5],
    top_logprobs: [null, { three: -0.5 }],
    text_offset: [0, 5],
  });
  expect([answer.object, answer.model, answer.usage?.total_tokens]).toEqual(["text_completion", "sandbox:echo", 9]);
});
test("[d12.1 d12.5] openai reads a stream with its usage", async () => {
  const stream = await client.completions.create({
    model: "sandbox:words-40",
    prompt: "go on",
    stream: true,
    stream_options: { include_usage: true },
  });
  let text = "";
  let tokens = 0;
  for await (const { choices, usage } of stream) {
    for (const choice of choices) text += choice.text;
    tokens = usage?.total_tokens ?? tokens;
  }
  expect([text.split(" ").length, tokens]).toEqual([40, 42]);
});
test("[d12.5] openai reports a stream that breaks off", async () => {
  const stream = await client.completions.create({ model: "sandbox:cut", prompt: "go on", stream: true });
  const read = async (): Promise<void> => {
    for await (const _event of stream);
  };
  expect(await read().catch((error: unknown) => error)).toBeInstanceOf(OpenAI.APIError);
});
test("[d12.6 d12.10] openai reports a model that takes only conversations, with the path", async () => {
  const failed = await client.completions
    .create({ model: "sandbox:tools", prompt: "a" })
    .catch((error: unknown) => error);
  expect(failed).toBeInstanceOf(OpenAI.BadRequestError);
  expect(failed).toMatchObject({ param: "model", code: "invalid_request" });
});
test("[d5.8 d12.10] a prompt of more than 512 KiB is read and sent by the other thread", async () => {
  const prompt = "word ".repeat(200_000);
  const { choices, usage } = await client.completions.create({ model: "sandbox:words-3", prompt: ["a b", prompt] });
  expect([choices.map(({ text }) => text), usage?.prompt_tokens]).toEqual([
    ["the quick brown", "the quick brown"],
    200_002,
  ]);
});
test("[d5.8 d12.10] an answer of more than 512 KiB is read by the other thread", async () => {
  const { choices } = await client.completions.create({
    model: "sandbox:words-100000",
    prompt: ["a", "b"],
    echo: true,
  });
  expect(choices.map(({ index, text }) => [index, text.length > 400_000])).toEqual([
    [0, true],
    [1, true],
  ]);
});
