// Embeddings, rerank and moderations of the sandbox: the same text always has the same vector, and texts with words in common are near to each
// other, so that a search can be tried. Each word adds to a few entries that its hash chooses.
import { isObject, type Json } from "../../core/json.ts";
import { countWords } from "./words.ts";

/** `embed-<length>`: the length of vectors where the request does not say. */
const MODEL = /^embed-(\d{1,4})$/;
const MAX_LENGTH = 4096;
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
  if (!isLength(length)) {
    const message = `dimensions must be a whole number from 1 to ${MAX_LENGTH}; got ${length}.`;
    return {
      status: 400,
      body: { error: { message, type: "invalid_request_error", param: "dimensions", code: "invalid_value" } },
    };
  }
  const texts = (Array.isArray(input) && typeof input[0] !== "number" ? input : [input]).map(textOf);
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
  const asked = vectorOf(textOf(query), RANKING_LENGTH);
  const texts = (documents as readonly Json[]).map(textOf);
  const results = texts.map((text, index) => ({
    index,
    relevance_score: rounded(vectorOf(text, RANKING_LENGTH).reduce((sum, entry, at) => sum + entry * asked[at]!, 0)),
  }));
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

function textOf(input: Json | undefined): string {
  return typeof input === "string" ? input : Array.isArray(input) || isObject(input) ? JSON.stringify(input) : "";
}

/** A vector of length 1. */
function vectorOf(text: string, length: number): Float32Array {
  const vector = new Float32Array(length);
  for (const word of text.toLowerCase().match(/[\p{L}\p{N}]+/gu) ?? [text]) {
    let hash = hashOf(word);
    for (let entry = 0; entry < ENTRIES_PER_WORD; entry++) {
      vector[hash % length]! += (hash & 0x8000) === 0 ? 1 : -1;
      hash = hashOf(`${word}${hash}`);
    }
  }
  const norm = Math.hypot(...vector);
  if (norm === 0) vector[0] = 1;
  return norm === 0 ? vector : vector.map((entry) => entry / norm);
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
