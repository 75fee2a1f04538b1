// Bounds for work that may never settle, and waits that end early. This is the only file of core/ with a timer. What has
// arrived in time is not late because the process was busy, or suspended, and has not read it yet.
import { Cancellation, type CancelSignal } from "./cancellation.ts";
import { afterSocketsRead } from "./event-loop.ts";

/**
 * Calls `late` after `ms` milliseconds, once what has arrived on the sockets by then has been read. Returns what stops
 * the timer; `late` is not called any more then.
 */
export function startTimeout(ms: number, late: () => void): () => void {
  let isStopped = false;
  const timer = setTimeout(() => afterSocketsRead(() => void (isStopped || late())), ms);
  return () => {
    isStopped = true;
    clearTimeout(timer);
  };
}

/**
 * Settles as `work` does, or rejects with `late()` after `timeoutMs` milliseconds. The work itself continues; its
 * outcome is ignored from then on, even a rejection.
 */
export async function withTimeout<T>(work: Promise<T>, timeoutMs: number, late: () => Error): Promise<T> {
  const settled = await within(work, timeoutMs);
  if (settled === LATE) throw late();
  return settled;
}

/** What `within` resolves with when the time is over. */
export const LATE = Symbol("late");

/**
 * Settles as `work` does, or resolves with `LATE` after `timeoutMs` milliseconds. The work itself continues; its
 * outcome is ignored from then on, even a rejection.
 */
export async function within<T>(work: Promise<T>, timeoutMs: number): Promise<T | typeof LATE> {
  let stopTimer = (): void => {};
  const late = new Promise<typeof LATE>((resolve) => {
    stopTimer = startTimeout(timeoutMs, () => resolve(LATE));
  });
  try {
    return await Promise.race([work, late]);
  } finally {
    stopTimer();
  }
}

/**
 * Runs `work` with a signal that is aborted when `outer` is, and when the work fails: what it has begun besides is of no use
 * then.
 */
export async function withOwnSignal<T>(
  outer: CancelSignal | null,
  work: (signal: Cancellation) => Promise<T>,
): Promise<T> {
  const own = new Cancellation();
  const stop = (): void => own.abort(outer!.reason);
  outer?.addEventListener("abort", stop);
  try {
    return await work(own);
  } catch (thrown) {
    own.abort(thrown);
    throw thrown;
  } finally {
    outer?.removeEventListener("abort", stop);
  }
}

/** Does the same with a signal that is also aborted with `late()` after `timeoutMs` milliseconds. */
export function withCancellation<T>(
  work: (signal: Cancellation) => Promise<T>,
  timeoutMs: number,
  late: () => Error,
  outer: CancelSignal | null = null,
): Promise<T> {
  return withOwnSignal(outer, async (signal) => {
    const stopTimer = startTimeout(timeoutMs, () => signal.abort(late()));
    try {
      return await work(signal);
    } finally {
      stopTimer();
    }
  });
}

/** Waits. Rejects with the signal's reason if that comes first. */
export function pause(waitMs: number, signal: CancelSignal): Promise<void> {
  return new Promise((resolve, reject) => {
    const stop = (): void => {
      clearTimeout(timer);
      // the reason is passed on as the caller gave it
      // oxlint-disable-next-line typescript/prefer-promise-reject-errors
      reject(signal.reason);
    };
    const timer = setTimeout(() => {
      signal.removeEventListener("abort", stop);
      resolve();
    }, waitMs);
    if (signal.aborted) stop();
    else signal.addEventListener("abort", stop);
  });
}

/** Settles as `answer` does. Rejects with the signal's reason if that comes first. */
export function untilOver<T>(answer: Promise<T>, signal: CancelSignal): Promise<T> {
  return new Promise((resolve, reject) => {
    // the reason is passed on as the caller gave it
    // oxlint-disable-next-line typescript/prefer-promise-reject-errors
    const stop = (): void => reject(signal.reason);
    if (signal.aborted) stop();
    else signal.addEventListener("abort", stop);
    answer.then(resolve, reject).finally(() => signal.removeEventListener("abort", stop));
  });
}
