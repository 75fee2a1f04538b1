// Requests for embeddings, in OpenAI's form: each input becomes a message.
// https://platform.openai.com/docs/api-reference/embeddings/create
import type { ChatRequest } from "../../core/chat.ts";
import { invalid } from "../../core/refusals.ts";
import { type InputRules, listedInputs } from "../../engine/request/listed-inputs.ts";
import { translatedForm, type Translation } from "../../engine/request/translated-form.ts";
import { isSet, isWholeNumber, type JsonObject } from "../../core/json.ts";
import type { TaskMemo } from "../../providers/tasks/task.ts";
import { boundsWithTokens, listedTranslation, type OwnWords, placesIn } from "../listed-request.ts";

export interface EmbeddingMemo extends TaskMemo, OwnWords {}

/** The tokens are OpenAI's bound for one request. */
const INPUTS: InputRules = { name: "input", most: 2048, mostTokens: 300_000, mayBeEmpty: false };

const KNOWN: ReadonlySet<string> = new Set([
  "model",
  "input",
  "encoding_format",
  "dimensions",
  "input_type",
  "user",
  "metadata",
]);

export const EMBEDDINGS_FORM = translatedForm({
  translate,
  checkOwn,
  names: { messages: "input" },
  task: {
    name: "embeddings",
    parameters: new Set(["dimensions", "input_type"]),
    reserved: new Set(["model", "input", "encoding_format"]),
  },
  bounds: boundsWithTokens(INPUTS),
});

function translate(body: JsonObject): Translation {
  const { input, encoding_format: format, dimensions, input_type: inputType, user } = body;
  const { kind, isSingle, texts } = listedInputs(input, INPUTS);
  if (format !== undefined && format !== null && format !== "float" && format !== "base64")
    throw invalid("encoding_format", '"float" or "base64"', format);
  return listedTranslation<EmbeddingMemo>(body, {
    contents: texts,
    places: placesIn("input", texts, isSingle),
    members: { user, dimensions, input_type: inputType },
    known: KNOWN,
    memo: { inputs: kind, isSingle, encoding: format ?? null },
  });
}

function checkOwn({ extra }: ChatRequest): void {
  const { dimensions, input_type: inputType } = extra;
  if (isSet(dimensions) && !isWholeNumber(dimensions, 1))
    throw invalid("dimensions", "a whole number above 0", dimensions);
  if (isSet(inputType) && typeof inputType !== "string") throw invalid("input_type", "a string", inputType);
}
