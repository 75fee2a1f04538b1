// The composition root: opens every part of the gateway in order and closes it in reverse.

// Decides (the answer): What does a stream's client see when the gateway stops? By: `drain`. Also: `http/traffic.ts`
// (`cut`), `engine/stream/stream-session.ts`. Rule: For the first 0.5 to 5 s new calls are still served, while
// `/readyz` answers 503. Calls may finish within `server.drain_s`, with that time; then an error event `shutting_down`
// and `[DONE]`. After some 2 s more the parts of the process are closed, each within 3 s, the integrations within 4 s and the
// ledger within 5 s.
import { type BudgetUsage, openBudgetUsage } from "../admission/budget-usage.ts";
import type { Peers } from "../engine/call/received-call.ts";
import { handleCall } from "../engine/handle.ts";
import type { ChatContext } from "../engine/call/context.ts";
import { renewedTargets, targetStandings } from "../engine/plan/open-routing.ts";
import type { ParsedToken } from "../auth/tokens/access-token.ts";
import { givenFirstToken } from "../auth/tokens/given-token.ts";
import type { Environment } from "../config/environment.ts";
import { followedKeys } from "../config/master-key.ts";
import type { ServerOptions } from "../snapshot/server-options.ts";
import { systemClock } from "../core/clock.ts";
import type { Snapshot } from "../core/snapshot.ts";
import { openTurns } from "../http/admin/turns.ts";
import { openConsoleFiles } from "../http/console/console-files.ts";
import { type AdminSources, type ConsoleSources, createApp } from "../http/app.ts";
import type { McpContext } from "../http/mcp/serving.ts";
import type { ProcessStanding, Standing } from "../http/standing.ts";
import { openServer, type OpenServer } from "../http/server.ts";
import { refuseUnservedWith } from "../http/unserved-operations.ts";
import { type OpenTraffic, openTraffic } from "../http/traffic.ts";
import { batched } from "../observe/observer.ts";
import { BUILT_IN_MODELS, providers } from "../providers/registry.ts";
import { openSimulations } from "../simulation/simulations.ts";
import type { LoadedConfiguration } from "../snapshot/configuration.ts";
import type { MaybePromise } from "../core/maybe-promise.ts";
import { openAuditReads } from "../store/audit/audit-reads.ts";
import { auditSigner } from "../store/audit/audit-signature.ts";
import { databasePlace } from "../store/open-database.ts";
import { VERSION } from "../core/version.ts";
import { type Base, openFromBase } from "./parts/base.ts";
import { openServingContext, type ServingParts } from "./parts/call-context.ts";
import type { FollowedPurges } from "../cache/follow-purges.ts";
import { consoleFile } from "./parts/built-console.ts";
import type { Machine } from "./parts/machine.ts";
import { openCache } from "./parts/open-cache.ts";
import { openGatewayParts, standingOf } from "./parts/open-gateway-parts.ts";
import { openExternalClients } from "./parts/open-external-clients.ts";
import { openGatewayMetrics } from "./parts/open-gateway-metrics.ts";
import { OWN_PARTS, type ProcessParts } from "./parts/process-parts.ts";
import { PROVIDER_FAMILIES } from "./parts/provider-families.ts";

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
  /** During `close`: no other process continues, and calls in flight have this time at most. */
  endWithin(ms: number): void;
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
  const given = parts.firstStart === null ? null : givenFirstToken(base.environment);
  const common = await openGatewayParts(base, parts, {
    openClients: (source) => openExternalClients(base, source, parts.machine),
    openMetrics: ({ source, records, replicas, clients, notifications }, limits) =>
      openGatewayMetrics(source, {
        targets: () => targets(),
        limits,
        budgets: () => budgets,
        replicas,
        cache: () => cache,
        ...records,
        ...clients,
        ...notifications,
      }),
  });
  const { storage, source, clients, notifications, metrics, limits } = common;
  const routing = parts.openRouting(base, notifications.events);
  const targets = () => targetStandings(routing, systemClock.monotonic());
  source.subscribe(renewedTargets(source.current(), routing, systemClock));
  const budgets = openBudgetUsage(limits, () => source.current());
  source.subscribe(({ toolServers }) => clients.toolServers.configured(toolServers.keys));
  const traffic = openTraffic(metrics.inFlight, () => source.refusal());
  const ownStanding = () => standingOf(common, { callsInFlight: traffic.count(), targets: targets() });
  const { observer, figures } = openObserver(base, common, { budgets, machine: parts.machine, standing: ownStanding });
  const masterKeys = followedKeys(storage.keys, systemClock);
  const { cache, purges } = await openCache(base, storage, source, masterKeys);
  const context = await openServingContext(base, common, {
    machine: parts.machine,
    masterKeys,
    routing,
    traffic,
    observer,
    cache,
  });
  return await openListener(base, common, {
    context,
    observer,
    standing: () => figures?.standing() ?? { ...ownStanding(), workers: null },
    figures,
    traffic,
    purges,
    parts,
    given,
  });
}

function openObserver(
  { log, closing, onFault }: Base,
  { records, clients, notifications: { events, integrations }, metrics }: ServingParts,
  {
    budgets,
    machine,
    standing,
  }: { readonly budgets: BudgetUsage; readonly machine: Machine | null; readonly standing: () => ProcessStanding },
) {
  const samples = () => {
    observer.flush();
    return metrics.samples();
  };
  /** What the other processes of the machine have counted; `null` when there are none. */
  const figures = machine?.begin({ standing, metrics: { samples } }, clients.credentials) ?? null;
  closing.add(() => figures?.end());
  const observer = batched(
    [log, metrics, budgets, records.contentLog, events.observer, ...(integrations === null ? [] : [integrations])],
    onFault,
  );
  closing.add(() => observer.flush());
  return { observer, figures };
}

interface ListenerParts extends ReturnType<typeof openObserver> {
  readonly context: ChatContext;
  readonly standing: () => MaybePromise<Standing>;
  readonly traffic: OpenTraffic;
  readonly purges: FollowedPurges;
  readonly parts: ProcessParts;
  /** The first token, where the operator gives it. */
  readonly given: ParsedToken | null;
}

/** What of its end the gateway shows. */
interface Ending {
  isRetiring: boolean;
  isEnding: boolean;
}

/** From here on the gateway accepts calls. */
async function openListener(base: Base, common: ServingParts, listener: ListenerParts): Promise<ServingGateway> {
  const { options, closing, log, onFault } = base;
  const {
    storage: { store },
    source,
    records: { ledger },
  } = common;
  const {
    context,
    traffic,
    purges,
    parts: { sharedPort, firstStart },
    given,
  } = listener;
  const ending: Ending = { isRetiring: false, isEnding: false };
  const app = openApp(base, common, listener, ending);
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
  const first = (await firstStart?.(store, given)) ?? null;
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
      ending.isRetiring = !isReplaced;
      ending.isEnding = true;
      const isOver = Promise.race([Bun.sleep(withinMs), hurried.promise]);
      const cut = await drain(server, traffic, {
        isOver,
        mayStop: mayStop.promise,
        onStopped: () => sharedPort?.left(),
        lastBytesMs: isReplaced ? withinMs : LAST_BYTES_MS,
      });
      await closing.close();
      return cut;
    },
    hurry: () => hurried.resolve(),
    closeListenerAtOnce: () => mayStop.resolve(),
    endWithin(ms) {
      ending.isRetiring = true;
      setTimeout(() => hurried.resolve(), ms).unref();
    },
  };
}

/** Opens everything that is served beside the operations. */
function openApp(
  base: Base,
  common: ServingParts,
  { context, observer, standing, figures, traffic, parts: { machine, sharedPort } }: ListenerParts,
  ending: Ending,
): ReturnType<typeof createApp> {
  const { options, closing } = base;
  const {
    storage: { store, keys },
    source,
    records: { ledger, calls, contents, contentLog },
    replicas,
    clients: { logins, toolServers },
    metrics,
    limits,
  } = common;
  const database = databasePlace(options);
  const [simulations, auditReads] = [openSimulations({ place: database }), openAuditReads(database)];
  closing.beside(() => Promise.all([simulations.close(), auditReads.close()]));
  const callOf =
    (serving: ChatContext): McpContext["call"] =>
    (operation, request, token, address) =>
      handleCall(operation, request, serving, peersOf(address), token);
  return createApp({
    clock: systemClock,
    ...(options.hasConsole && { console: consoleSources(base, common, context) }),
    version: VERSION,
    snapshot: () => source.current(),
    models: { providers, builtIn: BUILT_IN_MODELS },
    logins,
    metrics: async () => {
      observer.flush();
      return { text: await metrics.text(await figures?.metrics()), contentType: metrics.contentType };
    },
    notReady: () =>
      ending.isRetiring
        ? "the gateway is shutting down"
        : (unfinishedStart(source.current()) ??
          sharedPort?.refusal() ??
          source.refusal() ??
          replicas.refusal() ??
          ledger.refusal()),
    standing,
    refuseUnserved: refuseUnservedWith(context),
    kept: context,
    mcp: {
      toolServers,
      call: callOf(context),
      suspend(cut) {
        const suspended = traffic.suspend(cut);
        return { call: callOf({ ...context, traffic: suspended.traffic }), end: () => suspended.end() };
      },
      kept: context.kept,
      held: context.traffic.held,
      isEnding: () => ending.isEnding,
      isRetiring: () => ending.isRetiring,
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
      isEnding: () => ending.isEnding,
      turns: machine === null ? undefined : openTurns(machine.slots),
      toolServers,
      cache: context.cache,
      held: context.traffic.held,
      started: startedGateway(base),
      auditSigner: () => auditSigner(options.audit.signingKey, keys.read()[0]!),
      call: (operation, request, token) =>
        handleCall(operation, request, { ...context, ignoresDrains: true }, null, token),
    },
  });
}

function consoleSources({ log }: Base, { storage, source }: ServingParts, context: ChatContext): ConsoleSources {
  return {
    store: storage.store,
    upstream: context.upstream,
    warn: (message) => log.warn({ source: "console" }, message),
    files: openConsoleFiles(consoleFile),
    settings: () => source.configuration().console,
    call: (operation, request, { token, session, peer }) =>
      handleCall(operation, request, { ...context, session }, peersOf(peer), token),
  };
}

function startedGateway({ options, loaded }: Base): AdminSources["started"] {
  return {
    configurationFile: loaded.file,
    host: options.host,
    port: options.port,
    workers: options.workers,
    database: options.databaseUrl === null ? "sqlite" : "postgresql",
    limitStore: options.limitStore === null ? "memory" : "valkey",
    hasConsole: options.hasConsole,
    calls: options.calls,
    audit: options.audit,
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
 * not ended when `isOver` settles are cut; their clients receive the reason before the connection closes. Responses whose
 * calls have ended, and reports, have `lastBytesMs` to leave. Returns the number of calls that were cut.
 */
async function drain(
  server: OpenServer,
  traffic: OpenTraffic,
  {
    isOver,
    mayStop,
    onStopped,
    lastBytesMs,
  }: {
    readonly isOver: Promise<unknown>;
    readonly mayStop: Promise<unknown>;
    readonly onStopped: () => void;
    readonly lastBytesMs: number;
  },
): Promise<number> {
  await Promise.race([server.retire(), isOver, mayStop]);
  const stopped = server.stop();
  onStopped();
  const drained = await traffic.drain(isOver);
  const cut = drained ? 0 : traffic.cut();
  if (cut > 0) await traffic.drain(Bun.sleep(LAST_SETTLED_MS));
  // The calls have ended; what is left are responses on their way to clients that may never read them.
  await Promise.race(cut > 0 ? [stopped, Bun.sleep(LAST_SETTLED_MS)] : [stopped, isOver, Bun.sleep(lastBytesMs)]);
  await server.cut();
  return cut;
}
