// Requests of Replicate: where a prediction is created, and what its input contains.
import { describe, expect, test } from "bun:test";
import type { JsonObject } from "../../../src/core/json.ts";
import { replicate } from "../../../src/providers/replicate/provider.ts";
import { encoded, refusalOf, wireBody } from "../../contract/providers/provider-requests.ts";

const META = "meta/meta-llama-3-8b-instruct";
const inputOf = (fields: JsonObject, model = META): unknown => wireBody(encoded(replicate, fields, { model }))["input"];
const urlOf = (model: string): string => encoded(replicate, {}, { model }).request.url;

describe("the address", () => {
  test("is that of a model, a version or a deployment", () => {
    expect(urlOf(META)).toBe("https://api.replicate.com/v1/models/meta/meta-llama-3-8b-instruct/predictions");
    expect(urlOf("deployments/acme/mine")).toBe("https://api.replicate.com/v1/deployments/acme/mine/predictions");
    const version = `acme/mine:${"0a".repeat(32)}`;
    expect(urlOf(version)).toBe("https://api.replicate.com/v1/predictions");
    expect(wireBody(encoded(replicate, {}, { model: version }))["version"]).toBe(version);
  });
  test("a non-streaming answer is waited for, a stream is requested", () => {
    const [whole, stream] = [{}, { stream: true }].map((fields) => encoded(replicate, fields, { model: META }).request);
    expect([whole!.headers["prefer"], JSON.parse(whole!.body)["stream"]]).toEqual(["wait", undefined]);
    expect([stream!.headers["prefer"], JSON.parse(stream!.body)["stream"]]).toEqual([undefined, true]);
  });
});

describe("the prompt", () => {
  test("one question is sent unchanged: the model's own template is best", () => {
    expect(inputOf({})).toEqual({ prompt: "Hello" });
    expect(
      inputOf({
        messages: [
          { role: "system", content: "Be brief." },
          { role: "user", content: "Hello" },
        ],
      }),
    ).toEqual({ prompt: "Hello", system_prompt: "Be brief." });
  });
  test("a longer conversation is sent as a finished prompt, to which the model adds nothing where that can be set", () => {
    const messages = [
      { role: "user", content: "a" },
      { role: "assistant", content: "b" },
      { role: "user", content: "c" },
    ];
    expect(inputOf({ messages })).toEqual({
      prompt:
        "<|start_header_id|>user<|end_header_id|>\n\na<|eot_id|><|start_header_id|>assistant<|end_header_id|>\n\nb<|eot_id|><|start_header_id|>user<|end_header_id|>\n\nc<|eot_id|><|start_header_id|>assistant<|end_header_id|>\n\n",
      prompt_template: "{prompt}",
    });
    expect(inputOf({ messages }, "acme/mine")).toEqual({ prompt: "User: a\n\nAssistant: b\n\nUser: c\n\nAssistant:" });
  });
  test("a prompt in the caller's own form counts as one question too", () => {
    expect(inputOf({ roles: { user: { pre_message: "U: " } } })).toEqual({
      prompt: "U: Hello",
      prompt_template: "{prompt}",
    });
  });
});

describe("parameters", () => {
  test("go into the input, the bound under the model's name for it", () => {
    const asked = {
      temperature: 0.5,
      top_p: 0.9,
      presence_penalty: 0.5,
      frequency_penalty: 0.25,
      seed: 7,
      stop: ["END", "FIN"],
      max_tokens: 9,
    };
    expect(inputOf(asked)).toEqual({
      prompt: "Hello",
      temperature: 0.5,
      top_p: 0.9,
      max_tokens: 9,
      presence_penalty: 0.5,
      frequency_penalty: 0.25,
      seed: 7,
      stop_sequences: "END,FIN",
    });
    expect(inputOf({ max_tokens: 9 }, "meta/llama-2-70b-chat")).toMatchObject({ max_new_tokens: 9 });
    expect(inputOf({ max_tokens: 9, reasoning_effort: "low" }, "openai/gpt-5")).toMatchObject({
      max_completion_tokens: 9,
      reasoning_effort: "low",
    });
  });
  test("a stop sequence with a comma cannot be expressed", () => {
    expect(refusalOf(() => inputOf({ stop: ["a,b"] }))).toMatchObject({ code: "unsupported_value", param: "stop" });
  });
  test("further members of the input pass; the prompt and the bound do not", () => {
    expect(inputOf({ extra_body: { input: { top_k: 40 } } })).toEqual({ prompt: "Hello", top_k: 40 });
    for (const input of [{ prompt: "x" }, { system_prompt: "x" }, { prompt_template: "x" }, { max_new_tokens: 5 }])
      expect(refusalOf(() => inputOf({ extra_body: { input } }))?.code).toBe("reserved_parameter");
  });
});
