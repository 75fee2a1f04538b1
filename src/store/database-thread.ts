// A thread that works on a database beside the process's own: asked in messages, answering each (wire/asked-thread.ts).
import type { MessagePort } from "node:worker_threads";
import { AskedThread, type ThreadReply, type ThreadRequest } from "../wire/asked-thread.ts";
import { StoreError, type StoreErrorKind } from "./store.ts";

/** What the thread's program does with each message: in the order in which they come, and `close` is the last. */
export function answerRequests<Open extends { close(): Promise<void> }>(
  port: MessagePort,
  opening: Promise<Open>,
  run: (open: Open, request: ThreadRequest) => Promise<unknown>,
): void {
  // told with the first answer
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
          message: thrown instanceof Error ? thrown.message : String(thrown),
        },
      } satisfies ThreadReply);
    }
  };
  port.on("message", (request: ThreadRequest) => {
    turn = turn.then(() => answer(request));
  });
}

/** One thread, begun again where it ended by itself. A class, because it lives as long as the store does. */
export class DatabaseThread {
  readonly #thread: AskedThread;
  readonly #name: string;

  /** `setup` is the thread's `workerData`; `name` begins a sentence. */
  constructor(program: URL, setup: unknown, name: string) {
    this.#name = name;
    this.#thread = new AskedThread({
      program,
      setup,
      ended: (why) => new StoreError("unusable", `${name} ended${why}.`),
      failed: ({ kind, message }) =>
        kind === null ? new Error(message) : new StoreError(kind as StoreErrorKind, message),
    });
  }

  ask<T>(method: string, ...args: readonly unknown[]): Promise<T> {
    if (this.#thread.isClosed) return Promise.reject(new StoreError("unusable", `${this.#name} is closed.`));
    return this.#thread.ask(method, args, args.flatMap(transferable));
  }

  close(): Promise<void> {
    return this.#thread.close(true);
  }
}

/** Rows are nobody else's, so their bytes go over as they are. */
function transferable(argument: unknown): ArrayBuffer[] {
  return typeof argument === "object" &&
    argument !== null &&
    "bytes" in argument &&
    argument.bytes instanceof Uint8Array
    ? [argument.bytes.buffer as ArrayBuffer]
    : [];
}
