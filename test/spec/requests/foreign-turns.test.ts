// A turn with calls of one provider continues at another (promises 6.10, 9.7): members that the second provider cannot
// take are left out and reported, and the upstream request is valid by its row. Every family's turn is sent to every
// provider, through the whole gateway.
import { fitConversation } from "../../../src/engine/fit/fit-conversation.ts";
import { parseChatRequest } from "../../../src/engine/request/parse.ts";
import { describe, expect, test } from "bun:test";
import { isObject, type Json, type JsonObject } from "../../../src/core/json.ts";
import type { Members } from "../../../src/providers/conversation/conversation-members.ts";
import type { Provider } from "../../../src/providers/interface/provider.ts";
import { providers } from "../../../src/providers/registry.ts";
import { CONVERSING } from "../../harness/conversing.ts";
import { cannedUpstream, stubGateway } from "../../harness/in-process.ts";
import { targetFor } from "../../harness/targets.ts";
import { openaiAnswer } from "../../harness/servers/upstream.ts";
import { modelNames } from "./parameter-samples.ts";

const CITY = '{"city":"Wien"}';
const call = (id: string, more: JsonObject = {}): JsonObject => ({
  id,
  type: "function",
  function: { name: "weather", arguments: CITY },
  ...more,
});
const openaiTurn = (message: JsonObject): JsonObject =>
  openaiAnswer("", {
    message: { role: "assistant", content: null, refusal: null, annotations: [], ...message },
    finish_reason: "tool_calls",
  }) as JsonObject;
const details = [{ type: "reasoning.encrypted", data: "c2VjcmV0", format: "openai-responses-v1", index: 0 }];

/** An answer with a call in each family's own form, with what that family adds to a message. */
const TURNS: readonly (readonly [family: string, model: string, answer: JsonObject])[] = [
  ["openai", "gpt-4.1", openaiTurn({ tool_calls: [call("call_yusjHcc6BMO8J3LrKrcXty8H")] })],
  [
    "deepseek",
    "deepseek-chat",
    openaiTurn({ reasoning_content: "Think.", tool_calls: [call("call_00_sXqYgMESDht75NCLLZtt9804", { index: 0 })] }),
  ],
  [
    "openrouter",
    "a/b",
    openaiTurn({ reasoning: "Think.", reasoning_details: details, tool_calls: [call("tool_0_weather")] }),
  ],
  [
    "moonshot",
    "kimi-k2-thinking",
    openaiTurn({ reasoning_content: "Think.", tool_calls: [call("functions.weather:0")] }),
  ],
  [
    "mistral",
    "magistral-medium-latest",
    openaiTurn({
      content: [
        { type: "thinking", thinking: [{ type: "text", text: "Think." }] },
        { type: "text", text: "So." },
      ],
      tool_calls: [call("Ab3dEf9hI")],
    }),
  ],
  [
    "groq",
    "openai/gpt-oss-120b",
    openaiTurn({
      reasoning: "Think.",
      executed_tools: [{ type: "search" }],
      tool_calls: [call("fc_beee8d84-e6d7-4980-bec6-298d3ec7a73f")],
    }),
  ],
  [
    "venice",
    "m",
    openaiTurn({
      reasoning_content: "Think.",
      reasoning_encrypted: true,
      tool_calls: [call(`chatcmpl-tool-${"0a".repeat(16)}`)],
    }),
  ],
  [
    "anthropic",
    "claude-sonnet-4-5",
    {
      id: "msg_1",
      type: "message",
      role: "assistant",
      model: "m",
      stop_reason: "tool_use",
      usage: { input_tokens: 1, output_tokens: 1 },
      content: [
        { type: "thinking", thinking: "Think.", signature: "c2ln" },
        {
          type: "text",
          text: "So.",
          citations: [
            {
              type: "web_search_result_location",
              url: "https://a.example/",
              title: "A",
              cited_text: "so",
              encrypted_index: "x",
            },
          ],
        },
        {
          type: "tool_use",
          id: "toolu_01WN4AuToBnJyXNQXwQBBebj",
          name: "weather",
          input: { city: "Wien" },
          caller: { type: "code_execution_20250825", tool_id: "srvtoolu_1" },
        },
      ],
    },
  ],
  [
    "gemini",
    "gemini-3-pro",
    {
      responseId: "r",
      candidates: [
        {
          index: 0,
          finishReason: "STOP",
          content: {
            role: "model",
            parts: [
              { text: "Think.", thought: true },
              { text: "So.", thoughtSignature: "c2ln" },
              { executableCode: { code: "1" } },
              { functionCall: { name: "weather", args: { city: "Wien" } }, thoughtSignature: "c2ln" },
            ],
          },
        },
      ],
      usageMetadata: { promptTokenCount: 1, candidatesTokenCount: 1, totalTokenCount: 2 },
    },
  ],
  [
    "bedrock",
    "anthropic.claude-sonnet-4-5-v1:0",
    {
      output: {
        message: {
          role: "assistant",
          content: [
            { reasoningContent: { reasoningText: { text: "Think.", signature: "c2ln" } } },
            { text: "So." },
            { toolUse: { toolUseId: "tooluse_8SyUlWO9h4mwwYwp4KfTqn", name: "weather", input: { city: "Wien" } } },
          ],
        },
      },
      stopReason: "tool_use",
      usage: { inputTokens: 1, outputTokens: 1, totalTokens: 2 },
    },
  ],
  [
    "cohere",
    "command-a-03-2025",
    {
      id: "c",
      finish_reason: "TOOL_CALL",
      message: {
        role: "assistant",
        tool_plan: "Think.",
        content: [{ type: "text", text: "So." }],
        citations: [{ start: 0, end: 1, text: "S", sources: [{ type: "tool", id: "t:0", tool_output: { a: 1 } }] }],
        tool_calls: [call("weather_ey5n4qk7h0w2")],
      },
      usage: { tokens: { input_tokens: 1, output_tokens: 1 } },
    },
  ],
  [
    "ollama",
    "qwen3",
    {
      model: "qwen3",
      done: true,
      done_reason: "stop",
      eval_count: 1,
      message: {
        role: "assistant",
        content: "So.",
        thinking: "Think.",
        tool_calls: [{ function: { name: "weather", arguments: { city: "Wien" } } }],
      },
    },
  ],
];

const TOOLS = [
  {
    type: "function",
    cache_control: { type: "ephemeral" },
    function: { name: "weather", parameters: { type: "object", properties: { city: { type: "string" } } } },
  },
];
const ASKED: JsonObject = {
  role: "user",
  name: "ann",
  content: [{ type: "text", text: "How is the weather?", cache_control: { type: "ephemeral" } }],
};

/** The client's second request: the first answer's message as it came, and a result for its call. */
async function conversationAfter(family: string, model: string, answer: JsonObject): Promise<readonly JsonObject[]> {
  const gateway = stubGateway({
    upstream: cannedUpstream({ headers: { "content-type": "application/json" }, body: JSON.stringify(answer) }),
  });
  const response = await gateway.chat({ model: `${family}:${model}`, tools: TOOLS, messages: [ASKED], num_retries: 0 });
  const body = (await response.json()) as {
    choices: { message: JsonObject & { tool_calls: readonly { readonly id: string }[] } }[];
  };
  if (response.status !== 200) throw new Error(`${family}: ${JSON.stringify(body)}`);
  const { message } = body.choices[0]!;
  return [
    ASKED,
    message,
    ...message.tool_calls.map(({ id }) => ({ role: "tool", tool_call_id: id, content: "sunny" })),
  ];
}

interface Gone {
  readonly status: number;
  readonly dropped: readonly string[];
  readonly body: JsonObject | null;
  readonly error: JsonObject | null;
}

async function goOn(provider: Provider, model: string, messages: readonly JsonObject[]): Promise<Gone> {
  const gateway = stubGateway({
    upstream: cannedUpstream({
      headers: { "content-type": "application/json" },
      body: JSON.stringify(openaiAnswer("Fine.")),
    }),
  });
  const response = await gateway.chat({
    model: `${provider.id}:${model}`,
    tools: TOOLS,
    drop_params: true,
    messages,
    num_retries: 0,
  });
  const answer = (await response.json()) as JsonObject;
  const [first] = gateway.sent;
  return {
    status: response.status,
    dropped: response.headers.get("x-gateway-dropped-params")?.split(",") ?? [],
    body: first === undefined ? null : (JSON.parse(first.body) as JsonObject),
    error: isObject(answer["error"]) ? answer["error"] : null,
  };
}

/** What a body has in its conversation that the provider's table does not name. */
function strangers(provider: Provider, model: string, body: JsonObject): readonly string[] {
  const table = provider.conversation(targetFor(provider, { model }));
  const found: string[] = [];
  const judge = (holder: JsonObject, own: readonly string[], taken: Members, place: string): void => {
    for (const name of Object.keys(holder)) {
      if (own.includes(name)) continue;
      if (name === "extra_content")
        found.push(
          ...Object.keys(holder[name] as JsonObject)
            .filter((vendor) => !table.extraContent.includes(vendor))
            .map((vendor) => `${place}.${name}.${vendor}`),
        );
      else if (taken !== "any" && !taken.has(name)) found.push(`${place}.${name}`);
    }
  };
  for (const message of body["messages"] as readonly JsonObject[]) {
    const role = message["role"] as "assistant";
    judge(message, ["role", "content", "reasoning_text"], table.messages[role], role);
    for (const part of Array.isArray(message["content"]) ? (message["content"] as readonly JsonObject[]) : []) {
      const taken = table.parts.get(part["type"] as string);
      if (taken !== undefined) judge(part, ["type", part["type"] as string], taken, `${role} part`);
    }
    for (const made of Array.isArray(message["tool_calls"]) ? (message["tool_calls"] as readonly JsonObject[]) : []) {
      judge(made, ["id", "type", "function"], table.calls, "call");
      judge(made["function"] as JsonObject, [], table.functions, "function");
    }
  }
  for (const tool of (body["tools"] ?? []) as readonly JsonObject[])
    judge(tool, ["type", "function"], table.tools, "tool");
  return found;
}

/** What vendors with closed schemas take by their own clients, written down once more: a table that says too much is found by it. */
const CLOSED: Readonly<
  Record<
    string,
    {
      readonly user: readonly string[];
      readonly assistant: readonly string[];
      readonly tool: readonly string[];
      readonly call: readonly string[];
      readonly text: readonly string[];
    }
  >
> = {
  mistral: { user: [], assistant: ["tool_calls", "prefix"], tool: ["tool_call_id", "name"], call: ["index"], text: [] },
  groq: {
    user: ["name"],
    assistant: ["tool_calls", "name", "reasoning", "function_call"],
    tool: ["tool_call_id", "name"],
    call: [],
    text: [],
  },
  cerebras: {
    user: ["name"],
    assistant: ["tool_calls", "name", "reasoning"],
    tool: ["tool_call_id", "name"],
    call: [],
    text: [],
  },
  fireworks: { user: [], assistant: ["tool_calls", "reasoning_content"], tool: ["tool_call_id"], call: [], text: [] },
  openai: {
    user: ["name"],
    assistant: ["tool_calls", "name", "refusal", "audio", "function_call", "annotations"],
    tool: ["tool_call_id", "name"],
    call: ["index"],
    text: [],
  },
  azure: {
    user: ["name"],
    assistant: ["tool_calls", "name", "refusal", "audio", "function_call", "annotations"],
    tool: ["tool_call_id", "name"],
    call: ["index"],
    text: [],
  },
};

function beyondSchema(id: string, body: JsonObject): readonly string[] {
  const schema = CLOSED[id]!;
  const beyond = (holder: Json | undefined, known: readonly string[]): readonly string[] =>
    Object.keys(holder as JsonObject).filter((name) => !known.includes(name));
  return (body["messages"] as readonly JsonObject[]).flatMap((message) => {
    const parts = Array.isArray(message["content"]) ? (message["content"] as readonly JsonObject[]) : [];
    const calls = Array.isArray(message["tool_calls"]) ? (message["tool_calls"] as readonly JsonObject[]) : [];
    return [
      ...beyond(message, ["role", "content", ...schema[message["role"] as "user"]]),
      ...parts.filter(({ type }) => type === "text").flatMap((part) => beyond(part, ["type", "text", ...schema.text])),
      ...((body["tools"] ?? []) as readonly JsonObject[]).flatMap((tool) => beyond(tool, ["type", "function"])),
      ...calls.flatMap((made) => [
        ...beyond(made, ["id", "type", "function", ...schema.call]),
        ...beyond(made["function"], ["name", "arguments"]),
      ]),
    ];
  });
}

const idsOf = (body: JsonObject): readonly unknown[] =>
  (body["messages"] as readonly JsonObject[]).flatMap(({ tool_calls: calls, tool_call_id: answered }) => [
    ...(Array.isArray(calls) ? calls.map((made) => (made as JsonObject)["id"]) : []),
    ...(answered === undefined ? [] : [answered]),
  ]);

const targets = CONVERSING.filter(({ id }) => id !== "sandbox");
/** Raw prompts have no form for calls. */
const refusesCalls = (error: JsonObject | null): boolean =>
  error?.["code"] === "unsupported_value" &&
  /no form for|has no function|cannot (?:be|represent)/.test(error["message"] as string);

describe("a turn with tool calls of one provider, at every other provider", () => {
  for (const [family, model, answer] of TURNS)
    test(`[d6.10 d9.7] ${family}'s turn is accepted everywhere: the upstream request is valid by the row, and what could not be sent is reported`, async () => {
      const messages = await conversationAfter(family, model, answer);
      const clientId = (messages[1]!["tool_calls"] as readonly JsonObject[])[0]!["id"] as string;
      const faults: string[] = [];
      for (const provider of targets)
        for (const each of modelNames(provider)) {
          const { body, dropped, error, status } = await goOn(provider, each, messages);
          const fault = (what: string): unknown => faults.push(`${provider.id}:${each} ${what}`);
          if (body === null) {
            if (!refusesCalls(error)) fault(JSON.stringify(error));
            continue;
          }
          const text = JSON.stringify(body);
          // models that speak only the Responses API are sent items
          if (!provider.sameShape || body["input"] !== undefined) {
            if (/"extra_content"|"reasoning_details"|"annotations"/.test(text))
              fault("has members of chat completions");
            continue;
          }
          if (status !== 200) fault(JSON.stringify(error));
          for (const stranger of strangers(provider, each, body)) fault(`takes no ${stranger}`);
          const [made, answered] = idsOf(body);
          if (made !== answered) fault("has two ids for one call");
          if (provider.id in CLOSED)
            for (const name of beyondSchema(provider.id, body))
              fault(`has ${name}, which is not in the vendor's schema`);
          // ids are changed only where a form is demanded
          if (provider.id !== "mistral" && clientId.length <= 40 && made !== clientId)
            fault(`has the id ${String(made)}`);
          // a member of the text that is not in the body is reported
          const table = provider.conversation(targetFor(provider, { model: each }));
          const { assistant, user } = table.messages;
          for (const [name, value] of Object.entries(messages[1]!))
            if (value === null) {
              if (dropped.includes(`messages[].${name}`)) fault(`tells messages[].${name}, which was not set`);
            } else if (
              !["role", "content"].includes(name) &&
              assistant !== "any" &&
              !assistant.has(name) &&
              name !== "extra_content" &&
              !dropped.includes(`messages[].${name}`)
            )
              fault(`does not tell messages[].${name}`);
          if (user !== "any" && !user.has("name") !== dropped.includes("messages[].name"))
            fault("does not tell messages[].name");
          for (const [place, part] of [
            ["messages[].content[].cache_control", "messages"],
            ["tools[].cache_control", "tools"],
          ] as const)
            if (
              body[part] !== undefined &&
              JSON.stringify(body[part]).includes('"cache_control"') === dropped.includes(place)
            )
              fault(`tells the wrong of ${place}`);
        }
      expect(faults).toEqual([]);
    });

  test("[d6.10] Mistral gets ids of nine letters and digits for any foreign id, the same for call and result in every turn; its own ids stay", async () => {
    for (const [family, model, answer] of TURNS) {
      const messages = await conversationAfter(family, model, answer);
      const [first, second] = [
        await goOn(providers.get("mistral")!, "mistral-large-latest", messages),
        await goOn(providers.get("mistral")!, "mistral-large-latest", messages),
      ];
      const ids = idsOf(first.body!);
      expect([family, ids.length, new Set(ids).size]).toEqual([family, 2, 1]);
      expect(ids[0]).toMatch(/^[a-zA-Z0-9]{9}$/);
      expect(idsOf(second.body!)).toEqual(ids);
      if (family === "mistral") expect(ids[0]).toBe("Ab3dEf9hI");
    }
  });

  test("[d6.10 d9.7] the provider that made a turn gets its own id and members back unchanged", async () => {
    const own = async (family: string): Promise<Gone & { readonly turn: JsonObject }> => {
      const [, model, answer] = TURNS.find(([name]) => name === family)!;
      const gone = await goOn(providers.get(family)!, model, await conversationAfter(family, model, answer));
      return { ...gone, turn: (gone.body!["messages"] as readonly JsonObject[])[1]! };
    };
    const kimi = await own("moonshot");
    expect(kimi.turn).toMatchObject({ reasoning_content: "Think.", tool_calls: [{ id: "functions.weather:0" }] });
    expect((kimi.body!["messages"] as readonly JsonObject[])[2]).toMatchObject({ tool_call_id: "functions.weather:0" });
    expect((await own("openrouter")).turn).toMatchObject({ reasoning: "Think.", reasoning_details: details });
    expect((await own("groq")).turn).toMatchObject({ reasoning: "Think." });
  });

  test("[d6.10 d9.7] reasoning that is not signed by its vendor is left out where only signed reasoning is accepted, and reported; signed reasoning is kept", () => {
    const signedBy = (format: string) => [
      { type: "reasoning.text", text: "Think.", signature: "c2ln", format, index: 0 },
    ];
    const ways: readonly (readonly [family: string, model: string, signed: object])[] = [
      ["anthropic", "claude-sonnet-4-5", { reasoning_details: signedBy("anthropic-claude-v1") }],
      ["bedrock", "anthropic.claude-opus-4-5", { reasoning_details: signedBy("anthropic-claude-v1") }],
      ["gemini", "gemini-2.5-pro", { extra_content: { google: { thought_signature: "c2ln" } } }],
    ];
    for (const [family, model, signed] of ways) {
      const provider = providers.get(family)!;
      const table = provider.conversation(targetFor(provider, { model }));
      const after = (more: object): readonly string[] => {
        const turn = { role: "assistant", content: "It is.", reasoning_content: "Think.", ...more };
        const messages = [{ role: "user", content: "Is it?" }, turn, { role: "user", content: "So?" }];
        return fitConversation(parseChatRequest(JSON.stringify({ model: "m", messages }), null), table).left;
      };
      expect([family, after({})]).toEqual([family, ["messages[].reasoning_content"]]);
      expect([family, after({ reasoning_content: null, refusal: null })]).toEqual([family, []]);
      expect([family, after(signed)]).toEqual([family, []]);
      if (family === "gemini") continue;
      const foreign = after({ reasoning_details: signedBy("openai-responses-v1") });
      expect([family, foreign]).toEqual([family, ["messages[].reasoning_content", "messages[].reasoning_details"]]);
    }
  });

  test("[d6.10 d9.7] a refusal is said to every other provider, as text where it has no other place; a turn that has nothing else left is an empty text", async () => {
    const said = async (provider: Provider, more: JsonObject) => {
      const turn = { role: "assistant", content: null, ...more };
      const messages = [{ role: "user", content: "Is it?" }, turn, { role: "user", content: "So?" }];
      const { body, dropped } = await goOn(provider, "m", messages);
      return { text: JSON.stringify(body), dropped };
    };
    for (const provider of targets) {
      const refused = await said(provider, { refusal: "I cannot." });
      expect([provider.id, refused.text]).toEqual([provider.id, expect.stringContaining("I cannot.")]);
      expect([provider.id, ...refused.dropped]).not.toContain("messages[].refusal");
      const { text, dropped } = await said(provider, { audio: { id: "audio_1" } });
      if (dropped.includes("messages[].audio"))
        expect([provider.id, text]).toEqual([provider.id, expect.not.stringContaining('"content":null')]);
    }
  });

  test("[d6.10] names that a caller invents are reported within bounds, and cannot corrupt the header", async () => {
    const strange = Object.fromEntries(Array.from({ length: 200 }, (_, index) => [`member_${index}`, 1]));
    const gone = await goOn(providers.get("mistral")!, "m", [
      { role: "user", content: "Hi", "a\r\nset-cookie: b": 1, "a,b": 2, ...strange },
    ]);
    expect(gone.body!["messages"]).toEqual([{ role: "user", content: "Hi" }]);
    expect(gone.dropped.length).toBeLessThanOrEqual(34);
    expect(gone.dropped).toContain("messages[].(others)");
    expect(gone.dropped.filter((name) => !/^messages\[\]\.(member_\d+|\(others\))$|^tools$/.test(name))).toEqual([]);
  });

  test("[d6.10] the index of a call that was put together from a stream, and a tool's name beside its function, are sent where the vendor accepts them, and otherwise reported", () => {
    const made = { index: 0, id: "c1", type: "function", function: { name: "f", arguments: "{}" } };
    const request = {
      model: "m",
      messages: [
        { role: "user", content: "Run it." },
        { role: "assistant", content: null, tool_calls: [made] },
        { role: "tool", tool_call_id: "c1", content: "Done." },
      ],
      tools: [{ type: "function", name: "f", function: { name: "f", parameters: { type: "object" } } }],
    };
    const left = (id: string): readonly string[] => {
      const table = providers.get(id)!.conversation(targetFor(providers.get(id)!, { model: "m" }));
      return fitConversation(parseChatRequest(JSON.stringify(request), null), table).left;
    };
    for (const id of ["openai", "azure", "deepseek", "xai", "zai"]) expect([id, left(id)]).toEqual([id, []]);
    expect(left("mistral")).toEqual(["tools[].name"]);
    expect(left("groq").toSorted()).toEqual(["messages[].tool_calls[].index", "tools[].name"]);
  });

  test("[d6.10] a conversation that fits is sent as it was written, without a report", async () => {
    const gateway = stubGateway({
      upstream: cannedUpstream({
        headers: { "content-type": "application/json" },
        body: JSON.stringify(openaiAnswer("Fine.")),
      }),
    });
    const written = '[ {"role":"user", "content":"Hi", "name":"ann"} ]';
    const response = await gateway.chat(`{"model":"openai:gpt-4.1","messages":${written}}` as never);
    expect([response.status, response.headers.get("x-gateway-dropped-params")]).toEqual([200, null]);
    expect(gateway.sent[0]!.body).toContain(`"messages":${written}`);
  });
});
