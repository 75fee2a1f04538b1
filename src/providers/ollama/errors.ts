// Classifies errors of Ollama's API by the status first and then by texts, because there are no codes.
// https://docs.ollama.com/api/errors and the messages in https://github.com/ollama/ollama/blob/main/server/routes.go
import { isObject, type Json } from "../../core/json.ts";
import { classOfStatus, describeErrorBody, filled, JUDGED_CHARACTERS, readErrorJson } from "../answers/error-body.ts";
import type { ErrorAnswer, FailureClass, UpstreamFailure } from "../upstream-failure.ts";

/** Messages that state more than their status: the server answers many faulty requests with 500. */
const BY_TEXT: readonly {
  readonly under: readonly FailureClass[];
  readonly text: RegExp;
  readonly class: FailureClass;
}[] = [
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

/** Accepts any body and never throws. */
export function classifyError({ status, body }: ErrorAnswer): UpstreamFailure {
  const { message, status: reported } = readError(body);
  const text = (message ?? describeErrorBody(status, body)).slice(0, JUDGED_CHARACTERS);
  const first = classOfStatus(status === 200 ? (reported ?? 500) : status);
  const refined = BY_TEXT.find((rule) => rule.under.includes(first) && rule.text.test(text));
  return { class: refined?.class ?? first, message: text, param: FIELD.exec(text)?.[1] ?? null, nativeCode: null };
}

/**
 * Errors of Ollama's cloud have a `StatusCode`. Proxies in front of the server have other forms: a bare string,
 * `message`, `detail`, a list with one error.
 */
function readError(body: string): { readonly message: string | null; readonly status: number | null } {
  const value = readErrorJson(body);
  const outer: Json | undefined = Array.isArray(value) ? (value as readonly Json[])[0] : value;
  const code = isObject(outer) ? outer["StatusCode"] : undefined;
  const status = typeof code === "number" && code >= 400 && code < 600 ? code : null;
  const inner = isObject(outer) ? (outer["error"] ?? outer["message"] ?? outer["detail"] ?? outer) : outer;
  if (typeof inner === "string") return { message: filled(inner), status };
  return { message: isObject(inner) ? (filled(inner["message"]) ?? filled(inner["detail"])) : null, status };
}
