// Promise 5.8: a long request to the sandbox is read in the thread of long bodies. The answer is the same as with one
// thread, and bounded.
import { longBodyProgram } from "../../../src/operations/long-body-program.ts";
import { afterAll, beforeAll, describe, expect, spyOn, test } from "bun:test";
import { LONG_BODY_BYTES, openLongBodyThread } from "../../../src/engine/long-bodies/long-body-thread.ts";
import { openLongRequests } from "../../../src/engine/long-bodies/long-requests.ts";
import { openLongSandboxRequests } from "../../../src/engine/long-bodies/long-sandbox-requests.ts";
import { type GatewayProcess, startGateway } from "../../harness/processes/gateway-process.ts";
import { stubGateway, type StubOptions } from "../../harness/in-process.ts";
import { readStream } from "../../harness/sse.ts";

const thread = openLongBodyThread(longBodyProgram());
afterAll(() => thread.close());
const THREADS: StubOptions = {
  longRequests: openLongRequests(thread),
  readElsewhere: openLongSandboxRequests(thread),
};
const LONG = "Съешь же ещё этих мягких французских булок. ";
const long = (bytes = 2 * LONG_BODY_BYTES): string => LONG.repeat(Math.ceil(bytes / Buffer.byteLength(LONG)));
const WORDS_EACH = 7;
const body = (model: string, more: object = {}, content = long()): string =>
  JSON.stringify({ model: `sandbox:${model}`, messages: [{ role: "user", content }], ...more });
const schema = { type: "object", required: ["a"], properties: { a: { type: "string" } } };
const tools = [{ type: "function", function: { name: "f", parameters: schema } }];

const REQUESTS: Readonly<Record<string, string>> = {
  "its text repeated": body("echo"),
  "a stream": body("echo", { stream: true, stream_options: { include_usage: true } }),
  "several choices, with a bound": body("echo", { n: 3, max_tokens: 5 }),
  "many words": body("words-1000"),
  "a call of a function": body("tools", { tools }),
  "a plan of calls": body("tools", { tools }, `Call f {"a": "b"}. ${long()}`),
  "JSON that fits a schema": body("json", {
    response_format: { type: "json_schema", json_schema: { name: "s", schema } },
  }),
  "a member that passes through": JSON.stringify({
    model: "sandbox:echo",
    messages: [{ role: "user", content: "Hello" }],
    x: "y".repeat(2 * LONG_BODY_BYTES),
  }),
  "an unknown model": body("nothing"),
  "a failure": body("fail-429"),
  "an answer that breaks off": body("cut"),
  "an invalid answer": body("garbage"),
  "a stream that stalls": body("stall", { stream: true, timeout: 0.5 }),
};

async function seen(text: string, options: StubOptions) {
  const gateway = stubGateway(options);
  const answer = await gateway.chat(text);
  const said = (await answer.text()).replaceAll(/"x_gateway_trace_id":"\w+"/g, "");
  const { usage, finishReasons, attempts } = gateway.records[0]!;
  return {
    status: answer.status,
    said,
    usage,
    finishReasons,
    attempts: attempts.map(({ code, status }) => ({ code, status })),
  };
}

describe("a long request to the sandbox", () => {
  for (const [what, text] of Object.entries(REQUESTS))
    test(`[d5.8] ${what}: the answer and the record are the same as with one thread, which reads none of it`, async () => {
      expect(Buffer.byteLength(text)).toBeGreaterThan(LONG_BODY_BYTES);
      const here = await seen(text, {});
      const parse = spyOn(JSON, "parse");
      try {
        expect(await seen(text, THREADS)).toEqual(here);
        // the answer to it is read here, and holds less
        const longest = Math.max(0, ...parse.mock.calls.map(([read]) => read.length));
        expect(longest).toBeLessThan(LONG_BODY_BYTES / 2);
      } finally {
        parse.mockRestore();
      }
    });

  test("[d5.8] fails like a slow provider when it is not read in time, and ends at once when its client has left", async () => {
    const late: StubOptions = { ...THREADS, readElsewhere: () => new Promise(() => {}) };
    expect(await seen(body("echo", { timeout: 0.2 }), late)).toMatchObject({
      status: 504,
      attempts: [{ code: "upstream_timeout" }],
    });
    const clocked = stubGateway({ ...late, limits: { firstByteTimeoutMs: 50 } });
    expect((await clocked.chat(body("echo"))).status).toBe(504);
    expect(clocked.records[0]!.attempts[0]!.code).toBe("upstream_timeout");
  });
});

describe("the gateway as a real process", () => {
  let gateway: GatewayProcess;
  beforeAll(async () => {
    gateway = await startGateway();
  });
  afterAll(() => gateway.stop());

  test("[d5.8] repeats 100,000 characters of megabytes, and counts the whole prompt", async () => {
    const content = long(8_000_000);
    const words = (content.length / LONG.length) * WORDS_EACH;
    const plain = (await (await gateway.chat(body("echo", {}, content))).json()) as {
      readonly choices: readonly { readonly message: { readonly content: string }; readonly finish_reason: string }[];
      readonly usage: { readonly prompt_tokens: number; readonly completion_tokens: number };
    };
    expect(plain.choices[0]!.finish_reason).toBe("length");
    expect(plain.choices[0]!.message.content).toBe(content.slice(0, 100_000));
    expect(plain.usage.prompt_tokens).toBe(words);
    expect(plain.usage.completion_tokens).toBeLessThan(100_000);

    const more = { stream: true, stream_options: { include_usage: true } };
    const streamed = readStream(await (await gateway.chat(body("echo", more, content))).text());
    expect(streamed.content).toBe(content.slice(0, 100_000));
    expect(streamed.events.at(-1)!["usage"]).toMatchObject(plain.usage);
  });
});
