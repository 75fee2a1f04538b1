// The limits of several replicas, in Valkey or Redis: the replica (replica.ts) with a connection, a timer, and a
// journal in the data folder. What dead processes left in their journals is reported to the store. See
// docs/design/shared-limits.md.

// Decides (money and limits): What happens to the leased units of a dead replica? By: `openDeadReplicaReports`. Also:
// `dead-replica.ts`. Rule: A process with the same data folder reports what was used and frees the rest; without one,
// the units stay charged until their window ends.
import type { Clock } from "../../core/clock.ts";
import { newRandomId } from "../../core/ids.ts";
import type { MaybePromise } from "../../core/maybe-promise.ts";
import type { SettlementLedger } from "../../store/journal/ledger.ts";
import type { Account, AccountReading, LimitStore, Need, Reservation, Shortage } from "../limit-store.ts";
import { type Connection, type ConnectionOptions, openConnection, AnswerTimeout } from "./valkey-connection.ts";
import { findJournals, type FoundJournal, type JournalFile, noJournal, openJournalFile } from "./lease-journal.ts";
import { type Answer, DONE, type MessageWithKeys, TIMINGS } from "./protocol.ts";
import { openOutageReport } from "./outage-report.ts";
import { Replica, shapeOfRule } from "./replica.ts";
import { deadMessages } from "./dead-replica.ts";
import type { Keys } from "./accounts-of-rules.ts";
import { messageOf } from "../../core/thrown.ts";

export interface ValkeyLimitsOptions extends ConnectionOptions {
  readonly clock: Clock;
  /**
   * Where the journal of leases is kept. With `null`, units that a killed process had leased stay charged until their
   * window ends.
   */
  readonly folder: string | null;
  /** The store cannot be reached, repeated every minute while that lasts; or it can be reached again. */
  readonly onState?: (state: "away" | "back", error: unknown) => void;
  /** The time from a message to its answer. */
  readonly onAnswered?: (seconds: number) => void;
  /** Without it, every settlement counts at once. */
  readonly ledger?: SettlementLedger;
  /** The journal cannot be written or read. */
  readonly onFault?: (fault: unknown) => void;
}

const TICK_MS = 25;
/** A process whose beat has not changed for this long, and that no longer holds the lock of its journal, is dead. */
const DEAD_AFTER_MS = 1000;
const DRAIN_STEP_MS = 10;
const DRAIN_MS = 600;
/** The longest value that a key holds, such as the name of an end user. A longer one is replaced by its hash. */
const MAX_VALUE = 80;
const ANNOUNCEMENT = "-";

export interface ValkeyLimits extends LimitStore {
  figures(): ReturnType<Replica["counts"]> & { readonly isAway: boolean };
}

export async function openValkeyLimits(options: ValkeyLimitsOptions): Promise<ValkeyLimits> {
  const { clock, folder, ledger, onFault = () => {}, onState = () => {}, onAnswered = () => {} } = options;
  const connection = await openConnection(options);
  const id = newRandomId();
  const journal = folder === null ? null : openJournal(folder, id, onFault);
  const keys = keysOf(options.clusterNodes !== null);
  const outages = openOutageReport({ now: () => clock.monotonic(), onState });
  const replica: Replica = new Replica({
    replica: id,
    timings: TIMINGS,
    journal: journal ?? noJournal,
    now: () => ({ monoMs: clock.monotonic(), wallMs: clock.now() }),
    keys,
    shapeOf: shapeOfRule,
    send(tag, message) {
      void exchange(tag, message);
    },
    ledger,
    onSilent: (tag) => outages.failed(tag, new Error(`no answer within ${TIMINGS.silentMs / 1000} s`)),
  });
  ledger?.countBeside(replica);
  const exchange = async (tag: string, message: MessageWithKeys): Promise<void> => {
    const sentMs = clock.monotonic();
    let answer: Answer;
    try {
      answer = await connection.exchange(message);
    } catch (error) {
      if (error instanceof AnswerTimeout) {
        replica.sendAgain(tag, message.sequence);
        return;
      }
      outages.failed(tag, error);
      replica.sendFailed(tag, message.sequence);
      return;
    }
    outages.answered(tag);
    onAnswered((clock.monotonic() - sentMs) / 1000);
    replica.receiveAnswer(tag, message.sequence, answer);
  };
  const reportDeadReplicas = openDeadReplicaReports({ folder, id, connection, keys, clock, onFault });
  let announcedMs = Number.NEGATIVE_INFINITY;
  const timer = setInterval(() => {
    const nowMs = clock.monotonic();
    journal?.beat();
    replica.tick();
    if (nowMs - announcedMs < TIMINGS.heartbeatMs) return;
    announcedMs = nowMs;
    if (options.clusterNodes === null) replica.announce(ANNOUNCEMENT);
    reportDeadReplicas();
  }, TICK_MS).unref();
  return {
    // a worker for which a supervisor reserves has stated its calls itself
    reserve: (needs: readonly Need[], call = "", holder?: string): MaybePromise<Reservation | Shortage> =>
      nowOrLater((done) => replica.reserve(needs, done, holder === undefined ? call : "")),
    settling: (settledFile, settlement) => replica.expect({ settledFile, settlement }),
    settledThrough: () => replica.arrived(),
    status: (account: Account): MaybePromise<AccountReading> => nowOrLater((done) => replica.status(account, done)),
    first: async (account: Account, mark: string): Promise<boolean> =>
      nowOrLater((done) => replica.first(account, mark, done)),
    open: () => replica.open(),
    outage() {
      const away = outages.outage();
      return away === null
        ? null
        : {
            forMs: clock.monotonic() - away.sinceMs,
            reason: messageOf(away.error),
          };
    },
    figures: () => ({ ...replica.counts(), isAway: outages.outage() !== null }),
    async close() {
      clearInterval(timer);
      const endsMs = clock.monotonic() + DRAIN_MS;
      let isReported = replica.drain();
      while (!isReported && clock.monotonic() < endsMs) {
        await Bun.sleep(DRAIN_STEP_MS);
        isReported = replica.drain();
      }
      connection.close();
      if (isReported && outages.outage() === null && replica.open() === 0) journal?.remove();
    },
  };
}

/** Returns a promise only where the result is not available at once. */
function nowOrLater<T>(run: (done: (value: T) => void) => T | null): MaybePromise<T> {
  let resolve: (value: T) => void = () => {};
  let early: { readonly value: T } | null = null;
  let later: Promise<T> | null = null;
  const now = run((value) => {
    if (later === null) early = { value };
    else resolve(value);
  });
  if (now !== null) return now;
  const answered = early as { readonly value: T } | null;
  if (answered !== null) return answered.value;
  later = new Promise((done) => (resolve = done));
  return later;
}

/**
 * All keys of a tenant carry its tag and lie on one node of a cluster. On a single server, the keys of epoch and
 * replicas are the same for all tenants.
 */
export function keysOf(isCluster: boolean): Keys {
  return {
    group: (tag) =>
      isCluster
        ? [`dragoman:{${tag}}:epoch`, `dragoman:{${tag}}:replicas`, `dragoman:{${tag}}:group`]
        : ["dragoman:epoch", "dragoman:replicas", `dragoman:{${tag}}:group`],
    account: ({ tenantId, id, kind, unit, window }, value) =>
      `dragoman:{${tenantId}}:a:${id}:${kind}.${unit}.${window ?? ""}:${/^[\w.:@-]*$/.test(value) && value.length <= MAX_VALUE ? value : `#${new Bun.CryptoHasher("sha256").update(value).digest("base64url")}`}`,
    own: (key, replica) => key.replace("}:a:", `}:o:${replica}:`),
  };
}

function openJournal(folder: string, id: string, onFault: (fault: unknown) => void): JournalFile | null {
  try {
    return openJournalFile(folder, id);
  } catch (fault) {
    onFault(fault);
    return null;
  }
}

/** Looks for journals of dead processes, reports their contents to the store, and removes them. */
function openDeadReplicaReports({
  folder,
  id,
  connection,
  keys,
  clock,
  onFault,
}: {
  readonly folder: string | null;
  readonly id: string;
  readonly connection: Connection;
  readonly keys: Keys;
  readonly clock: Clock;
  readonly onFault: (fault: unknown) => void;
}): () => void {
  const seen = new Map<string, { readonly beat: number; readonly atMs: number }>();
  let isBusy = false;
  const report = async (found: FoundJournal): Promise<void> => {
    const lock = found.lock();
    if (lock === null) return;
    try {
      for (const message of deadMessages(found.replica, found.buckets(), keys))
        if ((await connection.exchange(message))[0] !== DONE) return;
      found.remove();
      seen.delete(found.replica);
    } finally {
      lock.release();
    }
  };
  return () => {
    if (folder === null || isBusy) return;
    isBusy = true;
    const nowMs = clock.monotonic();
    const check = async (): Promise<void> => {
      for (const found of findJournals(folder, id)) {
        const before = seen.get(found.replica);
        if (before === undefined || before.beat !== found.beat)
          seen.set(found.replica, { beat: found.beat, atMs: nowMs });
        // An unreachable store is not an error of the journal, which stays until it is reported.
        else if (nowMs - before.atMs >= DEAD_AFTER_MS) await report(found).catch(() => {});
      }
    };
    check()
      .catch(onFault)
      .finally(() => (isBusy = false));
  };
}
