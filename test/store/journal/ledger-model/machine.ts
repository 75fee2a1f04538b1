// The machine on which gateways of the model run: a disk that can be full, processes that can be killed, locks that end
// with them, and the stored counts of limits. Files are real ones, in a folder that can be copied.
import { mkdirSync, writeFileSync } from "node:fs";
import { type JournalDisk, systemDisk } from "../../../../src/store/journal/journal-disk.ts";
import { type FolderLock, lockPath } from "../../../../src/store/journal/journal-folder.ts";
import type { LedgerSink } from "../../../../src/store/journal/ledger.ts";
import type { CountStore, KeptCount } from "../../../../src/store/journal/limit-counts.ts";
import { DiskRoom, diskFull } from "../disk-room.ts";
import type { ModelDatabase } from "./databases.ts";

export interface ModelProcess {
  isDead: boolean;
}

type Rows = Map<string, KeptCount>;

/** What a process counted while another one kept the counts. */
interface Beside {
  readonly owner: ModelProcess;
  readonly before: Rows;
  readonly changed: Rows;
}

/** What limits have counted, as the file in the data folder has it. */
export interface KeptCounts {
  readonly kept: Rows;
  readonly beside: Map<string, Beside>;
}

const nameOf = ({ rule, value }: KeptCount): string => `${rule}\n${value}`;
const byName = (rows: Iterable<KeptCount>): Rows => new Map([...rows].map((row) => [nameOf(row), row]));
/** A process that runs beside the original does not run beside the copy. */
const copyOf = ({ kept, beside }: KeptCounts): KeptCounts => ({
  kept: new Map(kept),
  beside: new Map(
    [...beside].map(([run, { before, changed }]) => [
      run,
      { owner: { isDead: true }, before, changed: new Map(changed) },
    ]),
  ),
});
const stampOf = ({ state }: KeptCount): number => (JSON.parse(state ?? "{}") as { readonly stamp?: number }).stamp ?? 0;

const RESERVE_BYTES = 64 * 1024;
/** A small file that is written anew takes a block for a moment. */
const BLOCK = 4096;

export class Machine {
  readonly #space = new DiskRoom();
  #counts: KeptCounts = { kept: new Map(), beside: new Map() };
  #runs = 0;
  #locks = new Map<string, ModelProcess>();
  #counter: ModelProcess | null = null;

  /** Bytes that the disk still takes. */
  get room(): number {
    return this.#space.left;
  }
  set room(bytes: number) {
    this.#space.left = bytes;
  }

  /** A process that is killed has written what it has written, and nothing of it happens any more. */
  diskOf(owner: ModelProcess): JournalDisk {
    const alive = (): void => {
      if (owner.isDead) throw new Error("the process is dead");
    };
    const whileAlive = <T>(work: () => T): T => {
      alive();
      return work();
    };
    const space = this.#space;
    return {
      create: (path) => whileAlive(() => systemDisk.create(path)),
      write: (fd, bytes, length, position) => whileAlive(() => space.write(fd, bytes, length, position)),
      truncate: (fd, length) => whileAlive(() => space.truncate(fd, length)),
      zero: async () => {
        throw diskFull();
      },
      sync: async () => {
        await Promise.resolve();
        alive();
      },
      syncFolder: async () => alive(),
      // what a process has open is closed with it
      close: (fd) => space.close(fd),
      reserve: async (path, bytes, freed) => await whileAlive(() => space.reserve(path, bytes, freed)),
      takeOver: (path, name) => whileAlive(() => space.takeOver(path, name)),
      size: () => RESERVE_BYTES * 8,
      remove: (path) => whileAlive(() => space.remove(path)),
      rename: (path, to) => whileAlive(() => systemDisk.rename(path, to)),
      replace: async (path, text) => {
        await Promise.resolve();
        alive();
        if (this.room < BLOCK) throw diskFull();
        // at once, so that no half of it is seen: the real one is renamed into its place
        writeFileSync(path, text);
      },
      append: async (path, text) => {
        alive();
        if (this.room < BLOCK) throw diskFull();
        await systemDisk.append(path, text);
      },
    };
  }

  lockOf(owner: ModelProcess): (folder: string) => FolderLock | null {
    return (folder) => {
      if (owner.isDead || this.#locks.has(folder)) return null;
      mkdirSync(folder, { recursive: true });
      try {
        writeFileSync(lockPath(folder), "", { flag: "wx" });
      } catch {
        // it is there
      }
      this.#locks.set(folder, owner);
      return { release: () => void (this.#locks.get(folder) === owner && this.#locks.delete(folder)) };
    };
  }

  copyCounts(): KeptCounts {
    return copyOf(this.#counts);
  }

  restoreCounts(counts: KeptCounts): void {
    this.#counts = copyOf(counts);
  }

  keeperOf(owner: ModelProcess): CountStore {
    const isCounting = (): boolean => this.#counter === owner;
    const run = `run ${++this.#runs}`;
    const read = (): readonly KeptCount[] => [...this.#counts.kept.values()];
    return {
      run,
      read,
      keptAtMs: () =>
        Math.min(
          Math.max(0, ...read().map(stampOf)),
          ...[...this.#counts.beside.values()].map(({ before, changed }) =>
            Math.max(0, ...[...before.values(), ...changed.values()].map(stampOf)),
          ),
        ) / 1000,
      get isHeld() {
        return isCounting();
      },
      hold: () => {
        if (!owner.isDead) this.#counter ??= owner;
        return isCounting();
      },
      write: (rows, added) => {
        if (owner.isDead) return;
        for (const row of rows) {
          if (row.state === null) this.#counts.kept.delete(nameOf(row));
          else this.#counts.kept.set(nameOf(row), row);
        }
        for (const each of added) this.#counts.beside.delete(each);
      },
      beginBeside: () => {
        this.#counts.beside.set(run, { owner, before: byName(read()), changed: new Map() });
        return read();
      },
      writeBeside: (rows) => {
        if (owner.isDead) return;
        const { changed } = this.#counts.beside.get(run)!;
        for (const row of rows) changed.set(nameOf(row), row);
      },
      besideRuns: () => [...this.#counts.beside.keys()],
      runningHolders: () => [],
      isHolderRunning: () => false,
      endedBeside: () =>
        [...this.#counts.beside]
          .filter(([, beside]) => beside.owner.isDead)
          .map(([name, { before, changed }]) => ({
            run: name,
            before: [...before.values()],
            counted: [...new Map([...before, ...changed]).values()],
          })),
      close: () => {
        if (this.#counter === owner) this.#counter = null;
      },
    };
  }

  /** A process whose answers do not come back from the database when it is dead. */
  sinkOf(owner: ModelProcess, { sink }: ModelDatabase): LedgerSink {
    const never = <T>(): Promise<T> => Promise.reject(new Error("the process is dead"));
    return {
      ingest: async (rows, place) =>
        await (owner.isDead
          ? never<void>()
          : sink.ingest(rows, place).then(() => (owner.isDead ? never<void>() : undefined))),
      places: async (journals, runs) => await (owner.isDead ? never() : sink.places(journals, runs)),
    };
  }

  isCounting(owner: ModelProcess): boolean {
    return this.#counter === owner;
  }

  kill(owner: ModelProcess): void {
    owner.isDead = true;
    for (const [folder, holder] of this.#locks) if (holder === owner) this.#locks.delete(folder);
    if (this.#counter === owner) this.#counter = null;
  }
}
