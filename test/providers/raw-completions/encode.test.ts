// Requests of raw prompt endpoints, in each wire form: how parameters are sent, and which may be passed through where.
import { describe, expect, test } from "bun:test";
import { parseChatRequest } from "../../../src/engine/request/parse.ts";
import type { JsonObject } from "../../../src/core/json.ts";
import { providers } from "../../../src/providers/registry.ts";
import { encoded, refusalOf, targetOf, wireBody } from "../../contract/providers/provider-requests.ts";

const bodyOf = (id: string, fields: JsonObject, model = "m"): JsonObject =>
  wireBody(encoded(providers.get(id)!, fields, { model }));
const urlOf = (id: string, fields: JsonObject = {}): string =>
  encoded(providers.get(id)!, fields, { model: "m" }).request.url;
const LLAMA = "meta-llama/Llama-3.1-8B-Instruct";
const SCHEMA = { type: "object", properties: { city: { type: "string" } } };
const FORMAT = { type: "json_schema", json_schema: { name: "place", schema: SCHEMA } };

describe("OpenAI's completions", () => {
  test("parameters keep their names, except for the bound and log probabilities", () => {
    const asked = {
      temperature: 0,
      top_p: 0.5,
      n: 2,
      seed: 7,
      presence_penalty: 0.5,
      frequency_penalty: 0.25,
      logit_bias: { "5": 1 },
      user: "u",
      max_completion_tokens: 9,
      stop: "END",
      logprobs: true,
      top_logprobs: 3,
    };
    expect(bodyOf("vllm-generate", asked, LLAMA)).toEqual({
      model: LLAMA,
      prompt:
        "<|start_header_id|>user<|end_header_id|>\n\nHello<|eot_id|><|start_header_id|>assistant<|end_header_id|>\n\n",
      temperature: 0,
      top_p: 0.5,
      n: 2,
      seed: 7,
      presence_penalty: 0.5,
      frequency_penalty: 0.25,
      logit_bias: { "5": 1 },
      user: "u",
      max_tokens: 9,
      stop: ["END"],
      logprobs: 3,
    });
    expect(urlOf("openai-generate")).toBe("https://api.openai.com/v1/completions");
    expect(urlOf("deepseek-generate")).toBe("https://api.deepseek.com/beta/completions");
  });
  test("a refusal beside an empty text is the assistant's text", () => {
    expect(
      bodyOf(
        "vllm-generate",
        {
          messages: [
            { role: "user", content: "A" },
            { role: "assistant", content: "", refusal: "No." },
            { role: "user", content: "B" },
          ],
        },
        LLAMA,
      )["prompt"],
    ).toContain("No.");
  });
  test("log probabilities without alternatives are 0 alternatives, or 1 where 0 means none at all", () => {
    expect(bodyOf("openai-generate", { logprobs: true })["logprobs"]).toBe(0);
    expect(bodyOf("llamacpp-generate", { logprobs: true })["logprobs"]).toBe(1);
  });
  test("a stream requests its usage, whatever the caller set", () => {
    expect(bodyOf("vllm-generate", { stream: true })).toMatchObject({
      stream: true,
      stream_options: { include_usage: true },
    });
    expect(bodyOf("vllm-generate", { stream: true, stream_options: { include_usage: false } })).toMatchObject({
      stream_options: { include_usage: true },
    });
    expect(bodyOf("vllm-generate", {})).not.toHaveProperty("stream");
  });
  test("JSON output is sent unchanged where completions accept it, as the schema for llama.cpp, and else not at all", () => {
    expect(bodyOf("vllm-generate", { response_format: FORMAT })["response_format"]).toEqual(FORMAT);
    expect(bodyOf("llamacpp-generate", { response_format: FORMAT })["json_schema"]).toEqual(SCHEMA);
    expect(bodyOf("llamacpp-generate", { response_format: { type: "json_object" } })["json_schema"]).toEqual({
      type: "object",
    });
    const open = { response_format: { type: "json_schema", json_schema: { name: "place", schema: null } } };
    expect(bodyOf("llamacpp-generate", open)["json_schema"]).toEqual({ type: "object" });
    expect(bodyOf("ollama-generate", open)["format"]).toEqual({ type: "object" });
    expect(refusalOf(() => bodyOf("openai-generate", { response_format: FORMAT }))?.code).toBe("unsupported_parameter");
  });
  test("user is left out where the provider has no field for it", () => {
    expect(bodyOf("together-generate", { user: "u" })).not.toHaveProperty("user");
  });
  test("suffix, best_of and the like pass; the prompt and its echo do not", () => {
    expect(bodyOf("openai-generate", { suffix: "the end", best_of: 3 })).toMatchObject({
      suffix: "the end",
      best_of: 3,
    });
    for (const name of ["prompt", "echo"])
      expect(refusalOf(() => bodyOf("openai-generate", { extra_body: { [name]: true } }))).toMatchObject({
        code: "reserved_parameter",
      });
  });
  test("digits beyond the precision of a double are kept", () => {
    const provider = providers.get("vllm-generate")!;
    const request = parseChatRequest(
      '{"model":"vllm-generate:m","messages":[{"role":"user","content":"Hello"}],"seed":12345678901234567890,"vendor":0.10000000000000000001}',
    );
    expect(provider.encodeRequest(request, targetOf(provider, "m")).request.body).toContain(
      '"seed":12345678901234567890,',
    );
  });
});

describe("TGI's generate", () => {
  test("parameters go into parameters, and the details are requested", () => {
    const asked = {
      temperature: 0.5,
      top_p: 0.9,
      seed: 7,
      frequency_penalty: 0.25,
      max_tokens: 9,
      stop: ["END"],
      logprobs: true,
      top_logprobs: 3,
      response_format: FORMAT,
    };
    expect(bodyOf("tgi-generate", asked, LLAMA)).toEqual({
      model: LLAMA,
      inputs:
        "<|start_header_id|>user<|end_header_id|>\n\nHello<|eot_id|><|start_header_id|>assistant<|end_header_id|>\n\n",
      parameters: {
        details: true,
        return_full_text: false,
        max_new_tokens: 9,
        do_sample: true,
        temperature: 0.5,
        top_p: 0.9,
        frequency_penalty: 0.25,
        seed: 7,
        stop: ["END"],
        top_n_tokens: 3,
        grammar: { type: "json", value: SCHEMA },
      },
    });
  });
  test("values that the server refuses are expressed in its own way: a temperature of 0 as no sampling, a top_p of 1 not at all", () => {
    expect(bodyOf("tgi-generate", { temperature: 0, top_p: 1 }, LLAMA)["parameters"]).toEqual({
      details: true,
      return_full_text: false,
      do_sample: false,
    });
  });
  test("the address decides whether it streams; at the root of an endpoint the body does", () => {
    expect([urlOf("tgi-generate"), urlOf("tgi-generate", { stream: true })]).toEqual([
      "http://localhost:8080/generate",
      "http://localhost:8080/generate_stream",
    ]);
    expect([urlOf("huggingface-generate"), urlOf("huggingface-generate", { stream: true })]).toEqual([
      "https://models.example/v1",
      "https://models.example/v1",
    ]);
    expect(bodyOf("huggingface-generate", { stream: true })).toMatchObject({ stream: true });
  });
  test("further parameters of the server are passed in parameters; the bound is not", () => {
    expect(
      bodyOf("tgi-generate", { temperature: 0.5, extra_body: { parameters: { top_k: 40, watermark: true } } })[
        "parameters"
      ],
    ).toMatchObject({ temperature: 0.5, top_k: 40, watermark: true });
    for (const parameters of [{ max_new_tokens: 5 }, { return_full_text: true }, { details: false }])
      expect(refusalOf(() => bodyOf("tgi-generate", { extra_body: { parameters } }))).toMatchObject({
        code: "reserved_parameter",
        param: `parameters.${Object.keys(parameters)[0]}`,
      });
    expect(
      refusalOf(() => bodyOf("tgi-generate", { temperature: 0.5, extra_body: { parameters: { temperature: 0.9 } } })),
    ).toMatchObject({ code: "reserved_parameter", param: "parameters.temperature" });
  });
});

describe("Ollama's generate", () => {
  test("the prompt is raw, and parameters go into options", () => {
    const asked = {
      temperature: 0,
      top_p: 0.9,
      seed: 7,
      presence_penalty: 0.5,
      frequency_penalty: 0.25,
      max_tokens: 9,
      stop: "END",
      logprobs: true,
      top_logprobs: 3,
    };
    expect(bodyOf("ollama-generate", asked, "llama3.1:8b")).toEqual({
      model: "llama3.1:8b",
      prompt:
        "<|start_header_id|>user<|end_header_id|>\n\nHello<|eot_id|><|start_header_id|>assistant<|end_header_id|>\n\n",
      raw: true,
      stream: false,
      logprobs: true,
      top_logprobs: 3,
      options: {
        temperature: 0,
        top_p: 0.9,
        num_predict: 9,
        stop: ["END"],
        presence_penalty: 0.5,
        frequency_penalty: 0.25,
        seed: 7,
      },
    });
    expect(urlOf("ollama-generate")).toBe("http://localhost:11434/api/generate");
  });
  test("JSON output becomes its format", () => {
    expect(bodyOf("ollama-generate", { response_format: { type: "json_object" } })["format"]).toBe("json");
    expect(bodyOf("ollama-generate", { response_format: FORMAT })["format"]).toEqual(SCHEMA);
  });
  test("further options pass; the template's own fields do not", () => {
    expect(bodyOf("ollama-generate", { keep_alive: "5m", extra_body: { options: { num_ctx: 8192 } } })).toMatchObject({
      keep_alive: "5m",
      options: { num_ctx: 8192 },
    });
    for (const extra_body of [
      { system: "You obey." },
      { template: "x" },
      { context: [1] },
      { raw: false },
      { options: { num_predict: 5 } },
    ])
      expect(refusalOf(() => bodyOf("ollama-generate", { extra_body }))?.code).toBe("reserved_parameter");
  });
});
