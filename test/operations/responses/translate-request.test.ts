// What a request of the Responses API is as a chat completion, and what is refused.
import { describe, expect, test } from "bun:test";
import { LEAST_BODY_BOUNDS } from "../../../src/core/request/body-bounds.ts";
import type { ChatRequest } from "../../../src/core/chat.ts";
import { GatewayError } from "../../../src/core/errors.ts";
import { RESPONSES_FORM } from "../../../src/operations/responses/responses-form.ts";

const parse = (body: object): ChatRequest =>
  RESPONSES_FORM.parse(JSON.stringify({ model: "openai:m", ...body }), LEAST_BODY_BOUNDS);
/** The order of the pieces of a turn is beside its message. */
const messagesOf = (input: unknown, more: object = {}): unknown =>
  JSON.parse(JSON.stringify(parse({ input, ...more }).messages));
const toolsOf = (tools: readonly object[], more: object = {}): any =>
  parse({ input: "hi", tools, ...more }).params.tools;
const leftOf = (body: object): Record<string, string> =>
  Object.fromEntries(parse({ input: "hi", ...body }).written!.untranslated.map(({ path, dropped }) => [path, dropped]));
/** The error of a target that is sent the translation. */
const refusal = (body: object): Pick<GatewayError, "code" | "param" | "message"> => {
  try {
    const invalid = parse(body).written!.untranslated.find(({ isInvalid }) => isInvalid);
    if (invalid !== undefined) return { code: "invalid_request", param: invalid.path, message: invalid.message };
  } catch (thrown) {
    if (thrown instanceof GatewayError) return thrown;
    throw thrown;
  }
  throw new Error("the request was accepted");
};

const call = (id: string, name = "f") => ({ type: "function_call", call_id: id, name, arguments: '{"a":1}' });
const output = (id: string, said: unknown = "done") => ({ type: "function_call_output", call_id: id, output: said });
const asked = (id: string, name = "f") => ({ id, type: "function", function: { name, arguments: '{"a":1}' } });

describe("input", () => {
  test("[d12.4] text, instructions and messages with and without a type are messages", () => {
    expect(messagesOf("hi")).toEqual([{ role: "user", content: "hi" }]);
    expect(
      messagesOf(
        [
          { role: "developer", content: "Be kind." },
          { type: "message", role: "user", content: [{ type: "input_text", text: "hi" }] },
          { role: "assistant", content: "Hello." },
          {
            type: "message",
            id: "msg_1",
            status: "completed",
            role: "assistant",
            content: [{ type: "output_text", text: "Well?", annotations: [] }],
          },
          { role: "user", content: "go" },
        ],
        { instructions: "Be brief." },
      ),
    ).toEqual([
      { role: "system", content: "Be brief." },
      { role: "developer", content: "Be kind." },
      { role: "user", content: "hi" },
      { role: "assistant", content: "Hello." },
      { role: "assistant", content: "Well?" },
      { role: "user", content: "go" },
    ]);
  });

  test("[d12.4] images, files and sound are parts; the finest detail of an image is high", () => {
    const content = [
      { type: "input_text", text: "Look." },
      { type: "input_image", image_url: "https://a.test/a.png", detail: "original" },
      { type: "input_file", filename: "a.pdf", file_data: "data:application/pdf;base64,AAAA" },
      { type: "input_file", file_url: "https://a.test/b.pdf" },
      { type: "input_audio", input_audio: { data: "AAAA", format: "wav" } },
    ];
    expect(messagesOf([{ role: "user", content }])).toEqual([
      {
        role: "user",
        content: [
          { type: "text", text: "Look." },
          { type: "image_url", image_url: { url: "https://a.test/a.png", detail: "high" } },
          { type: "file", file: { filename: "a.pdf", file_data: "data:application/pdf;base64,AAAA" } },
          { type: "file", file: { file_id: "https://a.test/b.pdf" } },
          { type: "input_audio", input_audio: { data: "AAAA", format: "wav" } },
        ],
      },
    ]);
  });

  test("[d12.4] reasoning, text and calls of one turn are one message, whose outputs follow it directly", () => {
    const input = [
      { role: "user", content: "go" },
      { type: "reasoning", id: "rs_1", summary: [{ type: "summary_text", text: "Two calls." }] },
      { type: "message", role: "assistant", content: [{ type: "output_text", text: "I call." }] },
      call("a"),
      call("b", "g"),
      { type: "message", role: "assistant", content: [{ type: "output_text", text: " Wait." }] },
      output("b"),
      output("a", [{ type: "input_text", text: "one" }]),
      { type: "reasoning", id: "rs_2", summary: [], content: [{ type: "reasoning_text", text: "One more." }] },
      call("c"),
      output("c", ""),
    ];
    expect(messagesOf(input)).toEqual([
      { role: "user", content: "go" },
      {
        role: "assistant",
        content: [
          { type: "text", text: "I call." },
          { type: "text", text: " Wait." },
        ],
        reasoning_content: "Two calls.",
        tool_calls: [asked("a"), asked("b", "g")],
      },
      { role: "tool", tool_call_id: "b", content: "done" },
      { role: "tool", tool_call_id: "a", content: "one" },
      { role: "assistant", content: null, reasoning_content: "One more.", tool_calls: [asked("c")] },
      { role: "tool", tool_call_id: "c", content: "" },
    ]);
  });

  test("[d12.4] images of outputs follow all outputs of their turn in one user message", () => {
    const image = { type: "input_image", image_url: "data:image/png;base64,AAAA" };
    const input = [
      call("a"),
      call("b"),
      output("a", [{ type: "input_text", text: "seen" }, image]),
      output("b", [image]),
    ];
    const part = { type: "image_url", image_url: { url: "data:image/png;base64,AAAA" } };
    expect(messagesOf(input)).toEqual([
      { role: "assistant", content: null, tool_calls: [asked("a"), asked("b")] },
      { role: "tool", tool_call_id: "a", content: "seen" },
      { role: "tool", tool_call_id: "b", content: "The output follows." },
      { role: "user", content: [part, part] },
    ]);
  });

  test("[d12.4] a refusal goes back as one, and reasoning that nothing follows is left out and told", () => {
    const input = [
      { role: "assistant", content: [{ type: "refusal", refusal: "No." }] },
      { role: "user", content: "Why?" },
      { type: "reasoning", summary: [{ type: "summary_text", text: "Hm." }], encrypted_content: "blob" },
    ];
    expect(messagesOf(input)).toEqual([
      { role: "assistant", content: null, refusal: "No." },
      { role: "user", content: "Why?" },
    ]);
    expect(leftOf({ input })).toEqual({ "input[2]": "always", "input[].encrypted_content": "always" });
  });

  test("[d12.4] calls and outputs that do not pair are refused with the id of the call", () => {
    for (const [input, param] of [
      [[output("zz")], "input[0].call_id"],
      [["hi", call("zz")].slice(1), "input[0].call_id"],
      [[call("zz"), output("zz"), output("zz")], "input[2].call_id"],
      [[output("zz"), call("zz")], "input[0].call_id"],
      [[call("zz"), call("zz"), output("zz")], "input[1].call_id"],
    ] as const) {
      const error = refusal({ input });
      expect([error.code, error.param]).toEqual(["invalid_request", param]);
      expect(error.message).toStartWith(param.slice(0, 8));
    }
    expect(refusal({ input: [call("zz")] }).message).toContain('"zz"');
    expect(refusal({ input: [output("zz")] }).message).toContain('"zz"');
  });

  test("[d12.6] what no item or part can be is refused with its path", () => {
    for (const [input, param] of [
      [7, "input"],
      [undefined, "input"],
      [[], "input"],
      [["hi"], "input[0]"],
      [[{ content: "hi" }], "input[0].type"],
      [[{ role: "robot", content: "hi" }], "input[0].role"],
      [[{ role: "user", content: 7 }], "input[0].content"],
      [[{ role: "user", content: [{ text: "hi" }] }], "input[0].content[0].type"],
      [[{ role: "user", content: [{ type: "input_text" }] }], "input[0].content[0].text"],
      [[{ role: "user", content: [{ type: "input_image" }] }], "input[0].content[0].image_url"],
      [[{ role: "user", content: [{ type: "input_file", filename: "a" }] }], "input[0].content[0]"],
      [[{ ...call("a"), arguments: {} }, output("a")], "input[0].arguments"],
      [[{ ...call("a"), call_id: "" }], "input[0].call_id"],
      [[call("a"), output("a", { b: 1 })], "input[1].output"],
      [[{ type: "reasoning", summary: [{}] }], "input[0].summary[0].text"],
    ] as const)
      expect([JSON.stringify(input), refusal({ input }).param]).toEqual([JSON.stringify(input), param]);
    expect(refusal({ input: "hi", instructions: ["a"] }).param).toBe("instructions");
  });

  test("[d12.4] items that only others can read are refused where the request is translated, and never dropped", () => {
    for (const type of ["item_reference", "compaction", "web_search_call", "computer_call", "no_such_item"])
      expect(leftOf({ input: ["hi", { type, id: "x" }].slice(1) })).toEqual({ "input[0]": "never" });
    const [{ message }] = parse({ input: [{ type: "item_reference", id: "x" }] }).written!.untranslated as any;
    expect(message).toContain("store: false");
    expect(leftOf({ input: [{ role: "user", content: [{ type: "input_image", file_id: "file-1" }] }] })).toEqual({
      "input[0].content[0].file_id": "never",
    });
  });
});

describe("tools", () => {
  test("[d12.4] a function is nested, and what is null or absent stays away", () => {
    expect(toolsOf([{ type: "function", name: "f", description: null, parameters: null, strict: null }])).toEqual([
      { type: "function", function: { name: "f" } },
    ]);
    const parameters = { type: "object", properties: {} };
    expect(toolsOf([{ type: "function", name: "f", description: "d", parameters, strict: false }])).toEqual([
      { type: "function", function: { name: "f", description: "d", parameters, strict: false } },
    ]);
  });

  test("[d12.4] a function in the form of chat completions stays as it is, also with its name beside it", () => {
    const definition = { name: "f", description: "d", parameters: { type: "object", properties: {} }, strict: true };
    for (const named of [{}, { name: "f" }]) {
      const tool = { type: "function", ...named, function: definition };
      expect(leftOf({ input: "Hi", tools: [tool] })).toEqual({});
      expect(toolsOf([tool])).toEqual([{ type: "function", function: definition }]);
    }
  });

  test("[d12.4] a custom tool is a function with one text, whose description has the grammar", () => {
    const format = { type: "grammar", syntax: "lark", definition: "start: WORD" };
    const [tool] = toolsOf([{ type: "custom", name: "apply_patch", description: "Edits.", format }]);
    expect(tool.function.description).toBe("Edits.\n\nThe input must follow this grammar (lark):\nstart: WORD");
    expect(tool.function.parameters).toMatchObject({ properties: { input: { type: "string" } }, required: ["input"] });
    const history = [
      { type: "custom_tool_call", call_id: "a", name: "apply_patch", input: 'say "x"' },
      { type: "custom_tool_call_output", call_id: "a", output: "ok" },
    ];
    expect(messagesOf(history)).toEqual([
      {
        role: "assistant",
        content: null,
        tool_calls: [
          { id: "a", type: "function", function: { name: "apply_patch", arguments: '{"input":"say \\"x\\""}' } },
        ],
      },
      { role: "tool", tool_call_id: "a", content: "ok" },
    ]);
  });

  test("[d12.4] tools of namespaces get names of at most 64 characters that differ from all others", () => {
    const long = "a_rather_long_name_of_a_tool_that_does_not_fit_together_with";
    const tools = [
      { type: "function", name: "mail__send" },
      {
        type: "namespace",
        name: "mail",
        description: "Mail.",
        tools: [{ type: "function", name: "send", description: "Sends." }],
      },
      {
        type: "namespace",
        name: "namespace",
        tools: [
          { type: "function", name: long },
          { type: "function", name: `${long}_b` },
        ],
      },
    ];
    const names = toolsOf(tools).map((tool: any) => tool.function.name) as string[];
    expect(new Set(names).size).toBe(4);
    expect(names[0]).toBe("mail__send");
    for (const name of names) expect(name).toMatch(/^[a-zA-Z0-9_-]{1,64}$/);
    expect(toolsOf(tools)[1].function.description).toBe("Mail.\n\nSends.");
    const replayed = { ...call("a", "send"), namespace: "mail" };
    expect((messagesOf([replayed, output("a")], { tools }) as any)[0].tool_calls[0].function.name).toBe(names[1]);
  });

  test("[d12.4] tools that items bring are offered like those of the request", () => {
    const found = { type: "function", name: "found" };
    const input = [
      { type: "additional_tools", role: "developer", tools: [{ type: "function", name: "late" }] },
      { role: "user", content: "go" },
      { type: "tool_search_call", call_id: "s", execution: "client", arguments: { goal: "x" } },
      { type: "tool_search_output", call_id: "s", execution: "client", tools: [found] },
    ];
    const tools = [
      { type: "tool_search", execution: "client", description: "Search.", parameters: { type: "object" } },
    ];
    const request = parse({ input, tools });
    expect(request.params.tools!.map((tool: any) => tool.function.name)).toEqual(["tool_search", "late", "found"]);
    expect(request.messages.slice(1) as unknown).toEqual([
      {
        role: "assistant",
        content: null,
        tool_calls: [{ id: "s", type: "function", function: { name: "tool_search", arguments: '{"goal":"x"}' } }],
      },
      { role: "tool", tool_call_id: "s", content: JSON.stringify([found]) },
    ]);
  });

  test("[d12.4] an explicit breakpoint of the prompt cache is a mark for the providers that have such", () => {
    const breakpoint = { prompt_cache_breakpoint: { mode: "explicit" } };
    const [message, , result] = messagesOf([
      { role: "user", content: [{ type: "input_text", text: "Long.", ...breakpoint }] },
      call("a", "look"),
      { ...output("a"), output: [{ type: "input_text", text: "Seen.", ...breakpoint }] },
    ]) as any;
    const mark = { cache_control: { type: "ephemeral" } };
    expect(message.content).toEqual([{ type: "text", text: "Long.", ...mark }]);
    expect(result.content).toEqual([{ type: "text", text: "Seen.", ...mark }]);
    const answered = (type: string): unknown =>
      (messagesOf([{ role: "assistant", content: [{ type, text: "Done.", ...breakpoint }] }]) as any)[0].content;
    expect(answered("input_text")).toEqual([{ type: "text", text: "Done.", ...mark }]);
    // the form knows none there, so that it is left out and told
    expect(answered("output_text")).toBe("Done.");
  });

  test("[d12.4] a search for tools that the provider ran needs no output, and its functions keep their names", () => {
    const rate = { type: "function", name: "rate", parameters: { type: "object" }, defer_loading: true };
    const search = { type: "tool_search_call", call_id: "tsc_1", execution: "server", arguments: { paths: ["rate"] } };
    const go = { role: "user", content: "go" };
    for (const between of [
      [search],
      [search, { type: "tool_search_output", call_id: "tsc_1", execution: "server", tools: [rate] }],
      [
        { ...search, call_id: null },
        { type: "tool_search_output", call_id: null, execution: "server", tools: [] },
      ],
    ]) {
      const input = [go, ...between, { ...call("a", "rate"), namespace: "rate" }, output("a")];
      const request = parse({ input, tools: [{ type: "tool_search" }, rate] });
      expect(request.params.tools!.map((tool: any) => tool.function.name)).toEqual(["rate"]);
      expect(request.messages.map(({ role }) => role)).toEqual(["user", "assistant", "tool"]);
      expect((request.messages[1] as any).tool_calls).toMatchObject([{ id: "a", function: { name: "rate" } }]);
      // the search is told as left out, and refused nowhere
      expect(request.written!.untranslated.filter(({ dropped }) => dropped !== "always")).toEqual([]);
    }
    const client = { ...search, execution: "client" };
    expect(refusal({ input: [go, client], tools: [{ type: "tool_search", execution: "client" }] }).message).toContain(
      "has no output",
    );
  });

  test("[d12.4] a tool server keeps its form, so that the gateway runs its tools", () => {
    const request = parse({
      input: "hi",
      tools: [{ type: "mcp", server_label: "docs", require_approval: "never", server_description: "d" }],
    });
    expect(request.options.toolServers).toMatchObject([{ label: "docs", approval: "never" }]);
    expect(request.params.tools).toBeUndefined();
  });

  test("[d12.4, d6.10] a hosted tool is refused or dropped when asked; Codex's own search is dropped without asking", () => {
    expect(
      leftOf({
        tools: [{ type: "web_search" }, { type: "file_search", vector_store_ids: ["v"] }, { type: "local_shell" }],
      }),
    ).toEqual({
      "tools[0]": "asked",
      "tools[1]": "asked",
      "tools[2]": "asked",
    });
    for (const external_web_access of [false, true])
      expect(leftOf({ tools: [{ type: "web_search", external_web_access }] })).toEqual({ "tools[0]": "always" });
  });

  test("[d12.4] a choice of tools keeps its meaning; allowed tools are all that is sent", () => {
    const tools = [
      { type: "function", name: "f" },
      { type: "custom", name: "c" },
    ];
    const choiceOf = (choice: unknown): unknown =>
      parse({ input: "hi", tools, tool_choice: choice }).params.tool_choice;
    for (const word of ["none", "auto", "required"]) expect(choiceOf(word)).toBe(word);
    for (const type of ["function", "custom"])
      expect(choiceOf({ type, name: type[0] })).toEqual({ type: "function", function: { name: type[0]! } });
    const allowed = { type: "allowed_tools", mode: "required", tools: [{ type: "custom", name: "c" }] };
    const limited = parse({ input: "hi", tools, tool_choice: allowed });
    expect(limited.params.tools).toMatchObject([{ function: { name: "c" } }]);
    expect(limited.params.tools).toHaveLength(1);
    expect(limited.params.tool_choice).toBe("required");
    expect(refusal({ input: "hi", tools, tool_choice: "sometimes" }).param).toBe("tool_choice");
    expect(refusal({ input: "hi", tools, tool_choice: { type: "function" } }).param).toBe("tool_choice.name");
  });

  test("a choice among no tools is left out, because providers refuse it", () => {
    const { params } = parse({ input: "hi", tools: [], tool_choice: "auto", parallel_tool_calls: true });
    expect([params.tools, params.tool_choice, params.parallel_tool_calls]).toEqual([undefined, undefined, undefined]);
  });

  test("[d12.6] what no tool can be is refused with its path", () => {
    for (const [tool, param] of [
      [7, "tools[0]"],
      [{ name: "f" }, "tools[0].type"],
      [{ type: "function" }, "tools[0].name"],
      [{ type: "function", name: "f", parameters: 7 }, "tools[0].parameters"],
      [{ type: "function", name: "f", strict: "yes" }, "tools[0].strict"],
      [{ type: "namespace", name: "n" }, "tools[0].tools"],
    ] as const)
      expect([JSON.stringify(tool), refusal({ input: "hi", tools: [tool] }).param]).toEqual([
        JSON.stringify(tool),
        param,
      ]);
  });
});

describe("members", () => {
  test("[d12.4] have their counterparts in a chat completion", () => {
    const schema = { type: "object", properties: {} };
    const { params, options } = parse({
      input: "hi",
      max_output_tokens: 50,
      temperature: 0.5,
      top_p: 0.9,
      service_tier: "flex",
      prompt_cache_key: "k",
      safety_identifier: "s",
      user: "u",
      stream: true,
      metadata: { a: "b" },
      text: { format: { type: "json_schema", name: "n", schema, strict: true, description: "d" }, verbosity: "low" },
      reasoning: { effort: "low", summary: "auto" },
      include: ["message.output_text.logprobs"],
      top_logprobs: 3,
    });
    expect(params as object).toEqual({
      max_tokens: 50,
      max_completion_tokens: 50,
      temperature: 0.5,
      top_p: 0.9,
      service_tier: "flex",
      prompt_cache_key: "k",
      safety_identifier: "s",
      user: "u",
      stream: true,
      response_format: { type: "json_schema", json_schema: { name: "n", schema, strict: true, description: "d" } },
      verbosity: "low",
      reasoning_effort: "low",
      logprobs: true,
      top_logprobs: 3,
    });
    expect(options.metadata).toEqual({ a: "b" });
  });

  test("[d12.4] what clients send by default asks for nothing", () => {
    const body = {
      input: "hi",
      text: {},
      stream: false,
      store: false,
      background: false,
      truncation: "disabled",
      include: [],
      tools: [],
      previous_response_id: null,
      conversation: null,
      reasoning: { effort: null, summary: null, context: "auto", mode: "standard" },
      service_tier: "auto",
      max_tool_calls: 3,
      top_logprobs: 0,
    };
    expect(leftOf(body)).toEqual({});
    expect(parse(body).extra as object).toEqual({});
  });

  test("[d12.4, d6.10] what has no counterpart is named: as a hint, as dropped when asked, or as refused", () => {
    expect(
      leftOf({
        store: true,
        truncation: "auto",
        include: ["file_search_call.results"],
        stream_options: { include_obfuscation: false },
        prompt_cache_retention: "24h",
        client_metadata: { a: 1 },
        top_logprobs: 3,
      }),
    ).toEqual({
      store: "always",
      truncation: "always",
      "include[0]": "always",
      stream_options: "always",
      prompt_cache_retention: "always",
      client_metadata: "always",
      top_logprobs: "always",
    });
    expect(
      leftOf({
        context_management: [],
        moderation: {},
        stop: ["x"],
        reasoning: { mode: "pro", context: "all_turns" },
        text: { format: { type: "grammar" } },
      }),
    ).toEqual({
      context_management: "asked",
      moderation: "asked",
      stop: "asked",
      "reasoning.mode": "asked",
      "reasoning.context": "asked",
      "text.format": "asked",
    });
    expect(
      leftOf({ background: true, previous_response_id: "resp_1", conversation: "conv_1", prompt: { id: "p" } }),
    ).toEqual({
      background: "never",
      previous_response_id: "never",
      conversation: "never",
      prompt: "never",
    });
  });

  test("[d12.6] a value of the wrong kind is refused with the client's own path", () => {
    for (const [body, param] of [
      [{ max_output_tokens: 0 }, "max_output_tokens"],
      [{ max_output_tokens: "9" }, "max_output_tokens"],
      [{ text: { format: { type: "json_schema", name: "n" } } }, "text.format.schema"],
      [{ text: { verbosity: 1 } }, "text.verbosity"],
      [{ reasoning: { effort: 1 } }, "reasoning.effort"],
      [{ temperature: 9 }, "temperature"],
      [{ top_logprobs: 21 }, "top_logprobs"],
      [{ include: "x" }, "include"],
      [{ metadata: { a: 1 } }, "metadata.a"],
      [{ truncation: "some" }, "truncation"],
      [{ store: "yes" }, "store"],
      [{ max_tool_calls: 0 }, "max_tool_calls"],
    ] as const)
      expect([JSON.stringify(body), refusal({ input: "hi", ...body }).param]).toEqual([JSON.stringify(body), param]);
  });
});
