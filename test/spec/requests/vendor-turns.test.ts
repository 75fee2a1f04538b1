// Content of a vendor that chat completions cannot express is carried with the message, complete and in order, and is
// sent back to that vendor unchanged (record 0006): Anthropic's blocks, streamed and non-streaming, and those of
// Bedrock's Converse.
import { describe, expect, test } from "bun:test";
import type { JsonObject } from "../../../src/core/json.ts";
import { StreamSerializer } from "../../../src/operations/chat/stream-serializer.ts";
import { StreamNormalizer } from "../../../src/engine/stream/stream-normalizer.ts";
import { bedrock } from "../../../src/providers/bedrock/provider.ts";
import { frameOf } from "../../contract/providers/provider-requests.ts";
import { cannedUpstream, stubGateway } from "../../harness/in-process.ts";
import { readStream } from "../../harness/sse.ts";
import { openaiAnswer } from "../../harness/servers/upstream.ts";

const QUERY = { query: "weather in Wien" };
/** A turn with all that has no words: a compaction, tools that the vendor ran, another's tool server, citations of a document, thinking between words. */
const BLOCKS: readonly JsonObject[] = [
  { type: "compaction", content: "They spoke of Wien." },
  { type: "thinking", thinking: "Search.", signature: "c2ln" },
  { type: "text", text: "I look. " },
  { type: "server_tool_use", id: "srvtoolu_1", name: "web_search", input: QUERY },
  {
    type: "web_search_tool_result",
    tool_use_id: "srvtoolu_1",
    content: [{ type: "web_search_result", url: "https://a.example/", title: "A", encrypted_content: "ZW5j" }],
  },
  { type: "mcp_tool_use", id: "mcptoolu_1", name: "clock", server_name: "s", input: {} },
  { type: "mcp_tool_result", tool_use_id: "mcptoolu_1", is_error: false, content: [{ type: "text", text: "noon" }] },
  { type: "thinking", thinking: "Sunny.", signature: "c2ln2" },
  {
    type: "text",
    text: "It is sunny",
    citations: [
      {
        type: "web_search_result_location",
        url: "https://a.example/",
        title: "A",
        cited_text: "sun",
        encrypted_index: "aW5k",
      },
      {
        type: "char_location",
        cited_text: "sun",
        document_index: 0,
        document_title: "D",
        start_char_index: 0,
        end_char_index: 3,
      },
    ],
  },
  { type: "text", text: "." },
];
const CONTAINER = { id: "container_1", expires_at: "2026-11-21T00:00:00Z" };
const whole = (content: readonly JsonObject[], more: JsonObject = {}): JsonObject => ({
  id: "msg_1",
  type: "message",
  role: "assistant",
  model: "m",
  content,
  stop_reason: "end_turn",
  stop_sequence: null,
  usage: { input_tokens: 1, output_tokens: 1 },
  ...more,
});

/** The same answer as the vendor streams it: texts, thinking, inputs and signatures in pieces. */
function streamed({ content, stop_reason, container, ...message }: JsonObject): string {
  const events: JsonObject[] = [
    { type: "message_start", message: { ...message, content: [], stop_reason: null } },
    { type: "ping" },
  ];
  const half = (text: string): readonly string[] => [text.slice(0, 3), text.slice(3)];
  (content as readonly JsonObject[]).forEach((block, index) => {
    const { type, text, thinking, signature, input, citations } = block as Record<string, any>;
    const delta = (one: JsonObject): number => events.push({ type: "content_block_delta", index, delta: one });
    const start =
      type === "text"
        ? { ...block, text: "", ...(citations !== undefined && { citations: [] }) }
        : type === "thinking"
          ? { type, thinking: "", signature: "" }
          : input === undefined
            ? type === "compaction"
              ? { type, content: null }
              : block
            : { ...block, input: {} };
    events.push({ type: "content_block_start", index, content_block: start });
    if (type === "text") for (const piece of half(text)) delta({ type: "text_delta", text: piece });
    if (type === "text") for (const citation of citations ?? []) delta({ type: "citations_delta", citation });
    if (type === "thinking")
      for (const piece of half(thinking)) delta({ type: "thinking_delta", thinking: piece, estimated_tokens: 2 });
    if (type === "thinking") delta({ type: "signature_delta", signature });
    if (input !== undefined)
      for (const piece of ["", ...half(JSON.stringify(input))])
        delta({ type: "input_json_delta", partial_json: piece });
    if (type === "compaction") delta({ type: "compaction_delta", content: block["content"]! });
    events.push({ type: "content_block_stop", index });
  });
  events.push(
    {
      type: "message_delta",
      delta: { stop_reason: stop_reason!, stop_sequence: null, ...(container !== undefined && { container }) },
      usage: { output_tokens: 1 },
    },
    { type: "message_stop" },
  );
  return events.map((event) => `event: ${event["type"] as string}\ndata: ${JSON.stringify(event)}\n\n`).join("");
}

const USER = { role: "user", content: "How is the weather?" };

/** The message that a client has of an answer. */
async function messageOf(
  answer: JsonObject,
  stream: boolean,
  model = "anthropic:claude-opus-4-8",
): Promise<Record<string, any>> {
  const body = stream ? streamed(answer) : JSON.stringify(answer);
  const gateway = stubGateway({
    upstream: cannedUpstream({ headers: { "content-type": stream ? "text/event-stream" : "application/json" }, body }),
  });
  const response = await gateway.chat({ model, messages: [USER], stream });
  const text = await response.text();
  if (!stream) return JSON.parse(text).choices[0].message as Record<string, any>;
  const message: Record<string, any> = { role: "assistant", content: "" };
  for (const { choices } of readStream(text).events)
    for (const { delta } of choices as readonly Record<string, any>[]) {
      for (const name of ["content", "reasoning_content"])
        if (delta[name] !== undefined) message[name] = ((message[name] as string | undefined) ?? "") + delta[name];
      for (const name of ["reasoning_details", "annotations"])
        if (delta[name] !== undefined)
          message[name] = [...((message[name] as unknown[] | undefined) ?? []), ...delta[name]];
      for (const { index, id, type, function: called } of (delta.tool_calls ?? []) as readonly Record<string, any>[]) {
        const calls = (message["tool_calls"] ??= []) as Record<string, any>[];
        const known = (calls[index as number] ??= { id, type, function: { name: called.name, arguments: "" } });
        known["function"].arguments += called.arguments as string;
      }
      // once: clients put deltas together in ways of their own, and a list that comes twice breaks some of them
      if (delta.extra_content !== undefined) expect(message["extra_content"]).toBeUndefined();
      if (delta.extra_content !== undefined) message["extra_content"] = delta.extra_content;
    }
  return message;
}

/** What goes out when a conversation goes on. */
async function sentFor(
  model: string,
  messages: readonly object[],
  more: JsonObject = {},
): Promise<{
  readonly body: Record<string, any>;
  readonly dropped: string | null;
  readonly betas: string | undefined;
}> {
  const gateway = stubGateway({
    // a container comes from an answer that another gateway of the test has received
    permissions: ["byo_endpoint", "vendor_objects"],
    upstream: cannedUpstream({
      headers: { "content-type": "application/json" },
      body: JSON.stringify(
        model.startsWith("anthropic") ? whole([{ type: "text", text: "Fine." }]) : openaiAnswer("Fine."),
      ),
    }),
  });
  const response = await gateway.chat({ model, messages, ...more, num_retries: 0 });
  const { body, headers } = gateway.sent[0]!;
  return {
    body: JSON.parse(body) as Record<string, any>,
    dropped: response.headers.get("x-gateway-dropped-params"),
    betas: headers["anthropic-beta"],
  };
}

for (const stream of [false, true])
  describe(`Anthropic's blocks that chat completions cannot say, ${stream ? "streamed" : "plain"}`, () => {
    test("[d9.7] R4: travel in order and verbatim, and back unchanged; what chat can express stands in the message too", async () => {
      const message = await messageOf(whole(BLOCKS), stream);
      expect(message).toMatchObject({
        content: "I look. It is sunny.",
        reasoning_content: "Search.Sunny.",
        annotations: [
          {
            type: "url_citation",
            url_citation: { url: "https://a.example/", title: "A", start_index: 8, end_index: 19 },
          },
        ],
      });
      expect(message["extra_content"]).toEqual({ anthropic: { content: BLOCKS } });
      const { body, betas, dropped } = await sentFor("anthropic:claude-opus-4-8", [
        USER,
        message,
        { role: "user", content: "And now?" },
      ]);
      expect(body["messages"]).toEqual([
        USER,
        { role: "assistant", content: BLOCKS },
        { role: "user", content: "And now?" },
      ]);
      expect(betas?.split(",").toSorted()).toEqual(["compact-2026-01-12", "mcp-client-2025-11-20"]);
      expect(dropped).toBe("messages[].annotations");
    });

    test("go back as they are in a paused turn, in the container in which it ran, and calls beside it keep their results", async () => {
      const paused = BLOCKS.slice(3, 4);
      const message = await messageOf(whole(paused, { stop_reason: "pause_turn", container: CONTAINER }), stream);
      expect(message).toMatchObject({
        content: "",
        extra_content: { anthropic: { content: paused, container: CONTAINER } },
      });
      const { body } = await sentFor("anthropic:claude-opus-4-8", [USER, message]);
      expect([body["messages"], body["container"]]).toEqual([
        [USER, { role: "assistant", content: paused }],
        "container_1",
      ]);
      expect(
        (await sentFor("anthropic:claude-opus-4-8", [USER, message], { container: "own" })).body["container"],
      ).toBe("own");

      const calling = [
        ...BLOCKS.slice(3, 5),
        {
          type: "tool_use",
          id: "toolu_1",
          name: "clock",
          input: { city: "Wien" },
          caller: { type: "code_execution_20250825", tool_id: "srvtoolu_1" },
        },
      ];
      const called = await messageOf(whole(calling, { stop_reason: "tool_use" }), stream);
      const went = await sentFor(
        "anthropic:claude-opus-4-8",
        [USER, called, { role: "tool", tool_call_id: "toolu_1", content: "noon" }],
        { tools: [{ type: "function", function: { name: "clock" } }] },
      );
      expect(went.body["messages"].slice(1)).toEqual([
        { role: "assistant", content: calling },
        { role: "user", content: [{ type: "tool_result", tool_use_id: "toolu_1", content: "noon" }] },
      ]);
    });

    test("are not carried where the message expresses everything, nor sent where a client has changed the message", async () => {
      const plain = [
        { type: "thinking", thinking: "Hm.", signature: "c2ln" },
        { type: "text", text: "Sunny." },
      ];
      expect((await messageOf(whole(plain), stream))["extra_content"]).toBeUndefined();
      const message = await messageOf(whole(BLOCKS), stream);
      const changed = await sentFor("anthropic:claude-opus-4-8", [USER, { ...message, content: "Redacted." }, USER]);
      expect(JSON.stringify(changed.body)).not.toContain("srvtoolu_1");
      expect(changed.body["messages"][1].content.at(-1)).toEqual({ type: "text", text: "Redacted." });
    });

    test("[d6.10] are left out for every other provider, with a report", async () => {
      const message = await messageOf(whole(BLOCKS, { container: CONTAINER }), stream);
      for (const model of [
        "openai:gpt-4.1",
        "custom:m",
        "mistral:mistral-large-latest",
        "gemini:gemini-2.5-flash",
        "bedrock:anthropic.claude-opus-4-8",
        "cohere:command-a-03-2025",
      ]) {
        const { body, dropped } = await sentFor(model, [USER, message, USER]);
        expect([model, /srvtoolu_1|container_1|encrypted_content/.test(JSON.stringify(body))]).toEqual([model, false]);
        expect(JSON.stringify(body)).toContain("It is sunny.");
        if (model.startsWith("openai") || model.startsWith("custom"))
          expect([model, dropped]).toEqual([model, expect.stringContaining("messages[].extra_content")]);
      }
    });
  });

test("nonsense blocks from a client in that member do no harm", async () => {
  for (const content of [
    null,
    7,
    "x",
    [],
    [1],
    [{ type: 5 }],
    [{ type: "text", text: 7 }],
    [
      { type: "text", text: "Hello", input: "{" },
      { type: "tool_use", id: "a", input: {} },
    ],
  ]) {
    const { body } = await sentFor("anthropic:claude-opus-4-8", [
      USER,
      { role: "assistant", content: "Hello", extra_content: { anthropic: { content, container: content } } },
      USER,
    ]);
    expect([content, body["messages"][1]]).toEqual([content, { role: "assistant", content: "Hello" }]);
  }
});

describe("system messages in mid-conversation", () => {
  const SYSTEM = { role: "system", content: "Speak German." };
  const ANSWER = { role: "assistant", content: "Fine." };
  const LATER = { role: "user", content: "And now?" };
  const sent = async (model: string, ...messages: object[]): Promise<unknown> => {
    const { body } = await sentFor(`anthropic:${model}`, [{ role: "system", content: "Be brief." }, USER, ...messages]);
    return [body["system"], body["messages"]];
  };
  test("[d9.7] stay in their place for the models that take them there, one after another as one", async () => {
    for (const model of ["claude-opus-4-8", "claude-opus-5", "claude-opus-5-5", "claude-fable-5-1"])
      expect([model, await sent(model, SYSTEM, ANSWER, LATER)]).toEqual([
        model,
        ["Be brief.", [USER, { role: "system", content: "Speak German." }, ANSWER, LATER]],
      ]);
    expect(await sent("claude-opus-4-8", SYSTEM, { role: "developer", content: "Or French." })).toEqual([
      "Be brief.",
      [
        USER,
        {
          role: "system",
          content: [
            { type: "text", text: "Speak German." },
            { type: "text", text: "Or French." },
          ],
        },
      ],
    ]);
  });
  test("stand after the turn of the user that follows where the vendor accepts them nowhere else", async () => {
    expect(await sent("claude-opus-4-8", ANSWER, SYSTEM, LATER)).toEqual([
      "Be brief.",
      [USER, ANSWER, LATER, { role: "system", content: "Speak German." }],
    ]);
    // between two turns of the assistant there is no place
    expect(await sent("claude-opus-4-8", ANSWER, SYSTEM, ANSWER)).toEqual([
      [
        { type: "text", text: "Be brief." },
        { type: "text", text: "Speak German." },
      ],
      [
        USER,
        {
          role: "assistant",
          content: [
            { type: "text", text: "Fine." },
            { type: "text", text: "Fine." },
          ],
        },
      ],
    ]);
    const searched = { role: "assistant", content: "", extra_content: { anthropic: { content: BLOCKS.slice(3, 5) } } };
    expect(await sent("claude-opus-4-8", searched, SYSTEM, ANSWER)).toEqual([
      "Be brief.",
      [USER, { role: "assistant", content: BLOCKS.slice(3, 5) }, { role: "system", content: "Speak German." }, ANSWER],
    ]);
  });
  test("stand in front of all turns for models that do not take them", async () => {
    for (const model of ["claude-opus-4-7", "claude-sonnet-4-6", "claude-sonnet-5"])
      expect([model, await sent(model, SYSTEM, ANSWER, LATER)]).toEqual([
        model,
        [
          [
            { type: "text", text: "Be brief." },
            { type: "text", text: "Speak German." },
          ],
          [USER, ANSWER, LATER],
        ],
      ]);
  });
});

describe("Converse's blocks that chat completions cannot say", () => {
  const CITED = {
    citationsContent: {
      content: [{ text: "It is sunny." }],
      citations: [
        {
          title: "D",
          sourceContent: [{ text: "sun" }],
          location: { documentChar: { documentIndex: 0, start: 0, end: 3 } },
        },
      ],
    },
  };
  const blocks: readonly JsonObject[] = [
    { text: "I look. " },
    { toolUse: { toolUseId: "t1", name: "nova_grounding", type: "server_tool_use", input: { q: "w" } } },
    {
      toolResult: { toolUseId: "t1", type: "nova_grounding_result", status: "success", content: [{ json: { a: 1 } }] },
    },
    CITED,
  ];
  const answer = {
    output: { message: { role: "assistant", content: blocks } },
    stopReason: "end_turn",
    usage: { inputTokens: 1, outputTokens: 1, totalTokens: 2 },
  };
  const CONTEXT = { model: "amazon.nova-2-lite-v1:0", memo: null };

  test("[d9.7] R4: travel in order and verbatim, and back unchanged; others do not get them", async () => {
    const message = await messageOf(answer, false, "bedrock:amazon.nova-2-lite-v1:0");
    expect(message).toMatchObject({ content: "I look. It is sunny.", extra_content: { bedrock: { content: blocks } } });
    const { body } = await sentFor("bedrock:amazon.nova-2-lite-v1:0", [USER, message, USER]);
    expect(body["messages"][1]).toEqual({ role: "assistant", content: blocks });
    expect(JSON.stringify((await sentFor("anthropic:claude-opus-4-8", [USER, message, USER])).body)).not.toContain(
      "nova_grounding",
    );
  });

  test("are the same in a stream", () => {
    const decoder = bedrock.openStream(CONTEXT);
    const frame = frameOf(bedrock, 1);
    const normalizer = new StreamNormalizer(frame, new StreamSerializer(frame, false));
    const events: readonly (readonly [name: string, event: JsonObject])[] = [
      ["messageStart", { role: "assistant" }],
      ["contentBlockDelta", { contentBlockIndex: 0, delta: { text: "I " } }],
      ["contentBlockDelta", { contentBlockIndex: 0, delta: { text: "look. " } }],
      ["contentBlockStop", { contentBlockIndex: 0 }],
      [
        "contentBlockStart",
        {
          contentBlockIndex: 1,
          start: { toolUse: { toolUseId: "t1", name: "nova_grounding", type: "server_tool_use" } },
        },
      ],
      ["contentBlockDelta", { contentBlockIndex: 1, delta: { toolUse: { input: '{"q":' } } }],
      ["contentBlockDelta", { contentBlockIndex: 1, delta: { toolUse: { input: '"w"}' } } }],
      ["contentBlockStop", { contentBlockIndex: 1 }],
      [
        "contentBlockStart",
        {
          contentBlockIndex: 2,
          start: { toolResult: { toolUseId: "t1", type: "nova_grounding_result", status: "success" } },
        },
      ],
      ["contentBlockDelta", { contentBlockIndex: 2, delta: { toolResult: [{ json: { a: 1 } }] } }],
      ["contentBlockStop", { contentBlockIndex: 2 }],
      ["contentBlockDelta", { contentBlockIndex: 3, delta: { text: "It is" } }],
      ["contentBlockDelta", { contentBlockIndex: 3, delta: { citation: CITED.citationsContent.citations[0]! } }],
      ["contentBlockDelta", { contentBlockIndex: 3, delta: { text: " sunny." } }],
      ["contentBlockStop", { contentBlockIndex: 3 }],
      ["messageStop", { stopReason: "end_turn" }],
    ];
    let text = "";
    for (const [event, data] of events)
      for (const chunk of decoder.push({ event, data: JSON.stringify(data) })) text += normalizer.write(chunk);
    const deltas = readStream(
      text + normalizer.finish({ prompt_tokens: 1, completion_tokens: 1, total_tokens: 2 }),
    ).events.flatMap((event) => (event["choices"] as readonly Record<string, any>[]).map(({ delta }) => delta));
    expect(deltas.map((delta) => delta.content ?? "").join("")).toBe("I look. It is sunny.");
    expect(deltas.filter((delta) => delta.extra_content !== undefined).map((delta) => delta.extra_content)).toEqual([
      { bedrock: { content: blocks } },
    ]);
  });
});
