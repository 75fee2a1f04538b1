// Whether a command printed what a page shows. `…` in the page stands for what differs from run to run: in a text for any characters of a line, in JSON for
// any part of a string, and alone for any value.

/** Null when they agree, else what differs. */
export function textDifference(shown: string, printed: string): string | null {
  const lines = (text: string): readonly string[] =>
    text
      .replace(/\s+$/, "")
      .split("\n")
      .map((line) => line.trimEnd());
  const [expected, actual] = [lines(shown), lines(printed)];
  const wrong = expected.findIndex((line, index) => !lineMatches(line, actual[index]));
  if (wrong >= 0)
    return `line ${wrong + 1} is ${JSON.stringify(actual[wrong] ?? null)}, the page has ${JSON.stringify(expected[wrong])}`;
  return actual.length > expected.length ? `there is more: ${JSON.stringify(actual[expected.length])}` : null;
}

function lineMatches(shown: string, printed: string | undefined): boolean {
  if (printed === undefined || !shown.includes("…")) return shown === printed;
  return new RegExp(
    `^${shown
      .split("…")
      .map((part) => RegExp.escape(part))
      .join(".*")}$`,
  ).test(printed);
}

/** Objects have to have the same members, in any order. */
export function jsonDifference(shown: unknown, printed: unknown, path = "$"): string | null {
  if (shown === "…") return printed === undefined ? `${path} is missing` : null;
  if (typeof shown === "string" && typeof printed === "string")
    return lineMatches(shown, printed)
      ? null
      : `${path} is ${JSON.stringify(printed)}, the page has ${JSON.stringify(shown)}`;
  if (
    typeof shown !== "object" ||
    shown === null ||
    typeof printed !== "object" ||
    printed === null ||
    Array.isArray(shown) !== Array.isArray(printed)
  )
    return shown === printed ? null : `${path} is ${JSON.stringify(printed)}, the page has ${JSON.stringify(shown)}`;
  for (const name of new Set([...Object.keys(shown), ...Object.keys(printed)])) {
    if (!Object.hasOwn(shown, name)) return `${path}.${name} is not on the page`;
    const difference = jsonDifference(
      (shown as Record<string, unknown>)[name],
      (printed as Record<string, unknown>)[name],
      `${path}.${name}`,
    );
    if (difference !== null) return difference;
  }
  return null;
}
