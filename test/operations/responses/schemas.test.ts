// Every answer and every event of responses against schemas of the API, over generated answers of providers; and the
// cases of the compliance suite of Open Responses (https://www.openresponses.org/compliance).
import { describe, expect, test } from "bun:test";
import fc from "fast-check";
import OpenAI from "openai";
import type { JsonObject } from "../../../src/core/json.ts";
import { drawCount } from "../../harness/time/long-run.ts";
import { eventStream } from "../../harness/servers/upstream.ts";
import { eventFaults, responseFaults } from "./response-schemas.ts";
import { answering, eventsOf, type SentEvent } from "./responses-calls.ts";

const MODEL = "openai:gpt-4o-mini";

const words = fc.string({ minLength: 1, maxLength: 12, unit: "grapheme" });
const logprob = fc.record({ token: words, logprob: fc.double({ min: -9, max: 0, noNaN: true }) });
const answers = fc.record(
  {
    content: words,
    refusal: words,
    reasoning_content: words,
    calls: fc.array(
      fc.record({ name: fc.constantFrom("look_up", "patch", "mail__send", "else"), args: fc.dictionary(words, words) }),
      { minLength: 1, maxLength: 3 },
    ),
    citations: fc.array(fc.webUrl(), { minLength: 1, maxLength: 2 }),
    logprobs: fc.array(logprob, { minLength: 1, maxLength: 3 }),
    finish: fc.constantFrom("stop", "length", "content_filter", "tool_calls"),
    usage: fc.record({
      prompt_tokens: fc.nat(99),
      completion_tokens: fc.nat(99),
      total_tokens: fc.nat(199),
      prompt_tokens_details: fc.record({ cached_tokens: fc.nat(9) }),
    }),
    service_tier: fc.constantFrom("default", "flex", "turbo"),
  },
  { requiredKeys: ["finish"] },
);
type Answer = typeof answers extends fc.Arbitrary<infer One> ? One : never;

function messageOf({ content, refusal, reasoning_content: reasoning, calls, citations = [] }: Answer) {
  return {
    role: "assistant",
    content: content ?? null,
    ...(refusal !== undefined && { refusal }),
    ...(reasoning !== undefined && { reasoning_content: reasoning }),
    ...(content !== undefined && {
      annotations: citations.map((url) => ({
        type: "url_citation",
        url_citation: { url, title: "A page", start_index: 0, end_index: 1 },
      })),
    }),
    ...(calls !== undefined && {
      tool_calls: calls.map(({ name, args }, index) => ({
        id: `call_${index}`,
        type: "function",
        function: { name, arguments: JSON.stringify(args) },
      })),
    }),
  };
}

const logprobsOf = ({ logprobs }: Answer) =>
  logprobs === undefined
    ? null
    : { content: logprobs.map((one) => ({ ...one, bytes: null, top_logprobs: [one] })), refusal: null };

const FRAME = { id: "chatcmpl-1", created: 1_767_000_000, model: "gpt-4o-mini" };

function plainAnswer(answer: Answer): string {
  const { finish, usage, service_tier } = answer;
  const choice = { index: 0, message: messageOf(answer), logprobs: logprobsOf(answer), finish_reason: finish };
  return JSON.stringify({
    ...FRAME,
    object: "chat.completion",
    choices: [choice],
    ...(usage !== undefined && { usage }),
    ...(service_tier !== undefined && { service_tier }),
  });
}

function streamedAnswer(answer: Answer): string {
  const { finish, usage } = answer;
  const { content, refusal, reasoning_content: reasoning, annotations, tool_calls: calls = [] } = messageOf(answer);
  const chunk = (delta: object, rest: object = {}) => ({
    ...FRAME,
    object: "chat.completion.chunk",
    choices: [{ index: 0, delta, finish_reason: null, ...rest }],
  });
  return eventStream(
    chunk({ role: "assistant", content: "" }),
    ...(reasoning === undefined ? [] : [chunk({ reasoning_content: reasoning })]),
    ...(content === null ? [] : [chunk({ content }, { logprobs: logprobsOf(answer) })]),
    ...(annotations === undefined ? [] : [chunk({ annotations })]),
    ...(refusal === undefined ? [] : [chunk({ refusal })]),
    ...calls.map((call, index) => chunk({ tool_calls: [{ index, ...call }] })),
    chunk({}, { finish_reason: finish }),
    ...(usage === undefined ? [] : [{ ...FRAME, object: "chat.completion.chunk", choices: [], usage }]),
    "[DONE]",
  );
}

const FUNCTION = { type: "object", properties: {} };
const requests = fc.record(
  {
    instructions: words,
    temperature: fc.constantFrom(0, 0.5),
    max_output_tokens: fc.integer({ min: 16, max: 999 }),
    metadata: fc.constant({ a: "b" }),
    include: fc.subarray(["message.output_text.logprobs", "reasoning.encrypted_content"]),
    text: fc.constantFrom<JsonObject>({ format: { type: "text" } }, { format: { type: "json_object" } }),
    reasoning: fc.constant({ summary: "auto" }),
    tools: fc.subarray(
      [
        { type: "function", name: "look_up", parameters: FUNCTION },
        { type: "custom", name: "patch" },
        { type: "namespace", name: "mail", description: "Mail.", tools: [{ type: "function", name: "send" }] },
      ],
      { minLength: 1 },
    ),
    tool_choice: fc.constantFrom("auto", "none"),
  },
  { requiredKeys: [] },
);

const STREAM = { "content-type": "text/event-stream" };
const JSON_HEAD = { "content-type": "application/json" };

async function streamedEvents(answer: Answer, body: object, cut = 1): Promise<readonly SentEvent[]> {
  const whole = streamedAnswer(answer);
  const stub = answering({ headers: STREAM, body: whole.slice(0, Math.ceil(whole.length * cut)), chunk: "event" });
  const response = await stub.respond({ model: MODEL, input: "hi", ...body, stream: true });
  const text = await response.text();
  expect([response.status, text.slice(0, 200)]).toEqual([200, text.slice(0, 200)]);
  return eventsOf(text);
}

/** The stream as OpenAI's own library joins it. */
async function joined(events: readonly SentEvent[]): Promise<unknown> {
  const body = events.map((event) => `event: ${event.type}\ndata: ${JSON.stringify(event)}\n\n`).join("");
  const fetched = async () => new Response(body, { headers: STREAM });
  const client = new OpenAI({ apiKey: "key", baseURL: "http://gateway.test/v1", fetch: fetched, maxRetries: 0 });
  return (await client.responses.stream({ model: MODEL, input: "hi" }).finalResponse()).output;
}

describe("[d12.5] schemas of responses", () => {
  test("every plain answer is valid", async () => {
    await fc.assert(
      fc.asyncProperty(answers, requests, async (answer, body) => {
        const stub = answering({ headers: JSON_HEAD, body: plainAnswer(answer) });
        const response = await stub.respond({ model: MODEL, input: "hi", ...body });
        const sent = (await response.json()) as object;
        expect([response.status, responseFaults(sent)]).toEqual([200, []]);
      }),
      { numRuns: drawCount(60, 1_000) },
    );
  });

  test("every event of a stream is valid, and OpenAI's library joins them to what the last one has", async () => {
    await fc.assert(
      fc.asyncProperty(answers, requests, async (answer, body) => {
        const events = await streamedEvents(answer, body);
        expect(events.flatMap(eventFaults)).toEqual([]);
        const { output } = events.at(-1)!["response"];
        expect(await joined(events)).toMatchObject(output as object);
      }),
      { numRuns: drawCount(30, 1_000) },
    );
  }, 60_000);

  test("every event of a stream that breaks off is valid, and the last one says that it has failed", async () => {
    await fc.assert(
      fc.asyncProperty(answers, fc.double({ min: 0.7, max: 0.9, noNaN: true }), async (answer, cut) => {
        const events = await streamedEvents({ content: "Hello", ...answer }, {}, cut);
        expect(events.flatMap(eventFaults)).toEqual([]);
        if (events.at(-1)!.type === "response.failed") expect(events.at(-2)!.type).toBe("error");
      }),
      { numRuns: drawCount(30, 500) },
    );
  });

  test("a schema finds a member that is missing, and one that is not of the API", async () => {
    const events = await streamedEvents({ content: "Hello", finish: "stop" }, {});
    for (const event of events)
      for (const name of Object.keys(event)) {
        const { [name]: _left, ...rest } = event;
        if (name !== "type") expect(eventFaults(rest as SentEvent)).not.toEqual([]);
        const more = { ...event, x_other: 1 };
        expect(eventFaults(more)).not.toEqual([]);
      }
  });
});

const WEATHER = {
  type: "function",
  name: "get_weather",
  description: "Get the current weather for a location",
  parameters: {
    type: "object",
    properties: { location: { type: "string", description: "The city and state, such as Boston, MA" } },
    required: ["location"],
  },
};
const user = (content: unknown): JsonObject => ({ type: "message", role: "user", content }) as JsonObject;
const PIXEL =
  "data:image/png;base64,iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mNkYPhfDwAChwGA60e6kgAAAABJRU5ErkJggg==";

/** The requests of the suite, in words of our own, by the names of its cases. */
const CASES: readonly (readonly [name: string, body: JsonObject])[] = [
  ["basic-response", { input: [user("Say hello in three words.")] }],
  ["streaming-response", { input: [user("Count from 1 to 5.")], stream: true }],
  ["system-prompt", { input: [{ type: "message", role: "system", content: "Speak like a sailor." }, user("Hello.")] }],
  ["tool-calling", { input: [user("How is the weather in Boston?")], tools: [WEATHER] }],
  ["tool-calling-streaming", { input: [user("How is the weather in Boston?")], tools: [WEATHER], stream: true }],
  [
    "image-input",
    {
      input: [
        user([
          { type: "input_text", text: "What is in this image?" },
          { type: "input_image", image_url: PIXEL },
        ]),
      ],
    },
  ],
  [
    "multi-turn",
    {
      input: [
        user("My name is Alice."),
        { type: "message", role: "assistant", content: "Hello Alice." },
        user("What is my name?"),
      ],
    },
  ],
];

describe("[d12.5] the cases of the compliance suite of Open Responses", () => {
  for (const [name, body] of CASES)
    test(name, async () => {
      const answer: Answer =
        body["tools"] === undefined
          ? { content: "Hello there, friend.", finish: "stop" }
          : { calls: [{ name: "get_weather" as never, args: { location: "Boston, MA" } }], finish: "tool_calls" };
      const type = body["tools"] === undefined ? "message" : "function_call";
      if (body["stream"] !== true) {
        const response = await answering({ headers: JSON_HEAD, body: plainAnswer(answer) }).respond({
          model: MODEL,
          ...body,
        });
        const sent = (await response.json()) as Record<string, any>;
        expect(responseFaults(sent)).toEqual([]);
        expect([sent["status"], sent["output"].map((item: JsonObject) => item["type"])]).toEqual(["completed", [type]]);
        return;
      }
      const events = await streamedEvents(answer, body);
      expect(events.flatMap(eventFaults)).toEqual([]);
      expect(events.at(-1)).toMatchObject({ type: "response.completed", response: { status: "completed" } });
      if (type === "function_call")
        expect(events.map((event) => event.type)).toEqual(
          expect.arrayContaining([
            "response.output_item.added",
            "response.function_call_arguments.delta",
            "response.function_call_arguments.done",
            "response.output_item.done",
          ]),
        );
    });
});
