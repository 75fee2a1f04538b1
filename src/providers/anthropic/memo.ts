// What the decoder needs to know about the request.

export interface Memo {
  /** The tool whose input is the answer's text, when JSON mode is emulated. */
  readonly answerTool: string | null;
}

export function readMemo(memo: unknown): Memo {
  return typeof memo === "object" && memo !== null && "answerTool" in memo ? (memo as Memo) : { answerTool: null };
}
