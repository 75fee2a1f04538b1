// A worker thread that answers requests sent as messages. It starts with the first request, and starts again with the
// next request after it has ended by itself. Its program is a separate file (core/concurrency/thread-file.ts), which receives
// ThreadRequest and sends ThreadReply. The owner of the thread chooses the errors that requests fail with.
import { messageOf } from "../core/thrown.ts";
import { type Transferable, Worker } from "node:worker_threads";

export interface ThreadRequest {
  /** 0 when the request needs no reply. */
  readonly id: number;
  readonly method: string;
  readonly args: readonly unknown[];
}

export interface ThreadReply {
  readonly id: number;
  readonly result?: unknown;
  /** `kind` is null when the error is a fault of the thread itself. */
  readonly error?: { readonly kind: string | null; readonly message: string };
}

export interface RequestThreadOptions {
  readonly program: URL;
  /** The thread's `workerData`. */
  readonly setup: unknown;
  /** Makes the error of a request whose thread has ended; `why` gives the reason. */
  readonly ended: (why: string) => Error;
  /** Makes the error of a request that the thread answered with an error. */
  readonly failed: (error: NonNullable<ThreadReply["error"]>) => Error;
}

interface PendingRequest {
  readonly resolve: (result: unknown) => void;
  readonly reject: (error: unknown) => void;
}

/** `Method` are the names of the requests that the program knows. */
export class RequestThread<Method extends string> {
  readonly #options: RequestThreadOptions;
  readonly #pending = new Map<number, PendingRequest>();
  #worker: Worker | null = null;
  #lastId = 0;
  #isClosed = false;

  constructor(options: RequestThreadOptions) {
    this.#options = options;
  }

  get isClosed(): boolean {
    return this.#isClosed;
  }
  /** The number of requests without a reply. */
  get pendingCount(): number {
    return this.#pending.size;
  }

  /**
   * Memory in `transfer` moves to the thread and is no longer usable here. `onSent` receives the id of the request,
   * for `notify`.
   */
  request<T>(
    method: Method,
    args: readonly unknown[],
    transfer: readonly Transferable[] = [],
    onSent?: (id: number) => void,
  ): Promise<T> {
    if (this.#isClosed) return Promise.reject(this.#options.ended(" because it was closed"));
    return this.#send(method, args, transfer, onSent) as Promise<T>;
  }

  /** Stops waiting for the reply to a request. */
  abandon(id: number): void {
    this.#pending.delete(id);
  }

  /** Sends a message that needs no reply, if the thread is running. */
  notify(method: Method, ...args: readonly unknown[]): void {
    this.#worker?.postMessage({ id: 0, method, args } satisfies ThreadRequest, []);
  }

  /** With `isOrderly`, sends a last request, `close`, and waits for its reply; otherwise ends the thread at once. */
  async close(isOrderly: boolean): Promise<void> {
    if (this.#isClosed) return;
    this.#isClosed = true;
    const worker = this.#worker;
    if (worker === null) return;
    if (isOrderly) await this.#send("close", [], []).catch(() => {});
    this.#worker = null;
    await worker.terminate();
  }

  #send(
    method: string,
    args: readonly unknown[],
    transfer: readonly Transferable[],
    onSent?: (id: number) => void,
  ): Promise<unknown> {
    const worker = (this.#worker ??= this.#start());
    const id = ++this.#lastId;
    onSent?.(id);
    return new Promise((resolve, reject) => {
      // what cannot be sent rejects at once, and is not waited for
      worker.postMessage({ id, method, args } satisfies ThreadRequest, [...transfer]);
      this.#pending.set(id, { resolve, reject });
    });
  }

  #start(): Worker {
    const worker = new Worker(this.#options.program, { workerData: this.#options.setup });
    worker.unref();
    worker.on("message", ({ id, result, error }: ThreadReply) => {
      const waiting = this.#pending.get(id);
      this.#pending.delete(id);
      if (error === undefined) waiting?.resolve(result);
      else waiting?.reject(this.#options.failed(error));
    });
    const ended = (why: string): void => {
      if (this.#worker !== worker && this.#worker !== null) return;
      this.#worker = null;
      const lost = [...this.#pending.values()];
      this.#pending.clear();
      for (const { reject } of lost) reject(this.#options.ended(why));
    };
    worker.on("error", (error) => ended(`: ${messageOf(error)}`));
    worker.on("exit", () => ended(""));
    return worker;
  }
}
