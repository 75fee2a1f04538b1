// Cache marks of the Messages API at models of OpenAI's form: they are breakpoints where the model has those, and are left out
// and named elsewhere (promises 6.10 and 12.4).
import { expect, test } from "bun:test";
import { CHAT_COMPLETIONS } from "../../../src/operations/chat/chat-completions.ts";
import { MESSAGES } from "../../../src/operations/messages/messages.ts";
import { providerSettings, storedKey } from "../../harness/targets.ts";
import { openaiAnswer } from "../../harness/servers/upstream.ts";
import { bridge } from "./fronts.ts";

const MARK = { cache_control: { type: "ephemeral", ttl: "1h" } };
const BREAKPOINT = { prompt_cache_breakpoint: { mode: "explicit" } };
const PICTURE = { type: "base64", media_type: "image/png", data: "iVBORw0KGgo=" };
const PAPER = { type: "base64", media_type: "application/pdf", data: "JVBERi0=" };
const BODY = {
  max_tokens: 100,
  system: [{ type: "text", text: "Be kind.", ...MARK }],
  tools: [{ name: "look", input_schema: { type: "object" }, ...MARK }],
  messages: [
    {
      role: "user",
      content: [
        { type: "image", source: PICTURE, ...MARK },
        { type: "document", source: PAPER, ...MARK },
        { type: "text", text: "Look." },
      ],
    },
    {
      role: "assistant",
      content: [
        { type: "text", text: "I look.", ...MARK },
        { type: "tool_use", id: "call_1", name: "look", input: {} },
      ],
    },
    { role: "user", content: [{ type: "tool_result", tool_use_id: "call_1", content: "seen", ...MARK }] },
  ],
};

async function sent(model: string, operation = MESSAGES, body: object = BODY) {
  const response = { id: "r", object: "response", status: "completed", model: "m", output: [] };
  const stub = bridge(
    ({ url }) => ({
      headers: { "content-type": "application/json" },
      body: JSON.stringify(url.endsWith("/responses") ? response : openaiAnswer("Hello.")),
    }),
    { providers: [providerSettings({ id: "openai", family: "openai", credentials: [storedKey("key")] })] },
  );
  const told = await stub.call(operation, { model, ...body });
  const text = await told.text();
  expect([told.status, text]).toEqual([200, text]);
  return {
    body: JSON.parse(stub.sent[0]!.body) as Record<string, any>,
    text: stub.sent[0]!.body,
    dropped: (told.headers.get("x-gateway-dropped-params") ?? "").split(",").map((name) => name.trim()),
  };
}

test.each(["openai:gpt-5.6", "openai:gpt-5.10-mini", "openai:gpt-6"])(
  "[d12.4] %s gets them as breakpoints of its parts",
  async (model) => {
    // with tools, chat completions take it only without reasoning
    const { body, text, dropped } = await sent(model, MESSAGES, { ...BODY, thinking: { type: "disabled" } });
    const [system, user, assistant, result] = body["messages"];
    expect(system.content).toEqual([{ type: "text", text: "Be kind.", ...BREAKPOINT }]);
    expect(user.content.map((part: any) => [part.type, part.prompt_cache_breakpoint?.mode])).toEqual([
      ["image_url", "explicit"],
      ["file", "explicit"],
      ["text", undefined],
    ]);
    expect(JSON.stringify(assistant)).not.toContain("breakpoint");
    expect(result.content).toEqual([{ type: "text", text: "seen", ...BREAKPOINT }]);
    // answers and tools have no place for one
    expect(text).not.toContain("cache_control");
    expect(dropped).toEqual(expect.arrayContaining(["tools[].cache_control"]));
    expect(dropped.some((name) => name.includes("content") && name.includes("cache_control"))).toBe(true);
  },
);

test.each(["openai:gpt-5.6-pro", "openai:gpt-5.6"])(
  "[d12.4, d12.13] so does %s by the Responses API",
  async (model) => {
    const { body, text } = await sent(model);
    const marked = (body["input"] as readonly any[]).flatMap(({ content, output }) =>
      [content ?? output].flat().filter((part: any) => part?.prompt_cache_breakpoint !== undefined),
    );
    expect(marked.map(({ type }) => type)).toEqual(["input_text", "input_image", "input_file", "input_text"]);
    expect(text).not.toContain("cache_control");
  },
);

test.each(["openai:gpt-5.5", "openai:gpt-4.1", "openai:gpt-5-pro"])(
  "[d6.10] %s has none: they are left out and named",
  async (model) => {
    const { text, dropped } = await sent(model);
    expect(text).not.toMatch(/cache_control|prompt_cache_breakpoint/);
    expect(dropped.some((name) => name.includes("cache_control"))).toBe(true);
  },
);

test("[d6.10] chat completions send OpenAI's own breakpoints to models that have them", async () => {
  const part = { type: "text", text: "Hi", ...BREAKPOINT };
  const messages = [{ role: "user", content: [part] }];
  expect((await sent("openai:gpt-5.6", CHAT_COMPLETIONS, { messages })).body["messages"]).toEqual(messages);
  const { body, dropped } = await sent("openai:gpt-5.5", CHAT_COMPLETIONS, { messages });
  expect(body["messages"]).toEqual([{ role: "user", content: [{ type: "text", text: "Hi" }] }]);
  expect(dropped).toEqual(["messages[].content[].prompt_cache_breakpoint"]);
});
