// The life of the workers: started, watched, replaced when they end or hang, restarted one after the other, and ended
// together. What they share with each other is set up by `onChannel` (supervisor.ts).

// Decides (records and configuration): When is a worker replaced? By: `WorkerPool`. Also: `process/workers/hang.ts`
// (`livenessOf`, `BackOff`). Rule: When its process has ended, sends no beat for 2 s although it computes, or reads
// nothing of 64 MB that wait for it.
import type { Clock } from "../../core/clock.ts";
import { LATE, within } from "../../core/concurrency/timeout.ts";
import { messageOf } from "../../core/thrown.ts";
import { BackOff, BEAT_MS, livenessOf } from "./hang.ts";
import { ListenerGroup } from "./listener-group.ts";
import { type MayListen, PROTOCOL, type WorkerChannel, type WorkerStart } from "./messages.ts";
import { type WorkerEnd, WorkerProcess } from "./worker-process.ts";

export interface PoolOptions {
  readonly count: number;
  readonly port: number;
  readonly command: readonly string[];
  readonly environmentOf: (id: string) => Readonly<Record<string, string | undefined>>;
  /** What a worker begins with now. */
  readonly startOf: () => WorkerStart;
  readonly clock: Clock;
  /** The worker is known from now on: its messages can be handled. */
  readonly onChannel: (worker: WorkerProcess, channel: WorkerChannel) => void;
  /** The process has ended, orderly or not. Called before its replacement starts. */
  readonly onEnded: (worker: WorkerProcess) => void;
  readonly log: (level: "info" | "warn" | "error", message: string, fields?: Readonly<Record<string, unknown>>) => void;
}

/** A worker that does not listen by then has failed to start. */
const START_MS = 60_000;
/** Calls of a worker that was replaced by a rolling restart may take this long to end: nothing waits for them. */
const REPLACED_DRAIN_MS = 600_000;
/** For a worker that drains: time for its parts to close after its calls. */
const CLOSING_MS = 15_000;
/** A check that comes later than this says more about this process than about the workers. */
const LATE_CHECK_MS = 2 * BEAT_MS;

export class WorkerPool {
  readonly #options: PoolOptions;
  readonly #workers = new Map<string, WorkerProcess>();
  readonly #backOffs: readonly BackOff[];
  readonly #group: ListenerGroup;
  /** Workers begin to listen one after the other. */
  #turn: Promise<unknown> = Promise.resolve();
  #watch: ReturnType<typeof setInterval> | null = null;
  #lastCheckMs = 0;
  #restarting: Promise<void> | null = null;
  /** The places whose first worker has listened: from then on, one that ends there is replaced. */
  readonly #begun = new Set<number>();
  #isStarting = true;
  #isClosing = false;
  #cut = 0;

  constructor(options: PoolOptions) {
    this.#options = options;
    this.#backOffs = Array.from({ length: options.count }, () => new BackOff());
    this.#group = new ListenerGroup((why) =>
      options.log(
        "warn",
        "the system does not let new connections be steered to chosen workers: restarts of workers may reset connections",
        {
          error_detail: why,
        },
      ),
    );
  }

  /** All workers that run, also those that have not begun to listen or are about to end. */
  get workers(): readonly WorkerProcess[] {
    return [...this.#workers.values()];
  }

  /** Resolves when all workers listen; rejects when one of them cannot. */
  async start(): Promise<void> {
    await Promise.all(
      this.#backOffs.map(async (_, slot) => {
        const why = await this.#startAt(slot);
        if (why !== null) throw new Error(`worker ${slot} could not start: ${why}`);
        this.#begun.add(slot);
      }),
    );
    this.#lastCheckMs = this.#options.clock.monotonic();
    this.#watch = setInterval(() => this.#check(), BEAT_MS);
  }

  /** Lets the workers be ready: all of them know what the first start of the gateway has made. */
  hasStarted(): void {
    this.#isStarting = false;
    for (const { channel } of this.#workers.values()) channel?.notify("started", null);
  }

  /** For a new connection on the channel's socket: its first message says which worker it is. */
  accept(channel: WorkerChannel): void {
    channel.handle("hello", ({ worker: id, protocol }) => {
      const worker = this.#workers.get(id);
      if (worker === undefined || worker.channel !== null || protocol !== PROTOCOL) {
        setImmediate(() => channel.close());
        throw new Error(
          protocol === PROTOCOL
            ? "the supervisor did not start this worker"
            : "this version of the gateway cannot be a worker of the running supervisor: restart the whole gateway",
        );
      }
      this.#connected(worker, channel);
      return this.#options.startOf();
    });
  }

  /**
   * Restarts all workers, one after the other: a new one begins to listen before the old one stops. A new one that does
   * not start ends the restart, and the old one stays. A restart under way is not begun again.
   */
  restart(): Promise<void> {
    return (this.#restarting ??= this.#restartAll().finally(() => (this.#restarting = null)));
  }

  /** Ends all workers. Returns the number of calls that were cut. */
  async close(drainMs: number): Promise<number> {
    this.#isClosing = true;
    const cut = this.#cut;
    // When all of them end, connections have nowhere else to go: none is steered.
    for (const worker of this.workers) worker.isLeaving = true;
    await Promise.all(this.workers.map((worker) => this.#end(worker, drainMs)));
    if (this.#watch !== null) clearInterval(this.#watch);
    return this.#cut - cut;
  }

  hurry(): void {
    for (const { channel } of this.#workers.values()) channel?.notify("hurry", null);
  }

  #spawn(slot: number): WorkerProcess {
    const { command, environmentOf, clock } = this.#options;
    const id = crypto.randomUUID();
    const worker = new WorkerProcess({ id, slot, command, environment: environmentOf(id), clock });
    this.#workers.set(id, worker);
    void worker.ended.then((end) => this.#hasEnded(worker, end));
    return worker;
  }

  #connected(worker: WorkerProcess, channel: WorkerChannel): void {
    worker.channel = channel;
    channel.handle("ready", ({ ledgerFolder }) => {
      worker.ledgerFolder = ledgerFolder;
      return this.#mayListen(worker);
    });
    channel.handle("listening", () => {
      worker.state = "listening";
      worker.hasServed = true;
      worker.beat(0, this.#options.clock.monotonic());
      if (this.#begun.has(worker.slot))
        this.#options.log("info", "a worker serves calls", { slot: worker.slot, pid: worker.pid });
      void this.#group.add(worker).then(worker.hasListened);
    });
    channel.handle("not_listening", () => void this.#group.remove(worker).then(worker.hasLeft));
    channel.handle("beat", ({ callsInFlight }) => worker.beat(callsInFlight, this.#options.clock.monotonic()));
    channel.handle("ended", ({ cut }) => void (worker.cut = cut));
    channel.whenClosed(() => {
      if (!channel.isUnread) return;
      this.#options.log("error", "a worker does not read what is sent to it: it is ended and replaced", {
        slot: worker.slot,
        pid: worker.pid,
      });
      worker.kill();
    });
    this.#options.onChannel(worker, channel);
  }

  /** Resolves when no other worker is about to listen; the turn of this one ends when it listens, or has ended. */
  #mayListen(worker: WorkerProcess): Promise<MayListen> {
    const turn = Promise.withResolvers<MayListen>();
    const before = this.#turn;
    this.#turn = (async () => {
      await before;
      turn.resolve({ port: this.#options.port, isStarting: this.#isStarting });
      await Promise.race([worker.listens, worker.ended]);
    })();
    return turn.promise;
  }

  /**
   * Starts a worker at this place. Resolves with null when it listens, or with why it does not; one that does not start in
   * time is killed.
   */
  async #startAt(slot: number): Promise<string | null> {
    let worker: WorkerProcess;
    try {
      worker = this.#spawn(slot);
    } catch (fault) {
      return messageOf(fault);
    }
    const outcome = await within(Promise.race([worker.listens.then(() => null), worker.ended]), START_MS);
    if (outcome === null) return null;
    if (outcome === LATE) worker.kill();
    return describedEnd(await worker.ended);
  }

  async #restartAll(): Promise<void> {
    const { log } = this.#options;
    log("info", "the workers are restarted one after the other");
    for (const old of this.workers.filter(({ state }) => state === "listening")) {
      if (this.#isClosing) return;
      // The worker in its place is a new process already.
      if (old.state === "ended") continue;
      const why = await this.#startAt(old.slot);
      if (why !== null) {
        log("error", "a new worker could not start, so the restart has ended and the old workers stay", {
          slot: old.slot,
          end: why,
        });
        return;
      }
      void this.#end(old, REPLACED_DRAIN_MS);
      await Promise.race([old.left, old.ended]);
    }
    log("info", "all workers have been restarted");
  }

  async #end(worker: WorkerProcess, drainMs: number): Promise<void> {
    worker.isLeaving = true;
    await this.#group.steer();
    if (worker.channel === null) worker.kill();
    else worker.channel.notify("drain", { withinMs: drainMs, isReplaced: !this.#isClosing });
    if ((await within(worker.ended, drainMs + CLOSING_MS)) === LATE) worker.kill();
    await worker.ended;
  }

  #hasEnded(worker: WorkerProcess, end: WorkerEnd): void {
    const { log, onEnded, clock } = this.#options;
    this.#workers.delete(worker.id);
    this.#cut += worker.cut;
    worker.channel?.close();
    void this.#group.remove(worker);
    onEnded(worker);
    if (worker.isLeaving && end.code === 0) return;
    if (!this.#begun.has(worker.slot)) return;
    log("error", "a worker has ended unexpectedly and is replaced", {
      slot: worker.slot,
      pid: worker.pid,
      end: describedEnd(end),
    });
    // One that leaves is replaced already, and one that dies during a restart may have another one in its slot that stays.
    const isTaken = this.workers.some(({ slot, isLeaving }) => slot === worker.slot && !isLeaving);
    if (this.#isClosing || worker.isLeaving || isTaken) return;
    this.#replace(worker.slot, clock.monotonic() - worker.startedMs, worker.hasServed);
  }

  /** Begins a worker at the place of one that lived for so long, and again until the system makes its process. */
  #replace(slot: number, livedMs: number, hasServed: boolean): void {
    const isLast = this.#group.workers.length === 0;
    setTimeout(() => {
      if (this.#isClosing) return;
      try {
        this.#spawn(slot);
      } catch (fault) {
        // there may be no room for a process, or no program while another version takes its place
        this.#options.log("error", "the process of a worker cannot be started, and is tried again", {
          slot,
          error_detail: messageOf(fault),
        });
        this.#replace(slot, 0, hasServed);
      }
    }, this.#backOffs[slot]!.waitMs({ livedMs, hasServed, isLast }));
  }

  /** Ends workers that hang, and gives no connections to those that are silent. */
  #check(): void {
    const { clock, log } = this.#options;
    const nowMs = clock.monotonic();
    const isLate = nowMs - this.#lastCheckMs > BEAT_MS + LATE_CHECK_MS;
    this.#lastCheckMs = nowMs;
    // Beats may be waiting to be read.
    if (isLate) return;
    for (const worker of this.#workers.values()) {
      if (worker.state === "starting") {
        if (nowMs - worker.startedMs > START_MS) worker.kill();
        continue;
      }
      const cpuMs = worker.mainThreadCpuMs();
      const liveness = livenessOf({
        sinceBeatMs: nowMs - worker.lastBeatMs,
        cpuSinceBeatMs: cpuMs - worker.cpuAtBeatMs,
      });
      worker.isSilent = liveness !== "alive";
      if (liveness !== "hung") continue;
      log("error", "a worker does not respond although it computes: it is ended and replaced", {
        slot: worker.slot,
        pid: worker.pid,
      });
      worker.kill();
    }
    void this.#group.steer();
  }
}

function describedEnd({ code, signal }: WorkerEnd): string {
  return signal === null ? `exit code ${code}` : signal;
}
