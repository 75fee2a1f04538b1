// Follows the other gateways on the same database, and detects when they use another configuration file. That is normal
// during a rollout, so it is reported only when it lasts, and once for the same files. It also knows the oldest program
// among them, on which it depends how the schema of the database may be changed.
import type { Clock } from "../core/clock.ts";
import { messageOf } from "../core/thrown.ts";
import type { ReplicaFigures } from "../observe/metrics/replica-gauges.ts";
import type { SchemaReview } from "../store/database/contraction-schema.ts";
import type { Replica, ReplicaTable } from "../store/database/replicas.ts";

export interface OtherReplica {
  /** `host:pid` */
  readonly replica: string;
  readonly version: string;
  readonly fingerprint: string;
}

export interface ReplicaWatchOptions {
  readonly table: ReplicaTable;
  /** Of this process; `id` identifies this run. */
  readonly own: Pick<Replica, "id" | "name" | "version" | "schemaStep">;
  /** Of the configuration file that is in use now. */
  readonly fingerprint: () => string;
  readonly clock: Clock;
  readonly onDifferent: (others: readonly OtherReplica[]) => void;
  /** All gateways use the same file again, after a reported difference. */
  readonly onSame: (replicas: number) => void;
  /** Gets the lowest schema step of the gateways that were heard within a minute, `null` before a minute is over. */
  readonly reviewSchema: (oldestHeard: number | null) => Promise<SchemaReview>;
  readonly onContracted: (names: readonly string[]) => void;
  /** What could not be contracted is tried again; told once for the same fault. */
  readonly onNotContracted: (message: string) => void;
  /** Only newer programs can use the database from now on; told once. */
  readonly onRefused: (message: string) => void;
  readonly graceMs?: number;
  readonly everyMs?: number;
}

export type ReplicaWatch = Omit<FollowedReplicas, "begin">;

/** For a process that does not watch the others. */
export const NO_REPLICA_WATCH: ReplicaWatch = {
  others: () => [],
  figures: () => ({ same: 1, different: 0 }),
  refusal: () => null,
  check: () => Promise.resolve(),
  close: () => Promise.resolve(),
};

const EVERY_MS = 3000;
/** A difference that lasts this long is reported. */
const GRACE_MS = 10_000;
/** A row that stayed the same in this many reads belongs to a gateway that is gone. */
const CHECKS_UNTIL_GONE = 10;
/** A gateway that was not heard for so long does not keep the schema from being contracted. */
const HEARD_MS = 60_000;
/** After a longer pause between two reads it is not known who was heard, and the time begins again. */
const LONGEST_PAUSE_MS = 15_000;

interface Known {
  readonly row: Replica;
  /** Whether its row has changed since this process began to read: a row that was left behind never does. */
  readonly isAlive: boolean;
  readonly unchangedChecks: number;
}

interface Difference {
  /** The different fingerprints. */
  readonly files: string;
  readonly sinceMs: number;
}

/** Starts with the first read. */
export function openReplicaWatch(options: ReplicaWatchOptions): ReplicaWatch {
  const watch = new FollowedReplicas(options);
  watch.begin();
  return watch;
}

/** It is a class because it lives as long as the process. */
class FollowedReplicas {
  readonly #options: ReplicaWatchOptions;
  #known: ReadonlyMap<string, Known> = new Map();
  #beat = 0;
  #difference: Difference | null = null;
  #reported: string | null = null;
  #refusal: string | null = null;
  #failure: string | null = null;
  /** When a gateway of each schema step was last heard, since `#listeningSinceMs`; both in monotonic time. */
  #heardMs: ReadonlyMap<number, number> = new Map();
  #listeningSinceMs = 0;
  #lastReadMs: number | null = null;
  #timer: ReturnType<typeof setTimeout> | undefined;
  #checking: Promise<void> = Promise.resolve();
  #isClosed = false;

  constructor(options: ReplicaWatchOptions) {
    this.#options = options;
  }

  begin(): void {
    this.#checking = this.check().finally(() => {
      if (this.#isClosed) return;
      this.#timer = setTimeout(() => this.begin(), this.#options.everyMs ?? EVERY_MS).unref();
    });
  }

  /** The replicas that live, by name. */
  others(): readonly OtherReplica[] {
    return this.#alive().map(({ name, version, fingerprint }) => ({ replica: name, version, fingerprint }));
  }

  figures(): ReplicaFigures {
    const others = this.others();
    const own = this.#options.fingerprint();
    const different = others.filter(({ fingerprint }) => fingerprint !== own).length;
    return { same: others.length - different + 1, different };
  }

  /** Why only newer programs can use the database, or `null`. */
  refusal(): string | null {
    return this.#refusal;
  }

  /**
   * Registers this replica and reads the others. A database that does not answer changes nothing here; the reader of
   * the configuration reports that.
   */
  async check(): Promise<void> {
    const { table, own, fingerprint, clock } = this.#options;
    const gone = [...this.#known.values()].filter(isGone).map(({ row: { id, beat } }) => ({ id, beat }));
    try {
      this.#take(
        await table.registerReplica(
          { ...own, fingerprint: fingerprint(), beat: ++this.#beat, seenMs: clock.now() },
          gone,
        ),
      );
    } catch {
      return;
    }
    this.#compare();
    await this.#reviewSchema();
  }

  async #reviewSchema(): Promise<void> {
    const { reviewSchema, onContracted, onRefused, onNotContracted } = this.#options;
    try {
      const { contracted, refusal } = await reviewSchema(this.#oldestHeard());
      if (contracted.length > 0) onContracted(contracted);
      if (refusal !== null && this.#refusal === null) onRefused(refusal);
      this.#refusal = refusal;
      this.#failure = null;
    } catch (error) {
      const message = messageOf(error);
      if (message !== this.#failure) onNotContracted(message);
      this.#failure = message;
    }
  }

  #oldestHeard(): number | null {
    const nowMs = this.#options.clock.monotonic();
    if (nowMs - this.#listeningSinceMs < HEARD_MS) return null;
    const steps = [...this.#heardMs].flatMap(([step, heardMs]) => (nowMs - heardMs < HEARD_MS ? [step] : []));
    return Math.min(this.#options.own.schemaStep, ...steps);
  }

  /** Takes which schema steps were heard with this read: those of rows that are new or have changed. */
  #hear(rows: readonly Replica[]): void {
    const nowMs = this.#options.clock.monotonic();
    const isNew = this.#lastReadMs === null || nowMs - this.#lastReadMs > LONGEST_PAUSE_MS;
    if (isNew) this.#listeningSinceMs = nowMs;
    const heard = rows.filter((row) => this.#known.get(row.id)?.row.beat !== row.beat);
    this.#heardMs = new Map([...(isNew ? [] : this.#heardMs), ...heard.map((row) => [row.schemaStep, nowMs] as const)]);
    this.#lastReadMs = nowMs;
  }

  async close(): Promise<void> {
    this.#isClosed = true;
    clearTimeout(this.#timer);
    await this.#checking;
    // If this fails, the other replicas remove the row.
    await this.#options.table.unregisterReplica(this.#options.own.id).catch(() => {});
  }

  #take(rows: readonly Replica[]): void {
    this.#hear(rows);
    const knownOf = (row: Replica): Known => {
      const before = this.#known.get(row.id);
      if (before === undefined) return { row, isAlive: false, unchangedChecks: 0 };
      return before.row.beat === row.beat
        ? { ...before, unchangedChecks: before.unchangedChecks + 1 }
        : { row, isAlive: true, unchangedChecks: 0 };
    };
    this.#known = new Map(rows.map((row) => [row.id, knownOf(row)]));
  }

  #alive(): readonly Replica[] {
    return [...this.#known.values()].filter((known) => known.isAlive && !isGone(known)).map(({ row }) => row);
  }

  #compare(): void {
    const { fingerprint, clock, graceMs = GRACE_MS, onDifferent, onSame } = this.#options;
    const own = fingerprint();
    const alive = this.#alive();
    const different = alive.filter((other) => other.fingerprint !== own);
    if (different.length === 0) {
      if (this.#reported !== null) onSame(alive.length + 1);
      this.#difference = this.#reported = null;
      return;
    }
    const nowMs = clock.monotonic();
    const files = [...new Set([own, ...different.map((other) => other.fingerprint)])].toSorted().join(" ");
    if (this.#difference?.files !== files) this.#difference = { files, sinceMs: nowMs };
    if (this.#reported === files || nowMs - this.#difference.sinceMs < graceMs) return;
    this.#reported = files;
    onDifferent(this.others().filter((other) => other.fingerprint !== own));
  }
}

function isGone({ unchangedChecks }: Known): boolean {
  return unchangedChecks >= CHECKS_UNTIL_GONE;
}
