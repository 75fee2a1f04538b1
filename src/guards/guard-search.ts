// Searches texts for what guards look for, step by step, so that the thread can do other work in between, for example
// for another tenant. Everything here can be passed to another thread: guards as the sources of their detectors,
// matches as numbers.
import type { Guard, GuardPolicy } from "../core/configured/policy.ts";
import { GuardedText } from "./guarded-text.ts";
import { openDetector, workOf } from "./compile-guard.ts";

/** A policy with a guard, in the form in which it is passed to another thread. */
export type SentGuard = ReturnType<typeof sentGuard>;

export function sentGuard({ id, name, mode, guard }: GuardPolicy) {
  return {
    id,
    name,
    mode,
    action: guard.action,
    mask: guard.mask,
    onError: guard.onError,
    sources: guard.detectors.map(({ source }) => source),
  };
}

export function receivedGuard({ id, name, mode, action, mask, onError, sources }: SentGuard): GuardPolicy {
  const detectors = sources.map(openDetector);
  const guard: Guard = {
    onInput: true,
    onOutput: true,
    action,
    mask,
    onError,
    work: workOf(detectors),
    detectors,
    service: null,
  };
  return unscopedGuard({ id, name, mode, guard });
}

/** A guard that only searches: whether it applies was decided before. */
export function unscopedGuard(policy: Pick<GuardPolicy, "id" | "name" | "mode" | "guard">): GuardPolicy {
  return { kind: "guard", ...policy, message: "", concerns: null, concernsTarget: null, perTarget: false };
}

/** Plain texts and texts that are JSON, of any length and without duplicates. */
export interface Texts {
  readonly plain: readonly string[];
  readonly json: readonly string[];
  /** How many of the plain texts, from the first on, services judge; absent for all. */
  readonly replaceable?: number;
  /** How many of the next ones stand only in values whose JSON is among the texts. The others are names and ids. */
  readonly inJson?: number;
}

export interface Matches {
  /**
   * Five numbers for each match: the index of the text (plain texts come first), the index of the guard, start, end,
   * and the index of the replacement.
   */
  readonly numbers: Int32Array;
  /** The replacements for matches. */
  readonly masks: readonly string[];
  /**
   * The indexes of guards that did not finish within their time, and of those with the most matches where all together
   * have more than can be masked in one turn.
   */
  readonly unsearched: readonly number[];
  /** Why they did not, where that is another reason than time. */
  readonly reasons?: ReadonlyMap<number, string>;
}

/** How many numbers say where a match is. */
export const NUMBERS_A_MATCH = 5;
/** Of at most 100,000 matches. Masking so many takes some 20 ms, in the thread that serves calls. */
const MAX_NUMBERS = 100_000 * NUMBERS_A_MATCH;
/** The most steps of the machine between two pauses: some milliseconds. */
const STEPS_BETWEEN = 200_000;
const LONGEST_PIECE = 16_384;

/** The worst-case number of steps for each character, over all guards. */
export function workOfGuards(guards: readonly GuardPolicy[]): number {
  return guards.reduce((sum, { guard }) => sum + guard.work, 0);
}

/** The number of steps in a tenth of a second, at some 10 ns each. */
const STEPS_OF_A_TENTH = 10_000_000;

/** The cost of guards, as shown to their authors. */
export function guardCost(work: number): {
  readonly steps_per_character: number;
  readonly worst_ms_per_1000_characters: number;
  readonly a_tenth_of_a_second_from_characters: number;
} {
  return {
    steps_per_character: work,
    worst_ms_per_1000_characters: Math.round(((work * 1000) / STEPS_OF_A_TENTH) * 1000) / 10,
    a_tenth_of_a_second_from_characters: Math.max(1, Math.floor(STEPS_OF_A_TENTH / Math.max(1, work))),
  };
}

/** How many characters can be searched between two pauses. */
export function pieceFor(work: number): number {
  return Math.max(1, Math.min(LONGEST_PIECE, Math.floor(STEPS_BETWEEN / Math.max(1, work))));
}

/**
 * Each guard has `clockMs` of time, by `spentMs`, which is the time that this search itself has taken so far. Guards
 * run one after the other, so that a slow guard takes no time from another.
 */
export function* search(
  texts: Texts,
  guards: readonly GuardPolicy[],
  clockMs: number,
  spentMs: () => number,
): Generator<void, Matches> {
  const found = guards.map((): number[] => []);
  const masks = new Map<string, number>();
  const unsearched = new Set<number>();
  const all = [
    ...texts.plain.map((text) => ({ text, isJson: false })),
    ...texts.json.map((text) => ({ text, isJson: true })),
  ];
  for (const [rank, policy] of guards.entries()) {
    const endsMs = spentMs() + clockMs;
    const size = pieceFor(policy.guard.work);
    const numbers = found[rank]!;
    const isOver = (): boolean => spentMs() >= endsMs || numbers.length > MAX_NUMBERS;
    for (const [index, { text, isJson }] of all.entries()) {
      const run = new GuardedText([policy], () => {}, {
        isJson,
        onFound: ({ start, end, mask }) => {
          const known = masks.get(mask) ?? masks.size;
          masks.set(mask, known);
          numbers.push(index, rank, start, end, known);
        },
      });
      for (let at = 0; at < text.length && !isOver(); at += size) {
        run.push(text.slice(at, at + size));
        yield;
      }
      if (!isOver()) run.end();
      if (isOver()) {
        unsearched.add(rank);
        break;
      }
    }
    boundMatches(found, guards, unsearched);
  }
  return { numbers: Int32Array.from(found.flat()), masks: [...masks.keys()], unsearched: [...unsearched] };
}

/** As long as there are too many matches, those of the guard with the most count as not searched. */
function boundMatches(found: number[][], guards: readonly GuardPolicy[], unsearched: Set<number>): void {
  const bounded = new Set<number>();
  let total = found.reduce((sum, { length }) => sum + length, 0);
  while (total > MAX_NUMBERS && bounded.size < found.length) {
    let most = -1;
    for (const [rank, { length }] of found.entries())
      if (!bounded.has(rank) && length > (found[most]?.length ?? -1)) most = rank;
    bounded.add(most);
    unsearched.add(most);
    const numbers = found[most]!;
    // a guard that blocks does so by the first match in a text
    const kept =
      guards[most]!.guard.action === "block"
        ? firstOfEachText(numbers)
        : numbers.slice(0, Math.max(0, numbers.length - (total - MAX_NUMBERS)));
    found[most] = kept;
    total -= numbers.length - kept.length;
  }
}

function firstOfEachText(numbers: readonly number[]): number[] {
  const first: number[] = [];
  for (let at = 0; at < numbers.length; at += NUMBERS_A_MATCH)
    if (numbers[at] !== first.at(-NUMBERS_A_MATCH)) first.push(...numbers.slice(at, at + NUMBERS_A_MATCH));
  return first;
}
