// Notifies when the text of a file has changed. The folder is watched, because editors and deployments replace a file
// by a new one; and the file is checked every `pollMs`, because not every file system notifies its watchers.
import { statSync, watch, type FSWatcher } from "node:fs";
import { basename, dirname } from "node:path";
import { systemClock, type Clock } from "../core/clock.ts";
import { readConfigText } from "./file.ts";
import { ConfigurationError, problemIn } from "./problem.ts";

export interface FollowOptions {
  readonly file: string;
  /** The text that was read last. */
  readonly text: string;
  readonly pollMs: number;
  /** The clock of the file system, if it is not this machine's. */
  readonly clock?: Clock;
  /**
   * Neither function may throw. Each text is reported once, and so is a fault, until there is another fault or the file
   * can be read again.
   */
  readonly onText: (text: string) => void;
  readonly onFault: (fault: ConfigurationError) => void;
}

/** A file that changes is read only after it has been the same for this long, because it may be partly written. */
const SETTLE_MS = 40;
/** A file that is written continuously is read after this many checks nevertheless. */
const SETTLE_CHECKS = 8;
/** A second change within the resolution of a file system's clock (up to 2 s) leaves the same timestamp. */
const STAMP_RESOLUTION_MS = 2000;

export class FileFollower {
  readonly #options: FollowOptions;
  readonly #clock: Clock;
  readonly #timer: ReturnType<typeof setInterval>;
  readonly #watcher: FSWatcher | null;
  #text: string;
  #fault: string | null = null;
  /** The stamp under which `#text` was read; null when a comparison of stamps is not sufficient. */
  #stamp: string | null = null;
  #closed = false;
  #last: Promise<void> = Promise.resolve();
  #waiting: Promise<void> | null = null;
  #wake: (() => void) | null = null;

  constructor(options: FollowOptions) {
    this.#options = options;
    this.#clock = options.clock ?? systemClock;
    this.#text = options.text;
    this.#timer = setInterval(() => void this.check(), options.pollMs).unref();
    this.#watcher = this.#watchFolder();
  }

  /**
   * Checks now, or after the check that is in progress. With `again`, the text is reported even if it has not changed.
   */
  check({ again = false }: { readonly again?: boolean } = {}): Promise<void> {
    if (!again && this.#waiting !== null) return this.#waiting;
    const check = this.#last.then(() => {
      if (this.#waiting === check) this.#waiting = null;
      return this.#check(again);
    });
    if (!again) this.#waiting = check;
    // If a listener throws nevertheless, its error appears as unhandled, and the next check takes place.
    this.#last = check.catch(() => undefined);
    return check;
  }

  /** Why the file cannot be read now; `null` where it can. */
  get fault(): string | null {
    return this.#fault;
  }

  close(): void {
    this.#closed = true;
    clearInterval(this.#timer);
    this.#watcher?.close();
    this.#wake?.();
  }

  #watchFolder(): FSWatcher | null {
    const name = basename(this.#options.file);
    try {
      const watcher = watch(dirname(this.#options.file), { persistent: false }, (_event, changed) => {
        if (changed === null || changed === name) void this.check();
      });
      watcher.on("error", () => watcher.close());
      return watcher;
    } catch {
      return null;
    }
  }

  async #check(again: boolean): Promise<void> {
    if (this.#closed) return;
    let stamp = stampOf(this.#options.file);
    if (!again && stamp !== null && stamp.text === this.#stamp) return;
    for (let checks = 0; checks < SETTLE_CHECKS && !again; checks++) {
      await this.#sleep(SETTLE_MS);
      if (this.#closed) return;
      const before = stamp;
      stamp = stampOf(this.#options.file);
      if (stamp?.text === before?.text) break;
    }
    this.#read(again, stamp);
  }

  #read(again: boolean, stamp: Stamp | null): void {
    try {
      const text = readConfigText(this.#options.file);
      // A program that truncates a file is about to write it, or has no room left on the disk.
      if (text.trim() === "" && this.#text.trim() !== "")
        throw new ConfigurationError([problemIn(this.#options.file, "is empty now")]);
      const changed = text !== this.#text;
      this.#text = text;
      this.#fault = null;
      this.#stamp = stamp !== null && this.#clock.now() - stamp.mtimeMs > STAMP_RESOLUTION_MS ? stamp.text : null;
      if (changed || again) this.#options.onText(text);
    } catch (thrown) {
      if (!(thrown instanceof ConfigurationError)) throw thrown;
      this.#stamp = null;
      if (thrown.message !== this.#fault || again) this.#options.onFault(thrown);
      this.#fault = thrown.message;
    }
  }

  #sleep(ms: number): Promise<void> {
    return new Promise((resolve) => {
      const timer = setTimeout(resolve, ms);
      this.#wake = () => {
        clearTimeout(timer);
        resolve();
      };
    });
  }
}

interface Stamp {
  readonly text: string;
  readonly mtimeMs: number;
}

function stampOf(file: string): Stamp | null {
  try {
    const stat = statSync(file, { bigint: true });
    return {
      text: `${stat.dev}:${stat.ino}:${stat.size}:${stat.mtimeNs}:${stat.ctimeNs}`,
      mtimeMs: Number(stat.mtimeMs),
    };
  } catch {
    // Reading the file reports the reason.
    return null;
  }
}
