// Log probabilities as legacy completions have them: parallel lists, with the place of each token in the text.
// https://platform.openai.com/docs/api-reference/completions/object
import { isObject, type Json, type JsonObject, objectsIn } from "../../core/json.ts";
import type { ChatRequest } from "../../core/chat.ts";
import type { CompletionMemo } from "./parse-completions.ts";

/** What the engine writes for a value that the provider has left out. */
const LEFT_OUT = -9999;

/** Returns the places of the tokens of a choice, by its index. */
export type PlacesOf = (choice: number) => TokenPlaces;

/** What decides about the places is the request as the target got it: it may have lost `echo`, or got another `n`. */
export function tokenPlaces({ params, extra }: ChatRequest, { lengths }: CompletionMemo): PlacesOf {
  const echoes = extra["echo"] === true;
  const { n = 1 } = params;
  return (choice) => new TokenPlaces(echoes, lengths[Math.floor(choice / n)] ?? 0);
}

/** The places of the tokens of one choice, which come in their order. */
class TokenPlaces {
  readonly #echoes: boolean;
  #next: number;
  #isFirst = true;

  constructor(echoes: boolean, promptLength: number) {
    this.#echoes = echoes;
    this.#next = echoes ? 0 : promptLength;
  }

  /** Returns null where there are no log probabilities. */
  lists(logprobs: Json | undefined): JsonObject | null {
    const content = isObject(logprobs) ? logprobs["content"] : undefined;
    if (!Array.isArray(content)) return null;
    const entries = (content as readonly Json[]).filter(isObject);
    return {
      tokens: entries.map(({ token }) => token as string),
      token_logprobs: entries.map(({ logprob }, index) => this.#valueOf(logprob as number, index)),
      top_logprobs: entries.map(({ top_logprobs: tops }, index) => this.#alternatives(tops, index)),
      text_offset: this.#offsets(entries),
    };
  }

  /** Nothing comes before the first token of a prompt, so that it has no probability. */
  #valueOf(value: number, index: number): number | null {
    return this.#isBare(index) && value === LEFT_OUT ? null : value;
  }

  #alternatives(tops: Json | undefined, index: number): JsonObject | null {
    const list = objectsIn(tops);
    if (list.length === 0 && this.#isBare(index)) return null;
    return Object.fromEntries(list.map(({ token, logprob }) => [token as string, logprob as number]));
  }

  #isBare(index: number): boolean {
    return this.#echoes && this.#isFirst && index === 0;
  }

  #offsets(entries: readonly JsonObject[]): readonly number[] {
    if (entries.length > 0) this.#isFirst = false;
    return entries.map(({ token }) => {
      const at = this.#next;
      this.#next += (token as string).length;
      return at;
    });
  }
}
