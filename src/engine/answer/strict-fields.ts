// What the schema of an answer requires of single fields, whatever the provider sent (promises 8.6 to 8.8): ids, times,
// finish reasons, log probabilities, service tiers. Non-streaming and streamed answers use the same functions.
import type { FinishReason } from "../../core/chat.ts";
import { isObject, type Json, type JsonObject } from "../../core/json.ts";

/** What an answer states about its call; it is the same in a non-streaming answer and in every chunk. */
export interface AnswerFrame {
  readonly traceId: string;
  /** `<provider>:<model_name>` of the target that answered. */
  readonly model: string;
  readonly route: string;
  readonly nowSeconds: number;
  readonly sameShape: boolean;
  readonly legacyFunctions: boolean;
  /** The number of choices that were requested. */
  readonly choices: number;
  /** The least number of choices of a complete answer. */
  readonly leastChoices: number;
  /** Every call of a choice but the first is left out. */
  readonly firstCallAlone?: true;
  /** The answer was given before, or to another call, so that it gets an id of its own (promise 13.5). */
  readonly isRepeated: boolean;
}

/** A longer text is not used as an id, because every event of a stream begins with it. */
const MAX_ID = 256;

export function answerId(
  id: Json | undefined,
  { traceId, isRepeated }: Pick<AnswerFrame, "traceId" | "isRepeated">,
): string {
  return typeof id === "string" && id !== "" && id.length <= MAX_ID && !isRepeated ? id : `chatcmpl-${traceId}`;
}

/** Returns Unix seconds; some vendors send milliseconds, fractions or nothing. */
export function answerTime(created: Json | undefined, nowSeconds: number): number {
  if (typeof created !== "number" || !(created > 0)) return nowSeconds;
  return Math.floor(created > 1e11 ? created / 1000 : created);
}

export const SERVICE_TIERS: ReadonlySet<unknown> = new Set(["auto", "default", "flex", "scale", "priority", "fast"]);

/**
 * Where the API is translated, an answer with tool calls that ended normally gets the reason `tool_calls`; an answer of
 * the same shape keeps the provider's reason.
 */
export function strictFinishReason(reason: FinishReason, hasToolCalls: boolean, sameShape: boolean): FinishReason {
  return !sameShape && reason === "stop" && hasToolCalls ? "tool_calls" : reason;
}

/** The reason of a whole answer whose provider says none (docs/clients.md, S13). */
export function unsaidFinish(hasToolCalls: boolean): FinishReason {
  return hasToolCalls ? "tool_calls" : "stop";
}

/**
 * Returns false for top-level fields of an answer or chunk that the gateway writes itself or that must not be sent as
 * they came. Null is left out, because it carries no information.
 */
export function isVendorField(name: string, value: Json | undefined): boolean {
  switch (name) {
    case "id":
    case "object":
    case "created":
    case "model":
    case "choices":
    case "usage":
    case "route":
    case "x_gateway_trace_id":
    case "error":
      return false;
    case "service_tier":
      return SERVICE_TIERS.has(value);
    case "system_fingerprint":
      return typeof value === "string";
    default:
      return value !== null && value !== undefined;
  }
}

/**
 * Returns `content` and `refusal` with complete entries, and the log probabilities of reasoning in the same form
 * (DeepSeek's `reasoning_content`). Other members are left out, because clients validate the object. Returns `null` for
 * any other value.
 */
export function strictLogprobs(logprobs: JsonObject | null | undefined): JsonObject | null {
  if (!isObject(logprobs)) return null;
  const { content, refusal, reasoning_content: reasoning } = logprobs;
  if (!Array.isArray(content) && !Array.isArray(refusal) && !Array.isArray(reasoning)) return null;
  return {
    content: strictEntries(content),
    refusal: strictEntries(refusal),
    ...(Array.isArray(reasoning) && { reasoning_content: strictEntries(reasoning) }),
  };
}

function strictEntries(entries: Json | undefined): Json {
  if (!Array.isArray(entries)) return null;
  return (entries as readonly Json[]).filter(isObject).map((entry) => ({
    ...strictToken(entry),
    top_logprobs: Array.isArray(entry["top_logprobs"])
      ? (entry["top_logprobs"] as readonly Json[]).filter(isObject).map(strictToken)
      : [],
  }));
}

function strictToken(entry: JsonObject): JsonObject {
  return {
    token: typeof entry["token"] === "string" ? entry["token"] : "",
    logprob: typeof entry["logprob"] === "number" ? entry["logprob"] : -9999,
    bytes: Array.isArray(entry["bytes"]) ? entry["bytes"] : null,
  };
}

/** Returns the annotations that clients know: url citations with all their fields. */
export function strictAnnotations(annotations: Json | undefined): readonly Json[] | null {
  if (!Array.isArray(annotations)) return null;
  const kept = (annotations as readonly Json[]).filter((annotation) => {
    const citation = isObject(annotation) && annotation["type"] === "url_citation" ? annotation["url_citation"] : null;
    return (
      isObject(citation) &&
      typeof citation["url"] === "string" &&
      typeof citation["title"] === "string" &&
      typeof citation["start_index"] === "number" &&
      typeof citation["end_index"] === "number"
    );
  });
  return kept.length > 0 ? kept.map((annotation) => withUri(annotation as JsonObject)) : null;
}

/** Moves citations to where the text that they are about stands in the text that the client gets. */
export function movedCitations(
  annotations: readonly Json[],
  moved: (position: number, side: "start" | "end") => number,
): readonly Json[] {
  return annotations.map((annotation) => {
    const citation = isObject(annotation) ? annotation["url_citation"] : null;
    if (!isObject(citation)) return annotation;
    const { start_index: from, end_index: to } = citation;
    if (typeof from !== "number" || typeof to !== "number") return annotation;
    return {
      ...(annotation as JsonObject),
      url_citation: { ...citation, start_index: moved(from, "start"), end_index: moved(to, "end") },
    };
  });
}

function withUri(annotation: JsonObject): JsonObject {
  const citation = annotation["url_citation"] as JsonObject;
  const url = asUri(citation["url"] as string);
  return url === citation["url"] ? annotation : { ...annotation, url_citation: { ...citation, url } };
}

/** Escapes what a URI cannot contain, because some addresses have spaces or letters of other scripts. */
function asUri(text: string): string {
  return text.toWellFormed().replaceAll(/[^\x21-\x7e]|["<>\\^`{|}]/gu, encodeURIComponent);
}
