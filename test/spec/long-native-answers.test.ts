// Promises 5.8 and 12.5: a long answer of a target that speaks the operation is read and completed in another thread. The
// client's answer, what is kept, and the record are the same as with one thread.
import { afterAll, describe, expect, test } from "bun:test";
import { KeptObjects } from "../../src/engine/keeping/kept-objects.ts";
import { openLongAnswers } from "../../src/engine/long-bodies/long-answers.ts";
import { LONG_BODY_BYTES, openLongBodyThread } from "../../src/engine/long-bodies/long-body-thread.ts";
import type { Operation } from "../../src/engine/operation.ts";
import { compileContentLogs } from "../../src/auth/content-settings.ts";
import { scopeSettings, toScopeSettings } from "../../src/auth/scope-settings.ts";
import { longBodyProgram } from "../../src/operations/long-body-program.ts";
import { MESSAGES } from "../../src/operations/messages/messages.ts";
import { RESPONSES } from "../../src/operations/responses/responses.ts";
import { cannedUpstream, stubGateway, type StubOptions } from "../harness/in-process.ts";
import { providerSettings, storedKey } from "../harness/targets.ts";
import { type SeenAnswer, seenAnswer } from "./seen-answer.ts";

const thread = openLongBodyThread(longBodyProgram());
const answers = openLongAnswers(thread);
afterAll(() => thread.close());

/** As it stands between the quotes of JSON. */
const LONG = 'Съешь же ещё этих мягких французских булок, \\n \\"и выпей чаю\\" 🍵 \\u00e9\\ud83c\\udf75. '.repeat(
  Math.ceil((1.5 * LONG_BODY_BYTES) / 100),
);
const message = (content: string, more = ',"usage":{"input_tokens":3,"output_tokens":2}'): string =>
  `{ "id":"msg_1","type":"message","role":"assistant","model":"claude-2026",\n"content":[${content}],"stop_reason":"end_turn","stop_sequence":null${more}}`;
const response = (output: string, more = ""): string =>
  `{"id":"resp_1", "object":"response","created_at":1767000000,"status":"completed","model":"gpt-2026","output":[${output}],"usage":{"input_tokens":3,"input_tokens_details":{"cached_tokens":0},"output_tokens":2,"output_tokens_details":{"reasoning_tokens":0},"total_tokens":5}${more}}`;
const item = (text: string): string =>
  `{"id":"i_1","type":"message","status":"completed","role":"assistant","content":[{"type":"output_text","annotations":[],"logprobs":[],"text":${text}}]}`;
const TEXT = `{"type":"text","text":"${LONG}"}`;
const ASK = { model: "anthropic:claude", max_tokens: 9, messages: [{ role: "user", content: "Hello" }] };
const RESPOND = { model: "openai:gpt-9", input: "Hello" };

const ANSWERS: Readonly<Record<string, readonly [operation: Operation, ask: object, answer: string]>> = {
  "a message": [MESSAGES, ASK, message(TEXT)],
  "a message with what nobody knows": [
    MESSAGES,
    ASK,
    message(
      `${TEXT},{"type":"block_of_tomorrow","n":1.10,"big":12345678901234567890}`,
      ',"usage":{"input_tokens":3,"output_tokens":2},"later":{"__proto__":1,"a":[1e400]}',
    ),
  ],
  "a message with the call of a tool": [
    MESSAGES,
    { ...ASK, tools: [{ name: "f", input_schema: { type: "object" } }] },
    message(`{"type":"tool_use","id":"t1","name":"f","input":{"a":"${LONG}"}}`),
  ],
  "a message that repeats the key": [
    MESSAGES,
    ASK,
    message(`${TEXT},{"type":"text","text":"sk-of-the-operator-0123456789"}`),
  ],
  "a message that lacks nearly everything": [MESSAGES, ASK, `{"content":[${TEXT}]}`],
  "an error in place of a message": [
    MESSAGES,
    ASK,
    `{"type":"error","error":{"type":"overloaded_error","message":"Overloaded"},"later":"${LONG}"}`,
  ],
  "what is no message": [MESSAGES, ASK, `[1,"${LONG}"]`],
  "what is no JSON": [MESSAGES, ASK, `{"content":[${TEXT}]`],
  "a stream that the provider answers with a message": [MESSAGES, { ...ASK, stream: true }, message(TEXT)],
  "a response": [RESPONSES, RESPOND, response(item(`"${LONG}"`))],
  "a response with parts that lack members": [
    RESPONSES,
    RESPOND,
    response(`{"id":"i_1","type":"message","content":[{"type":"output_text","text":"${LONG}"}]}`),
  ],
  "a response whose content is one text": [
    RESPONSES,
    RESPOND,
    response(`{"id":"i_1","type":"message","role":"assistant","content":"${LONG}"}`),
  ],
  "a response with an image": [
    RESPONSES,
    RESPOND,
    response(
      `{"id":"ig_1","type":"image_generation_call","status":"completed","result":"${"iVBORw0KGgo".repeat(60_000)}"}`,
    ),
  ],
};

const seen = (what: string, there: boolean, options: StubOptions = {}): Promise<SeenAnswer> => {
  const [operation, ask, answer] = ANSWERS[what]!;
  return seenAnswer(ask, [answer], there ? answers : null, { operation, ...options });
};
/** Without ids that the gateway makes. */
const shown = ({ bytes }: SeenAnswer): string => bytes.replaceAll(/(?:resp|item|msg)_[0-9A-Za-z]{16,}/g, "");

describe("[d5.8 d12.5] a long native answer", () => {
  for (const what of Object.keys(ANSWERS))
    test(`${what}: the client's bytes, the head, what is kept and the record are those of one thread`, async () => {
      const options: StubOptions = {
        providers: ["anthropic", "openai"].map((id) =>
          providerSettings({ id, family: id, credentials: [storedKey("sk-of-the-operator-0123456789")] }),
        ),
        snapshot: {
          contentLogs: compileContentLogs(
            true,
            [{ id: "default", tenantId: "default", name: "Default" }],
            new Map([["default", toScopeSettings(scopeSettings.parse({ content_log: { enabled: true } }))]]),
            new Map(),
          ),
        },
      };
      const [here, there] = [await seen(what, false, options), await seen(what, true, options)];
      expect([here.written, there.written]).toEqual([0, 1]);
      expect(there.record).toEqual(here.record);
      expect(there.status).toBe(here.status);
      expect(there.headers).toEqual(here.headers);
      expect(there.content).toEqual(here.content);
      expect(shown(there) === shown(here)).toBe(true);
      expect(shown(there)).not.toContain("sk-of-the-operator");
    });

  test("a message passes byte for byte, but for the model", async () => {
    const { bytes, status } = await seen("a message with what nobody knows", true);
    const [, , answer] = ANSWERS["a message with what nobody knows"]!;
    expect(status).toBe(200);
    expect(Buffer.from(bytes, "latin1").toString() === answer.replace("claude-2026", "anthropic:claude")).toBe(true);
  });

  test("[d12.8] a response is kept, and a later one can refer to it", async () => {
    const clock = { now: () => 1_767_225_600_000, monotonic: () => performance.now() };
    const stub = stubGateway({
      clock,
      kept: new KeptObjects(clock),
      longAnswers: answers,
      upstream: cannedUpstream({
        headers: { "content-type": "application/json" },
        body: ANSWERS["a response"]![2],
      }),
    });
    const first = await stub.call(RESPONSES, RESPOND);
    expect(first.headers.get("x-gateway-response-kept-until")).not.toBeNull();
    const { id } = (await first.json()) as { readonly id: string };
    const second = await stub.call(RESPONSES, { ...RESPOND, input: "And now?", previous_response_id: id });
    expect(second.status).toBe(200);
    const sent = JSON.parse(stub.sent[1]!.body) as Record<string, any>;
    expect(sent["input"][1].content[0].text === JSON.parse(`"${LONG}"`)).toBe(true);
    expect(sent["input"].at(-1).content).toBe("And now?");
  });
});
