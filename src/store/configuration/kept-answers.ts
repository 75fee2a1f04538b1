// Answers to requests with an idempotency key, which are kept for a day, so that a repeated request gets the same
// answer and has no second effect.

export const KEPT_ANSWER_MS = 86_400_000;

/** The place to which the encryption of an answer's body is bound. */
export function answerPlace(tokenId: string, key: string): string {
  return `answer/${tokenId}/${key}`;
}
