// The dependencies that the composition root passes to every call.
import type { Logins } from "../../auth/logins/logins.ts";
import type { CallingSession } from "../../auth/logins/recent-login.ts";
import type { LimitStore } from "../../admission/limit-store.ts";
import type { OnCharged } from "../../admission/budget-thresholds.ts";
import type { ResponseCache } from "../../cache/response-cache.ts";
import type { Clock } from "../../core/clock.ts";
import type { GatewayError } from "../../core/errors.ts";
import type { CredentialProvider } from "../../core/configured/credential.ts";
import type { RouteMirror } from "../../core/configured/route.ts";
import type { ServerLimits, Snapshot } from "../../core/snapshot.ts";
import type { Tracing } from "../../core/record/trace.ts";
import type { Events } from "../../core/record/event.ts";
import type { ToolServers } from "../../mcp/tool-servers.ts";
import type { Integrations } from "../../observe/integrations/integrations.ts";
import type { Observer } from "../../observe/observer.ts";
import type { Provider } from "../../providers/interface/provider.ts";
import type { Slots } from "../../core/concurrency/slots.ts";
import type { Health } from "../../routing/health/health.ts";
import type { KeptPrompts } from "../../routing/kept-prompts.ts";
import type { Hedging } from "../../routing/plan/hedging.ts";
import type { Ledger } from "../../store/journal/ledger.ts";
import type { Store } from "../../store/store.ts";
import type { BackgroundRuns } from "../keeping/background-runs.ts";
import type { DurableStore } from "../keeping/durable-store.ts";
import type { KeptStore } from "../keeping/kept-store.ts";
import type { VendorObjects } from "../objects/vendor-objects.ts";
import type { ReasoningCarriers } from "../carriers/reasoning-carrier.ts";
import type { LongTasks } from "../long-bodies/long-tasks.ts";
import type { ArgumentChecks } from "../../mcp/tool-arguments.ts";
import type { LongRequests } from "../long-bodies/long-requests.ts";
import type { CallAudit } from "./call-audit.ts";
import type { HeldBytes } from "./held-bytes.ts";
import type { UpstreamClient } from "../../wire/upstream.ts";
import type { GuardServices } from "../guards/outside-guards.ts";
import type { GuardThreads } from "../guards/guard-threads.ts";

export interface ChatContext {
  readonly clock: Clock;
  /** The newest snapshot; each call takes it once. */
  snapshot(): Snapshot;
  /** Providers by family. */
  readonly providers: ReadonlyMap<string, Provider>;
  readonly upstream: UpstreamClient;
  readonly credentials: CredentialProvider;
  readonly logins: Logins;
  readonly observer: Observer;
  /** `null` when no integration receives traces. */
  readonly tracing: Tracing | null;
  /** Integrations that are notified of calls before they end; `null` when there are none. */
  readonly integrations: Pick<Integrations, "admitted" | "chunks"> | null;
  readonly events: Events;
  /** Called when the content of a call could not be prepared for keeping. */
  readonly onContentLost?: (traceId: string, fault: unknown) => void;
  readonly toolServers: ToolServers;
  readonly argumentChecks: ArgumentChecks;
  /** The threads in which guards run long searches. */
  readonly guards: GuardThreads;
  /** The services that judge texts for guards. */
  readonly guardServices: GuardServices;
  readonly ledger: Ledger;
  readonly routing: Routing;
  /** `null` when requests of any length are parsed and written in the thread that serves calls. */
  readonly longRequests: LongRequests | null;
  /** `null` when non-streaming answers of any length are read and written in the thread that serves calls. */
  readonly longTasks: LongTasks | null;
  readonly traffic: Traffic;
  /** `null` when no calls are copied to mirrors. */
  readonly copies: Copies | null;
  /** `null` when answers are not kept. */
  readonly cache: ResponseCache | null;
  /** What operations keep of calls for a while; `null` where nothing is kept. */
  readonly kept: KeptStore<unknown> | null;
  /** Calls that run in the background; `null` where none may. */
  readonly background: BackgroundRuns | null;
  /** What operations keep of calls like their content; `null` where no database keeps content. */
  readonly durable: DurableStore | null;
  /** Where it is written down who reads content; `null` where there is no audit log. */
  readonly audit: Pick<Store, "note"> | null;
  /** Writes down who explains and replays calls; `null` where there is no audit log. */
  readonly notes: Pick<CallAudit, "note"> | null;
  /** The session of the console that asks for its calls; absent where they come by the API itself. */
  readonly session?: CallingSession;
  /** What is known of ids that vendors handed out; `null` where there is no database. */
  readonly objects: VendorObjects | null;
  /** Seals and opens what providers need back of their reasoning. */
  readonly carriers: ReasoningCarriers;
  readonly limits: LimitStore;
  /** Calls go to drained providers too: to test one before calls return to it. */
  readonly ignoresDrains?: boolean;
  /** Checks the thresholds of budgets. */
  readonly onCharged: OnCharged;
}

/** The copies of calls in flight, and what they have apart from the calls of clients (promise 16.1). */
export interface Copies extends Traffic {
  /** What copies learn of targets does not concern the calls of clients. */
  readonly routing: Routing;
  /**
   * Counts a copy that is in flight. Returns a function that counts its end; `null` where no more may be in flight of the
   * mirror of the route, of the tenant, or in all.
   */
  begin(tenantId: string, routeKey: string, mirror: Pick<RouteMirror, "maxInFlight">): (() => void) | null;
}

/** What is known of upstreams, and a source of random numbers. */
export interface Routing {
  readonly health: Health;
  readonly hedging: Hedging;
  readonly concurrency: Slots;
  readonly prompts: KeptPrompts;
  /** Returns a number of at least 0 and below 1. */
  random(): number;
}

/** A call in flight. */
export interface InFlightCall {
  readonly tenantId: string;
  /**
   * Ends everything that the call has in flight; its client receives the reason. `null` once the call has left, because
   * its place does not end with it: a table that a set of places has outgrown refers to those that it held, and would
   * keep their calls in memory until the next collection of all garbage.
   */
  abandon: ((reason: GatewayError) => void) | null;
}

/** The calls in flight: their number is bounded, and they are drained when the process stops. */
export interface Traffic {
  /**
   * Takes a place among the calls in flight, and among those of the tenant. Throws `shutting_down`, `stale_snapshot` or
   * `gateway_overloaded`.
   */
  enter(call: InFlightCall, bounds: Pick<ServerLimits, "maxConcurrentCalls" | "maxConcurrentCallsPerTenant">): void;
  /** Releases the place. */
  leave(call: InFlightCall): void;
  /** What the bodies of calls hold in memory while they arrive. */
  readonly held: HeldBytes;
}
