// Runs a pattern over a text that comes in pieces: at most one thread for each instruction, in the order of preference, as in RE2 (Russ Cox, "Regular
// Expression Matching: the Virtual Machine Approach"). Where the pieces are cut makes no difference, and it is known at every moment where the oldest
// match that could still be growing began.
import type { Detector, DetectorRun, TextWindow } from "../core/policy.ts";
import { AT, type PatternProgram, STEP } from "./pattern-program.ts";
import { spend } from "./work-meter.ts";

export interface PatternDetector {
  readonly mask: string;
  readonly source: string;
  /** Steps for each character at the worst; left out: as many as the program has instructions. */
  readonly work?: number;
  readonly program: PatternProgram;
  /** UTF-16 units of a match at most: what grows longer is not looked for. */
  readonly maxLength: number;
  /** How much of a match is really one, by the text before it; 0: nothing. Left out: all of it. */
  readonly accept?: (match: string, before: string) => number;
  readonly folds?: boolean;
  /** What every match has in it. */
  readonly hint?: Hint;
}

/** Where a search of the language's own, which is many times quicker, has to find something before it is worth while to look closely. */
export interface Hint {
  readonly search: HintSearch;
  /** Units of a match at most before the hint in it begins. */
  readonly lead: number;
}

/** One search for all detectors that share it: each asks for the same text. */
export class HintSearch {
  /** Units of the shortest text at most that is enough for the hint. */
  readonly length: number;
  readonly #pattern: RegExp;
  #text = "";
  #from = -1;
  #found = -1;

  constructor(pattern: RegExp, length: number) {
    this.#pattern = new RegExp(pattern.source, "g");
    this.length = length;
  }

  /** Index of the next one from `from` on; Infinity: there is none. */
  next(text: string, from: number): number {
    if (from >= this.#from && from <= this.#found && text === this.#text) return this.#found;
    this.#pattern.lastIndex = from;
    const found = this.#pattern.exec(text);
    this.#text = text;
    this.#from = from;
    return (this.#found = found === null ? Number.POSITIVE_INFINITY : found.index);
  }
}

export function patternDetector(options: PatternDetector): Detector {
  let machine: Machine | null = null;
  return {
    mask: options.mask,
    folds: options.folds === true,
    source: options.source,
    work: options.work ?? options.program.size,
    get isReady() {
      return machine !== null;
    },
    open: () => new MachineRun((machine ??= new Machine(options))),
  };
}

/** Whether the pattern matches where there is nothing to match. */
export function matchesNothing(program: PatternProgram): boolean {
  return reached(program, [program.start]).isMatch;
}

const ASCII = 128;
/** So many characters (as a power of two) are passed over in the time of a step. */
const SKIPPED_BITS = 3;
/** Units before a match that are told with it. */
export const MAX_BEFORE = 48;
/** Steps that it takes to judge a character of a whole match, which is done by expressions of the language. */
const ACCEPTING = 8;
const END = -1;
const NOWHERE = 0;
const ANYWHERE = 1;
const AT_EDGE = 2;

/** The instructions that can take the next character, whatever stands around it, but for what `never` holds; and whether the pattern can end before it. */
function reached(
  { step, out, arg }: PatternProgram,
  from: readonly number[],
  never = 0,
): { readonly takes: readonly number[]; readonly isMatch: boolean } {
  const seen = new Set<number>();
  const takes: number[] = [];
  const waiting = [...from];
  let isMatch = false;
  for (let at = waiting.pop(); at !== undefined; at = waiting.pop()) {
    if (seen.has(at)) continue;
    seen.add(at);
    if (step[at] === STEP.take) takes.push(at);
    else if (step[at] === STEP.match) isMatch = true;
    else if (step[at] === STEP.branch) waiting.push(out[at]!, arg[at]!);
    else if (step[at] !== STEP.fail && !(step[at] === STEP.assert && (arg[at]! & never) !== 0)) waiting.push(out[at]!);
  }
  return { takes, isMatch };
}

/** What all runs of one pattern share: tables, and working space of a single step. */
class Machine {
  readonly program: PatternProgram;
  readonly maxLength: number;
  readonly accept: PatternDetector["accept"];
  readonly hint: Hint | null;
  /** Where a match can begin with this ASCII character: `NOWHERE`, `ANYWHERE`, or `AT_EDGE` of a word. */
  readonly begins: Uint8Array;
  /** Whether it can begin with any other. */
  readonly beginsBeyond: boolean;
  /** Whether one that begins with the first ASCII character can go on with the second. */
  readonly goesOn: Uint8Array;
  /** For each instruction that takes characters, the ASCII ones. */
  readonly #taken: readonly (Uint8Array | null)[];
  readonly #seen: Int32Array;
  readonly #stack: Int32Array;
  #generation = 0;
  #steps = 0;

  constructor({ program, maxLength, accept, hint }: PatternDetector) {
    this.program = program;
    this.maxLength = maxLength;
    this.accept = accept;
    this.hint = hint ?? null;
    this.#seen = new Int32Array(program.size);
    this.#stack = new Int32Array(2 * program.size + 2);
    this.#taken = program.step.map((step, at) =>
      step === STEP.take ? Uint8Array.from({ length: ASCII }, (_, code) => Number(program.takes(at, code))) : null,
    );
    const first = reached(program, [program.start]).takes;
    const inside = new Set(reached(program, [program.start], AT.wordEdge).takes);
    this.begins = Uint8Array.from({ length: ASCII }, (_, code) => {
      const able = first.filter((at) => this.#taken[at]![code] === 1);
      return able.length === 0 ? NOWHERE : able.some((at) => inside.has(at)) ? ANYWHERE : AT_EDGE;
    });
    this.beginsBeyond = first.some((at) => program.takesBeyondAscii(at));
    this.goesOn = this.#secondTakes(first);
  }

  #secondTakes(first: readonly number[]): Uint8Array {
    const table = new Uint8Array(ASCII * ASCII);
    for (let code = 0; code < ASCII; code++) {
      if (this.begins[code] === NOWHERE) continue;
      const { takes, isMatch } = reached(
        this.program,
        first.filter((at) => this.#taken[at]![code] === 1).map((at) => this.program.out[at]!),
      );
      for (let next = 0; next < ASCII; next++)
        table[code * ASCII + next] = Number(isMatch || takes.some((at) => this.#taken[at]![next] === 1));
    }
    return table;
  }

  nextStep(): void {
    this.#generation += 1;
  }

  /** Throws TooMuchWork. */
  spendSteps(): void {
    const steps = this.#steps;
    this.#steps = 0;
    spend(steps);
  }

  /**
   * Follows one thread from `from` to the instructions that take `codePoint`, and adds what comes after them to `into`. True when it came to the end of the
   * pattern: threads of lower preference are then of no interest.
   */
  follow(
    from: number,
    start: number,
    position: number,
    codePoint: number,
    width: number,
    around: number,
    into: Threads,
  ): boolean {
    const { step, out, arg } = this.program;
    const seen = this.#seen;
    const stack = this.#stack;
    const generation = this.#generation;
    let depth = 0;
    stack[depth++] = from;
    while (depth > 0) {
      const at = stack[--depth]!;
      this.#steps++;
      if (seen[at] === generation) continue;
      seen[at] = generation;
      switch (step[at]) {
        case STEP.branch:
          stack[depth++] = arg[at]!;
          stack[depth++] = out[at]!;
          break;
        case STEP.pass:
          stack[depth++] = out[at]!;
          break;
        case STEP.assert:
          if ((arg[at]! & ~around) === 0) stack[depth++] = out[at]!;
          break;
        case STEP.take:
          if (codePoint !== END && position + width - start <= this.maxLength && this.#takes(at, codePoint))
            into.add(out[at]!, start);
          break;
        case STEP.match:
          // a match of nothing is none
          if (position > start) return true;
          break;
        default:
      }
    }
    return false;
  }

  #takes(at: number, codePoint: number): boolean {
    return codePoint < ASCII ? this.#taken[at]![codePoint] === 1 : this.program.takes(at, codePoint);
  }
}

/** Threads in the order of preference, which is also that of their beginnings. */
class Threads {
  readonly at: Int32Array;
  readonly start: Float64Array;
  count = 0;
  constructor(size: number) {
    this.at = new Int32Array(size);
    this.start = new Float64Array(size);
  }
  add(at: number, start: number): void {
    this.at[this.count] = at;
    this.start[this.count++] = start;
  }
}

class MachineRun implements DetectorRun {
  readonly #machine: Machine;
  #now: Threads | null = null;
  #next: Threads | null = null;
  /** Position of the next character. */
  #at = 0;
  /** The best match so far of those that could begin no later; -1: none. */
  #bestStart = -1;
  #bestEnd = -1;

  constructor(machine: Machine) {
    this.#machine = machine;
  }

  advance(window: TextWindow, found: (start: number, end: number) => void): number {
    const { text, base, limit, isEnd } = window;
    for (;;) {
      if (this.#isIdle()) this.#skip(window);
      if (this.#at >= limit) {
        if (!isEnd || this.#isIdle()) break;
        this.#step(END, 0, window);
        this.#conclude(text, base, found);
        continue;
      }
      const codePoint = text.codePointAt(this.#at - base)!;
      this.#step(codePoint, codePoint > 0xffff ? 2 : 1, window);
      if (this.#now!.count === 0) this.#conclude(text, base, found);
    }
    return this.#now !== null && this.#now.count > 0 ? this.#now.start[0]! : this.#at;
  }

  #isIdle(): boolean {
    return (this.#now === null || this.#now.count === 0) && this.#bestStart < 0;
  }

  /** To the next place where a match can begin, by what two characters tell. */
  #skip({ text, base, limit }: TextWindow): void {
    const { begins, beginsBeyond, goesOn, hint } = this.#machine;
    let index = this.#at - base;
    const end = limit - base;
    if (hint !== null && end - index > hint.search.length + hint.lead) {
      // near the end one may be incomplete
      const least = Math.min(hint.search.next(text, index), end - hint.search.length) - hint.lead;
      if (least > index) index = least;
    }
    for (; index < end; index++) {
      const code = text.charCodeAt(index);
      if (code >= ASCII) {
        if (beginsBeyond) break;
        continue;
      }
      const where = begins[code];
      if (where === NOWHERE || (where === AT_EDGE && index > 0 && isWord(text.charCodeAt(index - 1)) === isWord(code)))
        continue;
      const next = index + 1 < end ? text.charCodeAt(index + 1) : ASCII;
      if (next >= ASCII || goesOn[code * ASCII + next] === 1) break;
    }
    spend((base + index - this.#at) >> SKIPPED_BITS);
    this.#at = base + index;
  }

  #step(codePoint: number, width: number, { text, base }: TextWindow): void {
    const machine = this.#machine;
    const now = (this.#now ??= new Threads(machine.program.size));
    const next = (this.#next ??= new Threads(machine.program.size));
    const position = this.#at;
    const around = surroundings(before(text, position - base), codePoint);
    next.count = 0;
    machine.nextStep();
    let cut = false;
    for (let index = 0; index < now.count && !cut; index++) {
      const start = now.start[index]!;
      cut = machine.follow(now.at[index]!, start, position, codePoint, width, around, next);
      if (cut) {
        this.#bestStart = start;
        this.#bestEnd = position;
      }
    }
    // what begins here begins later than what has been found
    if (this.#bestStart < 0 && codePoint !== END)
      machine.follow(machine.program.start, position, position, codePoint, width, around, next);
    this.#now = next;
    this.#next = now;
    this.#at = position + width;
    machine.spendSteps();
  }

  /** No thread is left: the best match stands, and the search goes on behind it. */
  #conclude(text: string, base: number, found: (start: number, end: number) => void): void {
    if (this.#now !== null) this.#now.count = 0;
    if (this.#bestStart < 0) return;
    const start = this.#bestStart;
    if (this.#machine.accept !== undefined) spend((this.#bestEnd - this.#bestStart) * ACCEPTING);
    const length =
      this.#machine.accept === undefined
        ? this.#bestEnd - start
        : this.#machine.accept(
            text.slice(start - base, this.#bestEnd - base),
            text.slice(Math.max(0, start - base - MAX_BEFORE), start - base),
          );
    this.#bestStart = -1;
    if (length > 0) found(start, start + length);
    this.#at = start + Math.max(length, 1);
  }
}

/** The code point that ends before `index`; -1 at the beginning. */
function before(text: string, index: number): number {
  if (index <= 0) return END;
  const code = text.charCodeAt(index - 1);
  return code >= 0xdc00 && code <= 0xdfff && index > 1 ? text.codePointAt(index - 2)! : code;
}

function surroundings(previous: number, next: number): number {
  let around = isWord(previous) === isWord(next) ? AT.noWordEdge : AT.wordEdge;
  if (previous === END) around |= AT.textBegin | AT.lineBegin;
  else if (previous === 10) around |= AT.lineBegin;
  if (next === END) around |= AT.textEnd | AT.lineEnd;
  else if (next === 10) around |= AT.lineEnd;
  return around;
}

function isWord(code: number): boolean {
  return (code >= 97 && code <= 122) || (code >= 48 && code <= 57) || (code >= 65 && code <= 90) || code === 95;
}
