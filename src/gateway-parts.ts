// The parts of the gateway, each opened with what it needs and registered to be closed. gateway.ts opens them in order.
import { hostname } from "node:os";
import { join } from "node:path";
import { bootstrap } from "./auth/first-identities.ts";
import { openLogins } from "./auth/logins.ts";
import type { LimitStore } from "./admission/limit-store.ts";
import type { BudgetUsage } from "./admission/budget-usage.ts";
import { openMemoryLimits } from "./admission/memory.ts";
import { followPurges } from "./cache/follow-purges.ts";
import { followTenants, openResponseCache } from "./cache/open-response-cache.ts";
import type { ResponseCache } from "./cache/response-cache.ts";
import { rebuiltBudgets } from "./admission/rebuilt-budgets.ts";
import type { LimitSet } from "./core/limit.ts";
import { readCatalogue } from "./accounting/model-catalogue.ts";
import { openModelNames } from "./accounting/model-names.ts";
import type { Closing } from "./closing.ts";
import type { ChatContext, Routing } from "./chat/call/context.ts";
import { openRouting } from "./chat/plan/open-routing.ts";
import type { LongBodyThread } from "./chat/long-bodies/long-body-thread.ts";
import { openLongSandboxRequests } from "./chat/long-bodies/long-sandbox-requests.ts";
import type { Environment } from "./config/environment.ts";
import { isReadableByOthers } from "./config/master-key.ts";
import type { ServerOptions } from "./config/server-options.ts";
import { systemClock } from "./core/clock.ts";
import { within } from "./core/timeout.ts";
import {
  type OpenCredentialProvider,
  openCredentialProvider,
  type RefusedCredential,
} from "./credentials/credential-provider.ts";
import type { RefusalNews } from "./credentials/rotation.ts";
import { type OpenToolServers, openToolServers } from "./mcp/open-tool-servers.ts";
import type { Events } from "./core/event.ts";
import { sharedCallSlots } from "./mcp/shared-call-slots.ts";
import type { Places } from "./routing/concurrency.ts";
import { breakerEvent } from "./routing/breaker-event.ts";
import type { BreakerChange } from "./routing/health.ts";
import type { OwnFigures, WorkerFiguresView } from "./workers/machine-figures.ts";
import type { LineOutput } from "./observe/line-sink.ts";
import type { Log } from "./observe/log.ts";
import type { LimitStoreFigures } from "./observe/metrics/limit-store-gauges.ts";
import { type Metrics, openMetrics, type TargetStatus } from "./observe/metrics/metrics.ts";
import { requireIntegrationPaths } from "./observe/integrations/integration-paths.ts";
import {
  type DeliveringIntegrations,
  type Integrations,
  openIntegrations,
} from "./observe/integrations/integrations.ts";
import { type ContentLog, openContentLog } from "./observe/content-log.ts";
import { type OpenEvents, openEvents } from "./observe/webhooks/open-events.ts";
import { BUILT_IN_MODELS, providers } from "./providers/registry.ts";
import { createSandboxUpstream, type ReadElsewhere, SANDBOX_SCHEME } from "./providers/sandbox/upstream.ts";
import { type LimitCounts, openLimitCounts } from "./store/limit-counts.ts";
import { openReplicaWatch, type ReplicaWatch } from "./snapshot/replica-watch.ts";
import type { LoadedConfiguration } from "./snapshot/configuration.ts";
import { openSnapshotSource, type SnapshotSource } from "./snapshot/source.ts";
import type { LedgerOptions } from "./store/ledger-options.ts";
import { type EarlierWorkers, openEarlierWorkers } from "./admission/valkey/earlier-workers.ts";
import { ledgerFolderOf, ownFiles } from "./store/data-folder.ts";
import { narrowRights } from "./store/owner-only.ts";
import { type OpenLedger, openLedger } from "./store/open-ledger.ts";
import { keepAuditPruned } from "./store/audit-settings.ts";
import { keepContentsPruned, keepEarlierMoved, keepPruned } from "./store/call-settings.ts";
import { type ContentStore, type ContentWriter, openContentStore } from "./store/content-store.ts";
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

export const PROVIDER_FAMILIES = [...providers.values()];

/** Time for the ledger to be shipped and synced. The rest is shipped after the next start. */
const LAST_ROWS_MS = 5000;
/**
 * How far before the last saved counts the ledger's rows are searched, because the clocks of files and of the process
 * differ.
 */
const COUNTED_BEFORE_MS = 60_000;
/** Time for rows of earlier processes to arrive in the database, where budgets are counted from them. */
const EARLIER_ROWS_MS = 10_000;
const EARLIER_ROWS_POLL_MS = 20;
/** The start waits so long for the limit store to charge what workers of a killed supervisor held. */
const EARLIER_CHARGES_MS = 2000;
/** Time for integrations to deliver the last records, and for their threads to confirm it. */
const LAST_RECORDS_MS = 3000;
const LAST_THREADS_MS = LAST_RECORDS_MS + 1000;
/**
 * Time for events, prompts and answers to be written, and for deliveries in flight. Deliveries that are cut off are
 * made after the next start.
 */
const LAST_WRITES_MS = 2000;

/** Time for a round of removing or moving old rows, which is short; what it leaves is done after the next start. */
const LAST_ROUND_MS = 500;

/** What every other part is opened with. */
export interface Base {
  readonly options: ServerOptions;
  readonly loaded: LoadedConfiguration;
  readonly environment: Environment;
  readonly log: Log;
  readonly closing: Closing;
  readonly onFault: (fault: unknown) => void;
}

export interface Storage extends EncryptedDatabase {
  readonly calls: CallStore;
}

/** Opens the database and the pruning that bounds its growth. */
export async function openStorage({ options, environment, log, closing }: Base): Promise<Storage> {
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
    LAST_ROUND_MS,
  );
  closing.beside(
    keepEarlierMoved(calls, (message) =>
      log.warn({ error_detail: message }, "calls of an earlier version could not be moved"),
    ),
    LAST_ROUND_MS,
  );
  closing.beside(
    keepContentsPruned(calls, now, (message) =>
      log.warn({ error_detail: message }, "old content of calls could not be deleted"),
    ),
    LAST_ROUND_MS,
  );
  closing.beside(
    keepAuditPruned(store, options.audit, now, (message) =>
      log.warn({ error_detail: message }, "old rows of the audit log could not be deleted"),
    ),
    LAST_ROUND_MS,
  );
  return { ...database, calls };
}

/** `isReported` is false in a process beside which another one reports what is wrong with the configuration. */
export async function openConfiguration(
  { loaded, environment, log, closing }: Base,
  { store }: Storage,
  isReported = true,
): Promise<SnapshotSource> {
  const source = await openSnapshotSource({
    loaded,
    store,
    families: PROVIDER_FAMILIES,
    environment,
    onProblem({ source: of, message }) {
      if (isReported || of === "listener")
        log[of === "notice" ? "info" : of === "listener" ? "error" : "warn"]({ source: of }, message);
    },
  });
  closing.add(() => source.close());
  if (isReported) reportChanges(source, log);
  if (
    [...source.current().providers.values()].some(
      ({ enabled, family }) => enabled && providers.get(family)?.catalogue !== null,
    )
  )
    readCatalogue();
  return source;
}

function reportChanges(source: SnapshotSource, log: Log): void {
  source.subscribe((snapshot) => log.info({ snapshot: snapshot.version }, "configuration and tokens reloaded"));
  source.subscribe(integrationsWatch(source, log));
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

export interface Records {
  readonly calls: CallStore;
  readonly contents: ContentStore;
  readonly contentLog: ContentLog;
  readonly ledger: OpenLedger;
  /** For limits that are counted in this process alone; `null` when a shared limit store counts them. */
  readonly countStore: LimitCounts | null;
  /** With a shared limit store: what workers of a killed supervisor held there. */
  readonly earlierWorkers?: EarlierWorkers;
  /** CountedOptions of the ledger. Limits are opened after the ledger and fill it in. */
  readonly counting: { kept?: () => () => boolean };
}

/** Opens what is stored about calls: their costs, their content, and their counts for limits. */
export async function openRecords(base: Base, storage: Storage): Promise<Records> {
  const { options, log, closing } = base;
  if (options.limitStore !== null) return await openRecordsOfShared(base, storage);
  const countStore = openLimitCounts(join(options.dataFolder, "limits.sqlite"));
  closing.add(() => countStore.close());
  const keepsCounts = countStore.hold();
  const counting: Records["counting"] = {};
  if (!keepsCounts) log.warn({ source: "limits" }, "another process counts limits in this data folder");
  const records = await openCallRecords(base, storage, {
    sink: storage.calls,
    counted: {
      atStart: keepsCounts,
      keepsCounts: () => countStore.isHeld,
      sinceMs: () => Math.min(countStore.keptAtMs(), systemClock.now()) - COUNTED_BEFORE_MS,
      kept: () => counting.kept?.() ?? null,
    },
  });
  return { ...records, countStore, counting };
}

/** With a shared limit store, journals state no counts, but what workers of a killed supervisor held. */
async function openRecordsOfShared(base: Base, storage: Storage): Promise<Records> {
  const { options, closing } = base;
  const { dataFolder, ledger } = options;
  const earlierWorkers = openEarlierWorkers(dataFolder, ledgerFolderOf({ dataFolder, ledgerFolder: ledger.folder }));
  closing.add(() => earlierWorkers.close());
  const records = await openCallRecords(base, storage, {
    sink: storage.calls,
    counted: {
      atStart: false,
      keepsCounts: () => earlierWorkers.isCharged(),
      sinceMs: () => Number.POSITIVE_INFINITY,
      kept: () => () => true,
    },
  });
  return { ...records, countStore: null, counting: {}, earlierWorkers };
}

interface CallRecordOptions extends Pick<LedgerOptions, "sink" | "counted" | "adopts"> {
  /** What writes the content of calls, unless this process does. */
  readonly contentWriter?: ContentWriter;
}

/** Opens what is stored about calls but for the counts of limits. */
export async function openCallRecords(
  { options, log, closing }: Base,
  { calls, cipher }: Storage,
  { contentWriter, ...ledgerOptions }: CallRecordOptions,
): Promise<Omit<Records, "countStore" | "counting">> {
  const contents = openContentStore({ calls, writer: contentWriter, cipher, now: () => systemClock.now() });
  const contentLog = openContentLog({
    store: contents,
    onProblem: (message) =>
      log.warn({ error_detail: message }, "the content of calls could not be kept; this is retried"),
  });
  const ledger = await openLedger({
    folder: ledgerFolderOf({ dataFolder: options.dataFolder, ledgerFolder: options.ledger.folder }),
    settings: options.ledger,
    clock: systemClock,
    ...ledgerOptions,
    log: (level, message, fields = {}) => log[level]({ ...fields }, message),
  });
  // From here on the parts finish their pending work at close, and none needs another for that.
  closing.add(() => ledger.end(), LAST_ROWS_MS);
  closing.beside(() => contentLog.end(LAST_WRITES_MS));
  return { calls, contents, contentLog, ledger };
}

/** Opens the watch over the gateways that share the database and whether they use the same configuration file. */
export function openReplicas({ log, closing }: Base, { calls }: Storage, source: SnapshotSource): ReplicaWatch {
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

/** Reports breakers that open or close as events. */
export function breakerReports(events: Events): (change: BreakerChange) => void {
  return (change) => {
    const event = breakerEvent(change, processName());
    if (event !== null) events.emit(event);
  };
}

/** Operators can find a process by it. */
export const processName = (): string => `${hostname()}:${process.pid}`;

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

type ExternalClients = Pick<ChatContext, "upstream" | "logins"> & {
  readonly credentials: OpenCredentialProvider;
  readonly toolServers: OpenToolServers;
};

/** Opens the external clients of calls: providers, issuers of tokens and logins, tool servers. */
export function openExternalClients(
  { options, log, closing }: Base,
  source: SnapshotSource,
  longBodies: LongBodyThread,
  machine: Machine | null,
): ExternalClients {
  const upstream = openUpstream(options.upstreamProxy, openLongSandboxRequests(longBodies));
  const credentials = openCredentialProvider({
    upstream,
    clock: systemClock,
    onRefused(refused, news) {
      log.warn({ ...refusedFields(refused) }, "a credential was refused and is not used for a while");
      machine?.credentialRefused(news);
    },
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
    openSlots: machine === null ? undefined : (key) => sharedCallSlots(machine.places, key),
  });
  toolServers.configured(source.current().toolServers.keys);
  closing.beside(() => toolServers.close());
  return { upstream, credentials, logins, toolServers };
}

export interface Notifications<Delivery extends Integrations = Integrations> {
  readonly integrations: Delivery | null;
  readonly events: OpenEvents;
}

interface NotificationParts {
  readonly source: SnapshotSource;
  readonly storage: Storage;
  readonly externalClients: Pick<ExternalClients, "upstream">;
}

/** Opens the notifications about each call and about events. */
export async function openNotifications(
  { options, loaded: { file: configFile }, log, closing }: Base,
  { source, storage: { store }, externalClients: { upstream } }: NotificationParts,
): Promise<Notifications<DeliveringIntegrations>> {
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
export async function openLimits(
  { options: { dataFolder, limitStore }, log, closing, onFault }: Base,
  { calls, countStore, ledger, counting, earlierWorkers }: Records,
  rules: LimitSet,
  onAnswered: (seconds: number) => void,
): Promise<LimitStore & { figures?(): LimitStoreFigures }> {
  if (limitStore === null) {
    if (countStore?.isNew === true && ledger.holds.length > 0) await allShipped(ledger, log);
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
      holds: ledger.holds,
      laterHolds: () => ledger.laterHolds(),
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
  if (earlierWorkers !== undefined)
    await within(
      earlierWorkers.charge(shared, () => void ledger.adopt()),
      EARLIER_CHARGES_MS,
    );
  return shared;
}

/** What workers of a killed supervisor used is in the rows of their journals, which budgets are then counted from. */
async function allShipped(ledger: OpenLedger, log: Log): Promise<void> {
  const deadline = systemClock.monotonic() + EARLIER_ROWS_MS;
  await ledger.adopt();
  while (ledger.status().unshippedBytes > 0) {
    if (systemClock.monotonic() > deadline) {
      log.warn(
        { source: "limits" },
        "rows of the ledger are not in the database yet: budgets are counted without them",
      );
      return;
    }
    await Bun.sleep(EARLIER_ROWS_POLL_MS);
  }
}

/** Opens the response cache, whose driver is loaded only where it is configured. */
export async function openCache(
  { options: { cache: settings, dataFolder }, log, closing }: Base,
  { keys, store }: Storage,
  source: SnapshotSource,
): Promise<ResponseCache> {
  const cache = await openResponseCache({
    settings,
    masterKey: keys.read()[0]!,
    file: join(dataFolder, "cache.sqlite"),
    clock: systemClock,
    log,
  });
  closing.beside(() => cache.close());
  closing.add(
    followTenants(
      cache,
      () => source.current(),
      (changed) => source.subscribe(changed),
    ),
  );
  closing.add(followPurges({ cache, reader: store, clock: systemClock }));
  return cache;
}

/** The sources of metrics. Limits are opened after the metrics, because they report their response times to them. */
interface MetricParts extends Records, ExternalClients, Notifications {
  targets(): readonly TargetStatus[];
  limits(): { figures?(): LimitStoreFigures };
  budgets(): BudgetUsage;
  readonly replicas: ReplicaWatch;
  cache(): Pick<ResponseCache, "figures">;
}

export function openGatewayMetrics(source: SnapshotSource, parts: MetricParts): Metrics {
  const names = openModelNames(() => source.current(), { providers, builtIn: BUILT_IN_MODELS });
  return openMetrics({
    targets: () => parts.targets(),
    ledger: () => parts.ledger.status(),
    limitStore: () => parts.limits().figures?.() ?? null,
    toolServers: () => parts.toolServers.figures(),
    events: () => parts.events.figures,
    contents: () => parts.contentLog.figures(),
    replicas: () => parts.replicas.figures(),
    cache: () => parts.cache().figures(),
    isCacheShared: source.configuration().cache.store !== "memory",
    budgets: () => parts.budgets().statuses(),
    integrations: () => parts.integrations?.statuses() ?? [],
    modelLabel: (call) => names.nameOf(call),
    isNamedTarget: (target) => names.isNamed(target),
    isRegisteredServer: ({ tenantId, projectId }, label) =>
      tenantId !== null && projectId !== null && source.current().toolServers.of(tenantId, projectId).has(label),
  });
}

/** One port for all targets: the sandbox answers in this process, every other target over the network. */
export function openUpstream(proxy: ProxySettings | null, readElsewhere: ReadElsewhere): UpstreamClient {
  const network = createSocketUpstream(proxy === null ? {} : { proxy });
  const sandbox = createSandboxUpstream(readElsewhere);
  return {
    send: (request, call) => (request.url.startsWith(SANDBOX_SCHEME) ? sandbox : network).send(request, call),
  };
}

/** How a process listens on a port that it shares with others. */
export interface SharedPort {
  /** Resolves with the port when this process may begin to listen. `ledgerFolder` is where its journal is. */
  turn(ledgerFolder: string): Promise<number>;
  /** It listens. */
  listens(): void;
  /** Its listener is closed. */
  left(): void;
}

/** The other processes of a gateway, as one of its workers sees them. */
export interface Machine {
  /** A provider has refused a credential. */
  credentialRefused(news: RefusalNews): void;
  /** From now on this process takes news of others, and answers when they ask for its figures. */
  begin(own: OwnFigures, credentials: Pick<OpenCredentialProvider, "learn">): WorkerFiguresView;
  /** Resolves when all other processes serve by what is in the database now, after a second at the latest. */
  follow(): Promise<void>;
  /** Bounded places that all processes share. */
  readonly places: Places;
}

/**
 * The parts that a process has for itself when it is the whole gateway, and for which a worker needs the supervisor
 * (worker.ts).
 */
export interface ProcessParts {
  /** A file descriptor, or what takes the lines. */
  readonly logOutput: number | LineOutput;
  readonly openStorage: (base: Base) => Promise<Storage>;
  readonly openRecords: (base: Base, storage: Storage) => Promise<Records>;
  readonly openReplicas: (base: Base, storage: Storage, source: SnapshotSource) => ReplicaWatch;
  readonly openLimits: typeof openLimits;
  readonly openNotifications: (base: Base, parts: NotificationParts) => Promise<Notifications>;
  readonly openRouting: (base: Base, events: Events) => Routing;
  /** `null` when this process is the whole gateway. */
  readonly machine: Machine | null;
  /** The first access token, on the very first start only. */
  readonly firstToken: (store: Storage["store"]) => Promise<string | null>;
  /** `null` when no other process listens on the port. */
  readonly sharedPort: SharedPort | null;
}

export const OWN_PARTS: ProcessParts = {
  logOutput: 1,
  openStorage,
  openRecords,
  openReplicas,
  openLimits,
  openNotifications,
  openRouting: (_, events) => openRouting(Math.random, breakerReports(events)),
  machine: null,
  firstToken: async (store) => (await bootstrap(store, systemClock.now()))?.token ?? null,
  sharedPort: null,
};
