// What non-streaming and streamed answers have in common, the frame of a GenerateContentResponse:
// https://ai.google.dev/api/generate-content#v1beta.GenerateContentResponse
import { isObject, type Json, type JsonObject, listIn, objectsIn } from "../../core/json.ts";
import { MalformedAnswer, StreamError } from "../interface/upstream-failure.ts";
import { classifyError, statusOfError } from "./errors.ts";
import type { RenamedFunctions } from "./encode-tools.ts";

/**
 * Reads one response, which may come as a list of its pieces. Throws StreamError for an error, also in such a list, and
 * MalformedAnswer for JSON that is not a response. `value` is what the text is as JSON.
 */
export function readFrame(text: string, value: Json): JsonObject {
  const frames: readonly Json[] = Array.isArray(value) ? (value as readonly Json[]) : [value];
  if (frames.length === 0 || !frames.every(isObject))
    throw new MalformedAnswer("The provider sent JSON that is not a generateContent response.");
  const failed = frames.find(({ error }) => error !== undefined && error !== null);
  if (failed !== undefined)
    throw new StreamError(
      classifyError({
        status: statusOfError(failed) ?? 200,
        body: frames.length === 1 ? text : JSON.stringify(failed),
      }),
    );
  return frames.length === 1 ? frames[0]! : joined(frames);
}

/**
 * A stream that was not asked for as events, or whose server does not know `alt=sse`, is one list of responses:
 * https://ai.google.dev/api/generate-content#method:-models.streamgeneratecontent
 */
function joined(frames: readonly JsonObject[]): JsonObject {
  const all: Record<string, Json> = {};
  const candidates = new Map<Json, { members: JsonObject; readonly parts: Json[] }>();
  for (const frame of frames) {
    for (const name of ["promptFeedback", "usageMetadata", "modelVersion", "responseId", "createTime"])
      if (frame[name] !== undefined) all[name] = frame[name];
    candidatesOf(frame).forEach((candidate, position) => {
      const index = candidate["index"] ?? position;
      const known = candidates.get(index) ?? { members: {}, parts: [] };
      candidates.set(index, known);
      known.members = { ...known.members, ...candidate };
      known.parts.push(...partsOf(candidate));
    });
  }
  return {
    ...all,
    candidates: [...candidates.values()].map(({ members, parts }) => ({ ...members, content: { parts } })),
  };
}

export function candidatesOf(frame: JsonObject): readonly JsonObject[] {
  return objectsIn(frame["candidates"]);
}

/** The reason for which the prompt was refused. `null` when it was not refused. */
export function blockReasonOf(frame: JsonObject): string | null {
  const feedback = frame["promptFeedback"];
  const reason = isObject(feedback) ? feedback["blockReason"] : undefined;
  if (typeof reason === "number") return `BLOCK_REASON_${reason}`;
  return typeof reason === "string" && reason !== "" ? reason : null;
}

/** What Google reports about a refused prompt beside the reason: a message and safety ratings. */
export function refusalNotes(frame: JsonObject): {
  readonly native_finish_message?: string;
  readonly safety_ratings?: Json;
} {
  const feedback = frame["promptFeedback"];
  if (!isObject(feedback)) return {};
  const { blockReasonMessage: message } = feedback;
  return {
    ...(typeof message === "string" && message !== "" && { native_finish_message: message }),
    ...safetyRatings(feedback),
  };
}

/** The safety ratings of an answer or a prompt: https://ai.google.dev/api/generate-content#v1beta.SafetyRating */
export function safetyRatings({ safetyRatings: ratings }: JsonObject): { readonly safety_ratings?: Json } {
  return Array.isArray(ratings) && ratings.length > 0 ? { safety_ratings: ratings as readonly Json[] } : {};
}

export function partsOf(candidate: JsonObject): readonly Json[] {
  const content = candidate["content"];
  const parts = isObject(content) ? content["parts"] : undefined;
  return listIn(parts);
}

/** The audio id contains the answer's id. Anything longer than this is not taken for an id. */
const MAX_ID = 256;

/** `id`, `created` and the model that answered, when the server sends them. */
export function identityOf(frame: JsonObject): {
  readonly id?: string;
  readonly created?: number;
  readonly model?: string;
} {
  const { responseId: id, createTime: time, modelVersion: model } = frame;
  const created = typeof time === "string" ? Math.floor(Date.parse(time) / 1000) : NaN;
  return {
    ...(typeof id === "string" && id !== "" && id.length <= MAX_ID && { id }),
    ...(Number.isSafeInteger(created) && { created }),
    ...(typeof model === "string" && model.length <= MAX_ID && { model }),
  };
}

/** OpenAI's form gives audio an id, and Google sends none. */
export function audioId(answerId: string | undefined, choice: number): string {
  return `audio_${answerId ?? "answer"}_${choice}`;
}

/** The memo of a request is the map of its renamed functions. */
export function renamedOf(memo: unknown): RenamedFunctions {
  return memo instanceof Map ? (memo as ReadonlyMap<string, string>) : null;
}

/** What Google says about the finish in words. */
export function finishMessage(candidate: JsonObject): { readonly native_finish_message?: string } {
  const message = candidate["finishMessage"];
  return typeof message === "string" && message !== "" ? { native_finish_message: message } : {};
}

/** The average log probability of a whole answer: https://ai.google.dev/api/generate-content#candidate */
export function averageLogprobs({ avgLogprobs: average }: JsonObject): { readonly avg_logprobs?: number } {
  return typeof average === "number" ? { avg_logprobs: average } : {};
}
