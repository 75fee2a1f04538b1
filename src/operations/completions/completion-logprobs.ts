// Log probabilities as legacy completions have them: parallel lists, with the place of each token in the text.
// https://platform.openai.com/docs/api-reference/completions/object
import { isObject, type Json, type JsonObject, objectsIn } from "../../core/json.ts";
import type { CompletionMemo } from "./parse-completions.ts";

/** What the engine writes for a value that the provider has left out. */
const LEFT_OUT = -9999;

/** The places of the tokens of one choice, which come in their order. */
export class TokenPlaces {
  readonly #echoes: boolean;
  #next: number;
  #isFirst = true;

  /** `choice` is the index of the choice. */
  constructor({ echoes, lengths, choices }: CompletionMemo, choice: number) {
    this.#echoes = echoes;
    this.#next = echoes ? 0 : (lengths[Math.floor(choice / choices)] ?? 0);
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
