// Promises 3.5, 5.1 and 12.6: a member name that occurs twice in any object of a body is refused with its path, in the
// envelope of the operation and before anything is sent, in short bodies and in those that another thread holds.
import { afterAll, describe, expect, test } from "bun:test";
import { openLongBodyThread } from "../../../src/engine/long-bodies/long-body-thread.ts";
import { openLongRequests } from "../../../src/engine/long-bodies/long-requests.ts";
import { longBodyProgram } from "../../../src/operations/long-body-program.ts";
import { OPERATIONS } from "../../../src/operations/operations.ts";
import { stubGateway } from "../../harness/in-process.ts";
import { policiesFor } from "../../policies/policy-documents.ts";
import { nativeUpstream } from "../operations/native-answers.ts";

const thread = openLongBodyThread(longBodyProgram());
const longRequests = openLongRequests(thread);
afterAll(() => thread.close());

const MAIL = "ann@example.com";
const TWICE = `"content":"${MAIL}","con\\u0074ent":"x"`;
/** Fills a body so that another thread holds it. */
const PADDING = `,"padding":"${"The quick brown fox. ".repeat(30_000)}"`;

const chat = (messages: string, more = ""): string => `{"model":"openai:gpt-4o","messages":[${messages}]${more}}`;
const said = (content: string): string => chat(`{"role":"user","content":${content}}`);
const FORMS: Readonly<Record<string, string>> = {
  "/chat/completions": "messages",
  "/completions": "prompt",
  "/embeddings": "input",
  "/rerank": "documents",
  "/moderations": "input",
  "/responses": "input",
  "/responses/input_tokens": "input",
  "/messages": "messages",
  "/messages/count_tokens": "messages",
};
const masking = policiesFor({ name: "mail", guard: { classes: ["email"], action: "mask" } });

async function refused(
  path: string,
  body: string,
): Promise<{ readonly status: number; readonly text: string; readonly sent: number; readonly code: string | null }> {
  const stub = stubGateway({ upstream: nativeUpstream(), longRequests, snapshot: { policies: masking } });
  const answer = await stub.call(OPERATIONS.get(path)!, body);
  return {
    status: answer.status,
    text: await answer.text(),
    sent: stub.sent.length,
    code: answer.headers.get("x-gateway-error-code"),
  };
}

describe("a member name that occurs twice", () => {
  test.each([
    ["a message", chat(`{"role":"user",${TWICE}}`), "messages[0].content"],
    ["a part", said(`[{"type":"text","text":"${MAIL}","text":"x"}]`), "messages[0].content[0].text"],
    ["a file", said(`[{"type":"file","file":{"file_id":"a","file_id":"b"}}]`), "messages[0].content[0].file.file_id"],
    [
      "a tool",
      chat(
        '{"role":"user","content":"x"}',
        `,"tools":[{"type":"function","function":{"name":"f","description":"${MAIL}","description":"x"}}]`,
      ),
      "tools[0].function.description",
    ],
    ["metadata", chat('{"role":"user","content":"x"}', `,"metadata":{"a":"${MAIL}","a":"x"}`), "metadata.a"],
    ["the body", chat('{"role":"user","content":"x"}', ',"model":"openai:gpt-4o-mini"'), "model"],
    [
      "a field that is passed through",
      chat('{"role":"user","content":"x"}', ',"vendor":{"a":[{"b":1,"b":2}]}'),
      "vendor.a[0].b",
    ],
  ])("[d3.5 d5.1] in %s is 400 invalid_json with its path, and nothing is sent", async (_, body, path) => {
    for (const written of [body, body.replace(/\}$/, `${PADDING}}`)]) {
      const { status, text, sent } = await refused("/chat/completions", written);
      const { error } = JSON.parse(text) as {
        readonly error: { readonly code: string; readonly param: string; readonly message: string };
      };
      expect([status, error.code, sent]).toEqual([400, "invalid_json", 0]);
      expect(error.param).toBe(path);
      expect(error.message).not.toContain(MAIL);
    }
  });

  for (const [path, member] of Object.entries(FORMS))
    test(`[d3.5 d12.6] is refused in the envelope of ${path}`, async () => {
      const model = path.startsWith("/messages") ? "anthropic:claude-sonnet-5" : "openai:gpt-9";
      const body = `{"model":"${model}","max_tokens":9,"${member}":[{"role":"user",${TWICE}}]}`;
      for (const written of [body, body.replace(/\}$/, `${PADDING}}`)]) {
        const { status, text, sent } = await refused(path, written);
        expect([status, sent]).toEqual([400, 0]);
        expect(text).toContain("occurs twice");
        expect(text).not.toContain(MAIL);
        if (path.startsWith("/messages"))
          expect(JSON.parse(text)).toMatchObject({ type: "error", error: { type: "invalid_request_error" } });
      }
    });

  test("[d3.5] inside the arguments of a tool call, which are a text, is passed on, and guards search both", async () => {
    const stub = stubGateway({ snapshot: { policies: masking } });
    const call = { id: "c1", type: "function", function: { name: "send", arguments: `{"to":"${MAIL}","to":"x"}` } };
    const messages = [
      { role: "user", content: "x" },
      { role: "assistant", content: null, tool_calls: [call] },
      { role: "tool", tool_call_id: "c1", content: "ok" },
    ];
    await stub.chat({ model: "openai:gpt-4o", messages });
    expect(stub.sent).toHaveLength(1);
    expect(stub.sent[0]!.body).not.toContain(MAIL);
    expect(stub.sent[0]!.body).toContain(JSON.stringify('{"to":"[email]","to":"x"}').slice(1, -1));
  });
});
