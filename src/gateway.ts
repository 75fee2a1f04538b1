// The composition root: opens every part of the gateway in order and closes it in reverse.

// Decides (the answer): What does a stream's client see when the gateway stops? By: `drain`. Also: `http/traffic.ts`
// (`cut`), `engine/stream/stream-session.ts`. Rule: Calls may finish within `server.drain_s`; then an error event
// `shutting_down` and `[DONE]`.
import { openLogins } from "./auth/logins/logins.ts";
import { reportThreshold, thresholdWatch } from "./admission/budget-thresholds.ts";
import { openBudgetUsage } from "./admission/budget-usage.ts";
import { openMemoryLimits } from "./admission/memory.ts";
import { openGuardServices } from "./engine/guards/outside-guards.ts";
import { openGuardThreads } from "./engine/guards/guard-threads.ts";
import type { Peers } from "./engine/call/received-call.ts";
import { handleCall } from "./engine/handle.ts";
import { CallNotes } from "./engine/call/call-notes.ts";
import type { ChatContext } from "./engine/call/context.ts";
import { BackgroundRuns } from "./engine/keeping/background-runs.ts";
import { durableStore } from "./engine/keeping/durable-store.ts";
import { reasoningCarriers } from "./engine/carriers/reasoning-carrier.ts";
import { openVendorObjects } from "./engine/objects/vendor-objects.ts";
import { openLongTasks } from "./engine/long-bodies/long-tasks.ts";
import { openLongBodyThread } from "./engine/long-bodies/long-body-thread.ts";
import { openLongRequests } from "./engine/long-bodies/long-requests.ts";
import { longBodyProgram } from "./operations/long-body-program.ts";
import { OpenCopies } from "./engine/mirror/copies.ts";
import { openRouting, targetStandings } from "./engine/plan/open-routing.ts";
import type { ParsedToken } from "./auth/tokens/access-token.ts";
import { givenFirstToken } from "./auth/tokens/given-token.ts";
import type { Environment } from "./config/environment.ts";
import type { ServerOptions } from "./config/server-options.ts";
import { systemClock } from "./core/clock.ts";
import { openCredentialProvider } from "./credentials/credential-provider.ts";
import { NO_EVENTS } from "./core/record/event.ts";
import { openToolServers } from "./mcp/open-tool-servers.ts";
import type { Snapshot } from "./core/snapshot.ts";
import { sharedTurns } from "./http/admin/turns.ts";
import { openConsoleFiles } from "./http/console/console-files.ts";
import { createApp } from "./http/app.ts";
import { dependencies, type ProcessStanding, type Standing } from "./http/standing.ts";
import { openServer, type OpenServer } from "./http/server.ts";
import { refuseUnservedWith } from "./http/unserved-operations.ts";
import { type OpenTraffic, openTraffic } from "./http/traffic.ts";
import type { Metrics } from "./observe/metrics/metrics.ts";
import { type BatchedObserver, batched } from "./observe/batch.ts";
import { observers } from "./observe/observer.ts";
import { tracingOf } from "./observe/tracing.ts";
import { BUILT_IN_MODELS, providers } from "./providers/registry.ts";
import { openSimulations } from "./simulation/simulations.ts";
import type { LoadedConfiguration } from "./snapshot/configuration.ts";
import type { ReplicaWatch } from "./snapshot/replica-watch.ts";
import type { SnapshotSource } from "./snapshot/source.ts";
import type { MaybePromise } from "./core/maybe-promise.ts";
import type { WorkerFiguresView } from "./workers/machine-figures.ts";
import { openAuditReads } from "./store/audit/audit-reads.ts";
import { auditSigner } from "./store/audit/audit-signature.ts";
import { noLedger } from "./store/journal/ledger.ts";
import { databasePlace } from "./store/open-database.ts";
import type { ProxySettings } from "./wire/http/http-proxy.ts";
import { VERSION } from "./core/version.ts";
import { ArgumentChecks } from "./mcp/tool-arguments.ts";
import { type Base, openFromBase } from "./gateway-parts/base.ts";
import type { FollowedPurges } from "./cache/follow-purges.ts";
import { consoleFile } from "./gateway-parts/built-console.ts";
import { openCache } from "./gateway-parts/open-cache.ts";
import { openConfiguration } from "./gateway-parts/open-configuration.ts";
import { openKept } from "./gateway-parts/open-kept.ts";
import { openExternalClients, openUpstream } from "./gateway-parts/open-external-clients.ts";
import { openGatewayMetrics } from "./gateway-parts/open-gateway-metrics.ts";
import type { Records } from "./gateway-parts/open-records.ts";
import type { Storage } from "./gateway-parts/open-storage.ts";
import { OWN_PARTS, type ProcessParts } from "./gateway-parts/process-parts.ts";
import { PROVIDER_FAMILIES } from "./gateway-parts/provider-families.ts";

/** Time for the last bytes of responses to leave once no call is in flight, and time to settle calls that are cut. */
const LAST_BYTES_MS = 5000;
const LAST_SETTLED_MS = 1000;
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
  /** Serves by what has changed in the database, and removes from the response cache what was purged by others. */
  follow(): Promise<void>;
  /** Restarts the workers one after the other, with the program and the file as they are now. Absent without workers. */
  restart?(): Promise<void>;
  callsInFlight(): number;
  /**
   * Takes no new calls, lets calls in flight finish within `server.drain_s` or the given time, then closes everything.
   * Returns the number of calls that had to be cut. `isReplaced`: the gateway continues in other processes, so that
   * readiness does not turn red.
   */
  close(withinMs?: number, isReplaced?: boolean): Promise<number>;
  /** Ends the remaining time of calls in flight: those that have not ended are cut now. */
  hurry(): void;
}

/** A gateway that serves calls in this process. */
export interface ServingGateway extends Gateway {
  /**
   * Has `close` close the listener at once instead of when no call has arrived for a while; during `close` as well.
   * Connections in use stay until their responses have left.
   */
  closeListenerAtOnce(): void;
}

/**
 * `options` are what flags, environment and `loaded` give together. Throws ConfigurationError, StoreError, or the
 * system's error when the address is in use; parts that were already open are closed again.
 */
export async function openGateway(
  options: ServerOptions,
  loaded: LoadedConfiguration,
  environment: Environment,
  parts: ProcessParts = OWN_PARTS,
): Promise<ServingGateway> {
  return await openFromBase(
    {
      options,
      loaded,
      environment,
      logOutput: parts.logOutput,
      faultMessage: "unexpected error outside of any call",
    },
    (base) => openAll(base, parts),
  );
}

async function openAll(base: Base, parts: ProcessParts): Promise<ServingGateway> {
  const { log, closing, onFault } = base;
  const given = givenFirstToken(base.environment);
  const storage = await parts.openStorage(base);
  const source = await openConfiguration(base, storage, parts.machine === null);
  const records = await parts.openRecords(base, storage);
  const replicas = parts.openReplicas(base, storage, source);
  const longBodies = openLongBodyThread(longBodyProgram());
  closing.add(() => longBodies.close());
  const externalClients = openExternalClients(base, source, longBodies, parts.machine);
  const notifications = await parts.openNotifications(base, { source, storage, externalClients });
  const routing = parts.openRouting(base, notifications.events);
  const targets = () => targetStandings(routing, systemClock.monotonic());
  const metrics = openGatewayMetrics(source, {
    targets,
    limits: () => limits,
    budgets: () => budgets,
    replicas,
    cache: () => cache,
    ...records,
    ...externalClients,
    ...notifications,
  });
  const limits = await parts.openLimits(base, records, source.current().limitRules, metrics.limitStoreAnswered);
  const budgets = openBudgetUsage(limits, () => source.current());
  source.subscribe(({ toolServers }) => externalClients.toolServers.configured(toolServers.keys));
  source.subscribe(() => notifications.events.wake());
  const traffic = openTraffic(metrics.inFlight, () => source.refusal());
  const ownStanding = (): ProcessStanding => ({
    snapshot: source.current().version,
    callsInFlight: traffic.count(),
    targets: targets(),
    integrations: notifications.integrations?.statuses() ?? [],
    dependencies: dependencies(source, limits, records.ledger, replicas),
  });
  const ownMetrics = {
    samples: () => {
      observer.flush();
      return metrics.samples();
    },
  };
  const figures =
    parts.machine?.begin({ standing: ownStanding, metrics: ownMetrics }, externalClients.credentials) ?? null;
  closing.add(() => figures?.end());
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
  const { cache, purges } = await openCache(base, storage, source);
  const guards = openGuardThreads({
    onEnded: (why) => log.error({ error_detail: why }, "a worker thread of guards ended"),
  });
  closing.beside(() => guards.close());
  const kept = await openKept(base, storage.keys.read(), parts.machine?.kept ?? null);
  const background = new BackgroundRuns();
  // what they have made is kept before the stores are closed
  closing.add(() => background.settled());
  const copies = new OpenCopies(openRouting(Math.random));
  closing.add(() => copies.close());
  const notes = new CallNotes(storage.store, (fault) =>
    log.error({ error_detail: String(fault) }, "the audit log lacks how many more calls were explained or replayed"),
  );
  closing.add(() => notes.close());
  const context: ChatContext = {
    clock: systemClock,
    snapshot: () => source.current(),
    providers,
    upstream,
    credentials,
    logins,
    routing,
    longRequests: openLongRequests(longBodies),
    longTasks: openLongTasks(longBodies),
    observer,
    integrations,
    tracing: tracingOf(source.configuration().integrations),
    events,
    toolServers,
    argumentChecks: new ArgumentChecks(),
    guards,
    guardServices: openGuardServices({
      upstream,
      clock: systemClock,
      allowPrivateAddresses: () => source.current().allowPrivateAddresses,
    }),
    ledger: records.ledger,
    traffic,
    copies,
    cache,
    kept,
    durable: durableStore(records.contents),
    audit: storage.store,
    notes,
    background,
    objects: openVendorObjects(storage.calls, systemClock, (thrown) =>
      log.error({ error_detail: String(thrown) }, "ids that a vendor handed out could not be kept"),
    ),
    carriers: reasoningCarriers(storage.keys.read()),
    limits,
    onContentLost: (traceId, fault) =>
      log.error({ trace_id: traceId, error_detail: String(fault) }, "the content of a call could not be kept"),
    onCharged: thresholdWatch(limits, (crossed) => reportThreshold(crossed, { log, metrics, events })),
  };
  return await openListener(base, {
    context,
    metrics,
    observer,
    standing: () => figures?.standing() ?? { ...ownStanding(), workers: null },
    figures,
    traffic,
    source,
    purges,
    storage,
    records,
    replicas,
    parts,
    given,
  });
}

interface ListenerParts {
  readonly context: ChatContext;
  readonly metrics: Metrics;
  readonly observer: BatchedObserver;
  readonly standing: () => MaybePromise<Standing>;
  readonly figures: WorkerFiguresView | null;
  readonly traffic: OpenTraffic;
  readonly source: SnapshotSource;
  readonly purges: FollowedPurges;
  readonly storage: Storage;
  readonly records: Records;
  readonly replicas: Pick<ReplicaWatch, "refusal">;
  readonly parts: ProcessParts;
  /** The first token, where the operator gives it. */
  readonly given: ParsedToken | null;
}

/** From here on the gateway accepts calls. */
async function openListener(
  { options, loaded, closing, log, onFault }: Base,
  {
    context,
    metrics,
    observer,
    standing,
    figures,
    traffic,
    source,
    purges,
    storage: { store, keys },
    records: { ledger, calls, contents, contentLog },
    replicas,
    parts: { sharedPort, machine, firstStart },
    given,
  }: ListenerParts,
): Promise<ServingGateway> {
  const { limits, logins, toolServers } = context;
  let isRetiring = false;
  let isEnding = false;
  const database = databasePlace(options);
  const [simulations, auditReads] = [openSimulations({ place: database }), openAuditReads(database)];
  closing.beside(() => Promise.all([simulations.close(), auditReads.close()]));
  const app = createApp({
    clock: systemClock,
    ...(options.hasConsole && {
      console: {
        store,
        upstream: context.upstream,
        warn: (message) => log.warn({ source: "console" }, message),
        files: openConsoleFiles(consoleFile),
        settings: () => source.configuration().console,
        call: (operation, request, { token, session, peer }) =>
          handleCall(
            operation,
            request,
            { ...context, way: { via: "console", sessionId: session.id } },
            peersOf(peer),
            token,
          ),
      },
    }),
    version: VERSION,
    snapshot: () => source.current(),
    models: { providers, builtIn: BUILT_IN_MODELS },
    logins,
    metrics: async () => {
      observer.flush();
      return { text: await metrics.text(await figures?.metrics()), contentType: metrics.contentType };
    },
    notReady: () =>
      isRetiring
        ? "the gateway is shutting down"
        : (unfinishedStart(source.current()) ?? source.refusal() ?? replicas.refusal() ?? ledger.refusal()),
    standing,
    refuseUnserved: refuseUnservedWith(context),
    kept: context,
    mcp: {
      toolServers,
      call: (operation, request, token, peer) => handleCall(operation, request, context, peersOf(peer), token),
      kept: context.kept,
      isEnding: () => isEnding,
    },
    admin: {
      store,
      limits,
      calls,
      simulations,
      auditReads,
      contents: { ...contents, remove: (place) => contentLog.forget(place).then(() => contents.remove(place)) },
      families: PROVIDER_FAMILIES,
      providers,
      snapshot: () => source.current(),
      configuration: () => source.configuration(),
      async follow() {
        await Promise.all([source.follow(), machine?.follow()]);
      },
      isEnding: () => isEnding,
      turns: machine === null ? undefined : sharedTurns(machine.slots),
      toolServers,
      cache: context.cache,
      started: {
        configurationFile: loaded.file,
        host: options.host,
        port: options.port,
        workers: options.workers,
        database: options.databaseUrl === null ? "sqlite" : "postgresql",
        limitStore: options.limitStore === null ? "memory" : "valkey",
        hasConsole: options.hasConsole,
        calls: options.calls,
        audit: options.audit,
      },
      auditSigner: () => auditSigner(options.audit.signingKey, keys.read()[0]!),
      call: (operation, request, token) =>
        handleCall(operation, request, { ...context, ignoresDrains: true }, null, token),
    },
  });
  process.on("unhandledRejection", onFault);
  process.on("uncaughtException", onFault);
  const server = openServer({
    host: options.host,
    port: sharedPort === null ? options.port : await sharedPort.turn(ledger.status().folder),
    sharesPort: sharedPort !== null,
    call: (operation, request, peers) => handleCall(operation, request, context, peers),
    app,
    onFault,
  });
  closing.add(() => server.cut());
  sharedPort?.listens();
  // The first token is made last, because a start that fails must not use up a token that is shown only once.
  const first = await firstStart(store, given);
  if (first !== null) await source.reload();
  const hurried = Promise.withResolvers<void>();
  const mayStop = Promise.withResolvers<void>();
  return {
    url: `http://${server.hostname?.includes(":") === true ? `[${server.hostname}]` : server.hostname}:${server.port}`,
    firstToken: first?.token ?? null,
    logged: () => log.written(),
    reload: () => source.reload(),
    async follow() {
      await Promise.all([source.follow(), purges.follow()]);
    },
    callsInFlight: () => traffic.count(),
    async close(withinMs = source.current().limits.drainMs, isReplaced = false) {
      isRetiring = !isReplaced;
      isEnding = true;
      const isOver = Promise.race([Bun.sleep(withinMs), hurried.promise]);
      const cut = await drain(server, traffic, {
        isOver,
        mayStop: mayStop.promise,
        onStopped: () => sharedPort?.left(),
      });
      await closing.close();
      return cut;
    },
    hurry: () => hurried.resolve(),
    closeListenerAtOnce: () => mayStop.resolve(),
  };
}

/** The connection of a request that was received as another one. */
function peersOf(peer: string | null): Peers {
  return { requestIP: () => (peer === null ? null : { address: peer }) };
}

/** Says that the first start has not made the first project and token yet, which it does last; `null` when they exist. */
function unfinishedStart({ projects, memberships, tokens }: Snapshot): string | null {
  return projects.size + memberships.size + tokens.size > 0
    ? null
    : "the first start has not ended: there is no project and no token yet";
}

/**
 * Drains without losing a call: readiness turns red and connections in use are retired, then the listener and idle
 * connections close while calls in flight continue. The listener waits for quiet until `mayStop` settles. Calls that have
 * not ended when `isOver` settles are cut; their clients receive the reason before the connection closes. Returns the
 * number of calls that were cut.
 */
async function drain(
  server: OpenServer,
  traffic: OpenTraffic,
  {
    isOver,
    mayStop,
    onStopped,
  }: { readonly isOver: Promise<unknown>; readonly mayStop: Promise<unknown>; readonly onStopped: () => void },
): Promise<number> {
  await Promise.race([server.retire(), isOver, mayStop]);
  const stopped = server.stop();
  onStopped();
  const drained = await traffic.drain(isOver);
  const cut = drained ? 0 : traffic.cut();
  if (cut > 0) await traffic.drain(Bun.sleep(LAST_SETTLED_MS));
  // The calls have ended; what is left are responses on their way to clients that may never read them.
  await Promise.race(cut > 0 ? [stopped, Bun.sleep(LAST_SETTLED_MS)] : [stopped, isOver, Bun.sleep(LAST_BYTES_MS)]);
  await server.cut();
  return cut;
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
    longTasks: null,
    observer: { publish: () => {} },
    integrations: null,
    tracing: null,
    events: NO_EVENTS,
    toolServers,
    argumentChecks: new ArgumentChecks(),
    guards: openGuardThreads({ onEnded: () => {} }),
    guardServices: openGuardServices({
      upstream,
      clock: systemClock,
      allowPrivateAddresses: () => snapshot.allowPrivateAddresses,
    }),
    ledger: noLedger,
    traffic,
    copies: null,
    cache: null,
    kept: null,
    durable: null,
    audit: null,
    notes: null,
    background: null,
    objects: null,
    carriers: reasoningCarriers([]),
    limits,
    onCharged: () => {},
  };
}
