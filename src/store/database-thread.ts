// A thread that works on a database beside the process's own: asked in messages, answering each. What it runs is another file, which takes ThreadRequest and gives
// ThreadReply.
import { type MessagePort, Worker } from "node:worker_threads";
import { StoreError, type StoreErrorKind } from "./store.ts";

export interface ThreadRequest {
  readonly id: number;
  readonly method: string;
  readonly args: readonly unknown[];
}

export interface ThreadReply {
  readonly id: number;
  readonly result?: unknown;
  /** `kind` null: no error of the store's. */
  readonly error?: { readonly kind: StoreErrorKind | null; readonly message: string };
}

/** What the thread's program does with each message: in the order in which they come, and `close` is the last. */
export function answerRequests<Open extends { close(): Promise<void> }>(port: MessagePort, opening: Promise<Open>, run: (open: Open, request: ThreadRequest) => Promise<unknown>): void {
  // told with the first answer
  opening.catch(() => {});
  let turn: Promise<unknown> = Promise.resolve();
  const answer = async (request: ThreadRequest): Promise<void> => {
    const { id, method } = request;
    try {
      const open = await opening;
      port.postMessage({ id, result: method === "close" ? await open.close() : await run(open, request) } satisfies ThreadReply);
    } catch (thrown) {
      port.postMessage({ id, error: { kind: thrown instanceof StoreError ? thrown.kind : null, message: thrown instanceof Error ? thrown.message : String(thrown) } } satisfies ThreadReply);
    }
  };
  port.on("message", (request: ThreadRequest) => {
    turn = turn.then(() => answer(request));
  });
}

interface Waiting {
  readonly resolve: (result: unknown) => void;
  readonly reject: (error: unknown) => void;
}

/** One thread, begun again where it ended by itself. A class, because it lives as long as the store does. */
export class DatabaseThread {
  readonly #program: URL;
  readonly #setup: unknown;
  readonly #name: string;
  readonly #waiting = new Map<number, Waiting>();
  #worker: Worker | null = null;
  #asked = 0;
  #isClosed = false;

  /** `setup` is the thread's `workerData`; `name` begins a sentence. */
  constructor(program: URL, setup: unknown, name: string) {
    this.#program = program;
    this.#setup = setup;
    this.#name = name;
  }

  ask<T>(method: string, ...args: readonly unknown[]): Promise<T> {
    if (this.#isClosed) return Promise.reject(new StoreError("unusable", `${this.#name} is closed.`));
    return this.#send(method, args) as Promise<T>;
  }

  async close(): Promise<void> {
    if (this.#isClosed) return;
    this.#isClosed = true;
    const worker = this.#worker;
    if (worker === null) return;
    await this.#send("close", []).catch(() => {});
    this.#worker = null;
    await worker.terminate();
  }

  #send(method: string, args: readonly unknown[]): Promise<unknown> {
    const worker = (this.#worker ??= this.#begin());
    const id = ++this.#asked;
    return new Promise((resolveAnswer, reject) => {
      this.#waiting.set(id, { resolve: resolveAnswer, reject });
      worker.postMessage({ id, method, args } satisfies ThreadRequest, args.flatMap(transferable));
    });
  }

  #begin(): Worker {
    const worker = new Worker(this.#program, { workerData: this.#setup });
    worker.unref();
    worker.on("message", ({ id, result, error }: ThreadReply) => {
      const waiting = this.#waiting.get(id);
      this.#waiting.delete(id);
      if (error === undefined) waiting?.resolve(result);
      else waiting?.reject(error.kind === null ? new Error(error.message) : new StoreError(error.kind, error.message));
    });
    const ended = (why: string): void => {
      if (this.#worker === worker) this.#worker = null;
      const lost = [...this.#waiting.values()];
      this.#waiting.clear();
      for (const { reject } of lost) reject(new StoreError("unusable", `${this.#name} ended${why}.`));
    };
    worker.on("error", (error) => ended(`: ${error instanceof Error ? error.message : String(error)}`));
    worker.on("exit", () => ended(""));
    return worker;
  }
}

/** Rows are nobody else's, so their bytes go over as they are. */
function transferable(argument: unknown): ArrayBuffer[] {
  return typeof argument === "object" && argument !== null && "bytes" in argument && argument.bytes instanceof Uint8Array ? [argument.bytes.buffer as ArrayBuffer] : [];
}
