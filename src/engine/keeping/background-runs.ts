// Calls that run in the background of this process: whoever asks finds them by the id of what they make, reads what a
// stream has brought so far, and can end them (promise 12.8).
import { Cancellation, type CancelSignal } from "../../core/concurrency/cancellation.ts";

export interface BackgroundRun {
  /** The events so far, each at the place of its number; empty for a call that is not streamed. */
  readonly events: readonly string[];
  /** Whether there will be no further event. */
  readonly isEnded: boolean;
  /** Resolves when there are more events, or when the last one has come. */
  changed(): Promise<void>;
  /** Ends the call. */
  cancel(): void;
  /** Resolves when what the call has made is kept, or cannot be. Never rejects. */
  readonly ended: Promise<void>;
}

/** What a running call says of itself. */
export interface RunReports {
  /** The call has brought a further event. */
  readonly brought: (event: string) => void;
  /** The call has brought its last event, and only what it has made is not kept yet. Not needed where the work ends at once. */
  readonly hasBroughtAll: () => void;
  /** Aborted when the process ends, which then waits for the work. */
  readonly closing: CancelSignal;
}

export class BackgroundRuns {
  readonly #runs = new Map<string, BackgroundRun>();
  readonly #closing = new Cancellation();

  /** `work` must not reject. It is known by the id until it has ended. */
  begin(id: string, work: (reports: RunReports) => Promise<void>, cancel: () => void): BackgroundRun {
    const events: string[] = [];
    let isEnded = false;
    let change = Promise.withResolvers<void>();
    const changes = (): void => {
      change.resolve();
      change = Promise.withResolvers();
    };
    const hasBroughtAll = (): void => {
      isEnded = true;
      changes();
    };
    const ended = work({
      brought(event) {
        events.push(event);
        changes();
      },
      hasBroughtAll,
      closing: this.#closing,
    }).finally(() => {
      this.#runs.delete(id);
      hasBroughtAll();
    });
    const run: BackgroundRun = {
      events,
      get isEnded() {
        return isEnded;
      },
      changed: () => change.promise,
      cancel,
      ended,
    };
    this.#runs.set(id, run);
    return run;
  }

  get(id: string): BackgroundRun | null {
    return this.#runs.get(id) ?? null;
  }

  /** Says that the process ends. Resolves when all that run now have ended. */
  async close(): Promise<void> {
    this.#closing.abort(new Error("the gateway is shutting down"));
    await Promise.all([...this.#runs.values()].map(({ ended }) => ended));
  }
}
