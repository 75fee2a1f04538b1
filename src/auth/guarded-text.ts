// One text under guards, in the pieces in which it comes: what matches is replaced or refused, and of the rest only what could still become part of a match
// is held back. How the text was cut makes no difference to what comes out (decisions 3.3).
import type { DetectorRun, Guard, Policy, TextWindow } from "../core/policy.ts";

/** A policy with a guard. */
export interface GuardPolicy extends Policy {
  readonly guard: Guard;
}

/** Told once for each policy and text. */
export type GuardSpoke = (policy: GuardPolicy) => void;

/** Thrown where a guard blocks. */
export class BlockedText extends Error {
  readonly policy: GuardPolicy;
  constructor(policy: GuardPolicy) {
    super(`The policy ${policy.name} blocks the text.`);
    this.policy = policy;
  }
}

interface Watch {
  readonly policy: GuardPolicy;
  /** Place among the policies: the first one has the word where several matches overlap. */
  readonly rank: number;
  readonly mask: string;
  readonly run: DetectorRun;
  hold: number;
  /** An audit guard that has spoken has nothing more to say. */
  isDone: boolean;
}

interface Match {
  readonly start: number;
  end: number;
  readonly rank: number;
  readonly mask: string;
}

export interface GuardedTextOptions {
  /** The text is JSON: what stands in place of a match must not break it. */
  readonly isJson?: boolean;
}

export class GuardedText implements TextWindow {
  text = "";
  base = 0;
  limit = 0;
  isEnd = false;
  readonly #watches: readonly Watch[];
  readonly #spoke: GuardSpoke;
  readonly #json: JsonPlace | null;
  readonly #told = new Set<GuardPolicy>();
  /** What has gone out stands before it. */
  #gone = 0;
  #matches: Match[] = [];

  constructor(policies: readonly GuardPolicy[], spoke: GuardSpoke, { isJson = false }: GuardedTextOptions = {}) {
    this.#spoke = spoke;
    this.#json = isJson ? new JsonPlace() : null;
    this.#watches = policies.flatMap((policy, rank) =>
      policy.guard.detectors.map((detector) => ({ policy, rank, mask: policy.guard.mask ?? detector.mask, run: detector.open(), hold: 0, isDone: false })),
    );
  }

  /** What may go out now. Throws BlockedText. */
  push(piece: string): string {
    this.text += piece;
    const end = this.base + this.text.length;
    // half a character waits for its other half
    this.limit = isHighSurrogate(this.text.charCodeAt(this.text.length - 1)) ? end - 1 : end;
    return this.#look();
  }

  /** The rest. Throws BlockedText. */
  end(): string {
    this.isEnd = true;
    this.limit = this.base + this.text.length;
    return this.#look();
  }

  #look(): string {
    let safe = this.limit;
    let kept = this.limit;
    for (const watch of this.#watches) {
      if (watch.isDone) continue;
      watch.hold = watch.run.advance(this, (start, end) => this.#found(watch, start, end));
      if (watch.hold < kept) kept = watch.hold;
      if (watch.policy.mode === "enforce" && watch.hold < safe) safe = watch.hold;
    }
    const out = this.#release(this.isEnd ? this.limit : safe);
    this.#forget(Math.min(kept, this.#gone));
    return out;
  }

  #found(watch: Watch, start: number, end: number): void {
    const { policy } = watch;
    if (watch.isDone) return;
    if (policy.mode === "audit") watch.isDone = true;
    if (!this.#told.has(policy)) {
      this.#told.add(policy);
      this.#spoke(policy);
    }
    if (policy.mode === "audit") return;
    if (policy.guard.action === "block") throw new BlockedText(policy);
    this.#matches.push({ start, end, rank: watch.rank, mask: watch.mask });
  }

  /** The text up to `safe`, but for a match that may still grow into another. */
  #release(safe: number): string {
    if (this.#matches.length === 0) return this.#plain(safe);
    let out = "";
    const joined = joinOverlapping(this.#matches);
    this.#matches = [];
    for (const match of joined) {
      if (match.end > safe) {
        this.#matches.push(match);
        continue;
      }
      out += this.#plain(match.start) + this.#masked(match);
    }
    return out + this.#plain(Math.min(safe, this.#matches[0]?.start ?? safe));
  }

  #plain(end: number): string {
    if (end <= this.#gone) return "";
    const piece = this.text.slice(this.#gone - this.base, end - this.base);
    this.#json?.take(piece);
    this.#gone = end;
    return piece;
  }

  #masked({ end, mask }: Match): string {
    const words = this.#json === null ? mask : this.#json.fit(mask);
    this.#json?.take(this.text.slice(this.#gone - this.base, end - this.base));
    this.#gone = end;
    return words;
  }

  /** Two units before it stay: what stands before a place can matter there. */
  #forget(before: number): void {
    const cut = before - 2 - this.base;
    if (cut <= 0) return;
    this.text = this.text.slice(cut);
    this.base += cut;
  }
}

/** Matches in their order; those that share a unit become one, with the words of the first policy among those that begin it. */
function joinOverlapping(matches: readonly Match[]): readonly Match[] {
  const joined: Match[] = [];
  for (const match of matches.toSorted((a, b) => a.start - b.start || a.rank - b.rank || b.end - a.end)) {
    const last = joined.at(-1);
    if (last !== undefined && match.start < last.end) last.end = Math.max(last.end, match.end);
    else joined.push({ ...match });
  }
  return joined;
}

function isHighSurrogate(code: number): boolean {
  return code >= 0xd800 && code <= 0xdbff;
}

/** Where in a JSON text one is: inside a string or between values. */
class JsonPlace {
  #isInside = false;
  #isEscaped = false;

  take(piece: string): void {
    for (let index = 0; index < piece.length; index++) {
      const code = piece.charCodeAt(index);
      if (this.#isEscaped) this.#isEscaped = false;
      else if (code === 0x5c) this.#isEscaped = this.#isInside;
      else if (code === 0x22) this.#isInside = !this.#isInside;
    }
  }

  /** The words in a form that stands where a match began. */
  fit(words: string): string {
    const quoted = JSON.stringify(words);
    return this.#isInside ? quoted.slice(1, -1) : quoted;
  }
}

/** A whole text in one piece. Throws BlockedText. */
export function guardText(text: string, policies: readonly GuardPolicy[], spoke: GuardSpoke, options?: GuardedTextOptions): string {
  const guarded = new GuardedText(policies, spoke, options);
  return guarded.push(text) + guarded.end();
}
