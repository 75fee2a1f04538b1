// What providers need back of their reasoning travels sealed through clients of Responses and Messages, and reaches the
// provider as it wrote it; nothing else does (promises 12.9 and 12.13).
import { afterAll, describe, expect, test } from "bun:test";
import { LONG_BODY_BYTES, openLongBodyThread } from "../../../src/engine/long-bodies/long-body-thread.ts";
import { openLongRequests } from "../../../src/engine/long-bodies/long-requests.ts";
import { longBodyProgram } from "../../../src/operations/long-body-program.ts";
import type { Operation } from "../../../src/engine/operation.ts";
import type { JsonObject } from "../../../src/core/json.ts";
import { MESSAGES } from "../../../src/operations/messages/messages.ts";
import { RESPONSES } from "../../../src/operations/responses/responses.ts";
import type { UpstreamRequest } from "../../../src/wire/upstream.ts";
import {
  type CannedAnswer,
  cannedUpstream,
  type Stub,
  stubGateway,
  type StubOptions,
} from "../../harness/in-process.ts";
import { providerSettings, storedKey } from "../../harness/targets.ts";
import { fakeToolServers, says } from "../../harness/tools/fake-tools.ts";
import { claudeAnswer, claudeEvents } from "../../operations/bridges/claude-turns.ts";
import { geminiAnswer } from "../../operations/bridges/gemini-turns.ts";
import { type Said, sseText } from "../../operations/bridges/said.ts";
import { VENDORS as BRIDGED } from "../../operations/bridges/vendors.ts";
import { call, eventsOf, message, reasoning, responseOf } from "../../providers/responses/events.ts";

const THOUGHT = "Ask first.";
const SIGNATURE = "EqQBCkYIBxgCKkA=";

/** How one vendor says that it thinks and calls `weather`, then that it is warm; and what it has to get back. */
interface Vendor {
  readonly model: string;
  readonly rounds: readonly [JsonObject, JsonObject];
  readonly events: (answer: JsonObject) => readonly { readonly event?: string; readonly data: string }[];
  /** The answers of a vendor whose streams are not of text. */
  readonly whole?: (round: 0 | 1, stream: boolean) => CannedAnswer;
  /** Whether a request has the reasoning exactly as the vendor wrote it, at its place. */
  readonly isBack: (body: any) => boolean;
  /** Whether a request has anything of it. */
  readonly hasAny: (body: string) => boolean;
}

const THINKING = { type: "thinking", thinking: THOUGHT, signature: SIGNATURE };
const REDACTED = { type: "redacted_thinking", data: "aGlkZGVu" };

const SECOND = { type: "thinking", thinking: "Then look.", signature: "U2Vjb25k" };
const CALLED = { call: "toolu_1", name: "weather", input: { city: "Wien" } };
/** A turn with reasoning before its text and after it, each signed by itself. */
const IN_TURN: readonly Said[] = [
  { thinking: THOUGHT, signature: SIGNATURE },
  { redacted: "aGlkZGVu" },
  { text: "I ask." },
  { thinking: SECOND.thinking, signature: SECOND.signature },
  CALLED,
];
const WARM: readonly Said[] = [{ text: "It is warm." }];

/** What Gemini's own tool ran, which no message has another place for. */
const RAN: readonly JsonObject[] = [
  { executableCode: { language: "PYTHON", code: "print(1)" } },
  { codeExecutionResult: { outcome: "OUTCOME_OK", output: "1" } },
];

const google = (parts: readonly JsonObject[]): JsonObject => ({
  ...geminiAnswer([]),
  candidates: [{ content: { role: "model", parts }, finishReason: "STOP", index: 0 }],
});

const VENDORS: Readonly<Record<string, Vendor>> = {
  anthropic: {
    model: "anthropic:claude-sonnet-4-6",
    rounds: [
      claudeAnswer([{ thinking: THOUGHT, signature: SIGNATURE }, { redacted: "aGlkZGVu" }, CALLED]),
      claudeAnswer(WARM),
    ],
    events: claudeEvents,
    isBack: ({ messages }) =>
      JSON.stringify(messages[1].content.slice(0, 2)) === JSON.stringify([THINKING, REDACTED]) &&
      messages[1].content[2].type === "tool_use",
    hasAny: (body) => /thinking"|EqQB|aGlkZGVu|dragoman/.test(body),
  },
  "anthropic, within a turn": {
    model: "anthropic:claude-sonnet-4-6",
    rounds: [claudeAnswer(IN_TURN), claudeAnswer(WARM)],
    events: claudeEvents,
    isBack: ({ messages }) =>
      JSON.stringify(messages[1].content) ===
      JSON.stringify([
        THINKING,
        REDACTED,
        { type: "text", text: "I ask." },
        SECOND,
        { type: "tool_use", id: CALLED.call, name: CALLED.name, input: CALLED.input },
      ]),
    hasAny: (body) => /thinking"|EqQB|U2Vj|aGlkZGVu|dragoman/.test(body),
  },
  bedrock: {
    model: "bedrock:us.anthropic.claude-sonnet-4-5-20250929-v1:0",
    rounds: [{}, {}],
    events: () => [],
    whole: (round, stream) => BRIDGED["bedrock"]![stream ? "stream" : "answer"]([IN_TURN, WARM][round]!),
    isBack: ({ messages }) =>
      JSON.stringify(messages[1].content) ===
      JSON.stringify([
        { reasoningContent: { reasoningText: { text: THOUGHT, signature: SIGNATURE } } },
        { reasoningContent: { redactedContent: "aGlkZGVu" } },
        { text: "I ask." },
        { reasoningContent: { reasoningText: { text: SECOND.thinking, signature: SECOND.signature } } },
        { toolUse: { toolUseId: CALLED.call, name: CALLED.name, input: CALLED.input } },
      ]),
    hasAny: (body) => /reasoningContent|EqQB|U2Vj|aGlkZGVu|dragoman/.test(body),
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
  "gemini, in pieces": {
    model: "gemini:gemini-3-flash-preview",
    rounds: [
      google([
        ...RAN,
        { functionCall: { id: "fc_1", name: "weather", args: { city: "Wien" } }, thoughtSignature: SIGNATURE },
      ]),
      google([{ text: "It is warm." }]),
    ],
    events: ({ candidates, ...frame }) =>
      (candidates as any)[0].content.parts.map((part: JsonObject, at: number, { length }: readonly JsonObject[]) => ({
        data: JSON.stringify({
          ...frame,
          candidates: [
            { content: { role: "model", parts: [part] }, index: 0, ...(at === length - 1 && { finishReason: "STOP" }) },
          ],
        }),
      })),
    isBack: ({ contents }) =>
      JSON.stringify(contents[1].parts.slice(0, 2)) === JSON.stringify(RAN) &&
      contents[1].parts[2].thoughtSignature === SIGNATURE,
    hasAny: (body) => /EqQB|executableCode|dragoman/.test(body),
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

function upstreamOf({ rounds, events: made, whole }: Vendor): (request: UpstreamRequest) => CannedAnswer {
  return ({ body, url }) => {
    const round = /tool_result|toolResult|functionResponse|function_call_output/.test(body) ? 1 : 0;
    const answer = rounds[round];
    const isStreamed = body.includes('"stream":true') || /streamGenerateContent|converse-stream/.test(url);
    if (whole !== undefined) return whole(round, isStreamed);
    if (!isStreamed) return { headers: { "content-type": "application/json" }, body: JSON.stringify(answer) };
    return { headers: { "content-type": "text/event-stream" }, body: sseText(made(answer)) };
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

const PROVIDERS = ["anthropic", "gemini", "openai", "bedrock"];

/** Models are asked in the client's form unless that is switched off. */
function gateway(vendor: Vendor, options: StubOptions = {}, isNative = false): Stub {
  const settings = (family: string) =>
    providerSettings({
      id: family,
      family,
      credentials: [storedKey("key")],
      ...(!isNative && { native: [] }),
      ...(family === "bedrock" && { settings: { region: "us-east-1" } }),
    });
  return stubGateway({
    upstream: cannedUpstream(upstreamOf(vendor)),
    providers: PROVIDERS.map(settings),
    longRequests,
    ...options,
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

describe("[d12.9] a carrier of another place is not sent on, and this is told:", () => {
  const claude = VENDORS["anthropic"]!;
  const project = (id: string, tenantId: string): StubOptions => ({
    token: { tenantId, projectId: id },
    snapshot: { projects: new Map([[id, { id, tenantId, name: id }]]) },
  });
  const places: readonly (readonly [what: string, options: StubOptions, model: string])[] = [
    ["another tenant", project("default", "other"), claude.model],
    ["another project", project("other", "default"), claude.model],
    ["another provider", {}, VENDORS["bedrock"]!.model],
    ["another provider's form", {}, VENDORS["gemini"]!.model],
  ];
  for (const [name, front] of Object.entries(FRONTS))
    for (const [what, options, model] of places)
      test(`that of ${what}, through ${name}`, async () => {
        const body = { ...front.first, model: claude.model };
        const { answer } = await ask(gateway(claude), front, body, false);
        const vendor = Object.values(VENDORS).find((one) => one.model === model)!;
        const there = gateway(vendor, options);
        const { headers } = await ask(there, front, { ...body, model, ...front.second(answer) }, false);
        expect(headers.get("x-gateway-warnings")).toBe("reasoning_left_out");
        expect(vendor.hasAny(lastBody(there))).toBe(false);
        // the rest of the turn goes on
        expect(lastBody(there)).toContain("weather");
      });
});

test("[d12.9] a carrier is the same in both forms: what one client got, a client of the other form can send back", async () => {
  const carriers = (answer: readonly JsonObject[]): readonly string[] =>
    [...JSON.stringify(answer).matchAll(/dragoman1\.[\w-]+\.dragoman/g)].map(([text]) => text);
  for (const vendor of Object.values(VENDORS)) {
    const [responses, messages] = [FRONTS["Responses"]!, FRONTS["Messages"]!];
    const stub = gateway(vendor);
    const asItems = (await ask(stub, responses, { ...responses.first, model: vendor.model }, false)).answer;
    const asBlocks = (await ask(stub, messages, { ...messages.first, model: vendor.model }, false)).answer;
    expect(carriers(asItems).length).toBe(carriers(asBlocks).length);
    // the same turn, with the carriers of the other form in their places
    const swapped = (answer: readonly JsonObject[], other: readonly JsonObject[]): readonly JsonObject[] => {
      const theirs = [...carriers(other)];
      return JSON.parse(
        JSON.stringify(answer).replaceAll(/dragoman1\.[\w-]+\.dragoman/g, () => theirs.shift()!),
      ) as readonly JsonObject[];
    };
    for (const [front, own, other] of [
      [responses, asItems, asBlocks],
      [messages, asBlocks, asItems],
    ] as const) {
      const again = { ...front.first, model: vendor.model, ...front.second(swapped(own, other)) };
      const { headers } = await ask(stub, front, again, false);
      expect(headers.get("x-gateway-warnings")).toBeNull();
      expect([vendor.model, vendor.isBack(JSON.parse(lastBody(stub)))]).toEqual([vendor.model, true]);
    }
  }
});
describe("[d12.9 d10.4] reasoning of rounds that different targets have answered goes back to its own target alone:", () => {
  const MODEL = "claude-sonnet-4-6";
  const rounds: readonly (readonly Said[])[] = [
    [
      { thinking: THOUGHT, signature: SIGNATURE },
      { ...CALLED, name: "sky__weather" },
    ],
    [{ thinking: SECOND.thinking, signature: SECOND.signature }, ...WARM],
  ];
  const provider = (id: string) =>
    providerSettings({
      id,
      family: "anthropic",
      baseUrl: `https://${id}.test/v1`,
      credentials: [storedKey("key")],
      native: [],
    });
  /** The first target fails from the second round on. */
  const upstream = ({ url, body }: UpstreamRequest): CannedAnswer => {
    const isNext = body.includes("And now?");
    const isSecond = isNext || body.includes("tool_result");
    if (isSecond && !isNext && url.startsWith("https://one.test/")) return { status: 503, body: "" };
    const answer = claudeAnswer(rounds[isSecond ? 1 : 0]!);
    return body.includes('"stream":true')
      ? { headers: { "content-type": "text/event-stream" }, body: sseText(claudeEvents(answer)) }
      : { headers: { "content-type": "application/json" }, body: JSON.stringify(answer) };
  };
  const next = { role: "user", content: "And now?" };
  for (const [name, front] of Object.entries(FRONTS))
    for (const stream of [false, true])
      test(`${name}, ${stream ? "streamed" : "plain"}`, async () => {
        const stub = stubGateway({
          upstream: cannedUpstream(upstream),
          providers: ["one", "two"].map(provider),
          tools: fakeToolServers({ sky: { weather: { run: () => says("warm") } } }),
        });
        const tools = [{ type: "mcp", server_label: "sky", require_approval: "never" }];
        const body = { ...front.first, model: `one:${MODEL}`, tools, x_gateway: { fallbacks: [`two:${MODEL}`] } };
        const { answer } = await ask(stub, front, body, stream);
        const again =
          name === "Messages"
            ? { messages: [ASKED, { role: "assistant", content: answer }, next] }
            : { input: [ASKED, ...answer, next] };
        for (const id of ["one", "two"]) {
          await ask(stub, front, { ...body, ...again, model: `${id}:${MODEL}`, x_gateway: {} }, stream);
          const sent = lastBody(stub);
          expect([id, sent.includes(SIGNATURE), sent.includes(SECOND.signature)]).toEqual([
            id,
            id === "one",
            id === "two",
          ]);
        }
      });
});

for (const [name, family] of [
  ["Messages", "anthropic"],
  ["Responses", "openai"],
] as const)
  test(`[d12.9] ${name}: reasoning that was carried goes back as it came where ${family} is sent what the client wrote, in short and long bodies`, async () => {
    const [front, vendor] = [FRONTS[name]!, VENDORS[family]!];
    const body = { ...front.first, model: vendor.model };
    const { answer } = await ask(gateway(vendor), front, body, false);
    const native = gateway(vendor, {}, true);
    for (const sized of [(again: JsonObject) => again, long]) {
      const second = await ask(native, front, sized({ ...body, ...front.second(answer) }), false);
      expect(native.sent.at(-1)!.url).toEndWith(name.toLowerCase());
      expect(native.sent.at(-1)!.bytes !== undefined).toBe(sized === long);
      expect(vendor.isBack(JSON.parse(lastBody(native)))).toBe(true);
      expect(second.headers.get("x-gateway-warnings")).toBeNull();
      const changed = await ask(native, front, sized({ ...body, ...front.second(bent(answer)) }), false);
      expect(vendor.hasAny(lastBody(native))).toBe(false);
      expect(changed.headers.get("x-gateway-warnings")).toBe("reasoning_left_out");
    }
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

test("[d12.9] what Gemini wants back of a text stands behind it, and goes back with it", async () => {
  const gemini: Vendor = {
    model: "gemini:gemini-3-flash-preview",
    rounds: [google([{ text: "It is warm.", thoughtSignature: SIGNATURE }]), google([{ text: "It is warm." }])],
    events: (answer) => [{ data: JSON.stringify(answer) }],
    isBack: () => true,
    hasAny: () => false,
  };
  for (const stream of [false, true]) {
    const stub = gateway(gemini);
    const body = { ...FRONTS["Messages"]!.first, model: gemini.model };
    const { answer } = await ask(stub, FRONTS["Messages"]!, body, stream);
    expect(answer.map(({ type }) => type)).toEqual(["text", "redacted_thinking"]);
    expect(answer[0]).toMatchObject({ text: "It is warm." });
    const messages = [ASKED, { role: "assistant", content: answer }, { role: "user", content: "And tomorrow?" }];
    await ask(stub, FRONTS["Messages"]!, { ...body, messages }, stream);
    expect(stub.sent.at(-1)!.body).toContain(SIGNATURE);
  }
});
