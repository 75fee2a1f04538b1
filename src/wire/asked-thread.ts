// A thread that is asked in messages and answers each: begun with the first question, begun again where it ended by itself. What it runs is a file of its own
// (core/thread-file.ts), which takes ThreadRequest and gives ThreadReply. Whose thread it is says what its faults are.
import { type Transferable, Worker } from "node:worker_threads";

export interface ThreadRequest {
  /** 0: nobody waits for an answer. */
  readonly id: number;
  readonly method: string;
  readonly args: readonly unknown[];
}

export interface ThreadReply {
  readonly id: number;
  readonly result?: unknown;
  /** `kind` null: a fault of the thread's own. */
  readonly error?: { readonly kind: string | null; readonly message: string };
}

export interface AskedThreadOptions {
  readonly program: URL;
  /** The thread's `workerData`. */
  readonly setup: unknown;
  /** What a question fails with whose thread ended, and why it did. */
  readonly ended: (why: string) => Error;
  /** What a question fails with that the thread answered with an error. */
  readonly failed: (error: NonNullable<ThreadReply["error"]>) => Error;
}

interface Waiting {
  readonly resolve: (result: unknown) => void;
  readonly reject: (error: unknown) => void;
}

export class AskedThread {
  readonly #options: AskedThreadOptions;
  readonly #waiting = new Map<number, Waiting>();
  #worker: Worker | null = null;
  #asked = 0;
  #isClosed = false;

  constructor(options: AskedThreadOptions) {
    this.#options = options;
  }

  get isClosed(): boolean {
    return this.#isClosed;
  }
  /** Questions without an answer. */
  get waiting(): number {
    return this.#waiting.size;
  }

  /** `transfer`: memory that goes over as it is, and is no longer here. `onAsked` is given what the question is called, for `tell`. */
  ask<T>(
    method: string,
    args: readonly unknown[],
    transfer: readonly Transferable[] = [],
    onAsked?: (id: number) => void,
  ): Promise<T> {
    if (this.#isClosed) return Promise.reject(this.#options.ended(" because it was closed"));
    return this.#send(method, args, transfer, onAsked) as Promise<T>;
  }

  /** Waits no longer for the answer to a question. */
  forget(id: number): void {
    this.#waiting.delete(id);
  }

  /** Says what needs no answer, to a thread that is there. */
  tell(method: string, ...args: readonly unknown[]): void {
    this.#worker?.postMessage({ id: 0, method, args } satisfies ThreadRequest, []);
  }

  /** With a last question, `close`, whose answer is waited for; without it at once. */
  async close(asks: boolean): Promise<void> {
    if (this.#isClosed) return;
    this.#isClosed = true;
    const worker = this.#worker;
    if (worker === null) return;
    if (asks) await this.#send("close", [], []).catch(() => {});
    this.#worker = null;
    await worker.terminate();
  }

  #send(
    method: string,
    args: readonly unknown[],
    transfer: readonly Transferable[],
    onAsked?: (id: number) => void,
  ): Promise<unknown> {
    const worker = (this.#worker ??= this.#begin());
    const id = ++this.#asked;
    onAsked?.(id);
    return new Promise((resolve, reject) => {
      this.#waiting.set(id, { resolve, reject });
      worker.postMessage({ id, method, args } satisfies ThreadRequest, [...transfer]);
    });
  }

  #begin(): Worker {
    const worker = new Worker(this.#options.program, { workerData: this.#options.setup });
    worker.unref();
    worker.on("message", ({ id, result, error }: ThreadReply) => {
      const waiting = this.#waiting.get(id);
      this.#waiting.delete(id);
      if (error === undefined) waiting?.resolve(result);
      else waiting?.reject(this.#options.failed(error));
    });
    const ended = (why: string): void => {
      if (this.#worker !== worker && this.#worker !== null) return;
      this.#worker = null;
      const lost = [...this.#waiting.values()];
      this.#waiting.clear();
      for (const { reject } of lost) reject(this.#options.ended(why));
    };
    worker.on("error", (error) => ended(`: ${error instanceof Error ? error.message : String(error)}`));
    worker.on("exit", () => ended(""));
    return worker;
  }
}
