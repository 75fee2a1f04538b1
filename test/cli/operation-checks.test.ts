// The checks of `dragoman test` for responses and messages: what is right is kept, and each planted defect is lost.
import { expect, test } from "bun:test";
import type { JsonObject } from "../../src/core/json.ts";
import type { Came } from "../../src/diagnostics/conformance/caller.ts";
import { ALL_CHECKS } from "../../src/diagnostics/conformance/operation-checks.ts";

const OUTPUT = [{ type: "message", content: [{ type: "output_text", text: "Hi" }] }];
const RESPONSE = { object: "response", status: "completed", output: OUTPUT };
const MESSAGE = {
  type: "message",
  role: "assistant",
  stop_reason: "end_turn",
  content: [{ type: "text", text: "Hi" }],
};

async function faultOf(id: string, events: readonly JsonObject[]): Promise<string | null> {
  const came: Came = {
    status: 200,
    error: null,
    choices: [],
    usage: null,
    events,
    done: true,
    warnings: [],
    tookMs: 1,
  };
  const sent: (readonly [string, JsonObject])[] = [];
  const caller = {
    call: () => Promise.reject(new Error("not this one")),
    leave: () => Promise.resolve(null),
    callAt: async (path: string, body: JsonObject) => {
      sent.push([path, body]);
      return came;
    },
  };
  const check = ALL_CHECKS.find((one) => one.id === id)!;
  const { fault } = await check.run(caller, { model: "p:m", timeout: 7 });
  expect(sent).toHaveLength(1);
  expect(sent[0]![0]).toBe(`/${id.split("-")[0]}`);
  expect(sent[0]![1]).toMatchObject({ model: "p:m", x_gateway: { timeout: 7 } });
  return fault;
}

const responseStream = (deltas: readonly string[], last: JsonObject = RESPONSE): readonly JsonObject[] =>
  [
    { type: "response.created", response: { ...RESPONSE, output: [] } },
    ...deltas.map((delta) => ({ type: "response.output_text.delta", delta })),
    { type: "response.completed", response: last },
  ].map((event, index) => ({ ...event, sequence_number: index }));

const messageStream: readonly JsonObject[] = [
  { type: "message_start", message: {} },
  { type: "content_block_start", index: 0 },
  { type: "ping" },
  { type: "content_block_delta", index: 0 },
  { type: "content_block_stop", index: 0 },
  { type: "message_delta" },
  { type: "message_stop" },
];

test("responses", async () => {
  expect(await faultOf("responses", [RESPONSE])).toBeNull();
  expect(await faultOf("responses", [{ ...RESPONSE, output: [] }])).toBe("it has no output");
  expect(await faultOf("responses", [{ ...RESPONSE, status: "failed" }])).toBe('it has the status "failed"');
  expect(await faultOf("responses", [{ object: "chat.completion" }])).toBe("the answer is not a response");
  expect(await faultOf("responses-tools", [RESPONSE])).toBe("no tool was called");
  const called = [{ type: "function_call", name: "get_weather", arguments: "{}" }];
  expect(await faultOf("responses-tools", [{ ...RESPONSE, output: called }])).toBeNull();
});

test("streams of responses", async () => {
  const right = responseStream(["H", "i"]);
  expect(await faultOf("responses-stream", right)).toBeNull();
  expect(await faultOf("responses-stream", right.slice(1))).toContain("begins with");
  expect(await faultOf("responses-stream", right.slice(0, -1))).toContain("ends with");
  expect(await faultOf("responses-stream", [right[0]!, ...right.slice(2)])).toBe(
    "the events are not numbered in order",
  );
  expect(await faultOf("responses-stream", responseStream(["H"]))).toBe("the deltas are not the text of the response");
});

test("messages", async () => {
  expect(await faultOf("messages", [MESSAGE])).toBeNull();
  expect(await faultOf("messages", [{ ...MESSAGE, content: [] }])).toBe("the answer is empty");
  expect(await faultOf("messages", [{ ...MESSAGE, stop_reason: null }])).toBe("it has no stop reason");
  expect(await faultOf("messages-tools", [MESSAGE])).toBe("no tool was called");
  expect(
    await faultOf("messages-tools", [{ ...MESSAGE, content: [{ type: "tool_use", name: "get_weather" }] }]),
  ).toBeNull();
});

test("streams of messages", async () => {
  const without = (index: number): readonly JsonObject[] => messageStream.filter((_, at) => at !== index);
  expect(await faultOf("messages-stream", messageStream)).toBeNull();
  expect(await faultOf("messages-stream", without(0))).toContain("begins with");
  expect(await faultOf("messages-stream", without(1))).toBe("a block goes on that is not open");
  expect(await faultOf("messages-stream", without(4))).toBe("the last block has no end");
  expect(await faultOf("messages-stream", without(6))).toContain("ends with");
});
