// What a worker has of the other processes of its gateway.
import type { KeptStore } from "../../engine/keeping/kept-store.ts";
import type { OpenCredentialProvider } from "../../credentials/credential-provider.ts";
import type { RefusalNews } from "../../credentials/rotation.ts";
import type { Slots } from "../../core/concurrency/slots.ts";
import type { OwnFigures, WorkerFiguresView } from "../workers/machine-figures.ts";

/** How a process listens on a port that it shares with others. */
export interface SharedPort {
  /** Resolves with the port when this process may begin to listen. `ledgerFolder` is where its journal is. */
  turn(ledgerFolder: string): Promise<number>;
  listens(): void;
  /** Why the processes that share the port are not ready; `null` when they are. */
  refusal(): string | null;
  /** Its listener is closed. */
  left(): void;
}

/** The other processes of a gateway, as one of its workers sees them. */
export interface Machine {
  /** A provider has refused a credential, or asked it to wait. */
  credentialRefused(news: RefusalNews): void;
  /** From now on this process takes news of others, and answers when they ask for its figures. */
  begin(own: OwnFigures, credentials: Pick<OpenCredentialProvider, "learn">): WorkerFiguresView;
  /** Resolves when all other processes serve by what is in the database now, after a second at the latest. */
  follow(): Promise<void>;
  /** What operations keep of calls. */
  readonly kept: KeptStore<Uint8Array>;
  /** Bounded slots that all processes share. */
  readonly slots: Slots;
}
