// Three wire families as a provider speaks them: a scripted answer in the vendor's own non-streaming and streamed form,
// and its errors in its own wording. https://platform.openai.com/docs/api-reference/chat,
// https://platform.claude.com/docs/en/api/messages, https://ai.google.dev/api/generate-content
import type { ScriptedAnswer, ScriptedChoice } from "./scripted-answers.ts";
import { data, joined, told, type WireFamily } from "./wire-family.ts";

// --- OpenAI's form

const OPENAI_FRAME = {
  id: "chatcmpl-scripted",
  created: 1_767_000_000,
  model: "scripted-model",
  system_fingerprint: "fp_scripted",
};

function openaiUsage({ usage }: ScriptedAnswer): object {
  const { prompt, completion, reasoning } = usage;
  return {
    prompt_tokens: prompt,
    completion_tokens: completion,
    total_tokens: prompt + completion,
    ...(reasoning !== undefined && { completion_tokens_details: { reasoning_tokens: reasoning } }),
  };
}

function openaiMessage({ reasoning, text, calls }: ScriptedChoice): object {
  const tool_calls = calls?.map(({ id, name, input }) => ({
    id,
    type: "function",
    function: { name, arguments: JSON.stringify(input) },
  }));
  return {
    role: "assistant",
    content: text === undefined ? null : joined(text),
    refusal: null,
    ...(reasoning && { reasoning_content: joined(reasoning) }),
    ...(tool_calls && { tool_calls }),
  };
}

function openaiDeltas({ reasoning, text, calls }: ScriptedChoice): readonly object[] {
  return [
    { role: "assistant", content: "", refusal: null },
    ...(reasoning ?? []).map((piece) => ({ reasoning_content: piece })),
    ...(text ?? []).map((content) => ({ content })),
    ...(calls ?? []).flatMap(({ id, name, input }, index) => [
      { tool_calls: [{ index, id, type: "function", function: { name, arguments: "" } }] },
      ...(JSON.stringify(input).match(/.{1,5}/g) ?? []).map((piece) => ({
        tool_calls: [{ index, function: { arguments: piece } }],
      })),
    ]),
  ];
}

export const openaiError = (
  message: string,
  type: string,
  code: string | null = null,
  param: string | null = null,
): object => ({ error: { message, type, param, code } });

export const openai: WireFamily = {
  whole: (answer) => ({
    ...OPENAI_FRAME,
    object: "chat.completion",
    choices: answer.choices.map((choice, index) => ({
      index,
      message: openaiMessage(choice),
      logprobs: null,
      finish_reason: choice.finish,
    })),
    usage: openaiUsage(answer),
  }),
  stream(answer) {
    const chunk = (choices: readonly object[], usage: object | null = null): string =>
      data({ ...OPENAI_FRAME, object: "chat.completion.chunk", choices, usage });
    const deltas = answer.choices.map(openaiDeltas);
    // several choices grow side by side
    const turns = Array.from({ length: Math.max(...deltas.map((list) => list.length)) }, (_, at) =>
      deltas.map((list) => list[at]),
    );
    const content = turns
      .map((turn) =>
        turn
          .map((delta, index) =>
            delta === undefined ? "" : chunk([{ index, delta, logprobs: null, finish_reason: null }]),
          )
          .join(""),
      )
      .join("");
    if (answer.afterwards !== undefined) return content;
    return `${content}${answer.choices.map(({ finish }, index) => chunk([{ index, delta: {}, logprobs: null, finish_reason: finish }])).join("")}${chunk([], openaiUsage(answer))}data: [DONE]\n\n`;
  },
  errorEvent: data(openaiError("The engine stopped.", "server_error")),
  failures: {
    context: told(
      400,
      openaiError(
        "This model's maximum context length is 8192 tokens. However, your messages resulted in 9000 tokens.",
        "invalid_request_error",
        "context_length_exceeded",
        "messages",
      ),
    ),
    "rate-limit": told(429, openaiError("Rate limit reached for requests.", "requests", "rate_limit_exceeded"), {
      "retry-after-ms": "20",
    }),
    "not-found": told(
      404,
      openaiError(
        "The model `gone` does not exist or you do not have access to it.",
        "invalid_request_error",
        "model_not_found",
      ),
    ),
    "refused-key": told(
      401,
      openaiError("Incorrect API key provided: sk-scripted.", "invalid_request_error", "invalid_api_key"),
    ),
    server: told(500, openaiError("The server had an error while processing your request.", "server_error")),
    overloaded: told(503, openaiError("The engine is currently overloaded, please try again later.", "server_error")),
    invalid: told(
      400,
      openaiError("Invalid 'temperature': the sum is odd.", "invalid_request_error", "invalid_value", "temperature"),
    ),
  },
};

// --- Anthropic's form

const STOP_REASONS = {
  stop: "end_turn",
  length: "max_tokens",
  tool_calls: "tool_use",
  content_filter: "refusal",
} as const;
/** The tool by which the gateway asks models without a JSON mode for JSON. */
export const EMULATED_JSON_TOOL = "respond_with_json";

const isForcedJson = (request: Readonly<Record<string, any>>): boolean =>
  request["tool_choice"]?.name === EMULATED_JSON_TOOL;

/** A request that forces the tool by which JSON mode is emulated gets its text as that tool's input, as the real one does; nothing of it where it was cut off. */
function anthropicBlocks(
  { reasoning, text, calls, finish }: ScriptedChoice,
  request: Readonly<Record<string, any>>,
): readonly Readonly<Record<string, any>>[] {
  if (isForcedJson(request))
    return [
      {
        type: "tool_use",
        id: "toolu_json",
        name: EMULATED_JSON_TOOL,
        input: finish === "stop" ? (JSON.parse(joined(text)) as object) : {},
      },
    ];
  return [
    ...(reasoning ? [{ type: "thinking", thinking: joined(reasoning), signature: "c2lnbmVk" }] : []),
    ...(text ? [{ type: "text", text: joined(text) }] : []),
    ...(calls ?? []).map(({ id, name, input }) => ({ type: "tool_use", id, name, input })),
  ];
}

function anthropicReason({ finish }: ScriptedChoice, request: Readonly<Record<string, any>>): string {
  return finish === "stop" && isForcedJson(request) ? "tool_use" : STOP_REASONS[finish];
}

function anthropicDeltas(block: Readonly<Record<string, any>>): readonly object[] {
  const split = (text: string): readonly string[] => text.match(/[\s\S]{1,6}/gu) ?? [];
  switch (block["type"]) {
    case "thinking":
      return [
        ...split(block["thinking"]).map((thinking) => ({ type: "thinking_delta", thinking })),
        { type: "signature_delta", signature: block["signature"] },
      ];
    case "tool_use":
      return ["", ...split(JSON.stringify(block["input"]))].map((partial_json) => ({
        type: "input_json_delta",
        partial_json,
      }));
    default:
      return split(block["text"]).map((text) => ({ type: "text_delta", text }));
  }
}

const anthropicStart = (block: Readonly<Record<string, any>>): object =>
  block["type"] === "thinking"
    ? { type: "thinking", thinking: "", signature: "" }
    : block["type"] === "text"
      ? { type: "text", text: "" }
      : { ...block, input: {} };

const anthropicError = (type: string, message: string): object => ({
  type: "error",
  error: { type, message },
  request_id: "req_scripted",
});

export const anthropic: WireFamily = {
  whole(answer, request) {
    const [choice] = answer.choices;
    const content = anthropicBlocks(choice!, request);
    return {
      id: "msg_scripted",
      type: "message",
      role: "assistant",
      model: "scripted-model",
      content,
      stop_reason: anthropicReason(choice!, request),
      stop_sequence: null,
      usage: { input_tokens: answer.usage.prompt, output_tokens: answer.usage.completion },
    };
  },
  stream(answer, request) {
    const event = (type: string, rest: object): string => `event: ${type}\n${data({ type, ...rest })}`;
    const [choice] = answer.choices;
    const blocks = anthropicBlocks(choice!, request);
    const start = {
      id: "msg_scripted",
      type: "message",
      role: "assistant",
      model: "scripted-model",
      content: [],
      stop_reason: null,
      stop_sequence: null,
      usage: { input_tokens: answer.usage.prompt, output_tokens: 1 },
    };
    const content = blocks.map(
      (block, index) =>
        event("content_block_start", { index, content_block: anthropicStart(block) }) +
        anthropicDeltas(block)
          .map((delta) => event("content_block_delta", { index, delta }))
          .join("") +
        event("content_block_stop", { index }),
    );
    const begun = event("message_start", { message: start }) + event("ping", {}) + content.join("");
    if (answer.afterwards !== undefined) return begun;
    return (
      begun +
      event("message_delta", {
        delta: { stop_reason: anthropicReason(choice!, request), stop_sequence: null },
        usage: { output_tokens: answer.usage.completion },
      }) +
      event("message_stop", {})
    );
  },
  errorEvent: `event: error\n${data(anthropicError("api_error", "The engine stopped."))}`,
  failures: {
    context: told(400, anthropicError("invalid_request_error", "prompt is too long: 250000 tokens > 200000 maximum")),
    "rate-limit": told(
      429,
      anthropicError("rate_limit_error", "This request would exceed your organization's rate limit."),
      { "retry-after": "0.02" },
    ),
    "not-found": told(404, anthropicError("not_found_error", "model: gone")),
    "refused-key": told(401, anthropicError("authentication_error", "invalid x-api-key")),
    server: told(500, anthropicError("api_error", "Internal server error")),
    overloaded: told(529, anthropicError("overloaded_error", "Overloaded")),
    invalid: told(400, anthropicError("invalid_request_error", "temperature: the sum is odd")),
  },
};

// --- Gemini's form

const FINISH_REASONS = { stop: "STOP", length: "MAX_TOKENS", tool_calls: "STOP", content_filter: "SAFETY" } as const;

function geminiParts({ reasoning, text, calls }: ScriptedChoice): readonly object[] {
  return [
    ...(reasoning ?? []).map((piece) => ({ text: piece, thought: true })),
    ...(text ?? []).map((piece) => ({ text: piece })),
    ...(calls ?? []).map(({ name, input }) => ({ functionCall: { name, args: input } })),
  ];
}

function geminiUsage({ usage }: ScriptedAnswer): object {
  const { prompt, completion, reasoning = 0 } = usage;
  return {
    promptTokenCount: prompt,
    candidatesTokenCount: completion - reasoning,
    ...(reasoning > 0 && { thoughtsTokenCount: reasoning }),
    totalTokenCount: prompt + completion,
  };
}

export const geminiError = (code: number, status: string, message: string): object => ({
  error: { code, message, status },
});

export const gemini: WireFamily = {
  whole: (answer) => ({
    candidates: answer.choices.map((choice, index) => ({
      content: { parts: geminiParts(choice), role: "model" },
      finishReason: FINISH_REASONS[choice.finish],
      index,
    })),
    usageMetadata: geminiUsage(answer),
    modelVersion: "scripted-model",
    responseId: "scripted",
  }),
  stream(answer) {
    const event = (candidate: object, usageMetadata: object): string =>
      `data: ${JSON.stringify({ candidates: [candidate], usageMetadata, modelVersion: "scripted-model", responseId: "scripted" })}\r\n\r\n`;
    const events = answer.choices.flatMap((choice, index) => {
      const parts = geminiParts(choice);
      const isLast = (at: number): boolean => at === parts.length - 1 && answer.afterwards === undefined;
      return parts.map((part, at) =>
        event(
          {
            content: { parts: [part], role: "model" },
            ...(isLast(at) && { finishReason: FINISH_REASONS[choice.finish] }),
            index,
          },
          geminiUsage(answer),
        ),
      );
    });
    return events.join("");
  },
  errorEvent: data(geminiError(500, "INTERNAL", "The engine stopped.")),
  failures: {
    context: told(
      400,
      geminiError(
        400,
        "INVALID_ARGUMENT",
        "The input token count (1100000) exceeds the maximum number of tokens allowed (1048576).",
      ),
    ),
    "rate-limit": told(429, geminiError(429, "RESOURCE_EXHAUSTED", "Resource has been exhausted (e.g. check quota)."), {
      "retry-after": "0.02",
    }),
    "not-found": told(404, geminiError(404, "NOT_FOUND", "models/gone is not found for API version v1beta.")),
    "refused-key": told(400, geminiError(400, "INVALID_ARGUMENT", "API key not valid. Please pass a valid API key.")),
    server: told(500, geminiError(500, "INTERNAL", "An internal error has occurred.")),
    overloaded: told(503, geminiError(503, "UNAVAILABLE", "The model is overloaded. Please try again later.")),
    invalid: told(
      400,
      geminiError(400, "INVALID_ARGUMENT", "Invalid value at 'generation_config.temperature': the sum is odd"),
    ),
  },
};
