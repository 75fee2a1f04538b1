// What the sandbox reads from a request: everything that its answer is made from, bounded however long the request is.
// It is pure, so that the thread of long bodies can do it.
import { answerOf, promptTokens, type SandboxAnswer, type SandboxRequest } from "./answers.ts";

export interface SandboxReading {
  readonly model: string;
  readonly isStreamed: boolean;
  readonly choices: number;
  /** The tokens of the whole conversation. */
  readonly promptTokens: number;
  /** The answer, or the reason why there is none. */
  readonly result: { readonly answer: SandboxAnswer } | { readonly refusal: SandboxRefusal };
}

/** The content of an error body in OpenAI's form. */
export interface SandboxRefusal {
  readonly status: number;
  readonly message: string;
  readonly type: "invalid_request_error";
  readonly param: string;
  readonly code: string | null;
}

const MODELS = /^(?:echo|assistant|agent|tools|json|stall|cut|garbage|words-\d{1,6}|slow-\d{1,6}|fail-\d{1,6})$/;
/** OpenAI's bound: https://platform.openai.com/docs/api-reference/chat/create#chat-create-stop */
const MAX_STOPS = 4;

/** `body` is the request as it was encoded for the sandbox. */
export function readingOf(body: string): SandboxReading {
  const request = JSON.parse(body) as SandboxRequest;
  const refusal = refusalOf(request);
  return {
    model: request.model,
    isStreamed: request.stream === true,
    choices: request.n ?? 1,
    promptTokens: promptTokens(request.messages),
    result: refusal === null ? { answer: answerOf(request) } : { refusal },
  };
}

export function refusalOf({ model, stop }: Pick<SandboxRequest, "model" | "stop">): SandboxRefusal | null {
  const type = "invalid_request_error";
  if (!MODELS.test(model))
    return {
      status: 404,
      message: `The sandbox has no model ${JSON.stringify(model)}.`,
      type,
      param: "model",
      code: "model_not_found",
    };
  if (Array.isArray(stop) && stop.length > MAX_STOPS)
    return {
      status: 400,
      message: `stop may have at most ${MAX_STOPS} sequences; got ${stop.length}.`,
      type,
      param: "stop",
      code: null,
    };
  return null;
}
