// Guards as a function of one text, which is searched by itself or with matches that were found in advance. What the
// texts of a request or an answer are is decided in guard-request.ts and guard-answer.ts.
import type { GuardPolicy } from "../../core/configured/policy.ts";
import type { Texts } from "../../guards/guard-search.ts";
import type { MaskedPlaces } from "../../guards/masked-places.ts";
import type { JoinedText } from "../../providers/interface/encoded-request.ts";
import {
  BlockedText,
  type Found,
  GuardedText,
  type GuardedTextOptions,
  type GuardFinding,
  guardFound,
  guardText,
  noteUnsearched,
} from "../../guards/guarded-text.ts";

export interface TextGuard {
  /**
   * `across` are matches that extend beyond this text; they are added to the matches within it. `masked` receives
   * the places at which a plain text was masked.
   */
  (text: string, kind: "plain" | "json", across?: readonly Found[], masked?: MaskedPlaces): string;
  /**
   * Searches a text that cannot be replaced. Throws BlockedText for a match, even if the guard masks. If the method is
   * missing, such texts are not searched.
   */
  readonly fixed?: (text: string) => void;
  /**
   * Searches a name that can be replaced, which no service judges. If the method is missing, it is searched as plain
   * text.
   */
  readonly ofName?: (text: string) => string;
  /**
   * Returns the guard for the texts of a value that stands elsewhere as this JSON text, about which services are asked. If
   * the method is missing, they are searched as any other texts.
   */
  readonly within?: (json: string) => TextGuard;
  /**
   * Searches adjacent texts for matches that extend over several of them. Returns the part of each text, by its index.
   */
  readonly divided?: (texts: readonly string[]) => ReadonlyMap<number, readonly Found[]>;
}

/** Something with texts that guards search. */
export interface Searched<T> {
  /** What it is before guards have searched it. */
  readonly given: T;
  /** Returns how long its texts are, from which the work of a search is estimated. */
  readonly characters: () => number;
  /** Calls the guard with each text, and returns what its results make of the whole. */
  readonly walk: (guard: TextGuard) => T;
}

export function searchedText(text: string): Searched<string> {
  return { given: text, characters: () => text.length, walk: (guard) => guard(text, "plain") };
}

const AS_JSON: GuardedTextOptions = { isJson: true };

/** Matches that were found in advance, by kind and text. */
export interface PriorMatches extends Readonly<Record<"plain" | "json", ReadonlyMap<string, readonly Found[]>>> {
  /** The guards whose search did not finish, although they may have found something, and why. */
  readonly unsearched: ReadonlyMap<GuardPolicy, string>;
}

/** Throws BlockedText if a guard did not finish its search in advance, and blocks in that case. */
export function textGuard(
  guards: readonly GuardPolicy[],
  onFinding: GuardFinding,
  prior: PriorMatches | null = null,
): TextGuard {
  noteUnfinished(guards, onFinding, prior);
  const asked = guards.filter(({ guard }) => guard.service !== null);
  const ranks = new Map(guards.map((policy, rank) => [policy, rank]));
  const rankOf = ({ policy }: Found): number => ranks.get(policy) ?? -1;
  const guard: TextGuard = (text, kind, across, masked) => {
    if (text === "") return text;
    const options = kind === "json" ? AS_JSON : masked && { masked };
    const found = prior?.[kind].get(text);
    if (across !== undefined) {
      const all = [...across, ...(found ?? searchText(text, guards, options))];
      // findings are reported in the order of the guards
      const inTurn = all.toSorted((one, other) => rankOf(one) - rankOf(other));
      return guardFound(text, inTurn, guards, onFinding, options);
    }
    return found === undefined
      ? guardText(text, guards, onFinding, options)
      : guardFound(text, found, guards, onFinding, options);
  };
  // a service can be asked only in advance
  const judged: TextGuard = (text, kind, across, masked) => {
    if (text !== "" && prior?.[kind].has(text) !== true)
      for (const policy of asked) noteUnsearched(policy, onFinding, UNASKED);
    return guard(text, kind, across, masked);
  };
  const hasPatterns = guards.some(({ guard: { detectors } }) => detectors.some(({ folds }) => !folds));
  const whole = asked.length === 0 ? guard : Object.assign(judged, { ofName: (text: string) => guard(text, "plain") });
  return Object.assign(whole, {
    divided: (texts: readonly string[]) => dividedBetween(texts, guards, prior),
    fixed(text: string) {
      // built-in detectors never match a short word of letters
      if (text === "" || (!hasPatterns && /^[A-Za-z_]{1,20}$/.test(text))) return;
      for (const { policy } of prior?.plain.get(text) ?? searchText(text, guards))
        if (ranks.has(policy)) foundUnreplaceable(policy, onFinding);
    },
  });
}

/** Throws BlockedText if the search in advance did not finish for a guard that blocks in that case. */
function noteUnfinished(guards: readonly GuardPolicy[], onFinding: GuardFinding, prior: PriorMatches | null): void {
  if (prior === null || prior.unsearched.size === 0) return;
  for (const policy of guards) {
    const why = prior.unsearched.get(policy);
    if (why !== undefined) noteUnsearched(policy, onFinding, why);
  }
}

/** Reports a match that cannot be masked. Throws BlockedText unless the guard only reports. */
function foundUnreplaceable(policy: GuardPolicy, onFinding: GuardFinding): void {
  const isMask = policy.guard.action === "mask";
  onFinding(policy, isMask && policy.mode === "enforce" ? UNREPLACEABLE : undefined);
  if (policy.mode === "enforce") throw new BlockedText(policy, isMask ? UNREPLACEABLE : null);
}

/**
 * Searches texts that are made of others, which have been searched and masked, for matches that none of those has by
 * itself: they extend over several, and cannot be masked. Throws BlockedText.
 */
export function requireNothingJoined(
  joined: readonly JoinedText[],
  guards: readonly GuardPolicy[],
  onFinding: GuardFinding,
  prior: PriorMatches | null,
): void {
  noteUnfinished(guards, onFinding, prior);
  const those = new Set(guards);
  const matchesOf = (one: string): readonly { readonly policy: GuardPolicy; readonly key: string }[] =>
    (prior?.plain.get(one) ?? searchText(one, guards))
      .filter(({ policy }) => those.has(policy))
      .map(({ policy, start, end }) => ({ policy, key: `${policy.id}\n${one.slice(start, end)}` }));
  for (const { text, pieces } of joined) {
    const found = matchesOf(text);
    if (found.length === 0) continue;
    const own = new Map<string, number>();
    for (const { key } of pieces.flatMap(matchesOf)) own.set(key, (own.get(key) ?? 0) + 1);
    for (const { policy, key } of found) {
      const left = own.get(key) ?? 0;
      if (left === 0) foundUnreplaceable(policy, onFinding);
      else own.set(key, left - 1);
    }
  }
}

/** Searches each text once, in this thread. */
export function matchesIn({ plain, json }: Texts, guards: readonly GuardPolicy[]): PriorMatches {
  return {
    plain: new Map(plain.map((text) => [text, searchText(text, guards)])),
    json: new Map(json.map((text) => [text, searchText(text, guards, AS_JSON)])),
    unsearched: new Map(),
  };
}

/** Why a service has not judged a text: it was found where nothing can be awaited. */
const UNASKED = "the guard's service was not asked about this text";

/** Why a guard blocks a call although it is set to mask. */
export const UNREPLACEABLE = "the guard found a match in a place where it cannot be masked";

interface Place {
  readonly text: string;
  readonly start: number;
  readonly end: number;
}

function dividedBetween(
  texts: readonly string[],
  guards: readonly GuardPolicy[],
  prior: PriorMatches | null,
): ReadonlyMap<number, readonly Found[]> {
  const joined = texts.join("");
  let end = 0;
  const places = texts.map((text): Place => ({ text, start: end, end: (end += text.length) }));
  const parts = new Map<number, Found[]>();
  const those = new Set(guards);
  const own = new Map<number, ReadonlyMap<GuardPolicy, readonly Found[]>>();
  const foundIn = (index: number): ReadonlyMap<GuardPolicy, readonly Found[]> => {
    const { text, start } = places[index]!;
    const found = (prior?.plain.get(text) ?? searchText(text, guards)).map((one) => ({
      ...one,
      start: one.start + start,
      end: one.end + start,
    }));
    return Map.groupBy(found, ({ policy }) => policy);
  };
  for (const found of prior?.plain.get(joined) ?? searchText(joined, guards)) {
    const first = placeAt(places, found.start);
    const last = placeAt(places, found.end - 1);
    if (first === last || !those.has(found.policy)) continue;
    const indexes = Array.from({ length: last - first + 1 }, (_, index) => first + index).filter(
      (index) => places[index]!.text !== "",
    );
    // if the guard also has a match within one of the texts, that match is masked by itself
    const isOwn = (one: Found): boolean => one.start < found.end && found.start < one.end;
    if (indexes.some((index) => own.getOrInsertComputed(index, foundIn).get(found.policy)?.some(isOwn))) continue;
    for (const index of indexes) {
      const { start } = places[index]!;
      // no text is emptied entirely, because some providers refuse empty parts
      parts
        .getOrInsertComputed(index, () => [])
        .push({
          ...found,
          start: Math.max(found.start, start) - start,
          end: Math.min(found.end, places[index]!.end) - start,
          mask: found.start >= start || found.end >= places[index]!.end ? found.mask : "",
        });
    }
  }
  return parts;
}

/** Returns the index of the text that contains a position of the joined text. */
function placeAt(places: readonly Place[], position: number): number {
  let low = 0;
  let high = places.length - 1;
  while (low < high) {
    const middle = (low + high) >> 1;
    if (places[middle]!.end > position) high = middle;
    else low = middle + 1;
  }
  return low;
}

function searchText(text: string, guards: readonly GuardPolicy[], options?: GuardedTextOptions): readonly Found[] {
  const all: Found[] = [];
  new GuardedText(guards, () => {}, { ...options, onFound: (found) => all.push(found) }).end(text);
  return all;
}
