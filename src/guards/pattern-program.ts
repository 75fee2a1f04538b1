// Compiles a regular expression with re2js to the program that the pattern machine runs over text in pieces. The syntax
// is RE2's: it has no backreferences and no lookaround, so every pattern runs in time linear in the text.
// https://github.com/google/re2/wiki/Syntax
import { lazy } from "../core/memoization.ts";
import type * as Re2 from "re2js";

export const MAX_PATTERN = 1000;
/** A long program makes each character of a text costly. */
const MAX_INSTRUCTIONS = 2000;

/** The instructions, grouped by what the machine does with them. */
export const STEP = { branch: 1, pass: 2, assert: 3, match: 4, take: 5, fail: 6 } as const;
type Step = (typeof STEP)[keyof typeof STEP];

/** Bits of `arg` at `assert`: what has to hold between two characters. */
export const AT = { lineBegin: 1, lineEnd: 2, textBegin: 4, textEnd: 8, wordEdge: 16, noWordEdge: 32 } as const;

export interface PatternProgram {
  readonly start: number;
  readonly size: number;
  readonly step: readonly Step[];
  /** The next instruction; for `branch` the first choice. */
  readonly out: readonly number[];
  /** For `branch` the second choice, for `assert` bits of `AT`. */
  readonly arg: readonly number[];
  /** Whether `take` takes a code point. */
  takes(at: number, codePoint: number): boolean;
  /** For each ASCII character, whether `take` takes it (1). Instructions that take the same ones share their table. */
  takenAscii(at: number): Uint8Array;
  takesBeyondAscii(at: number): boolean;
}

/** Says why a pattern cannot be used. */
export class PatternError extends Error {}

interface Instruction {
  readonly op: number;
  readonly out: number;
  readonly arg: number;
  /** Ranges, or one character. */
  readonly runes: ArrayLike<number>;
  matchRune(codePoint: number): boolean;
}

/** The result of re2js, which its types do not declare. A test checks this form. */
interface Compiled {
  readonly re2Input: { readonly prog: { readonly start: number; readonly inst: readonly Instruction[] } };
}

/** Indexed by the operation numbers of re2js. */
const STEPS: readonly (Step | undefined)[] = [
  undefined,
  STEP.branch,
  STEP.branch,
  STEP.pass,
  STEP.assert,
  STEP.fail,
  STEP.match,
  STEP.pass,
  STEP.take,
  STEP.take,
  STEP.take,
  STEP.take,
];
/** The two characters beyond ASCII that are case variants of ASCII letters. */
const LONG_S = 0x17f;
const KELVIN = 0x212a;
/** How many characters ASCII has. */
export const ASCII = 128;
const ANY = 10;
const ANY_BUT_NEWLINE = 11;

/** Throws PatternError. */
export function compilePattern(pattern: string): PatternProgram {
  if (pattern.length > MAX_PATTERN) throw new PatternError(`a pattern has at most ${MAX_PATTERN} characters`);
  const { start, inst } = parsed(pattern);
  if (inst.length > MAX_INSTRUCTIONS)
    throw new PatternError("the pattern is too large: its nested repetitions multiply to too many steps");
  const step = inst.map(({ op }) => {
    const known = STEPS[op];
    if (known === undefined) throw new PatternError("patterns cannot contain look-behind");
    return known;
  });
  const takes = (at: number, codePoint: number): boolean => {
    const one = inst[at]!;
    return one.op === ANY || (one.op === ANY_BUT_NEWLINE ? codePoint !== 10 : one.matchRune(codePoint));
  };
  const tables = new Map<string, Uint8Array>();
  return {
    start,
    size: inst.length,
    step,
    out: inst.map(({ out }) => out),
    arg: inst.map(({ arg }) => arg),
    takesBeyondAscii(at) {
      const { op, runes } = inst[at]!;
      return op >= ANY || runes[runes.length - 1]! > 0x7f || inst[at]!.matchRune(LONG_S) || inst[at]!.matchRune(KELVIN);
    },
    takes,
    takenAscii(at) {
      const { op, arg, runes } = inst[at]!;
      let key = `${op} ${arg}`;
      // one character, or the first and last of each range; what begins beyond ASCII is left out
      for (let first = 0; first < runes.length && (first === 0 || runes[first]! < ASCII); first += 2)
        key += ` ${runes[first]} ${runes[first + 1]}`;
      return tables.getOrInsertComputed(key, () =>
        Uint8Array.from({ length: ASCII }, (_, code) => Number(takes(at, code))),
      );
    },
  };
}

const library = lazy(() => require("re2js") as typeof Re2);

/** Loads the library with the first pattern. Throws the library's error. */
export function linearPattern(pattern: string): Re2.RE2JS {
  return library().RE2JS.compile(pattern);
}

/** The number of instructions of the pattern's program. Throws PatternError. */
export function instructionsOf(pattern: string): number {
  return parsed(pattern).inst.length;
}

function parsed(pattern: string): Compiled["re2Input"]["prog"] {
  try {
    return (linearPattern(pattern) as unknown as Compiled).re2Input.prog;
  } catch (thrown) {
    throw new PatternError((thrown as Error).message.replace(/^error parsing regexp: /, ""));
  }
}
