// Promise 16.2: `prompt_cache: auto` sets the vendor's marks of the prompt cache where a conversation is stable, in what the
// gateway translates and in what goes out as the client wrote it, never beside marks of the client.
import { afterAll, describe, expect, test } from "bun:test";
import type { PromptCaching } from "../../../src/core/configured/prompt-cache.ts";
import { DIRECT_ROUTE, directRoute } from "../../../src/core/configured/route.ts";
import { LONG_BODY_BYTES, openLongBodyThread } from "../../../src/engine/long-bodies/long-body-thread.ts";
import { openLongRequests } from "../../../src/engine/long-bodies/long-requests.ts";
import type { Operation } from "../../../src/engine/operation.ts";
import { CHAT_COMPLETIONS } from "../../../src/operations/chat/chat-completions.ts";
import { longBodyProgram } from "../../../src/operations/long-body-program.ts";
import { COUNT_TOKENS } from "../../../src/operations/messages/count-tokens.ts";
import { MESSAGES } from "../../../src/operations/messages/messages.ts";
import { RESPONSES } from "../../../src/operations/responses/responses.ts";
import { type Chance, chanceOf, printedSeed } from "../../harness/time/chance.ts";
import { stubGateway, type StubOptions } from "../../harness/in-process.ts";
import { drawCount } from "../../harness/time/long-run.ts";
import { nativeUpstream } from "../operations/native-answers.ts";

const thread = openLongBodyThread(longBodyProgram());
const longRequests = openLongRequests(thread);
afterAll(() => thread.close());

type Body = Readonly<Record<string, unknown>>;

const optionsWith = (route: PromptCaching | null, project?: PromptCaching): StubOptions => ({
  upstream: nativeUpstream(),
  snapshot: {
    routes: new Map([
      [DIRECT_ROUTE, { ...directRoute({ name: "", providerId: "", model: "" }), retries: 0, promptCaching: route }],
    ]),
    ...(project !== undefined && {
      hasCachingProjects: true as const,
      projectSettings: new Map([
        ["default", { dropParams: null, disableStopSequenceLimit: null, promptCaching: project }],
      ]),
    }),
  },
});

async function sentBy(operation: Operation, body: Body, options = optionsWith("auto")): Promise<Body> {
  const gateway = stubGateway(options);
  const response = await gateway.call(operation, body);
  await response.text();
  const [sent] = gateway.sent;
  return JSON.parse(sent!.body === "" ? new TextDecoder().decode(sent!.bytes) : sent!.body) as Body;
}

/** The places of marks in a body, and the body without them. */
function marksIn(value: unknown, path = ""): string[] {
  if (Array.isArray(value)) return value.flatMap((item, index) => marksIn(item, `${path}[${index}]`));
  if (typeof value !== "object" || value === null) return [];
  return Object.entries(value).flatMap(([name, inner]) =>
    MARKS.has(name) ? [path] : marksIn(inner, path === "" ? name : `${path}.${name}`),
  );
}
const MARKS: ReadonlySet<string> = new Set(["cache_control", "cachePoint", "prompt_cache_breakpoint"]);

const FUNCTION = (name: string) => ({
  type: "function",
  function: { name, description: name, parameters: { type: "object", properties: {} } },
});
const CHAT: Body = {
  max_tokens: 9,
  tools: [FUNCTION("look"), FUNCTION("write")],
  messages: [
    { role: "system", content: "Be brief." },
    { role: "user", content: "Look." },
    {
      role: "assistant",
      content: null,
      tool_calls: [{ id: "c1", type: "function", function: { name: "look", arguments: "{}" } }],
    },
    { role: "tool", tool_call_id: "c1", content: "Rain" },
    { role: "assistant", content: "It rains." },
    { role: "user", content: "And now?" },
  ],
};
const THOUGHT = { type: "thinking", thinking: "Hm.", signature: "EqQBCkYIBxgCKkA=" };
const MESSAGE: Body = {
  max_tokens: 9,
  system: "Be brief.",
  tools: [
    { name: "look", input_schema: { type: "object" } },
    { name: "write", input_schema: { type: "object" } },
  ],
  messages: [
    { role: "user", content: "Look." },
    { role: "assistant", content: [{ type: "tool_use", id: "t1", name: "look", input: {} }] },
    { role: "user", content: [{ type: "tool_result", tool_use_id: "t1", content: "Rain" }] },
    { role: "assistant", content: [THOUGHT, { type: "text", text: "It rains." }] },
    { role: "user", content: "And now?" },
  ],
};

describe("[d16.2] marks in a translated conversation", () => {
  const PLACES: Readonly<Record<string, readonly string[]>> = {
    "anthropic:claude-sonnet-5": ["system[0]", "messages[3].content[0]", "tools[1]"],
    "vertex:claude-sonnet-5": ["system[0]", "messages[3].content[0]", "tools[1]"],
    "bedrock:anthropic.claude-sonnet-4-5": ["system[1]", "messages[3].content[1]", "toolConfig.tools[2]"],
    "bedrock:amazon.nova-pro-v1:0": ["system[1]", "messages[3].content[1]"],
    // the vendor takes none in answers and tools
    "openai:gpt-5.6": ["input[0].content[0]", "input[3].output[0]"],
    "openai:gpt-5.6 without reasoning": ["messages[0].content[0]", "messages[3].content[0]"],
  };
  for (const [what, places] of Object.entries(PLACES))
    test(`${what} gets them behind the tools, the system text and the turn before the last`, async () => {
      const model = what.replace(" without reasoning", "");
      const body = { model, ...CHAT, ...(model !== what && { reasoning_effort: "none" }) };
      expect(marksIn(await sentBy(CHAT_COMPLETIONS, body)).toSorted()).toEqual([...places].toSorted());
    });

  test.each(["bedrock:anthropic.claude-3-opus", "openai:gpt-4o", "gemini:gemini-2.5-pro", "mistral:mistral-large"])(
    "%s takes no marks and gets none",
    async (model) => {
      expect(marksIn(await sentBy(CHAT_COMPLETIONS, { model, ...CHAT }))).toEqual([]);
    },
  );

  test("a first message has no turn before it", async () => {
    const body = { model: "anthropic:claude-sonnet-5", max_tokens: 9, messages: [{ role: "user", content: "Hello" }] };
    expect(marksIn(await sentBy(CHAT_COMPLETIONS, body))).toEqual([]);
  });

  test("a tool that the model has to look for, and a turn that ends in reasoning, get no mark", async () => {
    const body = {
      model: "anthropic:claude-sonnet-5",
      max_tokens: 9,
      tools: [FUNCTION("look"), { ...FUNCTION("later"), defer_loading: true }],
      messages: [
        { role: "user", content: "Look." },
        {
          role: "assistant",
          content: "",
          reasoning_details: [
            { type: "reasoning.text", text: "Hm.", signature: "EqQBCkYIBxgCKkA=", format: "anthropic-claude-v1" },
          ],
        },
        { role: "user", content: "Well?" },
      ],
    };
    expect(marksIn(await sentBy(CHAT_COMPLETIONS, body))).toEqual(["messages[0].content[0]", "tools[0]"]);
  });

  test("a message of the Messages API gets them at a target that does not speak it", async () => {
    expect(marksIn(await sentBy(MESSAGES, { model: "bedrock:amazon.nova-pro-v1:0", ...MESSAGE })).toSorted()).toEqual([
      // behind reasoning and text
      "messages[3].content[2]",
      "system[1]",
    ]);
  });
});

describe("[d16.2] marks in what the client wrote", () => {
  test.each(["anthropic:claude-sonnet-5", "vertex:claude-sonnet-5", "bedrock:anthropic.claude-sonnet-4-5"])(
    "%s gets the client's own body with three marks",
    async (model) => {
      const sent = await sentBy(MESSAGES, { model, ...MESSAGE });
      expect(marksIn(sent).toSorted()).toEqual(["messages[3].content[1]", "system[0]", "tools[1]"]);
      expect(sent["system"]).toEqual([{ type: "text", text: "Be brief.", cache_control: { type: "ephemeral" } }]);
    },
  );

  test("a mark stands before thinking, at no empty text, and at no tool that has to be looked for", async () => {
    const body = {
      model: "anthropic:claude-sonnet-5",
      max_tokens: 9,
      tools: [
        { name: "look", input_schema: { type: "object" } },
        { name: "later", input_schema: { type: "object" }, defer_loading: true },
      ],
      system: [
        { type: "text", text: "Be brief." },
        { type: "text", text: "" },
      ],
      messages: [
        { role: "user", content: "Look." },
        { role: "assistant", content: [{ type: "text", text: "It rains." }, THOUGHT] },
        { role: "user", content: "And now?" },
        { role: "user", content: "And then?" },
      ],
    };
    expect(marksIn(await sentBy(MESSAGES, body)).toSorted()).toEqual([
      "messages[1].content[0]",
      "system[0]",
      "tools[0]",
    ]);
    const thoughts = { ...body, messages: body.messages.with(1, { role: "assistant", content: [THOUGHT] }) };
    expect(marksIn(await sentBy(MESSAGES, thoughts))).toContain("messages[0].content[0]");
  });

  test("a native response goes out without marks, because its vendor marks the newest message of each", async () => {
    const turns = [
      { role: "user", content: "Look." },
      { role: "assistant", content: "It rains." },
      { role: "user", content: "And now?" },
    ];
    const body = { model: "openai:gpt-5.6", instructions: "Be brief.", input: turns };
    const sent = await sentBy(RESPONSES, body);
    expect(sent["input"]).toEqual(turns);
    expect(marksIn(sent)).toEqual([]);
    expect(sent).toEqual(await sentBy(RESPONSES, body, optionsWith(null)));
  });

  test("a count of tokens, and a model of the platform that takes no marks, go out as they are", async () => {
    expect(marksIn(await sentBy(COUNT_TOKENS, { model: "anthropic:claude-sonnet-5", ...MESSAGE }))).toEqual([]);
    expect(marksIn(await sentBy(MESSAGES, { model: "bedrock:anthropic.claude-3-opus", ...MESSAGE }))).toEqual([]);
  });
});

describe("[d16.2] who decides", () => {
  const model = "anthropic:claude-sonnet-5";
  const CASES: readonly (readonly [string, PromptCaching | null, PromptCaching | undefined, number])[] = [
    ["nothing", null, undefined, 0],
    ["the project alone", null, "auto", 3],
    ["the route alone", "auto", undefined, 3],
    ["a route that overrides the project", "off", "auto", 0],
    ["a route that overrides a project without", "auto", "off", 3],
  ];
  test.each(CASES)("%s", async (_, route, project, marks) => {
    const options = optionsWith(route, project);
    expect(marksIn(await sentBy(CHAT_COMPLETIONS, { model, ...CHAT }, options))).toHaveLength(marks);
    expect(marksIn(await sentBy(MESSAGES, { model, ...MESSAGE }, options))).toHaveLength(marks);
  });

  test("without it, a body goes out byte for byte as before", async () => {
    for (const [operation, body] of [
      [CHAT_COMPLETIONS, CHAT],
      [MESSAGES, MESSAGE],
    ] as const) {
      const off = await sentBy(operation, { model, ...body }, optionsWith("off", "auto"));
      expect(off).toEqual(await sentBy(operation, { model, ...body }, optionsWith(null)));
    }
  });
});

describe("[d16.2] marks of the client", () => {
  const MARK = { cache_control: { type: "ephemeral", ttl: "1h" } };
  const last = (body: Body): readonly Body[] => body["messages"] as readonly Body[];
  const MARKED: Readonly<Record<string, (body: Body) => Body>> = {
    "in a tool": (body) => ({
      ...body,
      tools: (body["tools"] as Body[]).map((tool, at) => (at === 0 ? { ...tool, ...MARK } : tool)),
    }),
    "in a part": (body) => ({
      ...body,
      messages: [...last(body).slice(0, -1), { role: "user", content: [{ type: "text", text: "And now?", ...MARK }] }],
    }),
    "of the whole request": (body) => ({ ...body, ...MARK }),
  };
  for (const [place, marked] of Object.entries(MARKED))
    for (const [operation, body] of [
      [CHAT_COMPLETIONS, CHAT],
      [MESSAGES, MESSAGE],
    ] as const)
      for (const model of ["anthropic:claude-sonnet-5", "bedrock:anthropic.claude-sonnet-4-5"])
        test(`${place}, in ${operation.name} at ${model}: the gateway adds none`, async () => {
          const asked = { ...marked({ model, ...body }), ...(operation === CHAT_COMPLETIONS && { drop_params: true }) };
          const [own, auto] = [
            await sentBy(operation, asked, optionsWith(null)),
            await sentBy(operation, asked, optionsWith("auto")),
          ];
          expect(auto).toEqual(own);
        });
});

describe("[d16.2] marks of the client within a message of the Messages API", () => {
  const MARK = { cache_control: { type: "ephemeral", ttl: "1h" } };
  const [first, called, result, ...rest] = MESSAGE["messages"] as readonly Body[];
  const at = (index: number, message: Body): Body => ({
    ...MESSAGE,
    messages: [first, called, result, ...rest].map((one, position) => (position === index ? message : one)),
  });
  const MARKED: Readonly<Record<string, Body>> = {
    "in the system text": { ...MESSAGE, system: [{ type: "text", text: "Be brief.", ...MARK }] },
    "at a call of a tool": at(1, {
      role: "assistant",
      content: [{ type: "tool_use", id: "t1", name: "look", input: {}, ...MARK }],
    }),
    "at a result of a tool": at(2, {
      role: "user",
      content: [{ type: "tool_result", tool_use_id: "t1", content: "Rain", ...MARK }],
    }),
    "in a result of a tool": at(2, {
      role: "user",
      content: [{ type: "tool_result", tool_use_id: "t1", content: [{ type: "text", text: "Rain", ...MARK }] }],
    }),
    "in a search result": at(2, {
      role: "user",
      content: [
        {
          type: "tool_result",
          tool_use_id: "t1",
          content: [
            {
              type: "search_result",
              source: "https://a.test",
              title: "a",
              content: [{ type: "text", text: "Rain" }],
              ...MARK,
            },
          ],
        },
      ],
    }),
    "in a document": at(0, {
      role: "user",
      content: [
        {
          type: "document",
          source: { type: "content", content: [{ type: "text", text: "Rain", ...MARK }] },
        },
        { type: "text", text: "Look." },
      ],
    }),
    "at a tool of the vendor": {
      ...MESSAGE,
      tools: [...(MESSAGE["tools"] as Body[]), { type: "memory_20250818", name: "memory", ...MARK }],
    },
    "at a block that is not known": at(0, {
      role: "user",
      content: [
        { type: "text", text: "Look." },
        { type: "newer", of: "a", ...MARK },
      ],
    }),
  };
  for (const [place, body] of Object.entries(MARKED))
    test(`${place}: the gateway adds none`, async () => {
      const asked = { model: "anthropic:claude-sonnet-5", ...body };
      const own = await sentBy(MESSAGES, asked, optionsWith(null));
      expect(marksIn(own)).toHaveLength(1);
      expect(await sentBy(MESSAGES, asked, optionsWith("auto"))).toEqual(own);
    });
});

describe("[d16.2 d5.8] a long body", () => {
  const long = (body: Body) => ({
    ...body,
    messages: [
      { role: "user", content: "x".repeat(LONG_BODY_BYTES) },
      { role: "assistant", content: "Well." },
      ...(body["messages"] as unknown[]).slice(1),
    ],
  });
  for (const [operation, body, model] of [
    [CHAT_COMPLETIONS, CHAT, "anthropic:claude-sonnet-5"],
    [CHAT_COMPLETIONS, CHAT, "bedrock:anthropic.claude-sonnet-4-5"],
    [CHAT_COMPLETIONS, CHAT, "openai:gpt-5.6"],
    [MESSAGES, MESSAGE, "anthropic:claude-sonnet-5"],
    [MESSAGES, MESSAGE, "bedrock:amazon.nova-pro-v1:0"],
  ] as const)
    test(`${operation.name} at ${model} has the marks of a short one`, async () => {
      const asked = { model, ...long(body) };
      const here = await sentBy(operation, asked);
      const there = await sentBy(operation, asked, { ...optionsWith("auto"), longRequests });
      expect(marksIn(here).length).toBeGreaterThan(0);
      expect(there).toEqual(here);
    });

  test("the client's own marks are seen in it", async () => {
    const part = { role: "user", content: [{ type: "text", text: "And now?", cache_control: { type: "ephemeral" } }] };
    for (const [operation, body] of [
      [CHAT_COMPLETIONS, CHAT],
      [MESSAGES, MESSAGE],
    ] as const) {
      const asked = { model: "anthropic:claude-sonnet-5", ...long(body) };
      const marked = { ...asked, messages: [...asked.messages.slice(0, -1), part] };
      const sent = await sentBy(operation, marked, { ...optionsWith("auto"), longRequests });
      expect(marksIn(sent)).toHaveLength(1);
    }
  });

  test("the client's own marks are seen in it also where no translation knows what has them", async () => {
    const mark = { cache_control: { type: "ephemeral" } };
    const asked = { model: "anthropic:claude-sonnet-5", ...long(MESSAGE) };
    const tools = [...(MESSAGE["tools"] as Body[]), { type: "memory_20250818", name: "memory", ...mark }];
    const content = [
      { type: "text", text: "And now?" },
      { type: "newer", of: "a", ...mark },
    ];
    for (const marked of [
      { ...asked, tools },
      { ...asked, messages: [...asked.messages.slice(0, -1), { role: "user", content }] },
    ]) {
      const sent = await sentBy(MESSAGES, marked, { ...optionsWith("auto"), longRequests });
      expect(marksIn(sent)).toHaveLength(1);
    }
  });
});

describe("[d16.2] random conversations", () => {
  const MODELS = [
    "anthropic:claude-sonnet-5",
    "bedrock:anthropic.claude-sonnet-4-5",
    "bedrock:amazon.nova-pro-v1:0",
    "vertex:claude-sonnet-5",
    "openai:gpt-5.6",
  ] as const;

  function conversation(chance: Chance): Body {
    const text = (): string => (chance.perMille(150) ? "" : `text ${chance.below(1000)}`);
    const messages: Body[] = [];
    for (let system = chance.below(3); system > 0; system--) messages.push({ role: "system", content: text() });
    messages.push({ role: "user", content: "Hello" });
    for (let turn = chance.below(5); turn > 0; turn--) {
      const calls = Array.from({ length: chance.below(3) }, (_, at) => ({
        id: `c${turn}_${at}`,
        type: "function",
        function: { name: "look", arguments: "{}" },
      }));
      messages.push({ role: "assistant", content: text(), ...(calls.length > 0 && { tool_calls: calls }) });
      for (const { id } of calls) messages.push({ role: "tool", tool_call_id: id, content: text() });
      if (chance.perMille(200)) messages.push({ role: "system", content: text() });
      if (calls.length === 0 || chance.perMille(300)) messages.push({ role: "user", content: `turn ${turn}` });
    }
    return {
      max_tokens: 9,
      messages,
      ...(chance.perMille(700) && { tools: [FUNCTION("look"), FUNCTION("write")] }),
    };
  }

  /** What the vendor gets without the marks. A text that is no block has the same meaning as its only block. */
  function unmarked(value: unknown): unknown {
    if (Array.isArray(value)) {
      const items = value.filter((item) => (item as Body)["cachePoint"] === undefined).map(unmarked);
      const [only] = items as Body[];
      const isText = only?.["type"] === "text" || only?.["type"] === "input_text";
      return items.length === 1 && isText && Object.keys(only).length === 2 ? only["text"] : items;
    }
    if (typeof value !== "object" || value === null) return value;
    return Object.fromEntries(
      Object.entries(value)
        .filter(([name]) => !MARKS.has(name))
        .map(([name, inner]) => [name, unmarked(inner)]),
    );
  }

  test("have at most three marks, none in the last turn, and are otherwise what they were", async () => {
    const chance = chanceOf(printedSeed("marks of the prompt cache"));
    for (let draw = drawCount(60, 2000); draw > 0; draw--) {
      const body = { model: chance.pick(MODELS), ...conversation(chance) };
      const [plain, sent] = [
        await sentBy(CHAT_COMPLETIONS, body, optionsWith(null)),
        await sentBy(CHAT_COMPLETIONS, body),
      ];
      const marks = marksIn(sent);
      expect(marks.length).toBeLessThanOrEqual(3);
      expect(unmarked(sent)).toEqual(unmarked(plain));
      if (!body.model.startsWith("openai")) {
        const turns = sent["messages"] as readonly Body[];
        const role = turns.at(-1)!["role"];
        const first = turns.findLastIndex((turn) => turn["role"] !== role && turn["role"] !== "system") + 1;
        expect(marks.filter((path) => Number(/^messages\[(\d+)\]/.exec(path)?.[1] ?? -1) >= first)).toEqual([]);
      }
    }
  });
});
