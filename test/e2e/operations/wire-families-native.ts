// Two more forms, scripted: Cohere's chat API, version 2, and Ollama's own with its lines of JSON.
// https://docs.cohere.com/reference/chat, https://docs.cohere.com/v2/docs/streaming, https://docs.ollama.com/api/chat
import type { ScriptedAnswer, ScriptedChoice } from "./scripted-answers.ts";
import { data, joined, told, type WireFamily } from "./wire-family.ts";

// --- Cohere

/** The last word is of version 1, which deployments of one's own may still say: version 2 has none for what was withheld. */
const COHERE_FINISH = {
  stop: "COMPLETE",
  length: "MAX_TOKENS",
  tool_calls: "TOOL_CALL",
  content_filter: "ERROR_TOXIC",
} as const;

function cohereUsage({ usage: { prompt, completion, reasoning } }: ScriptedAnswer): object {
  return {
    billed_units: { input_tokens: prompt, output_tokens: completion },
    tokens: {
      input_tokens: prompt,
      output_tokens: completion,
      ...(reasoning !== undefined && { reasoning_tokens: reasoning }),
    },
  };
}

function cohereMessage({ reasoning, text, calls }: ScriptedChoice): object {
  const content = [
    ...(reasoning ? [{ type: "thinking", thinking: joined(reasoning) }] : []),
    ...(text ? [{ type: "text", text: joined(text) }] : []),
  ];
  const tool_calls = calls?.map(({ id, name, input }) => ({
    id,
    type: "function",
    function: { name, arguments: JSON.stringify(input) },
  }));
  return { role: "assistant", ...(content.length > 0 && { content }), ...(tool_calls && { tool_calls }) };
}

const cohereEvent = (type: string, rest: object): string => `event: ${type}\n${data({ type, ...rest })}`;

function cohereBlock(index: number, type: "thinking" | "text", pieces: readonly string[]): string {
  const deltas = pieces.map((piece) =>
    cohereEvent("content-delta", { index, delta: { message: { content: { [type]: piece } } } }),
  );
  return (
    cohereEvent("content-start", { index, delta: { message: { content: { type, [type]: "" } } } }) +
    deltas.join("") +
    cohereEvent("content-end", { index })
  );
}

/** A call without arguments has no delta. */
function cohereCalls({ calls = [] }: ScriptedChoice): string {
  return calls
    .map(({ id, name, input }, index) => {
      const pieces = Object.keys(input).length === 0 ? [] : (JSON.stringify(input).match(/.{1,5}/g) ?? []);
      const deltas = pieces.map((piece) =>
        cohereEvent("tool-call-delta", {
          index,
          delta: { message: { tool_calls: { function: { arguments: piece } } } },
        }),
      );
      return (
        cohereEvent("tool-call-start", {
          index,
          delta: { message: { tool_calls: { id, type: "function", function: { name, arguments: "" } } } },
        }) +
        deltas.join("") +
        cohereEvent("tool-call-end", { index })
      );
    })
    .join("");
}

export const cohere: WireFamily = {
  whole: (answer) => ({
    id: "cohere-scripted",
    message: cohereMessage(answer.choices[0]!),
    finish_reason: COHERE_FINISH[answer.choices[0]!.finish],
    usage: cohereUsage(answer),
  }),
  stream(answer) {
    const choice = answer.choices[0]!;
    const { reasoning, text, finish } = choice;
    const thought = reasoning ? cohereBlock(0, "thinking", reasoning) : "";
    const said = text ? cohereBlock(reasoning ? 1 : 0, "text", text) : "";
    const content =
      cohereEvent("message-start", {
        id: "cohere-scripted",
        delta: { message: { role: "assistant", content: [], tool_plan: "", tool_calls: [], citations: [] } },
      }) +
      thought +
      said +
      cohereCalls(choice);
    return answer.afterwards === undefined
      ? `${content}${cohereEvent("message-end", { delta: { finish_reason: COHERE_FINISH[finish], usage: cohereUsage(answer) } })}data: [DONE]\n\n`
      : content;
  },
  errorEvent: cohereEvent("message-end", { delta: { finish_reason: "ERROR", error: "The engine stopped." } }),
  failures: {
    context: told(400, {
      id: "scripted",
      message:
        "too many tokens: size limit exceeded by 4000 tokens. Try using shorter or fewer inputs, or setting prompt_truncation='AUTO'.",
    }),
    "rate-limit": told(
      429,
      { id: "scripted", message: "You are past the per minute request limit, please wait and try again later." },
      { "retry-after": "0.02" },
    ),
    "not-found": told(404, {
      id: "scripted",
      message: "model 'gone' not found, make sure the correct model ID was used and that you have access to the model.",
    }),
    "refused-key": told(401, { id: "scripted", message: "invalid api token" }),
    server: told(500, { id: "scripted", message: "internal server error" }),
    overloaded: told(503, { id: "scripted", message: "The service is overloaded, please try again later." }),
    invalid: told(400, { id: "scripted", message: "invalid request: temperature must be even: the sum is odd" }),
  },
};

// --- Ollama

const OLLAMA_FRAME = { model: "qwen3:8b", created_at: "2025-12-29T09:20:00.123456789Z" } as const;
/** Nanoseconds. */
export const OLLAMA_TIMES = {
  total_duration: 900_000_007,
  load_duration: 100_000_001,
  prompt_eval_duration: 300_000_002,
  eval_duration: 500_000_004,
} as const;

const ollamaEnd = ({ choices, usage }: ScriptedAnswer): object => ({
  done: true,
  done_reason: choices[0]!.finish === "length" ? "length" : "stop",
  ...OLLAMA_TIMES,
  prompt_eval_count: usage.prompt,
  eval_count: usage.completion,
});
const ollamaCalls = ({ calls }: ScriptedChoice): readonly object[] | undefined =>
  calls?.map(({ id, name, input }, index) => ({ id, function: { index, name, arguments: input } }));
const line = (value: object): string => `${JSON.stringify(value)}\n`;

export const ollama: WireFamily = {
  whole(answer) {
    const choice = answer.choices[0]!;
    const tool_calls = ollamaCalls(choice);
    const message = {
      role: "assistant",
      content: joined(choice.text),
      ...(choice.reasoning && { thinking: joined(choice.reasoning) }),
      ...(tool_calls && { tool_calls }),
    };
    return { ...OLLAMA_FRAME, message, ...ollamaEnd(answer) };
  },
  stream(answer) {
    const choice = answer.choices[0]!;
    const tool_calls = ollamaCalls(choice);
    const messages = [
      ...(choice.reasoning ?? []).map((thinking) => ({ content: "", thinking })),
      ...(choice.text ?? []).map((content) => ({ content })),
      ...(tool_calls ? [{ content: "", tool_calls }] : []),
    ];
    const content = messages
      .map((message) => line({ ...OLLAMA_FRAME, message: { role: "assistant", ...message }, done: false }))
      .join("");
    return answer.afterwards === undefined
      ? content + line({ ...OLLAMA_FRAME, message: { role: "assistant", content: "" }, ...ollamaEnd(answer) })
      : content;
  },
  contentType: "application/x-ndjson",
  errorEvent: line({ error: "The engine stopped." }),
  failures: {
    context: told(400, { error: "the input length exceeds the context length" }),
    "rate-limit": told(429, { error: "you have reached your hourly usage limit" }, { "retry-after": "0.02" }),
    "not-found": told(404, { error: "model 'gone' not found" }),
    "refused-key": told(401, { error: "unauthorized" }),
    server: told(500, { error: "llama runner process has terminated: error loading model" }),
    overloaded: told(503, { error: "server overloaded, please try again. maximum pending requests exceeded" }),
    invalid: told(400, { error: "invalid option temperature: the sum is odd" }),
  },
};
