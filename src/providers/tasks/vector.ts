// Vectors as providers write them: lists of numbers, or base64 of 32-bit floats with the lowest byte first, as OpenAI
// writes them: https://platform.openai.com/docs/api-reference/embeddings/create
import { isObject, type Json, type JsonObject, listIn } from "../../core/json.ts";
import { MalformedAnswer } from "../interface/upstream-failure.ts";
import type { Vector } from "./task-values.ts";

/** Throws MalformedAnswer for anything but a list of finite 32-bit numbers, or base64 of such. */
export function vectorOf(value: Json | undefined): Vector {
  if (typeof value === "string") return vectorOfBase64(value);
  if (!Array.isArray(value) || value.length === 0)
    throw new MalformedAnswer("The provider's answer has a vector that is no list of numbers.");
  const vector = new Float64Array(value.length);
  for (let index = 0; index < vector.length; index++) {
    const number = (value as readonly Json[])[index];
    if (typeof number !== "number" || !(Math.abs(number) <= MAX_FLOAT)) throw outOfRange();
    vector[index] = number;
  }
  return vector;
}

/** The largest 32-bit float: every entry can be written as base64. */
const MAX_FLOAT = 3.4028234663852886e38;

function outOfRange(): MalformedAnswer {
  return new MalformedAnswer("The provider's answer has a vector with an entry that is no finite 32-bit number.");
}

const BASE64 = /^[A-Za-z0-9+/]+={0,2}$/;

function vectorOfBase64(text: string): Vector {
  const bytes = decodedBase64(text);
  if (bytes.length % 4 !== 0)
    throw new MalformedAnswer("The provider's answer has a vector that is no base64 of 32-bit floats.");
  // every processor on which the gateway runs has the lowest byte first
  const vector = new Float32Array(Uint8Array.from(bytes).buffer);
  if (!vector.every(Number.isFinite)) throw outOfRange();
  return vector;
}

/** Returns the numbers of a vector whose base64 holds signed bytes. Throws MalformedAnswer. */
export function bytesOf(value: Json | undefined): Vector {
  return typeof value === "string" ? Float64Array.from(new Int8Array(decodedBase64(value))) : vectorOf(value);
}

/** Throws MalformedAnswer; Node itself would leave out what is no base64. */
function decodedBase64(text: string): Buffer {
  if (text.length % 4 !== 0 || !BASE64.test(text))
    throw new MalformedAnswer("The provider's answer has a vector that is no base64.");
  return Buffer.from(text, "base64");
}

/**
 * Returns the vectors of a list with an index in each entry, in the order of their indexes. Throws MalformedAnswer
 * unless there is one for each of `count` inputs.
 */
export function indexedVectors(
  list: Json | undefined,
  count: number,
  read: (value: Json | undefined) => Vector,
): readonly Vector[] {
  const entries = listIn(list);
  const vectors: Vector[] = [];
  let known = 0;
  for (const [place, entry] of entries.entries()) {
    const { index = place, embedding } = isObject(entry) ? entry : ({} as JsonObject);
    const at = typeof index === "number" ? index : -1;
    if (!Number.isInteger(at) || at < 0 || at >= count || vectors[at] !== undefined) throw miscounted(count);
    vectors[at] = read(embedding);
    known++;
  }
  if (known !== count) throw miscounted(count);
  return vectors;
}

/** Returns vectors that stand in the order of the inputs. Throws MalformedAnswer. */
export function orderedVectors(list: readonly (Json | undefined)[], count: number): readonly Vector[] {
  if (list.length !== count) throw miscounted(count);
  return list.map(vectorOf);
}

function miscounted(count: number): MalformedAnswer {
  return new MalformedAnswer(`The provider's answer does not have one vector for each of ${count} inputs.`);
}
