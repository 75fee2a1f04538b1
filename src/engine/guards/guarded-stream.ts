// One stream under guards, in whichever thread searches it: step by step, so that the thread can do other work in
// between, and with a limit of time for each batch of chunks.
import { type GuardFinding, noteUnsearched } from "../../guards/guarded-text.ts";
import type { ChatChunk } from "../../core/chat.ts";
import type { GuardPolicy } from "../../core/configured/policy.ts";
import { underGuards } from "../policies/policy-violation.ts";
import { LONG_TEXT } from "../long-bodies/read-in-turns.ts";
import { GuardedChunks, splitChunk } from "./guarded-chunks.ts";

export class GuardedStream {
  readonly #guards: readonly GuardPolicy[];
  readonly #onFinding: GuardFinding;
  readonly #searchMs: number;
  /** `null` once the time limit was reached. */
  #guarded: GuardedChunks | null;

  /** `searchMs` is the working time for one batch of chunks; `hasBlocks`: a text ends where another one begins. */
  constructor(guards: readonly GuardPolicy[], onFinding: GuardFinding, searchMs: number, hasBlocks = false) {
    this.#guards = guards;
    this.#onFinding = onFinding;
    this.#searchMs = searchMs;
    this.#guarded = new GuardedChunks(guards, onFinding, { hasBlocks });
  }

  /**
   * Returns the chunks that may be sent. When the time limit is reached, the rest of the stream is not searched, which is
   * reported as a failure of all guards. Throws `policy_violation`.
   */
  *search(chunks: readonly ChatChunk[], isEnd: boolean, spentMs: () => number): Generator<void, readonly ChatChunk[]> {
    const guarded = this.#guarded;
    if (guarded === null) return chunks;
    const shown: ChatChunk[] = [];
    const parts = chunks.flatMap((chunk) =>
      guarded.isLong(chunk)
        ? splitChunk(chunk, LONG_TEXT).map((part) => ({ chunk: part, isLong: true }))
        : [{ chunk, isLong: false }],
    );
    for (const [index, { chunk, isLong }] of parts.entries()) {
      const isSearched = spentMs() < this.#searchMs && (!isLong || (yield* this.#searchAhead(guarded, chunk, spentMs)));
      if (!isSearched) {
        this.#guarded = null;
        underGuards(() => {
          for (const policy of this.#guards) noteUnsearched(policy, this.#onFinding);
        });
        guarded.passUnsearched();
        const unsearched = parts.slice(index + 1).map((part) => part.chunk);
        return [...shown, ...guarded.take(chunk), ...guarded.end(), ...unsearched];
      }
      shown.push(...guarded.take(chunk));
      yield;
    }
    return isEnd ? [...shown, ...guarded.end()] : shown;
  }

  /** Returns false if the chunk could not be searched in time. */
  *#searchAhead(guarded: GuardedChunks, chunk: ChatChunk, spentMs: () => number): Generator<void, boolean> {
    const steps = guarded.searchAhead(chunk, this.#searchMs, spentMs);
    for (let step = steps.next(); ; step = steps.next()) {
      if (step.done === true) return step.value;
      if (spentMs() >= this.#searchMs) return false;
      yield;
    }
  }
}
