// Answers of generateContent in OpenAI's form: parts, finish reasons, usage, log probabilities, sources, and invalid
// answers.
import { describe, expect, test } from "bun:test";
import type { AnswerChoice, ChatAnswer } from "../../../src/core/chat.ts";
import type { Json, JsonObject } from "../../../src/core/json.ts";
import { gemini } from "../../../src/providers/gemini/provider.ts";
import { MalformedAnswer, StreamError } from "../../../src/providers/interface/upstream-failure.ts";
import type { SseEvent } from "../../../src/wire/sse.ts";

const context = { model: "gemini-3-flash-preview", memo: null };
const decode = (frame: Json): ChatAnswer => gemini.decodeResponse(JSON.stringify(frame), context);
const choiceOf = (parts: Json, candidate: JsonObject = {}): AnswerChoice =>
  decode({ candidates: [{ content: { role: "model", parts }, finishReason: "STOP", index: 0, ...candidate }] })
    .choices[0]!;

describe("parts", () => {
  test("texts become content, thoughts become reasoning, in their order", () => {
    const { message } = choiceOf([
      { text: "I think", thought: true },
      { text: "Red" },
      { text: " more", thought: true },
      { text: "dish" },
    ]);
    // the order of its pieces is beside the message
    expect(JSON.parse(JSON.stringify(message))).toEqual({ content: "Reddish", reasoning_content: "I think more" });
  });
  test("calls: arguments are a string, the server's id is kept, signatures go with their call", () => {
    const { message, finish_reason } = choiceOf([
      { functionCall: { name: "f", args: { b: 1, a: [2] }, id: "x8i0" }, thoughtSignature: "S" },
      { functionCall: { name: "g" } },
    ]);
    expect(message.content).toBeNull();
    expect(finish_reason).toBe("tool_calls");
    expect(message.tool_calls![0]).toEqual({
      id: "x8i0",
      type: "function",
      function: { name: "f", arguments: `{"b":1,"a":[2]}` },
      extra_content: { google: { thought_signature: "S" } },
    });
    expect(message.tool_calls![1]).toMatchObject({ type: "function", function: { name: "g", arguments: "{}" } });
  });
  test("the server's ids stay; generated ids are never repeated, neither in an answer nor in a conversation", () => {
    const parts = ["", "odd id!", "same", "same"].map((id) => ({ functionCall: { name: "f", args: {}, id } }));
    const ids = choiceOf(parts).message.tool_calls!.map((made) => made.id);
    expect([ids[1], ids[2]]).toEqual(["odd id!", "same"]);
    const made = [ids[0]!, ids[3]!, choiceOf(parts.slice(0, 1)).message.tool_calls![0]!.id];
    for (const id of made) expect(id).toMatch(/^call_gw_[0-9a-f]{32}$/);
    expect(new Set(made).size).toBe(3);
  });
  test("large numbers in arguments keep their digits", () => {
    const body = `{"candidates":[{"content":{"parts":[{"functionCall":{"name":"f","args":{"n":12345678901234567890}}}]},"finishReason":"STOP"}]}`;
    expect(gemini.decodeResponse(body, context).choices[0]!.message.tool_calls![0]!.function.arguments).toBe(
      `{"n":12345678901234567890}`,
    );
  });
  test("the text's signature stands on the message", () => {
    expect(choiceOf([{ text: "Hi", thoughtSignature: "T" }]).message).toEqual({
      content: "Hi",
      extra_content: { google: { thought_signature: "T" } },
    });
    expect(choiceOf([{ thoughtSignature: "T" }]).message).toEqual({
      content: null,
      extra_content: { google: { thought_signature: "T" } },
    });
  });
  test("images and audio", () => {
    const { message } = choiceOf([
      { inlineData: { mimeType: "image/png", data: "QUJD" }, thoughtSignature: "I" },
      { inlineData: { mimeType: "audio/L16;codec=pcm;rate=24000", data: "REVG" } },
    ]);
    expect(message["images"]).toEqual([
      {
        type: "image_url",
        image_url: { url: "data:image/png;base64,QUJD" },
        extra_content: { google: { thought_signature: "I" } },
      },
    ]);
    expect(message["audio"]).toEqual({
      id: "audio_answer_0",
      data: "REVG",
      transcript: "",
      expires_at: 0,
      format: "pcm16",
      mime_type: "audio/L16;codec=pcm;rate=24000",
      sample_rate: 24_000,
    });
  });
  test("parts of other kinds are kept unchanged, and are sent back unchanged", () => {
    const code = { executableCode: { language: "PYTHON", code: "print(1)" } };
    const outcome = { codeExecutionResult: { outcome: "OUTCOME_OK", output: "1" }, thoughtSignature: "X" };
    const { message } = choiceOf([code, outcome, {}, { text: "It is 1." }]);
    expect(message).toEqual({ content: "It is 1.", extra_content: { google: { parts: [code, outcome] } } });
  });
  test("odd responses: no content, no parts, parts that are not objects", () => {
    for (const content of [undefined, {}, { role: "model" }, { parts: null }, { parts: ["x", null] }]) {
      const choice = decode({
        candidates: [{ ...(content !== undefined && { content: content as JsonObject }), finishReason: "MAX_TOKENS" }],
      }).choices[0]!;
      expect(choice).toMatchObject({ index: 0, message: { content: null }, finish_reason: "length" });
    }
  });
});

describe("the end", () => {
  test.each([
    ["STOP", "stop"],
    ["MAX_TOKENS", "length"],
    ["SAFETY", "content_filter"],
    ["RECITATION", "content_filter"],
    ["LANGUAGE", "content_filter"],
    ["BLOCKLIST", "content_filter"],
    ["PROHIBITED_CONTENT", "content_filter"],
    ["SPII", "content_filter"],
    ["IMAGE_SAFETY", "content_filter"],
    ["IMAGE_RECITATION", "content_filter"],
    ["MODEL_ARMOR", "content_filter"],
    ["ESCALATION", "content_filter"],
    ["PUP_LIMITED_DISABLED", "content_filter"],
    ["CONTINUATION", "length"],
    ["MALFORMED_FUNCTION_CALL", "stop"],
    ["UNEXPECTED_TOOL_CALL", "stop"],
    ["OTHER", "stop"],
    ["NO_IMAGE", "stop"],
    ["A_NEW_WORD", "stop"],
    ["constructor", "stop"],
    ["NEW_SAFETY_WORD", "content_filter"],
  ] as const)("%s becomes %s", (native, ours) => {
    expect(choiceOf([{ text: "x" }], { finishReason: native })).toMatchObject({
      finish_reason: ours,
      native_finish_reason: native,
    });
  });
  test("an answer that a later request goes on with carries the token for it", () => {
    const { message } = choiceOf([{ text: "x" }], { finishReason: "CONTINUATION", continuationToken: "dG9rZW4=" });
    expect(message["extra_content"]).toEqual({ google: { continuation_token: "dG9rZW4=" } });
  });
  test("numbers of the enumeration are read as names", () => {
    expect(choiceOf([], { finishReason: 2 })).toMatchObject({
      finish_reason: "length",
      native_finish_reason: "MAX_TOKENS",
    });
    expect(choiceOf([], { finishReason: 7 })).toMatchObject({
      finish_reason: "content_filter",
      native_finish_reason: "PROHIBITED_CONTENT",
    });
    expect(choiceOf([], { finishReason: 99 })).toMatchObject({ finish_reason: "stop", native_finish_reason: "99" });
  });
  test("[d8.6] a choice with calls that ended normally has tool_calls, and one that was cut has length", () => {
    const calls = [{ functionCall: { name: "f", args: {} } }];
    expect(choiceOf(calls).finish_reason).toBe("tool_calls");
    expect(choiceOf(calls, { finishReason: "UNEXPECTED_TOOL_CALL" }).finish_reason).toBe("tool_calls");
    expect(choiceOf(calls, { finishReason: "MAX_TOKENS" }).finish_reason).toBe("length");
  });
  test("a missing finish reason stays missing; an unusual one keeps its text", () => {
    expect(choiceOf([{ text: "x" }], { finishReason: null }).finish_reason).toBeNull();
    expect(choiceOf([{ text: "x" }], { finishReason: "FINISH_REASON_UNSPECIFIED" }).finish_reason).toBe("stop");
    expect(
      choiceOf([], { finishReason: "MALFORMED_FUNCTION_CALL", finishMessage: "Malformed: f(" })[
        "native_finish_message"
      ],
    ).toBe("Malformed: f(");
    expect(choiceOf([], { finishMessage: "Model generated function call(s)." })["native_finish_message"]).toBe(
      "Model generated function call(s).",
    );
  });
  test("a total that no count can be is that of the prompt and the answer, because what is beyond them is billed", () => {
    for (const totalTokenCount of [-7, 1e300])
      expect(
        decode({ candidates: [{}], usageMetadata: { promptTokenCount: 1, candidatesTokenCount: 2, totalTokenCount } })
          .usage?.total_tokens,
      ).toBe(3);
  });
  test("[d8.9] the tokens of a prompt that only the total counts are what it exceeds the answer by", () => {
    const usageMetadata = { candidatesTokenCount: 1, totalTokenCount: 693, thoughtsTokenCount: 117 };
    const usageOf = (more: object): unknown =>
      decode({ candidates: [{}], usageMetadata: { ...usageMetadata, ...more } }).usage;
    expect(usageOf({})).toMatchObject({ prompt_tokens: 575, completion_tokens: 118, total_tokens: 693 });
    expect(usageOf({ totalTokenCount: 118 })).toMatchObject({ prompt_tokens: 0, total_tokens: 118 });
    expect(usageOf({ promptTokenCount: 9 })).toMatchObject({ prompt_tokens: 9, total_tokens: 693 });
  });
  test("[d8.9] what Google says of an answer beside its text is kept: the average log probability and the kind of traffic", () => {
    expect(choiceOf([{ text: "x" }], { avgLogprobs: -0.25 })["avg_logprobs"]).toBe(-0.25);
    const usageMetadata = { promptTokenCount: 1, totalTokenCount: 1, trafficType: "PROVISIONED_THROUGHPUT" };
    expect(decode({ candidates: [{}], usageMetadata }).usage).toMatchObject({ traffic_type: "PROVISIONED_THROUGHPUT" });
    const stream = gemini.openStream(context);
    const data = JSON.stringify({
      candidates: [
        { content: { parts: [{ text: "x" }] }, finishReason: "STOP", finishMessage: "Done.", avgLogprobs: -0.5 },
      ],
    });
    const chunks = [...stream.push({ data } as SseEvent), ...stream.end()];
    expect(chunks.at(-1)!.choices[0]).toMatchObject({ native_finish_message: "Done.", avg_logprobs: -0.5 });
  });
  test("a refused prompt is an empty answer with content_filter", () => {
    for (const [blockReason, native] of [
      ["SAFETY", "SAFETY"],
      ["SOMETHING_NEW", "SOMETHING_NEW"],
      [3, "BLOCK_REASON_3"],
    ] as const)
      expect(
        decode({ promptFeedback: { blockReason }, usageMetadata: { promptTokenCount: 4, totalTokenCount: 4 } }),
      ).toMatchObject({
        choices: [
          { index: 0, message: { content: null }, finish_reason: "content_filter", native_finish_reason: native },
        ],
        usage: { prompt_tokens: 4, completion_tokens: 0, total_tokens: 4 },
      });
  });
  test("feedback that blocks nothing is not a refusal", () => {
    expect(
      decode({
        promptFeedback: { safetyRatings: [] },
        candidates: [{ content: { parts: [{ text: "x" }] }, finishReason: "STOP" }],
      }).choices[0]!.finish_reason,
    ).toBe("stop");
  });
});

describe("the members around the parts", () => {
  test("id and time are the server's, where it gives them", () => {
    expect(decode({ responseId: "r1", createTime: "2026-01-02T03:04:05.678901Z", candidates: [{}] })).toMatchObject({
      id: "r1",
      created: 1767323045,
    });
    const bare = decode({ responseId: "", candidates: [{}] });
    expect("id" in bare || "created" in bare).toBe(false);
  });
  test("several candidates, with and without an index", () => {
    expect(decode({ candidates: [{ index: 1 }, { index: 0 }] }).choices.map((choice) => choice.index)).toEqual([1, 0]);
    expect(decode({ candidates: [{}, {}] }).choices.map((choice) => choice.index)).toEqual([0, 1]);
  });
  test("usage: thoughts count as generated, tool prompts as prompt, and the total is the server's", () => {
    const usageMetadata = {
      promptTokenCount: 100,
      toolUsePromptTokenCount: 20,
      candidatesTokenCount: 7,
      thoughtsTokenCount: 30,
      cachedContentTokenCount: 64,
      totalTokenCount: 158,
      serviceTier: "standard",
      promptTokensDetails: [
        { modality: "TEXT", tokenCount: 60 },
        { modality: "AUDIO", tokenCount: 40 },
      ],
    };
    const answer = decode({ candidates: [{}], usageMetadata });
    expect(answer.usage).toEqual({
      prompt_tokens: 120,
      completion_tokens: 37,
      total_tokens: 158,
      prompt_tokens_details: { cached_tokens: 64, audio_tokens: 40 },
      completion_tokens_details: { reasoning_tokens: 30 },
    });
    expect(answer["service_tier"]).toBe("default");
    expect(decode({ candidates: [{}], usageMetadata: { candidatesTokenCount: 5 } }).usage).toMatchObject({
      prompt_tokens: 0,
      completion_tokens: 5,
      total_tokens: 5,
    });
    expect(decode({ candidates: [{}], usageMetadata: { trafficType: "ON_DEMAND" } }).usage).toBeNull();
    expect(decode({ candidates: [{}] }).usage).toBeNull();
  });
  test("log probabilities have OpenAI's form", () => {
    const logprobsResult = {
      chosenCandidates: [{ token: "é", tokenId: 1, logProbability: -0.5 }],
      topCandidates: [
        {
          candidates: [
            { token: "é", logProbability: -0.5 },
            { token: "e", logProbability: -2 },
          ],
        },
      ],
    };
    expect(choiceOf([{ text: "é" }], { logprobsResult }).logprobs).toEqual({
      content: [
        {
          token: "é",
          logprob: -0.5,
          bytes: [195, 169],
          top_logprobs: [
            { token: "é", logprob: -0.5, bytes: [195, 169] },
            { token: "e", logprob: -2, bytes: [101] },
          ],
        },
      ],
      refusal: null,
    });
    expect(
      choiceOf([{ text: "a" }], { logprobsResult: { chosenCandidates: [{ token: "a", logProbability: -1 }] } })
        .logprobs,
    ).toEqual({ content: [{ token: "a", logprob: -1, bytes: [97], top_logprobs: [] }], refusal: null });
  });
  test("sources become annotations, in UTF-16 units where the server counts bytes", () => {
    const groundingMetadata = {
      groundingChunks: [{ other: 1 }, { web: { uri: "https://a.test", title: "A" } }],
      groundingSupports: [
        { segment: { partIndex: 1, startIndex: 0, endIndex: 10 }, groundingChunkIndices: [0, 1] },
        { segment: {}, groundingChunkIndices: [1] },
      ],
    };
    const { message } = choiceOf([{ text: "ä🌦 " }, { text: "über🌦 uns" }], { groundingMetadata });
    expect(message["annotations"]).toEqual([
      { type: "url_citation", url_citation: { start_index: 4, end_index: 11, url: "https://a.test", title: "A" } },
    ]);
    expect(message["extra_content"]).toEqual({ google: { grounding_metadata: groundingMetadata } });
    const urlContextMetadata = {
      urlMetadata: [{ retrievedUrl: "https://a.test", urlRetrievalStatus: "URL_RETRIEVAL_STATUS_ERROR" }],
    };
    expect(choiceOf([{ text: "a" }], { urlContextMetadata }).message["extra_content"]).toEqual({
      google: { url_context_metadata: urlContextMetadata },
    });
    for (const name of ["citationSources", "citations"])
      expect(
        choiceOf([{ text: "0123456789" }], {
          citationMetadata: { [name]: [{ startIndex: 2, endIndex: 400, uri: "https://b.test" }, { endIndex: 3 }] },
        }).message["annotations"],
      ).toEqual([
        {
          type: "url_citation",
          url_citation: { start_index: 2, end_index: 10, url: "https://b.test", title: "https://b.test" },
        },
      ]);
  });
  test("[d8.8] a list of the pieces of an answer is that answer", () => {
    const piece = (parts: Json, more: JsonObject = {}, index = 0): JsonObject => ({
      candidates: [{ content: { role: "model", parts }, index, ...more }],
      usageMetadata: { promptTokenCount: 4, candidatesTokenCount: 2, totalTokenCount: 6 },
      responseId: "r",
    });
    const list = [
      piece([{ text: "Let me see.", thought: true }]),
      piece([{ text: "Two" }]),
      piece([{ text: "Zwei" }], { finishReason: "MAX_TOKENS" }, 1),
      piece([{ text: " calls." }, { functionCall: { name: "f", args: {} } }]),
      {
        ...piece([{ functionCall: { name: "g", args: { a: 1 } } }], { finishReason: "STOP" }),
        usageMetadata: { promptTokenCount: 4, candidatesTokenCount: 9, totalTokenCount: 13 },
      },
    ];
    const { id, choices, usage } = decode(list);
    expect([id, usage?.completion_tokens]).toEqual(["r", 9]);
    expect(choices).toMatchObject([
      {
        index: 0,
        message: {
          content: "Two calls.",
          reasoning_content: "Let me see.",
          tool_calls: [{ function: { name: "f", arguments: "{}" } }, { function: { name: "g", arguments: '{"a":1}' } }],
        },
        finish_reason: "tool_calls",
      },
      { index: 1, message: { content: "Zwei" }, finish_reason: "length" },
    ]);
    expect(() => decode([...list, { error: { code: 503, message: "Busy", status: "UNAVAILABLE" } }])).toThrow(
      StreamError,
    );
    for (const wrong of [[], [list[0]!, 1]]) expect(() => decode(wrong)).toThrow(MalformedAnswer);
  });
  test("an error inside a 200 answer is an error, also in a list", () => {
    const error = { error: { code: 503, message: "The model is overloaded.", status: "UNAVAILABLE" } };
    for (const frame of [error, [error]]) {
      try {
        decode(frame);
        throw new Error("not reached");
      } catch (thrown) {
        expect(thrown).toBeInstanceOf(StreamError);
        expect((thrown as StreamError).failure).toMatchObject({
          class: "overloaded",
          message: "The model is overloaded.",
          nativeCode: "UNAVAILABLE",
        });
      }
    }
  });
  test("an invalid answer is malformed", () => {
    for (const body of ["", "<html>", "[]", "7", "{}", `{"candidates":[]}`, `{"usageMetadata":{}}`])
      expect(() => gemini.decodeResponse(body, context)).toThrow(MalformedAnswer);
  });
});
