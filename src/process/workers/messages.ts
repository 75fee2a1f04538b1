// The messages between the supervisor and its workers. Each kind has one direction.
import type { ShippedPlace } from "../../store/journal/ledger.ts";
import type { Account } from "../../core/configured/limit.ts";
import type { ReadingWire, ReservedWire, ReserveWire, SettledWire } from "./limit-messages.ts";
import type { NewEvent } from "../../core/record/event.ts";
import type { RefusalNews } from "../../credentials/rotation.ts";
import type { ProcessStanding } from "../../http/standing.ts";
import type { IntegrationOutline } from "../../observe/integrations/handover.ts";
import type { WorkerFigures } from "../../observe/metrics/worker-gauges.ts";
import type { Refused } from "../../observe/webhooks/refusal-events.ts";
import type { QueueOutcome } from "../../core/concurrency/slots.ts";
import type { HealthNews } from "../../routing/health/health-news.ts";
import type { SlotAnswer, SlotRequest } from "../../routing/shared-slots.ts";
import type { ContentKey, StoredContent } from "../../store/calls/calls.ts";
import type { ConfigurationScope } from "../../store/records.ts";
import type { Channel } from "./channel.ts";

/**
 * Both sides have to have the same: a worker of another version may be started by a rolling restart. It changes when one side
 * would miss what the other says; a supervisor of protocol 1 does not know the messages about responses that are kept.
 */
export const PROTOCOL = 3;

/** What a worker sends to the supervisor. */
export type ToSupervisor = {
  /** The first message of a worker. The supervisor refuses a worker that it did not start, or another protocol. */
  readonly hello: { readonly body: WorkerHello; readonly reply: null };
  /** Everything is open; the reply comes when this worker may begin to listen. */
  readonly ready: { readonly body: { readonly ledgerFolder: string }; readonly reply: MayListen };
  readonly listening: { readonly body: null; readonly reply: void };
  /** The listener is closed: the kernel gives its index to another worker. */
  readonly not_listening: { readonly body: null; readonly reply: void };
  /** The process is about to end; `cut` calls had to be cut. */
  readonly ended: { readonly body: { readonly cut: number }; readonly reply: void };
  readonly beat: { readonly body: WorkerBeat; readonly reply: void };
  /** Whole lines of the log, as text in the bytes. */
  readonly log_lines: { readonly body: null; readonly reply: void };
  readonly reserve: { readonly body: ReserveWire; readonly reply: ReservedWire };
  /** Ends needs of reservations. */
  readonly settle: { readonly body: readonly SettledWire[]; readonly reply: void };
  readonly limit_status: { readonly body: Account; readonly reply: ReadingWire };
  readonly limit_first: { readonly body: Account & { readonly mark: string }; readonly reply: boolean };
  /** Replies when everything that was counted up to this message is kept, so that no other record of it is needed. */
  readonly limits_kept: { readonly body: null; readonly reply: null };
  /** Rows of calls, whose texts are in the bytes one after the other. */
  readonly ledger_rows: { readonly body: RowsWire; readonly reply: null };
  readonly ledger_places: {
    readonly body: { readonly journals: readonly string[]; readonly runs: readonly string[] };
    readonly reply: readonly ShippedPlace[];
  };
  /** This worker takes news of targets and credentials from now on; what it has to know at its start follows. */
  readonly takes_news: { readonly body: null; readonly reply: void };
  readonly target_news: { readonly body: HealthNews; readonly reply: void };
  readonly enter_slot: { readonly body: SlotRequest; readonly reply: SlotAnswer };
  readonly leave_slot: { readonly body: { readonly id: number }; readonly reply: void };
  /** A provider has refused a credential. */
  readonly credential_refused: { readonly body: RefusalNews; readonly reply: void };
  /** The database has changed; replies when all other processes serve by it. */
  readonly follow_all: { readonly body: null; readonly reply: null };
  /** Asks for the figures of all other processes; with metrics, their samples are in the bytes (machine-figures.ts). */
  readonly machine_figures: { readonly body: { readonly withMetrics: boolean }; readonly reply: MachineFiguresWire };
  /** This worker answers the message `figures` from now on. */
  readonly serves_figures: { readonly body: null; readonly reply: void };
  /** The last metrics of a worker that ends, in the bytes. */
  readonly last_metrics: { readonly body: null; readonly reply: null };
  readonly events: { readonly body: readonly NewEvent[]; readonly reply: void };
  readonly refusals: { readonly body: readonly Refused[]; readonly reply: null };
  /** The integrations that the supervisor has open. */
  readonly integrations: { readonly body: null; readonly reply: readonly IntegrationOutline[] };
  /** Lines for one thread of integrations, in the bytes. */
  readonly integration_lines: { readonly body: { readonly thread: number }; readonly reply: null };
  readonly content_key: {
    readonly body: { readonly tenantId: string; readonly encryptedKey: string };
    readonly reply: string | null;
  };
  /** Contents of calls, whose bodies are in the bytes one after the other. Replies false when one of the keys is old. */
  readonly contents: {
    readonly body: { readonly contents: readonly ContentWire[]; readonly keys: readonly ContentKey[] };
    readonly reply: boolean;
  };
  /** Content of this place is about to be removed: no process keeps what waits. Replies when none of it is written. */
  readonly forget_content: { readonly body: ConfigurationScope; readonly reply: null };
  /** What an operation keeps of a call, sealed in the bytes. Replies false when it is too large. */
  readonly keep_object: {
    readonly body: { readonly tenantId: string; readonly projectId: string | null; readonly ids: readonly string[] };
    readonly reply: boolean;
  };
  /** The reply has the object in its bytes. */
  readonly find_object: {
    readonly body: { readonly tenantId: string; readonly id: string };
    readonly reply: { readonly ids: readonly string[]; readonly untilMs: number } | null;
  };
  readonly remove_all_objects: {
    readonly body: { readonly tenantId: string; readonly projectId: string | null };
    readonly reply: null;
  };
  readonly remove_object: { readonly body: { readonly tenantId: string; readonly id: string }; readonly reply: null };
};
/** What the supervisor sends to a worker. */
export type ToWorker = {
  readonly target_news: { readonly body: HealthNews; readonly reply: void };
  readonly slot_turn: { readonly body: { readonly id: number; readonly turn: QueueOutcome }; readonly reply: void };
  readonly credential_refused: { readonly body: RefusalNews; readonly reply: void };
  /** With metrics, the samples are in the bytes as JSON. */
  readonly figures: { readonly body: { readonly withMetrics: boolean }; readonly reply: ProcessStanding };
  readonly forget_content: { readonly body: ConfigurationScope; readonly reply: null };
  /** The gateway has started: every worker knows what its first start has made. */
  readonly started: { readonly body: null; readonly reply: void };
  /** Reads the configuration and the tokens again, and replies when new calls see them. */
  readonly reload: { readonly body: null; readonly reply: null };
  /** Takes over what has changed in the database, and replies when new calls see it. */
  readonly follow: { readonly body: null; readonly reply: null };
  /** Sets the weights of all listeners; see listener-socket.ts. */
  readonly steer: { readonly body: { readonly weights: readonly number[] }; readonly reply: null };
  /** Takes no new calls, ends those in flight within this time, and exits. */
  readonly drain: {
    /** `isReplaced`: other workers continue. */
    readonly body: { readonly withinMs: number; readonly isReplaced: boolean };
    readonly reply: void;
  };
  /** The limit store has freed the slot of a call: it has to end. */
  readonly limit_lost: { readonly body: { readonly id: number }; readonly reply: void };
  /** Cuts what is still in flight of a drain. */
  readonly hurry: { readonly body: null; readonly reply: void };
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
  /** The number of its bytes. */
  readonly bytes: number;
}
