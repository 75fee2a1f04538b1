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
  port.on("message", (request: ThreadRequest) => {
    turn = turn.then(() =>
      reply(port, request, async () => {
        const open = await opening;
        return request.method === "close" ? await open.close() : await run(open, request);
      }),
    );
  });
}

/** Answers a request: with the result, or with the error. Never rejects. */
export async function reply(port: MessagePort, { id }: ThreadRequest, answer: () => Promise<unknown>): Promise<void> {
  try {
    port.postMessage({ id, result: await answer() } satisfies ThreadReply, []);
  } catch (thrown) {
    const error = { kind: thrown instanceof StoreError ? thrown.kind : null, message: messageOf(thrown) };
    port.postMessage({ id, error } satisfies ThreadReply, []);
  }
}

/** One thread, restarted after it ended by itself. It is a class because it lives as long as the store. */
export class DatabaseThread<Method extends string> {
  readonly #thread: RequestThread<Method>;
  readonly #name: string;

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
    return this.#thread.pendingCount;
  }

  async ask<T>(method: Method, ...args: readonly unknown[]): Promise<T> {
    if (this.#thread.isClosed) throw new StoreError("unusable", `${this.#name} is closed.`);
    return await this.#thread.request<T>(method, args, args.flatMap(transferable));
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
