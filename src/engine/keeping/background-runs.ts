// Calls that run in the background of this process: whoever asks finds them by the id of what they make, reads what a
// stream has brought so far, and can end them (promise 12.8).

export interface BackgroundRun {
  /** The events so far, each at the place of its number; empty for a call that is not streamed. */
  readonly events: readonly string[];
  readonly isEnded: boolean;
  /** Resolves when there are more events, or when the run has ended. */
  changed(): Promise<void>;
  /** Ends the call. */
  cancel(): void;
  /** Resolves when what the call has made is kept. Never rejects. */
  readonly ended: Promise<void>;
}

/** What a running call says of itself. */
export interface RunReports {
  /** The call has brought a further event. */
  readonly brought: (event: string) => void;
}

export class BackgroundRuns {
  readonly #runs = new Map<string, BackgroundRun>();

  /** `work` must not reject. It is known by the id until it has ended. */
  begin(id: string, work: (reports: RunReports) => Promise<void>, cancel: () => void): BackgroundRun {
    const events: string[] = [];
    let isEnded = false;
    let change = Promise.withResolvers<void>();
    const changes = (): void => {
      change.resolve();
      change = Promise.withResolvers();
    };
    const ended = work({
      brought(event) {
        events.push(event);
        changes();
      },
    }).finally(() => {
      isEnded = true;
      this.#runs.delete(id);
      changes();
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

  /** Resolves when all that run now have ended. */
  async settled(): Promise<void> {
    await Promise.all([...this.#runs.values()].map(({ ended }) => ended));
  }
}
