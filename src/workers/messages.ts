// The messages between the supervisor and its workers. A kind belongs to one direction; who handles it says so in its line.
import type { Channel } from "./channel.ts";

/** What a worker sends to the supervisor. */
export type ToSupervisor = {
  /** The first message of a worker. The channel is closed when the supervisor does not know this worker. */
  readonly hello: { readonly body: WorkerHello; readonly reply: null };
};

/** What the supervisor sends to a worker. */
export type ToWorker = {
  /** Reads the configuration and the tokens again, and replies when new calls see them. */
  readonly reload: { readonly body: null; readonly reply: null };
};

export interface WorkerHello {
  /** As the supervisor has given it to the process (worker-identity.ts). */
  readonly worker: string;
  readonly pid: number;
}

/** The worker's end of the channel. */
export type SupervisorChannel = Channel<ToSupervisor, ToWorker>;
/** The supervisor's end of the channel to one worker. */
export type WorkerChannel = Channel<ToWorker, ToSupervisor>;
