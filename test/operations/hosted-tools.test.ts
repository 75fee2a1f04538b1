// Tools that run at the vendor: which may run, how often they ran, and what that costs (promise 12.3).
import { describe, expect, test } from "bun:test";
import type { Operation } from "../../src/engine/operation.ts";
import { hostedToolPrice } from "../../src/core/configured/hosted-tool.ts";
import type { JsonObject } from "../../src/core/json.ts";
import type { ProviderSettings } from "../../src/core/snapshot.ts";
import { CHAT_COMPLETIONS } from "../../src/operations/chat/chat-completions.ts";
import { MESSAGES } from "../../src/operations/messages/messages.ts";
import { RESPONSES } from "../../src/operations/responses/responses.ts";
import { cannedUpstream, stubGateway } from "../harness/in-process.ts";
import { providerSettings, storedKey } from "../harness/targets.ts";

const USAGE = { input_tokens: 1000, output_tokens: 100 };
const MESSAGE = {
  id: "msg_1",
  type: "message",
  role: "assistant",
  model: "claude-sonnet-4-5",
  content: [{ type: "text", text: "Hi" }],
  stop_reason: "end_turn",
};
const SEARCHES = { server_tool_use: { web_search_requests: 3, web_fetch_requests: 2 } };
const ITEMS = [
  { type: "web_search_call", id: "ws_1", status: "completed", action: { type: "search", query: "x" } },
  { type: "web_search_call", id: "ws_2", status: "completed", action: { type: "open_page", url: "https://x.test" } },
  { type: "file_search_call", id: "fs_1", status: "completed", queries: ["x"] },
  {
    type: "message",
    id: "m_1",
    role: "assistant",
    status: "completed",
    content: [{ type: "output_text", text: "Hi", annotations: [] }],
  },
];
const RESPONSE = {
  id: "resp_1",
  object: "response",
  created_at: 1,
  status: "completed",
  model: "gpt-5",
  output: ITEMS,
};
const TOTAL = { ...USAGE, total_tokens: 1100 };

const events = (...all: readonly JsonObject[]): string =>
  all.map((event) => `event: ${event["type"] as string}\ndata: ${JSON.stringify(event)}\n\n`).join("");

interface Asked {
  readonly body: JsonObject;
  readonly answer: string;
  readonly settings?: Partial<ProviderSettings>;
}

async function asked(operation: Operation, { body, answer, settings = {} }: Asked) {
  const isStream = body["stream"] === true;
  const id = (body["model"] as string).split(":")[0]!;
  const baseUrl = id === "anthropic" ? "https://api.anthropic.com" : "https://api.openai.com/v1";
  const stub = stubGateway({
    upstream: cannedUpstream({
      headers: { "content-type": isStream ? "text/event-stream" : "application/json" },
      body: answer,
    }),
    providers: [providerSettings({ id, baseUrl, credentials: [storedKey("stored-key")], ...settings })],
  });
  const response = await stub.call(operation, body);
  const text = await response.text();
  return { status: response.status, text, record: stub.records[0]!, sent: stub.sent.length };
}

const HELLO = { model: "anthropic:claude-sonnet-4-5", max_tokens: 9, messages: [{ role: "user", content: "Why?" }] };
const withTool = (type: string) => ({ ...HELLO, tools: [{ type, name: "t" }] });
const PLAIN = JSON.stringify({ ...MESSAGE, usage: USAGE });

describe("a tool that the vendor runs", () => {
  test("[d12.3] runs where the row prices it, at the row's own address", async () => {
    const status = async (type: string, settings?: Partial<ProviderSettings>) =>
      (await asked(MESSAGES, { body: withTool(type), answer: PLAIN, ...(settings && { settings }) })).status;
    for (const type of ["web_search_20250305", "web_search_20260318", "web_fetch_20260309", "web_fetch_20260318"])
      expect([type, await status(type)]).toEqual([type, 200]);
    expect(await status("web_search_20991231")).toBe(400);
    expect(await status("code_execution_20250825")).toBe(400);
    expect(await status("web_search_20250305", { isElsewhere: true, native: ["messages"] })).toBe(400);
  });

  test("[d12.3] runs where the operator allows it, and nowhere where the operator allows none", async () => {
    const status = async (type: string, hostedTools: readonly string[]) =>
      (await asked(MESSAGES, { body: withTool(type), answer: PLAIN, settings: { hostedTools } })).status;
    expect(await status("code_execution_20250825", ["code_execution*"])).toBe(200);
    expect(await status("web_search_20250305", [])).toBe(400);
    expect(await status("web_search_20250305", ["code_execution*"])).toBe(400);
  });

  test("[d12.3] is refused with its path and the cure", async () => {
    const { text, sent } = await asked(MESSAGES, { body: withTool("code_execution_20250825"), answer: PLAIN });
    expect(text).toContain("tools[0]");
    expect(text).toContain("hosted_tools");
    expect(sent).toBe(0);
  });
});

describe("uses", () => {
  const streamedMessage = events(
    { type: "message_start", message: { ...MESSAGE, content: [], stop_reason: null, usage: USAGE } },
    { type: "content_block_start", index: 0, content_block: { type: "text", text: "" } },
    { type: "content_block_delta", index: 0, delta: { type: "text_delta", text: "Hi" } },
    { type: "content_block_stop", index: 0 },
    { type: "message_delta", delta: { stop_reason: "end_turn" }, usage: { ...USAGE, ...SEARCHES } },
    { type: "message_stop" },
  );
  const streamedResponse = events(
    { type: "response.created", sequence_number: 0, response: { ...RESPONSE, status: "in_progress", output: [] } },
    ...ITEMS.map((item, index) => ({
      type: "response.output_item.done",
      sequence_number: 2 * index + 2,
      output_index: index,
      item,
    })),
    { type: "response.completed", sequence_number: 99, response: { ...RESPONSE, output: [], usage: TOTAL } },
  );
  const INPUT = { model: "openai:gpt-5", input: "Why?" };
  const bare = JSON.stringify({ ...RESPONSE, output: ITEMS.slice(3), usage: TOTAL });

  test("[d12.3 d12.7] are counted and priced, plain and streamed, native and translated", async () => {
    const messages = { web_search: 3, web_fetch: 2 };
    const responses = { web_search: 1, file_search: 1 };
    const searched = JSON.stringify({ ...MESSAGE, usage: { ...USAGE, ...SEARCHES } });
    const before = {
      messages: (await asked(MESSAGES, { body: HELLO, answer: PLAIN })).record.cost!.nanoUsd,
      responses: (await asked(RESPONSES, { body: INPUT, answer: bare })).record.cost!.nanoUsd,
    };
    for (const [what, operation, body, answer, used, more] of [
      ["native", MESSAGES, HELLO, searched, messages, 30_000_000],
      ["native stream", MESSAGES, { ...HELLO, stream: true }, streamedMessage, messages, 30_000_000],
      ["translated", CHAT_COMPLETIONS, HELLO, searched, messages, 30_000_000],
      ["native", RESPONSES, INPUT, JSON.stringify({ ...RESPONSE, usage: TOTAL }), responses, 12_500_000],
      ["native stream", RESPONSES, { ...INPUT, stream: true }, streamedResponse, responses, 12_500_000],
    ] as const) {
      const { record, status } = await asked(operation, { body, answer });
      const base = operation === RESPONSES ? before.responses : before.messages;
      expect([what, status, record.usage!.hosted_tools, record.cost!.nanoUsd]).toEqual([what, 200, used, base + more]);
      expect(record.unnamedUsage ?? null).toBeNull();
    }
  });

  test("[d12.3 d4.2] are counted and priced in a stream that breaks off before its usage", async () => {
    const found = {
      type: "web_search_tool_result",
      tool_use_id: "srvtoolu_1",
      content: [{ type: "web_search_result" }],
    };
    const failed = { ...found, content: { type: "web_search_tool_result_error", error_code: "unavailable" } };
    const blocks = [found, failed, found].flatMap((content_block, index) => [
      { type: "content_block_start", index, content_block },
      { type: "content_block_stop", index },
    ]);
    const began = { ...MESSAGE, content: [], stop_reason: null, usage: USAGE };
    const claude = (content: readonly JsonObject[]) =>
      events(
        { type: "message_start", message: { ...began, content } },
        ...blocks,
        { type: "content_block_start", index: 3, content_block: { type: "text", text: "" } },
        { type: "content_block_delta", index: 3, delta: { type: "text_delta", text: "Hi" } },
      );
    const cutResponse = streamedResponse.slice(0, streamedResponse.indexOf("event: response.completed"));
    const claudes = { web_search: 2 };
    for (const [what, operation, body, answer, used, price] of [
      ["native", MESSAGES, HELLO, claude([]), claudes, 20_000_000],
      ["of a turn that is continued", MESSAGES, HELLO, claude([found]), claudes, 20_000_000],
      ["translated", CHAT_COMPLETIONS, HELLO, claude([]), claudes, 20_000_000],
      ["native", RESPONSES, INPUT, cutResponse, { web_search: 1, file_search: 1 }, 12_500_000],
    ] as const) {
      const hosted = { hostedToolPrices: { web_search: 0, file_search: 0 } };
      const asks = { body: { ...body, stream: true }, answer };
      const { record } = await asked(operation, asks);
      const { record: free } = await asked(operation, { ...asks, settings: hosted });
      expect([what, record.code, record.usage!.hosted_tools]).toEqual([what, "upstream_incomplete", used]);
      expect(record.cost!.nanoUsd - free.cost!.nanoUsd).toBe(price);
    }
  });

  test.each([
    ["gemini-3-flash-preview", 2],
    ["gemini-2.5-flash", 1],
  ])(
    "[d12.3 d4.2] of Google's search are counted as Google bills them, and have the operator's price: %s",
    async (model, uses) => {
      const frame = (text: string, more: object) => ({
        candidates: [{ content: { role: "model", parts: [{ text }] }, index: 0, ...more }],
        usageMetadata: { promptTokenCount: 1000, candidatesTokenCount: 100, totalTokenCount: 1100 },
      });
      const groundingMetadata = { webSearchQueries: ["one", "two"] };
      const last = frame("Hi", { finishReason: "STOP", groundingMetadata });
      for (const stream of [false, true]) {
        const body = { model: `gemini:${model}`, messages: HELLO.messages, web_search_options: {}, stream };
        const answer = stream
          ? [frame("So ", { groundingMetadata }), last].map((one) => `data: ${JSON.stringify(one)}\n\n`).join("")
          : JSON.stringify(last);
        const of = async (settings: Partial<ProviderSettings>) =>
          (
            await asked(CHAT_COMPLETIONS, {
              body,
              answer,
              settings: { ...settings, baseUrl: "https://generativelanguage.googleapis.com" },
            })
          ).record;
        const free = await of({});
        const priced = await of({ hostedTools: ["google_search"], hostedToolPrices: { google_search: 14_000_000 } });
        expect([stream, priced.usage!.hosted_tools]).toEqual([stream, { google_search: uses }]);
        expect(priced.cost!.nanoUsd).toBe(free.cost!.nanoUsd + uses * 14_000_000);
      }
    },
  );

  test("[d12.3 d4.2] are counted and priced where the answer does not tell its tokens, which are estimated", async () => {
    const responses = { web_search: 1, file_search: 1 };
    const untold = streamedResponse.replaceAll(`,"usage":${JSON.stringify(TOTAL)}`, "");
    const grounded = {
      candidates: [
        {
          content: { role: "model", parts: [{ text: "Hi" }] },
          index: 0,
          finishReason: "STOP",
          groundingMetadata: { webSearchQueries: ["one", "two"] },
        },
      ],
    };
    const gemini = { model: "gemini:gemini-3-flash-preview", messages: HELLO.messages, web_search_options: {} };
    const atGoogle = { baseUrl: "https://generativelanguage.googleapis.com" };
    for (const [what, operation, body, answer, used, settings] of [
      ["plain", RESPONSES, INPUT, JSON.stringify(RESPONSE), responses, {}],
      ["stream", RESPONSES, { ...INPUT, stream: true }, untold, responses, {}],
      ["plain", MESSAGES, HELLO, JSON.stringify({ ...MESSAGE, usage: SEARCHES }), { web_search: 3, web_fetch: 2 }, {}],
      ["plain", CHAT_COMPLETIONS, gemini, JSON.stringify(grounded), { google_search: 2 }, atGoogle],
      [
        "stream",
        CHAT_COMPLETIONS,
        { ...gemini, stream: true },
        `data: ${JSON.stringify(grounded)}\n\n`,
        { google_search: 2 },
        atGoogle,
      ],
    ] as const) {
      const at = async (nanoUsd: number) => {
        const prices = { web_search: nanoUsd, google_search: nanoUsd, file_search: 0, web_fetch: 0 };
        return (await asked(operation, { body, answer, settings: { ...settings, hostedToolPrices: prices } })).record;
      };
      const [free, priced] = [await at(0), await at(10_000_000)];
      const searches = Object.entries(used).find(([kind]) => kind.endsWith("search"))![1];
      expect([what, priced.code, priced.usageSource, priced.usage!.hosted_tools]).toEqual([
        what,
        null,
        "estimated",
        used,
      ]);
      expect(priced.cost!.nanoUsd - free.cost!.nanoUsd).toBe(searches * 10_000_000);
    }
  });

  test("[d12.3] have the operator's price, and none where nobody says one", async () => {
    const searched = JSON.stringify({
      ...MESSAGE,
      usage: { ...USAGE, server_tool_use: { code_execution_requests: 2 } },
    });
    const cost = async (settings: Partial<ProviderSettings>) =>
      (await asked(MESSAGES, { body: HELLO, answer: searched, settings })).record.cost!.nanoUsd;
    const free = await cost({});
    const priced = { hostedTools: ["code_execution*"], hostedToolPrices: { "code_execution*": 50_000_000 } };
    expect(await cost(priced)).toBe(free + 100_000_000);
    expect(hostedToolPrice("web_search", { hostedToolPrices: { web_search_20250305: 7 } }, [])).toBe(7);
  });
});
