// The body that an OpenAI-shaped provider gets: the caller's own text except for what has to change.
import { describe, expect, test } from "bun:test";
import fc from "fast-check";
import { withMembers } from "../../../src/core/request/request-source.ts";
import type { JsonObject } from "../../../src/core/json.ts";
import { FIELDS } from "../../../src/core/params.ts";
import { parseChatRequest } from "../../../src/engine/request/parse.ts";
import { openaiCompatibleProviders } from "../../../src/providers/registry.ts";
import { encode, HELLO, provider, providerOf, targetOf, wireBody } from "./calls.ts";
import { keyCredential, SIGN_CONTEXT } from "../../harness/targets.ts";

const custom = provider("custom");

/** Random JSON as text, with numbers and spaces in spellings that JSON.stringify would not choose. */
const jsonText = fc.letrec<{ value: string; list: string; object: string }>((tie) => ({
  value: fc.oneof(
    { depthSize: "small", withCrossShrink: true },
    fc.constantFrom(
      "1",
      "1.0",
      "-0",
      "1e5",
      "1E-2",
      "0.10",
      "12345678901234567890",
      "-9007199254740993",
      "true",
      "false",
      "null",
      '""',
      '"\\u0041\\/"',
      '"\\ud83d\\ude00"',
    ),
    fc.string().map((text) => JSON.stringify(text)),
    tie("list"),
    tie("object"),
  ),
  list: fc.array(tie("value"), { maxLength: 4 }).map((items) => `[ ${items.join(" ,\n")} ]`),
  object: fc
    .uniqueArray(fc.tuple(fc.string(), tie("value")), { selector: ([key]) => key, maxLength: 4 })
    .map((members) => `{${members.map(([key, value]) => `${JSON.stringify(key)} : ${value}`).join(", ")}}`),
})).value;

describe("the caller's text", () => {
  test("[d6.5] [s:behaviors.5] unknown members reach the provider byte for byte, in the caller's order", () => {
    const member = fc.tuple(
      fc.string({ minLength: 1 }).filter((key) => !FIELDS.has(key)),
      jsonText,
    );
    fc.assert(
      fc.property(fc.uniqueArray(member, { selector: ([key]) => key, maxLength: 6 }), fc.nat(6), (members, at) => {
        const extras = members.map(([key, value]) => `${JSON.stringify(key)}: ${value}`);
        const own = ['"messages":[{"role":"user","content":"Hi","name":"x"}]', '"temperature": 1.0'];
        const all = [...extras.slice(0, at), ...own, ...extras.slice(at)];
        const sent = `{"model": "custom:org/m:1",\n  ${all.join(" ,\n  ")}\n}`;
        expect(encode(custom, sent, "org/m:1").request.body).toBe(`{"model":"org/m:1",${all.join(",")}}`);
      }),
      { numRuns: 300 },
    );
  });

  test("messages and parameters keep their spelling", () => {
    const text = `{"seed":12345678901234567890,"messages":[ {"content":"a","role":"user","weight":1.0} ],"stop" : ["\\u0041"],"model":"x","top_p":0.90}`;
    expect(encode(custom, text).request.body).toBe(
      `{"seed":12345678901234567890,"messages":[ {"content":"a","role":"user","weight":1.0} ],"stop" : ["\\u0041"],"model":"m-1","top_p":0.90}`,
    );
  });

  test("fields of the gateway and null parameters are left out", () => {
    const body = wireBody(custom, {
      tenant_id: "t",
      project_id: "p",
      route: "direct",
      metadata: { a: "b" },
      timeout: 3,
      drop_params: true,
      temperature: null,
      max_tokens: -1,
      api_key: "k",
      base_url: "https://x.example",
      extra_headers: {},
    });
    expect(body).toEqual({ model: "m-1", messages: HELLO });
  });

  test("a missing model is added, as the route decided", () => {
    expect(wireBody(custom, '{"route":"r","messages":[{"role":"user","content":"Hi"}]}', "chosen")).toMatchObject({
      model: "chosen",
    });
  });

  test("a parameter that was dropped from the request is removed, and a changed one is written anew", () => {
    const request = parseChatRequest(
      '{"model":"x","messages":[{"role":"user","content":"Hi"}],"stop":["a","b","c","d","e"],"seed":1,"top_p":0.5}',
    );
    const { seed: _seed, ...params } = request.params;
    const fitted = withMembers(request, { params: { ...params, stop: ["a", "b", "c", "d"] } });
    const body = JSON.parse(custom.encodeRequest(fitted, targetOf(custom, "m")).request.body) as JsonObject;
    expect(body["stop"]).toEqual(["a", "b", "c", "d"]);
    expect(body).not.toHaveProperty("seed");
    expect(body["top_p"]).toBe(0.5);
  });

  test("a parameter that was added to the request is written", () => {
    const request = parseChatRequest('{"model":"x","messages":[{"role":"user","content":"Hi"}]}');
    const body = JSON.parse(
      custom.encodeRequest(
        withMembers(request, { params: { temperature: 0.2, max_tokens: 5, max_completion_tokens: 5 } }),
        targetOf(custom, "m"),
      ).request.body,
    ) as JsonObject;
    expect(body).toMatchObject({ temperature: 0.2, max_tokens: 5 });
    expect(body).not.toHaveProperty("max_completion_tokens");
  });

  test("[d6.6] functions are always sent as tools, and old calls in the conversation as tool calls", () => {
    const body = wireBody(provider("openai"), {
      functions: [{ name: "look_up", parameters: { type: "object" } }],
      function_call: { name: "look_up" },
      messages: [
        { role: "user", content: "Hi" },
        { role: "assistant", content: null, function_call: { name: "look_up", arguments: "{}" } },
        { role: "function", name: "look_up", content: "42" },
      ],
    });
    expect(body["tools"]).toEqual([
      { type: "function", function: { name: "look_up", parameters: { type: "object" } } },
    ]);
    expect(body["tool_choice"]).toEqual({ type: "function", function: { name: "look_up" } });
    expect(body).not.toHaveProperty("functions");
    expect(body).not.toHaveProperty("function_call");
    const [, called, answered] = body["messages"] as JsonObject[];
    expect(called).toMatchObject({ tool_calls: [{ function: { name: "look_up" } }] });
    expect(answered).toMatchObject({ role: "tool", content: "42" });
  });

  test("[d6.5] extra_body is appended, and merged key by key into an object of the same name", () => {
    const body = wireBody(custom, {
      provider: { order: ["a"], sort: "price" },
      top_k: 3,
      temperature: null,
      extra_body: { provider: { only: ["b"] }, min_p: 0.1, temperature: 0.3 },
    });
    expect(body["provider"]).toEqual({ order: ["a"], sort: "price", only: ["b"] });
    expect(body).toMatchObject({ top_k: 3, min_p: 0.1, temperature: 0.3 });
    expect(body).not.toHaveProperty("extra_body");
  });

  test("[d6.5] model, conversation, output bound, number of answers, tools and streaming are reserved everywhere", () => {
    for (const each of openaiCompatibleProviders)
      for (const name of [
        "model",
        "messages",
        "max_tokens",
        "max_completion_tokens",
        "n",
        "tools",
        "functions",
        "stream",
        "stream_options",
      ])
        expect(each.reserved.has(name)).toBe(true);
  });
});

describe("the usage of a stream", () => {
  test("is requested when the client did not", () => {
    expect(wireBody(custom, { stream: true })["stream_options"]).toEqual({ include_usage: true });
    expect(wireBody(custom, { stream: true, stream_options: null })["stream_options"]).toEqual({ include_usage: true });
  });
  test("is requested whatever else the client set", () => {
    expect(
      wireBody(custom, { stream: true, stream_options: { include_usage: false, chunk_include: 1 } })["stream_options"],
    ).toEqual({ include_usage: true, chunk_include: 1 });
  });
  test("the client's own setting stays when it requests usage", () => {
    expect(
      encode(
        custom,
        '{"messages":[{"role":"user","content":"a"}],"model":"x","stream":true,"stream_options":{ "include_usage" : true }}',
      ).request.body,
    ).toContain('"stream_options":{ "include_usage" : true }');
  });
  test("is not requested without a stream, nor where the row has no field for it", () => {
    expect(wireBody(custom, { stream: false })).not.toHaveProperty("stream_options");
    const bare = providerOf({ lacks: ["stream_options"] });
    expect(wireBody(bare, { stream: true, stream_options: { include_usage: true } })).not.toHaveProperty(
      "stream_options",
    );
    expect(wireBody(bare, { stream: true })).toMatchObject({ stream: true });
  });
});

describe("the output bound", () => {
  test("[d5.5] is sent once, under the name that the provider expects", () => {
    const both = { max_tokens: 7, max_completion_tokens: 7 };
    expect(wireBody(custom, both)).toMatchObject({ max_tokens: 7 });
    expect(wireBody(custom, both)).not.toHaveProperty("max_completion_tokens");
    for (const taker of [custom, provider("baseten")])
      expect(wireBody(taker, { max_completion_tokens: 7 })).toMatchObject({ max_completion_tokens: 7 });
    for (const id of ["deepseek", "perplexity", "nvidia", "deepinfra", "together", "lmstudio"]) {
      expect(wireBody(provider(id), { max_completion_tokens: 7 })["max_tokens"]).toBe(7);
      expect(wireBody(provider(id), both)).not.toHaveProperty("max_completion_tokens");
    }
  });
  test("OpenAI's reasoning models get max_completion_tokens, and the mapping is reported", () => {
    for (const model of [
      "o3-mini",
      "o1",
      "gpt-5",
      "gpt-5-mini-2025-08-07",
      "gpt-5.2",
      "gpt-6-mini",
      "ft:o4-mini:acme",
    ]) {
      const encoded = encode(provider("openai"), { max_tokens: 9 }, model);
      expect(JSON.parse(encoded.request.body)).toMatchObject({ max_completion_tokens: 9 });
      expect(encoded.mapped).toEqual(["max_tokens -> max_completion_tokens"]);
    }
    for (const model of ["gpt-4o", "gpt-5-chat-latest", "gpt-4.1"])
      expect(wireBody(provider("openai"), { max_tokens: 9 }, model)).toMatchObject({ max_tokens: 9 });
  });
});

test("completion-only parameters are unsupported on every chat-shaped row, and a deployment on every one but Azure's", () => {
  for (const each of openaiCompatibleProviders)
    for (const name of [
      "initial_prompt_value",
      "final_prompt_value",
      "roles",
      "bos_token",
      "eos_token",
      "hf_model_name",
      "deployment_id",
    ] as const)
      expect([each.id, name, each.capabilities.cells[name].support]).toEqual([
        each.id,
        name,
        each.id === "azure" && name === "deployment_id" ? "mapped" : "unsupported",
      ]);
});

describe("address, headers and key", () => {
  test("the endpoint is appended to the base address", () => {
    expect(encode(provider("groq"), {}).request.url).toBe("https://api.groq.com/openai/v1/chat/completions");
    expect(encode(providerOf({ path: "/serve/{model}/invocations" }), {}, "org/m 1").request.url).toBe(
      "https://acme.example/v1/serve/org/m%201/invocations",
    );
    expect(
      encode(providerOf({ hooks: { address: ({ model, baseUrl }) => `${baseUrl}/${model}?v=2` } }), {}).request.url,
    ).toBe("https://acme.example/v1/m-1?v=2");
  });
  test("the caller's headers are sent, and the content type is the gateway's", () => {
    const request = parseChatRequest(JSON.stringify({ model: "x", messages: HELLO }));
    const { headers } = custom.encodeRequest(request, {
      ...targetOf(custom, "m"),
      headers: { "x-title": "t", "content-type": "text/plain" },
    }).request;
    expect(headers).toEqual({ "x-title": "t", "content-type": "application/json" });
  });
  test("the key is a bearer token unless the row says otherwise, and absent without one", async () => {
    const { request } = encode(custom, {});
    expect((await custom.sign(request, keyCredential("secret"), SIGN_CONTEXT)).headers["authorization"]).toBe(
      "Bearer secret",
    );
    expect(
      (
        await providerOf({ auth: { header: "api-key", prefix: "" } }).sign(
          request,
          keyCredential("secret"),
          SIGN_CONTEXT,
        )
      ).headers,
    ).toEqual({ "content-type": "application/json", "api-key": "secret" });
    expect(custom.sign(request, null, SIGN_CONTEXT)).toBe(request);
    expect(request.headers).not.toHaveProperty("authorization");
  });
});
