// The guard thread. It searches large requests and answers, and the chunks of streams. Tenants take turns, the
// working time of a search is limited, and searches that have been abandoned are stopped.
import { parentPort, workerData } from "node:worker_threads";
import { openTurns } from "../../guards/fair-turns.ts";
import { type Matches, receivedGuard, search, type SentGuard, type Texts } from "../../guards/guard-search.ts";
import { type PackedTexts, unpackTexts } from "../../guards/packed-texts.ts";
import type { ChatChunk } from "../../core/chat.ts";
import { systemClock } from "../../core/clock.ts";
import { GatewayError } from "../../core/errors.ts";
import { MalformedAnswer } from "../../providers/interface/upstream-failure.ts";
import type { ThreadReply, ThreadRequest } from "../../wire/request-thread.ts";
import { parseJson } from "../../wire/json/json.ts";
import { GuardedStream } from "./guarded-stream.ts";
import { messageOf } from "../../core/thrown.ts";

/** What the thread receives at its start. */
export interface GuardSetup {
  /**
   * The working time, in milliseconds, of each guard for one request or answer, and of all guards together for one batch
   * of chunks. The time of other searches does not count.
   */
  readonly searchMs: number;
}

/** The requests that this thread knows. */
export type GuardMethod = "search" | "take" | "drop" | "give_up";

/** The result of a batch of chunks. Guards are given by their index in the list with which the stream was opened. */
export interface ChunksReply {
  /** The chunks that may be sent, as JSON. */
  readonly chunks: string;
  /** The guards that found something in the chunks. */
  readonly foundBy: readonly number[];
  /** The guard that ends the stream; null if the stream continues. */
  readonly blocked: number | null;
  /** The time limit was reached: the rest of the stream is not searched or, if `blocked` is set, the stream ends. */
  readonly isOutOfTime: boolean;
}

/** A stream whose chunks come in batches. */
class SentStream {
  readonly tenantId: string;
  readonly #stream: GuardedStream;
  /** The guards with findings since the last reply. */
  readonly #foundBy = new Set<number>();
  #isOutOfTime = false;

  constructor(searchMs: number, tenantId: string, sent: readonly SentGuard[], hasBlocks: boolean) {
    // by their places, because two scopes may have a guard of the same name
    const guards = sent.map((one, index) => ({ ...receivedGuard(one), name: String(index) }));
    this.tenantId = tenantId;
    this.#stream = new GuardedStream(
      guards,
      (policy, failure) => {
        if (failure === undefined) this.#foundBy.add(guards.indexOf(policy));
        else this.#isOutOfTime = true;
      },
      searchMs,
      hasBlocks,
    );
  }

  *search(chunks: readonly ChatChunk[], isEnd: boolean, spentMs: () => number): Generator<void, ChunksReply> {
    return this.#reply(yield* this.#stream.search(chunks, isEnd, spentMs), null);
  }

  /** Returns the reply that says which guard has ended the search; `null` if none has. */
  blockedBy(thrown: unknown): ChunksReply | null {
    if (!(thrown instanceof GatewayError) || thrown.code !== "policy_violation") return null;
    return this.#reply([], Number(thrown.metadata!["policy"]));
  }

  #reply(shown: readonly ChatChunk[], blocked: number | null): ChunksReply {
    const foundBy = [...this.#foundBy];
    this.#foundBy.clear();
    return { chunks: JSON.stringify(shown), foundBy, blocked, isOutOfTime: this.#isOutOfTime };
  }
}

if (parentPort !== null) serve(parentPort, workerData as GuardSetup);

function serve(port: NonNullable<typeof parentPort>, { searchMs }: GuardSetup): void {
  const turns = openTurns(
    () => systemClock.monotonic(),
    (resume) => void setImmediate(resume),
  );
  const streams = new Map<number, SentStream>();
  /** The functions that stop the searches in flight. */
  const inFlight = new Map<number, () => void>();
  const answer = (id: number, result: unknown, transfer: ArrayBuffer[] = []): void => {
    inFlight.delete(id);
    port.postMessage({ id, result } satisfies ThreadReply, transfer);
  };
  const fail = (id: number, thrown: unknown): void => {
    inFlight.delete(id);
    port.postMessage({
      id,
      error: {
        kind: thrown instanceof MalformedAnswer ? "malformed" : null,
        message: messageOf(thrown),
      },
    } satisfies ThreadReply);
  };

  const methods: Readonly<Record<GuardMethod, (id: number, ...args: never[]) => void>> = {
    search(id, tenantId: string, guards: readonly SentGuard[], sent: Texts | PackedTexts) {
      const received = guards.map(receivedGuard);
      const texts = "bytes" in sent ? unpackTexts(sent) : sent;
      inFlight.set(
        id,
        turns.add(
          tenantId,
          (spentMs) => search(texts, received, searchMs, spentMs),
          (matches: Matches) => answer(id, matches, [matches.numbers.buffer as ArrayBuffer]),
          (thrown) => fail(id, thrown),
        ),
      );
    },
    take(
      id,
      key: number,
      chunks: string,
      isEnd: boolean,
      opening: readonly [tenantId: string, guards: readonly SentGuard[], hasBlocks: boolean] | null,
    ) {
      if (opening !== null) streams.set(key, new SentStream(searchMs, ...opening));
      const stream = streams.get(key);
      if (stream === undefined) return fail(id, new Error("the stream is not known here"));
      if (isEnd) streams.delete(key);
      const batch = parseJson(chunks) as unknown as readonly ChatChunk[];
      inFlight.set(
        id,
        turns.add(
          stream.tenantId,
          (spentMs) => stream.search(batch, isEnd, spentMs),
          (reply) => answer(id, reply),
          (thrown) => {
            const blocked = stream.blockedBy(thrown);
            if (blocked === null) fail(id, thrown);
            else answer(id, blocked);
          },
        ),
      );
    },
    drop(_id, key: number) {
      streams.delete(key);
    },
    give_up(_id, question: number) {
      inFlight.get(question)?.();
      inFlight.delete(question);
    },
  };
  port.on("message", ({ id, method, args }: ThreadRequest) => {
    try {
      methods[method as GuardMethod](id, ...(args as never[]));
    } catch (thrown) {
      fail(id, thrown);
    }
  });
}
