// The composition root: opens every part of the gateway in order and closes it in reverse.
import { hostname } from "node:os";
import { join } from "node:path";
import { openLogins } from "./auth/logins.ts";
import type { LimitStore } from "./admission/limit-store.ts";
import { reportThreshold, thresholdWatch } from "./admission/budget-thresholds.ts";
import { type BudgetUsage, openBudgetUsage } from "./admission/budget-usage.ts";
import { openMemoryLimits } from "./admission/memory.ts";
import { rebuiltBudgets } from "./admission/rebuilt-budgets.ts";
import type { LimitSet } from "./core/limit.ts";
import { bootstrap } from "./auth/token-admin.ts";
import { readCatalogue } from "./accounting/model-catalogue.ts";
import { openModelNames } from "./accounting/model-names.ts";
import { type Closing, openClosing } from "./closing.ts";
import { openGuardThreads } from "./chat/guards/guard-threads.ts";
import { handleChat } from "./chat/handle.ts";
import type { ChatContext } from "./chat/call/context.ts";
import { openLongAnswers } from "./chat/long-bodies/long-answers.ts";
import { type LongBodyThread, openLongBodyThread } from "./chat/long-bodies/long-body-thread.ts";
import { openLongRequests } from "./chat/long-bodies/long-requests.ts";
import { openLongSandboxRequests } from "./chat/long-bodies/long-sandbox-requests.ts";
import { openRouting, targetStandings } from "./chat/plan/open-routing.ts";
import { breakerEvent } from "./routing/breaker-event.ts";
import type { Environment } from "./config/environment.ts";
import { isReadableByOthers } from "./config/master-key.ts";
import type { ServerOptions } from "./config/server-options.ts";
import { systemClock } from "./core/clock.ts";
import { openCredentialProvider, type RefusedCredential } from "./credentials/credential-provider.ts";
import { NO_EVENTS } from "./core/event.ts";
import { type OpenToolServers, openToolServers } from "./mcp/open-tool-servers.ts";
import type { Snapshot } from "./core/snapshot.ts";
import { createApp } from "./http/app.ts";
import { dependencies } from "./http/dependencies.ts";
import { openServer, type OpenServer } from "./http/server.ts";
import { refuseUnservedWith } from "./http/unserved-operations.ts";
import { type OpenTraffic, openTraffic } from "./http/traffic.ts";
import { type Log, openLog } from "./observe/log.ts";
import type { LimitStoreFigures } from "./observe/metrics/limit-store-gauges.ts";
import { type Metrics, openMetrics, type TargetStatus } from "./observe/metrics/metrics.ts";
import { type BatchedObserver, batched } from "./observe/batch.ts";
import { requireIntegrationPaths } from "./observe/integrations/integration-paths.ts";
import { type Integrations, openIntegrations } from "./observe/integrations/integrations.ts";
import { type ContentLog, openContentLog } from "./observe/content-log.ts";
import { observers } from "./observe/observer.ts";
import { type OpenEvents, openEvents } from "./observe/webhooks/open-events.ts";
import { tracingOf } from "./observe/tracing.ts";
import { BUILT_IN_MODELS, providers } from "./providers/registry.ts";
import { createSandboxUpstream, type ReadElsewhere, SANDBOX_SCHEME } from "./providers/sandbox/upstream.ts";
import { type LimitCounts, openLimitCounts } from "./store/limit-counts.ts";
import { openReplicaWatch, type ReplicaWatch } from "./snapshot/replica-watch.ts";
import type { LoadedConfiguration } from "./snapshot/configuration.ts";
import { openSnapshotSource, type SnapshotSource } from "./snapshot/source.ts";
import { ledgerFolderOf, ownFiles } from "./store/data-folder.ts";
import { noLedger } from "./store/ledger.ts";
import { narrowRights } from "./store/owner-only.ts";
import { type OpenLedger, openLedger } from "./store/open-ledger.ts";
import { keepAuditPruned } from "./store/audit-settings.ts";
import { keepContentsPruned, keepPruned } from "./store/call-settings.ts";
import { type ContentStore, openContentStore } from "./store/content-store.ts";
import type { CallStore } from "./store/calls.ts";
import {
  openCalls,
  openDatabase,
  openEvents as openEventQueue,
  type EncryptedDatabase,
} from "./store/open-database.ts";
import type { ProxySettings } from "./wire/http-proxy.ts";
import { createSocketUpstream } from "./wire/upstream-socket.ts";
import type { UpstreamClient } from "./wire/upstream.ts";
import { VERSION } from "./core/version.ts";
import { messageOf } from "./core/thrown.ts";
import { ArgumentChecks } from "./mcp/tool-arguments.ts";

export const PROVIDER_FAMILIES = [...providers.values()];

/** Time for the last bytes of responses to leave once no call is in flight, and time to settle calls that are cut. */
const LAST_BYTES_MS = 5000;
const LAST_SETTLED_MS = 1000;
/** Time for the ledger to be shipped and synced. The rest is shipped after the next start. */
const LAST_ROWS_MS = 5000;
/**
 * How far before the last saved counts the ledger's rows are searched, because the clocks of files and of the process
 * differ.
 */
const COUNTED_BEFORE_MS = 60_000;
/** Time for integrations to deliver the last records, and for their threads to confirm it. */
const LAST_RECORDS_MS = 3000;
const LAST_THREADS_MS = LAST_RECORDS_MS + 1000;
/**
 * Time for events, prompts and answers to be written, and for deliveries in flight. Deliveries that are cut off are
 * made after the next start.
 */
const LAST_WRITES_MS = 2000;

export interface Gateway {
  readonly url: string;
  /** The first access token, on the very first start only. */
  readonly firstToken: string | null;
  /**
   * Resolves when the log lines of the start have been written. It never resolves when the log goes to a reader that
   * does not read.
   */
  logged(): Promise<void>;
  reload(): Promise<void>;
  /**
   * Takes no new calls, lets calls in flight finish within `server.drain_s`, then closes everything. Returns the number
   * of calls that had to be cut.
   */
  close(): Promise<number>;
  /** Ends the remaining time of calls in flight: those that have not ended are cut now. */
  hurry(): void;
}

/** What every other part is opened with. */
interface Base {
  readonly options: ServerOptions;
  readonly loaded: LoadedConfiguration;
  readonly environment: Environment;
  readonly log: Log;
  readonly closing: Closing;
  readonly onFault: (fault: unknown) => void;
}

/**
 * `options` are what flags, environment and `loaded` give together. Throws ConfigurationError, StoreError, or the
 * system's error when the address is in use; parts that were already open are closed again.
 */
export async function openGateway(
  options: ServerOptions,
  loaded: LoadedConfiguration,
  environment: Environment,
): Promise<Gateway> {
  const log = openLog({ level: options.logLevel, fileDescriptor: 1 });
  const onFault = (fault: unknown): void =>
    log.error(
      { error_detail: fault instanceof Error ? (fault.stack ?? fault.message) : String(fault) },
      "unexpected error outside of any call",
    );
  const closing = openClosing(onFault);
  closing.add(() => log.close());
  try {
    return await openAll({ options, loaded, environment, log, closing, onFault });
  } catch (thrown) {
    await closing.close();
    throw thrown;
  }
}

async function openAll(base: Base): Promise<Gateway> {
  const { log, closing, onFault } = base;
  const storage = await openStorage(base);
  const source = await openConfiguration(base, storage);
  const records = await openRecords(base, storage);
  const replicas = openReplicas(base, storage, source);
  const longBodies = openLongBodyThread();
  closing.add(() => longBodies.close());
  const externalClients = openExternalClients(base, source, longBodies);
  const notifications = await openNotifications(base, { source, storage, externalClients });
  const routing = openRouting(Math.random, (change) => {
    const event = breakerEvent(change, processName());
    if (event !== null) notifications.events.emit(event);
  });
  const targets = () => targetStandings(routing, systemClock.monotonic());
  const metrics = openGatewayMetrics(source, {
    targets,
    limits: () => limits,
    budgets: () => budgets,
    replicas,
    ...records,
    ...externalClients,
    ...notifications,
  });
  const limits = await openLimits(base, records, source.current().limitRules, metrics.limitStoreAnswered);
  const budgets = openBudgetUsage(limits, () => source.current());
  source.subscribe(({ toolServers }) => externalClients.toolServers.configured(toolServers.keys));
  source.subscribe(() => notifications.events.wake());
  const traffic = openTraffic(metrics.inFlight, () => source.refusal());
  const observer = batched(
    observers(
      [
        log,
        metrics,
        budgets,
        records.contentLog,
        notifications.events.observer,
        ...(notifications.integrations === null ? [] : [notifications.integrations]),
      ],
      onFault,
    ),
  );
  closing.add(() => observer.flush());
  const { upstream, credentials, logins, toolServers } = externalClients;
  const { events, integrations } = notifications;
  const guards = openGuardThreads({
    onEnded: (why) => log.error({ error_detail: why }, "a worker thread of guards ended"),
  });
  closing.beside(() => guards.close());
  const context: ChatContext = {
    clock: systemClock,
    snapshot: () => source.current(),
    providers,
    upstream,
    credentials,
    logins,
    routing,
    longRequests: openLongRequests(longBodies),
    longAnswers: openLongAnswers(longBodies),
    observer,
    integrations,
    tracing: tracingOf(source.configuration().integrations),
    events,
    toolServers,
    argumentChecks: new ArgumentChecks(),
    guards,
    ledger: records.ledger,
    traffic,
    limits,
    onContentLost: (traceId, fault) =>
      log.error({ trace_id: traceId, error_detail: String(fault) }, "the content of a call could not be kept"),
    onCharged: thresholdWatch(limits, (crossed) => reportThreshold(crossed, { log, metrics, events })),
  };
  return await openListener(base, { context, metrics, observer, targets, traffic, source, storage, records, replicas });
}

interface ListenerParts {
  readonly context: ChatContext;
  readonly metrics: Metrics;
  readonly observer: BatchedObserver;
  readonly targets: () => readonly TargetStatus[];
  readonly traffic: OpenTraffic;
  readonly source: SnapshotSource;
  readonly storage: Storage;
  readonly records: Records;
  readonly replicas: ReplicaWatch;
}

/** From here on the gateway accepts calls. */
async function openListener(
  { options, closing, log, onFault }: Base,
  {
    context,
    metrics,
    observer,
    targets,
    traffic,
    source,
    storage: { store },
    replicas,
    records: { ledger, calls, contents, contentLog },
  }: ListenerParts,
): Promise<Gateway> {
  const { limits, logins, toolServers } = context;
  let isRetiring = false;
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
    notReady: () => (isRetiring ? "the gateway is shutting down" : (source.refusal() ?? ledger.refusal())),
    callsInFlight: () => traffic.count(),
    refuseUnserved: refuseUnservedWith(context),
    targets,
    dependencies: () => dependencies(source, limits, ledger, replicas),
    admin: {
      store,
      limits,
      calls,
      contents: { ...contents, remove: (place) => contentLog.forget(place).then(() => contents.remove(place)) },
      families: PROVIDER_FAMILIES,
      providers,
      snapshot: () => source.current(),
      configuration: () => source.configuration(),
      reload: () => source.reload(),
      toolServers,
    },
  });
  process.on("unhandledRejection", onFault);
  process.on("uncaughtException", onFault);
  const server = openServer({
    host: options.host,
    port: options.port,
    chat: (request, peers) => handleChat(request, context, peers),
    app,
    onFault,
  });
  closing.add(() => server.cut());
  // The first token is made last, because a start that fails must not use up a token that is shown only once.
  const firstToken = (await bootstrap(store, systemClock.now()))?.token ?? null;
  if (firstToken !== null) await source.reload();
  const hurried = Promise.withResolvers<void>();
  return {
    url: `http://${server.hostname?.includes(":") === true ? `[${server.hostname}]` : server.hostname}:${server.port}`,
    firstToken,
    logged: () => log.written(),
    reload: () => source.reload(),
    async close() {
      isRetiring = true;
      const isOver = Promise.race([Bun.sleep(source.current().limits.drainMs), hurried.promise]);
      const cut = await drain(server, traffic, isOver);
      await closing.close();
      return cut;
    },
    hurry: () => hurried.resolve(),
  };
}

/**
 * Drains without losing a call: readiness turns red and connections in use are retired, then the listener and idle
 * connections close while calls in flight continue. Calls that have not ended when `isOver` settles are cut; their
 * clients receive the reason before the connection closes. Returns the number of calls that were cut.
 */
async function drain(server: OpenServer, traffic: OpenTraffic, isOver: Promise<unknown>): Promise<number> {
  await Promise.race([server.retire(), isOver]);
  const stopped = server.stop();
  const drained = await traffic.drain(isOver);
  const cut = drained ? 0 : traffic.cut();
  if (cut > 0) await traffic.drain(Bun.sleep(LAST_SETTLED_MS));
  // The calls have ended; what is left are responses on their way to clients that may never read them.
  await Promise.race(cut > 0 ? [stopped, Bun.sleep(LAST_SETTLED_MS)] : [stopped, isOver, Bun.sleep(LAST_BYTES_MS)]);
  await server.cut();
  return cut;
}

interface Storage extends EncryptedDatabase {
  readonly calls: CallStore;
}

/** Opens the database and the pruning that bounds its growth. */
async function openStorage({ options, environment, log, closing }: Base): Promise<Storage> {
  const database = await openDatabase({ ...options, environment });
  const { store, keys } = database;
  closing.add(() => store.close());
  const { narrowed, stillReadable } = narrowRights(
    ownFiles({ dataFolder: options.dataFolder, ledgerFolder: options.ledger.folder }),
  );
  if (narrowed.length > 0)
    log.warn(
      { files: narrowed },
      "other users of this machine could read files of the data folder, as is usual after a restore; now only their owner can",
    );
  if (stillReadable.length > 0)
    log.warn(
      { files: stillReadable },
      "other users of this machine can read files of the data folder, and the gateway cannot change that: chmod 600",
    );
  if (keys.file !== null && isReadableByOthers(keys.file))
    log.warn({ file: keys.file }, "other users of this machine can read the file of the master key: chmod 600");
  const calls = await openCalls(options);
  closing.beside(() => calls.close());
  const now = (): number => systemClock.now();
  closing.add(
    keepPruned(calls, options.calls, now, (message) =>
      log.warn({ error_detail: message }, "old calls could not be deleted"),
    ),
  );
  closing.beside(
    keepContentsPruned(calls, now, (message) =>
      log.warn({ error_detail: message }, "old content of calls could not be deleted"),
    ),
  );
  closing.beside(
    keepAuditPruned(store, options.audit, now, (message) =>
      log.warn({ error_detail: message }, "old rows of the audit log could not be deleted"),
    ),
  );
  return { ...database, calls };
}

async function openConfiguration(
  { loaded, environment, log, closing }: Base,
  { store }: Storage,
): Promise<SnapshotSource> {
  const source = await openSnapshotSource({
    loaded,
    store,
    families: PROVIDER_FAMILIES,
    environment,
    onProblem: ({ source: of, message }) =>
      log[of === "notice" ? "info" : of === "listener" ? "error" : "warn"]({ source: of }, message),
  });
  closing.add(() => source.close());
  source.subscribe((snapshot) => log.info({ snapshot: snapshot.version }, "configuration and tokens reloaded"));
  source.subscribe(integrationsWatch(source, log));
  if (
    [...source.current().providers.values()].some(
      ({ enabled, family }) => enabled && providers.get(family)?.catalogue !== null,
    )
  )
    readCatalogue();
  return source;
}

/** Warns once for each change. */
function integrationsWatch(source: SnapshotSource, log: Log): () => void {
  let reported = JSON.stringify(source.configuration().integrations);
  return () => {
    const now = JSON.stringify(source.configuration().integrations);
    if (now !== reported)
      log.warn({ source: "file" }, "integrations have changed in the configuration: restart to apply them");
    reported = now;
  };
}

interface Records {
  readonly calls: CallStore;
  readonly contents: ContentStore;
  readonly contentLog: ContentLog;
  readonly ledger: OpenLedger;
  /** For limits that are counted in this process alone; `null` when a shared limit store counts them. */
  readonly countStore: LimitCounts | null;
  /** CountedOptions of the ledger. Limits are opened after the ledger and fill it in. */
  readonly counting: { kept?: () => () => boolean };
}

/** Opens what is stored about calls: their costs, their content, and their counts for limits. */
async function openRecords({ options, log, closing }: Base, { calls, cipher }: Storage): Promise<Records> {
  const contents = openContentStore({ calls, cipher, now: () => systemClock.now() });
  const contentLog = openContentLog({
    store: contents,
    onProblem: (message) =>
      log.warn({ error_detail: message }, "the content of calls could not be kept; this is retried"),
  });
  const countStore = options.limitStore === null ? openLimitCounts(join(options.dataFolder, "limits.sqlite")) : null;
  closing.add(() => countStore?.close());
  const keepsCounts = countStore?.hold() === true;
  const counting: Records["counting"] = {};
  if (countStore !== null && !keepsCounts)
    log.warn({ source: "limits" }, "another process counts limits in this data folder");
  const ledger = await openLedger({
    folder: ledgerFolderOf({ dataFolder: options.dataFolder, ledgerFolder: options.ledger.folder }),
    settings: options.ledger,
    sink: calls,
    clock: systemClock,
    ...(countStore !== null && {
      counted: {
        atStart: keepsCounts,
        keepsCounts: () => countStore.isHeld,
        sinceMs: () => Math.min(countStore.keptAtMs(), systemClock.now()) - COUNTED_BEFORE_MS,
        kept: () => counting.kept?.() ?? null,
      },
    }),
    log: (level, message, fields = {}) => log[level]({ ...fields }, message),
  });
  // From here on the parts finish their pending work at close, and none needs another for that.
  closing.add(() => ledger.end(), LAST_ROWS_MS);
  closing.beside(() => contentLog.end(LAST_WRITES_MS));
  return { calls, contents, contentLog, ledger, countStore, counting };
}

/** Opens the watch over the gateways that share the database and whether they use the same configuration file. */
function openReplicas({ log, closing }: Base, { calls }: Storage, source: SnapshotSource): ReplicaWatch {
  const replicas = openReplicaWatch({
    table: calls,
    own: { id: crypto.randomUUID(), name: processName(), version: VERSION },
    fingerprint: () => source.fingerprint(),
    clock: systemClock,
    onDifferent: (others) =>
      log.warn(
        { fingerprint: source.fingerprint(), others },
        "gateways on this database have different configuration files",
      ),
    onSame: (count) =>
      log.info(
        { fingerprint: source.fingerprint(), replicas: count },
        "gateways on this database have the same configuration file again",
      ),
  });
  closing.beside(() => replicas.close());
  return replicas;
}

/** Operators can find a process by it. */
const processName = (): string => `${hostname()}:${process.pid}`;

/** The log shows no more of a credential than its last four characters. */
function refusedFields({
  providerId,
  kind,
  lastFour,
  reason,
  forMs,
}: RefusedCredential): Readonly<Record<string, unknown>> {
  return {
    provider: providerId,
    credential: lastFour === null ? kind : `${kind} …${lastFour}`,
    reason,
    minutes: forMs / 60_000,
  };
}

type ExternalClients = Pick<ChatContext, "upstream" | "credentials" | "logins"> & {
  readonly toolServers: OpenToolServers;
};

/** Opens the external clients of calls: providers, issuers of tokens and logins, tool servers. */
function openExternalClients(
  { options, log, closing }: Base,
  source: SnapshotSource,
  longBodies: LongBodyThread,
): ExternalClients {
  const upstream = openUpstream(options.upstreamProxy, openLongSandboxRequests(longBodies));
  const credentials = openCredentialProvider({
    upstream,
    clock: systemClock,
    onRefused: (refused) =>
      log.warn({ ...refusedFields(refused) }, "a credential was refused and is not used for a while"),
  });
  const logins = openLogins({
    upstream,
    clock: systemClock,
    onFault: (message) => log.warn({ source: "oidc" }, message),
  });
  const toolServers = openToolServers({
    clock: systemClock,
    upstream,
    allowPrivateAddresses: () => source.current().allowPrivateAddresses,
    log: (level, message, fields) => log[level](fields, message),
  });
  toolServers.configured(source.current().toolServers.keys);
  closing.beside(() => toolServers.close());
  return { upstream, credentials, logins, toolServers };
}

interface Notifications {
  readonly integrations: Integrations | null;
  readonly events: OpenEvents;
}

/** Opens the notifications about each call and about events. */
async function openNotifications(
  { options, loaded: { file: configFile }, log, closing }: Base,
  {
    source,
    storage: { store },
    externalClients: { upstream },
  }: { readonly source: SnapshotSource; readonly storage: Storage; readonly externalClients: ExternalClients },
): Promise<Notifications> {
  const configured = source.configuration().integrations;
  requireIntegrationPaths(configured, configFile);
  const integrations = openIntegrations({ integrations: configured, configFile, log });
  closing.beside(() => integrations?.end(LAST_RECORDS_MS), LAST_THREADS_MS);
  const events = openEvents({
    queue: await openEventQueue(options),
    store,
    clock: systemClock,
    upstream,
    snapshot: () => source.current(),
    random: Math.random,
    log,
  });
  closing.beside(() => events.close(LAST_WRITES_MS));
  return { integrations, events };
}

/** Opens the limit store in memory or in Valkey, whose driver is loaded only when it is configured. */
async function openLimits(
  { options: { dataFolder, limitStore }, log, closing, onFault }: Base,
  { calls, countStore, ledger, counting }: Records,
  rules: LimitSet,
  onAnswered: (seconds: number) => void,
): Promise<LimitStore & { figures?(): LimitStoreFigures }> {
  if (limitStore === null) {
    const rebuilt = countStore?.isNew === true ? await rebuiltBudgets(calls, rules, systemClock.now()) : [];
    if (rebuilt.length > 0)
      log.warn(
        { source: "limits", accounts: rebuilt.length },
        "there was no file with the counts of limits: budgets are counted from the rows of calls",
      );
    // The journal's counts of an account are later than its rows.
    const inMemory = openMemoryLimits({
      clock: systemClock,
      countStore,
      journalled: [...rebuilt, ...ledger.counts],
      laterJournalled: () => ledger.laterCounts(),
      onFault,
    });
    // When the disk stored none of the counts, they are counted again after the next start.
    if (countStore?.isNew === true && (rebuilt.length === 0 || countStore.read().length > 0)) countStore.markComplete();
    counting.kept = () => inMemory.kept();
    closing.beside(() => inMemory.close());
    return inMemory;
  }
  const { openValkeyLimits } = await import("./admission/valkey/valkey.ts");
  const onState = (state: "away" | "back", error: unknown): void => {
    if (state === "back") log.info({ source: "limit_store" }, "the limit store can be reached again");
    else
      log.warn(
        { source: "limit_store", error_detail: messageOf(error) },
        "the limit store cannot be reached: each limit applies its on_store_failure",
      );
  };
  const shared = await openValkeyLimits({
    ...limitStore,
    clock: systemClock,
    folder: join(dataFolder, "leases"),
    onState,
    onAnswered,
    onFault,
  });
  closing.beside(() => shared.close());
  return shared;
}

/** The sources of metrics. Limits are opened after the metrics, because they report their response times to them. */
interface MetricParts extends Records, ExternalClients, Notifications {
  targets(): readonly TargetStatus[];
  limits(): { figures?(): LimitStoreFigures };
  budgets(): BudgetUsage;
  readonly replicas: ReplicaWatch;
}

function openGatewayMetrics(source: SnapshotSource, parts: MetricParts): Metrics {
  const names = openModelNames(() => source.current(), { providers, builtIn: BUILT_IN_MODELS });
  return openMetrics({
    targets: () => parts.targets(),
    ledger: () => parts.ledger.status(),
    limitStore: () => parts.limits().figures?.() ?? null,
    toolServers: () => parts.toolServers.figures(),
    events: () => parts.events.figures,
    contents: () => parts.contentLog.figures(),
    replicas: () => parts.replicas.figures(),
    budgets: () => parts.budgets().statuses(),
    integrations: () => parts.integrations?.statuses() ?? [],
    modelLabel: (call) => names.nameOf(call),
    isNamedTarget: (target) => names.isNamed(target),
    isRegisteredServer: ({ tenantId, projectId }, label) =>
      tenantId !== null && projectId !== null && source.current().toolServers.of(tenantId, projectId).has(label),
  });
}

/** One port for all targets: the sandbox answers in this process, every other target over the network. */
function openUpstream(proxy: ProxySettings | null, readElsewhere: ReadElsewhere): UpstreamClient {
  const network = createSocketUpstream(proxy === null ? {} : { proxy });
  const sandbox = createSandboxUpstream(readElsewhere);
  return {
    send: (request, call) => (request.url.startsWith(SANDBOX_SCHEME) ? sandbox : network).send(request, call),
  };
}

/** What calls need without a server, for runs of the command line. Nothing is logged and nothing is stored. */
export function openCallContext(snapshot: Snapshot, upstreamProxy: ProxySettings | null): ChatContext {
  const traffic = openTraffic({ inc: () => {}, dec: () => {} }, () => null);
  const upstream = openUpstream(upstreamProxy, () => null);
  const credentials = openCredentialProvider({ upstream, clock: systemClock, onRefused: () => {} });
  const logins = openLogins({ upstream, clock: systemClock, onFault: () => {} });
  const limits = openMemoryLimits({ clock: systemClock });
  const toolServers = openToolServers({
    clock: systemClock,
    upstream,
    allowPrivateAddresses: () => snapshot.allowPrivateAddresses,
    log: () => {},
  });
  return {
    clock: systemClock,
    snapshot: () => snapshot,
    providers,
    upstream,
    credentials,
    logins,
    routing: openRouting(Math.random),
    longRequests: null,
    longAnswers: null,
    observer: { publish: () => {} },
    integrations: null,
    tracing: null,
    events: NO_EVENTS,
    toolServers,
    argumentChecks: new ArgumentChecks(),
    guards: openGuardThreads({ onEnded: () => {} }),
    ledger: noLedger,
    traffic,
    limits,
    onCharged: () => {},
  };
}
