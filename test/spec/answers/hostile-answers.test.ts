// Hostile providers: what they send must not reach the log unescaped, fill memory, block the serving thread, or keep a
// call in flight for ever.
import { describe, expect, test } from "bun:test";
import { MESSAGES } from "../../../src/operations/messages/messages.ts";
import { RESPONSES } from "../../../src/operations/responses/responses.ts";
import { type CannedAnswer, cannedUpstream, type Stub, stubGateway } from "../../harness/in-process.ts";
import { readStream } from "../../harness/sse.ts";
import { eventStream, openaiAnswer, openaiChunk } from "../../harness/servers/upstream.ts";
import { providerSettings, storedKey } from "../../harness/targets.ts";
import { growth, MOST_GROWTH } from "../../harness/time/cpu-time.ts";

const KEY = "sk-stored/SECRET+0123456789=abcdef";
const hello = [{ role: "user", content: "Hello" }];
/** Far above what a linear way takes, far below what a square one does. */

function answering(answer: CannedAnswer, family = "openai"): Stub {
  return stubGateway({
    upstream: cannedUpstream(answer),
    providers: [providerSettings({ id: family, baseUrl: "https://provider.test/v1", credentials: [storedKey(KEY)] })],
  });
}

function streaming(events: readonly (object | string)[], family = "openai"): Stub {
  return answering(
    { headers: { "content-type": "text/event-stream" }, body: eventStream(...events), chunk: "whole" },
    family,
  );
}

describe("error names and messages", () => {
  const bodies: Readonly<Record<string, (word: string) => object>> = {
    anthropic: (word) => ({ type: "error", error: { type: word, message: "no" } }),
    gemini: (word) => ({
      error: {
        status: word,
        message: "no",
        details: [{ "@type": "type.googleapis.com/google.rpc.ErrorInfo", reason: word }],
      },
    }),
    openai: (word) => ({ error: { code: word, type: word, message: "no" } }),
  };
  for (const family of Object.keys(bodies))
    for (const word of ["constructor", "toString", "__proto__", "hasOwnProperty"])
      test(`[d7.8] ${family}: an error named ${word} is handled like any other, and its call ends`, async () => {
        const gateway = answering({ status: 400, body: JSON.stringify(bodies[family]!(word)) }, family);
        const answer = await gateway.chat({ model: `${family}:m`, messages: hello, max_tokens: 5 });
        expect(answer.status).toBe(400);
        expect(await answer.json()).toMatchObject({ error: { code: "upstream_invalid_request" } });
        expect(gateway.records).toHaveLength(1);
      });

  const spellings: Readonly<Record<string, object | string>> = {
    "in its message": { error: { message: `the key ${KEY} is odd` } },
    "as the field": {
      error: {
        message: "odd",
        param: KEY,
        details: [{ "@type": "type.googleapis.com/google.rpc.BadRequest", fieldViolations: [{ field: KEY }] }],
      },
    },
    "in an address": { error: { message: `GET https://provider.test/v1?key=${encodeURIComponent(KEY)} failed` } },
    "in JSON in its message": { error: { message: `upstream said {"key":"${KEY.replaceAll("/", "\\/")}"}` } },
    "cut off where we stop reading": { error: { message: `${"x".repeat(1975)}${KEY} and more` } },
    "cut off in a text that is not JSON": `odd ${"x".repeat(300 - 24)}${KEY}`,
  };
  for (const family of Object.keys(bodies))
    for (const [where, body] of Object.entries(spellings))
      test(`[d7.8] ${family}: a provider that repeats the operator's key ${where} does not reveal it to the caller`, async () => {
        const gateway = answering(
          { status: 400, body: typeof body === "string" ? body : JSON.stringify(body) },
          family,
        );
        const said = await (await gateway.chat({ model: `${family}:m`, messages: hello, max_tokens: 5 })).text();
        expect(said).not.toContain(KEY.slice(0, 9));
        expect(said).not.toContain(encodeURIComponent(KEY).slice(0, 12));
      });
});

describe("an object where a text or a number is expected, with members that no object of the runtime has", () => {
  const ODD = { toString: null, valueOf: null };
  const MESSAGE = { id: "m", type: "message", role: "assistant", model: "c", stop_reason: "end_turn" };
  const USAGE = { input_tokens: 5, output_tokens: 2 };
  const TEXT = { type: "text", text: "Hello" };
  const asked = (gateway: Stub, family: string) =>
    gateway.chat({ model: `${family}:m`, messages: hello, max_tokens: 5 });

  test("[d8.7] as the type of a block of Claude's", async () => {
    const answer = { ...MESSAGE, content: [{ type: ODD, text: "?" }, TEXT], usage: USAGE };
    const plain = answering({ body: JSON.stringify(answer) }, "anthropic");
    const response = await asked(plain, "anthropic");
    expect(response.status).toBe(200);
    expect(((await response.json()) as any).choices[0].message.content).toBe("Hello");
  });

  const delta = (index: number, of: object): object => ({ type: "content_block_delta", index, delta: of });
  const start = (index: number, block: object): object => ({
    type: "content_block_start",
    index,
    content_block: block,
  });
  test("[d8.7] as the type of a block and of a delta of Claude's streams", async () => {
    const gateway = streaming(
      [
        { type: "message_start", message: { ...MESSAGE, content: [], stop_reason: null, usage: USAGE } },
        start(0, { type: ODD }),
        delta(0, { type: ODD, text: "?" }),
        start(1, { type: "text", text: "" }),
        delta(1, { type: "text_delta", text: "Hello" }),
        { type: "message_delta", delta: { stop_reason: "end_turn", stop_sequence: null }, usage: USAGE },
        { type: "message_stop" },
      ],
      "anthropic",
    );
    const response = await gateway.chat({ model: "anthropic:m", messages: hello, max_tokens: 5, stream: true });
    expect(readStream(await response.text())).toMatchObject({ error: null, done: true, content: "Hello" });
  });

  test("[d8.7] as the index of a choice", async () => {
    const [first] = (openaiChunk({ content: "Hello" }) as any).choices;
    const gateway = streaming([
      { ...openaiChunk({ content: "Hello" }), choices: [{ ...first, index: ODD }] },
      openaiChunk({}, "stop"),
      "[DONE]",
    ]);
    const response = await gateway.chat({ model: "openai:m", messages: hello, stream: true });
    expect(readStream(await response.text())).toMatchObject({ error: null, done: true, content: "Hello" });
  });

  test.each([
    ["an object", ODD],
    ["a text", "3"],
    ["a number below 0", -3],
  ])("[d12.7] as a detail of usage, which is left out in the forms that calculate with it: %s", async (_, odd) => {
    const usage = {
      prompt_tokens: 5,
      completion_tokens: 2,
      total_tokens: 7,
      prompt_tokens_details: { cached_tokens: odd, cache_write_tokens: odd },
      completion_tokens_details: { reasoning_tokens: odd },
    };
    const gateway = answering({ body: JSON.stringify({ ...openaiAnswer("Hello"), usage }) }, "custom");
    const message = await gateway.call(MESSAGES, { model: "custom:m", max_tokens: 5, messages: hello });
    expect(message.status).toBe(200);
    expect(((await message.json()) as any).usage).toEqual({ input_tokens: 5, output_tokens: 2 });
    const response = await gateway.call(RESPONSES, { model: "custom:m", input: "Hello" });
    expect(((await response.json()) as any).usage).toEqual({
      input_tokens: 5,
      input_tokens_details: { cached_tokens: 0, cache_write_tokens: 0 },
      output_tokens: 2,
      output_tokens_details: { reasoning_tokens: 0 },
      total_tokens: 7,
    });
  });
});

describe("usage figures", () => {
  test("[d8.9] token counts beyond safe integers are discarded: an estimate takes their place", async () => {
    const gateway = answering({
      body: JSON.stringify({
        ...openaiAnswer("Hello"),
        usage: { prompt_tokens: 1e308, completion_tokens: 1e308, total_tokens: 1e308 },
      }),
    });
    expect((await gateway.chat({ model: "openai:m", messages: hello })).headers.get("x-gateway-warnings")).toBe(
      "usage_estimated",
    );
    expect(gateway.records[0]!.usage!.total_tokens).toBeLessThan(1000);
  });
});

describe("an answer beyond a bound", () => {
  const excess = Object.fromEntries(Array.from({ length: 10_001 }, (_, index) => [`m${index}`, 1]));
  for (const family of ["openai", "anthropic", "gemini", "bedrock", "cohere", "ollama"])
    test(`[d5.8] ${family}: its error names the bound, and does not claim that the answer is not JSON`, async () => {
      const gateway = answering({ body: JSON.stringify({ ...openaiAnswer("Hello"), extra: excess }) }, family);
      const answer = await gateway.chat({ model: `${family}:m`, messages: hello, max_tokens: 5, num_retries: 0 });
      expect(await answer.json()).toMatchObject({
        error: {
          code: "upstream_invalid_response",
          message: "The provider's answer exceeds a limit of the gateway: extra may have at most 10000 members.",
        },
      });
    });
  test("[d5.8] an event of a stream beyond a bound is reported likewise", async () => {
    const gateway = streaming([openaiChunk({ content: "Hello" }), { ...openaiChunk({ content: "!" }), extra: excess }]);
    const answer = await gateway.chat({ model: "openai:m", messages: hello, stream: true });
    expect(await answer.text()).toContain(
      "The provider's answer exceeds a limit of the gateway: extra may have at most 10000 members.",
    );
  });
});

describe("memory and time", () => {
  test("[d1.5] [d8.5] an id of unlimited length is replaced, and not repeated in every event", async () => {
    const gateway = streaming([
      openaiChunk({ content: "a" }, null, { id: "i".repeat(4_000_000) }),
      ...Array.from({ length: 600 }, () => openaiChunk({ content: "b" })),
      openaiChunk({}, "stop"),
    ]);
    const stream = readStream(await (await gateway.chat({ model: "openai:m", messages: hello, stream: true })).text());
    expect(stream.done).toBe(true);
    expect(stream.events[0]!["id"]).toMatch(/^chatcmpl-[0-9a-f]{32}$/);
  });

  test("[d8.5] tool calls by the ten thousand end the answer quickly", async () => {
    const calling = (size: number): Stub => {
      const calls = Array.from({ length: size }, (_, index) => ({
        index,
        id: `call_${index}`,
        function: { name: "f" },
      }));
      return streaming([openaiChunk({ tool_calls: calls }), openaiChunk({}, "tool_calls")]);
    };
    const asked = async (gateway: Stub): Promise<void> =>
      expect(await (await gateway.chat({ model: "openai:m", messages: hello, stream: true })).json()).toMatchObject({
        error: { code: "upstream_invalid_response" },
      });
    expect(await growth(calling, asked, 10_000)).toBeLessThan(MOST_GROWTH);
  });

  test("[d8.7] what is no call among the calls of a stream is left out", async () => {
    for (const odd of ["x", 7, null, ["x"]]) {
      const begun = openaiChunk({ role: "assistant", content: "Hello" });
      const gateway = streaming([begun, openaiChunk({ tool_calls: [odd] }), openaiChunk({}, "stop")]);
      const answer = await gateway.chat({ model: "openai:m", messages: hello, stream: true });
      const { events, done } = readStream(await answer.text());
      expect([odd, done]).toEqual([odd, true]);
      expect(JSON.stringify(events)).not.toMatch(/tool_calls|"error"/);
      expect(gateway.records.at(-1)).toMatchObject({ status: 200, finishReasons: ["stop"] });
    }
  });

  test("[d8.5] arguments whose call never gets a name are not collected without bound", async () => {
    const piece = openaiChunk({ tool_calls: [{ index: 0, function: { arguments: "a".repeat(1_000_000) } }] });
    const gateway = streaming(Array.from({ length: 6 }, () => piece));
    expect(await (await gateway.chat({ model: "openai:m", messages: hello, stream: true })).json()).toMatchObject({
      error: { code: "upstream_invalid_response" },
    });
  });

  test("[d8.5] vendor fields that no event takes wait in a bounded number and size", async () => {
    const silent = Array.from({ length: 500 }, (_, index) => ({ id: "c", choices: [], [`field_${index}`]: "value" }));
    const gateway = streaming([
      { id: "c", choices: [], large: "v".repeat(300_000) },
      ...silent,
      openaiChunk({ content: "a" }),
      openaiChunk({}, "stop"),
    ]);
    const text = await (await gateway.chat({ model: "openai:m", messages: hello, stream: true })).text();
    const fields = Object.keys(readStream(text).events[0]!).filter((name) => name.startsWith("field_"));
    expect(fields.length).toBeGreaterThan(0);
    expect(fields.length).toBeLessThanOrEqual(32);
    expect(text.length).toBeLessThan(100_000);
  });

  test("[d8.5] anthropic: endless thinking is not kept whole", async () => {
    const piece = {
      type: "content_block_delta",
      index: 0,
      delta: { type: "thinking_delta", thinking: "t".repeat(4_000_000) },
    };
    const gateway = streaming(
      [
        { type: "message_start", message: {} },
        { type: "content_block_start", index: 0, content_block: { type: "thinking", thinking: "" } },
        ...Array.from({ length: 6 }, () => piece),
      ],
      "anthropic",
    );
    const text = await (
      await gateway.chat({ model: "anthropic:m", messages: hello, max_tokens: 5, stream: true })
    ).text();
    expect(text).toContain("upstream_invalid_response");
  });

  const part = (over: object): object => ({ candidates: [{ index: 0, content: { parts: [over] } }] });
  const floods: Readonly<Record<string, (size: number) => readonly object[]>> = {
    "citations in every event of a long text": (size) => [
      part({ text: "ä".repeat(16 * size) }),
      ...Array.from({ length: size / 32 }, () => ({
        candidates: [
          {
            index: 0,
            content: { parts: [{ text: "b" }] },
            groundingMetadata: {
              groundingChunks: [{ web: { uri: "u" } }],
              groundingSupports: [{ segment: { endIndex: 3 }, groundingChunkIndices: [0] }],
            },
          },
        ],
      })),
    ],
    "unknown parts": (size) => [
      {
        candidates: [
          { index: 0, content: { parts: Array.from({ length: size }, (_, index) => ({ unknown: index })) } },
        ],
      },
    ],
    "calls with ids": (size) => [
      {
        candidates: [
          {
            index: 0,
            content: {
              parts: Array.from({ length: size }, (_, index) => ({ functionCall: { name: "f", id: `id_${index}` } })),
            },
          },
        ],
      },
    ],
  };
  for (const [what, eventsOf] of Object.entries(floods))
    test(`[d8.5] gemini: ${what} take time in proportion to their length`, async () => {
      const flooding = (size: number): Stub =>
        streaming([...eventsOf(size), { candidates: [{ index: 0, finishReason: "STOP" }] }], "gemini");
      const asked = async (gateway: Stub): Promise<string> =>
        (await gateway.chat({ model: "gemini:gemini-2.5-flash", messages: hello, stream: true })).text();
      expect(await growth(flooding, asked, 16_000)).toBeLessThan(MOST_GROWTH);
    });
});
