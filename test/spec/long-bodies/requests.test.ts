// Promise 5.8: a long body is parsed and written in another thread. The upstream request, the record and the refusals
// are the same as with one thread.
import { longBodyProgram } from "../../../src/operations/long-body-program.ts";
import { afterAll, describe, expect, test } from "bun:test";
import { LONG_BODY_BYTES, openLongBodyThread } from "../../../src/engine/long-bodies/long-body-thread.ts";
import {
  type LongRequests,
  MAX_OUTLINE_CHARACTERS,
  openLongRequests,
} from "../../../src/engine/long-bodies/long-requests.ts";
import { cannedUpstream, type StubOptions } from "../../harness/in-process.ts";
import { openaiAnswer } from "../../harness/servers/upstream.ts";
import { policiesFor } from "../../policies/policy-documents.ts";
import { seen, sentFrom } from "../seen-call.ts";

const thread = openLongBodyThread(longBodyProgram());
const threads = openLongRequests(thread);
afterAll(() => thread.close());

const long = (bytes = 1.5 * LONG_BODY_BYTES): string =>
  'Съешь же ещё этих мягких французских булок, \\n \\"и выпей чаю\\" 🍵. '.repeat(Math.ceil(bytes / 90));
const TOOLS =
  '"tools":[{"type":"function","function":{"name":"weather","parameters":{"type":"object","properties":{"city":{"type":"string"}}}}}]';
const conversation = (more = ""): string =>
  `[{"role":"system","content":"Be brief."},{"role":"user","content":[{"type":"text","text":"${long()}"},{"type":"image_url","image_url":{"url":"data:image/png;base64,iVBORw0KGgo="}}]},{"role":"assistant","content":null,"tool_calls":[{"id":"call_1","type":"function","function":{"name":"weather","arguments":"{\\"city\\":\\"Paris\\",\\"n\\":12345678901234567890}"}}]},{"role":"tool","tool_call_id":"call_1","content":"Rain"}${more}]`;
const body = (model: string, more: string, before = ""): string =>
  `{${before}"model":"${model}","messages":${conversation()},"temperature":0.5,${more}}`;

const REQUESTS: Readonly<Record<string, string>> = {
  "OpenAI's form": body("openai:gpt-4o", `${TOOLS},"seed":12345678901234567890,"unknown":[1.10,{"x":1e2}],"user":"me"`),
  "tools of a model that reasons": body("openai:gpt-5.6", `${TOOLS},"reasoning_effort":"high"`).replace(
    '"temperature":0.5,',
    "",
  ),
  "OpenAI's form, with the conversation last": `{"model":"custom:m","stop":["a"],"seed":5,"messages":${conversation()}}`,
  "long members that pass through": `{"x":[${"1.50,".repeat(200_000)}12345678901234567890],"model":"custom:m","messages":[{"role":"user","content":"x"}],"y":"${long()}","seed":5,"extra":{"__proto__":"${"z".repeat(20_000)}"}}`,
  "long members beside extra_body": `{"x":"${"z".repeat(20_000)}","model":"custom:m","messages":[{"role":"user","content":"${long()}"}],"extra_body":{"y":{"a":1}},"y":{"b":"${"z".repeat(20_000)}"}}`,
  "long members of an entry": `{"x":"${"z".repeat(20_000)}","model":"openai:m","messages":[{"role":"user","content":"${long()}"}],"fallbacks":[{"model":"custom:b","x":true},{"model":"custom:c"}]}`,
  Anthropic: body("anthropic:claude-sonnet-4-5", `${TOOLS},"max_tokens":5`),
  Gemini: body("gemini:gemini-2.5-pro", `${TOOLS},"tool_choice":"required"`),
  Bedrock: body("bedrock:anthropic.claude-opus-4-5", `${TOOLS},"metadata":{"n":1}`),
  Cohere: `{"model":"cohere:command-a-03-2025","messages":[{"role":"user","content":"${long()}"}]}`,
  Ollama: `{"model":"ollama:llama3","messages":[{"role":"user","content":"${long()}"}]}`,
  Vertex: `{"model":"vertex:gemini-2.5-pro","messages":[{"role":"user","content":"${long()}"}]}`,
  "the old functions": `{"functions":[{"name":"weather"}],"function_call":"auto","messages":[{"role":"user","content":"${long()}"},{"role":"assistant","content":null,"function_call":{"name":"weather","arguments":"{}"}},{"role":"function","name":"weather","content":"Rain"}],"model":"openai:m"}`,
  "an entry of fallbacks": body(
    "openai:m",
    '"n":2,"fallbacks":[{"model":"custom:b","temperature":1,"seed":12345678901234567890}]',
  ),
  "members of a conversation that a provider has no place for": `{"model":"mistral:mistral-large-latest","messages":[{"role":"user","name":"me","content":"${long()}"},{"role":"assistant","content":null,"refusal":null,"annotations":[],"reasoning_content":"x","tool_calls":[{"id":"abcdefghi","type":"function","extra_content":{"google":{"a":1}},"function":{"name":"f","arguments":"{}","odd":1}}]},{"role":"tool","tool_call_id":"abcdefghi","content":[{"type":"text","text":"x","cache_control":{"type":"ephemeral"}}]}]}`,
  "the same at a provider of another form": `{"model":"anthropic:claude-sonnet-4-5","messages":[{"role":"user","name":"me","content":"${long()}","__proto__":1},{"role":"assistant","content":"x","refusal":null,"extra_content":5}]}`,
  "empty messages, which the provider refuses": `{"model":"gemini:gemini-2.5-flash","messages":[{"role":"system","content":""},{"role":"user","content":"${long()}"},{"role":"assistant","content":[{"type":"text","text":""}]},{"role":"user","content":"x"}]}`,
  "a parameter that is dropped": body("anthropic:claude-sonnet-4-5", '"logit_bias":{"1":1},"drop_params":true'),
  "a parameter that is refused": body("anthropic:claude-sonnet-4-5", '"logit_bias":{"1":1}'),
  "a stream": body("openai:m", '"stream":true'),
  "several choices in several calls": `{"model":"ollama:llama3","n":3,"messages":[{"role":"user","content":"${long()}"}]}`,
  "an invalid message": `{"model":"openai:m","messages":[{"role":"user","content":"${long()}"},{"role":"nobody","content":"x"}]}`,
  "a body that is not JSON": `${body("openai:m", '"n":1').slice(0, -1)},nope}`,
  "a name that is too long": `{"model":"openai:${"m".repeat(2_000_000)}","messages":[]}`,
  "too many values": `{"model":"openai:m","messages":[{"role":"user","content":"x"}],"x":[${"1,".repeat(600_000)}1]}`,
  "an unknown model": body("nowhere:m", '"n":1'),
};

describe("a long request", () => {
  test("[d5.8] that becomes several upstream requests is written once for all of them", async () => {
    let written = 0;
    const longRequests: LongRequests = {
      ...threads,
      encode(...asked) {
        written += 1;
        return threads.encode(...asked);
      },
    };
    const message = { role: "assistant", content: "Hello." };
    const answer = { message, done: true, done_reason: "stop", prompt_eval_count: 1, eval_count: 1 };
    const upstream = cannedUpstream({ body: JSON.stringify(answer) });
    const { sent } = await seen(REQUESTS["several choices in several calls"]!, longRequests, { upstream });
    expect([sent.length, written]).toEqual([3, 1]);
  });

  for (const [what, text] of Object.entries(REQUESTS)) {
    test(`[d5.8] ${what}: the upstream request, the answer and the record are the same as with one thread`, async () => {
      expect(Buffer.byteLength(text)).toBeGreaterThan(LONG_BODY_BYTES);
      const options: StubOptions =
        what.endsWith("an entry of fallbacks") || what === "long members of an entry"
          ? {
              upstream: cannedUpstream(({ url }) =>
                url.includes("provider.test") ? { body: JSON.stringify(openaiAnswer()) } : { status: 500, body: "" },
              ),
            }
          : {};
      const [here, there] = [await seen(text, null, options), await seen(text, threads, options)];
      const { sent: sentHere, ...restHere } = here;
      const { sent: sentThere, ...restThere } = there;
      expect(restThere).toEqual(restHere);
      const unsigned = (headers: unknown) => (what === "Bedrock" ? Object.keys(headers as object) : headers);
      expect(
        sentThere.map(({ url, headers, body: out }) => ({
          url,
          headers: unsigned(headers),
          isSame: out === sentHere.find((one) => one.body === out)?.body,
        })),
      ).toEqual(sentHere.map(({ url, headers }) => ({ url, headers: unsigned(headers), isSame: true })));
      for (const { inThread } of sentThere) expect(inThread).toBe(true);
    });
  }

  test("[d3.3] [d5.8] is searched by a guard, and the provider receives it masked", async () => {
    const text = REQUESTS["OpenAI's form"]!.replace("Be brief.", "Write to ada@mail.example.org.");
    const options: StubOptions = {
      snapshot: {
        policies: policiesFor({ name: "no-pii", guard: { classes: ["email"], action: "mask", on: "input" } }),
      },
    };
    const [here, there] = [await seen(text, null, options), await seen(text, threads, options)];
    expect(there).toEqual(sentFrom(here, there));
    expect(there.sent[0]!.body).toContain('"Write to [email]."');
    expect(there.sent[0]!.body.length).toBeGreaterThan(LONG_BODY_BYTES / 2);
  });

  test("[d3.1] [d5.8] is seen by a rule that reads the conversation, or any member, like a short one", async () => {
    const text = `{"model":"openai:m","messages":[{"role":"user","content":"${long()}"},{"role":"assistant","content":[{"type":"text","text":"x"}]}],"odd":{"a":"${"z".repeat(10_000)}","c":"${"z".repeat(10_000)}","b":7}}`;
    for (const rule of [
      "request.messages.count == 2",
      "request.messages.characters > 100000",
      "request.messages.prompt_tokens > 10000",
      'request.messages.roles["user"] == 1',
      'request.messages.parts["text"] == 1',
      "request.extra.odd.b == 7",
    ])
      for (const denies of [rule, `!(${rule})`]) {
        const options: StubOptions = {
          snapshot: { policies: policiesFor({ name: "rule", rule: denies, message: "No." }) },
        };
        const [here, there] = [await seen(text, null, options), await seen(text, threads, options)];
        expect([denies, there.status]).toEqual([denies, here.status]);
        expect([denies, there.status]).toEqual([denies, denies === rule ? 403 : 200]);
      }
  });

  test("[d6.9] [d5.8] has images behind an address fetched for a model that takes bytes only", async () => {
    const png = {
      headers: { "content-type": "image/png" },
      body: Buffer.from("89504e470d0a1a0a0000000d49484452", "hex"),
    };
    const text = `{"model":"sambanova:Llama-4-Maverick-17B-128E-Instruct","messages":[{"role":"user","content":[{"type":"text","text":"${long()}"},{"type":"image_url","image_url":{"url":"http://93.184.215.14/cat.png"}}]}]}`;
    const options: StubOptions = {
      upstream: cannedUpstream(({ method }) => (method === "GET" ? png : { body: JSON.stringify(openaiAnswer()) })),
    };
    const [here, there] = [await seen(text, null, options), await seen(text, threads, options)];
    expect(there).toEqual(sentFrom(here, there));
    expect(there.sent.at(-1)!.body).toContain("data:image/png;base64,iVBORw0KGgo");
  });

  test("[d5.8] is seen by policies, sticky routes and limits like a short one", async () => {
    const { messages, endUser } = (await seen(REQUESTS["OpenAI's form"]!, threads)).record as {
      messages: { count: number; roles: object; blocks: string[]; bodyCharacters: number };
      endUser: string;
    };
    expect([messages.count, messages.roles, messages.blocks, messages.bodyCharacters, endUser]).toEqual([
      4,
      { system: 1, user: 1, assistant: 1, tool: 1 },
      ["text", "image_url"],
      REQUESTS["OpenAI's form"]!.length,
      "me",
    ]);
  });

  test("[d5.8] may be long in its conversation only: another long member is answered with 400, its path and the bound", async () => {
    const refused = await seen(
      body("openai:m", `"prediction":{"type":"content","content":"${long(2 * MAX_OUTLINE_CHARACTERS)}"}`),
      threads,
    );
    expect([refused.status, refused.sent.length]).toEqual([400, 0]);
    expect(refused.text).toContain('"param":"prediction"');
    expect(refused.text).toContain(String(MAX_OUTLINE_CHARACTERS));
  });

  test("[d5.8] is held no longer than its call, however that ends", async () => {
    const released: number[] = [];
    const opened: number[] = [];
    const counted: LongRequests = {
      ...threads,
      async open(bytes, bounds, tenantId, operation, find) {
        const request = await threads.open(bytes, bounds, tenantId, operation, find);
        opened.push(request.held!.id);
        return request;
      },
      release(request) {
        released.push(request.held!.id);
        threads.release(request);
      },
    };
    for (const what of ["OpenAI's form", "a parameter that is refused", "a stream", "an unknown model"])
      await seen(REQUESTS[what]!, counted);
    expect(released).toEqual(opened);
    expect(opened).toHaveLength(4);
  });
});
