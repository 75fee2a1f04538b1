// The composition root: the only file that names concrete drivers. Opens everything in order and closes it in reverse.
import { hostname } from "node:os";
import { join } from "node:path";
import { openLogins } from "./auth/logins.ts";
import type { LimitStore } from "./admission/limit-store.ts";
import { type BudgetWatch, openBudgetWatch } from "./admission/budget-watch.ts";
import { type MemoryLimitsOptions, openMemoryLimits } from "./admission/memory.ts";
import { thresholdEvent } from "./admission/threshold-event.ts";
import { type Crossed, thresholdWatch } from "./admission/thresholds.ts";
import { bootstrap } from "./auth/token-admin.ts";
import { readCatalogue } from "./accounting/model-catalogue.ts";
import { openModelNames } from "./accounting/model-names.ts";
import { handleChat } from "./chat/handle.ts";
import type { ChatContext } from "./chat/context.ts";
import { openRouting, targetStandings } from "./chat/open-routing.ts";
import { breakerEvent } from "./routing/breaker-event.ts";
import type { Environment } from "./config/environment.ts";
import { isReadableByOthers } from "./config/master-key.ts";
import type { ServerOptions } from "./config/server-options.ts";
import { systemClock } from "./core/clock.ts";
import { openCredentialLender, type Refused } from "./credentials/lender.ts";
import { type Events, NO_EVENTS } from "./core/event.ts";
import { type OpenToolServers, openToolServers } from "./mcp/open-tool-servers.ts";
import type { JsonObject } from "./core/json.ts";
import type { Snapshot } from "./core/snapshot.ts";
import { createApp } from "./http/app.ts";
import { openServer } from "./http/server.ts";
import { openTraffic } from "./http/traffic.ts";
import { type Log, openLog } from "./observe/log.ts";
import type { LimitStoreFigures } from "./observe/limit-store-gauges.ts";
import { type Metrics, openMetrics, type TargetStanding } from "./observe/metrics.ts";
import { batched } from "./observe/batch.ts";
import { type Integrations, openIntegrations } from "./observe/integrations.ts";
import { type ContentLog, openContentLog } from "./observe/content-log.ts";
import { observers } from "./observe/observer.ts";
import { type OpenEvents, openEvents } from "./observe/open-events.ts";
import { tracingOf } from "./observe/tracing.ts";
import { BUILT_IN_MODELS, providers } from "./providers/registry.ts";
import { SANDBOX_SCHEME, sandboxUpstream } from "./providers/sandbox/upstream.ts";
import { openLimitCounts } from "./store/limit-counts.ts";
import { openSnapshotSource, type SnapshotSource } from "./snapshot/source.ts";
import { noLedger } from "./store/ledger.ts";
import { type OpenLedger, openLedger } from "./store/open-ledger.ts";
import { keepAuditPruned } from "./store/audit-settings.ts";
import { keepContentsPruned, keepPruned } from "./store/call-settings.ts";
import { openContentStore } from "./store/content-store.ts";
import { openCalls, openDatabase, openEvents as openEventQueue } from "./store/open-database.ts";
import { createFetchUpstream } from "./wire/upstream-fetch.ts";
import { createSocketUpstream } from "./wire/upstream-socket.ts";
import type { UpstreamClient } from "./wire/upstream.ts";
import { VERSION } from "./core/version.ts";

export const PROVIDER_FAMILIES = [...providers.values()];

/** Time for the last bytes of answers to leave once no call is under way. */
const LAST_BYTES_MS = 5000;
/** Rows of the ledger are looked through for counts from so long before the last ones that were kept: clocks of files and of the process are not one. */
const COUNTED_BEFORE_MS = 60_000;
/** Time for the database to let go of its connections at the end. */
const LAST_ANSWER_MS = 3000;
/** Time for integrations to take the last records. */
const LAST_RECORDS_MS = 3000;
/** Time for events to be written down, and for deliveries under way. What is cut off is delivered after the next start. */
const LAST_EVENTS_MS = 2000;

export interface Gateway {
  readonly url: string;
  /** The first access token, on the very first start only. */
  readonly firstToken: string | null;
  reload(): Promise<void>;
  /** Takes no new calls, lets those under way finish up to `timeoutMs`, then closes everything. False when calls had to be cut. */
  close(timeoutMs: number): Promise<boolean>;
}

/** Of a credential no more than its last four characters are told. */
function refusedFields({ providerId, kind, lastFour, reason, forMs }: Refused): Readonly<Record<string, unknown>> {
  return { provider: providerId, credential: lastFour === null ? kind : `${kind} …${lastFour}`, reason, minutes: forMs / 60_000 };
}

/** Told once in a window of the budget. */
function tellThreshold(crossed: Crossed, log: Log, metrics: Metrics, events: Events): void {
  const { account: { rule, value }, threshold, standing } = crossed;
  events.emit(thresholdEvent(crossed));
  metrics.thresholdReached(rule.id);
  const { tenantId: tenant, projectId: project, id, name, unit, limit } = rule;
  log.warn({ event: "budget_threshold", tenant, project, budget: name, budget_id: id, value, percent: threshold.percent, degrade_to: threshold.degradeTo, unit, limit, used: standing.used }, "a budget has reached a threshold");
}

/** What is wrong with any of these stops no call by itself, but for what the settings say. */
function dependencies(source: SnapshotSource, limits: LimitStore, ledger: OpenLedger): JsonObject {
  const { unreachedMs, problems } = source.storeStanding();
  const away = limits.away?.() ?? null;
  const { fault, unshippedBytes, lost } = ledger.standing();
  return {
    database: { reached_ms_ago: Math.round(unreachedMs), problems: [...problems] },
    limit_store: { driver: limits.away === undefined ? "memory" : "valkey", away_for_ms: away === null ? null : Math.round(away.forMs), reason: away?.reason ?? null },
    ledger: { writable: fault === null, reason: fault, unshipped_bytes: unshippedBytes, lost_rows: lost },
  };
}

/** Said once for each change. */
function integrationsWatch(source: SnapshotSource, log: Log): () => void {
  let told = JSON.stringify(source.configuration().integrations);
  return () => {
    const now = JSON.stringify(source.configuration().integrations);
    if (now !== told) log.warn({ source: "file" }, "integrations have changed in the configuration: they are read at the start");
    told = now;
  };
}

/** In memory, or where all replicas count: that driver is loaded only then. */
async function openLimits({ dataFolder, limitStore }: ServerOptions, kept: Pick<MemoryLimitsOptions, "keeper" | "journalled">, log: Log, onAnswered: (seconds: number) => void, onFault: (fault: unknown) => void): Promise<LimitStore & { figures?(): LimitStoreFigures }> {
  if (limitStore === null) return openMemoryLimits({ clock: systemClock, ...kept, onFault });
  const { openValkeyLimits } = await import("./admission/valkey/valkey.ts");
  const onState = (state: "away" | "back", error: unknown): void => {
    if (state === "back") log.info({ source: "limit_store" }, "the store of the limits is reached again");
    else log.warn({ source: "limit_store", error_detail: error instanceof Error ? error.message : String(error) }, "the store of the limits cannot be reached: each limit does what its on_store_failure says");
  };
  return openValkeyLimits({ ...limitStore, clock: systemClock, folder: join(dataFolder, "leases"), onState, onAnswered, onFault });
}

/** What is opened after the metrics that tell of it. */
interface MetricParts {
  readonly ledger?: OpenLedger;
  readonly limits?: { figures?(): LimitStoreFigures };
  readonly budgets?: BudgetWatch;
  readonly integrations?: Integrations | null;
  readonly toolServers?: OpenToolServers;
  readonly events?: OpenEvents;
  readonly contentLog?: ContentLog;
}

function openGatewayMetrics(source: SnapshotSource, targets: () => readonly TargetStanding[], parts: MetricParts): Metrics {
  const names = openModelNames(() => source.current(), { providers, builtIn: BUILT_IN_MODELS });
  return openMetrics({
    targets,
    ledger: () => parts.ledger?.standing() ?? null,
    limitStore: () => parts.limits?.figures?.() ?? null,
    toolServers: () => parts.toolServers?.figures() ?? null,
    events: () => parts.events?.figures ?? null,
    contents: () => parts.contentLog?.figures() ?? null,
    budgets: async () => (await parts.budgets?.standings()) ?? [],
    integrations: () => parts.integrations?.standings() ?? [],
    modelLabel: (call) => names.nameOf(call),
    isNamedTarget: (target) => names.isNamed(target),
    isRegisteredServer: ({ tenantId, projectId }, label) => tenantId !== null && projectId !== null && source.current().toolServers.of(tenantId, projectId).has(label),
  });
}

/** One port for all targets: the sandbox answers in this process, everything else over the network. */
function openUpstream(proxy: string | null): UpstreamClient {
  const network = proxy === null ? createSocketUpstream() : createFetchUpstream({ proxy });
  return { send: (request, call) => (request.url.startsWith(SANDBOX_SCHEME) ? sandboxUpstream : network).send(request, call) };
}

/** What calls need without a server: for runs of the command line. Nothing is logged, and nothing is kept. */
export function openCallContext(snapshot: Snapshot, upstreamProxy: string | null): ChatContext {
  const traffic = openTraffic({ inc: () => {}, dec: () => {} }, () => null);
  const upstream = openUpstream(upstreamProxy);
  const credentials = openCredentialLender({ upstream, clock: systemClock, onRefused: () => {} });
  const logins = openLogins({ upstream, clock: systemClock, onFault: () => {} });
  const limits = openMemoryLimits({ clock: systemClock });
  const toolServers = openToolServers({ clock: systemClock, upstream, allowPrivateAddresses: () => snapshot.allowPrivateAddresses, tell: () => {} });
  return { clock: systemClock, snapshot: () => snapshot, providers, upstream, credentials, logins, routing: openRouting(Math.random), observer: { publish: () => {} }, integrations: null, tracing: null, events: NO_EVENTS, toolServers, ledger: noLedger, traffic, limits, onCharged: () => {} };
}

/** Throws ConfigurationError, StoreError, or the system's error when the address is in use. */
export async function openGateway(options: ServerOptions, configFile: string | null, environment: Environment): Promise<Gateway> {
  const log = openLog({ level: options.logLevel, fileDescriptor: 1 });
  const opened: MetricParts = {};
  const routing = openRouting(Math.random, (change) => {
    const event = breakerEvent(change, `${hostname()}:${process.pid}`);
    if (event !== null) opened.events?.emit(event);
  });
  const targets = () => targetStandings(routing, systemClock.monotonic());
  const { store, keys, sealer } = await openDatabase({ ...options, environment });
  if (keys.file !== null && isReadableByOthers(keys.file)) log.warn({ file: keys.file }, "others on this machine may read the file of the master key: chmod 600");
  let onSwapped: (snapshot: Snapshot) => void = () => {};
  const source = await openSnapshotSource({
    file: configFile,
    store,
    families: PROVIDER_FAMILIES,
    environment,
    onProblem: ({ source: of, message }) => log[of === "notice" ? "info" : "warn"]({ source: of }, message),
    onSwap: (snapshot) => {
      log.info({ snapshot: snapshot.version }, "configuration and tokens read again");
      onSwapped(snapshot);
    },
  });
  if ([...source.current().providers.values()].some(({ enabled, family }) => enabled && providers.get(family)?.catalogue !== null)) readCatalogue();
  const metrics = openGatewayMetrics(source, targets, opened);
  const traffic = openTraffic(metrics.inFlight, () => source.refusal());
  const onFault = (fault: unknown): void => log.error({ error_detail: fault instanceof Error ? (fault.stack ?? fault.message) : String(fault) }, "a fault outside of any call");
  const calls = await openCalls(options);
  const contents = openContentStore({ calls, sealer, now: () => systemClock.now() });
  const contentLog = openContentLog({ store: contents, onProblem: (words) => log.warn({ error_detail: words }, "what was said in calls could not be kept; it is tried again") });
  const endPruning = keepPruned(calls, options.calls, () => systemClock.now(), (words) => log.warn({ error_detail: words }, "calls that are too old could not be removed"));
  const endContentPruning = keepContentsPruned(calls, () => systemClock.now(), (words) => log.warn({ error_detail: words }, "what was said in calls and is too old could not be removed"));
  const keeper = options.limitStore === null ? openLimitCounts(join(options.dataFolder, "limits.sqlite")) : null;
  const keepsCounts = keeper?.hold() === true;
  if (keeper !== null && !keepsCounts) log.warn({ source: "limits" }, "another process counts limits in this data folder");
  const endAuditPruning = keepAuditPruned(store, options.audit, () => systemClock.now(), (words) => log.warn({ error_detail: words }, "rows of the audit log that are too old could not be removed"));
  const ledger = await openLedger({
    folder: options.ledger.folder ?? join(options.dataFolder, "ledger"),
    settings: options.ledger,
    sink: calls,
    clock: systemClock,
    ...(keepsCounts && { countedSinceMs: Math.min(keeper.keptAtMs(), systemClock.now()) - COUNTED_BEFORE_MS }),
    tell: (level, words, fields = {}) => log[level]({ ...fields }, words),
  });
  const upstream = openUpstream(options.upstreamProxy);
  const credentials = openCredentialLender({ upstream, clock: systemClock, onRefused: (refused) => log.warn({ ...refusedFields(refused) }, "a credential was refused and is set aside") });
  const logins = openLogins({ upstream, clock: systemClock, onFault: (message) => log.warn({ source: "oidc" }, message) });
  const limits = await openLimits(options, { keeper, journalled: ledger.counts }, log, metrics.limitStoreAnswered, onFault);
  const budgets = openBudgetWatch(limits, () => source.current());
  const integrations = openIntegrations({ integrations: source.configuration().integrations, configFile, log });
  const toolServers = openToolServers({ clock: systemClock, upstream, allowPrivateAddresses: () => source.current().allowPrivateAddresses, tell: (level, words, fields) => log[level](fields, words) });
  toolServers.configured(source.current().toolServers.keys);
  const events = openEvents({ queue: await openEventQueue(options), store, clock: systemClock, upstream, snapshot: () => source.current(), random: Math.random, log });
  Object.assign(opened, { contentLog, ledger, limits, budgets, integrations, toolServers, events });
  const watchIntegrations = integrationsWatch(source, log);
  onSwapped = (snapshot) => {
    watchIntegrations();
    toolServers.configured(snapshot.toolServers.keys);
    events.nudge();
  };
  const observer = batched(observers([log, metrics, budgets, contentLog, events.observer, ...(integrations === null ? [] : [integrations])], onFault));
  const context: ChatContext = { clock: systemClock, snapshot: () => source.current(), providers, upstream, credentials, logins, routing, observer, integrations, tracing: tracingOf(source.configuration().integrations), events, toolServers, onContentLost: (traceId, fault) => log.error({ trace_id: traceId, error_detail: String(fault) }, "what was said in a call could not be kept"), ledger, traffic, limits, onCharged: thresholdWatch(limits, (crossed) => tellThreshold(crossed, log, metrics, events)) };
  const app = createApp({
    clock: systemClock,
    version: VERSION,
    snapshot: () => source.current(),
    models: { providers, builtIn: BUILT_IN_MODELS },
    logins,
    metrics: async () => {
      observer.flush();
      return { text: await metrics.text(), contentType: metrics.contentType };
    },
    notReady: () => (traffic.isDraining() ? "the gateway is going down" : (source.refusal() ?? ledger.refusal())),
    callsInFlight: () => traffic.count(),
    targets,
    dependencies: () => dependencies(source, limits, ledger),
    admin: { store, limits, calls, contents, families: PROVIDER_FAMILIES, providers, snapshot: () => source.current(), configuration: () => source.configuration(), reload: () => source.reload(), toolServers },
  });
  process.on("unhandledRejection", onFault);
  process.on("uncaughtException", onFault);
  const server = openServer({ host: options.host, port: options.port, chat: (request, peers) => handleChat(request, context, peers), app, onFault });
  // only now: a start that fails must not use up the token that is shown once
  const firstToken = (await bootstrap(store, systemClock.now()))?.token ?? null;
  if (firstToken !== null) await source.reload();
  return {
    url: `http://${server.hostname?.includes(":") === true ? `[${server.hostname}]` : server.hostname}:${server.port}`,
    firstToken,
    reload: () => source.reload(),
    async close(timeoutMs) {
      const endsMs = systemClock.monotonic() + timeoutMs;
      const drained = await traffic.drain(timeoutMs);
      // the calls have ended; what is left are answers on their way to clients that may never read them
      const leftMs = drained ? Math.min(Math.max(0, endsMs - systemClock.monotonic()), LAST_BYTES_MS) : 0;
      await Promise.race([server.stop(), Bun.sleep(leftMs)]);
      await server.stop(true);
      source.close();
      observer.flush();
      await Promise.all([ledger.end(), integrations?.end(LAST_RECORDS_MS), Promise.race([toolServers.close(), Bun.sleep(LAST_ANSWER_MS)])]);
      await limits.close();
      await events.close(LAST_EVENTS_MS);
      const closeDatabase = async (): Promise<void> => {
        observer.flush();
        await contentLog.end(LAST_BYTES_MS);
        await endPruning();
        await endContentPruning();
        await endAuditPruning();
        await calls.close();
        await store.close();
      };
      // one that does not answer keeps no process: what it does not have yet waits in the journal
      await Promise.race([closeDatabase(), Bun.sleep(LAST_ANSWER_MS)]);
      observer.flush();
      log.close();
      return drained;
    },
  };
}
