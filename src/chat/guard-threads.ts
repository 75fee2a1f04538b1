// The threads in which guards look at what takes long, seen from the thread that serves calls: a question goes to the one that has least to do, has its time, and is given up
// when the call is over. A thread that ends takes along what it was asked; the next question begins another.
import { availableParallelism } from "node:os";
import { type Matches, sentGuard, type Texts } from "../auth/guard-search.ts";
import type { GuardPolicy } from "../auth/guarded-text.ts";
import type { PackedTexts } from "../auth/packed-texts.ts";
import type { CancelSignal } from "../core/cancellation.ts";
import { threadFile } from "../core/thread-file.ts";
import { MalformedAnswer } from "../providers/provider.ts";
import { AskedThread } from "../wire/asked-thread.ts";
import type { ChunksReply } from "./guard-worker.ts";

/** For whom guards look, and until when. */
export interface Asker {
  readonly tenantId: string;
  /** Aborted when the call is over; null: nothing ends it. */
  readonly signal: CancelSignal | null;
}

/** A stream whose chunks are looked at there. */
export interface ChunksAway {
  /** `chunks` is JSON. Null: there is no answer, because the time is over or the thread ended. Rejects with the reason of the asker's signal. */
  take(chunks: string, isEnd: boolean): Promise<ChunksReply | null>;
  close(): void;
}

export interface GuardThreads {
  /** Null: there is no answer, as in ChunksAway. Packed texts go over as they are, and are no longer here. */
  search(texts: Texts | PackedTexts, guards: readonly GuardPolicy[], asker: Asker): Promise<Matches | null>;
  open(guards: readonly GuardPolicy[], asker: Asker): ChunksAway;
  close(): Promise<void>;
}

export interface GuardThreadsOptions {
  readonly threads?: number;
  /** How long a question waits for its answer, with what stands before it. */
  readonly waitMs?: number;
  /** A thread ended by itself, and why. */
  readonly onEnded: (why: string) => void;
}

/** More than a guard's own time (GUARD_CLOCK_MS): several guards look one after the other, and other calls have their turns. */
const WAIT_MS = 10_000;
const MAX_THREADS = 4;

class NoAnswer extends Error {}

/** Nothing is begun before there is something to look at. */
export function openGuardThreads({
  threads: count = Math.max(1, Math.min(MAX_THREADS, availableParallelism() - 1)),
  waitMs = WAIT_MS,
  onEnded,
}: GuardThreadsOptions): GuardThreads {
  const ended = (why: string): Error => {
    onEnded(why);
    return new NoAnswer(why);
  };
  const program = threadFile(import.meta.url, "chat/guard-worker.ts");
  const threads = Array.from(
    { length: count },
    () =>
      new AskedThread({
        program,
        setup: null,
        ended,
        failed: ({ kind, message }) => (kind === "malformed" ? new MalformedAnswer(message) : ended(`: ${message}`)),
      }),
  );
  let streams = 0;

  const idlest = (): AskedThread => threads.reduce((best, thread) => (thread.waiting < best.waiting ? thread : best));

  const ask = async <T>(
    thread: AskedThread,
    signal: CancelSignal | null,
    method: string,
    args: readonly unknown[],
    transfer: readonly ArrayBuffer[] = [],
  ): Promise<T | null> => {
    signal?.throwIfAborted();
    let question = 0;
    let over: () => void = () => {};
    let timer: ReturnType<typeof setTimeout> | undefined;
    const answer = thread.ask<T>(method, args, transfer, (id) => (question = id));
    const given = new Promise<null>((resolve, reject) => {
      timer = setTimeout(resolve, waitMs, null);
      // the reason is what the caller gave, to be told as it is
      // oxlint-disable-next-line typescript/prefer-promise-reject-errors
      over = () => reject(signal!.reason);
      signal?.addEventListener("abort", over);
    });
    let isAnswered = false;
    try {
      const first = await Promise.race([answer, given]);
      isAnswered = first !== null;
      return first;
    } catch (thrown) {
      if (thrown instanceof NoAnswer) return null;
      throw thrown;
    } finally {
      clearTimeout(timer);
      signal?.removeEventListener("abort", over);
      if (!isAnswered) {
        answer.catch(() => {});
        thread.forget(question);
        thread.tell("give_up", question);
      }
    }
  };

  return {
    search: (texts, guards, { tenantId, signal }) =>
      ask(
        idlest(),
        signal,
        "search",
        [tenantId, guards.map(sentGuard), texts],
        "units" in texts ? [texts.units.buffer as ArrayBuffer] : [],
      ),
    open(guards, { tenantId, signal }) {
      const thread = idlest();
      const key = ++streams;
      let isOpen = false;
      return {
        take(chunks, isEnd) {
          // with the first question, which begins the thread
          const opening = isOpen ? null : [tenantId, guards.map(sentGuard)];
          isOpen = true;
          return ask(thread, signal, "take", [key, chunks, isEnd, opening]);
        },
        close: () => thread.tell("drop", key),
      };
    },
    async close() {
      await Promise.all(threads.map((thread) => thread.close(false)));
    },
  };
}
