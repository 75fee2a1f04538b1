// The guard threads as the serving thread sees them. They search large texts: each search goes to the thread with the
// fewest waiting searches, has a time limit, and is abandoned when its call is over. If a thread ends, its searches
// fail, and the next search starts a new thread.

// Decides (the answer): What if a search of a guard takes too long? By: `SEARCH_MS`, `WAIT_MS`. Also:
// `guards/guarded-text.ts` (`blocksUnsearched`). Rule: It moves to a thread after some 2 ms; 2 s for each guard and
// 10 s for all, then `on_error` decides.
import { availableParallelism } from "node:os";
import { type Matches, sentGuard, type Texts } from "../../guards/guard-search.ts";
import type { PackedTexts } from "../../guards/packed-texts.ts";
import type { CancelSignal } from "../../core/concurrency/cancellation.ts";
import { LATE, untilOver, within } from "../../core/concurrency/timeout.ts";
import { threadFile } from "../../core/concurrency/thread-file.ts";
import type { GuardPolicy } from "../../core/configured/policy.ts";
import { MalformedAnswer } from "../../providers/interface/upstream-failure.ts";
import { RequestThread } from "../../wire/request-thread.ts";
import type { CallServices } from "./outside-verdicts.ts";
import type { ChunksReply, GuardMethod, GuardSetup } from "./guard-worker.ts";

/** For which tenant guards search, and until when. */
export interface SearchContext {
  readonly tenantId: string;
  /** Aborted when the call is over; null if nothing ends the search early. */
  readonly signal: CancelSignal | null;
  /** Asks the services of guards; `null` or absent where no guard of the project has one. */
  readonly services?: CallServices | null;
}

/** A stream whose chunks are searched in a guard thread. */
export interface ThreadStream {
  /**
   * `chunks` is JSON. Resolves to null if the time limit was reached or the thread ended. Rejects with the reason of
   * the asker's signal.
   */
  take(chunks: string, isEnd: boolean): Promise<ChunksReply | null>;
  close(): void;
}

export interface GuardThreads {
  /**
   * Resolves to null as `ThreadStream.take` does. Packed texts are transferred to the thread and cannot be used here afterwards.
   */
  search(texts: Texts | PackedTexts, guards: readonly GuardPolicy[], context: SearchContext): Promise<Matches | null>;
  /** `hasBlocks`: a text of the stream ends where another one begins. */
  open(guards: readonly GuardPolicy[], context: SearchContext, hasBlocks: boolean): ThreadStream;
  close(): Promise<void>;
}

export interface GuardThreadsOptions {
  readonly threads?: number;
  /** How long each guard may work on one text, in milliseconds. */
  readonly searchMs?: number;
  /** How long a search may take, including the searches before it. */
  readonly waitMs?: number;
  /** Called for each search that is lost because its thread has ended or failed, with the reason. */
  readonly onEnded: (why: string) => void;
}

/** How long each guard may work on one text, and all of them on one batch of chunks. */
export const SEARCH_MS = 2000;
/**
 * More than the working time of one guard, because several guards search one after the other and other
 * calls have their turns.
 */
const WAIT_MS = 10_000;
const MAX_THREADS = 4;

class NoAnswer extends Error {}

/** Starts each thread only at its first search. */
export function openGuardThreads({
  threads: count = Math.max(1, Math.min(MAX_THREADS, availableParallelism() - 1)),
  searchMs = SEARCH_MS,
  waitMs = WAIT_MS,
  onEnded,
}: GuardThreadsOptions): GuardThreads {
  const ended = (why: string): Error => {
    onEnded(why);
    return new NoAnswer(why);
  };
  const program = threadFile(import.meta.url, "engine/guards/guard-worker.ts");
  const threads = Array.from(
    { length: count },
    () =>
      new RequestThread<GuardMethod>({
        program,
        setup: { searchMs } satisfies GuardSetup,
        ended,
        failed: ({ kind, message }) => (kind === "malformed" ? new MalformedAnswer(message) : ended(`: ${message}`)),
      }),
  );
  let streams = 0;

  const idlest = (): RequestThread<GuardMethod> =>
    threads.reduce((best, thread) => (thread.pendingCount < best.pendingCount ? thread : best));

  return {
    search: (texts, guards, { tenantId, signal }) =>
      ask(
        idlest(),
        { signal, waitMs },
        "search",
        [tenantId, guards.map(sentGuard), texts],
        "bytes" in texts ? [texts.bytes.buffer as ArrayBuffer] : [],
      ),
    open(guards, { tenantId, signal }, hasBlocks) {
      const thread = idlest();
      const key = ++streams;
      let isOpen = false;
      return {
        take(chunks, isEnd) {
          // the guards go with the first chunks
          const opening = isOpen ? null : [tenantId, guards.map(sentGuard), hasBlocks];
          isOpen = true;
          return ask(thread, { signal, waitMs }, "take", [key, chunks, isEnd, opening]);
        },
        close: () => thread.notify("drop", key),
      };
    },
    async close() {
      await Promise.all(threads.map((thread) => thread.close(false)));
    },
  };
}

interface Asking {
  readonly signal: CancelSignal | null;
  readonly waitMs: number;
}

/** Resolves to null, and gives the question up, when the time is over or the thread has ended. */
async function ask<T>(
  thread: RequestThread<GuardMethod>,
  { signal, waitMs }: Asking,
  method: GuardMethod,
  args: readonly unknown[],
  transfer: readonly ArrayBuffer[] = [],
): Promise<T | null> {
  signal?.throwIfAborted();
  let question = 0;
  const answer = thread.request<T>(method, args, transfer, (id) => (question = id));
  let isAnswered = false;
  try {
    const first = await within(signal === null ? answer : untilOver(answer, signal), waitMs);
    isAnswered = first !== LATE;
    return first === LATE ? null : first;
  } catch (thrown) {
    if (thrown instanceof NoAnswer) return null;
    throw thrown;
  } finally {
    if (!isAnswered) {
      answer.catch(() => {});
      thread.abandon(question);
      thread.notify("give_up", question);
    }
  }
}
