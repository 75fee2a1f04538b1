// A worker: a gateway process that serves calls on the port that it shares with others. What all of them have together, it
// has from the supervisor over the channel (docs/operations.md lists it): the counts of limits, the slots of targets, the rows of
// calls, what is kept of responses, the log's output.
import type { WorkerIdentity, Environment } from "../config/environment.ts";
import { ConfigurationError } from "../config/problem.ts";
import { resolveServerOptions, type ServerFlags } from "../snapshot/server-options.ts";
import { systemClock } from "../core/clock.ts";
import type { Machine, SharedPort } from "./parts/machine.ts";
import { openCallRecords } from "./parts/open-records.ts";
import { PROVIDER_FAMILIES } from "./parts/provider-families.ts";
import type { ProcessParts } from "./parts/process-parts.ts";
import { openGateway, type ServingGateway } from "./gateway.ts";
import { fileOutput, type LineOutput } from "../observe/line-sink.ts";
import type { Slots } from "../core/concurrency/slots.ts";
import { loadConfiguration, type LoadedConfiguration } from "../snapshot/configuration.ts";
import { NO_REPLICA_WATCH } from "../snapshot/replica-watch.ts";
import { type Ledger, noLedger } from "../store/journal/ledger.ts";
import { holderOf, lockHolder } from "../store/journal/limit-holders.ts";
import type { CountedOptions } from "../store/journal/ledger-options.ts";
import { openCalls, openDatabase } from "../store/open-database.ts";
import { BEAT_MS } from "./workers/hang.ts";
import { findListenerSocket, type ListenerSocket } from "./workers/listener-socket.ts";
import type { BodyOf } from "./workers/channel.ts";
import {
  PROTOCOL,
  type SupervisorChannel,
  type ToSupervisor,
  type ToWorker,
  type WorkerStart,
} from "./workers/messages.ts";
import { openWorkerFigures } from "./workers/machine-figures.ts";
import { contentWriter, workerContentLog } from "./workers/shared-contents.ts";
import { openWorkerEvents } from "./workers/shared-events.ts";
import { openWorkerIntegrations } from "./workers/shared-integrations.ts";
import { openWorkerKept } from "./workers/shared-kept.ts";
import { openWorkerSlots, openWorkerRouting } from "./workers/shared-targets.ts";
import { openProcessTimer } from "./workers/process-timers.ts";
import { remoteLedgerSink } from "./workers/remote-ledger.ts";
import { RemoteLimits } from "./workers/remote-limits.ts";
import { connectChannel } from "./workers/sockets.ts";

/** Calls in flight may take this long to end when the supervisor has gone. */
const ORPHANED_MS = 30_000;
/** A worker without a supervisor is ended by the kernel after this time, whatever it does. */
const ORPHANED_END_S = 60;
/**
 * A worker whose main thread computes for so long without a beat, or before its first one, is ended by the kernel. The
 * supervisor ends one that hangs much earlier (hang.ts): this is for a worker that hangs while the supervisor goes.
 */
const HUNG_CPU_S = 5;
const START_CPU_S = 120;
const LOG_BLOCK_BYTES = 64 * 1024;
/** A change is answered when the other workers serve by it; one that hangs follows when it reads the store again. */
const RELOADED_MS = 1000;
/** Signals reach the whole process group; the supervisor says what follows from them. */
const SUPERVISOR_SIGNALS = ["SIGTERM", "SIGINT", "SIGHUP", "SIGUSR2"] as const;

/** Runs until the supervisor ends it, or has gone. Returns the exit code. Throws as openGateway does. */
export async function runWorker(
  { id, channel: path }: WorkerIdentity,
  flags: ServerFlags,
  environment: Environment,
): Promise<number> {
  for (const signal of SUPERVISOR_SIGNALS) process.on(signal, () => {});
  const hungTimer = openProcessTimer("cpu");
  hungTimer.set(START_CPU_S);
  const orphanedTimer = openProcessTimer("time");
  const channel = await connectChannel<ToSupervisor, ToWorker>(path, () => {});
  channel.whenClosed(() => orphanedTimer.set(ORPHANED_END_S));
  const start = await channel.request("hello", { worker: id, protocol: PROTOCOL });
  let socket: ListenerSocket | null = null;
  let port = 0;
  let isStarting = false;
  // Messages may come as soon as the worker listens.
  channel.handle("steer", ({ weights }) => (socket ??= findListenerSocket(port)).steer(weights));
  channel.handle("started", () => void (isStarting = false));
  const opened = Promise.withResolvers<ServingGateway>();
  channel.handle("reload", async () => await (await opened.promise).reload());
  channel.handle("follow", async () => await (await opened.promise).follow());
  const ended = whenEnded(channel, opened.promise);
  const loaded = loadedAt(start, environment);
  const { text, restartText } = start;
  const atRestart = restartText === text ? loaded : loadedAt({ ...start, text: restartText }, environment);
  const options = { ...resolveServerOptions({ flags, environment, file: atRestart.configuration }), ...start.places };
  const holder = holderOf(id);
  const lock = await lockHolder(options.dataFolder, holder);
  const sharedPort: SharedPort = {
    async turn(ledgerFolder) {
      ({ port, isStarting } = await channel.request("ready", { ledgerFolder }));
      return port;
    },
    refusal: () => (isStarting ? "the other workers of the gateway are being started" : null),
    listens: () => channel.notify("listening", null),
    left: () => channel.notify("not_listening", null),
  };
  const gateway = await openGateway(options, loaded, environment, workerParts(channel, holder, sharedPort));
  opened.resolve(gateway);
  hungTimer.set(HUNG_CPU_S);
  const beats = setInterval(() => {
    hungTimer.set(HUNG_CPU_S);
    channel.notify("beat", { callsInFlight: gateway.callsInFlight() });
  }, BEAT_MS);
  const cut = await ended;
  clearInterval(beats);
  channel.notify("ended", { cut });
  channel.close();
  lock.release();
  return 0;
}

/**
 * The configuration that the supervisor uses, or used at a restart: its file and those of its secrets may be broken or
 * removed by now, and are followed from there. A newer program may not accept it any more, and then begins with the files
 * as they are now. Throws ConfigurationError.
 */
function loadedAt(
  { file, text, secrets }: Pick<WorkerStart, "file" | "text" | "secrets">,
  environment: Environment,
): LoadedConfiguration {
  const source = { file, families: PROVIDER_FAMILIES, environment };
  try {
    return loadConfiguration({ ...source, text, secrets });
  } catch (thrown) {
    if (!(thrown instanceof ConfigurationError)) throw thrown;
    return loadConfiguration(source);
  }
}

/** Resolves with the number of calls that were cut, when the gateway has been closed. */
async function whenEnded(channel: SupervisorChannel, opened: Promise<ServingGateway>): Promise<number> {
  const end = Promise.withResolvers<BodyOf<ToWorker["drain"]>>();
  let isDraining = false;
  channel.handle("drain", (how) => {
    // The whole gateway may end while a worker that was replaced still drains.
    if (isDraining) void opened.then((gateway) => gateway.endWithin(how.withinMs));
    isDraining = true;
    end.resolve(how);
  });
  channel.handle("hurry", () => void opened.then((gateway) => gateway.hurry()));
  channel.whenClosed(() => {
    // A gateway that is started now needs the port, and this one could admit nothing under a limit.
    void opened.then((gateway) => gateway.closeListenerAtOnce());
    end.resolve({ withinMs: ORPHANED_MS, isReplaced: false });
  });
  const { withinMs, isReplaced } = await end.promise;
  const gateway = await opened;
  const closed = gateway.close(withinMs, isReplaced);
  // The supervisor may go while the calls drain.
  channel.whenClosed(() => gateway.endWithin(ORPHANED_MS));
  return await closed;
}

function workerParts(channel: SupervisorChannel, holder: string, sharedPort: SharedPort): ProcessParts {
  const slots = openWorkerSlots(channel);
  let journal: Ledger = noLedger;
  const limits = new RemoteLimits(channel, holder, (calls) => journal.writeStateOf(calls));
  return {
    logOutput: logOutput(channel),
    async openStorage({ options, environment, closing }) {
      const database = await openDatabase({ ...options, environment });
      closing.add(() => database.store.close());
      const calls = await openCalls(options);
      closing.beside(() => calls.close());
      return { ...database, calls };
    },
    async openRecords(base, storage) {
      const records = await openCallRecords(base, storage, {
        sink: remoteLedgerSink(channel),
        contentWriter: contentWriter(channel),
        adopts: false,
        ...(base.options.limitStore === null && { counted: countedBySupervisor(channel) }),
      });
      const contentLog = workerContentLog(channel, records.contentLog);
      journal = records.ledger;
      const close: Ledger["close"] = (entry, record) => {
        const written = records.ledger.close(entry, record);
        void written.then(() => limits.sendSettled());
        return written;
      };
      const ledger = { ...records.ledger, close };
      return { ...records, ledger, contentLog, countStore: null, counting: {} };
    },
    openReplicas: () => NO_REPLICA_WATCH,
    async openLimits({ closing }) {
      closing.beside(() => limits.close());
      return limits;
    },
    async openNotifications({ log, closing }) {
      const integrations = await openWorkerIntegrations(channel, log);
      closing.beside(() => integrations?.end(0));
      const events = openWorkerEvents(channel);
      closing.beside(() => events.close(0));
      return { integrations, events };
    },
    openRouting({ closing }) {
      const worker = openWorkerRouting(channel, slots, systemClock, Math.random);
      closing.beside(() => worker.close());
      return worker.routing;
    },
    machine: machineOf(channel, slots),
    firstStart: null,
    sharedPort,
  };
}

function machineOf(channel: SupervisorChannel, slots: Slots): Machine {
  return {
    credentialRefused: (news) => channel.notify("credential_refused", news),
    begin(own, credentials) {
      channel.handle("credential_refused", (news) => credentials.learn(news));
      const figures = openWorkerFigures(channel, own);
      channel.notify("takes_news", null);
      return figures;
    },
    async follow() {
      await channel.requestWithin(RELOADED_MS, "follow_all", null);
    },
    kept: openWorkerKept(channel, () => systemClock.now()),
    slots,
  };
}

/** Lines go to the supervisor, so that those of several workers do not mix; without one, to the standard output. */
function logOutput(channel: SupervisorChannel): LineOutput {
  const own = fileOutput(1, LOG_BLOCK_BYTES);
  const encoder = new TextEncoder();
  return {
    async write(text) {
      if (channel.isClosed) await own.write(text);
      else channel.notify("log_lines", null, encoder.encode(text));
    },
  };
}

/** Segments of the journal stay until the supervisor has kept what their entries state of counts. */
function countedBySupervisor(channel: SupervisorChannel): CountedOptions {
  return {
    atStart: false,
    keepsCounts: () => false,
    sinceMs: () => Number.POSITIVE_INFINITY,
    kept() {
      let isKept = false;
      channel.request("limits_kept", null).then(
        () => (isKept = true),
        () => {},
      );
      return () => isKept;
    },
  };
}
