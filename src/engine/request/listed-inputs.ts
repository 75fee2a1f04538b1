// Inputs as OpenAI's forms have them: a text, a list of texts, a list of token ids, or a list of such lists. Each becomes a
// message; that of tokens has the JSON of their list.
import type { Json } from "../../core/json.ts";
import { invalid, invalidRequest } from "../../core/refusals.ts";
import type { TaskMemo } from "../../providers/tasks/task.ts";

export interface ListedInputs {
  readonly kind: TaskMemo["inputs"];
  readonly isSingle: boolean;
  readonly texts: readonly string[];
}

/** What a form says of its inputs. */
export interface InputRules {
  /** The member that holds them. */
  readonly name: string;
  readonly most: number;
  /** Bounds the tokens of all inputs together. */
  readonly mostTokens: number;
  /** Whether a text may be empty. */
  readonly mayBeEmpty: boolean;
}

const EXPECTED = "a string, a list of strings, a list of token ids, or a list of such lists";

/** Throws `invalid_request` with the path. */
export function listedInputs(input: Json | undefined, rules: InputRules): ListedInputs {
  const { name, most } = rules;
  if (typeof input === "string") return { kind: "texts", isSingle: true, texts: [textAt(input, name, rules)] };
  if (!Array.isArray(input)) throw invalid(name, EXPECTED, input);
  const list = input as readonly Json[];
  if (list.length === 0) throw invalidRequest(name, `${name} must not be empty.`);
  const [first] = list;
  if (typeof first === "number") return { kind: "tokens", isSingle: true, texts: [tokensAt(list, name, rules)] };
  if (list.length > most) throw invalidRequest(name, `${name} may have at most ${most} entries; got ${list.length}.`);
  if (typeof first === "string")
    return {
      kind: "texts",
      isSingle: false,
      texts: list.map((text, index) => textAt(text, `${name}[${index}]`, rules)),
    };
  const tokens = list.map((one, index) => tokensAt(one, `${name}[${index}]`, rules));
  const count = list.reduce<number>((sum, one) => sum + (one as readonly Json[]).length, 0);
  requireFewTokens(count, rules);
  return { kind: "tokens", isSingle: false, texts: tokens };
}

function textAt(value: Json, path: string, { name, mayBeEmpty }: InputRules): string {
  if (typeof value !== "string")
    throw invalid(path, `a string, as the first ${name} is: all of them are of one kind`, value);
  if (value === "" && !mayBeEmpty) throw invalidRequest(path, `${path} must not be an empty string.`);
  return value;
}

function tokensAt(value: Json, path: string, rules: InputRules): string {
  const { name } = rules;
  if (!Array.isArray(value))
    throw invalid(
      path,
      path === name ? EXPECTED : `a list of token ids, as the first ${name} is: all of them are of one kind`,
      value,
    );
  const tokens = value as readonly Json[];
  if (tokens.length === 0) throw invalidRequest(path, `${path} must not be an empty list.`);
  requireFewTokens(tokens.length, rules);
  for (const [index, token] of tokens.entries())
    if (!Number.isInteger(token) || (token as number) < 0)
      throw invalid(`${path}[${index}]`, "a token id: a whole number of 0 or more", token);
  return JSON.stringify(tokens);
}

function requireFewTokens(count: number, { name, mostTokens }: InputRules): void {
  if (count > mostTokens)
    throw invalidRequest(name, `${name} may have at most ${mostTokens} tokens in all; got ${count}.`);
}
