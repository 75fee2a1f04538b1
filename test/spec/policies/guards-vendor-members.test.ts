// Promise 3.5: of an answer, guards search everything that a client may show, a vendor's own members in every place,
// plain and streamed, in the serving thread and in a thread of guards, for chat completions and translated forms.
import { afterAll, describe, expect, test } from "bun:test";
import type { Operation } from "../../../src/engine/operation.ts";
import { CHAT_COMPLETIONS } from "../../../src/operations/chat/chat-completions.ts";
import { MESSAGES } from "../../../src/operations/messages/messages.ts";
import { RESPONSES } from "../../../src/operations/responses/responses.ts";
import { cannedUpstream, stubGateway } from "../../harness/in-process.ts";
import { patientGuards } from "../../harness/patient-guards.ts";
import { eventStream } from "../../harness/servers/upstream.ts";
import { policiesFor } from "../../policies/policy-documents.ts";
import { HELLO } from "../chat-calls.ts";

const MAIL = "ada@mail.example.org";
const guards = patientGuards(1);
afterAll(() => guards.close());

const CALL = { id: "call_1", type: "function", function: { name: "send", arguments: "{}" } };
const USAGE = { prompt_tokens: 12_345_678, completion_tokens: 2, total_tokens: 12_345_680 };
interface Said {
  readonly id?: string;
  readonly top?: object;
  readonly choice?: object;
  readonly message?: {
    readonly tool_calls?: readonly object[];
    readonly reasoning_details?: readonly object[];
    readonly extra_content?: object;
  };
  readonly usage?: object;
}

/** An answer with members of a vendor, and where it has them; a mask can stand in their place, or the answer is refused. */
const PLACES: Readonly<Record<string, readonly [outcome: "masked" | "refused", said: Said]>> = {
  "a text in usage": ["masked", { usage: { note: `for ${MAIL}` } }],
  "a text inside usage": ["masked", { usage: { cost_details: { billed: [{ to: MAIL }] } } }],
  "a name in usage": ["masked", { usage: { by_user: { [MAIL]: 1 } } }],
  "the details of tokens": ["masked", { usage: { prompt_tokens_details: { cached_tokens: 1, note: MAIL } } }],
  "the provider's own reason": ["masked", { choice: { native_finish_reason: `STOP ${MAIL}` } }],
  "the fingerprint": ["masked", { top: { system_fingerprint: `fp ${MAIL}` } }],
  "the id of the answer": ["masked", { id: `for ${MAIL}` }],
  "a member of the answer": ["masked", { top: { vendor: { to: [MAIL] } } }],
  "a reason inside a member": ["masked", { top: { vendor: { finish_reason: MAIL, service_tier: MAIL } } }],
  "a member of the choice": ["masked", { choice: { vendor: { to: MAIL } } }],
  "a name in a member of the choice": ["masked", { choice: { vendor: { [MAIL]: 1 } } }],
  "a member of a tool call": ["masked", { message: { tool_calls: [{ ...CALL, extra_content: { to: MAIL } }] } }],
  "a list in a block of reasoning": [
    "masked",
    { message: { reasoning_details: [{ type: "reasoning.summary", summary: [{ text: `For ${MAIL}.` }], index: 0 }] } },
  ],
  "a member of a block of reasoning": [
    "masked",
    { message: { reasoning_details: [{ type: "reasoning.text", text: "Hm.", note: `for ${MAIL}`, index: 0 }] } },
  ],
  "the id of a block of reasoning": [
    "refused",
    { message: { reasoning_details: [{ type: "reasoning.text", text: "Hm.", id: MAIL, index: 0 }] } },
  ],
  "the id of a tool call": ["refused", { message: { tool_calls: [{ ...CALL, id: MAIL }] } }],
  "a type inside a member": ["refused", { top: { vendor: { type: MAIL } } }],
  "an id inside a member": ["refused", { top: { vendor: { id: MAIL } } }],
};

function plainOf({ id = "chatcmpl-1", top, choice, message, usage }: Said): string {
  return JSON.stringify({
    id,
    object: "chat.completion",
    created: 1_767_000_000,
    model: "m",
    choices: [
      { index: 0, finish_reason: "stop", message: { role: "assistant", content: "Hello", ...message }, ...choice },
    ],
    usage: { ...USAGE, ...usage },
    ...top,
  });
}

function streamOf({ id = "chatcmpl-1", top, choice, message, usage }: Said): string {
  const frame = { id, object: "chat.completion.chunk", created: 1_767_000_000, model: "m", ...top };
  const calls = message?.tool_calls;
  const delta = {
    ...message,
    ...(calls !== undefined && { tool_calls: calls.map((call, index) => ({ ...call, index })) }),
  };
  return eventStream(
    {
      ...frame,
      choices: [{ index: 0, delta: { role: "assistant", content: "Hello", ...delta }, finish_reason: null }],
    },
    { ...frame, choices: [{ index: 0, delta: {}, finish_reason: "stop", ...choice }] },
    { ...frame, choices: [], usage: { ...USAGE, ...usage } },
  );
}

const FORMS: Readonly<Record<string, readonly [Operation, object]>> = {
  "chat completions": [CHAT_COMPLETIONS, { messages: HELLO, stream_options: { include_usage: true } }],
  messages: [MESSAGES, { messages: HELLO, max_tokens: 9 }],
  responses: [RESPONSES, { input: "Hello" }],
};

test("[d3.5] the reasons and tiers of an answer are words of the protocol, which no pattern changes", async () => {
  const stub = stubGateway({
    upstream: cannedUpstream({
      body: plainOf({ top: { service_tier: "default" }, choice: { native_finish_reason: "stop" } }),
    }),
    snapshot: {
      policies: policiesFor({ name: "words", guard: { on: "output", patterns: ["stop", "default"], action: "mask" } }),
    },
  });
  const answer = await (await stub.chat({ model: "groq:m", messages: HELLO })).json();
  expect(answer).toMatchObject({
    service_tier: "default",
    choices: [{ finish_reason: "stop", native_finish_reason: "stop" }],
  });
});

async function shownOf(said: Said, stream: boolean, form: string, action: "mask" | "block", inThread = false) {
  const [operation, fields] = FORMS[form]!;
  const { stream_options: options, ...rest } = fields as { readonly stream_options?: object };
  // a pattern of many steps runs in the thread of guards
  const patterns = inThread ? ["(?:q?){900}z"] : [];
  const stub = stubGateway({
    guards,
    upstream: cannedUpstream({
      headers: { "content-type": stream ? "text/event-stream" : "application/json" },
      body: stream ? streamOf(said) : plainOf(said),
    }),
    snapshot: {
      policies: policiesFor({ name: "mail", guard: { on: "output", classes: ["email"], patterns, action } }),
    },
  });
  const answer = await stub.call(operation, {
    model: "groq:m",
    ...rest,
    ...(stream && { stream: true, ...(options !== undefined && { stream_options: options }) }),
  });
  return { status: answer.status, text: await answer.text() };
}

for (const [kind, stream] of [
  ["plain", false],
  ["streamed", true],
] as const)
  describe(`a ${kind} answer`, () => {
    for (const [place, [outcome, said]] of Object.entries(PLACES)) {
      test(`[d3.5] is searched in ${place}`, async () => {
        const { status, text } = await shownOf(said, stream, "chat completions", "mask");
        expect(text).not.toContain(MAIL);
        const isRefused = status === 403 || text.includes("policy_violation");
        expect([outcome, isRefused]).toEqual([outcome, outcome === "refused"]);
        if (outcome === "masked") expect(text).toContain("[email]");
        if (outcome === "masked") expect(text).toContain('"prompt_tokens":12345678');
        expect((await shownOf(said, stream, "chat completions", "block")).text).toContain("policy_violation");
      });
      test(`[d3.5] is searched in ${place}, in the forms of messages and responses`, async () => {
        for (const form of ["messages", "responses"])
          expect((await shownOf(said, stream, form, "mask")).text).not.toContain(MAIL);
      });
    }
    test("[d3.5] is searched by the thread of guards as well", async () => {
      for (const [place, [, said]] of Object.entries(PLACES)) {
        const { text } = await shownOf(said, stream, "chat completions", "mask", true);
        expect([place, text.includes(MAIL)]).toEqual([place, false]);
      }
    });
    test("[d3.3] has no log probabilities in a vendor's own members, where they would spell out what is masked", async () => {
      const tokens = ["Ask ", "ada@", "mail.example.org"].map((token) => ({ token, logprob: -0.5, top_logprobs: [] }));
      const part = { type: "output_text", text: `Ask ${MAIL}`, logprobs: tokens };
      const said = {
        message: { extra_content: { openai: { content: [{ type: "message", content: [part] }] } } },
        choice: { vendor: { logprobs: { content: tokens } } },
      };
      const { text } = await shownOf(said, stream, "chat completions", "mask");
      expect(text).toContain("Ask [email]");
      expect(text).not.toContain("ada@");
    });
    test("[d3.5] is searched in the numbers of a member of the choice", async () => {
      const stub = stubGateway({
        guards,
        upstream: cannedUpstream({
          headers: { "content-type": stream ? "text/event-stream" : "application/json" },
          body: (stream ? streamOf : plainOf)({ choice: { vendor: { card: 4_111_111_111_111_111 } } }),
        }),
        snapshot: {
          policies: policiesFor({ name: "cards", guard: { on: "output", classes: ["card"], action: "mask" } }),
        },
      });
      const text = await (await stub.chat({ model: "groq:m", messages: HELLO, stream })).text();
      expect(text).toContain('"card":"[card]"');
      expect(text).not.toContain("4111111111111111");
    });
    test("[d3.5] without a match goes out as it came, with its figures", async () => {
      const said = {
        usage: { cost: 0.001_234_567_8, queue: "fast", prompt_tokens_details: { cached_tokens: 12_345_678 } },
      };
      const { status, text } = await shownOf(said, stream, "chat completions", "mask");
      expect(status).toBe(200);
      expect(text).toContain('"cached_tokens":12345678');
      expect(text).toContain('"queue":"fast"');
    });
  });
