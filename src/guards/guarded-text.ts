// Applies guards to one text that arrives in pieces: matches are masked or refused, and only text that could still
// become part of a match is held back. The output does not depend on where the text was cut (promise 3.3).

// Decides (the answer): What is masked or blocked in a text? By: `GuardedText`. Also: which texts:
// `engine/guards/guard-request.ts` (`guardedRequest`), `guard-answer.ts` (`StreamGuard`). Rule: Every match, wherever
// the text was cut: what may still become a part of one is held back.
// Decides (the request): Which mask has a text in which several guards find something? By: `joinOverlapping`. Rule:
// Every guard searches the text as it was sent. Overlapping matches become one, with the mask of the match that begins
// first, and of the first policy where several begin there.
import type { Detector, DetectorRun, GuardPolicy, TextWindow } from "../core/configured/policy.ts";
import { isHighSurrogate } from "../core/text/surrogates.ts";
import type { MaskedPlaces } from "./masked-places.ts";
import { ReadText } from "./read-text.ts";
import { spend } from "./work-meter.ts";

/** Called once for each policy and text. `failure` says why the guard could not search, if it could not. */
export type GuardFinding = (policy: GuardPolicy, failure?: string) => void;

/** Thrown where a guard blocks. */
export class BlockedText extends Error {
  readonly policy: GuardPolicy;
  /** Why the guard could not search; `null` when it found something. */
  readonly failure: string | null;
  constructor(policy: GuardPolicy, failure: string | null = null) {
    super(`The policy ${policy.name} blocks the text.`);
    this.policy = policy;
    this.failure = failure;
  }
}

/** Why a guard could not search a text. */
export const UNSEARCHED = "the guard could not check the text within its limits of time and matches";

/** Whether the policy blocks what its guard could not search. */
export function blocksUnsearched({ mode, guard }: GuardPolicy): boolean {
  return mode === "enforce" && guard.onError === "block";
}

/** Reports that the guard could not search a text. Throws BlockedText if the policy blocks in that case. */
export function noteUnsearched(policy: GuardPolicy, onFinding: GuardFinding, why: string = UNSEARCHED): void {
  onFinding(policy, why);
  if (blocksUnsearched(policy)) throw new BlockedText(policy, why);
}

interface Watch {
  readonly policy: GuardPolicy;
  /** Index among the policies: of overlapping matches that begin at the same character, the first policy has its mask. */
  readonly rank: number;
  readonly mask: string;
  /** `null` for the folded run of a pattern, until the folded text is another than the written one. */
  run: DetectorRun | null;
  /** `null` when the detector reads the text as it was written. */
  readonly reads: ReadText | null;
  /** For a folded run: the run of the same pattern over the text as it was written. */
  readonly written: Watch | null;
  readonly detector: Detector;
  readonly found: (start: number, end: number) => void;
  /** Position in the text that the detector reads, from which on text is held back. */
  hold: number;
  /** An audit guard that has reported a finding has nothing more to report. */
  isDone: boolean;
}

/** A match in a text as it was written, which has not been acted on yet. */
export interface Found {
  readonly policy: GuardPolicy;
  readonly start: number;
  readonly end: number;
  readonly mask: string;
}

interface Match {
  readonly start: number;
  end: number;
  readonly rank: number;
  readonly mask: string;
}

export interface GuardedTextOptions {
  /** The text is JSON, which a replacement must not break. */
  readonly isJson?: boolean;
  /** Receives the matches. Nothing is masked or refused then. */
  readonly onFound?: (found: Found) => void;
  /** Receives the places at which a text that is not JSON was masked. */
  readonly masked?: MaskedPlaces;
  /** What of the text has left already, because another text came in between. */
  readonly after?: ReleasedText | undefined;
}

/** The end of a text that has left, from the position `start` on. A match may begin in it. */
export interface ReleasedText {
  readonly text: string;
  readonly start: number;
}

const NOTHING_RELEASED: ReleasedText = { text: "", start: 0 };

/** What it costs to begin the search of a text with one detector, in steps. */
const STEPS_OF_WATCH = 16;
/** How many units of already searched text are kept, because what precedes a position can matter there. */
const LOOK_BEHIND = 64;
/** Text that is no longer needed is dropped once there is this much of it. */
const MIN_FORGOTTEN = 512;

export class GuardedText implements TextWindow {
  text = "";
  base = 0;
  limit = 0;
  isEnd = false;
  readonly #watches: readonly Watch[];
  readonly #reads: readonly ReadText[];
  readonly #onFinding: GuardFinding;
  readonly #json: JsonPlace | null;
  readonly #onFound: ((found: Found) => void) | null;
  readonly #maskedPlaces: MaskedPlaces | null;
  readonly #reported = new Set<GuardPolicy>();
  /** Everything before this position has been released. */
  #gone = 0;
  #matches: Match[] = [];
  /** The position of this text in the whole one. */
  readonly #start: number;
  /** How much of it had left when its end came. */
  #goneBeforeEnd = 0;

  constructor(
    policies: readonly GuardPolicy[],
    onFinding: GuardFinding,
    { isJson = false, onFound, masked, after = NOTHING_RELEASED }: GuardedTextOptions = {},
  ) {
    this.text = after.text;
    this.#gone = after.text.length;
    this.#start = after.start;
    this.#onFinding = onFinding;
    this.#onFound = onFound ?? null;
    this.#maskedPlaces = masked ?? null;
    this.#json = isJson ? new JsonPlace() : null;
    const all = policies.flatMap(({ guard }) => guard.detectors);
    const hasPatterns = all.some(({ folds }) => !folds);
    const ascii = all.some(({ folds }) => folds) ? new ReadText({ isJson, form: "ascii" }) : null;
    const written = isJson && hasPatterns ? new ReadText({ isJson, form: "written" }) : null;
    const readFor = (composes: boolean): ReadText | null =>
      all.some(({ folded }) => folded?.composes === composes)
        ? new ReadText({ isJson, form: composes ? "composed" : "compatible" })
        : null;
    const [compatible, composed] = [readFor(false), readFor(true)];
    this.#reads = [ascii, written, compatible, composed].filter((reads) => reads !== null);
    this.#watches = policies.flatMap((policy, rank) =>
      policy.guard.detectors.flatMap((detector) => {
        const watch = this.#watch(policy, rank, detector, detector.folds ? ascii : written);
        return detector.folded === undefined
          ? [watch]
          : [watch, this.#watch(policy, rank, detector, detector.folded.composes ? composed : compatible, watch)];
      }),
    );
    spend(this.#watches.length * STEPS_OF_WATCH);
  }

  #watch(
    policy: GuardPolicy,
    rank: number,
    detector: Detector,
    reads: ReadText | null,
    written: Watch | null = null,
  ): Watch {
    const watch: Watch = {
      policy,
      rank,
      mask: policy.guard.mask ?? detector.mask,
      run: written === null ? detector.open() : detector.folded!.isSame ? null : detector.folded!.open(0),
      reads,
      written,
      detector,
      found: (start, end) => this.#found(watch, start, end),
      hold: 0,
      isDone: false,
    };
    return watch;
  }

  /** Returns the text that may be released now. Throws BlockedText. */
  push(piece: string): string {
    this.text += piece;
    const end = this.base + this.text.length;
    // The first half of a surrogate pair waits for the second half.
    this.limit = isHighSurrogate(this.text.charCodeAt(this.text.length - 1)) ? end - 1 : end;
    return this.#look();
  }

  /** Returns the rest, including a last piece. Throws BlockedText. */
  end(piece = ""): string {
    this.text += piece;
    this.#goneBeforeEnd = this.#gone;
    this.isEnd = true;
    this.limit = this.base + this.text.length;
    return this.#look();
  }

  /** What is needed of a text that has ended and goes on behind another one. */
  released(): ReleasedText {
    const from = Math.max(this.base, this.#goneBeforeEnd - LOOK_BEHIND);
    return { text: this.text.slice(from - this.base), start: this.#start + from };
  }

  /** Releases everything that is still held, except known matches, without searching further. */
  passUnsearched(): string {
    this.isEnd = true;
    this.limit = this.base + this.text.length;
    return this.#release(this.limit);
  }

  #look(): string {
    for (const reads of this.#reads) reads.read(this);
    let safe = this.limit;
    let kept = this.limit;
    for (const watch of this.#watches) {
      if (watch.isDone || watch.written?.isDone === true) continue;
      if (watch.run === null) {
        if (!watch.reads!.differs) {
          watch.hold = watch.written!.hold;
          continue;
        }
        // up to the position from which text was held back, both runs have found the same
        watch.run = watch.detector.folded!.open(watch.hold);
      }
      watch.hold = watch.run.advance(watch.reads ?? this, watch.found);
      const hold = watch.reads === null ? watch.hold : watch.reads.writtenStart(watch.hold);
      if (hold < kept) kept = hold;
      if (watch.policy.mode === "enforce" && hold < safe) safe = hold;
    }
    if (this.isEnd) return this.#release(this.limit);
    const out = this.#release(this.#json === null ? safe : this.#tokenStart(safe));
    this.#forget(Math.min(kept, this.#gone));
    return out;
  }

  #found(watch: Watch, start: number, end: number): void {
    const { policy, reads, mask } = watch;
    if (watch.isDone) return;
    if (policy.mode === "audit") watch.isDone = true;
    this.#report(
      {
        policy,
        mask,
        start: reads === null ? start : reads.writtenStart(start),
        end: reads === null ? end : reads.writtenEnd(end),
      },
      watch.rank,
    );
  }

  #report(found: Found, rank: number): void {
    if (this.#onFound !== null) return this.#onFound(found);
    const { policy, start, end, mask } = found;
    if (!this.#reported.has(policy)) {
      this.#reported.add(policy);
      this.#onFinding(policy);
    }
    if (policy.mode === "audit") return;
    if (policy.guard.action === "block") throw new BlockedText(policy);
    this.#matches.push({ start, end, rank, mask });
  }

  /** Applies known findings to the whole text. Throws BlockedText. */
  replay(text: string, found: readonly Found[], policies: readonly GuardPolicy[]): string {
    const ranks = new Map(policies.map((policy, rank) => [policy, rank]));
    for (const one of found) {
      const rank = ranks.get(one.policy);
      if (rank !== undefined) this.#report(one, rank);
    }
    return this.end(text);
  }

  /** Releases the text up to `safe`, except for a match that may still grow together with another. */
  #release(safe: number): string {
    if (this.#matches.length === 0) return this.#plain(safe);
    let out = "";
    const joined = joinOverlapping(this.#matches);
    this.#matches = [];
    for (const match of joined) {
      if (match.end > safe) this.#matches.push(match);
      else if (match.end > this.#gone) out += this.#masked(match);
    }
    return (
      out +
      this.#plain(
        Math.min(
          safe,
          this.#matches[0] === undefined
            ? safe
            : this.#json === null
              ? this.#matches[0].start
              : this.#tokenStart(this.#matches[0].start),
        ),
      )
    );
  }

  #plain(end: number): string {
    if (end <= this.#gone) return "";
    const piece = this.text.slice(this.#gone - this.base, end - this.base);
    this.#json?.take(piece);
    this.#gone = end;
    return piece;
  }

  /** Releases the text before a match and the replacement of the match. */
  #masked({ start, end, mask }: Match): string {
    if (this.#json === null) {
      const before = this.#plain(start);
      this.#maskedPlaces?.add(this.#start + this.#gone, this.#start + end, mask.length);
      this.#gone = end;
      return before + mask;
    }
    const before = this.#plain(this.#tokenStart(start));
    const last = this.#tokenEnd(end);
    const replacement = this.#json.mask(this.text.slice(this.#gone - this.base, last - this.base), mask);
    this.#gone = last;
    return before + replacement;
  }

  /**
   * In JSON, a number or word between values is released or replaced as a whole. Returns where the one at `position`
   * begins.
   */
  #tokenStart(position: number): number {
    if (this.#isInsideAt(position)) return position;
    let start = position;
    while (start > this.#gone && isTokenCode(this.text.charCodeAt(start - 1 - this.base))) start--;
    return start;
  }
  #tokenEnd(position: number): number {
    if (this.#isInsideAt(position)) return position;
    let end = position;
    while (
      end < this.limit &&
      isTokenCode(this.text.charCodeAt(end - 1 - this.base)) &&
      isTokenCode(this.text.charCodeAt(end - this.base))
    )
      end++;
    return end;
  }
  #isInsideAt(position: number): boolean {
    return this.#json!.isInsideAfter(
      this.text.slice(this.#gone - this.base, Math.max(position, this.#gone) - this.base),
    );
  }

  #forget(before: number): void {
    for (const reads of this.#reads) {
      let least = reads.limit;
      for (const watch of this.#watches)
        if (watch.reads === reads && !watch.isDone && watch.hold < least) least = watch.hold;
      if (least - LOOK_BEHIND - reads.base >= MIN_FORGOTTEN) reads.forget(least - LOOK_BEHIND);
    }
    const cut = before - LOOK_BEHIND - this.base;
    if (cut < MIN_FORGOTTEN) return;
    this.text = this.text.slice(cut);
    this.base += cut;
  }
}

/**
 * Sorts matches and joins those that overlap. A joined match has the mask of the first policy among those that begin
 * it.
 */
function joinOverlapping(matches: readonly Match[]): readonly Match[] {
  const joined: Match[] = [];
  for (const match of matches.toSorted((a, b) => a.start - b.start || a.rank - b.rank || b.end - a.end)) {
    const last = joined.at(-1);
    if (last !== undefined && match.start < last.end) last.end = Math.max(last.end, match.end);
    else joined.push({ ...match });
  }
  return joined;
}

/** Characters of numbers, `true`, `false` and `null`. */
function isTokenCode(code: number): boolean {
  return (
    (code >= 48 && code <= 57) ||
    (code >= 65 && code <= 90) ||
    (code >= 97 && code <= 122) ||
    code === 0x2b ||
    code === 0x2d ||
    code === 0x2e
  );
}

/** Tracks whether a position in JSON text is inside a string or between values. */
class JsonPlace {
  #isInside = false;
  #isEscaped = false;

  take(piece: string): void {
    for (let index = 0; index < piece.length; index++) this.#step(piece.charCodeAt(index));
  }

  isInsideAfter(piece: string): boolean {
    const [isInside, isEscaped] = [this.#isInside, this.#isEscaped];
    this.take(piece);
    const after = this.#isInside;
    this.#isInside = isInside;
    this.#isEscaped = isEscaped;
    return after;
  }

  /**
   * Masks a piece of which only the JSON structure may remain visible: the replacement stands in place of each text and
   * value in it.
   */
  mask(piece: string, replacement: string): string {
    const quoted = JSON.stringify(replacement);
    let out = "";
    let isMasked = false;
    for (const unit of piece) {
      const wasInside = this.#isInside;
      const isFrame = wasInside ? unit === '"' && !this.#isEscaped : /["{}[\],:\s]/.test(unit);
      for (let index = 0; index < unit.length; index++) this.#step(unit.charCodeAt(index));
      if (isFrame) out += unit;
      else if (!isMasked) out += wasInside ? quoted.slice(1, -1) : quoted;
      isMasked = !isFrame;
    }
    return out;
  }

  #step(code: number): void {
    if (this.#isEscaped) this.#isEscaped = false;
    else if (code === 0x5c) this.#isEscaped = this.#isInside;
    else if (code === 0x22) this.#isInside = !this.#isInside;
  }
}

/** Guards a whole text in one piece. Throws BlockedText. */
export function guardText(
  text: string,
  policies: readonly GuardPolicy[],
  onFinding: GuardFinding,
  options?: GuardedTextOptions,
): string {
  return new GuardedText(policies, onFinding, options).end(text);
}

/** Guards a whole text whose findings are known already. Throws BlockedText. */
export function guardFound(
  text: string,
  found: readonly Found[],
  policies: readonly GuardPolicy[],
  onFinding: GuardFinding,
  options?: GuardedTextOptions,
): string {
  return found.length === 0 ? text : new GuardedText([], onFinding, options).replay(text, found, policies);
}
