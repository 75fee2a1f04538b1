// Globs: `*` matches any text, even an empty one; every other character matches itself. A pattern is compiled once and
// matched from left to right. Taking the first occurrence of each part is always right, so that matching never
// backtracks and no pattern is expensive.

export type Glob = (text: string) => boolean;

export function compileGlob(pattern: string): Glob {
  const parts = pattern.split("*");
  if (parts.length === 1) return (text) => text === pattern;
  const first = parts[0]!;
  const last = parts.at(-1)!;
  const middle = parts.slice(1, -1).filter((part) => part !== "");
  const shortest = first.length + last.length;
  return (text) => {
    if (text.length < shortest || !text.startsWith(first) || !text.endsWith(last)) return false;
    let at = first.length;
    const end = text.length - last.length;
    for (const part of middle) {
      const found = text.indexOf(part, at);
      if (found < 0 || found + part.length > end) return false;
      at = found + part.length;
    }
    return true;
  };
}
