// Runs a pattern over a text that arrives in pieces, with at most one thread for each instruction, in order of
// preference, as in RE2 (Russ Cox, "Regular Expression Matching: the Virtual Machine Approach"). The result does not
// depend on where the pieces are cut, and the start of the oldest match that could still grow is known at every moment.
import type { Detector, DetectorRun, TextWindow } from "../core/configured/policy.ts";
import { ASCII, AT, type PatternProgram, STEP } from "./pattern-program.ts";
import { spend } from "./work-meter.ts";

export interface PatternDetector {
  readonly mask: string;
  readonly source: string;
  /** Worst-case steps for each character; by default the number of instructions of the program. */
  readonly work?: number;
  readonly program: PatternProgram;
  /** The longest match in UTF-16 units; longer matches are not found. */
  readonly maxLength: number;
  /** How many units of a match are accepted, given the text before it; 0 rejects it. By default all of them. */
  readonly accept?: (match: string, before: string) => number;
  readonly folds?: boolean;
  /** For a pattern that itself has characters which folding changes, in its folded form. */
  readonly foldedProgram?: PatternProgram | undefined;
  /** As in FoldedRuns; absent where it is false. */
  readonly composes?: boolean;
  /** A search for something that every match contains. */
  readonly hint?: Hint;
}

/** A search with the much faster regular expressions of the language, which has to succeed before the machine runs. */
export interface Hint {
  readonly search: HintSearch;
  /** The most units of a match before its hint begins. */
  readonly lead: number;
}

/** One search shared by several detectors, all of which search the same text. */
export class HintSearch {
  /** The most units that the shortest text for the hint needs. */
  readonly length: number;
  readonly #pattern: RegExp;
  #text = "";
  #from = -1;
  #found = -1;

  constructor(pattern: RegExp, length: number) {
    this.#pattern = new RegExp(pattern.source, "g");
    this.length = length;
  }

  /** The index of the next occurrence at or after `from`; Infinity when there is none. */
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
  let foldedMachine: Machine | null = null;
  const { foldedProgram } = options;
  const ready = (): Machine => (machine ??= new Machine(options));
  const foldedReady = (): Machine =>
    foldedProgram === undefined ? ready() : (foldedMachine ??= new Machine({ ...options, program: foldedProgram }));
  return {
    mask: options.mask,
    folds: options.folds === true,
    source: options.source,
    work: options.work ?? options.program.size,
    ...(options.folds !== true && {
      folded: {
        isSame: foldedProgram === undefined,
        composes: options.composes === true,
        open: (at: number) => new MachineRun(foldedReady(), at),
      },
    }),
    get isReady() {
      return machine !== null;
    },
    open: () => new MachineRun(ready(), 0),
  };
}

/** Whether the pattern matches the empty text. */
export function matchesNothing(program: PatternProgram): boolean {
  return reached(program, [program.start]).isMatch;
}

/** How many characters (as a power of two) are skipped in the time of one step. */
const SKIPPED_BITS = 3;
/** How many units before a match are passed to `accept`. */
export const MAX_BEFORE = 48;
/** Steps counted for each character of a match in `accept`, which uses regular expressions of the language. */
const ACCEPTING = 8;
const END = -1;
const NOWHERE = 0;
const ANYWHERE = 1;
const AT_EDGE = 2;

/**
 * The instructions that can take the next character in any context that does not require `never`, and whether the
 * pattern can end before that character.
 */
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
  /** Whether a match can begin with a character beyond ASCII. */
  readonly beginsBeyond: boolean;
  /** Whether a match that begins with the first ASCII character can continue with the second. */
  readonly goesOn: Uint8Array;
  /** For each instruction that takes characters, the ASCII characters that it takes. */
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
    this.#taken = program.step.map((step, at) => (step === STEP.take ? program.takenAscii(at) : null));
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
    const able = this.#tablesOf(first);
    // what can follow is the same for all characters that the same instructions take
    const rows = new Map<string, Uint8Array>();
    for (let code = 0; code < ASCII; code++) {
      if (this.begins[code] === NOWHERE) continue;
      const taken = able.map((ascii) => ascii[code]).join("");
      table.set(
        rows.getOrInsertComputed(taken, () => this.#takenAfter(first, code)),
        code * ASCII,
      );
    }
    return table;
  }

  /** For each ASCII character, whether a match can continue with it once these instructions have taken `code`. */
  #takenAfter(first: readonly number[], code: number): Uint8Array {
    const { takes, isMatch } = reached(
      this.program,
      first.filter((at) => this.#taken[at]![code] === 1).map((at) => this.program.out[at]!),
    );
    const tables = this.#tablesOf(takes);
    return Uint8Array.from({ length: ASCII }, (_, next) =>
      Number(isMatch || tables.some((ascii) => ascii[next] === 1)),
    );
  }

  #tablesOf(takes: readonly number[]): readonly Uint8Array[] {
    return [...new Set(takes.map((at) => this.#taken[at]!))];
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
   * Follows one thread from `from` to the instructions that take `codePoint`, and adds their successors to `into`.
   * Returns true when the thread reached the end of the pattern: threads of lower preference no longer matter then.
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
          // An empty match does not count.
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

/** Threads in the order of preference, which is also the order of their starts. */
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
  #at: number;
  /** The best match so far among those that start earliest; -1 when there is none. */
  #bestStart = -1;
  #bestEnd = -1;

  constructor(machine: Machine, at: number) {
    this.#machine = machine;
    this.#at = at;
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

  /** Skips to the next position where a match can begin, judged by two characters. */
  #skip({ text, base, limit }: TextWindow): void {
    const { begins, beginsBeyond, goesOn, hint } = this.#machine;
    let index = this.#at - base;
    const end = limit - base;
    if (hint !== null && end - index > hint.search.length + hint.lead) {
      // Near the end of the text, an occurrence of the hint may be incomplete.
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
    // A match that starts here would start later than the one already found.
    if (this.#bestStart < 0 && codePoint !== END)
      machine.follow(machine.program.start, position, position, codePoint, width, around, next);
    this.#now = next;
    this.#next = now;
    this.#at = position + width;
    machine.spendSteps();
  }

  /** No thread is left: the best match is final, and the search continues after it. */
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
