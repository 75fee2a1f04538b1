// What providers need back of their reasoning travels sealed through clients of Responses and Messages, and reaches the
// provider as it wrote it; nothing else does (promises 12.9 and 12.13).
import { afterAll, describe, expect, test } from "bun:test";
import { LONG_BODY_BYTES, openLongBodyThread } from "../../src/chat/long-bodies/long-body-thread.ts";
import { openLongRequests } from "../../src/chat/long-bodies/long-requests.ts";
import { longBodyProgram } from "../../src/operations/long-body-program.ts";
import type { Operation } from "../../src/chat/operation.ts";
import type { JsonObject } from "../../src/core/json.ts";
import { MESSAGES } from "../../src/operations/messages/messages.ts";
import { RESPONSES } from "../../src/operations/responses/responses.ts";
import type { UpstreamRequest } from "../../src/wire/upstream.ts";
import { type CannedAnswer, cannedUpstream, type Stub, stubGateway } from "../harness/in-process.ts";
import { providerSettings, storedKey } from "../harness/targets.ts";
import { call, eventsOf, message, reasoning, responseOf } from "../providers/responses/events.ts";

const THOUGHT = "Ask first.";
const SIGNATURE = "EqQBCkYIBxgCKkA=";

/** How one vendor says that it thinks and calls `weather`, then that it is warm; and what it has to get back. */
interface Vendor {
  readonly model: string;
  readonly rounds: readonly [JsonObject, JsonObject];
  readonly events: (answer: JsonObject) => readonly { readonly event?: string; readonly data: string }[];
  /** Whether a request has the reasoning exactly as the vendor wrote it, at its place. */
  readonly isBack: (body: any) => boolean;
  /** Whether a request has anything of it. */
  readonly hasAny: (body: string) => boolean;
}

const claude = (content: readonly JsonObject[], stop: string): JsonObject => ({
  id: "msg_1",
  type: "message",
  role: "assistant",
  model: "m",
  content,
  stop_reason: stop,
  stop_sequence: null,
  usage: { input_tokens: 4, output_tokens: 3 },
});
const THINKING = { type: "thinking", thinking: THOUGHT, signature: SIGNATURE };
const REDACTED = { type: "redacted_thinking", data: "aGlkZGVu" };

function claudeEvents(answer: JsonObject): readonly { readonly event: string; readonly data: string }[] {
  const named = (type: string, rest: JsonObject) => ({ event: type, data: JSON.stringify({ type, ...rest }) });
  const start = named("message_start", { message: { ...answer, content: [], stop_reason: null } });
  const blocks = (answer["content"] as readonly any[]).flatMap((block, index) => {
    const delta = (one: JsonObject) => named("content_block_delta", { index, delta: one });
    const begin = (one: JsonObject) => named("content_block_start", { index, content_block: one });
    const stop = named("content_block_stop", { index });
    switch (block.type) {
      case "thinking":
        return [
          begin({ type: "thinking", thinking: "", signature: "" }),
          delta({ type: "thinking_delta", thinking: block.thinking.slice(0, 4) }),
          delta({ type: "thinking_delta", thinking: block.thinking.slice(4) }),
          delta({ type: "signature_delta", signature: block.signature }),
          stop,
        ];
      case "text":
        return [begin({ type: "text", text: "" }), delta({ type: "text_delta", text: block.text }), stop];
      case "tool_use":
        return [
          begin({ ...block, input: {} }),
          delta({ type: "input_json_delta", partial_json: JSON.stringify(block.input) }),
          stop,
        ];
      default:
        return [begin(block), stop];
    }
  });
  return [
    start,
    ...blocks,
    named("message_delta", { delta: { stop_reason: answer["stop_reason"]! }, usage: { output_tokens: 3 } }),
    named("message_stop", {}),
  ];
}

const google = (parts: readonly JsonObject[]): JsonObject => ({
  candidates: [{ content: { role: "model", parts }, finishReason: "STOP", index: 0 }],
  usageMetadata: { promptTokenCount: 4, candidatesTokenCount: 3, totalTokenCount: 7 },
  modelVersion: "m",
  responseId: "r",
});

const VENDORS: Readonly<Record<string, Vendor>> = {
  anthropic: {
    model: "anthropic:claude-sonnet-4-6",
    rounds: [
      claude(
        [THINKING, REDACTED, { type: "tool_use", id: "toolu_1", name: "weather", input: { city: "Wien" } }],
        "tool_use",
      ),
      claude([{ type: "text", text: "It is warm." }], "end_turn"),
    ],
    events: claudeEvents,
    isBack: ({ messages }) =>
      JSON.stringify(messages[1].content.slice(0, 2)) === JSON.stringify([THINKING, REDACTED]) &&
      messages[1].content[2].type === "tool_use",
    hasAny: (body) => /thinking"|EqQB|aGlkZGVu|dragoman/.test(body),
  },
  gemini: {
    model: "gemini:gemini-3-flash-preview",
    rounds: [
      google([
        { text: THOUGHT, thought: true },
        { functionCall: { id: "fc_1", name: "weather", args: { city: "Wien" } }, thoughtSignature: SIGNATURE },
      ]),
      google([{ text: "It is warm." }]),
    ],
    events: (answer) => [{ data: JSON.stringify(answer) }],
    isBack: ({ contents }) =>
      contents[1].parts.some((part: any) => part.functionCall !== undefined && part.thoughtSignature === SIGNATURE),
    hasAny: (body) => /EqQB|dragoman/.test(body),
  },
  openai: {
    model: "openai:gpt-5-codex",
    rounds: [
      responseOf([reasoning("rs_1", [THOUGHT], SIGNATURE), call("1", "weather", '{"city":"Wien"}')]),
      responseOf([message("msg_2", "It is warm.")]),
    ],
    events: (answer) => eventsOf(answer),
    isBack: ({ input }) =>
      input[1].type === "reasoning" &&
      input[1].id === "rs_1" &&
      input[1].encrypted_content === SIGNATURE &&
      input[2].type === "function_call",
    hasAny: (body) => /EqQB|dragoman/.test(body.replaceAll("reasoning.encrypted_content", "")),
  },
};

/** How a client of one form asks, and sends the answer back with the result of the call. */
interface Front {
  readonly operation: Operation;
  readonly first: JsonObject;
  readonly answerOf: (text: string, stream: boolean) => readonly JsonObject[];
  readonly second: (answer: readonly JsonObject[]) => JsonObject;
  readonly textOf: (answer: readonly JsonObject[]) => string;
}

const SCHEMA = { type: "object", properties: { city: { type: "string" } } };
const events = (text: string): readonly any[] =>
  [...text.matchAll(/^data: (\{.*)$/gm)].map(([, data]) => JSON.parse(data!));

function blocksOf(text: string): readonly JsonObject[] {
  const blocks: any[] = [];
  for (const { type, index, content_block: block, delta } of events(text)) {
    if (type === "content_block_start") blocks[index] = { ...block, json: "" };
    if (type !== "content_block_delta") continue;
    const open = blocks[index];
    if (delta.type === "text_delta") open.text += delta.text;
    else if (delta.type === "thinking_delta") open.thinking += delta.thinking;
    else if (delta.type === "signature_delta") open.signature = delta.signature;
    else open.json += delta.partial_json;
  }
  return blocks.map(({ json, ...block }) =>
    block.type === "tool_use" ? { ...block, input: JSON.parse(json) } : block,
  );
}

const ASKED = { role: "user", content: "How is it in Wien?" };
const FRONTS: Readonly<Record<string, Front>> = {
  Responses: {
    operation: RESPONSES,
    first: {
      input: [ASKED],
      store: false,
      include: ["reasoning.encrypted_content"],
      tools: [{ type: "function", name: "weather", parameters: SCHEMA, strict: false }],
    },
    answerOf: (text, stream) =>
      stream ? events(text).find(({ type }) => type === "response.completed").response.output : JSON.parse(text).output,
    second: (output) => ({
      input: [
        ASKED,
        ...output,
        {
          type: "function_call_output",
          call_id: output.find(({ type }) => type === "function_call")!["call_id"]!,
          output: "warm",
        },
      ],
    }),
    textOf: (output) => (output.at(-1) as any).content[0].text,
  },
  Messages: {
    operation: MESSAGES,
    first: {
      messages: [ASKED],
      max_tokens: 2_000,
      tools: [{ name: "weather", input_schema: SCHEMA }],
    },
    answerOf: (text, stream) => (stream ? blocksOf(text) : JSON.parse(text).content),
    second: (content) => ({
      messages: [
        ASKED,
        { role: "assistant", content },
        {
          role: "user",
          content: [
            {
              type: "tool_result",
              tool_use_id: content.find(({ type }) => type === "tool_use")!["id"]!,
              content: "warm",
            },
          ],
        },
      ],
    }),
    textOf: (content) => (content.at(-1) as any).text,
  },
};

function upstreamOf({ rounds, events: made }: Vendor): (request: UpstreamRequest) => CannedAnswer {
  return ({ body, url }) => {
    const answer = rounds[/tool_result|functionResponse|function_call_output/.test(body) ? 1 : 0];
    const isStreamed = body.includes('"stream":true') || url.includes("streamGenerateContent");
    if (!isStreamed) return { headers: { "content-type": "application/json" }, body: JSON.stringify(answer) };
    const text = made(answer)
      .map(({ event, data }) => `${event === undefined ? "" : `event: ${event}\n`}data: ${data}\n\n`)
      .join("");
    return { headers: { "content-type": "text/event-stream" }, body: text };
  };
}

const thread = openLongBodyThread(longBodyProgram());
const longRequests = openLongRequests(thread);
afterAll(() => thread.close());

/** The same question with so much before it that another thread holds the body. */
const long = (body: JsonObject): JsonObject => {
  const [before, after] = JSON.stringify(body).split(ASKED.content) as [string, string];
  return JSON.parse(`${before}${"Look out. ".repeat(LONG_BODY_BYTES / 9)}${ASKED.content}${after}`) as JsonObject;
};

function gateway(vendor: Vendor): Stub {
  // Anthropic's own models are asked in the client's form unless that is switched off
  const settings = (family: string) =>
    providerSettings({ id: family, family, credentials: [storedKey("key")], native: [] });
  return stubGateway({
    upstream: cannedUpstream(upstreamOf(vendor)),
    providers: Object.keys(VENDORS).map(settings),
    longRequests,
  });
}

async function ask(stub: Stub, { operation, answerOf }: Front, body: JsonObject, stream: boolean) {
  const response = await stub.call(operation, stream ? { ...body, stream } : body);
  const text = await response.text();
  expect([response.status, text]).toEqual([200, text]);
  return { answer: answerOf(text, stream), headers: response.headers };
}

/** The body of the last upstream request; one that another thread has written came as bytes. */
function lastBody(stub: Stub): string {
  const { body, bytes } = stub.sent.at(-1)!;
  return bytes === undefined ? body : Buffer.from(bytes).toString("utf8");
}

/** Changes the character in the middle of every carrier. */
function bent(answer: readonly JsonObject[]): readonly JsonObject[] {
  return JSON.parse(
    JSON.stringify(answer).replaceAll(
      /dragoman1\.([\w-]{40})([\w-])/g,
      (_, head: string, one: string) => `dragoman1.${head}${one === "A" ? "B" : "A"}`,
    ),
  ) as readonly JsonObject[];
}

for (const [name, front] of Object.entries(FRONTS))
  for (const [family, vendor] of Object.entries(VENDORS))
    describe(`[d12.9 d12.13] ${name} over ${family}`, () => {
      for (const stream of [false, true])
        test(`reasoning goes back as it came, ${stream ? "streamed" : "plain"}`, async () => {
          const stub = gateway(vendor);
          const body = { ...front.first, model: vendor.model };
          const { answer } = await ask(stub, front, body, stream);
          const sealed = JSON.stringify(answer);
          expect([sealed.includes("dragoman1."), sealed.includes(SIGNATURE)]).toEqual([true, false]);
          const second = await ask(stub, front, { ...body, ...front.second(answer) }, stream);
          expect(vendor.isBack(JSON.parse(lastBody(stub)))).toBe(true);
          expect(second.headers.get("x-gateway-warnings")).toBeNull();
          expect(front.textOf(second.answer)).toBe("It is warm.");
        });
      test("[d5.8] a long body opens them as well, and tells which it could not open", async () => {
        const stub = gateway(vendor);
        const body = { ...front.first, model: vendor.model };
        const { answer } = await ask(stub, front, body, false);
        for (const stream of [false, true]) {
          const second = await ask(stub, front, long({ ...body, ...front.second(answer) }), stream);
          expect(stub.sent.at(-1)!.bytes!.length).toBeGreaterThan(LONG_BODY_BYTES);
          expect(vendor.isBack(JSON.parse(lastBody(stub)))).toBe(true);
          expect(second.headers.get("x-gateway-warnings")).toBeNull();
          const changed = await ask(stub, front, long({ ...body, ...front.second(bent(answer)) }), stream);
          expect(vendor.hasAny(lastBody(stub))).toBe(false);
          expect(changed.headers.get("x-gateway-warnings")).toBe("reasoning_left_out");
        }
      });
      test("what was changed, or is of another model, is not sent on, and this is told", async () => {
        const stub = gateway(vendor);
        const body = { ...front.first, model: vendor.model };
        const { answer } = await ask(stub, front, body, false);
        const changed = await ask(stub, front, { ...body, ...front.second(bent(answer)) }, false);
        expect(vendor.hasAny(lastBody(stub))).toBe(false);
        expect(changed.headers.get("x-gateway-warnings")).toBe("reasoning_left_out");
        const other = { ...body, model: `${vendor.model}-other`, ...front.second(answer) };
        const response = await stub.call(front.operation, other);
        expect([response.status, response.headers.get("x-gateway-warnings")]).toEqual([200, "reasoning_left_out"]);
        expect(vendor.hasAny(lastBody(stub))).toBe(false);
      });
    });

test("[d12.9] without `include`, a Responses answer has no carrier", async () => {
  const stub = gateway(VENDORS["anthropic"]!);
  const { include: _include, ...first } = FRONTS["Responses"]!.first;
  for (const stream of [false, true]) {
    const body = { ...first, model: VENDORS["anthropic"]!.model };
    const { answer } = await ask(stub, FRONTS["Responses"]!, body, stream);
    expect(JSON.stringify(answer)).not.toContain("dragoman1.");
    expect((answer[0] as any).summary[0].text).toBe(THOUGHT);
  }
});
