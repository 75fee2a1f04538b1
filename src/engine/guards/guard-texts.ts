// Collects the texts of a request or an answer for a search in another thread, and prepares the matches for the walk
// that masks them.
import { type Found, UNSEARCHED } from "../../guards/guarded-text.ts";
import type { GuardPolicy } from "../../core/configured/policy.ts";
import { type Matches, NUMBERS_A_MATCH, type Texts } from "../../guards/guard-search.ts";
import type { PriorMatches, TextGuard } from "./text-guard.ts";

/** Collects each text once. `visit` must call the guard with every text. */
export function textsOf(visit: (guard: TextGuard) => unknown): Texts {
  const texts = { plain: new Set<string>(), json: new Set<string>() };
  const fixed = new Set<string>();
  /** By the JSON in which they stand. */
  const nested = new Map<string, Set<string>>();
  const noted = (text: string, kind: "plain" | "json"): string => {
    if (text !== "") texts[kind].add(text);
    return text;
  };
  const unjudged = {
    fixed: (text: string) => void (text !== "" && fixed.add(text)),
    ofName(text: string) {
      if (text !== "") fixed.add(text);
      return text;
    },
  };
  const within = (json: string): TextGuard => {
    const inside = nested.getOrInsertComputed(json, () => new Set());
    return Object.assign((text: string, kind: "plain" | "json") => {
      if (kind === "json") return noted(text, kind);
      if (text !== "") inside.add(text);
      return text;
    }, unjudged);
  };
  visit(
    Object.assign(noted, unjudged, {
      within,
      divided(parts: readonly string[]) {
        noted(parts.join(""), "plain");
        return NOTHING_DIVIDED;
      },
    }),
  );
  const inJson = new Set<string>();
  for (const [json, inside] of nested)
    for (const text of inside) (texts.json.has(json) ? inJson : texts.plain).add(text);
  const replaceable = texts.plain.size;
  const only = inJson.difference(texts.plain);
  const plain = [...texts.plain, ...only, ...fixed.difference(texts.plain).difference(only)];
  return { plain, json: [...texts.json], replaceable, inJson: only.size };
}
const NOTHING_DIVIDED: ReadonlyMap<number, readonly Found[]> = new Map();

/**
 * Prepares the matches in the texts; null means that the search did not finish. Texts without a match are included, so
 * that they are not searched again.
 */
export function priorMatches(texts: Texts, guards: readonly GuardPolicy[], matches: Matches | null): PriorMatches {
  const {
    numbers,
    masks,
    unsearched,
    reasons,
  }: Pick<Matches, "masks" | "unsearched" | "reasons"> & { readonly numbers: ArrayLike<number> } = matches ?? {
    numbers: [],
    masks: [],
    unsearched: guards.keys().toArray(),
  };
  const found = new Map<number, Found[]>();
  for (let at = 0; at < numbers.length; at += NUMBERS_A_MATCH) {
    const one: Found = {
      policy: guards[numbers[at + 1]!]!,
      start: numbers[at + 2]!,
      end: numbers[at + 3]!,
      mask: masks[numbers[at + 4]!]!,
    };
    found.getOrInsertComputed(numbers[at]!, () => []).push(one);
  }
  const matchesOf = (those: readonly string[], first: number): ReadonlyMap<string, readonly Found[]> => {
    const byText = new Map<string, readonly Found[]>();
    for (let index = 0; index < those.length; index++) byText.set(those[index]!, found.get(first + index) ?? NOTHING);
    return byText;
  };
  return {
    plain: matchesOf(texts.plain, 0),
    json: matchesOf(texts.json, texts.plain.length),
    unsearched: new Map(unsearched.map((rank) => [guards[rank]!, reasons?.get(rank) ?? UNSEARCHED])),
  };
}
const NOTHING: readonly Found[] = [];
