// Where a text cannot be read, and why, in words of the console instead of the parser's.
export interface TextProblem {
  /** From 1. */
  readonly line: number;
  readonly message: string;
}

/** Of an error of `JSON.parse`: browsers name the position as `position 12` or as `line 2 column 5`. */
export function textProblem(message: string, text: string): TextProblem {
  const line = /line (\d+)/.exec(message)?.[1];
  const position = /position (\d+)/.exec(message)?.[1];
  const found =
    line !== undefined
      ? Number(line)
      : position !== undefined
        ? text.slice(0, Number(position)).split("\n").length
        : text.split("\n").length;
  const what = message
    .replace(/^JSON\.parse: /, "")
    .replace(/ \(line \d+ column \d+\)$/, "")
    .replace(/ in JSON at position \d+.*$/, "")
    .replace(/ at line \d+ column \d+.*$/, "");
  return { line: found, message: `This is not JSON yet: ${what}.` };
}
