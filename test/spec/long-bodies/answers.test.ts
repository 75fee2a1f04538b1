// Promise 5.8: a long non-streaming answer is read and written in turns. The client's answer, the record and the kept
// content are those of the same answer with a short text in the place of the long one.
import { afterAll, describe, expect, test } from "bun:test";
import { compileContentLogs } from "../../../src/auth/settings/content-settings.ts";
import { scopeSettings, toScopeSettings } from "../../../src/auth/settings/scope-settings.ts";
import { KeptObjects } from "../../../src/engine/keeping/kept-objects.ts";
import { LONG_BODY_BYTES } from "../../../src/engine/long-bodies/long-body-thread.ts";
import type { Operation } from "../../../src/engine/operation.ts";
import { MESSAGES } from "../../../src/operations/messages/messages.ts";
import { RESPONSES } from "../../../src/operations/responses/responses.ts";
import { fakeToolServers, says } from "../../harness/tools/fake-tools.ts";
import { cannedUpstream, stubGateway, type StubOptions } from "../../harness/in-process.ts";
import { patientGuards } from "../../harness/patient-guards.ts";
import { providerSettings, storedKey } from "../../harness/targets.ts";
import { policiesFor } from "../../policies/policy-documents.ts";
import { type SeenAnswer, seenAnswer } from "../seen-answer.ts";

const guards = patientGuards();
afterAll(() => guards.close());

/** The places of the text: in a text of the answer, and in a text that is JSON itself, such as arguments. */
const [TEXT, INSIDE] = ["#text#", "#inside#"];
/** As it stands between the quotes of JSON. */
const LONG =
  'Съешь же ещё этих мягких французских булок, \\n \\"и выпей чаю\\" 🍵 \\u00e9\\ud83c\\udf75 \\ud83c. '.repeat(
    Math.ceil((1.5 * LONG_BODY_BYTES) / 105),
  );
const LONG_VALUE = JSON.parse(`"${LONG}"`) as string;
const quoted = (text: string): string => JSON.stringify(text).slice(1, -1);
const MAIL = "ada@mail.example.org";

/** What the provider sends. */
const lengthened = (answer: string): string =>
  answer.replaceAll(TEXT, () => LONG).replaceAll(INSIDE, () => quoted(LONG));
/** What the client gets of it: the gateway spells a text in its own way unless it passes the provider's. */
const expected = (bytes: string, isPassed = false): string =>
  bytes.replaceAll(TEXT, () => (isPassed ? LONG : quoted(LONG_VALUE))).replaceAll(INSIDE, () => quoted(LONG));

interface Compared {
  readonly ask: object;
  readonly answers: readonly string[];
  readonly status?: number;
  /** The provider's own text is passed on. */
  readonly isPassed?: boolean;
  /** The number of tokens is estimated by the text. */
  readonly isEstimated?: boolean;
  readonly options?: () => StubOptions;
}

const withoutUsage = (bytes: string): string => bytes.replaceAll(/"usage":\{.*?\}(?=,"|\})/g, "");

async function compare({ ask, answers, status = 200, isPassed, isEstimated, options = () => ({}) }: Compared): Promise<{
  readonly short: SeenAnswer;
  readonly long: SeenAnswer;
}> {
  const long = answers.map(lengthened);
  expect(Buffer.byteLength(long.join(""))).toBeGreaterThan(LONG_BODY_BYTES);
  const seen = {
    short: await seenAnswer(ask, answers, { guards, ...options() }),
    long: await seenAnswer(ask, long, { guards, ...options() }),
  };
  expect([seen.short.status, seen.long.status]).toEqual([status, status]);
  const shown = isEstimated === true ? withoutUsage : (bytes: string): string => bytes;
  expect(shown(seen.long.bytes) === shown(expected(seen.short.bytes, isPassed))).toBe(true);
  expect(seen.long.headers).toEqual(seen.short.headers);
  if (isEstimated !== true) expect(seen.long.record).toEqual(seen.short.record);
  return seen;
}

const USAGE = '"usage":{"prompt_tokens":5,"completion_tokens":7,"total_tokens":12}';
const openai = (message: string, more = `,${USAGE}`, finish = "stop"): string =>
  `{"id":"chatcmpl-1","object":"chat.completion","created":1767000000,"model":"m-2026","choices":[{"index":0,"message":${message},"finish_reason":"${finish}"}]${more}}`;
const said = openai(`{"role":"assistant","content":"${TEXT}"}`);
const calls = (name: string, args: string, id = `c-${name}`): string =>
  `{"id":"${id}","type":"function","function":{"name":"${name}","arguments":${JSON.stringify(args)}}}`;
const HELLO = [{ role: "user", content: "Hello" }];
const ASK = { model: "openai:m", messages: HELLO };

const KEY = "sk-of-the-operator-0123456789";
const withKey = (): StubOptions => ({
  providers: ["anthropic", "openai"].map((id) => providerSettings({ id, family: id, credentials: [storedKey(KEY)] })),
});

const ANSWERS: Readonly<Record<string, Compared>> = {
  "OpenAI's form": { ask: ASK, answers: [said] },
  "OpenAI's form, with numbers that no double holds, odd members and several choices": {
    ask: { ...ASK, n: 2 },
    answers: [
      openai(
        `{"role":"assistant","content":"${TEXT}","odd":[1.10,12345678901234567890,1e400]},"logprobs":{"content":[]},"finish_reason":"length"},{"index":1,"message":{"role":"assistant","content":"x","refusal":null}`,
        `,${USAGE},"seed":12345678901234567890,"__proto__":{"a":1}`,
      ),
    ],
  },
  "an answer without figures": {
    ask: ASK,
    answers: [openai(`{"role":"assistant","content":"${TEXT}"}`, "")],
    isEstimated: true,
  },
  "an answer without a finish reason": {
    ask: ASK,
    answers: [said.replace('"finish_reason":"stop"', '"finish_reason":null')],
  },
  "calls of functions": {
    ask: { ...ASK, tools: [{ type: "function", function: { name: "f" } }] },
    answers: [
      openai(
        `{"role":"assistant","content":null,"tool_calls":[${calls("f", `{"a":"${INSIDE}"}`)}]}`,
        `,${USAGE}`,
        "tool_calls",
      ),
    ],
  },
  "the old functions": {
    ask: { ...ASK, functions: [{ name: "f" }] },
    answers: [
      openai(`{"role":"assistant","content":"${TEXT}","tool_calls":[${calls("f", "{}")}]}`, `,${USAGE}`, "tool_calls"),
    ],
  },
  "an empty answer, with much around it": {
    ask: ASK,
    answers: [
      openai(
        '{"role":"assistant","content":""}',
        `,"usage":{"prompt_tokens":5,"completion_tokens":0,"total_tokens":5},"odd":"${TEXT}"`,
      ),
    ],
  },
  Anthropic: {
    ask: { ...ASK, model: "anthropic:claude-sonnet-4-5", max_tokens: 5 },
    answers: [
      `{"id":"m","type":"message","role":"assistant","model":"claude","content":[{"type":"text","text":"${TEXT}"}],"stop_reason":"end_turn","usage":{"input_tokens":1,"output_tokens":1}}`,
    ],
  },
  "JSON that a tool emulates": {
    ask: {
      ...ASK,
      model: "anthropic:claude-3-haiku-20240307",
      response_format: { type: "json_schema", json_schema: { name: "j", schema: { type: "object" } } },
    },
    answers: [
      `{"id":"m","type":"message","role":"assistant","model":"claude","content":[{"type":"tool_use","id":"t","name":"j","input":{"a":1,"b":[]}},{"type":"text","text":"${TEXT}"}],"stop_reason":"tool_use","usage":{"input_tokens":1,"output_tokens":1},"odd":"${TEXT}"}`,
    ],
  },
  "Gemini, with a function that had to be renamed": {
    ask: {
      ...ASK,
      model: "gemini:gemini-2.5-pro",
      tools: [{ type: "function", function: { name: "1up", parameters: { type: "object" } } }],
    },
    answers: [
      `{"candidates":[{"content":{"role":"model","parts":[{"text":"${TEXT}"},{"functionCall":{"name":"_1up","args":{"a":1}}}]},"finishReason":"STOP"}],"usageMetadata":{"promptTokenCount":1,"candidatesTokenCount":1,"totalTokenCount":2}}`,
    ],
  },
  Vertex: {
    ask: { ...ASK, model: "vertex:google/gemini-2.5-pro" },
    answers: [
      `{"candidates":[{"content":{"role":"model","parts":[{"text":"${TEXT}"}]},"finishReason":"STOP"}],"usageMetadata":{"promptTokenCount":1,"candidatesTokenCount":1,"totalTokenCount":2}}`,
    ],
  },
  Bedrock: {
    ask: { ...ASK, model: "bedrock:anthropic.claude-opus-4-5" },
    answers: [
      `{"output":{"message":{"role":"assistant","content":[{"text":"${TEXT}"}]}},"stopReason":"end_turn","usage":{"inputTokens":1,"outputTokens":1,"totalTokens":2}}`,
    ],
  },
  Cohere: {
    ask: { ...ASK, model: "cohere:command-a-03-2025" },
    answers: [
      `{"id":"c","finish_reason":"COMPLETE","message":{"role":"assistant","content":[{"type":"text","text":"${TEXT}"}]},"usage":{"tokens":{"input_tokens":1,"output_tokens":1}}}`,
    ],
  },
  Ollama: {
    ask: { ...ASK, model: "ollama:llama3" },
    answers: [
      `{"model":"llama3","created_at":"2026-01-01T00:00:00Z","message":{"role":"assistant","content":"${TEXT}"},"done":true,"done_reason":"stop","prompt_eval_count":1,"eval_count":1}`,
    ],
  },
  "an answer that holds the operator's key": {
    ask: ASK,
    answers: [openai(`{"role":"assistant","content":"${KEY} ${TEXT}"}`)],
    options: withKey,
  },
  "an answer without choices": { ask: ASK, answers: [`{"id":"x","choices":[],"odd":"${TEXT}"}`], status: 502 },
  "an answer that is cut inside": { ask: ASK, answers: [said.slice(0, -10)], status: 502 },
  "a list": { ask: ASK, answers: [`["${TEXT}"]`], status: 502 },
};

describe("a long answer", () => {
  for (const [what, compared] of Object.entries(ANSWERS))
    test(`[d5.8] ${what}: the client's bytes and the record are those of a short one`, async () => {
      const { long } = await compare(compared);
      expect(long.bytes).not.toContain(KEY);
    });

  test("[d5.8] an answer with invalid bytes and a byte order mark is read like a short one", async () => {
    const odd = (answer: string): Uint8Array =>
      Buffer.concat([
        Buffer.from([0xef, 0xbb, 0xbf]),
        Buffer.from(answer).map((byte) => (byte === 0x24 ? 0xff : byte)),
      ]);
    const answer = openai(`{"role":"assistant","content":"$ ${TEXT}"}`);
    const short = await seenAnswer(ASK, [odd(answer)]);
    const long = await seenAnswer(ASK, [odd(lengthened(answer))]);
    expect([short.status, long.bytes === expected(short.bytes)]).toEqual([200, true]);
  });

  test("[d5.8] an error in an answer that says success is the error that a short one is", async () => {
    const answer = `{"error":{"message":"Too much. ${TEXT}","type":"server_error","code":"odd"}}`;
    const [short, long] = [await seenAnswer(ASK, [answer]), await seenAnswer(ASK, [lengthened(answer)])];
    const codeOf = ({ record }: SeenAnswer) => (record as { readonly code: string }).code;
    expect([long.status, codeOf(long)]).toEqual([short.status, codeOf(short)]);
    expect(short.status).toBe(502);
  });

  const EXCESS: Readonly<Record<string, readonly [more: string, message: string]>> = {
    "JSON values": [`[${"1,".repeat(400_001)}1]`, "400000 JSON values"],
    "numbers that no double holds": [
      `[${"12345678901234567890,".repeat(30_000)}1]`,
      "10000 numbers that a double cannot hold",
    ],
    "escaped characters": [`"${"\\n".repeat(1_000_001)}"`, "1000000 escaped characters"],
  };
  for (const [what, [more, message]] of Object.entries(EXCESS))
    test(`[d5.8] is a malformed answer with more ${what} than can be read in one turn`, async () => {
      const answer = openai('{"role":"assistant","content":"x"}', `,"odd":${more}`);
      for (const stream of [false, true]) {
        const { status, record, bytes } = await seenAnswer({ ...ASK, stream }, [answer]);
        expect([status, (record as { readonly code: string }).code]).toEqual([502, "upstream_invalid_response"]);
        expect(bytes).toContain(`The provider's answer holds more than ${message}.`);
      }
    });
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
const keeping = (rules: object = {}): StubOptions => ({
  snapshot: {
    contentLogs: compileContentLogs(
      true,
      [{ id: "default", tenantId: "default", name: "Default" }],
      new Map([["default", toScopeSettings(scopeSettings.parse({ content_log: { enabled: true, ...rules } }))]]),
      new Map(),
    ),
  },
});

/** Personal data in every place of an answer. */
const PLACES = openai(
  `{"role":"assistant","content":"${TEXT} ${MAIL}","reasoning_content":"${MAIL}","annotations":[{"type":"url_citation","url_citation":{"url":"https://x.test/?${MAIL}","title":"t","start_index":0,"end_index":1}}],"odd":{"${MAIL}":[4111111111111111]},"tool_calls":[{"id":"c","type":"function","function":{"name":"f","arguments":"{\\"a\\":\\"\\\\u0061da@mail.example.org\\"}"}}]},"logprobs":{"content":[{"token":"${MAIL}","logprob":1,"bytes":null,"top_logprobs":[]}]},"finish_reason":"tool_calls"},{"index":1,"message":{"role":"assistant","content":"4111 1111 1111 1111"}`,
  `,${USAGE},"seed":12345678901234567890,"vendor":"${MAIL}"`,
);

describe("a long answer under guards", () => {
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
  const ask = { ...ASK, n: 2, logprobs: true };
  for (const [what, [options, status]] of Object.entries(GUARDS))
    test(`[d3.3] [d5.8] ${what}: bytes and record are those of a short one`, async () => {
      await compare({ ask, answers: [PLACES], status, options: () => options });
    });

  for (const onError of ["block", "allow"] as const)
    test(`[d3.3] [d5.8] when guards do not finish in time, their on_error, ${onError}, decides about the answer`, async () => {
      const late: StubOptions = {
        ...guarding({ classes: ["email"], on_error: onError }),
        guards: { ...guards, search: () => Promise.resolve(null) },
      };
      const { status, bytes } = await seenAnswer(ASK, [lengthened(PLACES)], late);
      expect([status, bytes.includes(MAIL)]).toEqual(onError === "block" ? [403, false] : [200, true]);
    });

  for (const onError of ["block", "allow"] as const)
    test(`[d3.3] [d5.8] more matches than can be masked in one turn are a search that did not finish, with on_error ${onError}`, async () => {
      const mails = openai(`{"role":"assistant","content":"${"a@b.example ".repeat(100_500)}"}`);
      const options = { guards, ...guarding({ classes: ["email"], on_error: onError }) };
      const { status, record } = await seenAnswer(ASK, [mails], options);
      const why = "the guard could not check the text within its limits of time and matches";
      expect([status, (record as { readonly policies: readonly object[] }).policies]).toMatchObject([
        onError === "block" ? 403 : 200,
        [{ effect: "failed", why }, { effect: onError === "block" ? "denied" : "masked" }],
      ]);
    });

  test("[d5.8] when the search fails, the call fails, and nothing of the answer leaves", async () => {
    const { status, bytes } = await seenAnswer(ASK, [lengthened(PLACES)], {
      ...guarding({ classes: ["email"] }),
      guards: { ...guards, search: () => Promise.reject(new Error("no look")) },
    });
    expect([status, bytes.includes("ada@")]).toEqual([500, false]);
  });

  test("[d5.8] [d11.3] text that guards have masked is kept as the client receives it", async () => {
    const options: StubOptions = {
      guards,
      snapshot: { ...keeping().snapshot, ...guarding({ patterns: ["tea-[0-9]"] }).snapshot },
    };
    const answer = openai(`{"role":"assistant","content":"tea-5 ${TEXT}"}`);
    const { content, status } = await seenAnswer(ASK, [lengthened(answer)], options);
    expect([status, JSON.stringify(content).includes("tea-5"), content!.answers.length]).toEqual([200, false, 1]);
  });
});

describe("what is kept of a long answer", () => {
  const MANY = openai(
    `{"role":"assistant","content":"Short.","refusal":"No.","tool_calls":[${calls("f", `{"a":"${INSIDE}"}`)},{"id":"${"i".repeat(40_000)}","type":"custom","custom":{"name":"g","input":"${TEXT}","more":[{},{},{}]}}]},"finish_reason":"length"},{"index":1,"message":{"role":"assistant","content":"Second."}`,
    `,${USAGE}`,
    "tool_calls",
  );
  for (const characters of [1000, 100_000])
    test(`[d5.8] [d11.3] is cut to ${characters} characters, and says so`, async () => {
      for (const [text, ask] of [
        [said, ASK],
        [MANY, { ...ASK, n: 2 }],
        [MANY, { ...ASK, functions: [{ name: "f" }] }],
      ] as const) {
        const { content } = await seenAnswer(ask, [lengthened(text)], {
          guards,
          ...keeping({ max_characters: characters }),
        });
        expect(content!.leftOut).toMatchObject({ isAnswerCut: true });
        expect(JSON.stringify(content!.answers).length).toBeLessThan(2 * characters + 45_000);
        const kept = content!.answers[0]!.content!;
        expect(text === said ? LONG_VALUE.startsWith(kept.slice(0, characters / 4)) : kept === "Short.").toBe(true);
      }
    });

  test("[d5.8] [d11.3] is the whole answer where it fits", async () => {
    const text = "ё".repeat(300_000);
    const answer = said.replace(TEXT, text);
    expect(Buffer.byteLength(answer)).toBeGreaterThan(LONG_BODY_BYTES);
    const { content } = await seenAnswer(ASK, [answer], { guards, ...keeping({ max_characters: 1_000_000 }) });
    expect([content!.leftOut, content!.answers[0]!.content === text]).toEqual([null, true]);
  });
});

const BESIDE: Readonly<Record<string, readonly [options: StubOptions, status: number]>> = {
  "without guards": [{}, 200],
  "under a guard that masks": [guarding({ classes: ["email"] }), 200],
  "under a guard that blocks": [guarding({ classes: ["email"], action: "block" }), 403],
  "under a guard that audits": [guarding({ classes: ["email"], action: "block", mode: "audit" }), 200],
  kept: [keeping(), 200],
};

describe("several choices from several requests", () => {
  const choice = (text: string, figures = ',"prompt_eval_count":3,"eval_count":4'): string =>
    `{"model":"llama3","created_at":"2026-01-01T00:00:00Z","message":{"role":"assistant","content":"${text}"},"done":true,"done_reason":"stop","odd":12345678901234567890${figures}}`;
  const ask = { model: "ollama:llama3", n: 3, messages: HELLO };
  const CHOICES: Readonly<Record<string, readonly string[]>> = {
    "all of them long": [choice(TEXT), choice(`${TEXT} ${MAIL}`), choice(TEXT)],
    "one of them long": [choice(`x ${MAIL}`), choice(TEXT), choice("y")],
    "some without figures": [choice(`${TEXT} ${MAIL}`, ""), choice("x"), choice("y", "")],
  };
  for (const [what, answers] of Object.entries(CHOICES))
    for (const [beside, [options, status]] of Object.entries(BESIDE))
      test(`[d5.8] ${what}, ${beside}: the client's bytes and the record are those of short ones`, async () => {
        const isEstimated = what.includes("without figures");
        await compare({ ask, answers, status, isEstimated, options: () => options });
      });

  test("[d5.8] an unreadable answer fails the call", async () => {
    for (const text of [LONG, "x"]) {
      const answers = [choice(text).slice(0, -10), choice(LONG)];
      expect((await seenAnswer({ ...ask, n: 2 }, answers)).status).toBe(502);
    }
  });
});

describe("rounds of tools", () => {
  const city = "word ".repeat(LONG_BODY_BYTES / 5);
  const tools = () => fakeToolServers({ sky: { weather: { run: () => says("Warm.") } } });
  const ask = {
    model: "openai:m",
    messages: HELLO,
    tools: [
      { type: "mcp", server_label: "sky", require_approval: "never" },
      { type: "function", function: { name: "own" } },
    ],
  };
  const asks = openai(
    `{"role":"assistant","content":"${TEXT} ${MAIL}","reasoning_content":"${TEXT}","tool_calls":[${calls("sky__weather", '{"city":"Rome"}')}]}`,
    `,${USAGE}`,
    "tool_calls",
  );
  const ends = openai(`{"role":"assistant","content":"${TEXT}","odd":{"a":"${TEXT}"}}`);
  const own = openai(
    `{"role":"assistant","content":null,"tool_calls":[${calls("own", `{"a":"${INSIDE}"}`)}]}`,
    `,${USAGE}`,
    "tool_calls",
  );
  for (const [what, answers] of [
    ["a long round and a long answer", [asks, ends]],
    [
      "a long round and a short answer",
      [
        asks,
        '{"choices":[{"message":{"content":"Done."}}],"usage":{"prompt_tokens":1,"completion_tokens":1,"total_tokens":2}}',
      ],
    ],
    ["a long round, and calls that the client runs", [asks, own]],
  ] as const)
    for (const [beside, [options, status]] of Object.entries(BESIDE))
      test(`[d5.8] [d10.4] ${what}, ${beside}: the client's bytes and the record are those of short ones`, async () => {
        await compare({ ask, answers, status, options: () => ({ ...options, tools: tools() }) });
      });

  test("[d5.8] [d10.4] long arguments reach the tool", async () => {
    let given = "";
    const sky = fakeToolServers({
      sky: {
        weather: {
          run: (args) => {
            given = args["city"] as string;
            return says("Warm.");
          },
        },
      },
    });
    const round = openai(
      `{"role":"assistant","content":null,"tool_calls":[${calls("sky__weather", JSON.stringify({ city }))}]}`,
      `,${USAGE}`,
      "tool_calls",
    );
    expect(
      (await seenAnswer(ask, [round, openai('{"role":"assistant","content":"Done."}')], { tools: sky })).status,
    ).toBe(200);
    expect(given === city).toBe(true);
  });
});

describe("a stream that was requested and arrived in one piece", () => {
  const CAME: Readonly<Record<string, string>> = {
    "a long text": openai(`{"role":"assistant","content":"${TEXT} ${MAIL}"}`),
    "long arguments": openai(
      `{"role":"assistant","content":null,"tool_calls":[${calls("f", `{"a":"${INSIDE} ${MAIL}"}`)},${calls("g", "{}")}]}`,
      `,${USAGE}`,
      "tool_calls",
    ),
  };
  const ask = {
    ...ASK,
    stream: true,
    stream_options: { include_usage: true },
    tools: ["f", "g"].map((name) => ({ type: "function", function: { name } })),
  };

  /** The texts of the deltas of a stream, joined, with what its other members say. */
  function joined(bytes: string): object {
    const texts: Record<string, string> = {};
    const finishes: unknown[] = [];
    let usage: unknown;
    const lines = bytes.split("\n").filter((line) => line.startsWith("data: "));
    for (const line of lines.slice(0, -1)) {
      const chunk = JSON.parse(line.slice("data: ".length)) as Record<string, any>;
      usage = chunk["usage"] ?? usage;
      for (const { delta, finish_reason: finish } of chunk["choices"]) {
        if (finish !== null) finishes.push(finish);
        for (const [name, text] of Object.entries({ content: delta.content, role: delta.role }))
          if (text != null) texts[name] = (texts[name] ?? "") + text;
        for (const call of delta.tool_calls ?? [])
          for (const part of ["name", "arguments"])
            texts[`${call.index}.${part}`] = (texts[`${call.index}.${part}`] ?? "") + (call.function[part] ?? "");
      }
    }
    return { texts, finishes, usage, end: lines.at(-1) };
  }

  for (const [what, answer] of Object.entries(CAME))
    for (const [beside, [options, status]] of Object.entries(BESIDE))
      test(`[d5.8] ${what}, ${beside}: the joined events and the record are those of a short one`, async () => {
        const short = await seenAnswer(ask, [answer], { guards, ...options });
        const long = await seenAnswer(ask, [lengthened(answer)], { guards, ...options });
        expect(short.status).toBe(status);
        if (status !== 200) {
          // the guard finds it behind what has left by then
          expect([long.bytes.includes(MAIL), long.bytes.includes("policy_violation")]).toEqual([false, true]);
          return;
        }
        expect(long.record).toEqual(short.record);
        const whole = joined(short.bytes) as { readonly texts: Record<string, string> };
        for (const [name, text] of Object.entries(whole.texts))
          whole.texts[name] = text.replaceAll(TEXT, () => LONG_VALUE).replaceAll(INSIDE, () => LONG);
        expect(JSON.stringify(joined(long.bytes)) === JSON.stringify(whole)).toBe(true);
      });
});

describe("a long answer of a target that speaks the operation", () => {
  const message = (content: string, more = ',"usage":{"input_tokens":3,"output_tokens":2}'): string =>
    `{ "id":"msg_1","type":"message","role":"assistant","model":"claude-2026",\n"content":[${content}],"stop_reason":"end_turn","stop_sequence":null${more}}`;
  const response = (output: string): string =>
    `{"id":"resp_1", "object":"response","created_at":1767000000,"status":"completed","model":"gpt-2026","output":[${output}],"usage":{"input_tokens":3,"input_tokens_details":{"cached_tokens":0},"output_tokens":2,"output_tokens_details":{"reasoning_tokens":0},"total_tokens":5}}`;
  const item = (text: string): string =>
    `{"id":"i_1","type":"message","status":"completed","role":"assistant","content":[{"type":"output_text","annotations":[],"logprobs":[],"text":"${text}"}]}`;
  const block = `{"type":"text","text":"${TEXT}"}`;
  const ask = { model: "anthropic:claude", max_tokens: 9, messages: HELLO };
  const respond = { model: "openai:gpt-9", input: "Hello" };
  const TOMORROW = message(
    `${block},{"type":"block_of_tomorrow","n":1.10,"big":12345678901234567890}`,
    ',"usage":{"input_tokens":3,"output_tokens":2},"later":{"__proto__":1,"a":[1e400]}',
  );

  const NATIVE: Readonly<Record<string, Compared & { readonly operation: Operation }>> = {
    "a message": { operation: MESSAGES, ask, answers: [message(block)] },
    "a message with what nobody knows": { operation: MESSAGES, ask, answers: [TOMORROW] },
    "a message with the call of a tool": {
      operation: MESSAGES,
      ask: { ...ask, tools: [{ name: "f", input_schema: { type: "object" } }] },
      answers: [message(`{"type":"tool_use","id":"t1","name":"f","input":{"a":"${TEXT}"}}`)],
    },
    "a message that repeats the key": {
      operation: MESSAGES,
      ask,
      answers: [message(`${block},{"type":"text","text":"${KEY}"}`)],
    },
    "a message that lacks nearly everything": {
      operation: MESSAGES,
      ask,
      answers: [`{"content":[${block}]}`],
      isEstimated: true,
    },
    "an error in place of a message": {
      operation: MESSAGES,
      ask,
      answers: [`{"type":"error","error":{"type":"overloaded_error","message":"Overloaded"},"later":"${TEXT}"}`],
      status: 503,
    },
    "what is no message": { operation: MESSAGES, ask, answers: [`[1,"${TEXT}"]`], status: 502 },
    "what is no JSON": { operation: MESSAGES, ask, answers: [`{"content":[${block}]`], status: 502 },
    "a response": { operation: RESPONSES, ask: respond, answers: [response(item(TEXT))] },
    "a response with parts that lack members": {
      operation: RESPONSES,
      ask: respond,
      answers: [response(`{"id":"i_1","type":"message","content":[{"type":"output_text","text":"${TEXT}"}]}`)],
    },
    "a response whose content is one text": {
      operation: RESPONSES,
      ask: respond,
      answers: [response(`{"id":"i_1","type":"message","role":"assistant","content":"${TEXT}"}`)],
    },
  };
  for (const [what, { operation, ...compared }] of Object.entries(NATIVE))
    test(`[d5.8 d12.5] ${what}: the client's bytes, the head and the record are those of a short one`, async () => {
      const options = (): StubOptions => ({ ...keeping(), ...withKey(), operation });
      const { long } = await compare({ ...compared, isPassed: !what.endsWith("one text"), options });
      expect(long.bytes).not.toContain(KEY);
    });

  test("[d5.8 d12.5] a message passes byte for byte, but for the model", async () => {
    const answer = lengthened(TOMORROW);
    const { bytes } = await seenAnswer(ask, [answer], { operation: MESSAGES });
    expect(bytes === answer.replace("claude-2026", "anthropic:claude")).toBe(true);
  });

  test("[d5.8 d12.8] a response is kept, and a later one can refer to it", async () => {
    const clock = { now: () => 1_767_225_600_000, monotonic: () => performance.now() };
    const stub = stubGateway({
      clock,
      kept: new KeptObjects(clock),
      upstream: cannedUpstream({
        headers: { "content-type": "application/json" },
        body: lengthened(response(item(TEXT))),
      }),
    });
    const first = await stub.call(RESPONSES, respond);
    expect(first.headers.get("x-gateway-response-kept-until")).not.toBeNull();
    const { id } = (await first.json()) as { readonly id: string };
    const second = await stub.call(RESPONSES, { ...respond, input: "And now?", previous_response_id: id });
    expect(second.status).toBe(200);
    const sent = JSON.parse(stub.sent[1]!.body) as Record<string, any>;
    expect(sent["input"][1].content[0].text === LONG_VALUE).toBe(true);
    expect(sent["input"].at(-1).content).toBe("And now?");
  });
});
