// The messages between the supervisor and its workers. Each kind has one direction.
import type { ShippedPlace } from "../../store/journal/ledger.ts";
import type { Account } from "../../core/configured/limit.ts";
import type { ReadingWire, ReservedWire, ReserveWire, SettledWire } from "./limit-messages.ts";
import type { NewEvent } from "../../core/record/event.ts";
import type { RefusalNews } from "../../credentials/rotation.ts";
import type { ProcessStanding } from "../../http/standing.ts";
import type { IntegrationOutline } from "../../observe/integrations/handover.ts";
import type { WorkerFigures } from "../../observe/metrics/worker-gauges.ts";
import type { RefusedCalls } from "../../observe/webhooks/refusal-events.ts";
import type { QueueOutcome } from "../../core/concurrency/slots.ts";
import type { HealthNews } from "../../routing/health/health-news.ts";
import type { SlotAnswer, SlotRequest } from "../../routing/shared-slots.ts";
import type { ContentKey, StoredContent } from "../../store/calls/calls.ts";
import type { LoadedConfiguration } from "../../snapshot/configuration.ts";
import type { ServerOptions } from "../../snapshot/server-options.ts";
import type { ConfigurationScope } from "../../store/records.ts";
import type { Channel } from "./channel.ts";

/**
 * Both sides have to have the same: a worker of another version may be started by a rolling restart. It changes when one
 * side would miss what the other says.
 */
export const PROTOCOL = 1;

/** What a worker sends to the supervisor. */
export type ToSupervisor = {
  /** The first message of a worker. The supervisor refuses a worker that it did not start, or another protocol. */
  hello(body: WorkerHello): WorkerStart;
  /** Everything is open; the reply comes when this worker may begin to listen. */
  ready(body: { readonly ledgerFolder: string }): MayListen;
  listening(body: null): void;
  /** The listener is closed: the kernel gives its index to another worker. */
  not_listening(body: null): void;
  /** The process is about to end; `cut` calls had to be cut. */
  ended(body: { readonly cut: number }): void;
  beat(body: WorkerBeat): void;
  /** Whole lines of the log, as text in the bytes. */
  log_lines(body: null): void;
  reserve(body: ReserveWire): ReservedWire;
  /** Ends needs of reservations. */
  settle(body: readonly SettledWire[]): void;
  limit_status(body: Account): ReadingWire;
  limit_first(body: Account & { readonly mark: string }): boolean;
  /** Replies when everything that was counted up to this message is kept, so that no other record of it is needed. */
  limits_kept(body: null): null;
  /** Rows of calls, whose texts are in the bytes one after the other. */
  ledger_rows(body: RowsWire): null;
  ledger_places(body: {
    readonly journals: readonly string[];
    readonly runs: readonly string[];
  }): readonly ShippedPlace[];
  /** This worker takes news of targets and credentials from now on; what it has to know at its start follows. */
  takes_news(body: null): void;
  target_news(body: HealthNews): void;
  enter_slot(body: SlotRequest): SlotAnswer;
  leave_slot(body: { readonly id: number }): void;
  /** A provider has refused a credential. */
  credential_refused(body: RefusalNews): void;
  /** The database has changed; replies when all other processes serve by it. */
  follow_all(body: null): null;
  /** Asks for the figures of all other processes; with metrics, their samples are in the bytes (machine-figures.ts). */
  machine_figures(body: { readonly withMetrics: boolean }): MachineFiguresWire;
  /** This worker answers the message `figures` from now on. */
  serves_figures(body: null): void;
  /** The last metrics of a worker that ends, in the bytes. */
  last_metrics(body: null): null;
  events(body: readonly NewEvent[]): void;
  refusals(body: readonly RefusedCalls[]): null;
  /** The integrations that the supervisor has open. */
  integrations(body: null): readonly IntegrationOutline[];
  /** Lines for one thread of integrations, in the bytes. */
  integration_lines(body: { readonly thread: number }): null;
  content_key(body: { readonly tenantId: string; readonly encryptedKey: string }): string | null;
  /** Contents of calls, whose bodies are in the bytes one after the other. Replies false when one of the keys is old. */
  contents(body: { readonly contents: readonly ContentWire[]; readonly keys: readonly ContentKey[] }): boolean;
  /** Content of this place is about to be removed: no process keeps what waits. Replies when none of it is written. */
  forget_content(body: ConfigurationScope): null;
  /** What an operation keeps of a call, sealed in the bytes. Replies false when it is too large. */
  keep_object(body: {
    readonly tenantId: string;
    readonly projectId: string | null;
    readonly ids: readonly string[];
  }): boolean;
  /** The reply has the object in its bytes. */
  find_object(body: {
    readonly tenantId: string;
    readonly id: string;
  }): { readonly ids: readonly string[]; readonly untilMs: number } | null;
  remove_all_objects(body: { readonly tenantId: string; readonly projectId: string | null }): null;
  remove_object(body: { readonly tenantId: string; readonly id: string }): null;
};
/** What the supervisor sends to a worker. */
export type ToWorker = {
  target_news(body: HealthNews): void;
  slot_turn(body: { readonly id: number; readonly turn: QueueOutcome }): void;
  credential_refused(body: RefusalNews): void;
  /** With metrics, the samples are in the bytes as JSON. */
  figures(body: { readonly withMetrics: boolean }): ProcessStanding;
  forget_content(body: ConfigurationScope): null;
  /** The gateway has started: every worker knows what its first start has made. */
  started(body: null): void;
  /** Reads the configuration and the tokens again, and replies when new calls see them. */
  reload(body: null): null;
  /** Takes over what has changed in the database, and replies when new calls see it. */
  follow(body: null): null;
  /** Sets the weights of all listeners; see listener-socket.ts. */
  steer(body: { readonly weights: readonly number[] }): null;
  /** Takes no new calls, ends those in flight within this time, and exits. `isReplaced`: other workers continue. */
  drain(body: { readonly withinMs: number; readonly isReplaced: boolean }): void;
  /** The limit store has freed the slot of a call: it has to end. */
  limit_lost(body: { readonly id: number }): void;
  /** Cuts what is still in flight of a drain. */
  hurry(body: null): void;
};

/** `isStarting`: the message `started` follows. */
export interface MayListen {
  readonly port: number;
  readonly isStarting: boolean;
}

export interface WorkerHello {
  /** As the supervisor has given it to the process, in its environment. */
  readonly worker: string;
  readonly protocol: number;
}

/**
 * What a worker begins with, whatever has become of the configuration file and of its secrets' files since the supervisor
 * read them.
 */
export interface WorkerStart extends Pick<LoadedConfiguration, "file" | "text" | "secrets"> {
  /** The text at the start, or at the last rolling restart: in every worker, what needs a restart is as it says. */
  readonly restartText: string;
  /** What the supervisor and its workers use together. */
  readonly places: Pick<ServerOptions, "host" | "workers" | "dataFolder" | "databaseUrl" | "ledger" | "limitStore">;
}

export interface WorkerBeat {
  readonly callsInFlight: number;
}

/** The worker's end of the channel. */
export type SupervisorChannel = Channel<ToSupervisor, ToWorker>;
/** The supervisor's end of the channel to one worker. */
export type WorkerChannel = Channel<ToWorker, ToSupervisor>;

export interface RowsWire {
  /** For each row the number of its bytes, below 0 when the call was not settled. */
  readonly rows: readonly number[];
  readonly place?: ShippedPlace | undefined;
}

export interface MachineFiguresWire {
  readonly workers: WorkerFigures;
  readonly supervisor: ProcessStanding;
  /** Of the other workers that answered in time. */
  readonly others: readonly ProcessStanding[];
}

export interface ContentWire extends Omit<StoredContent, "body"> {
  readonly bytes: number;
}
