// What the decoder has to know of the request.

export interface Memo {
  /** The tool whose input is the answer's text, where JSON mode is emulated. */
  readonly answerTool: string | null;
}

export function readMemo(memo: unknown): Memo {
  return typeof memo === "object" && memo !== null && "answerTool" in memo ? (memo as Memo) : { answerTool: null };
}
