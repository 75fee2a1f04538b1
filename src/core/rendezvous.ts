// Weighted rendezvous hashing (Thaler and Ravishankar 1998; the weighted score -w / ln h is by Schindelhauer and
// Schomaker). The score of a key and a target does not depend on other targets, so that adding or removing a target
// moves only its own share of the keys.

/** The highest score wins. */
export function rendezvousScore(keyHash: number, target: string, weight: number): number {
  // Half a step is added because the logarithms of 0 and 1 are useless here.
  const share = (finish(hashText(target, keyHash)) + 0.5) / 2 ** 32;
  return -weight / Math.log(share);
}

/** A number of at least 0 and below 1 that depends on the two texts alone, and evenly on the key. */
export function shareOfKey(key: string, place: string): number {
  return finish(hashText(key, hashText(place))) / 2 ** 32;
}

/** FNV-1a over UTF-16 units; `start` continues an earlier hash. */
export function hashText(text: string, start = 0x811c_9dc5): number {
  let hash = start;
  for (let at = 0; at < text.length; at++) hash = Math.imul(hash ^ text.charCodeAt(at), 0x0100_0193);
  return hash;
}

/** The finalizer of MurmurHash3, because FNV alone keeps similar texts close together. */
function finish(hash: number): number {
  let mixed = hash ^ (hash >>> 16);
  mixed = Math.imul(mixed, 0x85eb_ca6b);
  mixed ^= mixed >>> 13;
  mixed = Math.imul(mixed, 0xc2b2_ae35);
  return (mixed ^ (mixed >>> 16)) >>> 0;
}
