// Decides in which thread guards search texts: small searches run at once in the serving thread, and those that could
// keep other callers waiting run in a worker thread. Which of the two a text needs is found out by trying: a search
// that turns out to be long is stopped, and starts anew in a worker thread.
import { BlockedText, type GuardFinding, noteUnsearched } from "../../guards/guarded-text.ts";
import { type Matches, type Texts, workOfGuards } from "../../guards/guard-search.ts";
import { type PackedTexts, packTexts, unpackTexts } from "../../guards/packed-texts.ts";
import { withinWork } from "../../guards/work-meter.ts";
import type { ChatChunk } from "../../core/chat.ts";
import { GatewayError } from "../../core/errors.ts";
import { parseJson } from "../../wire/json/json.ts";
import { yieldToLoop } from "../../core/concurrency/event-loop.ts";
import type { MaybePromise } from "../../core/maybe-promise.ts";
import type { GuardPlace } from "../../core/configured/outside-guard.ts";
import type { GuardPolicy } from "../../core/configured/policy.ts";
import type { PriorMatches, TextGuard } from "./text-guard.ts";
import { judgedTexts, withVerdicts } from "./outside-verdicts.ts";
import { priorMatches, textsOf } from "./guard-texts.ts";
import { type GuardThreads, SEARCH_MS, type SearchContext, type ThreadStream } from "./guard-threads.ts";
import { blockedError, underGuards } from "../policies/policy-violation.ts";
import { openStreamAtServices, NOTHING_FOUND } from "./judged-windows.ts";
import type { StreamUnderGuards } from "./stream-under-guards.ts";
import { GuardedStream } from "./guarded-stream.ts";
import { searchInTurns, STEPS_HERE } from "./search-in-turns.ts";
import type { CancelSignal } from "../../core/concurrency/cancellation.ts";

/** A search that could take more steps than this is not even begun in the serving thread. */
const POSSIBLE_STEPS = 30_000_000;
/** Nor is a search through more characters than this. */
const LONG_TEXTS = 65_536;

export class GuardScheduler {
  readonly #threads: GuardThreads;
  readonly #context: SearchContext;

  constructor(threads: GuardThreads, context: SearchContext) {
    this.#threads = threads;
    this.#context = context;
  }

  /**
   * Returns the result of `work`, which searches texts with guards, or a promise when a worker thread or a service does;
   * other calls then get their turns before it resolves.
   * `visit` walks over the texts. `work` receives what was found in them, or null when it has to search by itself.
   */
  search<T>(
    guards: readonly GuardPolicy[],
    characters: number,
    visit: (guard: TextGuard) => unknown,
    work: (prior: PriorMatches | null) => T,
    place: GuardPlace = "input",
  ): MaybePromise<T> {
    const inThread = async (): Promise<T> => {
      const result = work(await this.searchInThread(guards, visit, place));
      await yieldToLoop();
      return result;
    };
    return characters < LONG_TEXTS && characters * workOfGuards(guards) < POSSIBLE_STEPS && areReady(guards)
      ? withinWork(STEPS_HERE, () => work(null), inThread)
      : inThread();
  }

  /**
   * Searches the texts in a worker thread. Other calls get their turns before the texts are gathered and before the
   * findings are used. Rejects with the reason of the call's signal.
   */
  async searchInThread(
    guards: readonly GuardPolicy[],
    visit: (guard: TextGuard) => unknown,
    place: GuardPlace = "input",
  ): Promise<PriorMatches> {
    await yieldToLoop();
    const texts = textsOf(visit);
    await yieldToLoop();
    const matches = await this.searchTexts(hasService(guards) ? texts : packTexts(texts), guards, place);
    const prior = priorMatches(texts, guards, matches);
    await yieldToLoop();
    return prior;
  }

  /** Returns null when the search did not finish. Rejects with the reason of the call's signal. */
  async searchTexts(
    given: Texts | PackedTexts,
    guards: readonly GuardPolicy[],
    place: GuardPlace,
  ): Promise<Matches | null> {
    const asked = guards.filter(({ guard }) => guard.service !== null);
    if (asked.length === 0) return this.#threads.search(given, guards, this.#context);
    const texts = "bytes" in given ? unpackTexts(given) : given;
    const judged = judgedTexts(texts);
    const { services, signal } = this.#context;
    const own = guards.filter(({ guard }) => guard.service === null);
    const [local, verdicts] = await Promise.all([
      own.length === 0 ? NOTHING_FOUND : this.#threads.search(texts, own, this.#context),
      Promise.all(asked.map(async (policy) => [policy, await services!.judge(policy, judged, place, signal)] as const)),
    ]);
    return withVerdicts(guards, texts, local, new Map(verdicts));
  }

  /** Searches the chunks of one stream. `hasBlocks`: a text ends where another one begins. */
  stream(guards: readonly GuardPolicy[], onFinding: GuardFinding, hasBlocks = false): StreamUnderGuards {
    const { services, signal } = this.#context;
    if (services != null && hasService(guards)) {
      const own = guards.filter(({ guard }) => guard.service === null);
      const atServices = (those: readonly GuardPolicy[]): StreamUnderGuards =>
        openStreamAtServices(those, onFinding, services, signal, hasBlocks);
      if (workOfGuards(own) <= MOST_WORK_HERE) return atServices(guards);
      const asked = guards.filter(({ guard }) => guard.service !== null);
      return inSuccession(this.stream(own, onFinding, hasBlocks), atServices(asked));
    }
    return workOfGuards(guards) <= MOST_WORK_HERE
      ? openStreamHere(new GuardedStream(guards, onFinding, SEARCH_MS, hasBlocks), signal)
      : openStreamInThread(guards, onFinding, this.#threads.open(guards, this.#context, hasBlocks));
  }
}

function hasService(guards: readonly GuardPolicy[]): boolean {
  return guards.some(({ guard }) => guard.service !== null);
}

/**
 * The most instructions of detectors that one search compiles in the serving thread: some 2 ms, or one long pattern.
 */
const MADE_READY = 1000;

/**
 * Whether all detectors are compiled. Each search compiles a few of the others here, and runs in a worker thread until
 * all are ready.
 */
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

/** The most steps for each character, in the worst case, that the guards of a stream may take in the serving thread. */
const MOST_WORK_HERE = 2000;
function openStreamHere(stream: GuardedStream, signal: CancelSignal | null): StreamUnderGuards {
  const give = (chunks: readonly ChatChunk[], isEnd: boolean): MaybePromise<readonly ChatChunk[]> =>
    searchInTurns(signal, (spentMs) => stream.search(chunks, isEnd, spentMs));
  return { take: (chunks) => give(chunks, false), end: () => give([], true), close: () => {} };
}

function inSuccession(first: StreamUnderGuards, second: StreamUnderGuards): StreamUnderGuards {
  return {
    take: async (chunks) => second.take(await first.take(chunks)),
    end: async () => [...(await second.take(await first.end())), ...(await second.end())],
    close() {
      first.close();
      second.close();
    },
  };
}

function openStreamInThread(
  guards: readonly GuardPolicy[],
  onFinding: GuardFinding,
  stream: ThreadStream,
): StreamUnderGuards {
  let isSearching = true;
  const give = async (chunks: readonly ChatChunk[], isEnd: boolean): Promise<readonly ChatChunk[]> => {
    if (!isSearching) return chunks;
    const reply = await stream.take(JSON.stringify(chunks), isEnd);
    for (const rank of reply?.foundBy ?? []) onFinding(guards[rank]!);
    if (reply === null || reply.isOutOfTime) {
      isSearching = false;
      underGuards(() => {
        for (const policy of guards) noteUnsearched(policy, onFinding);
      });
    }
    if (reply?.blocked != null) throw blockedError(new BlockedText(guards[reply.blocked]!));
    // the chunks that the thread held are lost, which is not the provider's fault
    if (reply === null)
      throw new GatewayError("internal_error", "The gateway failed while its guards searched the answer.", {
        detail: "the guards' thread ended or did not answer in time, and the part of the stream that it held is lost",
      });
    return parseJson(reply.chunks) as unknown as readonly ChatChunk[];
  };
  return { take: (chunks) => give(chunks, false), end: () => give([], true), close: () => stream.close() };
}
