// Embeddings, rerank and moderations of the sandbox: the same text always has the same vector, and texts with words in common are near to each
// other, so that a search can be tried. Each word adds to a few entries that its hash chooses.
import { isObject, type Json } from "../../core/json.ts";
import { countWords } from "./words.ts";

/** `embed-<length>`: the length of vectors where the request does not say. */
const MODEL = /^embed-(\d{1,4})$/;
const MAX_LENGTH = 4096;
/** The most numbers of all vectors of an answer together. */
const MAX_NUMBERS = 1_000_000;
const ENTRIES_PER_WORD = 4;

export interface SandboxEmbeddings {
  readonly status: 200 | 400 | 404;
  readonly body: object;
}

/** `body` is a request in OpenAI's form, as the gateway has made it. */
export function embeddingsOf(body: string): SandboxEmbeddings {
  const { model, input, dimensions, encoding_format: format } = JSON.parse(body) as Readonly<Record<string, Json>>;
  const named = Number(typeof model === "string" ? MODEL.exec(model)?.[1] : undefined);
  if (!isLength(named))
    return refusal(
      `The sandbox has no model ${JSON.stringify(model)} for embeddings; there are embed-1 to embed-${MAX_LENGTH}.`,
    );
  const length = typeof dimensions === "number" ? dimensions : named;
  if (!isLength(length))
    return invalid("dimensions", `dimensions must be a whole number from 1 to ${MAX_LENGTH}; got ${length}.`);
  const inputs = Array.isArray(input) && typeof input[0] !== "number" ? (input as readonly Json[]) : [input];
  if (inputs.length * length > MAX_NUMBERS)
    return invalid(
      "input",
      `The vectors of a request may have at most ${MAX_NUMBERS} numbers together; got ${inputs.length} texts with vectors of ${length}. Send fewer texts, or ask for fewer dimensions.`,
    );
  const texts = inputs.map(textOf);
  const vectors = texts.map((text) => vectorOf(text, length));
  const tokens = texts.reduce((sum, text) => sum + Math.max(1, countWords(text).words), 0);
  return {
    status: 200,
    body: {
      object: "list",
      data: vectors.map((vector, index) => ({
        object: "embedding",
        index,
        embedding: format === "base64" ? Buffer.from(vector.buffer).toString("base64") : [...vector],
      })),
      model,
      usage: { prompt_tokens: tokens, total_tokens: tokens },
    },
  };
}

/** Ranks documents by the words that they have in common with the query. `body` is a request in Cohere's form. */
export function rankingOf(body: string): SandboxEmbeddings {
  const { model, query, documents } = JSON.parse(body) as Readonly<Record<string, Json>>;
  if (model !== "rerank")
    return refusal(`The sandbox has no model ${JSON.stringify(model)} for rerank; there is rerank.`);
  const asked = entriesOf(textOf(query), RANKING_LENGTH);
  const texts = (documents as readonly Json[]).map(textOf);
  const results = texts.map((text, index) => {
    let score = 0;
    for (const [at, entry] of entriesOf(text, RANKING_LENGTH)) score += entry * (asked.get(at) ?? 0);
    return { index, relevance_score: rounded(score) };
  });
  const tokens = [textOf(query), ...texts].reduce((sum, text) => sum + Math.max(1, countWords(text).words), 0);
  return { status: 200, body: { model, results, usage: { total_tokens: tokens } } };
}
const RANKING_LENGTH = 1024;

/** Judges texts: those are flagged that contain the word `harmful`. `body` is a request in OpenAI's form. */
export function judgementOf(body: string): SandboxEmbeddings {
  const { model, input } = JSON.parse(body) as Readonly<Record<string, Json>>;
  if (model !== "moderation")
    return refusal(`The sandbox has no model ${JSON.stringify(model)} for moderations; there is moderation.`);
  const inputs = Array.isArray(input) && !isObject(input[0]) ? (input as readonly Json[]) : [input];
  const results = inputs.map((one) => {
    const flagged = textOf(one).includes("harmful");
    return { flagged, categories: { violence: flagged }, category_scores: { violence: flagged ? 1 : 0 } };
  });
  return { status: 200, body: { id: "modr-sandbox", model, results } };
}

function isLength(length: number): boolean {
  return Number.isInteger(length) && length >= 1 && length <= MAX_LENGTH;
}

function refusal(message: string): SandboxEmbeddings {
  const error = { message, type: "invalid_request_error", param: "model", code: "model_not_found" };
  return { status: 404, body: { error } };
}

function invalid(param: string, message: string): SandboxEmbeddings {
  return { status: 400, body: { error: { message, type: "invalid_request_error", param, code: "invalid_value" } } };
}

function textOf(input: Json | undefined): string {
  return typeof input === "string" ? input : Array.isArray(input) || isObject(input) ? JSON.stringify(input) : "";
}

function vectorOf(text: string, length: number): Float32Array {
  const vector = new Float32Array(length);
  for (const [at, entry] of entriesOf(text, length)) vector[at] = entry;
  return vector;
}

/** The entries of a vector of length 1 that are not zero, by their places. There are as many as the text has words for. */
function entriesOf(text: string, length: number): ReadonlyMap<number, number> {
  const entries = new Map<number, number>();
  for (const word of text.toLowerCase().match(/[\p{L}\p{N}]+/gu) ?? [text]) {
    let hash = hashOf(word);
    for (let entry = 0; entry < ENTRIES_PER_WORD; entry++) {
      const at = hash % length;
      entries.set(at, (entries.get(at) ?? 0) + ((hash & 0x8000) === 0 ? 1 : -1));
      hash = hashOf(`${word}${hash}`);
    }
  }
  const norm = Math.hypot(...entries.values());
  if (norm === 0) return new Map([[0, 1]]);
  for (const [at, entry] of entries) entries.set(at, entry / norm);
  return entries;
}

/** FNV-1a: http://www.isthe.com/chongo/tech/comp/fnv/ */
function hashOf(text: string): number {
  let hash = 0x811c9dc5;
  for (let index = 0; index < text.length; index++) hash = Math.imul(hash ^ text.charCodeAt(index), 0x01000193);
  return hash >>> 0;
}

function rounded(score: number): number {
  return Math.round(score * 1e6) / 1e6;
}
