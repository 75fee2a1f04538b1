// A thread that works on a database outside the main thread. It gets requests as messages and answers each
// (wire/request-thread.ts).
import type { MessagePort } from "node:worker_threads";
import { RequestThread, type ThreadReply, type ThreadRequest } from "../../wire/request-thread.ts";
import { StoreError, type StoreErrorKind } from "../store-error.ts";
import { messageOf } from "../../core/thrown.ts";

/** Handles the messages in the thread's program, in the order in which they arrive. `close` is the last one. */
export function answerRequests<Open extends { close(): Promise<void> }>(
  port: MessagePort,
  opening: Promise<Open>,
  run: (open: Open, request: ThreadRequest) => Promise<unknown>,
): void {
  // The error is reported with the first answer.
  opening.catch(() => {});
  let turn: Promise<unknown> = Promise.resolve();
  const answer = async (request: ThreadRequest): Promise<void> => {
    const { id, method } = request;
    try {
      const open = await opening;
      port.postMessage({
        id,
        result: method === "close" ? await open.close() : await run(open, request),
      } satisfies ThreadReply);
    } catch (thrown) {
      port.postMessage({
        id,
        error: {
          kind: thrown instanceof StoreError ? thrown.kind : null,
          message: messageOf(thrown),
        },
      } satisfies ThreadReply);
    }
  };
  port.on("message", (request: ThreadRequest) => {
    turn = turn.then(() => answer(request));
  });
}

/** One thread, restarted after it ended by itself. It is a class because it lives as long as the store. */
export class DatabaseThread<Method extends string> {
  readonly #thread: RequestThread<Method>;
  readonly #name: string;
  #pending = 0;

  /** `setup` is the thread's `workerData`; `name` begins sentences in messages. */
  constructor(program: URL, setup: unknown, name: string) {
    this.#name = name;
    this.#thread = new RequestThread<Method>({
      program,
      setup,
      ended: (why) => new StoreError("unusable", `${name} ended${why}.`),
      failed: ({ kind, message }) =>
        kind === null ? new Error(message) : new StoreError(kind as StoreErrorKind, message),
    });
  }

  /** Requests without an answer. */
  get pending(): number {
    return this.#pending;
  }

  async ask<T>(method: Method, ...args: readonly unknown[]): Promise<T> {
    if (this.#thread.isClosed) throw new StoreError("unusable", `${this.#name} is closed.`);
    this.#pending++;
    try {
      return await this.#thread.request<T>(method, args, args.flatMap(transferable));
    } finally {
      this.#pending--;
    }
  }

  close(): Promise<void> {
    return this.#thread.close(true);
  }
}

/** The bytes of rows have no other user, so they are transferred instead of copied. */
function transferable(argument: unknown): ArrayBuffer[] {
  return typeof argument === "object" &&
    argument !== null &&
    "bytes" in argument &&
    argument.bytes instanceof Uint8Array
    ? [argument.bytes.buffer as ArrayBuffer]
    : [];
}
