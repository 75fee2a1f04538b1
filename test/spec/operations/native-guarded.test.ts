// Promises 3.3, 12.2 and 12.3: guards on requests search what the client wrote in the form of its operation, and a target
// that speaks the operation is sent it with the matches masked and everything else byte for byte, short or long.
import { afterAll, describe, expect, test } from "bun:test";
import { patientGuards } from "../../harness/patient-guards.ts";
import { openLongBodyThread } from "../../../src/engine/long-bodies/long-body-thread.ts";
import { openLongRequests } from "../../../src/engine/long-bodies/long-requests.ts";
import type { Operation } from "../../../src/engine/operation.ts";
import { longBodyProgram } from "../../../src/operations/long-body-program.ts";
import { COUNT_TOKENS } from "../../../src/operations/messages/count-tokens.ts";
import { MESSAGES } from "../../../src/operations/messages/messages.ts";
import { RESPONSES } from "../../../src/operations/responses/responses.ts";
import { cannedUpstream, type Stub, stubGateway, type StubOptions } from "../../harness/in-process.ts";
import { providerSettings, storedKey } from "../../harness/targets.ts";
import { policiesFor } from "../../policies/policy-documents.ts";
import { NATIVE_MESSAGE, nativeUpstream } from "./native-answers.ts";

const thread = openLongBodyThread(longBodyProgram());
const longRequests = openLongRequests(thread);
const guards = patientGuards(1);
afterAll(async () => {
  await Promise.all([thread.close(), guards.close()]);
});

const MAIL = "ada@mail.example.org";
const mail = (guard: object = {}, more: object = {}): object => ({
  name: "mail",
  guard: { on: "input", classes: ["email"], action: "mask", ...guard },
  ...more,
});
const gateway = (policies: readonly object[], options: StubOptions = {}): Stub =>
  stubGateway({
    upstream: nativeUpstream(),
    guards,
    longRequests,
    snapshot: { policies: policiesFor(...policies) },
    ...options,
  });

/** Fills a body so that another thread holds it. */
const PADDING = `"${"The quick brown fox jumps over the lazy dog. ".repeat(100)}", `.repeat(120);
const padded = (body: string): string => body.replace(/\}$/, `,"padding_of_the_client":[${PADDING}"x"]}`);

const messages = (content: string, more = ""): string =>
  `{"model":"anthropic:claude-sonnet-5", "max_tokens":1e2,"messages":[{"role":"user","content":${content}}]${more}}`;
const responses = (input: string, more = ""): string =>
  `{"model":"openai:gpt-9","store":false, "input":${input}${more}}`;
const items = (...written: readonly string[]): string => `[{"role":"user","content":"x"},${written.join(",")}]`;
const base64 = (text: string): string => Buffer.from(text).toString("base64");

const CALL =
  '{"type":"function_call","call_id":"c1","name":"send","arguments":"{\\"to\\":\\"ada@mail.example.org\\"}"}';
const RESULT = '{"type":"function_call_output","call_id":"c1","output":"It went to ada@mail.example.org."}';
/** Bodies with one address that a guard finds, each in another place. */
const PLACES: Readonly<Record<string, readonly [Operation, string]>> = {
  "a text": [MESSAGES, messages(`"Write to ${MAIL}, 1.50"`)],
  "a text whose tokens are counted": [COUNT_TOKENS, messages(`"Write to ${MAIL}."`)],
  "a block with a cache mark": [
    MESSAGES,
    messages(`[{"type":"text","text":"To ${MAIL}", "cache_control":{"type":"ephemeral","ttl":"1h"}}]`),
  ],
  "the system prompt": [MESSAGES, messages('"x"', `,"system":[{"type":"text","text":"You are ${MAIL}"}]`)],
  "a member that nobody knows": [MESSAGES, messages('"x"', `,"later":{"depth":1.0,"to":[["${MAIL}"]]}`)],
  "a block of an unknown type": [
    MESSAGES,
    messages(`[{"type":"text","text":"x"},{"type":"text","text":"y","later":{"of":"${MAIL}"}}]`),
  ],
  "the description of a tool": [
    MESSAGES,
    messages('"x"', `,"tools":[{"name":"send","description":"Sends to ${MAIL}","input_schema":{"type":"object"}}]`),
  ],
  "the schema of a tool": [
    MESSAGES,
    messages(
      '"x"',
      `,"tools":[{"name":"send","input_schema":{"type":"object","properties":{"to":{"type":"string","description":"${MAIL}"}}}}]`,
    ),
  ],
  "who the end user is": [MESSAGES, messages('"x"', `,"metadata":{"user_id":"${MAIL}"}`)],
  "the input of a call": [
    MESSAGES,
    `{"model":"anthropic:claude-sonnet-5","max_tokens":9,"messages":[{"role":"user","content":"x"},{"role":"assistant","content":[{"type":"tool_use","id":"t1","name":"send","input":{"to":"${MAIL}","n":12345678901234567890}}]},{"role":"user","content":[{"type":"tool_result","tool_use_id":"t1","content":"ok"}]}]}`,
  ],
  "the result of a tool": [
    MESSAGES,
    `{"model":"anthropic:claude-sonnet-5","max_tokens":9,"messages":[{"role":"user","content":"x"},{"role":"assistant","content":[{"type":"tool_use","id":"t1","name":"send","input":{}}]},{"role":"user","content":[{"type":"tool_result","tool_use_id":"t1","content":[{"type":"text","text":"From ${MAIL}"}]}]}]}`,
  ],
  "a document that is a text": [
    MESSAGES,
    messages(`[{"type":"document","source":{"type":"text","media_type":"text/plain","data":"By ${MAIL}"}}]`),
  ],
  "the title of a document": [
    MESSAGES,
    messages(
      `[{"type":"document","title":"${MAIL}","source":{"type":"base64","media_type":"application/pdf","data":"JVBERi0xLjQK"}}]`,
    ),
  ],
  "a sequence that stops": [MESSAGES, messages('"x"', `,"stop_sequences":["${MAIL}"]`)],
  "the input as a text": [RESPONSES, responses(`"Write to ${MAIL}"`)],
  "the instructions": [RESPONSES, responses('"x"', `,"instructions":"You are ${MAIL}"`)],
  "an item": [
    RESPONSES,
    responses(items(`{"type":"message","role":"user","content":[{"type":"input_text","text":"${MAIL}"}]}`)),
  ],
  "arguments of a call": [RESPONSES, responses(items(CALL, RESULT.replace(MAIL, "him")))],
  "the output of a call": [RESPONSES, responses(items(CALL.replace(MAIL, "him"), RESULT))],
  "the input of a custom tool": [
    RESPONSES,
    responses(
      items(
        `{"type":"custom_tool_call","call_id":"c1","name":"patch","input":"+ ${MAIL}"}`,
        '{"type":"custom_tool_call_output","call_id":"c1","output":"ok"}',
      ),
    ),
  ],
  "the summary of reasoning": [
    RESPONSES,
    responses(
      items(
        `{"type":"reasoning","id":"rs_1","encrypted_content":"gAAAA","summary":[{"type":"summary_text","text":"It is ${MAIL}"}]}`,
      ),
    ),
  ],
  "a setting that is no number": [RESPONSES, responses('"x"', `,"seed":"${MAIL}"`)],
  "an object in place of a number": [MESSAGES, messages('"x"', `,"top_k":{"note":"${MAIL}"}`)],
  "a tool's argument beside one that is called server_url": [
    RESPONSES,
    responses(
      '"x"',
      `,"tools":[{"type":"function","name":"call","strict":false,"parameters":{"type":"object","properties":{"server_url":{"type":"string"},"headers":{"type":"string","description":"As ${MAIL}"}}}}]`,
    ),
  ],
  "a tool of a namespace": [
    RESPONSES,
    responses(
      '"x"',
      `,"tools":[{"type":"namespace","name":"mail","description":"Of ${MAIL}","tools":[{"type":"function","name":"send","strict":false,"parameters":{"type":"object"}}]}]`,
    ),
  ],
  "a tool with a grammar": [
    RESPONSES,
    responses(
      '"x"',
      `,"tools":[{"type":"custom","name":"patch","format":{"type":"grammar","syntax":"lark","definition":"start: /${MAIL}/"}}]`,
    ),
  ],
  "metadata, which such a target is sent": [RESPONSES, responses('"x"', `,"metadata":{"of":"${MAIL}"}`)],
};

const textOf = ({ body, bytes }: Stub["sent"][number]): string =>
  bytes === undefined ? body : Buffer.from(bytes).toString("utf8");
const named = (body: string): string =>
  body.replace('"anthropic:claude-sonnet-5"', '"claude-sonnet-5"').replace('"openai:gpt-9"', '"gpt-9"');

describe("[d3.3 d12.3] a guard on requests", () => {
  for (const isLong of [false, true])
    describe(isLong ? "[d5.8] over a long body" : "over a short body", () => {
      const bodyOf = (written: string): string => (isLong ? padded(written) : written);

      for (const [what, [operation, written]] of Object.entries(PLACES))
        test(`masks ${what}, and everything else goes out byte for byte`, async () => {
          const body = bodyOf(written);
          const stub = gateway([mail()]);
          const response = await stub.call(operation, body);
          expect([response.status, stub.sent.length]).toEqual([200, 1]);
          expect(stub.sent[0]!.bytes !== undefined).toBe(isLong);
          expect(textOf(stub.sent[0]!) === named(body).replace(MAIL, "[email]")).toBe(true);
          expect(stub.records[0]!.policies).toEqual([{ name: "mail", effect: "masked" }]);
        });

      test("blocks what it finds anywhere, and nothing goes out", async () => {
        for (const [operation, written] of Object.values(PLACES)) {
          const stub = gateway([mail({ action: "block" })]);
          const response = await stub.call(operation, bodyOf(written));
          expect([response.status, stub.sent.length]).toEqual([403, 0]);
          expect(stub.records[0]).toMatchObject({
            code: "policy_violation",
            policies: [{ name: "mail", effect: "denied" }],
          });
        }
      });

      test("in audit changes nothing, and the record has what it found", async () => {
        for (const what of ["a text", "a member that nobody knows", "metadata, which such a target is sent"]) {
          const [operation, written] = PLACES[what]!;
          const stub = gateway([mail({}, { mode: "audit" })]);
          const body = bodyOf(written);
          expect((await stub.call(operation, body)).status).toBe(200);
          expect(textOf(stub.sent[0]!) === named(body)).toBe(true);
          expect(stub.records[0]!.policies).toEqual([{ name: "mail", effect: "would_deny" }]);
        }
      });

      test("finds a match that is divided between blocks", async () => {
        const body = bodyOf(messages('[{"type":"text","text":"to ada@ma"},{"type":"text","text":"il.example.org!"}]'));
        const stub = gateway([mail()]);
        expect((await stub.call(MESSAGES, body)).status).toBe(200);
        expect(textOf(stub.sent[0]!)).not.toMatch(/ada@ma|il\.example/);
      });

      test("refuses what cannot be masked in its place", async () => {
        const at = (more: string): string => bodyOf(messages('"x"', more));
        for (const body of [
          at(`,"${MAIL}":1`),
          at(',"tools":[{"name":"send","input_schema":{"type":"object","properties":{"ada@mail.example.org":{}}}}]'),
          at(`,"thinking":{"type":"${MAIL}"}`),
        ]) {
          const stub = gateway([mail()]);
          expect([(await stub.call(MESSAGES, body)).status, stub.sent.length]).toEqual([403, 0]);
        }
      });

      test("leaves the vendor's sealed bytes and files that are no text as they are", async () => {
        const sealed = base64("\u0000".repeat(8) + MAIL.repeat(4));
        const body = bodyOf(
          `{"model":"anthropic:claude-sonnet-5","max_tokens":9,"messages":[{"role":"user","content":[{"type":"image","source":{"type":"base64","media_type":"image/png","data":"iVBORw0KGgo="}}]},{"role":"assistant","content":[{"type":"thinking","thinking":"Hm.","signature":"${sealed}"},{"type":"redacted_thinking","data":"${sealed}"},{"type":"text","text":"x"}]},{"role":"user","content":"To ${MAIL}"}]}`,
        );
        const stub = gateway([mail()]);
        expect((await stub.call(MESSAGES, body)).status).toBe(200);
        expect(textOf(stub.sent[0]!) === named(body).replace(MAIL, "[email]")).toBe(true);
      });

      test("with a pattern like the words of the form masks the client's own words alone", async () => {
        const written = messages(
          '[{"type":"text","text":"ephemeral system tool_result","cache_control":{"type":"ephemeral"}}]',
          ',"system":[{"type":"text","text":"x"}],"thinking":{"type":"adaptive"},"output_config":{"effort":"high"}',
        );
        const stub = gateway([
          mail({ classes: [], patterns: ["ephemeral|system|tool_result|adaptive|content|messages"] }),
        ]);
        expect((await stub.call(MESSAGES, bodyOf(written))).status).toBe(200);
        const sent = JSON.parse(textOf(stub.sent[0]!));
        const asked = JSON.parse(written);
        const [{ text, ...block }] = sent.messages[0].content;
        expect(block).toEqual({ type: "text", cache_control: { type: "ephemeral" } });
        for (const name of ["system", "thinking", "output_config"]) expect(sent[name]).toEqual(asked[name]);
        expect(text).not.toMatch(/ephemeral|system|tool_result/);
      });

      test("for one target alone masks for that target alone", async () => {
        const stub = gateway([mail({}, { scope: { provider: "vertex" } })], {
          upstream: cannedUpstream(({ url }) =>
            url.includes("anthropic.com")
              ? { status: 529, body: '{"type":"error","error":{"type":"overloaded_error","message":"Overloaded"}}' }
              : NATIVE_MESSAGE,
          ),
        });
        const body = bodyOf(messages(`"To ${MAIL}"`, ',"x_gateway":{"fallbacks":[{"model":"vertex:claude-b"}]}'));
        expect((await stub.call(MESSAGES, body)).status).toBe(200);
        expect(stub.sent.map((one) => textOf(one).includes(MAIL))).toEqual([true, false]);
      });

      test("masks parameters of an entry of fallbacks", async () => {
        let calls = 0;
        const stub = gateway([mail()], {
          upstream: cannedUpstream(() =>
            calls++ === 0
              ? { status: 529, body: '{"type":"error","error":{"type":"overloaded_error","message":"Overloaded"}}' }
              : NATIVE_MESSAGE,
          ),
        });
        const fallbacks = `,"x_gateway":{"fallbacks":[{"model":"anthropic:claude-b","later":{"of":"${MAIL}"}}]}`;
        expect((await stub.call(MESSAGES, bodyOf(messages('"x"', fallbacks)))).status).toBe(200);
        expect(textOf(stub.sent[1]!)).toContain('"later":{"of":"[email]"}');
      });
    });
});

describe("a rule about tools", () => {
  const HOSTED = ["anthropic", "openai"].map((id) =>
    providerSettings({ id, credentials: [storedKey("k")], hostedTools: ["*"] }),
  );
  const TOOLS: readonly (readonly [rule: string, operation: Operation, body: string])[] = [
    [
      'request.tools.exists(type, type.startsWith("web_search"))',
      MESSAGES,
      messages(
        '"x"',
        ',"tools":[{"name":"a","input_schema":{"type":"object"}},{"type":"web_search_20250305","name":"web_search"}]',
      ),
    ],
    [
      '"web_search" in request.tool_names',
      MESSAGES,
      messages('"x"', ',"tools":[{"type":"web_search_20250305","name":"web_search"}]'),
    ],
    [
      '"bash_20250124" in request.tools',
      MESSAGES,
      messages('"x"', ',"tools":[{"type":"bash_20250124","name":"bash"}]'),
    ],
    ['"web_search" in request.tools', RESPONSES, responses('"x"', ',"tools":[{"type":"web_search"}]')],
    [
      'request.tools == ["mcp"] && request.tool_names == ["drive"]',
      RESPONSES,
      responses('"x"', ',"tools":[{"type":"mcp","server_label":"drive","connector_id":"connector_googledrive"}]'),
    ],
    [
      '"web_search" in request.tools',
      RESPONSES,
      responses(
        '[{"type":"additional_tools","role":"developer","tools":[{"type":"web_search"}]},{"role":"user","content":"x"}]',
      ),
    ],
    [
      '"web_search_20250305" in request.tools && "later" in request.tool_names',
      MESSAGES,
      messages(
        '"x"},{"role":"system","content":[{"type":"tool_addition","tool":{"type":"tool_definition","definition":{"type":"web_search_20250305","name":"later"}}}]',
      ),
    ],
    [
      '"web_search_20250305" in request.tools && "later" in request.tool_names',
      MESSAGES,
      messages(
        '"x"},{"role":"assistant","content":[{"type":"compaction","content":"So far.","tool_changes":[{"type":"tool_addition","tool":{"type":"tool_definition","definition":{"type":"web_search_20250305","name":"later"}}}]}]},{"role":"user","content":"Go on."',
      ),
    ],
  ];
  for (const [length, bodyOf] of [
    ["short", (body: string) => body],
    ["long", padded],
  ] as const)
    test.each(TOOLS)(
      `[d3.1, d12.2] %s sees what a native target is sent, in a ${length} body`,
      async (rule, operation, body) => {
        const outcome = async (policies: readonly object[]): Promise<readonly unknown[]> => {
          const stub = gateway(policies, { providers: HOSTED });
          const response = await stub.call(operation, bodyOf(body));
          return [response.status, response.headers.get("x-gateway-error-code"), stub.sent.length];
        };
        expect(await outcome([{ name: "others", rule: `size(request.tools) == 0` }])).toEqual([200, null, 1]);
        expect(await outcome([{ name: "tools", rule }])).toEqual([403, "policy_violation", 0]);
      },
    );
});

describe("a rule about fields that are passed through", () => {
  const LONG = `"${"The quick brown fox jumps over the lazy dog. ".repeat(12_500)}"`;
  const MEMBERS: readonly (readonly [rule: string, operation: Operation, of: (text: string) => string])[] = [
    ['"speed" in request.extra', MESSAGES, (text) => messages(text, ',"speed":"fast"')],
    ["request.extra.later.depth == 1", MESSAGES, (text) => messages(text, ',"later":{"depth":1}')],
    ['"later" in request.extra', RESPONSES, (text) => responses(text, ',"later":true')],
  ];
  for (const [length, text] of [
    ["short", '"x"'],
    ["long", LONG],
  ] as const)
    test.each(MEMBERS)(
      `[d3.1, d12.2] %s sees what a native target is sent, in a ${length} body`,
      async (rule, operation, of) => {
        const outcome = async (name: string, condition: string): Promise<readonly unknown[]> => {
          const stub = gateway([{ name, rule: condition }]);
          const response = await stub.call(operation, of(text));
          return [response.status, response.headers.get("x-gateway-error-code"), stub.sent.length];
        };
        expect(await outcome("others", "size(request.extra) == 0")).toEqual([200, null, 1]);
        expect(await outcome("members", rule)).toEqual([403, "policy_violation", 0]);
      },
    );
  test("[d3.1] fails, and so denies, where another thread holds a long one", async () => {
    const stub = gateway([{ name: "members", rule: '"speed" in request.extra' }]);
    expect((await stub.call(MESSAGES, padded(messages('"x"')))).status).toBe(403);
    expect(stub.sent).toEqual([]);
  });
});
