// Provides the snapshot to calls. It follows the configuration file and the store, and replaces the snapshot when
// either has changed; what cannot be used is reported and changes nothing.

// Decides (records and configuration): When does a changed configuration take effect? By: `openSnapshotSource`. Also:
// the file is watched by `config/file-follower.ts`. Rule: Calls take the snapshot once. Without the database the last
// one stays.
import { createHash } from "node:crypto";
import type { Environment } from "../config/environment.ts";
import { FileFollower } from "../config/file-follower.ts";
import { systemClock, type Clock } from "../core/clock.ts";
import { inTurns } from "../core/concurrency/steps.ts";
import type { Snapshot } from "../core/snapshot.ts";
import { withTimeout } from "../core/concurrency/timeout.ts";
import { messageOf } from "../core/thrown.ts";
import type { ProviderFamily } from "../providers/settings.ts";
import type { Contents } from "../store/configuration/contents.ts";
import type { Store } from "../store/store.ts";
import { compileSnapshot, configurationNotices, storedProblems } from "./compile.ts";
import { type Configuration, loadConfiguration, type LoadedConfiguration } from "./configuration.ts";
import { openMemoizer } from "./memoize.ts";
import { readAhead } from "./stored.ts";

/**
 * `file` and `store`: what was read cannot be used, and the former snapshot stays in use. `notice`: the snapshot is in
 * use, and something in it is probably not what was meant. `listener`: the new snapshot is in use, and a part of the
 * gateway failed to apply it.
 */
export interface SnapshotProblem {
  readonly source: "file" | "store" | "notice" | "listener";
  /** One or more lines, without secrets. */
  readonly message: string;
  readonly cause: unknown;
}

export interface SnapshotSourceOptions {
  /** The first configuration. Its file is followed from the text that was read. */
  readonly loaded: LoadedConfiguration;
  readonly store: Pick<Store, "revision" | "readContents" | "watch">;
  readonly families: readonly ProviderFamily[];
  readonly environment: Environment;
  /** As in CompileInput. */
  readonly workers?: number;
  /** Must not throw. */
  readonly onProblem: (problem: SnapshotProblem) => void;
  /** How often the store and the file are checked. */
  readonly pollMs?: number;
  /** How long one read of the store may delay the next one, in milliseconds; 15,000 by default. */
  readonly readTimeoutMs?: number;
  readonly clock?: Clock;
}

/** The default interval between checks of the store and the file. */
export const POLL_MS = 250;
/** A store that has not answered for this long is reported. */
const STORE_SILENCE_MS = 5000;
/** A snapshot is stale when the store has been unreachable for this long, which is reported at the same interval. */
const STALE_MS = 60_000;
/**
 * A read that takes longer no longer delays the next one. Its answer still counts if it arrives before that of a later
 * read, and shows that the store was reached when the read began.
 */
const READ_TIMEOUT_MS = 15_000;

/** Throws StoreError: the gateway cannot serve without a first snapshot. */
export async function openSnapshotSource(options: SnapshotSourceOptions): Promise<SnapshotSource> {
  return new SnapshotSource(options, await options.store.readContents());
}

/** A fingerprint is for people to compare, not a proof: in logs the whole hash would only be longer. */
const FINGERPRINT_DIGITS = 16;

function fingerprintOf(text: string): string {
  return createHash("sha256").update(text).digest("hex").slice(0, FINGERPRINT_DIGITS);
}

interface Notices {
  readonly notices: readonly string[];
  /** Documents of the store that cannot be used. */
  readonly stored: readonly string[];
}

export class SnapshotSource {
  readonly #options: SnapshotSourceOptions;
  readonly #clock: Clock;
  readonly #follower: FileFollower | null;
  readonly #storeTimer: ReturnType<typeof setInterval>;
  readonly #endWatch: () => void;
  readonly #memoize = openMemoizer();
  #loaded: LoadedConfiguration;
  /** Why the text that the file has now is not in use; `null` where it is. */
  #textFault: string | null = null;
  #contents: Contents;
  #snapshot: Snapshot;
  #reported: ReadonlySet<string> = new Set();
  #storeFailed: string | null = null;
  #storedProblems: readonly string[] = [];
  #storeRead: Promise<void> = Promise.resolve();
  #storeReadSinceMs: number | null = null;
  #storeReachedMs: number;
  #staleReportedMs = 0;
  readonly #listeners: ((snapshot: Snapshot) => void)[] = [];
  /** How many reads of the store have begun, and the newest one whose contents are in use. */
  #reads = 0;
  #appliedRead = 0;
  #closed = false;

  constructor(options: SnapshotSourceOptions, contents: Contents) {
    const { file, text, configuration } = (this.#loaded = options.loaded);
    this.#options = options;
    this.#clock = options.clock ?? systemClock;
    this.#storeReachedMs = this.#clock.monotonic();
    this.#contents = contents;
    this.#snapshot = compileSnapshot({ ...options, configuration, ...contents, version: 1, memoize: this.#memoize });
    this.#reportNotices(this.#noticesOf(configuration, contents));
    const pollMs = options.pollMs ?? POLL_MS;
    this.#follower =
      file === null
        ? null
        : new FileFollower({
            file,
            text,
            pollMs,
            clock: this.#clock,
            onText: (changed) => this.#applyText(file, changed),
            onFault: (fault) => this.#report("file", fault),
          });
    this.#storeTimer = setInterval(() => this.#pollStore(), pollMs).unref();
    this.#endWatch = options.store.watch(() => void this.#checkStore({ again: false }));
  }

  /** The newest snapshot. A call takes one and keeps it to its end. */
  current(): Snapshot {
    return this.#snapshot;
  }

  /** The configuration from which `current()` was made. */
  configuration(): Configuration {
    return this.#loaded.configuration;
  }

  /** `configuration()`, with what it was read from. */
  loaded(): LoadedConfiguration {
    return this.#loaded;
  }

  /**
   * The beginning of the SHA-256 of the file from which `configuration()` was read, or of an empty text when there is
   * no file: `sha256sum <file> | cut -c1-16`.
   */
  fingerprint(): string {
    return fingerprintOf(this.#loaded.text);
  }

  /** Why the file as it is now is not in use; `null` where it is, and where there is no file. */
  fileFault(): string | null {
    return this.#follower?.fault ?? this.#textFault;
  }

  /**
   * Why no call may run on `current()`, or `null`. Calls are refused when the store has been unreachable for a minute
   * and the configuration says to refuse then (promise 2.6).
   */
  refusal(): string | null {
    if (this.#loaded.configuration.server.staleSnapshot === "serve" || this.#unreachedMs() < STALE_MS) return null;
    return `The gateway has not reached its database for ${Math.round(this.#unreachedMs() / 1000)} s and accepts no calls until it is back.`;
  }

  /** How long ago the store last answered, and what is wrong with it or with its content. */
  storeStatus(): { readonly unreachedMs: number; readonly problems: readonly string[] } {
    return {
      unreachedMs: this.#unreachedMs(),
      problems: [...(this.#storeFailed === null ? [] : [this.#storeFailed]), ...this.#storedProblems],
    };
  }

  /** Reads file and store again, changed or not. Problems are reported through `onProblem`; it never rejects. */
  async reload(): Promise<void> {
    await Promise.all([this.#follower?.check({ again: true }), this.#checkStore({ again: true })]);
  }

  /** Takes over at once what has changed in the store. Problems are reported through `onProblem`; it never rejects. */
  follow(): Promise<void> {
    return this.#checkStore({ again: false });
  }

  /**
   * Calls `listener` with every later snapshot. A listener that throws is reported as `listener` and does not affect
   * the others.
   */
  subscribe(listener: (snapshot: Snapshot) => void): void {
    this.#listeners.push(listener);
  }

  /** Ends timers and watchers; the snapshot no longer changes. The store stays open. */
  close(): void {
    this.#closed = true;
    clearInterval(this.#storeTimer);
    this.#endWatch();
    this.#follower?.close();
  }

  #applyText(file: string, text: string): void {
    try {
      const { families, environment } = this.#options;
      this.#swap(loadConfiguration({ file, text, families, environment }), this.#contents);
      this.#textFault = null;
    } catch (thrown) {
      this.#textFault = messageOf(thrown);
      this.#report("file", thrown);
    }
  }

  #unreachedMs(): number {
    return this.#clock.monotonic() - this.#storeReachedMs;
  }

  /** Repeated every minute, because tokens that were revoked meanwhile still work here. */
  #reportStaleness(): void {
    const nowMs = this.#clock.monotonic();
    if (nowMs - Math.max(this.#storeReachedMs, this.#staleReportedMs) < STALE_MS) return;
    this.#staleReportedMs = nowMs;
    const what =
      this.#loaded.configuration.server.staleSnapshot === "refuse"
        ? "new calls are refused until it is back"
        : "calls continue with the last known configuration, so tokens revoked since then still work";
    this.#options.onProblem({
      source: "store",
      message: `the database has not been reached for ${Math.round(this.#unreachedMs() / 1000)} s; ${what} (server.stale_snapshot)`,
      cause: null,
    });
  }

  #pollStore(): void {
    this.#reportStaleness();
    if (this.#storeReadSinceMs === null) void this.#checkStore({ again: false });
    else if (this.#clock.monotonic() - this.#storeReadSinceMs > STORE_SILENCE_MS)
      this.#storeFault(new Error(`the database has not answered for ${STORE_SILENCE_MS / 1000} s`));
  }

  /**
   * Reads run one after the other, each for a bounded time, so that a database that never answers delays neither the
   * next read nor an admin's change.
   */
  #checkStore(how: { readonly again: boolean }): Promise<void> {
    this.#storeRead = this.#storeRead.then(() => this.#readStore(how));
    return this.#storeRead;
  }

  async #readStore({ again }: { readonly again: boolean }): Promise<void> {
    const beganAtMs = this.#clock.monotonic();
    this.#storeReadSinceMs = beganAtMs;
    const timeoutMs = this.#options.readTimeoutMs ?? READ_TIMEOUT_MS;
    try {
      await withTimeout(
        this.#reachStore(beganAtMs, again),
        timeoutMs,
        () => new Error(`the database has not answered for ${timeoutMs / 1000} s`),
      );
      this.#storeFailed = null;
    } catch (thrown) {
      this.#storeFault(thrown);
    } finally {
      this.#storeReadSinceMs = null;
    }
  }

  async #reachStore(beganAtMs: number, again: boolean): Promise<void> {
    await this.#applyStore(++this.#reads, again);
    this.#storeReachedMs = Math.max(this.#storeReachedMs, beganAtMs);
  }

  async #applyStore(reading: number, again: boolean): Promise<void> {
    const { store } = this.#options;
    if (!again && (await store.revision()) === this.#contents.revision) return;
    const contents = await store.readContents(again ? null : this.#contents);
    await inTurns(readAhead(contents.resources, this.#options.families, this.#memoize), this.#clock);
    // A late answer must not replace that of a later read.
    if (reading < this.#appliedRead) return;
    this.#swap(this.#loaded, contents);
    this.#appliedRead = reading;
  }

  /** A lasting outage of the store is reported once here; `#reportStaleness` repeats it. */
  #storeFault(thrown: unknown): void {
    const isReported = this.#storeFailed !== null;
    this.#storeFailed = messageOf(thrown);
    if (isReported) return;
    this.#report("store", thrown);
  }

  /** An exception before the assignments leaves the former snapshot in use; nothing after them can undo the change. */
  #swap(loaded: LoadedConfiguration, contents: Contents): void {
    if (this.#closed) return;
    const { configuration } = loaded;
    const snapshot = compileSnapshot({
      ...this.#options,
      configuration,
      ...contents,
      version: this.#snapshot.version + 1,
      memoize: this.#memoize,
    });
    const notices = this.#noticesOf(configuration, contents);
    this.#loaded = loaded;
    this.#contents = contents;
    this.#snapshot = snapshot;
    this.#reportNotices(notices);
    for (const listener of this.#listeners) this.#notify(listener, snapshot);
  }

  #notify(listener: (snapshot: Snapshot) => void, snapshot: Snapshot): void {
    try {
      listener(snapshot);
    } catch (thrown) {
      const why = messageOf(thrown);
      this.#options.onProblem({
        source: "listener",
        message: `the new configuration is in use, but a part of the gateway failed to apply it: ${why}`,
        cause: thrown,
      });
    }
  }

  #noticesOf(configuration: Configuration, contents: Contents): Notices {
    const input = { ...this.#options, configuration, ...contents, memoize: this.#memoize };
    const { tenants, projects } = contents.identities;
    const { provider, route } = contents.resources;
    return {
      notices: this.#memoize("notices", [configuration, tenants, projects, provider, route], () =>
        configurationNotices(input),
      ),
      stored: storedProblems(input),
    };
  }

  #reportNotices({ notices, stored }: Notices): void {
    this.#storedProblems = stored;
    const messages = new Map([
      ...notices.map((message) => [message, "notice"] as const),
      ...stored.map((message) => [message, "store"] as const),
    ]);
    for (const [message, source] of messages)
      if (!this.#reported.has(message)) this.#options.onProblem({ source, message, cause: null });
    this.#reported = new Set(messages.keys());
  }

  #report(source: "file" | "store", thrown: unknown): void {
    if (this.#closed) return;
    const why = messageOf(thrown);
    this.#options.onProblem({ source, message: `${why}\nthe previous configuration stays in use`, cause: thrown });
  }
}
