// OpenAI's own client library (openai) asks for responses, in front of a provider of each wire family behind the running gateway. Its stream helper
// joins events itself and throws where one is missing; what it joins is compared with what the terminal event has.
import { beforeAll, describe, expect, test } from "bun:test";
import type OpenAI from "openai";
import { APIError } from "openai/error";
import type {
  FunctionTool,
  Response,
  ResponseInputItem,
  ResponseStreamEvent,
} from "openai/resources/responses/responses";
import { FAMILIES, type Family } from "../e2e/operations/families.ts";
import { openaiClient, standingFamilyGateway } from "../e2e/operations/standing-family-gateway.ts";
import {
  AFTER_TOOLS,
  FORECAST,
  FORECAST_SCHEMA,
  TEXT,
  THOUGHT,
  WEATHER_SCHEMA,
} from "../e2e/operations/scripted-answers.ts";

const stage = standingFamilyGateway();
let client: OpenAI;
beforeAll(() => {
  client = openaiClient(stage);
});

const weather: FunctionTool = { type: "function", name: "weather", parameters: WEATHER_SCHEMA, strict: false };

/** Streams a response, and returns it as the library has joined it, with its events. */
async function streamed(
  body: object,
): Promise<{ readonly response: Response; readonly events: readonly ResponseStreamEvent[] }> {
  const events: ResponseStreamEvent[] = [];
  const stream = client.responses.stream(body);
  for await (const event of stream) events.push(event);
  return { response: await stream.finalResponse(), events };
}
const both = async (body: object): Promise<readonly Response[]> => [
  await client.responses.create({ ...body, stream: false } as never),
  (await streamed(body)).response,
];
const callsOf = ({ output }: Response) =>
  output.flatMap((item) =>
    item.type === "function_call" ? [[item.call_id, item.name, JSON.parse(item.arguments)]] : [],
  );

/** Providers that are asked in another form; Ollama speaks this one. */
const TRANSLATED = FAMILIES.filter(({ wire }) => wire !== "ollama");

describe.each(TRANSLATED)("a provider that speaks the form of $wire", ({ model, wire }: Family) => {
  test("[d12.4, d12.7] text and usage are the same plain and streamed", async () => {
    for (const response of await both({ model, input: "#text" })) {
      expect([response.status, response.model, response.output_text]).toEqual(["completed", model, TEXT]);
      expect(response.usage).toMatchObject({ input_tokens: 11, output_tokens: 4, total_tokens: 15 });
    }
  });

  test("[d12.5] an answer that was cut is incomplete", async () => {
    for (const response of await both({ model, input: "#length" }))
      expect(response).toMatchObject({ status: "incomplete", incomplete_details: { reason: "max_output_tokens" } });
  });

  test("[d12.4, d12.8] calls of tools, and their results, by items and by the earlier response", async () => {
    for (const response of await both({ model, input: "#tools", tools: [weather] })) {
      const calls = callsOf(response);
      expect(calls.map(([, name, input]) => [name, input])).toEqual([
        ["weather", { city: "Paris" }],
        ["weather", { city: "Oslo" }],
      ]);
      const outputs = calls.map(([id]): ResponseInputItem => ({
        type: "function_call_output",
        call_id: id as string,
        output: "warm",
      }));
      const items = [{ role: "user", content: "#tools" }, ...response.output, ...outputs] as ResponseInputItem[];
      const next = await client.responses.create({ model, input: items, tools: [weather], store: false });
      expect(next.output_text).toBe(AFTER_TOOLS);
      const referring = { model, input: outputs, tools: [weather], previous_response_id: response.id };
      expect((await client.responses.create(referring)).output_text).toBe(AFTER_TOOLS);
    }
  });

  test("[d12.6] failures have the status and the code of chat completions, before and within a stream", async () => {
    for (const [word, status, code] of [
      ["#fail-rate-limit", 429, "rate_limit_exceeded"],
      ["#fail-context", 400, "context_length_exceeded"],
      ["#fail-server", 502, "upstream_error"],
    ] as const)
      for (const stream of [false, true]) {
        const failed = await client.responses.create({ model, input: word, stream }).catch((error: unknown) => error);
        expect(failed).toBeInstanceOf(APIError);
        expect([wire, word, (failed as APIError).status, (failed as APIError).code]).toEqual([
          wire,
          word,
          status,
          code,
        ]);
      }
    const stream = client.responses.stream({ model, input: "#broken" });
    const reading = (async () => {
      for await (const event of stream) if (event.type === "response.output_text.delta") stage.goOn();
    })();
    expect(await reading.catch((error: unknown) => error)).toBeInstanceOf(APIError);
  });
});

test("[d12.5] reasoning is an item with a summary before the text", async () => {
  const { model } = FAMILIES.find(({ wire }) => wire === "anthropic")!;
  for (const { output } of await both({ model, input: "#reason" }))
    expect(output).toMatchObject([
      { type: "reasoning", summary: [{ text: THOUGHT }] },
      { type: "message", content: [{ text: "42" }] },
    ]);
});

test("[d12.4] structured output is parsed by the library", async () => {
  const { model } = FAMILIES.find(({ wire }) => wire === "gemini")!;
  const format = { type: "json_schema", name: "forecast", strict: true, schema: FORECAST_SCHEMA } as const;
  const parsed = await client.responses.parse({ model, input: "#json", text: { format } });
  expect(parsed.output_parsed).toEqual(FORECAST);
});

test("[d12.8] the library retrieves, lists and deletes what is kept", async () => {
  const { id, output } = await client.responses.create({ model: "sandbox:echo", input: "Hello" });
  expect((await client.responses.retrieve(id)).output).toEqual(output);
  const items = [];
  for await (const item of client.responses.inputItems.list(id)) items.push(item);
  expect(items).toMatchObject([{ type: "message", content: [{ text: "Hello" }] }]);
  await client.responses.delete(id);
  const gone = await client.responses.retrieve(id).catch((error: unknown) => error);
  expect((gone as APIError).status).toBe(404);
});
