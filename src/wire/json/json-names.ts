// The names of members that a scan has met in the objects which are open, to find one that occurs twice in its object
// (promise 3.5). Names are compared as they are decoded: "con\\u0074ent" is "content".

/** The names of an object are compared one by one up to this many; a larger object has a set of its names. */
const MOST_COMPARED = 16;
/** The units of a name that its hash depends on. */
const HASHED = 24;

const BACKSLASH = 0x5c;

/** The first names of the object at each depth. Scans can share the arrays because a scan is synchronous. */
const HASHES = new Int32Array(MOST_COMPARED * 1024);
const STARTS = new Uint32Array(HASHES.length);
const ENDS = new Uint32Array(HASHES.length);

/** The names of large objects that are open, by depth. */
export type LargeObjects = Set<string>[];

/**
 * Adds a name to those of the object at a depth, of which it is the one at `index`. Returns true when the object has it
 * already. The name stands between its quotes from `start` to `end`.
 */
export function repeatsName(
  text: string,
  start: number,
  end: number,
  depth: number,
  index: number,
  large: LargeObjects,
): boolean {
  if (index >= MOST_COMPARED) return repeatsInLarge(text, start, end, depth, index, large);
  const base = depth * MOST_COMPARED;
  const at = base + index;
  const hash = hashOf(text, start, end);
  for (let other = base; other < at; other++)
    if (HASHES[other] === hash && isSame(text, STARTS[other]!, ENDS[other]!, start, end)) return true;
  HASHES[at] = hash;
  STARTS[at] = start;
  ENDS[at] = end;
  return false;
}

function repeatsInLarge(
  text: string,
  start: number,
  end: number,
  depth: number,
  index: number,
  large: LargeObjects,
): boolean {
  let names = large[depth];
  // a text that is not JSON can come to a later name without the one at this index
  if (index === MOST_COMPARED || names === undefined) {
    names = large[depth] = new Set<string>();
    for (let at = depth * MOST_COMPARED; at < (depth + 1) * MOST_COMPARED; at++)
      names.add(decodedName(text, STARTS[at]!, ENDS[at]!));
  }
  return names.size === names.add(decodedName(text, start, end)).size;
}

function hashOf(text: string, start: number, end: number): number {
  let hash = 0;
  for (let at = start, last = Math.min(end, start + HASHED); at < last; at++) {
    const unit = text.charCodeAt(at);
    if (unit === BACKSLASH) return hashOfDecoded(decodedName(text, start, end));
    hash = (Math.imul(hash, 31) + unit) | 0;
  }
  return hash;
}

function hashOfDecoded(name: string): number {
  let hash = 0;
  for (let at = 0, last = Math.min(name.length, HASHED); at < last; at++)
    hash = (Math.imul(hash, 31) + name.charCodeAt(at)) | 0;
  return hash;
}

function isSame(text: string, one: number, oneEnd: number, other: number, otherEnd: number): boolean {
  return decodedName(text, one, oneEnd) === decodedName(text, other, otherEnd);
}

/** A name that is not JSON stays as it is written; the parser, which follows, refuses it. */
export function decodedName(text: string, start: number, end: number): string {
  const written = text.slice(start, end);
  if (!written.includes("\\")) return written;
  try {
    return JSON.parse(`"${written}"`) as string;
  } catch {
    return written;
  }
}
