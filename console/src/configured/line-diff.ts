// Two texts line by line: what is in both, what only the first has, and what only the second has.
export interface DiffLine {
  readonly kind: "same" | "removed" | "added";
  readonly text: string;
}

/** Above it the middle is shown as removed and added as a whole, because the table of all pairs would be too large. */
const MOST_PAIRS = 4_000_000;

export function lineDiff(before: string, after: string): readonly DiffLine[] {
  const one = linesOf(before);
  const two = linesOf(after);
  let start = 0;
  while (start < one.length && start < two.length && one[start] === two[start]) start++;
  let end = 0;
  while (
    end < one.length - start &&
    end < two.length - start &&
    one[one.length - 1 - end] === two[two.length - 1 - end]
  )
    end++;
  const same = (lines: readonly string[]): readonly DiffLine[] => lines.map((text) => ({ kind: "same", text }));
  return [
    ...same(one.slice(0, start)),
    ...middle(one.slice(start, one.length - end), two.slice(start, two.length - end)),
    ...same(one.slice(one.length - end)),
  ];
}

const linesOf = (text: string): readonly string[] => (text === "" ? [] : text.replace(/\n$/, "").split("\n"));

/** The longest common subsequence, from a table of lengths. */
function middle(one: readonly string[], two: readonly string[]): readonly DiffLine[] {
  const removed = one.map((text) => ({ kind: "removed", text }) as const);
  const added = two.map((text) => ({ kind: "added", text }) as const);
  if (one.length * two.length > MOST_PAIRS) return [...removed, ...added];
  const width = two.length + 1;
  const lengths = new Uint32Array((one.length + 1) * width);
  for (let row = one.length - 1; row >= 0; row--)
    for (let column = two.length - 1; column >= 0; column--)
      lengths[row * width + column] =
        one[row] === two[column]
          ? lengths[(row + 1) * width + column + 1]! + 1
          : Math.max(lengths[(row + 1) * width + column]!, lengths[row * width + column + 1]!);
  const lines: DiffLine[] = [];
  let row = 0;
  let column = 0;
  while (row < one.length && column < two.length) {
    if (one[row] === two[column]) {
      lines.push({ kind: "same", text: one[row]! });
      row++;
      column++;
    } else if (lengths[(row + 1) * width + column]! >= lengths[row * width + column + 1]!) lines.push(removed[row++]!);
    else lines.push(added[column++]!);
  }
  return [...lines, ...removed.slice(row), ...added.slice(column)];
}
