// Where guards look at texts: here, at once, what is little work, and in a thread beside what could keep other callers waiting. Which of the two a text needs is
// known by doing it: a look that turns out to be long is given up, and begun anew there.
import { BlockedText, type GuardPolicy, type GuardFinding } from "../auth/guarded-text.ts";
import { type Matches, type Texts, workOfGuards } from "../auth/guard-search.ts";
import { type PackedTexts, packTexts } from "../auth/packed-texts.ts";
import { TooMuchWork, withinWork } from "../auth/work-meter.ts";
import type { ChatChunk } from "../core/chat.ts";
import { MalformedAnswer } from "../providers/provider.ts";
import { parseJson } from "../wire/json.ts";
import { nextTurn } from "../wire/turn.ts";
import { type LookedAt, type TextGuard, UNLOOKED } from "./guard-request.ts";
import { lookedAt, textsOf } from "./guard-texts.ts";
import type { Asker, GuardThreads } from "./guard-threads.ts";
import { blockedError } from "./policy-violation.ts";
import { charactersOf, GuardedChunks, splitChunk } from "./guarded-chunks.ts";

/** Steps of the machine that a look may take here: some 2 ms. */
const STEPS_HERE = 150_000;
/** What could take more steps than this is not even begun here. */
const POSSIBLE_STEPS = 30_000_000;
/** Nor is what has more characters. */
const LONG_TEXTS = 65_536;

export class Looking {
  readonly #threads: GuardThreads;
  readonly #asker: Asker;

  constructor(threads: GuardThreads, asker: Asker) {
    this.#threads = threads;
    this.#asker = asker;
  }

  /**
   * What `work` gives, which looks at texts with guards; a promise where they are looked at in a thread. `visit` shows the texts; `work` is given what is found in
   * them, or null, and then looks itself.
   */
  look<T>(
    guards: readonly GuardPolicy[],
    characters: number,
    visit: (guard: TextGuard) => unknown,
    work: (ahead: LookedAt | null) => T,
  ): T | Promise<T> {
    if (characters < LONG_TEXTS && characters * workOfGuards(guards) < POSSIBLE_STEPS && areReady(guards)) {
      try {
        return withinWork(STEPS_HERE, () => work(null));
      } catch (thrown) {
        if (!(thrown instanceof TooMuchWork)) throw thrown;
      }
    }
    return this.away(guards, visit).then(work);
  }

  /** What guards find, looked for in a thread. Others have turns before the texts are gathered and before what was found is used. Rejects with the reason of the call's signal. */
  async away(guards: readonly GuardPolicy[], visit: (guard: TextGuard) => unknown): Promise<LookedAt> {
    await nextTurn();
    const texts = textsOf(visit);
    await nextTurn();
    const matches = await this.search(packTexts(texts), guards);
    const ahead = lookedAt(texts, guards, matches);
    await nextTurn();
    return ahead;
  }

  /** Null: there is no answer. Rejects with the reason of the call's signal. */
  search(texts: Texts | PackedTexts, guards: readonly GuardPolicy[]): Promise<Matches | null> {
    return this.#threads.search(texts, guards, this.#asker);
  }

  /** The chunks of one stream under guards. */
  stream(guards: readonly GuardPolicy[], spoke: GuardFinding): StreamUnderGuards {
    const work = workOfGuards(guards);
    return work <= MOST_WORK_HERE
      ? chunksHere(guards, spoke, work)
      : chunksAway(guards, spoke, this.#threads, this.#asker);
  }
}

/** Instructions of detectors that one look makes ready here: some 2 ms, or one long pattern. */
const MADE_READY = 1000;

/** Whether all detectors are ready. Those that are not are made ready here, a few with each look, which itself goes to a thread until then. */
function areReady(guards: readonly GuardPolicy[]): boolean {
  let made = 0;
  for (const { guard } of guards)
    for (const detector of guard.detectors) {
      if (detector.isReady) continue;
      if (made >= MADE_READY) return false;
      detector.open();
      made += detector.work;
    }
  return true;
}

/** Chunks as they may go out; a promise where that takes long. Both throw, or reject with, `policy_violation` where a guard blocks. */
export interface StreamUnderGuards {
  take(chunks: readonly ChatChunk[]): readonly ChatChunk[] | Promise<readonly ChatChunk[]>;
  /** The rest, at the end. */
  end(): readonly ChatChunk[] | Promise<readonly ChatChunk[]>;
  /** It is read no further. */
  close(): void;
}

/** Steps for each character at the worst that guards of a stream may take here. */
const MOST_WORK_HERE = 2000;
/** Steps that the chunks of one read may take at once. */
const STEPS_AT_ONCE = 400_000;

function chunksHere(guards: readonly GuardPolicy[], spoke: GuardFinding, work: number): StreamUnderGuards {
  const guarded = new GuardedChunks(guards, spoke);
  const longest = Math.max(1, Math.floor(STEPS_AT_ONCE / Math.max(1, work)));
  const inTurns = async (chunks: readonly ChatChunk[]): Promise<readonly ChatChunk[]> => {
    const shown: ChatChunk[] = [];
    let characters = 0;
    for (const chunk of chunks)
      for (const piece of splitChunk(chunk, longest)) {
        shown.push(guarded.take(piece));
        characters += charactersOf(piece);
        if (characters < longest) continue;
        characters = 0;
        await new Promise<void>((resume) => setImmediate(resume));
      }
    return shown;
  };
  return {
    take(chunks) {
      let characters = 0;
      for (const chunk of chunks) characters += charactersOf(chunk);
      return characters <= longest ? chunks.map((chunk) => guarded.take(chunk)) : inTurns(chunks);
    },
    end: () => guarded.end(),
    close: () => {},
  };
}

function chunksAway(
  guards: readonly GuardPolicy[],
  spoke: GuardFinding,
  threads: GuardThreads,
  asker: Asker,
): StreamUnderGuards {
  const stream = threads.open(guards, asker);
  let isLooking = true;
  const give = async (chunks: readonly ChatChunk[], isEnd: boolean): Promise<readonly ChatChunk[]> => {
    if (!isLooking) return chunks;
    const reply = await stream.take(JSON.stringify(chunks), isEnd);
    for (const rank of reply?.spoke ?? []) spoke(guards[rank]!);
    if (reply === null || reply.isOutOfTime) {
      isLooking = false;
      for (const policy of guards) passUnlooked(policy, spoke);
    }
    if (reply?.blocked != null) throw blockedError(new BlockedText(guards[reply.blocked]!));
    // what a thread that ended held is gone: it comes back for nobody
    if (reply === null)
      throw new MalformedAnswer("The guards' worker thread ended, and the part of the stream that it held is lost.");
    return parseJson(reply.chunks) as unknown as readonly ChatChunk[];
  };
  return { take: (chunks) => give(chunks, false), end: () => give([], true), close: () => stream.close() };
}

function passUnlooked(policy: GuardPolicy, spoke: GuardFinding): void {
  spoke(policy, UNLOOKED);
  if (policy.mode === "enforce" && policy.guard.onError === "block")
    throw blockedError(new BlockedText(policy, UNLOOKED));
}
