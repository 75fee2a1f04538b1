// Waits that end early when a signal is aborted.
import type { CancelSignal } from "../../core/cancellation.ts";

/** Rejects with the signal's reason. */
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
