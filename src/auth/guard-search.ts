// What guards find in texts, looked for step by step, so that whoever runs it can do something else in between: in a thread that serves many tenants the work of
// another. Everything here can be handed to another thread: guards as the sources of their detectors, matches as numbers.
import type { Guard } from "../core/policy.ts";
import { GuardedText, type GuardPolicy } from "./guarded-text.ts";
import { openDetector, workOf } from "./policy-guard.ts";

/** A policy with a guard, as another thread takes it. */
export interface SentGuard {
  readonly id: string;
  readonly name: string;
  readonly mode: "enforce" | "audit";
  readonly action: "block" | "mask";
  readonly mask: string | null;
  readonly onError: "block" | "allow";
  readonly sources: readonly string[];
}

export function sentGuard({ id, name, mode, guard }: GuardPolicy): SentGuard {
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
  const guard: Guard = { onInput: true, onOutput: true, action, mask, onError, work: workOf(detectors), detectors };
  return { id, name, mode, guard, message: "", concerns: null, concernsTarget: null, perTarget: false, rule: null };
}

/** Texts by what they are; each once. */
export interface Texts {
  readonly words: readonly string[];
  readonly json: readonly string[];
}

export interface Matches {
  /** Five numbers for each: the text (those of `words` first), the guard, start, end, and the words in its place. */
  readonly numbers: Int32Array;
  /** What stands in place of matches. */
  readonly masks: readonly string[];
  /** Guards that did not come to an end within their time. */
  readonly unlooked: readonly number[];
}

/** Steps of the machine between two pauses, at the worst: some milliseconds. */
const STEPS_BETWEEN = 200_000;
const LONGEST_PIECE = 16_384;

/** Steps for each character of a text, at the worst, that all of them look at. */
export function workOfGuards(guards: readonly GuardPolicy[]): number {
  return guards.reduce((sum, { guard }) => sum + guard.work, 0);
}

/** Steps of the machine that are a tenth of a second, some 10 ns each. */
const STEPS_OF_A_TENTH = 10_000_000;

/** What guards may cost, as it is told to who writes them. */
export function toldCost(work: number): {
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

/** Characters that can be looked at between two pauses. */
export function pieceFor(work: number): number {
  return Math.max(1, Math.min(LONGEST_PIECE, Math.floor(STEPS_BETWEEN / Math.max(1, work))));
}

/** `spentMs`: time that this search itself has taken so far; each guard has `clockMs` of it. One after the other, so that a slow guard takes no time from another. */
export function* search(
  texts: Texts,
  guards: readonly GuardPolicy[],
  clockMs: number,
  spentMs: () => number,
): Generator<void, Matches> {
  const numbers: number[] = [];
  const masks = new Map<string, number>();
  const unlooked: number[] = [];
  const all = [
    ...texts.words.map((text) => ({ text, isJson: false })),
    ...texts.json.map((text) => ({ text, isJson: true })),
  ];
  for (const [rank, policy] of guards.entries()) {
    const endsMs = spentMs() + clockMs;
    const size = pieceFor(policy.guard.work);
    for (const [index, { text, isJson }] of all.entries()) {
      const run = new GuardedText([policy], () => {}, {
        isJson,
        onFound: ({ start, end, mask }) => {
          const known = masks.get(mask) ?? masks.size;
          masks.set(mask, known);
          numbers.push(index, rank, start, end, known);
        },
      });
      for (let at = 0; at < text.length && spentMs() < endsMs; at += size) {
        run.push(text.slice(at, at + size));
        yield;
      }
      if (spentMs() >= endsMs) {
        unlooked.push(rank);
        break;
      }
      run.end();
    }
  }
  return { numbers: Int32Array.from(numbers), masks: [...masks.keys()], unlooked };
}
