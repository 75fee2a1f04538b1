// What only one vendor understands beyond the common forms.

/** What only this vendor understands beyond the common forms (promise 5.7). */
export interface Dialect {
  readonly blocks: readonly string[];
  readonly tools: readonly string[];
  readonly toolChoices: readonly string[];
  readonly messageRules: readonly string[];
  /** Only an assistant message may follow tool results, so images from tools cannot follow in a user message. */
  readonly assistantAfterTools?: true;
}

export const PLAIN_DIALECT: Dialect = { blocks: [], tools: [], toolChoices: [], messageRules: [] };

/** Returns what one model understands. */
export function dialectOf(
  provider: { readonly dialect: Dialect; dialectOf?(model: string): Dialect },
  model: string,
): Dialect {
  return provider.dialectOf?.(model) ?? provider.dialect;
}
