// Promise 5.8: long answers that are merged from several choices, that belong to rounds of tools, or that arrive whole
// although a stream was requested are read in another thread. The client's answer, the record and the kept content are
// the same as with one thread.
import { longBodyProgram } from "../../src/operations/long-body-program.ts";
import { afterAll, describe, expect, test } from "bun:test";
import { compileContentLogs } from "../../src/auth/content-settings.ts";
import { scopeSettings, toScopeSettings } from "../../src/auth/scope-settings.ts";
import { patientGuards } from "../harness/patient-guards.ts";
import { openLongAnswers } from "../../src/engine/long-bodies/long-answers.ts";
import { LONG_BODY_BYTES, openLongBodyThread } from "../../src/engine/long-bodies/long-body-thread.ts";
import { policiesFor } from "../policies/policy-documents.ts";
import { fakeToolServers, says } from "../harness/fake-tools.ts";
import type { StubOptions } from "../harness/in-process.ts";
import { type SeenAnswer, seenAnswer } from "./seen-answer.ts";

const thread = openLongBodyThread(longBodyProgram());
const longAnswers = openLongAnswers(thread);
const guards = patientGuards();
afterAll(async () => {
  await thread.close();
  await guards.close();
});

const MAIL = "ada@mail.example.org";
/** As it stands between the quotes of JSON. */
const textOf = (bytes: number): string =>
  'Съешь же ещё этих мягких французских булок, \\n \\"и выпей чаю\\" 🍵 \\u00e9\\ud83c\\udf75 \\ud83c. '.repeat(
    Math.ceil(bytes / 105),
  );
const LONG = textOf(1.1 * LONG_BODY_BYTES);
const HALF = textOf(0.6 * LONG_BODY_BYTES);

const contentLogs = compileContentLogs(
  true,
  [{ id: "default", tenantId: "default", name: "Default" }],
  new Map([["default", toScopeSettings(scopeSettings.parse({ content_log: { enabled: true } }))]]),
  new Map(),
);
const policyOf = (action: string, mode = "enforce") =>
  policiesFor({ name: "mail", mode, guard: { action, on: "output", classes: ["email"] } });
const BESIDE: Readonly<Record<string, StubOptions>> = {
  "without guards": {},
  "under a guard that masks": { snapshot: { policies: policyOf("mask") } },
  "under a guard that blocks": { snapshot: { policies: policyOf("block") } },
  "under a guard that audits": { snapshot: { policies: policyOf("block", "audit") } },
  kept: { snapshot: { contentLogs } },
  "kept and masked": { snapshot: { contentLogs, policies: policyOf("mask") } },
};
const statusOf = (what: string): number => (what.endsWith("blocks") ? 403 : 200);

async function compared(
  ask: object,
  answers: readonly string[],
  options: () => StubOptions = () => ({}),
): Promise<SeenAnswer> {
  const here = await seenAnswer(ask, answers, null, { guards, ...options() });
  const there = await seenAnswer(ask, answers, longAnswers, { guards, ...options() });
  expect(there.bytes === here.bytes).toBe(true);
  expect({ ...there, bytes: "", written: 0 }).toEqual({ ...here, bytes: "", written: 0 });
  return there;
}

describe("several choices from several requests", () => {
  const choice = (text: string, figures = ',"prompt_eval_count":3,"eval_count":4'): string =>
    `{"model":"llama3","created_at":"2026-01-01T00:00:00Z","message":{"role":"assistant","content":"${text}"},"done":true,"done_reason":"stop","odd":12345678901234567890${figures}}`;
  const ask = { model: "ollama:llama3", n: 3, messages: [{ role: "user", content: "Hello" }] };
  const CHOICES: Readonly<Record<string, readonly string[]>> = {
    "all of them long": [choice(LONG), choice(`${LONG} ${MAIL}`), choice(LONG)],
    "one of them long": [choice(`x ${MAIL}`), choice(LONG), choice("y")],
    "long together": [choice(HALF), choice(HALF), choice(MAIL)],
    "some without figures": [choice(`${LONG} ${MAIL}`, ""), choice("x"), choice("y", "")],
  };
  for (const [what, answers] of Object.entries(CHOICES))
    for (const [beside, options] of Object.entries(BESIDE))
      test(`[d5.8] ${what}, ${beside}: the client's bytes, the record and the kept content are the same as with one thread`, async () => {
        const { status, written } = await compared(ask, answers, () => options);
        expect([status, written]).toEqual([statusOf(beside), 1]);
      });

  test("[d5.8] an unreadable answer fails the call as with one thread", async () => {
    for (const text of [LONG, "x"]) {
      const answers = [choice(text).slice(0, -10), choice(LONG)];
      expect((await compared({ ...ask, n: 2 }, answers)).status).toBe(502);
    }
  });

  test("[d5.8] short answers are merged in the thread that received them", async () => {
    expect((await compared(ask, [choice("x")])).written).toBe(0);
  });
});

const USAGE = '"usage":{"prompt_tokens":5,"completion_tokens":7,"total_tokens":12}';
const openai = (message: string, finish = "stop"): string =>
  `{"id":"chatcmpl-1","object":"chat.completion","created":1767000000,"model":"m-2026","odd":[1.10,12345678901234567890,"${textOf(4000)}"],"choices":[{"index":0,"message":${message},"logprobs":{"content":[{"token":"a","logprob":-1.5,"bytes":[97],"top_logprobs":[]}]},"finish_reason":"${finish}"}],${USAGE}}`;
const called = (name: string, args: string): string =>
  `{"id":"c-${name}","type":"function","function":{"name":"${name}","arguments":${JSON.stringify(args)}}}`;
const MESSAGES = [{ role: "user", content: "Hello" }];

describe("rounds of tools", () => {
  const tools = () => fakeToolServers({ sky: { weather: { run: ({ city }) => says(`Warm in ${city as string}.`) } } });
  const ask = {
    model: "openai:m",
    messages: MESSAGES,
    tools: [
      { type: "mcp", server_label: "sky", require_approval: "never" },
      { type: "function", function: { name: "own" } },
    ],
  };
  const asks = openai(
    `{"role":"assistant","content":"${LONG} ${MAIL}","reasoning_content":"${HALF}","tool_calls":[${called("sky__weather", `{"city":"${LONG}"}`)}]}`,
    "tool_calls",
  );
  const ends = openai(`{"role":"assistant","content":"${LONG}","odd":{"a":"${HALF}"}}`);
  const callsOwn = openai(
    `{"role":"assistant","content":null,"tool_calls":[${called("own", `{"a":"${LONG}"}`)}]}`,
    "tool_calls",
  );
  for (const [what, answers] of [
    ["a long round and a long answer", [asks, ends]],
    ["a long round and a short answer", [asks, '{"choices":[{"message":{"content":"Done."}}]}']],
    ["a long round, and calls that the client runs", [asks, callsOwn]],
  ] as const)
    for (const [beside, options] of Object.entries(BESIDE))
      test(`[d5.8] [d10.4] ${what}, ${beside}: the client's bytes, the record and the kept content are the same as with one thread`, async () => {
        const { status, written } = await compared(ask, answers, () => ({ ...options, tools: tools() }));
        const rounds = statusOf(beside) === 200 ? answers.filter(({ length }) => length > LONG_BODY_BYTES).length : 1;
        expect([status, written]).toEqual([statusOf(beside), rounds]);
      });

  for (const beside of ["without guards", "under a guard that masks"])
    test(`[d5.8] ${beside}, a round with more values than the gateway goes on with is a malformed answer`, async () => {
      const values = openai(`{"role":"assistant","content":"${MAIL}"}`).replace(
        '"odd":[',
        () => `"odd":[${"1,".repeat(400_001)}`,
      );
      const there = await seenAnswer(ask, [values], longAnswers, { guards, ...BESIDE[beside], tools: tools() });
      expect([there.status, (there.record as { readonly code: string }).code]).toEqual([
        502,
        "upstream_invalid_response",
      ]);
      expect(there.bytes).toContain("400000 JSON values");
    });
});

describe("a stream that was requested and arrived in one piece", () => {
  const CAME: Readonly<Record<string, string>> = {
    "a long text": openai(`{"role":"assistant","content":"${LONG} ${MAIL}"}`),
    "long arguments": openai(
      `{"role":"assistant","content":null,"tool_calls":[${called("f", `{"a":"${LONG} ${MAIL}"}`)},${called("g", "{}")}]}`,
      "tool_calls",
    ),
  };
  const ask = { model: "openai:m", stream: true, stream_options: { include_usage: true }, messages: MESSAGES };
  const tools = [
    { type: "function", function: { name: "f" } },
    { type: "function", function: { name: "g" } },
  ];
  for (const [what, answer] of Object.entries(CAME))
    for (const [beside, options] of Object.entries(BESIDE))
      test(`[d5.8] ${what}, ${beside}: the client's bytes, the record and the kept content are the same as with one thread`, async () => {
        const { written } = await compared({ ...ask, tools }, [answer], () => options);
        expect(written).toBe(1);
      });

  test("[d5.8] is a malformed answer with more values than an event may hold", async () => {
    const values = openai(`{"role":"assistant","content":"x"}`).replace('"odd":[', `"odd":[${"1,".repeat(400_001)}`);
    const there = await seenAnswer(ask, [values], longAnswers, { guards });
    expect([there.status, (there.record as { readonly code: string }).code]).toEqual([
      502,
      "upstream_invalid_response",
    ]);
  });
});
