// The machine that gateways of the model run on: a disk that can be full, processes that can be killed, locks that end with them, and the counts of limits as they
// are kept. Files are real ones, in a folder that can be copied.
import { mkdirSync, writeFileSync } from "node:fs";
import { type JournalDisk, systemDisk } from "../../../src/store/journal-disk.ts";
import { type FolderLock, lockPath } from "../../../src/store/journal-folder.ts";
import type { LedgerSink } from "../../../src/store/ledger.ts";
import type { CountKeeper, KeptCount } from "../../../src/store/limit-counts.ts";
import { DiskRoom, diskFull } from "../disk-room.ts";
import type { ModelDatabase } from "./databases.ts";

export interface ModelProcess {
  isDead: boolean;
}

/** What limits have counted, as the file beside the database has it. */
export type KeptCounts = Map<string, KeptCount>;

const RESERVE_BYTES = 64 * 1024;
/** A small file that is written anew takes a block for a moment. */
const BLOCK = 4096;

export class Machine {
  readonly #space = new DiskRoom();
  counts: KeptCounts = new Map();
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

  keeperOf(owner: ModelProcess): CountKeeper {
    return {
      read: () => [...this.counts.values()],
      keptAtMs: () =>
        Math.max(
          0,
          ...this.counts.values().map(({ state }) => (JSON.parse(state!) as { readonly stamp?: number }).stamp ?? 0),
        ) / 1000,
      hold: () => {
        if (!owner.isDead) this.#counter ??= owner;
        return this.#counter === owner;
      },
      write: (rows) => {
        if (owner.isDead) return;
        for (const row of rows) {
          if (row.state === null) this.counts.delete(`${row.rule}\n${row.value}`);
          else this.counts.set(`${row.rule}\n${row.value}`, row);
        }
      },
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
