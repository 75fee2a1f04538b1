// Requests of the operation messages become chat completions that say the same (promise 12.4).
import { expect, test } from "bun:test";
import { LEAST_BODY_BOUNDS } from "../../../src/core/request/body-bounds.ts";
import type { ChatRequest } from "../../../src/core/chat.ts";
import { GatewayError } from "../../../src/core/errors.ts";
import type { JsonObject } from "../../../src/core/json.ts";
import { clientCallId } from "../../../src/operations/messages/call-names.ts";
import { MESSAGES_FORM } from "../../../src/operations/messages/messages-form.ts";

const HELLO = [{ role: "user", content: "Hello" }];
const parse = (body: JsonObject): ChatRequest =>
  MESSAGES_FORM.parse(JSON.stringify({ model: "one:m", max_tokens: 100, messages: HELLO, ...body }), LEAST_BODY_BOUNDS);
const plain = (value: unknown): unknown => JSON.parse(JSON.stringify(value));
const messagesOf = (body: JsonObject): unknown => plain(parse(body).messages);
/** The error of a target that is sent the translation. */
const refusal = (body: JsonObject): Pick<GatewayError, "code" | "param" | "message"> => {
  try {
    const invalid = parse(body).written!.untranslated.find(({ isInvalid }) => isInvalid);
    if (invalid !== undefined) return { code: "invalid_request", param: invalid.path, message: invalid.message };
  } catch (thrown) {
    if (thrown instanceof GatewayError) return thrown;
    throw thrown;
  }
  throw new Error("the request was accepted");
};
const use = (id: string, name = "look", input: JsonObject = {}) => ({ type: "tool_use", id, name, input });
const result = (id: string, content?: unknown) => ({
  type: "tool_result",
  tool_use_id: id,
  ...(content !== undefined && { content: content as string }),
});
const TINY = "iVBORw0KGgo=";
const image = { type: "image", source: { type: "base64", media_type: "image/png", data: TINY } };

test("[d12.4] system text, turns and system messages in their midst keep their places and cache marks", () => {
  const mark = { type: "ephemeral", ttl: "1h" };
  expect(
    messagesOf({
      system: [
        { type: "text", text: "Be kind." },
        { type: "text", text: "Be brief.", cache_control: mark },
      ],
      messages: [
        { role: "user", content: "One" },
        { role: "system", content: "Now in French." },
        { role: "assistant", content: [{ type: "text", text: "Deux" }] },
        { role: "user", content: [{ type: "text", text: "Three", cache_control: mark }, image] },
      ],
    }),
  ).toEqual([
    {
      role: "system",
      content: [
        { type: "text", text: "Be kind." },
        { type: "text", text: "Be brief.", cache_control: mark },
      ],
    },
    { role: "user", content: "One" },
    { role: "system", content: "Now in French." },
    { role: "assistant", content: "Deux" },
    {
      role: "user",
      content: [
        { type: "text", text: "Three", cache_control: mark },
        { type: "image_url", image_url: { url: `data:image/png;base64,${TINY}` } },
      ],
    },
  ]);
});

test("[d12.4] results of tools stand behind their calls in their order; their images follow in one message of the user", () => {
  expect(
    messagesOf({
      messages: [
        { role: "user", content: "Look" },
        { role: "assistant", content: [{ type: "text", text: "I look." }, use("a", "look", { at: 1 }), use("b")] },
        {
          role: "user",
          content: [
            { ...result("b", [{ type: "text", text: "seen" }, image]), cache_control: { type: "ephemeral" } },
            { ...result("a"), is_error: true },
            { type: "text", text: "Well?" },
          ],
        },
      ],
    }),
  ).toEqual([
    { role: "user", content: "Look" },
    {
      role: "assistant",
      content: "I look.",
      tool_calls: [
        { id: "a", type: "function", function: { name: "look", arguments: '{"at":1}' } },
        { id: "b", type: "function", function: { name: "look", arguments: "{}" } },
      ],
    },
    { role: "tool", tool_call_id: "a", content: "", is_error: true },
    { role: "tool", tool_call_id: "b", content: "seen", cache_control: { type: "ephemeral" } },
    {
      role: "user",
      content: [
        { type: "image_url", image_url: { url: `data:image/png;base64,${TINY}` } },
        { type: "text", text: "Well?" },
      ],
    },
  ]);
});

test("[d12.4] adjacent messages of the assistant are one turn; signed and redacted thinking stays byte for byte", () => {
  const [, turn] = messagesOf({
    messages: [
      ...HELLO,
      {
        role: "assistant",
        content: [
          { type: "thinking", thinking: "First. ", signature: "sig+/=" },
          { type: "redacted_thinking", data: "xyz==" },
        ],
      },
      { role: "assistant", content: [{ type: "thinking", thinking: "Then.", signature: "sig2" }, use("a")] },
      { role: "user", content: [result("a", "ok")] },
    ],
  }) as readonly JsonObject[];
  expect(turn).toMatchObject({
    role: "assistant",
    content: null,
    reasoning_content: "First. Then.",
    reasoning_details: [
      { type: "reasoning.text", text: "First. ", signature: "sig+/=", index: 0 },
      { type: "reasoning.encrypted", data: "xyz==", index: 1 },
      { type: "reasoning.text", text: "Then.", signature: "sig2", index: 2 },
    ],
  });
  const [, unsigned] = messagesOf({
    messages: [
      ...HELLO,
      {
        role: "assistant",
        content: [
          { type: "thinking", thinking: "Hm.", signature: "" },
          { type: "text", text: "Hi" },
        ],
      },
      ...HELLO,
    ],
  }) as readonly JsonObject[];
  expect(unsigned).toEqual({ role: "assistant", content: "Hi", reasoning_content: "Hm." });
});

test("[d12.4] a wish to see a summary of the thinking is one in every translation", () => {
  const summaryOf = (thinking: JsonObject): unknown => parse({ thinking }).written!.reasoningSummary;
  expect(summaryOf({ type: "adaptive", display: "summarized" })).toBe("auto");
  expect(summaryOf({ type: "adaptive", display: "omitted" })).toBeUndefined();
  expect(summaryOf({ type: "adaptive" })).toBeUndefined();
});

test("[d12.4] tools, choices, bounds, efforts and formats have their counterparts", () => {
  const schema = { type: "object", properties: {} };
  const request = parse({
    tools: [{ name: "look", description: "Looks.", input_schema: schema, strict: true, eager_input_streaming: true }],
    tool_choice: { type: "tool", name: "look", disable_parallel_tool_use: true },
    stop_sequences: ["END"],
    thinking: { type: "adaptive", display: "omitted" },
    output_config: { effort: "xhigh", format: { type: "json_schema", schema } },
    metadata: { user_id: "u1" },
    service_tier: "auto",
  });
  expect(plain(request.params)).toEqual({
    max_tokens: 100,
    max_completion_tokens: 100,
    stop: ["END"],
    user: "u1",
    tools: [
      {
        type: "function",
        function: { name: "look", description: "Looks.", parameters: schema, strict: true },
        eager_input_streaming: true,
      },
    ],
    tool_choice: { type: "function", function: { name: "look" } },
    parallel_tool_calls: false,
    reasoning_effort: "xhigh",
    response_format: { type: "json_schema", json_schema: { name: "output", schema, strict: true } },
  });
  expect(request.options.metadata).toEqual({ user_id: "u1" });
  const tools = [{ name: "look", input_schema: schema }];
  expect(parse({ tools, tool_choice: { type: "any" } }).params.tool_choice).toBe("required");
  expect(parse({ tools, tool_choice: { type: "auto" } }).params.tool_choice).toBeUndefined();
  expect(parse({ tools, tool_choice: { type: "none" } }).params.tool_choice).toBe("none");
  expect(parse({ thinking: { type: "disabled" } }).params.reasoning_effort).toBe("none");
  const budget = (tokens: number) =>
    parse({ max_tokens: 50_000, thinking: { type: "enabled", budget_tokens: tokens } }).params.reasoning_effort;
  expect([budget(1024), budget(10_000), budget(31_999)]).toEqual(["low", "medium", "high"]);
  // a long identifier, such as the JSON that some clients send, becomes its SHA-256
  expect(parse({ metadata: { user_id: JSON.stringify({ device_id: "d".repeat(64) }) } }).params.user).toMatch(
    /^[0-9a-f]{64}$/,
  );
});

test("[d12.4] a name of a tool that is too long for chat completions is shortened in the same way everywhere", () => {
  const long = `mcp__${"a".repeat(90)}`;
  const request = parse({
    tools: [
      { name: long, input_schema: {} },
      { name: `${long}b`, input_schema: {} },
    ],
    tool_choice: { type: "tool", name: long },
    messages: [...HELLO, { role: "assistant", content: [use("a", long)] }, { role: "user", content: [result("a")] }],
  });
  const [one, two] = (request.params.tools ?? []).map((tool) => (tool["function"] as JsonObject)["name"] as string);
  expect(one).toHaveLength(64);
  expect(two).not.toBe(one!);
  expect(request.messages[1]!.tool_calls![0]!.function.name).toBe(one!);
  expect(plain(request.params.tool_choice)).toEqual({ type: "function", function: { name: one! } });
  expect(request.written?.memo).toMatchObject({ toolNames: { [one!]: long, [two!]: `${long}b` } });
});

test("[d12.4] documents and search results are text where they are text, and documents where they are not", () => {
  const [message] = messagesOf({
    messages: [
      {
        role: "user",
        content: [
          { type: "document", source: { type: "text", media_type: "text/plain", data: "Words." }, title: "T" },
          { type: "document", source: { type: "content", content: [{ type: "text", text: "Inner." }] } },
          { type: "document", source: { type: "base64", media_type: "application/pdf", data: "JVBERi0=" }, title: "P" },
          { type: "search_result", title: "Found", source: "https://s.test", content: [{ type: "text", text: "It." }] },
        ],
      },
    ],
  }) as readonly JsonObject[];
  expect(message!["content"]).toEqual([
    { type: "text", text: "T\n\nWords." },
    { type: "text", text: "Inner." },
    { type: "document", source: { type: "base64", media_type: "application/pdf", data: "JVBERi0=" }, title: "P" },
    { type: "text", text: "Found\nhttps://s.test\nIt." },
  ]);
});

test("[d12.4] what has no counterpart is listed with its path: advice is left out, content never, the rest where asked", () => {
  const { untranslated } = parse({
    cache_control: { type: "ephemeral" },
    context_management: { edits: [{ type: "clear_thinking_20251015", keep: "all" }] },
    mcp_servers: [],
    speed: "fast",
    safeguards: {},
    tools: [{ type: "bash_20250124", name: "bash" }],
    tool_choice: { type: "tool", name: "bash" },
    thinking: { type: "adaptive", block_binding: true },
    output_config: { task_budget: { total: 5 } },
    messages: [
      { role: "user", content: [{ type: "image", source: { type: "file", file_id: "file_1" } }] },
      { role: "assistant", content: "The beginning of" },
    ],
  }).written!;
  expect(untranslated.map(({ path, dropped }) => `${path} ${dropped}`)).toEqual([
    "messages[0].content[0].source never",
    "messages[1] asked",
    "tools[0] asked",
    "tool_choice asked",
    "output_config.task_budget asked",
    "thinking.block_binding asked",
    "cache_control always",
    "context_management always",
    "mcp_servers asked",
    "speed asked",
    "safeguards asked",
  ]);
  for (const { path, message } of untranslated) expect(message).toStartWith(path);
  const summary = parse({ context_management: { edits: [{ type: "compact_20260112" }] } }).written!.untranslated;
  expect(summary).toMatchObject([{ path: "context_management", dropped: "asked" }]);
});

const ASKED = { role: "assistant", content: [use("a"), use("b")] };
test.each<readonly [why: string, path: string | null, body: JsonObject]>([
  ["no bound", "max_tokens", { max_tokens: null }],
  ["a bound of nothing", "max_tokens", { max_tokens: 0 }],
  ["no messages", "messages", { messages: [] }],
  [
    "a turn of which nothing is left",
    "messages",
    { messages: [{ role: "user", content: [{ type: "container_upload", file_id: "f" }] }] },
  ],
  ["a sampling share below nothing", "top_p", { top_p: -1 }],
  ["another role", "messages[0].role", { messages: [{ role: "tool", content: "x" }] }],
  ["a temperature of chat completions", "temperature", { temperature: 1.5 }],
  ["an empty message", "messages[0].content", { messages: [{ role: "user", content: "" }] }],
  [
    "empty text of the user",
    "messages[0].content[0].text",
    { messages: [{ role: "user", content: [{ type: "text", text: "" }] }] },
  ],
  [
    "empty text of the assistant",
    "messages[1].content[0].text",
    { messages: [...HELLO, { role: "assistant", content: [{ type: "text", text: "" }] }] },
  ],
  ["empty system text", "system[0].text", { system: [{ type: "text", text: "" }] }],
  [
    "a call without a result",
    "messages[1].content[1]",
    { messages: [...HELLO, ASKED, { role: "user", content: [result("a")] }] },
  ],
  ["calls at the end", "messages[1].content[0]", { messages: [...HELLO, ASKED] }],
  [
    "a result without a call",
    "messages[1].content[0].tool_use_id",
    { messages: [...HELLO, { role: "user", content: [result("a")] }] },
  ],
  [
    "two results for a call",
    "messages[2].content[1].tool_use_id",
    { messages: [...HELLO, ASKED, { role: "user", content: [result("a"), result("a"), result("b")] }] },
  ],
  [
    "a late result",
    "messages[1].content[0]",
    {
      messages: [
        ...HELLO,
        ASKED,
        ...HELLO,
        { role: "assistant", content: "x" },
        { role: "user", content: [result("a"), result("b")] },
      ],
    },
  ],
  [
    "a block before a result",
    "messages[2].content[1]",
    { messages: [...HELLO, ASKED, { role: "user", content: [{ type: "text", text: "x" }, result("a"), result("b")] }] },
  ],
  [
    "two calls of one id",
    "messages[1].content[1].id",
    { messages: [...HELLO, { role: "assistant", content: [use("a"), use("a")] }, ...HELLO] },
  ],
  [
    "input that is text",
    "messages[1].content[0].input",
    { messages: [...HELLO, { role: "assistant", content: [{ ...use("a"), input: "{}" }] }, ...HELLO] },
  ],
  [
    "thinking without a signature",
    "messages[1].content[0].signature",
    { messages: [...HELLO, { role: "assistant", content: [{ type: "thinking", thinking: "x" }] }, ...HELLO] },
  ],
  ["a budget that is too small", "thinking.budget_tokens", { thinking: { type: "enabled", budget_tokens: 10 } }],
  [
    "a budget of the whole bound",
    "thinking.budget_tokens",
    { max_tokens: 2000, thinking: { type: "enabled", budget_tokens: 2000 } },
  ],
  ["an effort that is no text", "output_config.effort", { output_config: { effort: 3 } }],
  [
    "a choice of no tool",
    "tool_choice.name",
    { tools: [{ name: "look", input_schema: {} }], tool_choice: { type: "tool", name: "see" } },
  ],
  [
    "two tools of one name",
    "tools[1].name",
    {
      tools: [
        { name: "look", input_schema: {} },
        { name: "look", input_schema: {} },
      ],
    },
  ],
  ["a tool without a schema", "tools[0].input_schema", { tools: [{ name: "look" }] }],
  [
    "bytes that are not base64",
    "messages[0].content[1].source.data",
    {
      messages: [
        {
          role: "user",
          content: [
            { type: "text", text: "x" },
            { type: "image", source: { type: "base64", media_type: "image/png", data: "ü" } },
          ],
        },
      ],
    },
  ],
])("[d12.4 d12.6] %s is refused with its path", (_why, path, body) => {
  const { code, param, message } = refusal(body);
  expect({ code, param }).toEqual({ code: "invalid_request", param: path });
  expect(message).toContain(path!);
});

test("[d12.4] a name that the model does not know of a provider's id leads back to it", () => {
  for (const id of ["call_1", "functions.look:0", "ünï", "gwid_x", "gwid_", " ", "a/b+c=="]) {
    const { messages } = parse({
      messages: [
        ...HELLO,
        { role: "assistant", content: [use(clientCallId(id))] },
        { role: "user", content: [result(clientCallId(id))] },
      ],
    });
    expect(clientCallId(id)).toMatch(/^[a-zA-Z0-9_-]+$/);
    expect(messages[1]!.tool_calls![0]!.id).toBe(id);
    expect(messages[2]!.tool_call_id).toBe(id);
  }
  expect(clientCallId("gwid_YQ")).not.toBe(clientCallId("a"));
});
