// Many rows in parts, because databases limit the values of a statement, and a long statement keeps others waiting.

/** In their order, each part with `most` of them but the last; no part where there are none. */
export function* inParts<T>(rows: readonly T[], most: number): Iterable<readonly T[]> {
  for (let at = 0; at < rows.length; at += most) yield rows.slice(at, at + most);
}
