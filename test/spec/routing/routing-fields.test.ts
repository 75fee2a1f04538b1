// `num_retries`, `fallbacks`, `model_list` and the context-window map: what is accepted, what is refused, and the
// request of each attempt (promises 1.6, 2.9, 3.4, 7.1, 7.3).
import { describe, expect, test } from "bun:test";
import {
  type Entry,
  requestForEntry,
  requestForTarget,
  withCheckedEntries,
} from "../../../src/engine/fit/entry-request.ts";
import { parseChatRequest } from "../../../src/engine/request/parse.ts";
import type { ChatRequest } from "../../../src/core/chat.ts";
import { GatewayError } from "../../../src/core/errors.ts";
import { splitModel, resolveRoute } from "../../../src/routing/resolve-route.ts";
import { answeringGateway, HELLO, MODELS, ask, TOOL, WEATHER } from "../chat-calls.ts";

const requestFor = (request: ChatRequest, one: Entry): ChatRequest => requestForEntry(request, one, "caller");

const snapshot = answeringGateway().context.snapshot();
const parse = (fields: Readonly<Record<string, unknown>>): ChatRequest =>
  withCheckedEntries(parseChatRequest(JSON.stringify({ model: MODELS.openai, messages: HELLO, ...fields })));
function outcome(fields: Readonly<Record<string, unknown>>): string {
  try {
    parse(fields);
  } catch (thrown) {
    if (thrown instanceof GatewayError) return `${thrown.entry.status} ${thrown.code} ${thrown.param}`;
    throw thrown;
  }
  return "taken";
}
const entry = (model: string | null, params: Entry["params"] = {}): Entry => ({ model, route: null, params });
/** The members of the text that a provider of the same shape is sent from. */
const said = ({ source: { text, members } }: ChatRequest): Record<string, unknown> =>
  Object.fromEntries(
    [...members].map(([name, { valueStart, valueEnd }]) => [name, JSON.parse(text.slice(valueStart, valueEnd))]),
  );

describe("num_retries", () => {
  test("is 0 to 10; anything else is refused, and nothing is clamped", () => {
    for (const value of [0, 1, 10]) expect(parse({ num_retries: value }).options.numRetries).toBe(value);
    expect([parse({}).options.numRetries, parse({ num_retries: null }).options.numRetries]).toEqual([null, null]);
    for (const wrong of [-1, 11, 1.5, "2", true])
      expect(outcome({ num_retries: wrong })).toBe("400 invalid_request num_retries");
  });
});

describe("context_window_fallback_dict", () => {
  test("is a map of models; a model mapped to itself and anything but a map are refused", () => {
    expect(
      parse({ context_window_fallback_dict: { "gpt-4o": "gemini:g", off: null } }).options.contextWindowFallbacks,
    ).toEqual(new Map([["gpt-4o", "gemini:g"]]));
    expect(parse({}).options.contextWindowFallbacks.size).toBe(0);
    for (const wrong of [[], "a", { a: 5 }, { a: ["b"] }])
      expect(outcome({ context_window_fallback_dict: wrong })).toStartWith(
        "400 invalid_request context_window_fallback_dict",
      );
    for (const self of [{ "openai:a": "openai:a" }, { "openai/a": "openai:a" }])
      expect(outcome({ context_window_fallback_dict: self })).toStartWith(
        "400 invalid_request context_window_fallback_dict.openai",
      );
    expect(outcome({ context_window_fallback_dict: { a: "" } })).toBe(
      "400 invalid_request context_window_fallback_dict.a",
    );
  });
});

describe("fallbacks", () => {
  test("are names of models, of routes, and objects with parameters, in order", () => {
    expect(
      parse({
        fallbacks: [
          "anthropic:c",
          "route:cheap",
          "cheap",
          { model: "gemini/g", temperature: 0, top_k: null },
          { route: "warm" },
        ],
      }).options.fallbacks,
    ).toEqual([
      { model: "anthropic:c", route: null, params: {}, path: "fallbacks[0]" },
      { model: null, route: "cheap", params: {}, path: "fallbacks[1]" },
      { model: "cheap", route: null, params: {}, path: "fallbacks[2]" },
      { model: "gemini/g", route: null, params: { temperature: 0, top_k: null }, path: "fallbacks[3]" },
      { model: null, route: "warm", params: {}, path: "fallbacks[4]" },
    ]);
    expect([parse({ fallbacks: [] }).options.fallbacks, parse({ fallbacks: null }).options.fallbacks]).toEqual([
      [],
      [],
    ]);
  });
  test.each([
    [["a", 5], "fallbacks[1]"],
    [[{ temperature: 1 }], "fallbacks[0].model"],
    [[""], "fallbacks[0]"],
    [["route:"], "fallbacks[0]"],
    ["anthropic:c", "fallbacks"],
    [Array.from({ length: 33 }, (_, index) => `openai:${index}`), "fallbacks"],
    [[{ model: "a:b", temperature: 3 }], "fallbacks[0].temperature"],
    [["a:b", { model: "a:b", top_logprobs: 3 }], "fallbacks[1].top_logprobs"],
    [[{ model: "a:b", tools: [{ type: "function" }] }], "fallbacks[0].tools[0].function"],
    [[{ model: "a:b", max_tokens: 1, max_completion_tokens: 2 }], "fallbacks[0].max_tokens"],
    [[{ model: "a:b", num_retries: 11 }], "fallbacks[0].num_retries"],
    [[{ model: "a:b", api_version: "a b" }], "fallbacks[0].api_version"],
  ])("%j is answered with 400 at its path", (fallbacks, param) =>
    expect(outcome({ fallbacks })).toBe(`400 invalid_request ${param}`),
  );
  test("[d3.4] an entry cannot carry fields that belong to the call", () => {
    for (const name of [
      "tenant_id",
      "project_id",
      "metadata",
      "fallbacks",
      "model_list",
      "context_window_fallback_dict",
      "messages",
      "stream",
      "stream_options",
      "timeout",
      "functions",
      "function_call",
    ]) {
      expect(outcome({ fallbacks: [{ model: "a:b", [name]: "x" }] })).toBe(`400 invalid_request fallbacks[0].${name}`);
      expect(outcome({ fallbacks: [{ model: "a:b", [name]: null }] })).toBe("taken");
    }
  });
  test("a fallback to the requested target is refused, but with other parameters it is another request", () => {
    expect(outcome({ fallbacks: [MODELS.openai] })).toBe("400 invalid_request fallbacks[0]");
    expect(outcome({ fallbacks: ["gemini:g", "openai/gpt-4o"] })).toBe("400 invalid_request fallbacks[1]");
    expect(outcome({ fallbacks: [{ model: MODELS.openai, temperature: 0 }] })).toBe("taken");
    for (const own of [{ model: "cheap" }, { model: null, route: "cheap" }])
      for (const fallback of ["cheap", "route:cheap", { route: "cheap" }])
        expect(outcome({ ...own, fallbacks: [fallback] })).toBe("400 invalid_request fallbacks[0]");
  });
  test("long parameters are refused beside many entries, each of which would reread them; a long conversation is never reread", () => {
    const fallbacks = Array.from({ length: 32 }, (_, index) => ({ model: `gemini:${index}`, seed: index }));
    expect(outcome({ fallbacks, stop: "x".repeat(600_000) })).toBe("400 invalid_request fallbacks");
    expect(outcome({ fallbacks: fallbacks.slice(0, 8), stop: "x".repeat(600_000) })).toBe("taken");
    expect(outcome({ fallbacks, messages: [{ role: "user", content: "x".repeat(3_000_000) }] })).toBe("taken");
  });
  test("[d3.4] permissions apply to an entry as to a request", async () => {
    const plain = answeringGateway({ permissions: [] });
    for (const access of [
      { api_key: "k" },
      { base_url: "https://a.test" },
      { headers: { "x-a": "b" } },
      { aws_region_name: "r" },
      { deployment_id: "d" },
    ]) {
      const [field] = Object.keys(access);
      expect((await ask(plain, { fallbacks: ["anthropic:c", { model: "azure:m", ...access }] })).outcome).toBe(
        `403 permission_required fallbacks[1].${field}`,
      );
      expect(outcome({ fallbacks: [{ model: "azure:m", ...access }] })).toBe("taken");
    }
  });
});

describe("[s:param.model-list]", () => {
  const wrong = (one: object): string =>
    outcome({ model: "m", model_list: [{ model_name: "m", params: { model: "openai:a" } }, one] });
  test("each entry needs a name and a model, and has nothing but weight and order beside them", () => {
    const [first] = parse({
      model: "m",
      model_list: [{ model_name: "m", params: { model: "openai:a", api_key: "k", seed: 1 }, weight: 2, order: 1 }],
    }).options.modelList!;
    expect(first).toEqual({
      modelName: "m",
      model: "openai:a",
      params: { api_key: "k", seed: 1 },
      weight: 2,
      order: 1,
      path: "model_list[0].params",
    });
    expect([parse({ model_list: [] }).options.modelList, parse({ model_list: null }).options.modelList]).toEqual([
      null,
      null,
    ]);
    expect(wrong({ params: { model: "openai:a" } })).toBe("400 invalid_request model_list[1].model_name");
    expect(wrong({ model_name: "m", params: {} })).toBe("400 invalid_request model_list[1].params.model");
    expect(wrong({ model_name: "m", litellm_params: {}, params: { model: "openai:a" } })).toBe(
      "400 invalid_request model_list[1].litellm_params",
    );
    for (const weight of [0, -1, "1"])
      expect(wrong({ model_name: "m", params: { model: "openai:a" }, weight })).toBe(
        "400 invalid_request model_list[1].weight",
      );
    expect(wrong({ model_name: "m", params: { model: "openai:a", temperature: 9 } })).toBe(
      "400 invalid_request model_list[1].params.temperature",
    );
    expect(wrong({ model_name: "m", params: { model: "openai:a", metadata: {} } })).toBe(
      "400 invalid_request model_list[1].params.metadata",
    );
  });
});

describe("the request of an attempt", () => {
  test("an entry's parameters override the request's own, null removes one, and everything else stays as it was written", () => {
    const text = `{"model":"openai:gpt-4o", "seed":12345678901234567890 ,"temperature":1, "top_p":0.5,"top_k":1.0,"messages":[{"role":"user","content":"Hi"}],"fallbacks":["gemini:g"]}`;
    const request = parseChatRequest(text);
    const made = requestFor(request, entry("gemini:g", { temperature: 0, top_p: null, stop: "x" }));
    expect([
      made.params.temperature,
      made.params.top_p,
      made.params.stop,
      made.options.model,
      made.options.fallbacks,
    ]).toEqual([0, undefined, "x", "gemini:g", []]);
    expect(made.source.text).toBe(
      `{"seed":12345678901234567890,"temperature":0,"top_p":null,"top_k":1.0,"messages":[{"role":"user","content":"Hi"}],"stop":"x"}`,
    );
    expect(said(made)).toMatchObject({ temperature: 0, stop: "x", messages: [{ role: "user", content: "Hi" }] });
    expect(request.source.text).toBe(text);
  });
  test("agrees with its text, to the last member", () => {
    const bodies = [
      { temperature: 1 },
      { 'esc\n"aped': [1, { a: null }], seed: null },
      { functions: [WEATHER], function_call: "auto" },
      { tools: [TOOL], tool_choice: "required" },
      { max_tokens: -1, stop: ["a"] },
      {
        messages: [
          {
            role: "user",
            content: [
              { type: "text", text: "ü" },
              { type: "image_url", image_url: { url: "https://a.test/i.png" } },
            ],
          },
        ],
        extra_body: { top_k: 1 },
      },
      { api_key: "k", num_retries: 2 },
    ];
    const entries = [
      {},
      { temperature: 0 },
      { tools: null },
      { tools: [TOOL], tool_choice: "auto" },
      { max_completion_tokens: 3, num_retries: 1 },
      { api_key: "own", top_k: { deep: [1.5] } },
      { seed: null, stop: "b" },
    ];
    for (const body of bodies)
      for (const params of entries) {
        const request = parse(body);
        const made = requestFor(request, entry("gemini:g", params));
        if (made.source.text === request.source.text) continue;
        const read = parseChatRequest(made.source.text);
        expect([
          made.params,
          made.extra,
          made.messages,
          [...made.blocks],
          made.vendorForms,
          [...made.source.members],
          made.options.numRetries,
        ]).toEqual([
          read.params,
          read.extra,
          read.messages,
          [...read.blocks],
          read.vendorForms,
          [...read.source.members],
          read.options.numRetries,
        ]);
        // a conversation in legacy form stays one that is written anew
        expect(new Set([...made.source.rewritten, "messages"])).toEqual(
          new Set([...read.source.rewritten, "messages"]),
        );
        if (read.source.rewritten.has("messages")) expect(made.source.rewritten).toContain("messages");
      }
  });
  test("a parameter may have any name", () => {
    const text = `{"model":"openai:a","messages":[{"role":"user","content":"Hi"}],"constructor":1,"__proto__":2,"toString":3}`;
    const made = requestFor(parseChatRequest(text), entry("gemini:g", JSON.parse('{"__proto__":{"a":4},"valueOf":5}')));
    expect(made.source.text).toBe(
      '{"messages":[{"role":"user","content":"Hi"}],"constructor":1,"__proto__":{"a":4},"toString":3,"valueOf":5}',
    );
    expect(JSON.stringify(made.extra)).toBe('{"constructor":1,"__proto__":{"a":4},"toString":3,"valueOf":5}');
  });
  test("parameters of one entry never leak into the next, and each request is made once", () => {
    const request = parse({ temperature: 1 });
    const [first, second, third] = [
      entry("gemini:g", { temperature: 0, seed: 1, top_k: 3 }),
      entry("anthropic:c", { stop: "x" }),
      entry("anthropic:c"),
    ];
    requestFor(request, first);
    const later = requestFor(request, second);
    expect([later.params, later.extra]).toEqual<unknown>([{ temperature: 1, stop: "x" }, {}]);
    expect(requestFor(request, third).params).toEqual<unknown>({ temperature: 1 });
    expect(requestFor(request, second)).toBe(later);
    expect(request.params).toEqual<unknown>({ temperature: 1 });
  });
  test("of two names of one parameter, the entry's replaces the request's", () => {
    const { params } = requestFor(parse({ max_completion_tokens: 100 }), entry("gemini:g", { max_tokens: 5 }));
    expect([params.max_tokens, params.max_completion_tokens]).toEqual([5, 5]);
    const legacy = requestFor(
      parse({ functions: [WEATHER] }),
      entry("gemini:g", { tools: [{ ...TOOL, function: { ...WEATHER, name: "other" } }] }),
    );
    expect([(legacy.params.tools as any)[0].function.name, legacy.options.legacyFunctions]).toEqual(["other", true]);
  });
  test("the conversation is the client's, in legacy form too", () => {
    const messages = [
      ...HELLO,
      { role: "assistant", content: null, function_call: { name: "weather", arguments: "{}" } },
      { role: "function", name: "weather", content: "sun" },
    ];
    const request = parse({ functions: [WEATHER], messages });
    const made = requestFor(request, entry("gemini:g", { temperature: 0 }));
    expect([made.messages, made.blocks, made.params.tools]).toEqual([
      request.messages,
      request.blocks,
      request.params.tools,
    ]);
    expect([...made.source.rewritten].toSorted()).toEqual([...request.source.rewritten].toSorted());
  });

  const ACCESS = { api_key: "k", base_url: "https://a.test/v1", headers: { "x-a": "b" } };
  const reach = ({ options: { credentials, baseUrl, headers } }: ChatRequest) => [
    credentials.size,
    baseUrl,
    Object.keys(headers).length,
  ];
  test("[d2.9] address and credentials of the request go to another model of its provider, and nowhere else", () => {
    const request = parse(ACCESS);
    const other = requestFor(request, entry("gemini:g"));
    expect([reach(other), other.warnings, said(other)["api_key"]]).toEqual([
      [0, null, 0],
      ["endpoint_not_shared"],
      undefined,
    ]);
    expect(reach(requestFor(request, { model: null, route: "cheap", params: {} }))).toEqual([0, null, 0]);
    const same = requestFor(request, entry("openai:gpt-4o-mini", { temperature: 0 }));
    expect([reach(same), same.warnings]).toEqual([[1, "https://a.test/v1", 1], []]);
  });
  test("[d2.9] an address in an entry goes out with the api_key of the same entry, or with none", () => {
    const request = parse(ACCESS);
    expect(reach(requestFor(request, entry("openai:o", { base_url: "https://b.test/v1" })))).toEqual([
      0,
      "https://b.test/v1",
      0,
    ]);
    const keyed = requestFor(request, entry("openai:o", { api_key: "other" }));
    expect([reach(keyed), keyed.options.credentials.get("key")!.stored]).toEqual([
      [1, null, 0],
      expect.objectContaining({ secret: "other" }),
    ]);
  });
  test("[d1.6] each entry of model_list is called with its own members", () => {
    const request = parse({
      model: "m",
      temperature: 1,
      api_key: "top",
      model_list: [
        { model_name: "m", params: { model: "openai:a", api_key: "one", temperature: 0 } },
        { model_name: "m", params: { model: "openai:b" } },
      ],
    });
    const { route } = resolveRoute(request.options, snapshot, { tenantId: "default", projectId: "default" }, null);
    const made = route.targets.map((target) => requestForTarget(request, target, route));
    expect(
      made.map(({ options, params }) => [options.model, options.credentials.get("key")?.stored, params.temperature]),
    ).toEqual([
      ["openai:a", expect.objectContaining({ secret: "one" }), 0],
      ["openai:b", undefined, 1],
    ]);
  });
  test("a target's parameters apply only where the request has none, and a request without changes is not made anew", () => {
    const request = parse({ temperature: 1, extra_body: { top_k: 1 } });
    const { route } = resolveRoute(request.options, snapshot, { tenantId: "default", projectId: "default" }, null);
    const target = { ...route.targets[0]!, ...splitModel("openai:gpt-4o", snapshot) };
    expect(requestForTarget(request, target, route)).toBe(request);
    const made = requestForTarget(request, { ...target, params: { temperature: 0, top_k: 9, seed: 4 } }, route);
    expect([made.params, made.extra, made.options.model]).toEqual<unknown>([
      { temperature: 1, seed: 4 },
      { top_k: 1 },
      MODELS.openai,
    ]);
  });
});
