// Embeddings of the sandbox: the same text always has the same vector, and texts with words in common are near to each
// other, so that a search can be tried. Each word adds to a few entries that its hash chooses.
import { isObject, type Json } from "../../core/json.ts";
import { countWords } from "./words.ts";

/** `embed-<length>`: the length of vectors where the request does not say. */
const MODEL = /^embed-(\d{1,4})$/;
const MAX_LENGTH = 4096;
const ENTRIES_PER_WORD = 4;

export interface SandboxEmbeddings {
  readonly status: 200 | 404;
  readonly body: object;
}

/** `body` is a request in OpenAI's form, as the gateway has made it. */
export function embeddingsOf(body: string): SandboxEmbeddings {
  const { model, input, dimensions, encoding_format: format } = JSON.parse(body) as Readonly<Record<string, Json>>;
  const known = typeof model === "string" ? MODEL.exec(model) : null;
  if (known === null)
    return {
      status: 404,
      body: {
        error: {
          message: `The sandbox has no model ${JSON.stringify(model)} for embeddings; there is embed-256.`,
          type: "invalid_request_error",
          param: "model",
          code: "model_not_found",
        },
      },
    };
  const length = Math.min(MAX_LENGTH, Math.max(1, typeof dimensions === "number" ? dimensions : Number(known[1])));
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
