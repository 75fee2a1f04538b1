// A provider's answer comes back to it unchanged: its answer -> the message that the client gets -> the same message in
// the client's next request -> the provider's own form again. Reasoning with its signatures, text, calls with their ids
// and arguments, in each wire form.
import { describe, expect, test } from "bun:test";
import fc from "fast-check";
import { cannedUpstream, stubGateway } from "../../harness/in-process.ts";
import { openaiAnswer } from "../../harness/servers/upstream.ts";
import { drawCount } from "../../harness/time/long-run.ts";

const RUNS = drawCount(100, 300);
const words = fc.string({ minLength: 1, maxLength: 30 }).filter((text) => text.trim() !== "");
const signature = fc.base64String({ minLength: 8, maxLength: 40 });
const name = fc.stringMatching(/^[a-zA-Z][a-zA-Z0-9_]{0,20}$/);
/** Numbers that JSON writes as they are, and any text. */
const argumentsObject = fc.dictionary(
  fc.string({ minLength: 1, maxLength: 8 }),
  fc.oneof(fc.string(), fc.integer(), fc.boolean(), fc.constant(null), fc.array(fc.integer(), { maxLength: 3 })),
  { maxKeys: 4, noNullPrototype: true },
);
const calls = fc.uniqueArray(
  fc.record({ id: fc.stringMatching(/^[a-zA-Z0-9_-]{1,30}$/), name, args: argumentsObject }),
  { maxLength: 3, selector: ({ id }) => id },
);

/** Asks twice: the second request brings the first answer back, with a result for each of its calls. Gives the body of the second request. */
async function bringBack(
  model: string,
  answer: object,
  called: readonly { readonly name: string }[],
  effort: string | null = "high",
): Promise<Record<string, any>> {
  const gateway = stubGateway({
    upstream: cannedUpstream({ headers: { "content-type": "application/json" }, body: JSON.stringify(answer) }),
  });
  const tools = [...new Set(called.map((call) => call.name))].map((tool) => ({
    type: "function",
    function: { name: tool, parameters: { type: "object", properties: {} } },
  }));
  const ask = {
    model,
    max_tokens: 30_000,
    reasoning_effort: effort,
    ...(tools.length > 0 && { tools }),
    messages: [{ role: "user", content: "Go on." }],
  };
  const first = await gateway.chat(ask);
  const body = (await first.json()) as { choices: { message: { tool_calls?: { id: string }[] } }[] };
  if (first.status !== 200) throw new Error(JSON.stringify(body));
  const { message } = body.choices[0]!;
  const results = (message.tool_calls ?? []).map(({ id }) => ({ role: "tool", tool_call_id: id, content: "done" }));
  const second = await gateway.chat({
    ...ask,
    messages: [...ask.messages, message, ...(results.length > 0 ? results : [{ role: "user", content: "And then?" }])],
  });
  if (second.status !== 200) throw new Error(await second.text());
  return JSON.parse(gateway.sent[1]!.body) as Record<string, any>;
}

describe("a provider's answer, sent back to it", () => {
  test("[d9.7] R4: to OpenAI's form is the same message", async () => {
    await fc.assert(
      fc.asyncProperty(words, calls, async (text, made) => {
        const tool_calls = made.map(({ id, name: tool, args }) => ({
          id,
          type: "function",
          function: { name: tool, arguments: JSON.stringify(args) },
        }));
        const said = { role: "assistant", content: text, refusal: null, ...(made.length > 0 && { tool_calls }) };
        const { messages } = await bringBack(
          "openai:gpt-5",
          openaiAnswer(text, { message: said, finish_reason: made.length > 0 ? "tool_calls" : "stop" }),
          made,
        );
        expect(messages[1]).toEqual(said);
        expect(messages.slice(2).map((message: any) => message.tool_call_id)).toEqual(
          made.length > 0 ? made.map(({ id }) => id) : [undefined],
        );
      }),
      { numRuns: RUNS },
    );
  });

  test("[d9.7] R4: to Anthropic's Messages has the same blocks, thinking with its signature first", async () => {
    const thinking = fc.oneof(
      fc.record({ type: fc.constant("thinking"), thinking: words, signature }),
      fc.record({ type: fc.constant("redacted_thinking"), data: signature }),
    );
    await fc.assert(
      fc.asyncProperty(fc.array(thinking, { maxLength: 2 }), words, calls, async (thoughts, text, made) => {
        const content = [
          ...thoughts,
          { type: "text", text },
          ...made.map(({ id, name: tool, args }) => ({ type: "tool_use", id, name: tool, input: args })),
        ];
        const answer = {
          id: "msg_1",
          type: "message",
          role: "assistant",
          model: "m",
          content,
          stop_reason: made.length > 0 ? "tool_use" : "end_turn",
          usage: { input_tokens: 1, output_tokens: 1 },
        };
        const { messages } = await bringBack("anthropic:claude-sonnet-4-5", answer, made);
        // text alone is the same as one block of it
        const back =
          typeof messages[1].content === "string" ? [{ type: "text", text: messages[1].content }] : messages[1].content;
        expect([messages[1].role, back]).toEqual(["assistant", content]);
        if (made.length > 0)
          expect(messages[2].content.map((block: any) => block.tool_use_id)).toEqual(made.map(({ id }) => id));
      }),
      { numRuns: RUNS },
    );
  });

  test("[d9.7] R4: to Cohere's chat has the same blocks, calls and citations, or the plan before the calls where the model makes one", async () => {
    await fc.assert(
      fc.asyncProperty(words, words, calls, fc.boolean(), async (thought, text, made, thinks) => {
        const tool_calls = made.map(({ id, name: tool, args }) => ({
          id,
          type: "function",
          function: { name: tool, arguments: JSON.stringify(args) },
        }));
        const citations = [
          { start: 0, end: 1, text: text.slice(0, 1), sources: [{ type: "tool", id: "t:0", tool_output: { a: 1 } }] },
        ];
        const said = thinks
          ? {
              content: [
                { type: "thinking", thinking: thought },
                { type: "text", text },
              ],
              citations,
            }
          : { content: [{ type: "text", text }], ...(made.length > 0 && { tool_plan: thought }) };
        const message = { role: "assistant", ...said, ...(made.length > 0 && { tool_calls }) };
        const answer = {
          id: "c1",
          finish_reason: made.length > 0 ? "TOOL_CALL" : "COMPLETE",
          message,
          usage: { tokens: { input_tokens: 1, output_tokens: 1 } },
        };
        const { messages } = await bringBack(
          thinks ? "cohere:command-a-reasoning-08-2025" : "cohere:command-a-03-2025",
          answer,
          made,
          thinks ? "high" : null,
        );
        const { content } = messages[1];
        // text alone is the same as one block of it
        expect({
          ...messages[1],
          content: typeof content === "string" ? [{ type: "text", text: content }] : content,
        }).toEqual(message);
        if (made.length > 0)
          expect(messages.slice(2).map((result: any) => result.tool_call_id)).toEqual(made.map(({ id }) => id));
      }),
      { numRuns: RUNS },
    );
  });

  test("[d9.7] R4: to Ollama's chat has the same thinking, text and calls, and results that name their function", async () => {
    await fc.assert(
      fc.asyncProperty(words, words, calls, async (thinking, content, made) => {
        const tool_calls = made.map(({ id, name: tool, args }) => ({ id, function: { name: tool, arguments: args } }));
        const message = { role: "assistant", content, thinking, ...(made.length > 0 && { tool_calls }) };
        const { messages } = await bringBack(
          "ollama:qwen3",
          { model: "qwen3", message, done: true, done_reason: "stop", eval_count: 1 },
          made,
        );
        const back = {
          ...messages[1],
          ...(made.length > 0 && {
            tool_calls: messages[1].tool_calls.map(({ id, function: { name: tool, arguments: args } }: any) => ({
              id,
              function: { name: tool, arguments: args },
            })),
          }),
        };
        expect(back).toEqual(message);
        if (made.length > 0)
          expect(messages.slice(2).map((result: any) => [result.tool_call_id, result.tool_name])).toEqual(
            made.map((call) => [call.id, call.name]),
          );
      }),
      { numRuns: RUNS },
    );
  });

  test("[d9.7] R4: to Gemini's generateContent has the same parts, each with its thought signature", async () => {
    const signed = fc.option(signature, { nil: undefined });
    await fc.assert(
      fc.asyncProperty(words, signed, calls, signed, async (text, textSignature, made, callSignature) => {
        // only the first of several calls is signed
        const called = made.map(({ name: tool, args }, index) => ({
          functionCall: { name: tool, args },
          ...(index === 0 && callSignature !== undefined && { thoughtSignature: callSignature }),
        }));
        const parts = [{ text, ...(textSignature !== undefined && { thoughtSignature: textSignature }) }, ...called];
        const { contents } = await bringBack(
          "gemini:gemini-2.5-flash",
          {
            responseId: "r",
            candidates: [{ index: 0, content: { role: "model", parts }, finishReason: "STOP" }],
            usageMetadata: { promptTokenCount: 1, candidatesTokenCount: 1, totalTokenCount: 2 },
          },
          made,
        );
        const back = contents[1].parts.map(({ functionCall, ...part }: any) => ({
          ...part,
          ...(functionCall && { functionCall: { name: functionCall.name, args: functionCall.args } }),
        }));
        expect([contents[1].role, back]).toEqual(["model", parts]);
        if (made.length > 0)
          expect(contents[2].parts.map((part: any) => part.functionResponse.name)).toEqual(
            made.map((call) => call.name),
          );
      }),
      { numRuns: RUNS },
    );
  });

  test("[d9.7] R4: an answer without text comes back as it was", async () => {
    const image = { type: "image_url", image_url: { url: "data:image/png;base64,iVBORw0KGgo=" } };
    for (const [model, more] of [
      ["openai:gpt-4.1", { refusal: "I cannot." }],
      ["openai:gpt-audio", { audio: { id: "audio_1", data: "AAAA", transcript: "Hi", expires_at: 1 } }],
      ["openrouter:a/b", { images: [image] }],
      ["deepseek:deepseek-reasoner", { reasoning_content: "Hm." }],
    ] as const) {
      const said = { role: "assistant", content: null, refusal: null, ...more };
      const { messages } = await bringBack(model, openaiAnswer("", { message: said, finish_reason: "stop" }), [], null);
      expect([model, messages[1]]).toEqual([model, said]);
    }
    const parts = [{ inlineData: { mimeType: "image/png", data: "iVBORw0KGgo=" } }];
    const { contents } = await bringBack(
      "gemini:gemini-2.5-flash-image",
      { responseId: "r", candidates: [{ index: 0, content: { role: "model", parts }, finishReason: "STOP" }] },
      [],
      null,
    );
    expect(contents[1]).toEqual({ role: "model", parts });
  });
});
