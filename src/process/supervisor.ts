// The supervisor of `server.workers` above 1 (docs/design/workers.md): it serves no calls. It starts the workers, watches and
// replaces them, and has for all of them what must be there once (docs/operations.md lists it), such as the counts of limits,
// the slots of targets, the writer of the calls' database, the log's output, and the signals.
import { bootstrap } from "../auth/first-identities.ts";
import { givenFirstToken } from "../auth/tokens/given-token.ts";
import { type Environment, workerEnvironment } from "../config/environment.ts";
import type { ServerOptions } from "../snapshot/server-options.ts";
import { systemClock } from "../core/clock.ts";
import { isEmbedded } from "../core/concurrency/thread-file.ts";
import { within } from "../core/concurrency/timeout.ts";
import { type Base, openFromBase } from "./parts/base.ts";
import { type GatewayParts, openGatewayParts, standingOf } from "./parts/open-gateway-parts.ts";
import { openUpstream } from "./parts/open-external-clients.ts";
import { breakerReports } from "./parts/open-notifications.ts";
import type { Records } from "./parts/open-records.ts";
import type { Storage } from "./parts/open-storage.ts";
import { OWN_PARTS } from "./parts/process-parts.ts";
import type { Gateway } from "./gateway.ts";
import type { DeliveringIntegrations } from "../observe/integrations/integrations.ts";
import { type Metrics, openSupervisorMetrics } from "../observe/metrics/metrics.ts";
import type { LoadedConfiguration } from "../snapshot/configuration.ts";
import { ChannelTraffic } from "./workers/channel-traffic.ts";
import { holderOf, openSettledFile, removeEndedHolders } from "../store/journal/limit-holders.ts";
import { limitsOfCalls, WorkerReservations } from "./workers/worker-reservations.ts";
import type { ToSupervisor, ToWorker, WorkerChannel } from "./workers/messages.ts";
import { openSharedParts } from "./workers/shared-parts.ts";
import { serveLedger } from "./workers/remote-ledger.ts";
import { listenForChannels } from "./workers/sockets.ts";
import { WorkerPool } from "./workers/worker-pool.ts";
import type { WorkerProcess } from "./workers/worker-process.ts";
import type { UpstreamClient } from "../wire/upstream.ts";

/** Everything at the end of a start that fails: no calls are in flight. */
const FAILED_START_MS = 1000;
/** Time to ship what the workers have left when they have ended. */
const LAST_ADOPTED_MS = 5000;
/** How often it is looked whether the counts up to a moment are kept. */
const KEPT_POLL_MS = 50;

/** Throws as openGateway does. */
export async function openSupervisor(
  options: ServerOptions,
  loaded: LoadedConfiguration,
  environment: Environment,
): Promise<Gateway> {
  return await openFromBase(
    { options, loaded, environment, logOutput: 1, faultMessage: "unexpected error in the supervisor" },
    openAll,
  );
}

async function openAll(base: Base): Promise<Gateway> {
  const given = givenFirstToken(base.environment);
  const { options, log, closing, onFault } = base;
  // First, because a port that is in use is the most likely fault.
  const port = await freePort(options);
  const traffic = new ChannelTraffic();
  const parts = await openGatewayParts(base, SUPERVISOR_PARTS, {
    openClients: () => ({ upstream: openUpstream(options.upstreamProxy, () => null) }),
    openMetrics: ({ source, records, notifications, replicas }, limits) =>
      openSupervisorMetrics({
        ledger: () => records.ledger.status(),
        integrations: () => notifications.integrations?.statuses() ?? [],
        events: () => notifications.events.figures,
        limitStore: () => limits().figures?.() ?? null,
        replicas: () => replicas.figures(),
        configurationFault: () => source.fileFault(),
        channels: () => traffic.figures(),
      }),
  });
  const { source, records } = parts;
  let atRestart = base.loaded;
  const pool = await openPool(base, parts, { traffic, port, atRestart: () => atRestart });
  const reload = async (): Promise<void> => {
    const asked = channelsOf(pool).map((channel) => channel.request("reload", null).catch(onFault));
    await Promise.all([source.reload(), ...asked]);
  };
  // The first token is made last, because a start that fails must not use up a token that is shown only once.
  const first = await bootstrap(parts.storage.store, systemClock.now(), given);
  if (first !== null) await reload();
  // One worker may be asked for what another has said that it is there.
  pool.hasStarted();
  return {
    url: `http://${options.host.includes(":") ? `[${options.host}]` : options.host}:${port}`,
    firstToken: first?.token ?? null,
    logged: () => log.written(),
    reload,
    follow: () => source.follow(),
    async restart() {
      await source.reload();
      atRestart = source.loaded();
      await pool.restart();
    },
    callsInFlight: () => pool.workers.reduce((sum, { callsInFlight }) => sum + callsInFlight, 0),
    async close(withinMs = source.current().limits.drainMs) {
      const cut = await pool.close(withinMs);
      // It needs the counts of limits, which are closed before the ledger. What is not shipped in time, the next start ships.
      await within(records.ledger.adopt(), LAST_ADOPTED_MS);
      await closing.close();
      return cut;
    },
    hurry: () => pool.hurry(),
  };
}

const SUPERVISOR_PARTS = {
  ...OWN_PARTS,
  async openStorage(base: Base): Promise<Storage> {
    const storage = await OWN_PARTS.openStorage(base);
    removeEndedHolders(base.options.dataFolder);
    return storage;
  },
};

/** Starts the workers, with what they have of their supervisor. */
async function openPool(
  { options, log, closing, onFault }: Base,
  parts: GatewayParts<
    { readonly upstream: UpstreamClient },
    Pick<Metrics, "limitStoreAnswered" | "samples">,
    DeliveringIntegrations
  >,
  {
    traffic,
    port,
    atRestart,
  }: { readonly traffic: ChannelTraffic; readonly port: number; readonly atRestart: () => LoadedConfiguration },
): Promise<WorkerPool> {
  const { source, storage, notifications, metrics, limits, records } = parts;
  const shared = openSharedParts({
    clock: systemClock,
    ...notifications,
    contents: storage.calls,
    own: { standing: () => standingOf(parts, { callsInFlight: 0, targets: [] }), metrics },
    onBreaker: breakerReports(notifications.events),
    everyWorker: () => channelsOf(pool),
    follow: () => source.follow(),
    onFault,
  });
  closing.beside(() => shared.close());
  process.on("unhandledRejection", onFault);
  process.on("uncaughtException", onFault);

  const reservations = new Map<WorkerProcess, WorkerReservations>();
  const socket = await listenForChannels<ToWorker, ToSupervisor>({
    dataFolder: options.dataFolder,
    onChannel: (channel) => pool.accept(channel),
    onFault,
  });
  closing.add(() => socket.close());
  const { host, workers, dataFolder, databaseUrl, ledger, limitStore } = options;
  const places = { host, workers, dataFolder, databaseUrl, ledger, limitStore };
  const pool = new WorkerPool({
    count: options.workers,
    port,
    command: ownCommand(),
    environmentOf: (id) => workerEnvironment({ id, channel: socket.path }),
    startOf() {
      const { file, text, secrets } = source.loaded();
      const { text: restartText, secrets: restartSecrets } = atRestart();
      return { file, text, restartText, secrets: { ...restartSecrets, ...secrets }, places };
    },
    clock: systemClock,
    onChannel(worker, channel) {
      traffic.join(channel);
      const holder = holderOf(worker.id);
      const settledFile = options.limitStore === null ? null : openSettledFile(options.dataFolder, holder);
      reservations.set(worker, new WorkerReservations(limits, channel, { holder, clock: systemClock, settledFile }));
      serveLedger(channel, storage.calls);
      serveCounts(channel, records);
      shared.join(channel);
      channel.handle("log_lines", (_, bytes) => log.lines(Buffer.from(bytes).toString("utf8")));
    },
    onEnded(worker) {
      reservations.get(worker)?.end((calls) => limitsOfCalls(worker.ledgerFolder, calls));
      reservations.delete(worker);
      void records.ledger.adopt();
    },
    log: (level, message, fields = {}) => log[level]({ source: "workers", ...fields }, message),
  });
  closing.add(() => pool.close(FAILED_START_MS), FAILED_START_MS * 3);
  await pool.start();
  return pool;
}

function channelsOf({ workers }: WorkerPool): readonly WorkerChannel[] {
  return workers.map(({ channel }) => channel).filter((channel) => channel !== null);
}

/**
 * Takes the port for a moment without sharing it: otherwise a second gateway that is started by mistake would get a part
 * of the connections. Throws the system's error when the port is in use.
 */
async function freePort({ host, port }: ServerOptions): Promise<number> {
  const server = Bun.serve({
    hostname: host,
    port,
    reusePort: false,
    fetch: () => new Response(null, { status: 503 }),
  });
  const chosen = server.port!;
  await server.stop(true);
  return chosen;
}

/** The command with which this process was started. */
function ownCommand(): readonly string[] {
  const [, script, ...args] = process.argv;
  return isEmbedded(import.meta.url)
    ? [process.execPath, ...args]
    : [process.execPath, ...process.execArgv, script!, ...args];
}

function serveCounts(channel: WorkerChannel, { counting }: Records): void {
  channel.handle("limits_kept", async () => {
    const isKept = counting.kept?.() ?? (() => true);
    while (!isKept() && !channel.isClosed) await Bun.sleep(KEPT_POLL_MS);
  });
}
