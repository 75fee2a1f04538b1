// Requests for embeddings, in OpenAI's form: each input becomes a message.
// https://platform.openai.com/docs/api-reference/embeddings/create
import { type InputRules, listedInputs } from "../../engine/request/listed-inputs.ts";
import { passedMembers } from "../../engine/request/task-body.ts";
import { translatedForm, type Translation } from "../../engine/request/translated-form.ts";
import type { BodyBounds } from "../../core/request/body-bounds.ts";
import { isSet, type JsonObject } from "../../core/json.ts";
import { memoizePerObject } from "../../core/memoization.ts";
import { invalid } from "../../core/params.ts";
import type { TaskMemo } from "../../providers/tasks/task.ts";

export interface EmbeddingMemo extends TaskMemo {
  /** The client's own word for the model; `null` when it named only a route. */
  readonly model: string | null;
}

const MAX_INPUTS = 2048;
/** OpenAI's bound on the tokens of one request. */
const MAX_TOKENS = 300_000;

const INPUTS: InputRules = { name: "input", most: MAX_INPUTS, mostTokens: MAX_TOKENS, mayBeEmpty: false };

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
  names: { messages: "input" },
  task: {
    name: "embeddings",
    parameters: new Set(["dimensions", "input_type"]),
    reserved: new Set(["model", "input", "encoding_format"]),
  },
  // token ids are values of their own
  bounds: memoizePerObject((bounds: BodyBounds): BodyBounds => ({
    ...bounds,
    maxValues: bounds.maxValues + MAX_TOKENS + MAX_INPUTS,
  })),
});

function translate(body: JsonObject): Translation {
  const { model, input, encoding_format: format, dimensions, input_type: inputType, user, metadata } = body;
  const { kind, isSingle, texts } = listedInputs(input, INPUTS);
  if (format !== undefined && format !== null && format !== "float" && format !== "base64")
    throw invalid("encoding_format", '"float" or "base64"', format);
  if (isSet(dimensions) && (!Number.isInteger(dimensions) || (dimensions as number) < 1))
    throw invalid("dimensions", "a whole number above 0", dimensions);
  if (isSet(inputType) && typeof inputType !== "string") throw invalid("input_type", "a string", inputType);
  const memo: EmbeddingMemo = {
    inputs: kind,
    isSingle,
    encoding: format ?? null,
    model: typeof model === "string" ? model : null,
  };
  return {
    chat: {
      ...(model !== undefined && { model }),
      messages: texts.map((content) => ({ role: "user", content })),
      ...(isSet(user) && { user }),
      ...(isSet(metadata) && { metadata }),
      ...(isSet(dimensions) && { dimensions }),
      ...(isSet(inputType) && { input_type: inputType }),
      ...passedMembers(body, KNOWN),
    },
    origins: { messages: isSingle ? ["input"] : texts.map((_, index) => `input[${index}]`), tools: [] },
    untranslated: [],
    memo,
  };
}
