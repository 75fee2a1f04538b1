// Watches lists of tools for clients that want to know when their list has changed. A list is read again when the
// configuration has changed, when a tool server says so, and once a minute; a client hears of it only if the part that it
// may use differs.
import type { Clock } from "../../core/clock.ts";
import { Cancellation, type CancelSignal } from "../../core/concurrency/cancellation.ts";
import { yieldToLoop } from "../../core/concurrency/event-loop.ts";
import { mostOfTenant, OpenCount } from "../../core/concurrency/open-count.ts";
import { within } from "../../core/concurrency/timeout.ts";
import { asGatewayError, GatewayError, retryLater } from "../../core/errors.ts";
import type { AccessToken } from "../../core/identity.ts";
import type { Snapshot } from "../../core/snapshot.ts";
import { digestOf } from "../../core/text/digest.ts";
import type { ToolServers } from "../../mcp/tool-servers.ts";

export interface WatchedList {
  readonly token: Pick<AccessToken, "id" | "tenantId">;
  /** Returns the list as its owner may see it now. Rejects with GatewayError. */
  current(signal: CancelSignal): Promise<unknown>;
  /** Asks nothing but whether its owner may see it now. Rejects with GatewayError. */
  permitted(): Promise<unknown>;
}

export interface WatchEvents {
  changed(): void;
  /** Called once when the watch ends by itself: its owner may not list tools any more, or the gateway shuts down. */
  ended(): void;
}

interface Watch extends WatchEvents {
  readonly list: WatchedList;
  /** Counts its end. */
  readonly leave: () => void;
  readonly signal: Cancellation;
  /** `null` until the list was read. */
  digest: string | null;
  readAtMs: number;
  checkedAtMs: number;
  isDue: boolean;
  isReading: boolean;
}

const TICK_MS = 250;
const MOST_AGE_MS = 60_000;
/** How long the lists behind one wait for it. */
const MOST_WAIT_MS = 10;
/** Tokens expire without a change of the configuration, and a list may take long to read. */
const CHECK_EVERY_MS = 1000;
const MOST_WATCHES = 2000;
const MOST_WATCHES_OF_TOKEN = 50;

export interface WatchContext {
  readonly clock: Pick<Clock, "monotonic">;
  snapshot(): Snapshot;
  readonly toolServers: Pick<ToolServers, "onListChanged">;
  isEnding(): boolean;
}

export class ListWatches {
  readonly #context: WatchContext;
  readonly #watches = new Set<Watch>();
  readonly #open = new OpenCount(MOST_WATCHES);
  /** Whether the lists that are due are being gone through. */
  #isReading = false;
  #seen: Snapshot | null = null;
  #timer: ReturnType<typeof setInterval> | null = null;
  #stopListening: (() => void) | null = null;

  constructor(context: WatchContext) {
    this.#context = context;
  }

  /** Returns what ends the watch. Throws `gateway_overloaded`. */
  watch(list: WatchedList, events: WatchEvents): () => void {
    const leave = this.#open.begin(list.token.tenantId, list.token.id, MOST_WATCHES_OF_TOKEN);
    if (leave === null)
      throw retryLater(
        "gateway_overloaded",
        `Too many clients wait for changes of their tools (at most ${MOST_WATCHES}, ${mostOfTenant(MOST_WATCHES)} of one tenant and ${MOST_WATCHES_OF_TOKEN} with one token).`,
        60,
      );
    const watch: Watch = {
      list,
      leave,
      changed: () => events.changed(),
      ended: () => events.ended(),
      signal: new Cancellation(),
      digest: null,
      readAtMs: this.#context.clock.monotonic(),
      checkedAtMs: this.#context.clock.monotonic(),
      isDue: true,
      isReading: false,
    };
    this.#watches.add(watch);
    this.#begin();
    void this.#read(watch);
    return () => this.#end(watch);
  }

  #begin(): void {
    if (this.#timer !== null) return;
    this.#seen = this.#context.snapshot();
    this.#timer = setInterval(() => this.#tick(), TICK_MS);
    this.#stopListening = this.#context.toolServers.onListChanged(({ tenantId }) => this.#due(tenantId));
  }

  #end(watch: Watch): void {
    if (!this.#watches.delete(watch)) return;
    watch.leave();
    watch.signal.abort(new GatewayError("client_closed", "The client does not wait for changes any more."));
    if (this.#watches.size > 0) return;
    clearInterval(this.#timer!);
    this.#timer = null;
    this.#stopListening?.();
    this.#stopListening = null;
  }

  /** Lists of one tenant, which the servers of others are not in; with `null`, those of all. */
  #due(tenantId: string | null): void {
    for (const watch of this.#watches)
      if (tenantId === null || watch.list.token.tenantId === tenantId) watch.isDue = true;
  }

  #tick(): void {
    const snapshot = this.#context.snapshot();
    const isChanged = snapshot !== this.#seen;
    this.#seen = snapshot;
    if (isChanged) this.#due(null);
    const nowMs = this.#context.clock.monotonic();
    for (const watch of this.#watches) {
      if (this.#context.isEnding()) {
        this.#endByItself(watch);
        continue;
      }
      if (isChanged || nowMs - watch.checkedAtMs >= CHECK_EVERY_MS) void this.#check(watch, nowMs);
      if (!watch.isReading && nowMs - watch.readAtMs > MOST_AGE_MS) watch.isDue = true;
    }
    void this.#readDue();
  }

  /**
   * Reads the lists that are due one after the other: each may have thousands of tools, and the thread serves all calls.
   * One that takes long is not waited for.
   */
  async #readDue(): Promise<void> {
    if (this.#isReading) return;
    this.#isReading = true;
    try {
      for (const watch of this.#watches) {
        if (!watch.isDue || watch.isReading) continue;
        await within(this.#read(watch), MOST_WAIT_MS);
        await yieldToLoop();
      }
    } finally {
      this.#isReading = false;
    }
  }

  async #check(watch: Watch, nowMs: number): Promise<void> {
    watch.checkedAtMs = nowMs;
    try {
      await watch.list.permitted();
    } catch (thrown) {
      this.#refused(watch, thrown);
    }
  }

  #refused(watch: Watch, thrown: unknown): void {
    const { status } = asGatewayError(thrown);
    if ((status === 401 || status === 403) && this.#watches.has(watch)) this.#endByItself(watch);
  }

  #endByItself(watch: Watch): void {
    this.#end(watch);
    watch.ended();
  }

  async #read(watch: Watch): Promise<void> {
    watch.isReading = true;
    watch.isDue = false;
    try {
      const list = await watch.list.current(watch.signal);
      const digest = digestOf(list);
      const isChanged = watch.digest !== null && watch.digest !== digest;
      watch.digest = digest;
      if (isChanged && this.#watches.has(watch)) watch.changed();
    } catch (thrown) {
      // while no server lists its tools, the list is as it was
      this.#refused(watch, thrown);
    } finally {
      watch.isReading = false;
      watch.readAtMs = this.#context.clock.monotonic();
    }
  }
}
