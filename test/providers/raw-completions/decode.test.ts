// Answers of raw prompt endpoints: texts, finish reasons, figures, log probabilities and errors become those of chat.
import { describe, expect, test } from "bun:test";
import type { JsonObject } from "../../../src/core/json.ts";
import { StreamError } from "../../../src/providers/interface/upstream-failure.ts";
import { stopTrimmer, withoutStop } from "../../../src/providers/raw-completions/stop-text.ts";
import { providers } from "../../../src/providers/registry.ts";
import { encoded } from "../../contract/providers/provider-requests.ts";

const memoOf = (id: string, asked: JsonObject): unknown => encoded(providers.get(id)!, asked, { model: "m" }).memo;
const decoded = (id: string, body: unknown, asked: JsonObject = {}) =>
  providers.get(id)!.decodeResponse(JSON.stringify(body), { model: "m", memo: memoOf(id, asked) });
function streamed(id: string, events: readonly object[], asked: JsonObject = {}) {
  const decoder = providers.get(id)!.openStream({ model: "m", memo: memoOf(id, asked) });
  return [...events.flatMap((event) => decoder.push({ event: "", data: JSON.stringify(event) })), ...decoder.end()];
}
const failure = (run: () => unknown) => {
  try {
    run();
  } catch (thrown) {
    if (thrown instanceof StreamError) return thrown.failure;
    throw thrown;
  }
  throw new Error("nothing failed");
};

describe("OpenAI's completions", () => {
  test("text, figures and log probabilities in parallel lists", () => {
    const answer = decoded("vllm-generate", {
      id: "cmpl-1",
      object: "text_completion",
      created: 1_760_000_000,
      model: "m",
      choices: [
        {
          index: 0,
          text: "Hi",
          finish_reason: "length",
          logprobs: {
            tokens: ["H", "i"],
            token_logprobs: [-0.1, -0.2],
            top_logprobs: [{ H: -0.1, h: -2 }, null],
            text_offset: [0, 1],
          },
        },
      ],
      usage: { prompt_tokens: 4, completion_tokens: 2, total_tokens: 6 },
    });
    expect(answer.choices).toEqual([
      {
        index: 0,
        message: { content: "Hi" },
        finish_reason: "length",
        logprobs: {
          content: [
            {
              token: "H",
              logprob: -0.1,
              top_logprobs: [
                { token: "H", logprob: -0.1 },
                { token: "h", logprob: -2 },
              ],
            },
            { token: "i", logprob: -0.2, top_logprobs: [] },
          ],
          refusal: null,
        },
      },
    ]);
    expect(answer.usage).toEqual({ prompt_tokens: 4, completion_tokens: 2, total_tokens: 6 });
  });
  test("a stream with text beside an empty delta loses none of it", () => {
    const chunks = streamed("together-generate", [
      { id: "a", choices: [{ index: 0, text: "Hi", delta: { token_id: 1, role: "assistant" } }] },
      { id: "a", choices: [{ index: 0, text: "!", delta: { role: "assistant", content: "!" }, finish_reason: "eos" }] },
    ]);
    expect(chunks.map(({ choices }) => choices[0]!.delta!.content)).toEqual(["Hi", "!"]);
  });
  test("a conversation that is too long is reported as such", () => {
    const body = JSON.stringify({
      error: {
        message:
          "This model's maximum context length is 2048 tokens. However, you requested 3000 tokens (2900 in your prompt; 100 for the completion).",
        type: "BadRequestError",
        code: 400,
      },
    });
    expect(providers.get("vllm-generate")!.classifyError({ status: 400, body })).toMatchObject({
      class: "context_length",
    });
  });
});

describe("TGI's generate", () => {
  const details = {
    finish_reason: "eos_token",
    generated_tokens: 2,
    seed: 5,
    prefill: [],
    tokens: [
      { id: 1, text: "Hi", logprob: -0.1, special: false },
      { id: 2, text: "</s>", logprob: -0.2, special: true },
    ],
    top_tokens: [
      [
        { id: 1, text: "Hi", logprob: -0.1, special: false },
        { id: 3, text: "Ho", logprob: -2, special: false },
      ],
      [],
    ],
  };

  test("text, and the server's own finish reason beside the mapped one", () => {
    expect(decoded("tgi-generate", { generated_text: "Hi", details })).toEqual({
      choices: [{ index: 0, message: { content: "Hi" }, finish_reason: "stop", native_finish_reason: "eos_token" }],
    });
    expect(
      decoded("huggingface-generate", [{ generated_text: "Hi", details: { ...details, finish_reason: "length" } }])
        .choices[0],
    ).toMatchObject({ finish_reason: "length" });
  });
  test("figures where both are known: one alone is not enough, and the gateway estimates", () => {
    expect(
      decoded("tgi-generate", {
        generated_text: "Hi",
        details: { ...details, prefill: [{ id: 1 }, { id: 2 }, { id: 3 }] },
      }).usage,
    ).toEqual({ prompt_tokens: 3, completion_tokens: 2, total_tokens: 5 });
    expect(decoded("tgi-generate", { generated_text: "Hi", details })).not.toHaveProperty("usage");
    expect(
      streamed("tgi-generate", [
        { token: { text: "Hi", special: false }, generated_text: "Hi", details: { ...details, input_length: 7 } },
      ]).at(-1)!.usage,
    ).toEqual({ prompt_tokens: 7, completion_tokens: 2, total_tokens: 9 });
  });
  test("log probabilities without the special tokens, with as many alternatives as were requested", () => {
    const told = (asked: JsonObject) =>
      decoded("tgi-generate", { generated_text: "Hi", details }, asked).choices[0]!.logprobs;
    expect(told({})).toBeUndefined();
    expect(told({ logprobs: true })).toEqual({
      content: [{ token: "Hi", logprob: -0.1, top_logprobs: [] }],
      refusal: null,
    });
    expect(told({ logprobs: true, top_logprobs: 2 })).toEqual({
      content: [
        {
          token: "Hi",
          logprob: -0.1,
          top_logprobs: [
            { token: "Hi", logprob: -0.1 },
            { token: "Ho", logprob: -2 },
          ],
        },
      ],
      refusal: null,
    });
  });
  test("errors by their type, inside a stream too", () => {
    const classOf = (status: number, error: string, error_type: string): string =>
      providers.get("tgi-generate")!.classifyError({ status, body: JSON.stringify({ error, error_type }) }).class;
    expect(classOf(429, "Model is overloaded", "overloaded")).toBe("overloaded");
    expect(classOf(422, "Input validation error: `temperature` must be strictly positive", "validation")).toBe(
      "invalid_request",
    );
    expect(
      classOf(
        422,
        "Input validation error: `inputs` tokens + `max_new_tokens` must be <= 4096. Given: 5000 `inputs` tokens and 20 `max_new_tokens`",
        "validation",
      ),
    ).toBe("context_length");
    expect(
      classOf(422, "Input validation error: `inputs` must have less than 1024 tokens. Given: 2000", "validation"),
    ).toBe("context_length");
    expect(classOf(424, "Request failed during generation: CUDA error", "generation")).toBe("server");
    expect(classOf(500, "Incomplete generation", "incomplete_generation")).toBe("server");
    expect(
      failure(() => streamed("tgi-generate", [{ error: "Model is overloaded", error_type: "overloaded" }])),
    ).toMatchObject({ class: "overloaded", nativeCode: "overloaded" });
  });
});

describe("a stop sequence at the end of a text", () => {
  test("is removed, in pieces too, and only where it ended the answer", () => {
    expect(withoutStop("One.END", ["END"])).toBe("One.");
    for (const pieces of [["One.END"], ["One.E", "ND"], ["One.", "E", "N", "D"], ["O", "ne.EN", "D"]]) {
      const trimmer = stopTrimmer(["END", "FIN"]);
      const told = pieces.map((piece) => trimmer.push(piece)).join("");
      expect(told + trimmer.end(true)).toBe("One.");
    }
    const open = stopTrimmer(["END"]);
    expect([open.push("One.EN"), open.push("CE"), open.end(false)]).toEqual(["One.", "ENC", "E"]);
    const cut = stopTrimmer(["END"]);
    expect([cut.push("One.EN"), cut.end(false)]).toEqual(["One.", "EN"]);
  });
});

describe("Ollama's generate", () => {
  const line = (rest: object): object => ({
    model: "m",
    created_at: "2026-01-01T00:00:00Z",
    response: "",
    done: false,
    ...rest,
  });

  test("text, figures, thinking and log probabilities; the tokens of its context are not passed on", () => {
    const answer = decoded(
      "ollama-generate",
      line({
        response: "Hi",
        thinking: "Hm.",
        done: true,
        done_reason: "stop",
        context: [1, 2, 3],
        prompt_eval_count: 4,
        eval_count: 2,
        logprobs: [
          {
            token: "Hi",
            logprob: -0.1,
            bytes: [72, 105],
            top_logprobs: [{ token: "Ho", logprob: -2, bytes: [72, 111] }],
          },
        ],
      }),
    );
    expect(answer).toEqual({
      choices: [
        {
          index: 0,
          message: { content: "Hi", reasoning_content: "Hm." },
          finish_reason: "stop",
          logprobs: {
            content: [
              {
                token: "Hi",
                logprob: -0.1,
                bytes: [72, 105],
                top_logprobs: [{ token: "Ho", logprob: -2, bytes: [72, 111] }],
              },
            ],
            refusal: null,
          },
        },
      ],
      usage: { prompt_tokens: 4, completion_tokens: 2, total_tokens: 6 },
    });
  });
  test("figures that no count can be are not used", () => {
    for (const eval_count of [-2, 1.5])
      expect(
        decoded("ollama-generate", line({ response: "Hi", done: true, prompt_eval_count: 4, eval_count })).usage,
      ).toMatchObject({ prompt_tokens: 4, completion_tokens: Number.NaN });
  });
  test("a stream ends with the line with done, and an old server's end without a reason is a stop", () => {
    expect(
      streamed("ollama-generate", [line({ response: "Hi" }), line({ done: true })]).map(
        ({ choices }) => choices[0]!.finish_reason,
      ),
    ).toEqual([null, "stop"]);
    expect(streamed("ollama-generate", [line({ done: true, done_reason: "load" })])[0]!.choices[0]).toMatchObject({
      finish_reason: "stop",
      native_finish_reason: "load",
    });
  });
  test("an error is a line", () => {
    expect(
      failure(() =>
        streamed("ollama-generate", [line({ response: "Hi" }), { error: "model runner has unexpectedly stopped" }]),
      ),
    ).toMatchObject({ class: "server" });
    expect(
      providers
        .get("ollama-generate")!
        .classifyError({ status: 404, body: JSON.stringify({ error: "model 'x' not found" }) }),
    ).toMatchObject({ class: "not_found" });
  });
});
