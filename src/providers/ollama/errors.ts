// Classifies errors of Ollama's API by the status first and then by texts, because there are no codes.
// https://docs.ollama.com/api/errors and the messages in https://github.com/ollama/ollama/blob/main/server/routes.go
import { classOfStatus } from "../answers/error-body.ts";
import { readNamedError, refinedClass, type TextRule } from "../answers/named-error.ts";
import type { ErrorAnswer, UpstreamFailure } from "../interface/upstream-failure.ts";

/** Messages that state more than their status: the server answers many faulty requests with 500. */
const BY_TEXT: readonly TextRule[] = [
  {
    under: ["invalid_request", "server"],
    text: /context (?:length|size|window)|exceeds the available context|(?:prompt|input) (?:is )?too long/i,
    class: "context_length",
  },
  { under: ["invalid_request", "server"], text: /\bmodel\b.{0,300}not found/i, class: "not_found" },
  { under: ["server"], text: /server busy|overloaded/i, class: "overloaded" },
  { under: ["server"], text: /^unauthorized\b/i, class: "authentication" },
  { under: ["server"], text: /does not support (?:tools|thinking|chat|images|vision)/i, class: "invalid_request" },
];

const FIELD = /^(top_logprobs|model|think|format) (?:must|is required)/;

/** Errors of Ollama's cloud have a `StatusCode`. */
export function classifyError(answer: ErrorAnswer): UpstreamFailure {
  const { text, outer } = readNamedError(answer, ({ error, message, detail }) => error ?? message ?? detail, [
    "message",
    "detail",
  ]);
  const code = outer["StatusCode"];
  const reported = typeof code === "number" && code >= 400 && code < 600 ? code : 500;
  const first = classOfStatus(answer.status === 200 ? reported : answer.status);
  return {
    class: refinedClass(first, text, BY_TEXT),
    message: text,
    param: FIELD.exec(text)?.[1] ?? null,
    nativeCode: null,
  };
}
