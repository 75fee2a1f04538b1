// Removes secrets from text that others wrote and that may quote them: a key in an error message, a token in a header
// that is sent back. Text and secret are compared by their letters and digits alone, ignoring case, after every quoting
// has been undone (JSON in JSON, percent signs, entities), so that separators and characters of zero width hide
// nothing. A secret is also found in base64 or hexadecimal, backwards, and in part. Secrets are not made into regular
// expressions, because callers choose some of them.
import { CREDENTIAL, spellingsOf } from "./secret-spellings.ts";

/** A shorter secret is not a key and may be any word. */
const MIN_KEY = 8;
/** A run of this many letters and digits is part of a secret and not a coincidence. */
const MIN_PART = 12;
/** The number of nested quotings that are undone. */
const MAX_QUOTINGS = 5;

export function withoutSecrets(text: string, secrets: readonly string[]): string {
  return secretRemover(secrets)(text);
}

/** Returns a function that removes these secrets from a text. It can be kept, to be used again. */
export function secretRemover(secrets: readonly string[]): (text: string) => string {
  const keys = secrets.filter((secret) => secret.length >= MIN_KEY);
  if (keys.length === 0) return (text) => text;
  const needles = keys.flatMap(needlesOf);
  const samples = new Set(needles.flatMap(samplesOf));
  // a key that is mostly punctuation has too few letters and digits to be found by them
  const wholes = keys.filter((key) => letters(key).length < MIN_KEY).map((key) => unquoted(key).text);
  return (text) => {
    // nearly every text that is searched is such a one: the name of a model, the id of a request
    if (wholes.length === 0 && AS_WRITTEN.test(text) && !mayContainAny(letters(text), samples)) return text;
    const plain = unquoted(text);
    const spelled = lettersOf(plain);
    const covered = mayContainAny(spelled.text, samples) ? rangesOfParts(spelled, needles) : [];
    for (const whole of wholes) covered.push(...rangesOf(plain, whole));
    return replaced(text, covered);
  };
}

/** Positions in the text; the second is behind the last character. */
type Range = readonly [start: number, end: number];

function replaced(text: string, ranges: readonly Range[]): string {
  let clean = "";
  let copied = 0;
  for (const [start, end] of ranges.toSorted(([one], [other]) => one - other)) {
    if (start > copied || copied === 0) clean += text.slice(copied, start) + CREDENTIAL;
    copied = Math.max(copied, end);
  }
  return copied === 0 ? text : clean + text.slice(copied);
}

/** A text after some transformation, with the start and the end of each of its characters in the original text. */
interface Reading {
  readonly text: string;
  readonly starts: readonly number[];
  readonly ends: readonly number[];
}

/**
 * Returns how the letters and digits of a key look in each spelling that it may have; empty when the key has too few.
 */
function needlesOf(key: string): readonly string[] {
  // a key may itself look quoted
  const ways = new Set([key, unquoted(key).text]);
  const needles = [...ways]
    .filter((one) => letters(one).length >= MIN_KEY)
    .flatMap((one) => spellingsOf(one).map(letters));
  return [...new Set(needles)].filter((needle) => needle.length >= MIN_KEY);
}

/** Returns hashes of parts so close together that a text with enough of the needle contains at least one of them. */
function samplesOf(needle: string): readonly number[] {
  const step = Math.min(MIN_PART, needle.length) - MIN_KEY + 1;
  const samples: number[] = [];
  for (let at = 0, hash = 0; at < needle.length; at++) {
    hash = hashedOn(hash, needle, at);
    if (at >= MIN_KEY - 1 && (at - MIN_KEY + 1) % step === 0) samples.push(hash);
  }
  return samples;
}

/** Whether a part has the hash of a sample. This is false for nearly every text without a secret, and quick to compute. */
function mayContainAny(text: string, samples: ReadonlySet<number>): boolean {
  for (let at = 0, hash = 0; at < text.length; at++) {
    hash = hashedOn(hash, text, at);
    if (at >= MIN_KEY - 1 && samples.has(hash)) return true;
  }
  return false;
}

const HASH_BASE = 0x01000193;
const FIRST_FACTOR = Array.from({ length: MIN_KEY }).reduce((product: number) => Math.imul(product, HASH_BASE), 1);

/** Returns the hash of the MIN_KEY characters that end at a position, from the hash of those that end before it. */
function hashedOn(hash: number, text: string, at: number): number {
  const left = at < MIN_KEY ? 0 : Math.imul(text.charCodeAt(at - MIN_KEY), FIRST_FACTOR);
  return (Math.imul(hash, HASH_BASE) + text.charCodeAt(at) - left) | 0;
}

/** Finds the parts of needles that are long enough, and the beginning of a needle where the text was cut off. */
function rangesOfParts({ text, starts, ends }: Reading, needles: readonly string[]): Range[] {
  const partsBySize = new Map<number, Set<string>>();
  for (const needle of needles) {
    const size = Math.min(MIN_PART, needle.length);
    const parts = partsBySize.getOrInsertComputed(size, () => new Set());
    for (let at = 0; at + size <= needle.length; at++) parts.add(needle.slice(at, at + size));
  }
  const found: Range[] = [];
  for (const [size, parts] of partsBySize) {
    let from = -1;
    let behind = -1;
    for (let at = 0; at + size <= text.length; at++) {
      if (!parts.has(text.slice(at, at + size))) continue;
      if (at > behind) {
        if (behind > 0) found.push([starts[from]!, ends[behind - 1]!]);
        from = at;
      }
      behind = at + size;
    }
    if (behind > 0) found.push([starts[from]!, ends[behind - 1]!]);
  }
  for (let length = Math.min(MIN_PART, text.length); length >= MIN_KEY; length--)
    if (needles.some((needle) => text.endsWith(needle.slice(0, length)) && needle.length >= length))
      return [...found, [starts[text.length - length]!, ends.at(-1)!]];
  return found;
}

function rangesOf({ text, starts, ends }: Reading, needle: string): Range[] {
  const found: Range[] = [];
  for (
    let at = text.indexOf(needle);
    needle.length >= MIN_KEY && at >= 0;
    at = text.indexOf(needle, at + needle.length)
  )
    found.push([starts[at]!, ends[at + needle.length - 1]!]);
  return found;
}

const LETTER = /[0-9a-z]/;
/** Nothing in such a text is quoted, and each letter is the one that it looks like. */
const AS_WRITTEN = /^[^\\%&\u0080-\uffff]*$/;

function letters(text: string): string {
  return text.toLowerCase().replaceAll(/[^0-9a-z]/g, "");
}

function lettersOf({ text, starts, ends }: Reading): Reading {
  const kept = { starts: [] as number[], ends: [] as number[] };
  const found: string[] = [];
  for (let at = 0, size = 1; at < text.length; at += size) {
    let character = text[at]!;
    size = 1;
    if (text.charCodeAt(at) >= 0x80) {
      character = String.fromCodePoint(text.codePointAt(at)!);
      size = character.length;
      // full-width, circled or styled letters count as the plain ones
      character = character.normalize("NFKC");
    }
    for (const letter of character.toLowerCase())
      if (LETTER.test(letter)) {
        found.push(letter);
        kept.starts.push(starts[at]!);
        kept.ends.push(ends[at + size - 1]!);
      }
  }
  return { ...kept, text: found.join("") };
}

/** Backslashes of JSON, percent signs and entities, possibly nested. */
const QUOTED =
  /\\+u[0-9a-f]{4}|\\+x[0-9a-f]{2}|\\+|%[0-9a-f]{2}|&#x[0-9a-f]{1,6};|&#\d{1,7};|&(?:amp|quot|apos|lt|gt|sol|plus|equals|lowbar|hyphen|dash|period|colon|percnt|bsol|num|semi);/gi;
const ENTITIES: Readonly<Record<string, string>> = {
  amp: "&",
  quot: '"',
  apos: "'",
  lt: "<",
  gt: ">",
  sol: "/",
  plus: "+",
  equals: "=",
  lowbar: "_",
  hyphen: "-",
  dash: "-",
  period: ".",
  colon: ":",
  percnt: "%",
  bsol: "\\",
  num: "#",
  semi: ";",
};

function unquoted(text: string): Reading {
  let reading: Reading = {
    text,
    starts: Array.from({ length: text.length }, (_, at) => at),
    ends: Array.from({ length: text.length }, (_, at) => at + 1),
  };
  for (let quotings = 0; quotings < MAX_QUOTINGS; quotings++) {
    const next = withoutOneQuoting(reading);
    if (next === reading) break;
    reading = next;
  }
  return reading;
}

function withoutOneQuoting(reading: Reading): Reading {
  const { text, starts, ends } = reading;
  const parts: string[] = [];
  const first: number[] = [];
  const last: number[] = [];
  let copied = 0;
  const copy = (to: number): void => {
    parts.push(text.slice(copied, to));
    for (let at = copied; at < to; at++) {
      first.push(starts[at]!);
      last.push(ends[at]!);
    }
  };
  for (const { 0: quoted, index } of text.matchAll(QUOTED)) {
    copy(index);
    copied = index + quoted.length;
    const character = characterOf(quoted);
    parts.push(character);
    for (let unit = 0; unit < character.length; unit++) {
      first.push(starts[index]!);
      last.push(ends[copied - 1]!);
    }
  }
  if (copied === 0) return reading;
  copy(text.length);
  return { text: parts.join(""), starts: first, ends: last };
}

/** Returns an empty text for backslashes by themselves, because each level of JSON doubles them. */
function characterOf(quoted: string): string {
  const [mark, kind] = quoted;
  if (mark === "%") return String.fromCharCode(Number.parseInt(quoted.slice(1), 16));
  if (mark === "\\") {
    const code = /[ux]([0-9a-f]+)$/i.exec(quoted)?.[1];
    return code === undefined ? "" : String.fromCharCode(Number.parseInt(code, 16));
  }
  if (kind !== "#") return ENTITIES[quoted.slice(1, -1).toLowerCase()] ?? "";
  const code = /^&#x/i.test(quoted) ? Number.parseInt(quoted.slice(3), 16) : Number.parseInt(quoted.slice(2), 10);
  return code <= 0x10ffff ? String.fromCodePoint(code) : "";
}
