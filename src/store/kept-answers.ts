// Answers to requests with an idempotency key: kept for a day, so that a repeat of the request gets the answer and not a second effect.

export const KEPT_ANSWER_MS = 86_400_000;

/** Where the body of an answer is sealed. */
export function answerPlace(tokenId: string, key: string): string {
  return `answer/${tokenId}/${key}`;
}
