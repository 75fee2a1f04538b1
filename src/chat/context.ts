// What the composition root hands to every call.
import type { Logins } from "../auth/logins.ts";
import type { LimitStore } from "../admission/limit-store.ts";
import type { OnCharged } from "../admission/thresholds.ts";
import type { Clock } from "../core/clock.ts";
import type { GatewayError } from "../core/errors.ts";
import type { CredentialLender } from "../core/credential.ts";
import type { ServerLimits, Snapshot } from "../core/snapshot.ts";
import type { Tracing } from "../core/trace.ts";
import type { Events } from "../core/event.ts";
import type { ToolServers } from "../mcp/tool-servers.ts";
import type { Integrations } from "../observe/integrations/integrations.ts";
import type { Observer } from "../observe/observer.ts";
import type { Provider } from "../providers/provider.ts";
import type { Concurrency } from "../routing/concurrency.ts";
import type { Health } from "../routing/health.ts";
import type { Hedging } from "../routing/hedging.ts";
import type { Ledger } from "../store/ledger.ts";
import type { LongAnswers } from "./long-answers.ts";
import type { LongRequests } from "./long-requests.ts";
import type { UpstreamClient } from "../wire/upstream.ts";
import type { GuardThreads } from "./guard-threads.ts";

export interface ChatContext {
  readonly clock: Clock;
  /** The newest snapshot; a call takes it once. */
  snapshot(): Snapshot;
  /** Providers by family. */
  readonly providers: ReadonlyMap<string, Provider>;
  readonly upstream: UpstreamClient;
  readonly credentials: CredentialLender;
  readonly logins: Logins;
  readonly observer: Observer;
  /** Null: no integration wants traces. */
  readonly tracing: Tracing | null;
  /** Who is told of calls before they end; null: nobody. */
  readonly integrations: Pick<Integrations, "admitted" | "chunks"> | null;
  readonly events: Events;
  /** What was said in a call could not be made ready to be kept. */
  readonly onContentLost?: (traceId: string, fault: unknown) => void;
  readonly toolServers: ToolServers;
  /** Where guards look at what takes long. */
  readonly guards: GuardThreads;
  readonly ledger: Ledger;
  readonly routing: Routing;
  /** Null: requests of any length are parsed and written in the thread that serves calls. */
  readonly longRequests: LongRequests | null;
  /** Null: plain answers of any length are read and written in the thread that serves calls. */
  readonly longAnswers: LongAnswers | null;
  readonly traffic: Traffic;
  readonly limits: LimitStore;
  /** Looks after the thresholds of budgets. */
  readonly onCharged: OnCharged;
}

/** What the process knows of its upstreams, and chance. */
export interface Routing {
  readonly health: Health;
  readonly hedging: Hedging;
  readonly concurrency: Concurrency;
  /** 0 to below 1. */
  random(): number;
}

/** A call that has a place. */
export interface CallUnderWay {
  readonly tenantId: string;
  /** Ends everything of it, and its client hears the reason. */
  abandon(reason: GatewayError): void;
}

/** Calls under way: bounded, drained at the end of the process. */
export interface Traffic {
  /** Takes a place among the calls under way, and among those of the tenant. Throws `shutting_down`, `stale_snapshot` or `gateway_overloaded`. */
  enter(call: CallUnderWay, bounds: Pick<ServerLimits, "maxConcurrentCalls" | "maxConcurrentCallsPerTenant">): void;
  /** Gives the place back. */
  leave(call: CallUnderWay): void;
}
