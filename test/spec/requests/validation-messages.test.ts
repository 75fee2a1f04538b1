// Promises 5.4 and 5.7 and the specification's tables of messages and content blocks, through the whole gateway: every
// rule, with the exact path of its violation.
import { describe, expect, test } from "bun:test";
import { answeringGateway, ask, FAMILIES, HELLO, MODELS, TOOL } from "../chat-calls.ts";

const gateway = answeringGateway();
type Message = Readonly<Record<string, unknown>>;

const outcomeOf = async (messages: readonly unknown[], model: string = MODELS.openai): Promise<string> =>
  (await ask(gateway, { model, messages })).outcome;
/** The outcome of a conversation whose second message is this one. */
const second = (message: unknown, model?: string): Promise<string> => outcomeOf([...HELLO, message], model);
const refusedAt = (path: string): string => `400 invalid_request messages[1]${path}`;

const CALL = { id: "call_1", type: "function", function: { name: "weather", arguments: "{}" } } as const;
const ASSISTANT = { role: "assistant", content: null, tool_calls: [CALL] } as const;

describe("role", () => {
  test("[s:message.role] [d5.4] is one of system, user, assistant, function, tool, and developer", async () => {
    const known: readonly Message[] = [
      { role: "system", content: "x" },
      { role: "developer", content: "x" },
      { role: "user", content: "x" },
      { role: "assistant", content: "x" },
      { role: "function", name: "weather", content: "x" },
      { role: "tool", tool_call_id: "call_1", content: "x" },
    ];
    for (const model of FAMILIES)
      for (const message of known)
        expect([model, message["role"], await outcomeOf([...HELLO, ASSISTANT, message], model)]).toEqual([
          model,
          message["role"],
          "200",
        ]);
    for (const role of ["User", "model", "", "ai", null, undefined, 5, ["user"]])
      expect([role, await second({ role, content: "x" })]).toEqual([role, refusedAt(".role")]);
  });

  test("[d5.4] a message is an object, and messages is an array of at least one", async () => {
    for (const message of ["Hello", null, 5, [], true]) expect(await second(message)).toBe(refusedAt(""));
    for (const messages of [[], "Hello", {}, 5])
      expect(await outcomeOf(messages as never)).toBe("400 invalid_request messages");
  });
});

describe("name", () => {
  const named = (name: unknown): Promise<string> => second({ role: "function", name, content: "1" });

  test("[s:message.name] [s:limits.message-name-length] [d5.4] a function message needs one: 1 to 64 letters, digits and underscores", async () => {
    for (const name of ["f", "get_weather", "A_1", "x".repeat(64)])
      expect([name, await named(name)]).toEqual([name, "200"]);
    for (const name of [undefined, null, "", "x".repeat(65), "get-weather", "get weather", "wetter_für", "a.b", 5])
      expect([name, await named(name)]).toEqual([name, refusedAt(".name")]);
  });

  test("[d5.4] it may hold a dash where it repeats the name of a function called earlier", async () => {
    const answer = { role: "function", name: "get-weather", content: "1" };
    const called = { role: "assistant", content: null, function_call: { name: "get-weather", arguments: "{}" } };
    const toolCalled = {
      role: "assistant",
      content: null,
      tool_calls: [{ ...CALL, function: { name: "get-weather", arguments: "{}" } }],
    };
    for (const caller of [called, toolCalled]) expect(await outcomeOf([...HELLO, caller, answer])).toBe("200");
    expect(await outcomeOf([...HELLO, answer, called])).toBe(refusedAt(".name"));
    const long = "x-".repeat(33);
    expect(
      await outcomeOf([
        ...HELLO,
        { ...called, function_call: { name: long, arguments: "{}" } },
        { ...answer, name: long },
      ]),
    ).toBe("400 invalid_request messages[2].name");
  });

  test("[s:message.name] [s:limits.message-name-length] [d5.4] on other roles it may be left out, and has 1 to 64 characters of any kind", async () => {
    for (const role of ["system", "developer", "user", "assistant"]) {
      for (const name of [undefined, null, "A", "Jörg Müller-Lüdenscheidt", "x".repeat(64)])
        expect([role, name, await second({ role, name, content: "x" })]).toEqual([role, name, "200"]);
      for (const name of ["", "x".repeat(65), 5, {}])
        expect([role, name, await second({ role, name, content: "x" })]).toEqual([role, name, refusedAt(".name")]);
    }
  });

  test("[s:message.name] a function message answers the call of its name, in the old form or the new", async () => {
    const calls = {
      role: "assistant",
      content: null,
      tool_calls: [CALL, { ...CALL, id: "call_2", function: { name: "clock", arguments: "{}" } }],
    };
    const { wire } = await ask(gateway, {
      messages: [
        ...HELLO,
        calls,
        { role: "function", name: "clock", content: "noon" },
        { role: "function", name: "weather", content: "sunny" },
      ],
    });
    expect(wire!["messages"].slice(2)).toEqual([
      { role: "tool", tool_call_id: "call_2", content: "noon" },
      { role: "tool", tool_call_id: "call_1", content: "sunny" },
    ]);
  });

  test("[d5.4] is not checked on a function message against its content", async () => {
    expect(
      await outcomeOf([
        ...HELLO,
        { role: "assistant", content: null, function_call: { name: "f", arguments: "{}" } },
        { role: "function", name: "other", content: "of f" },
      ]),
    ).toBe("200");
  });
});

describe("content", () => {
  test("[s:message.content] [d5.4] is a string or a list of blocks, and null or an empty list only on an assistant message that has something else of an answer", async () => {
    const text = [{ type: "text", text: "x" }];
    for (const content of ["", "x", text])
      expect([content, await second({ role: "user", content })]).toEqual([content, "200"]);
    for (const content of [null, undefined, 5, {}, true, []])
      expect([content, await second({ role: "user", content })]).toEqual([content, refusedAt(".content")]);
    for (const role of ["system", "developer", "assistant"])
      expect([role, await second({ role, content: null })]).toEqual([role, refusedAt(".content")]);
    expect(await second({ role: "tool", tool_call_id: "call_1", content: null })).toBe(refusedAt(".content"));
    expect(await second({ role: "function", name: "f", content: null })).toBe(refusedAt(".content"));
    for (const content of [null, undefined, []]) {
      expect(await second({ role: "assistant", content, tool_calls: [CALL] })).toBe("200");
      expect(await second({ role: "assistant", content, function_call: { name: "f", arguments: "{}" } })).toBe("200");
      for (const more of [
        { refusal: "No." },
        { audio: { id: "audio_1" } },
        { images: [{ type: "image_url", image_url: { url: "https://images.example/1.png" } }] },
        { reasoning_content: "Hm." },
        { reasoning_details: [{ type: "reasoning.text", text: "Hm." }] },
      ]) {
        expect([more, await second({ role: "assistant", content, ...more })]).toEqual([more, "200"]);
        expect([more, await second({ role: "user", content, ...more })]).toEqual([more, refusedAt(".content")]);
      }
      for (const empty of [{ tool_calls: [] }, { refusal: null }, { refusal: "" }, { audio: null }, { images: [] }])
        expect([empty, await second({ role: "assistant", content, ...empty })]).toEqual([empty, refusedAt(".content")]);
    }
  });

  test("[d5.4] is not checked for an instruction when JSON mode is requested", async () => {
    expect((await ask(gateway, { response_format: { type: "json_object" } })).outcome).toBe("200");
  });

  const BLOCKS: readonly (readonly [
    type: string,
    good: Message,
    bad: readonly (readonly [block: Message, path: string])[],
  ])[] = [
    [
      "text",
      { text: "x" },
      [
        [{}, ".text"],
        [{ text: null }, ".text"],
        [{ text: 5 }, ".text"],
      ],
    ],
    [
      "image_url",
      { image_url: { url: "https://images.example/a.png" } },
      [
        [{}, ".image_url"],
        [{ image_url: {} }, ".image_url.url"],
        [{ image_url: { url: null } }, ".image_url.url"],
        [{ image_url: "https://images.example/a.png" }, ".image_url"],
      ],
    ],
    [
      "input_audio",
      { input_audio: { data: "AAAA", format: "wav" } },
      [
        [{}, ".input_audio"],
        [{ input_audio: { format: "wav" } }, ".input_audio.data"],
        [{ input_audio: { data: "AAAA" } }, ".input_audio.format"],
      ],
    ],
    [
      "video_url",
      { video_url: { url: "https://videos.example/a.mp4" } },
      [
        [{}, ".video_url"],
        [{ video_url: { url: 5 } }, ".video_url.url"],
      ],
    ],
    [
      "file",
      { file: { file_id: "file-1" } },
      [
        [{}, ".file"],
        [{ file: {} }, ".file"],
        [{ file: { file_id: null } }, ".file"],
        [{ file: { file_id: 5 } }, ".file.file_id"],
        [{ file: { file_data: [] } }, ".file.file_data"],
      ],
    ],
    [
      "document",
      { source: { type: "base64", media_type: "application/pdf", data: "AAAA" } },
      [
        [{}, ".source"],
        [{ source: {} }, ".source.type"],
        [{ source: [] }, ".source"],
        [{ document: { data: { text: "of one vendor's form" } } }, ".source"],
      ],
    ],
  ];
  for (const [type, good, bad] of BLOCKS) {
    test(`[s:message.content] has its payload in a ${type} block, and mistakes in it are named by their path`, async () => {
      const blocks = (block: Message): unknown => ({
        role: "user",
        content: [
          { type: "text", text: "x" },
          { type, ...block },
        ],
      });
      const taken = await second(blocks(good), "vllm:m");
      expect(["200", "400 unsupported_content_block messages[1].content[1]"]).toContain(taken);
      expect(await second(blocks(good), "custom:m")).toBe("200");
      for (const [block, path] of bad)
        expect([block, await second(blocks(block))]).toEqual([block, refusedAt(`.content[1]${path}`)]);
    });
  }

  test("[s:block.image-url] [d5.2] may have the address of an image or a video with http, https or data; a vendor's own scheme is accepted for that vendor alone", async () => {
    const asked = (model: string, type: string, url: string): Promise<string> =>
      second({ role: "user", content: [{ type, [type]: { url } }] }, model);
    for (const type of ["image_url", "video_url"])
      for (const model of ["custom:m", MODELS.gemini])
        for (const url of [
          "",
          "javascript:alert(1)",
          "file:///etc/passwd",
          "ftp://images.example/a.png",
          "blob:x",
          "//images.example/a.png",
          "images.example/a.png",
          "https://",
          " https://images.example/a.png",
        ])
          expect([url, await asked(model, type, url)]).toEqual([url, refusedAt(`.content[0].${type}.url`)]);
    expect(await asked(MODELS.gemini, "image_url", "gs://bucket/a.png")).toBe("200");
    expect(await asked("bedrock:amazon.nova-lite-v1:0", "image_url", "s3://bucket/a.png")).toBe("200");
    expect(await asked("moonshot:kimi-k2.6", "image_url", "ms://file-1")).toBe("200");
    for (const url of ["gs://bucket/a.png", "s3://bucket/a.png", "ms://file-1", "files/abc"])
      expect([url, await asked(MODELS.openai, "image_url", url)]).toEqual([
        url,
        refusedAt(".content[0].image_url.url"),
      ]);
    expect(await second({ role: "user", content: [{ type: "file", file: { file_id: "" } }] })).toBe(
      refusedAt(".content[0].file.file_id"),
    );
  });

  test("[s:message.content] may combine several block types in one message", async () => {
    const content = BLOCKS.map(([type, good]) => ({ type, ...good }));
    const { outcome, wire } = await ask(gateway, { model: "custom:m", messages: [{ role: "user", content }] });
    expect([outcome, wire!["messages"]]).toEqual(["200", [{ role: "user", content }]]);
  });

  test("[d5.2] with a block without a type, or that is not an object, is named by its path", async () => {
    for (const block of [{}, { type: null }, { type: 5 }])
      expect(await second({ role: "user", content: [block] })).toBe(refusedAt(".content[0].type"));
    for (const block of ["x", null, 5, []])
      expect(await second({ role: "user", content: [block] })).toBe(refusedAt(".content[0]"));
  });

  test("[d6.4] that the provider cannot take is answered with 400 and the path, also with drop_params", async () => {
    for (const drop_params of [false, true]) {
      const { outcome, error } = await ask(gateway, {
        model: MODELS.anthropic,
        drop_params,
        messages: [
          ...HELLO,
          {
            role: "user",
            content: [
              { type: "text", text: "x" },
              { type: "input_audio", input_audio: { data: "AAAA", format: "wav" } },
            ],
          },
        ],
      });
      expect(outcome).toBe("400 unsupported_content_block messages[1].content[1]");
      expect(error!.message).toContain("input_audio");
    }
  });
});

describe("calls and their results", () => {
  test("[s:message.tool-call-id] [d5.4] a tool message needs tool_call_id, which reaches the provider", async () => {
    for (const id of [undefined, null, "", 5])
      expect([id, await second({ role: "tool", tool_call_id: id, content: "1" })]).toEqual([
        id,
        refusedAt(".tool_call_id"),
      ]);
    const onWire = {
      [MODELS.openai]: '"tool_call_id":"call_1"',
      [MODELS.anthropic]: '"tool_use_id":"call_1"',
      [MODELS.gemini]: '"functionResponse":{"id":"call_1"',
    };
    for (const [model, expected] of Object.entries(onWire)) {
      const { request } = await ask(gateway, {
        model,
        tools: [TOOL],
        messages: [...HELLO, ASSISTANT, { role: "tool", tool_call_id: "call_1", content: "sunny" }],
      });
      expect(request!.body).toContain(expected);
      expect(request!.body).toContain("sunny");
    }
  });

  test("[s:message.function-call] a call has name and arguments, and is answered with 400 and the path otherwise", async () => {
    expect(await second({ role: "assistant", content: null, function_call: { name: "f", arguments: "{}" } })).toBe(
      "200",
    );
    for (const call of ["f", 5, [], {}, { arguments: "{}" }, { name: 5, arguments: "{}" }])
      expect([call, await second({ role: "assistant", content: "x", function_call: call })]).toEqual([
        call,
        refusedAt(".function_call"),
      ]);
    for (const args of [undefined, null, {}, 5])
      expect([
        args,
        await second({ role: "assistant", content: "x", function_call: { name: "f", arguments: args } }),
      ]).toEqual([args, refusedAt(".function_call.arguments")]);
  });

  test("[d5.2] mistakes in tool_calls are named by their path", async () => {
    const wrong: readonly (readonly [calls: unknown, path: string])[] = [
      [{}, ".tool_calls"],
      [["x"], ".tool_calls[0]"],
      [[CALL, { ...CALL, type: 5 }], ".tool_calls[1].type"],
      [[{ ...CALL, type: "magic" }], ".tool_calls[0].type"],
      [[{ ...CALL, function: "f" }], ".tool_calls[0].function"],
      [[{ ...CALL, function: { arguments: "{}" } }], ".tool_calls[0].function.name"],
      [[{ ...CALL, function: { name: "", arguments: "{}" } }], ".tool_calls[0].function.name"],
      [[{ ...CALL, function: { name: "f", arguments: {} } }], ".tool_calls[0].function.arguments"],
      [[{ ...CALL, id: undefined }], ".tool_calls[0].id"],
    ];
    for (const [tool_calls, path] of wrong)
      expect([tool_calls, await second({ role: "assistant", content: "x", tool_calls })]).toEqual([
        tool_calls,
        refusedAt(path),
      ]);
  });
});

describe("reasoning of an earlier answer", () => {
  test("[d5.2] is a list of objects in reasoning_details, and mistakes in it are named by their path", async () => {
    const block = { type: "reasoning.text", text: "x", signature: null };
    for (const details of [undefined, null, [], [block]])
      for (const model of FAMILIES)
        expect([model, await second({ role: "assistant", content: "x", reasoning_details: details }, model)]).toEqual([
          model,
          "200",
        ]);
    for (const details of ["x", {}, 5])
      for (const model of FAMILIES)
        expect(await second({ role: "assistant", content: "x", reasoning_details: details }, model)).toBe(
          refusedAt(".reasoning_details"),
        );
    for (const detail of [null, "x", 5, []])
      for (const model of FAMILIES)
        expect(await second({ role: "assistant", content: "x", reasoning_details: [block, detail] }, model)).toBe(
          refusedAt(".reasoning_details[1]"),
        );
  });
});

describe("forms that one vendor alone understands", () => {
  const user = (block: Message): readonly unknown[] => [{ role: "user", content: [block] }];
  const CASES: readonly (readonly [
    what: string,
    fields: Message,
    takenBy: readonly string[],
    refusedBy: readonly string[],
    param: string,
  ])[] = [
    [
      "a thinking block",
      {
        messages: [
          ...HELLO,
          { role: "assistant", content: [{ type: "thinking", thinking: "x", signature: "s" }] },
          ...HELLO,
        ],
      },
      [MODELS.anthropic, "custom:m"],
      [MODELS.openai, MODELS.gemini],
      "messages[1].content[0].type",
    ],
    [
      "a refusal block",
      { messages: [...HELLO, { role: "assistant", content: [{ type: "refusal", refusal: "no" }] }, ...HELLO] },
      [MODELS.openai, MODELS.anthropic],
      [MODELS.gemini],
      "messages[1].content[0].type",
    ],
    [
      "a file_url block",
      { messages: user({ type: "file_url", file_url: { url: "https://files.example/a.pdf" } }) },
      ["perplexity:sonar"],
      FAMILIES,
      "messages[0].content[0].type",
    ],
    [
      "a custom tool",
      { tools: [{ type: "custom", custom: { name: "f" } }] },
      [MODELS.openai],
      [MODELS.gemini, "groq:m"],
      "tools[0].type",
    ],
    [
      "a dated tool type",
      { tools: [{ type: "web_search_20250305", name: "web_search" }] },
      [MODELS.anthropic],
      [MODELS.openai, MODELS.gemini],
      "tools[0].type",
    ],
    [
      "a search tool",
      { tools: [{ type: "google_search" }] },
      [MODELS.gemini],
      [MODELS.openai, MODELS.anthropic],
      "tools[0].type",
    ],
    [
      "tool_choice any",
      { tools: [TOOL], tool_choice: "any" },
      ["fireworks:m", "custom:m"],
      [MODELS.openai, MODELS.gemini],
      "tool_choice",
    ],
    [
      "tool_choice tool",
      { tools: [TOOL], tool_choice: { type: "tool", name: "weather" } },
      ["xai:grok-4.3", "minimax:MiniMax-M2", "custom:m"],
      [MODELS.openai, MODELS.gemini],
      "tool_choice.type",
    ],
    [
      "a result without the id of its call",
      { tools: [TOOL], messages: [...HELLO, ASSISTANT, { role: "tool", content: "sunny" }] },
      ["zai:glm-4.7", "custom:m"],
      [MODELS.openai, MODELS.gemini],
      "messages[2].tool_call_id",
    ],
    [
      "an image address as a string",
      { messages: user({ type: "image_url", image_url: "https://images.example/a.png" }) },
      ["perplexity:sonar"],
      FAMILIES,
      "messages[0].content[0].image_url",
    ],
  ];
  for (const [what, fields, takenBy, refusedBy, param] of CASES) {
    test(`[d5.7] ${what} is accepted for the provider whose row names it and answered with 400 and the path for every other`, async () => {
      for (const model of takenBy)
        expect([model, (await ask(gateway, { model, ...fields })).outcome]).toEqual([model, "200"]);
      for (const model of refusedBy)
        expect([model, (await ask(gateway, { model, ...fields })).outcome]).toEqual([
          model,
          `400 invalid_request ${param}`,
        ]);
    });
  }
});
