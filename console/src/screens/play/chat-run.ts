// One call of the playground: what came back, when, and the answer put together from it.
import type { Json, JsonObject } from "./play-request.ts";

export interface RunEvent {
  /** Since the request was sent. */
  readonly atMs: number;
  /** The text behind `data:`. */
  readonly data: string;
}

export interface ToolCallText {
  /** As the answer counts its calls; numbers may be left out. */
  readonly index: number;
  readonly id: string | null;
  readonly name: string;
  readonly arguments: string;
}

export interface Answer {
  readonly text: string;
  readonly reasoning: string;
  readonly toolCalls: readonly ToolCallText[];
  readonly finishReason: string | null;
  readonly usage: JsonObject | null;
  /** Of an error that ended the answer, or that came in place of one. */
  readonly error: { readonly message: string; readonly code: string | null; readonly param: string | null } | null;
}

export interface Run {
  readonly state: "running" | "ended" | "stopped" | "failed";
  /** What was sent; a fault or another target may have changed what the editor says. */
  readonly sent: JsonObject;
  readonly status: number | null;
  readonly headers: readonly (readonly [string, string])[];
  readonly traceId: string | null;
  readonly events: readonly RunEvent[];
  readonly answer: Answer;
  readonly headMs: number | null;
  readonly firstTokenMs: number | null;
  readonly totalMs: number | null;
  /** Why there is no complete response. */
  readonly failure: string | null;
}

export const NO_ANSWER: Answer = {
  text: "",
  reasoning: "",
  toolCalls: [],
  finishReason: null,
  usage: null,
  error: null,
};

const object = (value: unknown): JsonObject =>
  typeof value === "object" && value !== null && !Array.isArray(value) ? (value as JsonObject) : {};
const word = (value: unknown): string | null => (typeof value === "string" ? value : null);

/** The data of the last event of a stream that is whole. */
export const END = "[DONE]";

/** The answer after one more event, or after a whole body, of which the first choice is shown. */
export function withData(answer: Answer, data: string): Answer {
  if (data === END) return answer;
  let value: JsonObject;
  try {
    value = object(JSON.parse(data));
  } catch {
    return answer;
  }
  const error = value["error"] === undefined ? null : object(value["error"]);
  const choices = Array.isArray(value["choices"]) ? value["choices"] : [];
  const choice = object(choices.find((one: unknown) => (object(one)["index"] ?? 0) === 0));
  const part = object(choice["delta"] ?? choice["message"]);
  return {
    text: answer.text + (word(part["content"]) ?? word(part["refusal"]) ?? ""),
    reasoning: answer.reasoning + (word(part["reasoning_content"]) ?? word(part["reasoning"]) ?? ""),
    toolCalls: withToolCalls(answer.toolCalls, part["tool_calls"]),
    finishReason: word(choice["finish_reason"]) ?? answer.finishReason,
    usage: value["usage"] == null ? answer.usage : object(value["usage"]),
    error:
      error === null
        ? answer.error
        : {
            message: word(error["message"]) ?? "The gateway sent an error without a message.",
            code: word(error["code"]),
            param: word(error["param"]),
          },
  };
}

function withToolCalls(calls: readonly ToolCallText[], parts: Json | undefined): readonly ToolCallText[] {
  if (!Array.isArray(parts)) return calls;
  const next = [...calls];
  for (const [position, part] of (parts as readonly Json[]).entries()) {
    const { index, id, function: called } = object(part);
    const at = typeof index === "number" ? index : position;
    const known = next.findIndex((call) => call.index === at);
    const before = next[known] ?? { id: null, name: "", arguments: "" };
    next[known < 0 ? next.length : known] = {
      index: at,
      id: word(id) ?? before.id,
      name: before.name + (word(object(called)["name"]) ?? ""),
      arguments: before.arguments + (word(object(called)["arguments"]) ?? ""),
    };
  }
  return next;
}

/** Tokens per second between the first and the last token; null where that is no measure. */
export function tokensPerSecond({ firstTokenMs, totalMs, answer }: Run): number | null {
  const tokens = answer.usage?.["completion_tokens"];
  if (firstTokenMs === null || totalMs === null || typeof tokens !== "number" || tokens < 2) return null;
  const seconds = (totalMs - firstTokenMs) / 1000;
  return seconds < 0.05 ? null : (tokens - 1) / seconds;
}
