// Promises 5.8, 12.3 and 12.9: a long body goes to a target that speaks the operation as the client wrote it, like a
// short one, and the thread that holds it writes what goes out.
import { afterAll, describe, expect, test } from "bun:test";
import { LONG_BODY_BYTES, openLongBodyThread } from "../../../src/engine/long-bodies/long-body-thread.ts";
import { openLongRequests } from "../../../src/engine/long-bodies/long-requests.ts";
import type { Operation } from "../../../src/engine/operation.ts";
import { longBodyProgram } from "../../../src/operations/long-body-program.ts";
import { COUNT_TOKENS } from "../../../src/operations/messages/count-tokens.ts";
import { MESSAGES } from "../../../src/operations/messages/messages.ts";
import { RESPONSES } from "../../../src/operations/responses/responses.ts";
import { cannedUpstream, type StubOptions } from "../../harness/in-process.ts";
import { limitSet } from "../../harness/limited.ts";
import { providerSettings, storedKey } from "../../harness/targets.ts";
import { NATIVE_MESSAGE, nativeUpstream } from "../operations/native-answers.ts";
import { seen } from "../seen-call.ts";

const thread = openLongBodyThread(longBodyProgram());
const longRequests = openLongRequests(thread);
afterAll(() => thread.close());

const LONG = 'Съешь ещё этих мягких французских булок, \\n \\"и выпей чаю\\" 🍵. '.repeat(
  Math.ceil((1.5 * LONG_BODY_BYTES) / 90),
);
const MARK = '"cache_control": {"type": "ephemeral", "ttl":"1h"}';
const TOOLS = `"tools":[{"name":"weather","input_schema":{"type":"object","properties":{"file_id":{"type":"string"}}},${MARK}, "new_of_tools":1.0}]`;
/** As a client may write it: with spaces, numbers in several spellings, escapes, and members that nobody knows. */
const messages = (more: string, model = "anthropic:claude-sonnet-5"): string =>
  `{ "model": "${model}",\n "max_tokens": 1e3, "system":[{"type":"text","text":"Be brief.",${MARK}}], "messages":[
  {"role":"user","content":[{"type":"text","text":"${LONG}",${MARK}}, {"type":"block_of_tomorrow","depth":1.50}]},
  {"role":"assistant","content":[{"type":"thinking","thinking":"Hm.","signature":"EqQBCkYIBxgCKkA="},{"type":"tool_use","id":"toolu_1","name":"weather","input":{"file_id":"\\u00e9","n":12345678901234567890}}]},
  {"role":"user","content":[{"type":"tool_result","tool_use_id":"toolu_1","content":[{"type":"text","text":"Rain"}]}]}]
  , "unknown": {"a":[1.0, 2e2,null], "__proto__":{"b":1}}${more}}`;
const KNOWN = (body: string): string => body.replace(/, \{"type":"block_of_tomorrow","depth":1.50\}/, "");
const responses = (more: string, model = "openai:gpt-9"): string =>
  `{"model":"${model}","instructions":"Be brief.", "input":[{"type":"message","role":"user","content":[{"type":"input_text","text":"${LONG}"}]},{"type":"reasoning","id":"rs_1","summary":[],"encrypted_content":"gAAAA"}], "unknown":[1.0]${more}}`;

const ALL = ["anthropic", "openai", "bedrock", "vertex", "gemini"];
const upstream = nativeUpstream();
const OF_GEMINI =
  '{"candidates":[{"content":{"role":"model","parts":[{"text":"x"}]},"finishReason":"STOP"}],"usageMetadata":{"promptTokenCount":1,"candidatesTokenCount":1,"totalTokenCount":2}}';
const failingFirst = cannedUpstream(({ url }) =>
  url.includes("anthropic.com")
    ? { status: 529, body: '{"type":"error","error":{"type":"overloaded_error","message":"Overloaded"}}' }
    : url.includes("gemini")
      ? { headers: { "content-type": "application/json" }, body: OF_GEMINI }
      : NATIVE_MESSAGE,
);
const isHosted = (id: string): StubOptions => ({
  providers: [
    providerSettings({
      id,
      family: id,
      credentials: [storedKey("key")],
      hostedTools: ["web_search*"],
      vendorStore: true,
    }),
  ],
});

interface Asked {
  readonly operation: Operation;
  readonly body: string;
  readonly options?: StubOptions;
  readonly headers?: Record<string, string>;
}

const SEARCH = ',"tools":[{"type":"web_search_20250305","name":"web_search"}]';
const ASKED: Readonly<Record<string, Asked>> = {
  "a message": { operation: MESSAGES, body: messages(`,${TOOLS}`), headers: { "anthropic-beta": "b-1,a-2" } },
  "a stream of a message": { operation: MESSAGES, body: messages(',"stream":true') },
  "a message at Bedrock": {
    operation: MESSAGES,
    body: messages(',"anthropic_beta":["own-1"]', "bedrock:anthropic.claude-opus-4-5"),
    headers: { "anthropic-beta": "b-1" },
  },
  "a message at Vertex AI": { operation: MESSAGES, body: messages("", "vertex:claude-sonnet-5") },
  "a message at a higher speed and price": {
    operation: MESSAGES,
    body: messages(',"speed":"fast","inference_geo":"us"', "anthropic:claude-opus-5"),
    options: { snapshot: { limitRules: limitSet({ budgets: { money: { usd: "1000", window: "day" } } }) } },
  },
  "a count of tokens": { operation: COUNT_TOKENS, body: messages("") },
  "a response": { operation: RESPONSES, body: responses("") },
  "a response that is stored at the vendor": {
    operation: RESPONSES,
    body: responses(',"store":true'),
    options: isHosted("openai"),
  },
  "a hosted tool that is refused": { operation: MESSAGES, body: messages(SEARCH) },
  "a hosted tool that is dropped": {
    operation: MESSAGES,
    body: messages(`${SEARCH},"x_gateway":{"drop_params":true}`),
  },
  "a hosted tool that is allowed": {
    operation: MESSAGES,
    body: messages(SEARCH),
    options: isHosted("anthropic"),
  },
  "a member that needs a permission": {
    operation: MESSAGES,
    body: messages(',"mcp_servers":[{"type":"url","url":"https://a.test"}]'),
    options: { permissions: [] },
  },
  "the same with the permission": {
    operation: MESSAGES,
    body: messages(',"mcp_servers":[{"type":"url","url":"https://a.test"}]'),
  },
  "a tool's address without the permission": {
    operation: RESPONSES,
    body: responses(
      ',"tools":[{"type":"mcp","server_label":"a","server_url":"https://a.test","require_approval":"never"}]',
    ),
    options: { ...isHosted("openai"), permissions: [] },
  },
  "an id of a vendor's thing": {
    operation: MESSAGES,
    body: messages("").replace(
      '{"type":"text","text":"Rain"}',
      '{"type":"image","source":{"type":"file","file_id":"f_1"}}',
    ),
  },
  "the same, spelled with escapes": {
    operation: MESSAGES,
    body: messages(',"other":{"file\\u005fid":"f_1"}'),
  },
  "the same with the permission for it": {
    operation: MESSAGES,
    body: messages(',"other":{"file_id":"f_1"}'),
    options: { permissions: ["vendor_objects"] },
  },
  "work in the background": { operation: RESPONSES, body: responses(',"background":true') },
  "members of the gateway": { operation: MESSAGES, body: messages(',"x_gateway":{"timeout":30,"cache":false}') },
  "an entry of fallbacks with parameters": {
    operation: MESSAGES,
    body: messages(
      ',"temperature":0.5,"x_gateway":{"fallbacks":[{"model":"vertex:claude-b","max_tokens":5,"temperature":null,"top_k":3}]}',
    ),
    options: { upstream: failingFirst },
  },
  "a fallback that is sent the translation": {
    operation: MESSAGES,
    body: KNOWN(messages(',"x_gateway":{"drop_params":true,"fallbacks":[{"model":"gemini:gemini-2.5-pro"}]}')),
    options: { upstream: failingFirst },
  },
  "a carrier of another target": {
    operation: MESSAGES,
    body: messages("").replace("EqQBCkYIBxgCKkA=", "dragoman1.AAAA.dragoman"),
  },
  "a carrier of another target in a response": {
    operation: RESPONSES,
    body: responses("").replace("gAAAA", "dragoman1.AAAA.dragoman"),
  },
  "a response whose tools have a bound that no double holds": {
    operation: RESPONSES,
    body: responses(
      ',"tools":[{"type":"function","name":"f","strict":false,"parameters":{"type":"object","properties":{"n":{"type":"integer","maximum":9223372036854775807}}}}]',
    ),
  },
  "a message without messages": { operation: MESSAGES, body: `{"model":"anthropic:m","max_tokens":1,"x":"${LONG}"}` },
};

describe("[d5.8 d12.3] long and native", () => {
  for (const [what, { operation, body, options = {}, headers }] of Object.entries(ASKED))
    test(`${what}: what goes out, the answer and the record are those of a short body`, async () => {
      expect(Buffer.byteLength(body)).toBeGreaterThan(LONG_BODY_BYTES);
      const providers = ALL.map((id) => providerSettings({ id, family: id, credentials: [storedKey("key")] }));
      const all = { providers, upstream, operation, ...options };
      const [here, there] = [await seen(body, null, all, headers), await seen(body, longRequests, all, headers)];
      const plain = (one: typeof here) => ({
        ...one,
        // ids that differ from call to call
        text: one.text.replaceAll(/"(request_id|id)":"[^"]*"|"(created_at|completed_at)":\d+/g, ""),
        sent: one.sent.map(({ inThread: _inThread, headers: sent, ...rest }) => ({
          ...rest,
          // the thread has signed the request
          headers: Object.keys(sent as object).filter((name) => !/authorization|amz-|api-key/i.test(name)),
        })),
      });
      expect(plain(there)).toEqual(plain(here));
      for (const { inThread } of there.sent) expect(inThread).toBe(true);
    });

  test("the body goes out byte for byte, but for the model", async () => {
    const body = messages(`,${TOOLS}`);
    const { sent, status } = await seen(body, longRequests, { upstream, operation: MESSAGES });
    expect([status, sent[0]!.url]).toEqual([200, "https://api.anthropic.com/v1/messages"]);
    expect(sent[0]!.body === body.replace("anthropic:claude-sonnet-5", "claude-sonnet-5")).toBe(true);
  });

  test("the body goes out byte for byte without the citations that the gateway has made", async () => {
    const cited = (index: string): string =>
      `{"type":"web_search_result_location","url":"https://one.test","title":"A page","cited_text":"","encrypted_index":"${index}"}`;
    const said = (...citations: readonly string[]): string =>
      `{"type":"text", "text":"H\\u0069"${citations.length === 0 ? "" : `,"citations":[${citations.join(",")}]`}},`;
    const whole = messages("");
    const before = '{"type":"thinking"';
    const sentBack = (...texts: readonly string[]): string => whole.replace(before, `${texts.join("")}${before}`);
    const { body: sent } = (
      await seen(sentBack(said(cited("")), said(cited(""), cited("Eo8B"))), longRequests, {
        upstream,
        operation: MESSAGES,
      })
    ).sent[0]!;
    const left = sentBack(said(), said(cited("Eo8B")));
    expect(sent === left.replace("anthropic:claude-sonnet-5", "claude-sonnet-5")).toBe(true);
  });

  test("[d12.9] carriers of the gateway are not sent to a vendor, and this is told", async () => {
    for (const [operation, body] of [
      [MESSAGES, messages("").replace("EqQBCkYIBxgCKkA=", "dragoman1.AAAA.dragoman")],
      [RESPONSES, responses("").replace("gAAAA", "dragoman1.AAAA.dragoman")],
    ] as const) {
      const { sent, record } = await seen(body, longRequests, { upstream, operation });
      expect(sent[0]!.body).not.toContain("dragoman");
      expect(sent[0]!.body.length).toBeGreaterThan(LONG_BODY_BYTES / 2);
      expect(record).toMatchObject({ warnings: ["reasoning_left_out"] });
    }
  });

  test("[d12.15] the id of a vendor's thing is refused however its name is spelled, in short and long bodies", async () => {
    const short = '{"model":"anthropic:m","max_tokens":9,"messages":[{"role":"user","content":"x"}]';
    for (const more of [
      ',"other":{"file_id":"f_1"}}',
      ',"other":{"file\\u005fid":"f_1"}}',
      ',"other":{"f\\u0069le_id":"f_1"}}',
    ])
      for (const body of [`${short}${more}`, messages(more.slice(0, -1))]) {
        const { status, sent, text } = await seen(body, longRequests, { upstream, operation: MESSAGES });
        expect([status, sent.length]).toEqual([400, 0]);
        expect(text).toContain("other.file_id");
      }
  });
});
