// What encoders and decoders of tasks have in common: a request has one message for each input, and what the operation
// remembers of the inputs.
import type { ChatRequest, Message, WrittenRequest } from "../../core/chat.ts";
import { isObject, type Json, jsonIn, type JsonObject, mergeObjects, textOrEmpty } from "../../core/json.ts";
import { invalidRequest, unsupportedValue } from "../../core/refusals.ts";
import type { Target } from "../../core/target.ts";
import { keepEncoded } from "../conversation/pass-through.ts";
import { type DecodeContext, type EncodedRequest, jsonPost } from "../interface/encoded-request.ts";
import type { TaskAnswer } from "../interface/task-form.ts";
import { MalformedAnswer } from "../interface/upstream-failure.ts";
import { describeText } from "../answers/sent-json.ts";
import { isCount } from "../../core/record/token-count.ts";

/** What an operation remembers of its inputs for encoders. */
export interface TaskMemo {
  /** `tokens`: the content of each message is the JSON of a list of token ids. */
  readonly inputs: "texts" | "tokens";
  /** The client sent one input and no list. */
  readonly isSingle: boolean;
  /** How the client wants numbers; `null` when it did not say. */
  readonly encoding: "float" | "base64" | null;
}

export function taskMemoOf({ written }: { readonly written?: WrittenRequest }): TaskMemo {
  return written!.memo as TaskMemo;
}

/** Returns the texts of the inputs. Throws `unsupported_value` for tokens. */
export function textInputs(request: ChatRequest, label: string): readonly string[] {
  if (taskMemoOf(request).inputs === "tokens")
    throw unsupportedValue(
      "input",
      `input must be text for ${label}: token ids mean something only to a model with the same vocabulary; got lists of tokens.`,
    );
  return request.messages.map(textOf);
}

/**
 * Returns the inputs as a vendor takes them that knows the vocabulary of its models' clients. Throws `invalid_request`
 * for tokens that a guard masks.
 */
export function textsOrTokens(request: ChatRequest): readonly string[] | readonly (readonly number[])[] {
  const texts = request.messages.map(textOf);
  return taskMemoOf(request).inputs === "texts" ? texts : texts.map((text) => tokensIn(text, request));
}

/** A guard that lets pass what it cannot search may have taken some ids for what it masks. */
function tokensIn(text: string, request: ChatRequest): readonly number[] {
  const tokens = jsonIn(text);
  if (Array.isArray(tokens)) return tokens as readonly number[];
  const path = request.form.pathOf("messages", request);
  throw invalidRequest(
    path,
    `${path} must be text in this call, because a guard would mask some of the token ids, which it cannot read.`,
  );
}

export function textOf({ content }: Message): string {
  return textOrEmpty(content);
}

/** Returns a request with a body of JSON, to which what passes through is added. */
export function taskRequest(
  url: string,
  body: JsonObject,
  { extra }: ChatRequest,
  { headers }: Target,
  consumed: ReadonlySet<string>,
): EncodedRequest["request"] {
  const passed = Object.fromEntries(Object.entries(extra).filter(([name]) => !consumed.has(name)));
  return jsonPost(url, headers, Object.keys(passed).length === 0 ? body : mergeObjects(body, passed, keepEncoded));
}

/**
 * Parses an answer with many numbers, whose digits beyond those of a double mean nothing. Throws MalformedAnswer; NaN and
 * Infinity are no JSON.
 */
export function parseNumbers(body: string): Json {
  const value = jsonIn(body);
  if (value === undefined) throw new MalformedAnswer(`The provider's answer is ${describeText(body)}, not JSON.`);
  return value;
}

/**
 * Returns the answer with what `read` finds in it. A MalformedAnswer that `read` throws gets what the provider counted,
 * which is charged.
 */
export function answerWith<Value>(
  told: Omit<TaskAnswer<Value>, "values">,
  read: () => readonly Value[],
): TaskAnswer<Value> {
  try {
    return { values: read(), ...told };
  } catch (thrown) {
    if (!(thrown instanceof MalformedAnswer)) throw thrown;
    const { tokens, searchUnits } = told;
    throw new MalformedAnswer(thrown.message, { tokens, ...(searchUnits !== undefined && { searchUnits }) });
  }
}

/** Returns the number of inputs that a request was made for. */
export function inputCount({ memo }: DecodeContext): number {
  return isObject(memo) && typeof memo["inputs"] === "number" ? memo["inputs"] : 0;
}

/** Returns what a provider counted; `null` for no figure, and for 0, which no text can have. */
export function toldTokens(value: Json | undefined): number | null {
  return isCount(value) && value > 0 ? value : null;
}
