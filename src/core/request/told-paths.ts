// Paths in a request, as headers and records tell them: callers choose the names in them, and they may be as many as the
// items of a conversation.

/** In characters. Proxies and client libraries refuse an answer with a long head. */
const MOST = 1024;
const MAX_PATH = 128;

interface ToldPaths {
  /** In visible ASCII. */
  readonly named: readonly string[];
  /** How many others there are. */
  readonly more: number;
}

/** If there are too many paths, those that differ only in their indexes are named once, without these. */
export function toldPaths(paths: readonly string[]): ToldPaths {
  const visible = paths.map((path) => path.slice(0, MAX_PATH).replaceAll(/[^\x20-\x7e]/g, "?"));
  if (visible.join(",").length <= MOST) return { named: visible, more: 0 };
  const places = [...new Set(visible.map((path) => path.replaceAll(/\[\d+\]/g, "[]")))];
  let length = 0;
  const named = places.filter((place) => (length += place.length + 1) <= MOST);
  return { named, more: places.length - named.length };
}
