// Runs a pattern over a text that comes in pieces: at most one thread for each instruction, in the order of preference, as in RE2 (Russ Cox, "Regular
// Expression Matching: the Virtual Machine Approach"). Where the pieces are cut makes no difference, and it is known at every moment where the oldest
// match that could still be growing began.
import type { Detector, DetectorRun, TextWindow } from "../core/policy.ts";
import { AT, type PatternProgram, STEP } from "./pattern-program.ts";

export interface PatternDetector {
  readonly mask: string;
  readonly program: PatternProgram;
  /** UTF-16 units of a match at most: what grows longer is not looked for. */
  readonly maxLength: number;
  /** How much of a match is really one; 0: nothing. Left out: all of it. */
  readonly accept?: (match: string) => number;
}

export function patternDetector(options: PatternDetector): Detector {
  let machine: Machine | null = null;
  return { mask: options.mask, open: () => new MachineRun((machine ??= new Machine(options))) };
}

/** Whether the pattern matches where there is nothing to match. */
export function matchesNothing(program: PatternProgram): boolean {
  const machine = new Machine({ mask: "", program, maxLength: 1 });
  return machine.reachesMatch();
}

const ASCII = 128;
const END = -1;

/** What all runs of one pattern share: tables, and working space of a single step. */
class Machine {
  readonly program: PatternProgram;
  readonly maxLength: number;
  readonly accept: ((match: string) => number) | null;
  /** Whether a match can begin with this ASCII character, and with any other. */
  readonly begins: Uint8Array;
  readonly beginsBeyond: boolean;
  /** For each instruction that takes characters, the ASCII ones. */
  readonly #taken: readonly (Uint8Array | null)[];
  readonly #seen: Int32Array;
  readonly #stack: Int32Array;
  #generation = 0;

  constructor({ program, maxLength, accept }: PatternDetector) {
    this.program = program;
    this.maxLength = maxLength;
    this.accept = accept ?? null;
    this.#seen = new Int32Array(program.size);
    this.#stack = new Int32Array(2 * program.size + 2);
    this.#taken = program.step.map((step, at) => (step === STEP.take ? Uint8Array.from({ length: ASCII }, (_, code) => Number(program.takes(at, code))) : null));
    const first = this.#firstTakes();
    this.begins = Uint8Array.from({ length: ASCII }, (_, code) => Number(first.some((at) => this.#taken[at]![code] === 1)));
    this.beginsBeyond = first.some((at) => program.takesBeyondAscii(at));
  }

  /** Instructions that can take the first character, whatever stands around it. */
  #firstTakes(): readonly number[] {
    const found: number[] = [];
    this.#closure((at) => found.push(at));
    return found;
  }

  reachesMatch(): boolean {
    return this.#closure(() => {});
  }

  #closure(onTake: (at: number) => void): boolean {
    const { start, step, out, arg } = this.program;
    const seen = new Set<number>();
    const waiting = [start];
    let reached = false;
    for (let at = waiting.pop(); at !== undefined; at = waiting.pop()) {
      if (seen.has(at)) continue;
      seen.add(at);
      if (step[at] === STEP.take) onTake(at);
      else if (step[at] === STEP.match) reached = true;
      else if (step[at] !== STEP.fail) waiting.push(out[at]!, ...(step[at] === STEP.branch ? [arg[at]!] : []));
    }
    return reached;
  }

  nextStep(): void {
    this.#generation += 1;
  }

  /**
   * Follows one thread from `from` to the instructions that take `codePoint`, and adds what comes after them to `into`. True when it came to the end of the
   * pattern: threads of lower preference are then of no interest.
   */
  follow(from: number, start: number, position: number, codePoint: number, width: number, around: number, into: Threads): boolean {
    const { step, out, arg } = this.program;
    const seen = this.#seen;
    const stack = this.#stack;
    const generation = this.#generation;
    let depth = 0;
    stack[depth++] = from;
    while (depth > 0) {
      const at = stack[--depth]!;
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
          if (codePoint !== END && position + width - start <= this.maxLength && this.#takes(at, codePoint)) into.add(out[at]!, start);
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

  /** To the next character that a match can begin with. */
  #skip({ text, base, limit }: TextWindow): void {
    const { begins, beginsBeyond } = this.#machine;
    let index = this.#at - base;
    const end = limit - base;
    while (index < end) {
      const code = text.charCodeAt(index);
      if (code < ASCII ? begins[code] === 1 : beginsBeyond) break;
      index++;
    }
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
    if (this.#bestStart < 0 && codePoint !== END) machine.follow(machine.program.start, position, position, codePoint, width, around, next);
    this.#now = next;
    this.#next = now;
    this.#at = position + width;
  }

  /** No thread is left: the best match stands, and the search goes on behind it. */
  #conclude(text: string, base: number, found: (start: number, end: number) => void): void {
    if (this.#now !== null) this.#now.count = 0;
    if (this.#bestStart < 0) return;
    const start = this.#bestStart;
    const length = this.#machine.accept === null ? this.#bestEnd - start : this.#machine.accept(text.slice(start - base, this.#bestEnd - base));
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
