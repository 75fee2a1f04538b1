// Requests for embeddings, in OpenAI's form: each input becomes a message.
// https://platform.openai.com/docs/api-reference/embeddings/create
import { passedMembers } from "../../chat/request/task-body.ts";
import { translatedForm, type Translation } from "../../chat/request/translated-form.ts";
import type { BodyBounds } from "../../core/body-bounds.ts";
import { GatewayError } from "../../core/errors.ts";
import type { Json, JsonObject } from "../../core/json.ts";
import { memoizePerObject } from "../../core/memoization.ts";
import { invalid } from "../../core/params.ts";
import type { TaskMemo } from "../../providers/task.ts";

export interface EmbeddingMemo extends TaskMemo {
  /** The client's own word for the model; `null` when it named only a route. */
  readonly model: string | null;
}

const MAX_INPUTS = 2048;
/** OpenAI's bound on the tokens of one request. */
const MAX_TOKENS = 300_000;

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

interface Inputs {
  readonly kind: TaskMemo["inputs"];
  readonly isSingle: boolean;
  readonly texts: readonly string[];
}

function translate(body: JsonObject): Translation {
  const { model, input, encoding_format: format, dimensions, input_type: inputType, user, metadata } = body;
  const { kind, isSingle, texts } = inputsOf(input);
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

function isSet(value: Json | undefined): value is Exclude<Json, null> {
  return value !== undefined && value !== null;
}

/** A list of tokens becomes the text of its JSON. Throws `invalid_request` with the path. */
function inputsOf(input: Json | undefined): Inputs {
  if (typeof input === "string") return { kind: "texts", isSingle: true, texts: [filled(input, "input")] };
  if (!Array.isArray(input)) throw invalid("input", EXPECTED, input);
  const list = input as readonly Json[];
  if (list.length === 0) throw new GatewayError("invalid_request", `input must not be empty.`, { param: "input" });
  const [first] = list;
  if (typeof first === "number") return { kind: "tokens", isSingle: true, texts: [tokensOf(list, "input")] };
  if (list.length > MAX_INPUTS)
    throw new GatewayError("invalid_request", `input may have at most ${MAX_INPUTS} entries; got ${list.length}.`, {
      param: "input",
    });
  if (typeof first === "string")
    return { kind: "texts", isSingle: false, texts: list.map((text, index) => filled(text, `input[${index}]`)) };
  const tokens = list.map((one, index) => tokensOf(one, `input[${index}]`));
  const count = list.reduce<number>((sum, one) => sum + (one as readonly Json[]).length, 0);
  requireFewTokens(count);
  return { kind: "tokens", isSingle: false, texts: tokens };
}

const EXPECTED = "a string, a list of strings, a list of token ids, or a list of such lists";

function filled(value: Json, path: string): string {
  if (typeof value !== "string")
    throw invalid(path, "a string, as the first input is: all inputs are of one kind", value);
  if (value === "") throw new GatewayError("invalid_request", `${path} must not be an empty string.`, { param: path });
  return value;
}

function tokensOf(value: Json, path: string): string {
  if (!Array.isArray(value))
    throw invalid(
      path,
      path === "input" ? EXPECTED : "a list of token ids, as the first input is: all inputs are of one kind",
      value,
    );
  const tokens = value as readonly Json[];
  if (tokens.length === 0)
    throw new GatewayError("invalid_request", `${path} must not be an empty list.`, { param: path });
  requireFewTokens(tokens.length);
  for (const [index, token] of tokens.entries())
    if (!Number.isInteger(token) || (token as number) < 0)
      throw invalid(`${path}[${index}]`, "a token id: a whole number of 0 or more", token);
  return JSON.stringify(tokens);
}

function requireFewTokens(count: number): void {
  if (count > MAX_TOKENS)
    throw new GatewayError("invalid_request", `input may have at most ${MAX_TOKENS} tokens in all; got ${count}.`, {
      param: "input",
    });
}
