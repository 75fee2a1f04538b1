// A signal by which one side ends what another side does. It has the part of AbortSignal that calls use, without a
// native object behind it: a native signal costs a call about 4 µs, mostly in garbage collection.

/** An object with `handleEvent` saves the closure that a function would need. */
export type CancelListener = (() => void) | { handleEvent(): void };

/** An AbortSignal satisfies this interface too. */
export interface CancelSignal {
  readonly aborted: boolean;
  readonly reason: unknown;
  addEventListener(type: "abort", listener: CancelListener): void;
  removeEventListener(type: "abort", listener: CancelListener): void;
  throwIfAborted(): void;
}

export class Cancellation implements CancelSignal {
  aborted = false;
  reason: unknown = undefined;
  /** Most signals have one listener at a time, which needs no set. */
  #listener: CancelListener | null = null;
  /** Listeners beside the first one; `null` until there are several at a time. */
  #others: Set<CancelListener> | null = null;

  /** Only the first call has an effect. It calls each listener once. */
  abort(reason: unknown): void {
    if (this.aborted) return;
    this.aborted = true;
    this.reason = reason;
    const listeners = [...(this.#listener === null ? [] : [this.#listener]), ...(this.#others ?? [])];
    this.#listener = this.#others = null;
    for (const listener of listeners) {
      if (typeof listener === "function") listener();
      else listener.handleEvent();
    }
  }

  addEventListener(_type: "abort", listener: CancelListener): void {
    if (this.aborted || listener === this.#listener) return;
    if (this.#listener === null && this.#others === null) this.#listener = listener;
    else (this.#others ??= new Set()).add(listener);
  }
  removeEventListener(_type: "abort", listener: CancelListener): void {
    if (listener === this.#listener) this.#listener = null;
    else this.#others?.delete(listener);
  }

  throwIfAborted(): void {
    // the reason is thrown as the caller gave it, whatever its type
    if (this.aborted) throw this.reason;
  }
}
