// Calls of custom tools, which take any text: they come to the client as they are, streamed and plain, from models of chat
// completions and from those that speak the Responses API alone (promise 12.13).
import { expect, test } from "bun:test";
import { isObject, type JsonObject } from "../../../src/core/json.ts";
import type { UpstreamRequest } from "../../../src/wire/upstream.ts";
import { type CannedAnswer, cannedUpstream, type Stub, stubGateway } from "../../harness/in-process.ts";
import { policiesFor } from "../../policies/policy-documents.ts";
import { readStream } from "../../harness/sse.ts";
import { providerSettings, storedKey } from "../../harness/targets.ts";
import { customCall, eventsOf, message, reasoning, responseOf } from "../../providers/responses/events.ts";

const INPUT = '*** Begin\n{"not": JSON\nä';
const TOOL = { type: "custom", custom: { name: "patch" } };
const ASK = { role: "user", content: "Patch it." };
const CALL = { id: "call_c", type: "custom", custom: { name: "patch", input: INPUT } };

const stream = (events: readonly string[]): CannedAnswer => ({
  headers: { "content-type": "text/event-stream" },
  body: events.map((event) => `${event}\n\n`).join(""),
  chunk: "event",
});

function ofResponses(request: UpstreamRequest): CannedAnswer {
  const isAnswered = request.body.includes("custom_tool_call_output");
  const response = responseOf(
    isAnswered ? [message("msg_1", "Done.")] : [reasoning("rs_1", [], "c2VhbGVk"), customCall("c", "patch", INPUT)],
  );
  return request.body.includes('"stream":true')
    ? stream(eventsOf(response).map(({ event, data }) => `event: ${event}\ndata: ${data}`))
    : { body: JSON.stringify(response) };
}

function ofChat(request: UpstreamRequest): CannedAnswer {
  const frame = { id: "chatcmpl-1", created: 1_767_000_000, model: "m" };
  if (!request.body.includes('"stream":true')) {
    const choice = {
      index: 0,
      message: { role: "assistant", content: null, tool_calls: [CALL] },
      finish_reason: "tool_calls",
    };
    return { body: JSON.stringify({ ...frame, object: "chat.completion", choices: [choice] }) };
  }
  const chunk = (delta: JsonObject, finish: string | null = null): string =>
    `data: ${JSON.stringify({ ...frame, object: "chat.completion.chunk", choices: [{ index: 0, delta, finish_reason: finish }] })}`;
  const { id, type } = CALL;
  return stream([
    chunk({ role: "assistant", content: null }),
    chunk({ tool_calls: [{ index: 0, id, type, custom: { name: "patch", input: "" } }] }),
    ...INPUT.split("").map((input) => chunk({ tool_calls: [{ index: 0, custom: { input } }] })),
    chunk({}, "tool_calls"),
    "data: [DONE]",
  ]);
}

function gateway(answer: (request: UpstreamRequest) => CannedAnswer, policies: readonly object[] = []): Stub {
  return stubGateway({
    snapshot: { policies: policiesFor(...policies) },
    upstream: cannedUpstream(answer),
    providers: [providerSettings({ id: "openai", family: "openai", credentials: [storedKey("key")] })],
  });
}

/** The calls of an answer, and how often each came with an id. */
async function calls(stub: Stub, model: string, isStreamed: boolean): Promise<readonly JsonObject[]> {
  const response = await stub.chat({ model, messages: [ASK], tools: [TOOL], ...(isStreamed && { stream: true }) });
  expect(response.status).toBe(200);
  const text = await response.text();
  if (!isStreamed) return JSON.parse(text).choices[0].message.tool_calls;
  const joined: any[] = [];
  const { events, done } = readStream(text);
  const last = (events as readonly any[]).findLast(({ choices }) => choices[0]?.finish_reason !== null);
  expect([done, last.choices[0].finish_reason]).toEqual([true, "tool_calls"]);
  for (const { choices } of events as readonly any[])
    for (const { index, ...piece } of choices[0]?.delta.tool_calls ?? []) {
      if (joined[index] === undefined) joined[index] = piece;
      else {
        expect(Object.keys(piece)).toEqual(["custom"]);
        joined[index].custom.input += piece.custom.input;
      }
    }
  return joined.filter(isObject);
}

for (const [name, model, answer] of [
  ["chat completions", "openai:gpt-4o", ofChat],
  ["Responses", "openai:gpt-5-codex", ofResponses],
] as const)
  test(`[d8.6 d12.13] calls of custom tools keep their input, from a model of ${name}`, async () => {
    for (const isStreamed of [false, true]) expect(await calls(gateway(answer), model, isStreamed)).toEqual([CALL]);
  });

test("[d3.3] a guard on answers masks the input of custom calls, plain and streamed", async () => {
  const mask = { name: "m", guard: { on: "output", patterns: ["not"], action: "mask" } };
  for (const isStreamed of [false, true])
    for (const [model, answer] of [
      ["openai:gpt-4o", ofChat],
      ["openai:gpt-5-codex", ofResponses],
    ] as const) {
      const [made] = await calls(gateway(answer, [mask]), model, isStreamed);
      expect(made).toMatchObject({ id: "call_c", type: "custom", custom: { name: "patch" } });
      expect([JSON.stringify(made).includes("not"), JSON.stringify(made).includes("JSON")]).toEqual([false, true]);
    }
});

test("[d12.13] a model of Responses gets the call and its output back as those of a custom tool", async () => {
  const stub = gateway(ofResponses);
  const first = (await (
    await stub.chat({ model: "openai:gpt-5-codex", messages: [ASK], tools: [TOOL] })
  ).json()) as any;
  const { message: said } = first.choices[0];
  const messages = [ASK, said, { role: "tool", tool_call_id: "call_c", content: "ok" }];
  const answer = (await (await stub.chat({ model: "openai:gpt-5-codex", messages, tools: [TOOL] })).json()) as any;
  expect(answer.choices[0].message.content).toBe("Done.");
  const { input, tools } = JSON.parse(stub.sent.at(-1)!.body) as { input: JsonObject[]; tools: JsonObject[] };
  expect(tools).toEqual([{ type: "custom", name: "patch" }]);
  expect(input.slice(1)).toEqual([
    { type: "reasoning", id: "rs_1", summary: [], encrypted_content: "c2VhbGVk" },
    { type: "custom_tool_call", call_id: "call_c", name: "patch", input: INPUT },
    { type: "custom_tool_call_output", call_id: "call_c", output: "ok" },
  ]);
});
