// Promise 5.8: a long non-streaming answer is read and written in another thread. The client's answer and the record
// are the same as with one thread.
import { longBodyProgram } from "../../src/operations/long-body-program.ts";
import { afterAll, describe, expect, test } from "bun:test";
import { openLongAnswers } from "../../src/engine/long-bodies/long-answers.ts";
import { LONG_BODY_BYTES, openLongBodyThread } from "../../src/engine/long-bodies/long-body-thread.ts";
import { cannedUpstream, stubGateway, type StubOptions } from "../harness/in-process.ts";
import { compileContentLogs } from "../../src/auth/content-settings.ts";
import { scopeSettings, toScopeSettings } from "../../src/auth/scope-settings.ts";
import { patientGuards } from "../harness/patient-guards.ts";
import { policiesFor } from "../policies/policy-documents.ts";
import { type SeenAnswer, seenAnswer } from "./seen-answer.ts";

const thread = openLongBodyThread(longBodyProgram());
const answers = openLongAnswers(thread);
const guards = patientGuards();
afterAll(async () => {
  await thread.close();
  await guards.close();
});

/** As it stands between the quotes of JSON. */
const LONG = 'Съешь же ещё этих мягких французских булок, \\n \\"и выпей чаю\\" 🍵 \\u00e9\\ud83c\\udf75. '.repeat(
  Math.ceil((1.5 * LONG_BODY_BYTES) / 100),
);
const USAGE = '"usage":{"prompt_tokens":5,"completion_tokens":7,"total_tokens":12}';
const openai = (message: string, more = `,${USAGE}`, finish = "stop"): string =>
  `{"id":"chatcmpl-1","object":"chat.completion","created":1767000000,"model":"m-2026","choices":[{"index":0,"message":${message},"finish_reason":"${finish}"}]${more}}`;
const said = openai(`{"role":"assistant","content":"${LONG}"}`);
const ASK = { model: "openai:m", messages: [{ role: "user", content: "Hello" }] };
const TOOLS = { tools: [{ type: "function", function: { name: "1up", parameters: { type: "object" } } }] };

const seen = (
  ask: object,
  answer: string | Uint8Array,
  there: boolean,
  options: StubOptions = {},
): Promise<SeenAnswer> => seenAnswer(ask, [answer], there ? answers : null, { guards, ...options });

const ANSWERS: Readonly<Record<string, readonly [ask: object, answer: string]>> = {
  "OpenAI's form": [ASK, said],
  "OpenAI's form, with numbers that no double holds, odd members and several choices": [
    { ...ASK, n: 2 },
    openai(
      `{"role":"assistant","content":"${LONG}","odd":[1.10,12345678901234567890,1e400]},"logprobs":{"content":[]},"finish_reason":"length"},{"index":1,"message":{"role":"assistant","content":"x","refusal":null}`,
      `,${USAGE},"seed":12345678901234567890,"__proto__":{"a":1}`,
    ),
  ],
  "an answer without figures": [ASK, openai(`{"role":"assistant","content":"${LONG}"}`, "")],
  "an answer without a finish reason": [ASK, said.replace('"finish_reason":"stop"', '"finish_reason":null')],
  "calls of functions": [
    { ...ASK, tools: [{ type: "function", function: { name: "f" } }] },
    openai(
      `{"role":"assistant","content":null,"tool_calls":[{"type":"function","function":{"name":"f","arguments":${JSON.stringify(`{"a":"${LONG}"}`)}}}]}`,
      `,${USAGE}`,
      "tool_calls",
    ),
  ],
  "the old functions": [
    { ...ASK, functions: [{ name: "f" }] },
    openai(
      `{"role":"assistant","content":"${LONG}","tool_calls":[{"id":"c","type":"function","function":{"name":"f","arguments":"{}"}}]}`,
      `,${USAGE}`,
      "tool_calls",
    ),
  ],
  "an empty answer, with much around it": [
    ASK,
    openai(
      '{"role":"assistant","content":""}',
      `,"usage":{"prompt_tokens":5,"completion_tokens":0,"total_tokens":5},"odd":"${LONG}"`,
    ),
  ],
  Anthropic: [
    { ...ASK, model: "anthropic:claude-sonnet-4-5", max_tokens: 5 },
    `{"id":"m","type":"message","role":"assistant","model":"claude","content":[{"type":"thinking","thinking":"${LONG}","signature":"s"},{"type":"text","text":"${LONG}"}],"stop_reason":"end_turn","usage":{"input_tokens":1,"output_tokens":1}}`,
  ],
  "JSON that a tool emulates": [
    {
      ...ASK,
      model: "anthropic:claude-3-haiku-20240307",
      response_format: { type: "json_schema", json_schema: { name: "j", schema: { type: "object" } } },
    },
    `{"id":"m","type":"message","role":"assistant","model":"claude","content":[{"type":"tool_use","id":"t","name":"j","input":{"a":"${LONG}"}}],"stop_reason":"tool_use","usage":{"input_tokens":1,"output_tokens":1}}`,
  ],
  "Gemini, with a function that had to be renamed": [
    { ...ASK, model: "gemini:gemini-2.5-pro", ...TOOLS },
    `{"candidates":[{"content":{"role":"model","parts":[{"text":"${LONG}"},{"functionCall":{"name":"_1up","args":{"a":1}}}]},"finishReason":"STOP"}],"usageMetadata":{"promptTokenCount":1,"candidatesTokenCount":1,"totalTokenCount":2}}`,
  ],
  Bedrock: [
    { ...ASK, model: "bedrock:anthropic.claude-opus-4-5" },
    `{"output":{"message":{"role":"assistant","content":[{"text":"${LONG}"}]}},"stopReason":"end_turn","usage":{"inputTokens":1,"outputTokens":1,"totalTokens":2}}`,
  ],
  Cohere: [
    { ...ASK, model: "cohere:command-a-03-2025" },
    `{"id":"c","finish_reason":"COMPLETE","message":{"role":"assistant","content":[{"type":"text","text":"${LONG}"}]},"usage":{"tokens":{"input_tokens":1,"output_tokens":1}}}`,
  ],
  Ollama: [
    { ...ASK, model: "ollama:llama3" },
    `{"model":"llama3","created_at":"2026-01-01T00:00:00Z","message":{"role":"assistant","content":"${LONG}"},"done":true,"done_reason":"stop","prompt_eval_count":1,"eval_count":1}`,
  ],
  "an answer that holds the operator's key": [ASK, said.replace("Съешь", "stored-key")],
  "an error in an answer that says success": [
    ASK,
    `{"error":{"message":"Too much. ${LONG}","type":"invalid_request_error","code":"odd"}}`,
  ],
  "an answer without choices": [ASK, `{"id":"x","choices":[],"odd":"${LONG}"}`],
  "invalid JSON": [ASK, `<html>${LONG}`],
  "an answer that is cut inside": [ASK, said.slice(0, -10)],
  "too many values": [ASK, openai('{"role":"assistant","content":"x"}', `,"odd":[${"1,".repeat(1_000_001)}1]`)],
};

const NO_ANSWERS: ReadonlySet<string> = new Set([
  "an error in an answer that says success",
  "an answer without choices",
  "invalid JSON",
  "an answer that is cut inside",
  "too many values",
]);

describe("a long answer", () => {
  for (const [what, [ask, answer]] of Object.entries(ANSWERS))
    test(`[d5.8] ${what}: the client's bytes and the record are the same as with one thread`, async () => {
      expect(Buffer.byteLength(answer)).toBeGreaterThan(LONG_BODY_BYTES);
      const [here, there] = [await seen(ask, answer, false), await seen(ask, answer, true)];
      expect([here.written, there.written, there.status]).toEqual([0, 1, NO_ANSWERS.has(what) ? 502 : 200]);
      expect(there.bytes === here.bytes).toBe(true);
      expect({ ...there, bytes: "", written: 0 }).toEqual({ ...here, bytes: "", written: 0 });
    });

  test("[d5.8] an answer with invalid bytes and a byte order mark is read as with one thread", async () => {
    const answer = Buffer.concat([
      Buffer.from([0xef, 0xbb, 0xbf]),
      Buffer.from(said.replace("Съешь", "#")).map((byte) => (byte === 0x23 ? 0xff : byte)),
    ]);
    const [here, there] = [await seen(ASK, answer, false), await seen(ASK, answer, true)];
    expect([here.status, there.written]).toEqual([200, 1]);
    expect({ ...there, written: 0 }).toEqual(here);
  });

  test("[d5.8] a short answer is read and written in the thread that received it", async () => {
    expect((await seen(ASK, openai('{"role":"assistant","content":"x"}'), true)).written).toBe(0);
  });

  const guarding = (...documents: readonly ({ readonly mode?: string } & Record<string, unknown>)[]): StubOptions => ({
    snapshot: {
      policies: policiesFor(
        ...documents.map(({ mode = "enforce", ...guard }, index) => ({
          name: `guard-${index}`,
          mode,
          guard: { action: "mask", on: "output", ...guard },
        })),
      ),
    },
  });
  const PLACES = openai(
    `{"role":"assistant","content":"${LONG} ada@mail.example.org","reasoning_content":"ada@mail.example.org","annotations":[{"type":"url_citation","url_citation":{"url":"https://x.test/?ada@mail.example.org","title":"t","start_index":0,"end_index":1}}],"odd":{"ada@mail.example.org":[4111111111111111]},"tool_calls":[{"id":"c","type":"function","function":{"name":"f","arguments":"{\\"a\\":\\"\\\\u0061da@mail.example.org\\"}"}}]},"logprobs":{"content":[{"token":"ada@mail.example.org","logprob":1,"bytes":null,"top_logprobs":[]}]},"finish_reason":"tool_calls"},{"index":1,"message":{"role":"assistant","content":"4111 1111 1111 1111"}`,
    `,${USAGE},"seed":12345678901234567890,"vendor":"ada@mail.example.org"`,
  );
  const GUARDS: Readonly<Record<string, readonly [options: StubOptions, status: number]>> = {
    "one that masks": [guarding({ classes: ["email"] }), 200],
    "two that mask": [guarding({ classes: ["card"] }, { classes: ["email"], mask: "(somebody)" }), 200],
    "one that blocks": [guarding({ classes: ["email"], action: "block" }), 403],
    "one that masks, and one that blocks": [
      guarding({ classes: ["email"] }, { classes: ["card"], action: "block" }),
      403,
    ],
    "one in audit mode": [guarding({ classes: ["email", "card"], action: "block", mode: "audit" }), 200],
    "one that finds nothing": [guarding({ patterns: ["zzzz[0-9]{7}"] }), 200],
    "one that finds what it cannot replace, the name of a function": [guarding({ patterns: ["^f$"] }), 403],
  };
  for (const [what, [options, status]] of Object.entries(GUARDS))
    test(`[d3.3] [d5.8] under guards on answers, ${what}: bytes and record are the same as with one thread`, async () => {
      const ask = { ...ASK, n: 2, logprobs: true };
      const [here, there] = [await seen(ask, PLACES, false, options), await seen(ask, PLACES, true, options)];
      expect([here.written, there.written, there.status]).toEqual([0, 1, status]);
      expect(there.bytes === here.bytes).toBe(true);
      expect({ ...there, bytes: "", written: 0 }).toEqual({ ...here, bytes: "", written: 0 });
    });

  for (const onError of ["block", "allow"] as const)
    test(`[d3.3] [d5.8] when guards do not finish in time, their on_error, ${onError}, decides about the answer`, async () => {
      const options = guarding({ classes: ["email"], on_error: onError });
      const late: StubOptions = { ...options, guards: { ...guards, search: () => Promise.resolve(null) } };
      const [here, there] = [await seen(ASK, PLACES, false, late), await seen(ASK, PLACES, true, late)];
      expect([there.written, there.status]).toEqual([1, onError === "block" ? 403 : 200]);
      expect(there.bytes === here.bytes).toBe(true);
      expect({ ...there, bytes: "", written: 0 }).toEqual({ ...here, bytes: "", written: 0 });
    });

  test("[d5.8] when the search fails, the call fails as with one thread, and the other thread releases the answer", async () => {
    const released: unknown[] = [];
    const watched = openLongAnswers({
      ...thread,
      send(method, question) {
        released.push([method, question]);
        thread.send(method, question);
      },
    });
    const fails: StubOptions = {
      ...guarding({ classes: ["email"] }),
      guards: { ...guards, search: () => Promise.reject(new Error("no look")) },
    };
    const gateway = stubGateway({
      upstream: cannedUpstream({ body: PLACES, headers: { "content-type": "application/json" } }),
      ...fails,
      longAnswers: watched,
    });
    const reply = await gateway.chat(ASK);
    expect([reply.status, (await reply.text()).includes("ada@")]).toEqual([500, false]);
    expect(released).toEqual([["release_gathered", 1]]);
  });

  const keeping = (rules: object): StubOptions => ({
    snapshot: {
      contentLogs: compileContentLogs(
        true,
        [{ id: "default", tenantId: "default", name: "Default" }],
        new Map([["default", toScopeSettings(scopeSettings.parse({ content_log: { enabled: true, ...rules } }))]]),
        new Map(),
      ),
    },
  });
  const CALLS = openai(
    `{"role":"assistant","content":"Short.","refusal":"No.","tool_calls":[{"id":"c","type":"function","function":{"name":"f","arguments":${JSON.stringify(`{"a":"${LONG}"}`)}}},{"id":"${"i".repeat(40_000)}","type":"custom","custom":{"name":"g","input":"${LONG}","more":[{},{},{}]}}]},"finish_reason":"length"},{"index":1,"message":{"role":"assistant","content":"Second, ada@mail.example.org."}`,
    `,${USAGE}`,
    "tool_calls",
  );
  for (const [what, text, ask] of [
    ["a long text", said.replace("Съешь", "ada@mail.example.org"), ASK],
    ["every place", PLACES, { ...ASK, n: 2 }],
    ["calls", CALLS, { ...ASK, n: 2 }],
    ["the old functions", CALLS, { ...ASK, functions: [{ name: "f" }] }],
  ] as const)
    for (const characters of [1000, 100_000, 1_000_000])
      test(`[d5.8] [d11.3] of ${what} a project keeps the same content as with one thread, within ${characters} characters`, async () => {
        const options = keeping({ max_characters: characters });
        const [here, there] = [await seen(ask, text, false, options), await seen(ask, text, true, options)];
        expect([here.written, there.written, there.content?.answers.length]).toEqual([
          0,
          1,
          here.content!.answers.length,
        ]);
        expect(there.content).toEqual(here.content);
        expect(there.bytes === here.bytes).toBe(true);
      });

  test("[d5.8] [d11.3] text that guards have masked is kept as the client receives it", async () => {
    const options: StubOptions = {
      snapshot: {
        ...keeping({}).snapshot,
        ...guarding({ patterns: ["tea-[0-9]"] }).snapshot,
      },
    };
    const text = said.replace("Съешь", "tea-5");
    const [here, there] = [await seen(ASK, text, false, options), await seen(ASK, text, true, options)];
    expect([there.written, JSON.stringify(there.content).includes("tea-5")]).toEqual([1, false]);
    expect({ ...there, written: 0 }).toEqual(here);
  });

  test("[d5.8] the answers of one tenant are written while another waits for no more than one of them", async () => {
    const order: string[] = [];
    const bytes = (): Uint8Array => Buffer.from(said);
    const question = {
      family: "openai",
      credential: null,
      frame: {
        traceId: "t",
        model: "openai:m",
        route: "direct",
        nowSeconds: 1,
        sameShape: true,
        legacyFunctions: false,
        choices: 1,
        isRepeated: false,
      },
      promptTokens: 1,
      asValue: false,
      keeps: null,
    };
    const decode = { model: "m", memo: null };
    const write = (tenantId: string): Promise<void> =>
      answers
        .write({ ...question, answers: [{ bytes: bytes(), decode }] }, tenantId)
        .then(() => void order.push(tenantId));
    await Promise.all([write("a"), write("a"), write("a"), write("a"), write("b")]);
    expect(order.indexOf("b")).toBeLessThan(3);
  });
});
