// The string values of a JSON text, and where a stretch of the text lies in each of them: what was found in the text
// that stands for a value was found in the value's own texts as well.

/** A string value. `start` and `end` are the places of what is between its quotation marks, in UTF-16 units. */
interface JsonString {
  readonly text: string;
  readonly start: number;
  readonly end: number;
}

/** The text is valid JSON. Names of members are left out. */
export function* stringsOf(json: string): Generator<JsonString> {
  for (let at = json.indexOf('"'); at !== -1;) {
    const start = at + 1;
    let end = start;
    while (end < json.length && json[end] !== '"') end += json[end] === "\\" ? 2 : 1;
    const next = /\S/.exec(json.slice(end + 1, end + 1 + MOST_SPACE))?.[0];
    if (next !== ":") yield { text: JSON.parse(json.slice(at, end + 1)) as string, start, end };
    at = json.indexOf('"', end + 1);
  }
}

/** The most white space that is looked at between a string and a colon. `JSON.stringify` writes none. */
const MOST_SPACE = 256;

/** Returns the part of the string that a stretch of its JSON text covers; `null` where it covers none of it. */
export function partOf(
  json: string,
  { start, end }: JsonString,
  found: { readonly start: number; readonly end: number },
): { readonly start: number; readonly end: number } | null {
  if (found.end <= start || found.start >= end) return null;
  let units = 0;
  let first = -1;
  for (let at = start; at < end && at < found.end; units++) {
    const length = json[at] !== "\\" ? 1 : json[at + 1] === "u" ? 6 : 2;
    if (first === -1 && at + length > found.start) first = units;
    at += length;
  }
  return { start: first, end: units };
}
