// Answers of an independent fake of nine vendors (@copilotkit/aimock) through the running gateway, plain and streamed. It is a smoke test beside the
// recorded traffic: the fake checks no parameters, and its figures of usage are what the fixture says. Where it is not like the vendor, what it really
// sends is what is held here: no responseId of Gemini's; Cohere's reasoning as text in front of the text, and a plan before every streamed call;
// Ollama's reasoning in a field that Ollama does not have, its figures zero, its done_reason always stop.
import { afterAll, beforeAll, describe, expect, test } from "bun:test";
import { readStream } from "../../harness/sse.ts";
import { type AimockGateway, PLAYED, startAimockGateway } from "./aimock-gateway.ts";

const TEXT = "Well met by moonlight, proud Titania — ✓";
/** The figures under the names of each vendor. */
const USAGE = {
  prompt_tokens: 7,
  completion_tokens: 5,
  total_tokens: 12,
  input_tokens: 7,
  output_tokens: 5,
  promptTokenCount: 7,
  candidatesTokenCount: 5,
  totalTokenCount: 12,
};
const COUNTED = { prompt_tokens: 7, completion_tokens: 5, total_tokens: 12 };
const weatherTool = {
  type: "function",
  function: {
    name: "weather",
    parameters: { type: "object", properties: { city: { type: "string" } }, required: ["city"] },
  },
};

let stage: AimockGateway;
beforeAll(async () => {
  stage = await startAimockGateway();
  stage.mock
    .onMessage("greet", { content: TEXT, usage: USAGE }, { chunkSize: 7 })
    .onMessage("ponder", { content: "42", reasoning: "What was the question?", usage: USAGE }, { chunkSize: 5 })
    .on({ userMessage: "weather", hasToolResult: true }, { content: "Warm there, cold here.", usage: USAGE })
    .onMessage(
      "weather",
      {
        toolCalls: [
          { id: "call_a", name: "weather", arguments: '{"city":"Paris"}' },
          { id: "call_b", name: "weather", arguments: '{"city":"Oslo"}' },
        ],
        usage: USAGE,
      },
      { chunkSize: 4 },
    )
    .onMessage("mixed", {
      content: "Let me see.",
      toolCalls: [{ id: "call_c", name: "weather", arguments: '{"city":"Rome"}' }],
      usage: USAGE,
    })
    .onMessage("cut off", { content: "So far and", finishReason: "length", usage: USAGE })
    .onMessage("as json", { content: '{"city":"Paris","degrees":21}', usage: USAGE });
});
afterAll(() => stage.stop());

interface Got {
  readonly content: string | null;
  readonly reasoning: string;
  readonly calls: readonly { readonly id: string; readonly name: string; readonly arguments: string }[];
  readonly finish: string;
  readonly usage: Record<string, number>;
  readonly id: string;
}

async function plain(model: string, content: string, more: object = {}): Promise<Got> {
  const response = await stage.ask(model, content, more);
  expect([response.status, response.headers.get("x-gateway-model")]).toEqual([200, model]);
  const body = (await response.json()) as Record<string, any>;
  expect([body["model"], body["object"], body["choices"].length]).toEqual([model, "chat.completion", 1]);
  const { message, finish_reason: finish } = body["choices"][0];
  return {
    content: message.content,
    reasoning: message.reasoning_content ?? "",
    calls: (message.tool_calls ?? []).map((call: any) => ({ id: call.id, ...call.function })),
    finish,
    usage: body["usage"],
    id: body["id"],
  };
}

async function streamed(model: string, content: string, more: object = {}): Promise<Got> {
  const response = await stage.ask(model, content, { ...more, stream: true, stream_options: { include_usage: true } });
  expect([response.status, response.headers.get("x-gateway-model")]).toEqual([200, model]);
  const { events, done, error, content: text } = readStream(await response.text());
  expect([done, error]).toEqual([true, null]);
  const choices = events.flatMap((event) => event["choices"] as Record<string, any>[]);
  const calls: { id: string; name: string; arguments: string }[] = [];
  for (const part of choices.flatMap((choice) => choice["delta"].tool_calls ?? [])) {
    if (part.id !== undefined) calls.push({ id: part.id, name: part.function.name, arguments: "" });
    calls[part.index]!.arguments += part.function.arguments;
  }
  const finishes = choices.flatMap((choice) => choice["finish_reason"] ?? []);
  expect(finishes.length).toBe(1);
  return {
    content: text === "" ? null : text,
    reasoning: choices.map((choice) => choice["delta"].reasoning_content ?? "").join(""),
    calls,
    finish: finishes[0],
    usage: events.at(-1)!["usage"],
    id: events[0]!["id"],
  };
}

describe.each([...PLAYED])("$played as the fake plays it", ({ model, id, path, reasoning, plan, tells }) => {
  const counted = tells ? COUNTED : { prompt_tokens: 0, completion_tokens: 0, total_tokens: 0 };

  describe.each([
    ["plain", plain],
    ["streamed", streamed],
  ] as const)("%s", (how, ask) => {
    test("[s:response.choices, s:response.usage] text", async () => {
      const got = await ask(model, "greet me");
      expect([got.content, got.finish, got.calls]).toEqual([TEXT, "stop", []]);
      expect(got.usage).toMatchObject(counted);
      expect(got.id).toMatch(id);
    });

    test("reasoning beside the text", async () => {
      const got = await ask(model, "ponder it", { reasoning_effort: "low" });
      const thought = "What was the question?";
      expect([got.content, got.reasoning, got.finish]).toEqual([
        reasoning === "in-text" ? `${thought}42` : "42",
        reasoning === "beside" ? thought : "",
        "stop",
      ]);
    });

    test("[s:message.tool-call-id] two calls, and the turn after their results", async () => {
      const got = await ask(model, "the weather", { tools: [weatherTool] });
      expect([got.content, got.reasoning, got.finish]).toEqual([null, how === "streamed" ? plan : "", "tool_calls"]);
      expect(got.calls.map((call) => [call.name, JSON.parse(call.arguments)])).toEqual([
        ["weather", { city: "Paris" }],
        ["weather", { city: "Oslo" }],
      ]);
      expect(new Set(got.calls.map((call) => call.id)).size).toBe(2);
      const messages = [
        { role: "user", content: "the weather" },
        {
          role: "assistant",
          content: null,
          tool_calls: got.calls.map((call) => ({
            id: call.id,
            type: "function",
            function: { name: call.name, arguments: call.arguments },
          })),
        },
        ...got.calls.map((call) => ({ role: "tool", tool_call_id: call.id, content: "some weather" })),
      ];
      expect((await ask(model, "", { messages, tools: [weatherTool] })).content).toBe("Warm there, cold here.");
    });

    test("text and a call in one answer", async () => {
      const got = await ask(model, "mixed", { tools: [weatherTool] });
      expect([got.content, got.finish, got.calls.map((call) => JSON.parse(call.arguments))]).toEqual([
        "Let me see.",
        "tool_calls",
        [{ city: "Rome" }],
      ]);
    });

    test("an answer that was cut off", async () => {
      const got = await ask(model, "cut off");
      expect([got.content, got.finish]).toEqual(["So far and", tells ? "length" : "stop"]);
    });

    test("an answer in a schema", async () => {
      const schema = {
        type: "object",
        properties: { city: { type: "string" }, degrees: { type: "integer" } },
        required: ["city", "degrees"],
        additionalProperties: false,
      };
      const got = await ask(model, "as json", {
        response_format: { type: "json_schema", json_schema: { name: "forecast", strict: true, schema } },
      });
      expect(JSON.parse(got.content!)).toEqual({ city: "Paris", degrees: 21 });
    });
  });

  test("the fake was asked at the vendor's own path, with the conversation", async () => {
    stage.mock.clearRequests();
    await plain(model, "greet me");
    const request = stage.mock.getLastRequest()!;
    expect(request.path).toBe(path);
    expect(request.body).toMatchObject({ messages: [{ role: "user", content: "greet me" }] });
    expect(stage.mock.getRequests().length).toBe(1);
  });
});
