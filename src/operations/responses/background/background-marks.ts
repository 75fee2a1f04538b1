// What a call that runs in the background leaves in the store for other processes: that it still runs, the events of its
// stream, and the wish that it end, which they leave for it.

// Decides (the answer): What becomes of a call in the background when its gateway stops? By: `BEAT_MS`. Also: read by
// `operations/responses/kept-response-requests.ts`; ended by `engine/keeping/background-runs.ts`. Rule: After
// `server.drain_s` it is `failed` with `shutting_down`. If its process was killed and another process has the store, the
// response is `failed` with `interrupted` as soon as ten seconds have passed since it was last marked as running.
import type { KeptStore } from "../../../engine/keeping/kept-store.ts";
import type { KeptOwner } from "../keeping/opened-responses.ts";
import type { Clock } from "../../../core/clock.ts";

/** How often a process says that it runs a call, and how long it waits before it keeps again what the store did not take. */
export const BEAT_MS = 1000;
/** A call of which no process has said for so long that it runs is over: its process has died. */
const LEASE_MS = 10_000;
/** Clocks of gateways differ: a call whose time is over by the reader's clock runs if it says so again within this time. */
const UNHEARD_MS = 5 * BEAT_MS;
const LOOK_MS = BEAT_MS / 4;
/**
 * The store makes room for new objects of the tenant by the oldest, and keeps none for ever: after so many beats, what it
 * has of a call that still runs is a new object again.
 */
const BEATS_UNTIL_KEPT_AGAIN = 8;
/**
 * In characters: events that come together are kept in parts of no more, each of which a store takes. One event may be
 * longer.
 */
const MOST_TOGETHER = 1024 * 1024;

export interface MarkedStores {
  readonly kept: KeptStore<unknown>;
  readonly clock: Pick<Clock, "now">;
}

export class RunMarks {
  readonly #stores: MarkedStores;
  readonly #place: Pick<KeptOwner, "tenantId" | "projectId">;
  readonly #id: string;
  readonly #waiting: string[] = [];
  /** The next part of the events that is kept. It stays the same until it is, because others may have read it already. */
  #part: readonly string[] = [];
  #parts = 0;
  #flushing: Promise<void> = Promise.resolve();

  constructor(stores: MarkedStores, { tenantId, projectId }: Pick<KeptOwner, "tenantId" | "projectId">, id: string) {
    this.#stores = stores;
    this.#place = { tenantId, projectId };
    this.#id = id;
  }

  /** Says that the call runs. Throws `kept_store_unavailable`. */
  async runs(): Promise<void> {
    const untilMs = this.#stores.clock.now() + LEASE_MS;
    await this.#keep("run", { untilMs }, 100);
  }

  /** In how many parts events are kept so far. */
  get parts(): number {
    return this.#parts;
  }

  brought(event: string): void {
    this.#waiting.push(event);
  }

  /**
   * Repeats that the call runs, until the function is called that it returns. `keepAgain` is called from time to time, and
   * `cancel` when someone asks for it.
   */
  follow(keepAgain: () => Promise<void>, cancel: () => void): () => void {
    let isOver = false;
    let beats = 0;
    const beat = async (): Promise<void> => {
      try {
        if (++beats % BEATS_UNTIL_KEPT_AGAIN === 0) await keepAgain();
        await this.runs();
        if ((await this.#stores.kept.find(this.#place.tenantId, nameOf(this.#id, "cancel"))) !== null) cancel();
        // last, because a store that has room for marks may have none for events
        await this.flush();
      } catch {
        // the store is away, which it says itself
      }
      if (!isOver) timer = setTimeout(() => void beat(), BEAT_MS);
    };
    let timer = setTimeout(() => void beat(), BEAT_MS);
    return () => {
      isOver = true;
      clearTimeout(timer);
    };
  }

  /** Keeps the events that have come, in their order. Throws `kept_store_unavailable`, and they wait for the next time. */
  flush(): Promise<void> {
    const flushing = this.#flushing.then(() => this.#keepWaiting());
    this.#flushing = flushing.catch(() => {});
    return flushing;
  }

  async #keepWaiting(): Promise<void> {
    while (this.#part.length + this.#waiting.length > 0) {
      if (this.#part.length === 0) this.#part = this.#waiting.splice(0, countTogether(this.#waiting));
      const events = this.#part;
      const mark = `events:${this.#parts}`;
      // readers count the events, also one that is too large to be kept
      if (!(await this.#keep(mark, { events }, 2 * charactersIn(events))))
        await this.#keep(mark, { events: events.map(() => "") }, 100);
      this.#part = [];
      this.#parts += 1;
    }
  }

  /** Returns false for what is too large. */
  async #keep(mark: string, value: object, bytes: number): Promise<boolean> {
    const ids = [nameOf(this.#id, mark)];
    return this.#stores.kept.keep({ ...this.#place, ids, value, size: () => bytes });
  }
}

/** Returns how many of the events, from the first on, are kept as one part: at least one. */
function countTogether(events: readonly string[]): number {
  let characters = 0;
  const count = events.findIndex((event) => (characters += event.length) > MOST_TOGETHER);
  return count === -1 ? events.length : Math.max(1, count);
}

function charactersIn(events: readonly string[]): number {
  return events.reduce((sum, event) => sum + event.length, 0);
}

/**
 * Whether a process says that it runs the call. Takes up to five seconds where none has said so lately. Throws
 * `kept_store_unavailable`.
 */
export async function isRunning(stores: MarkedStores, tenantId: string, id: string): Promise<boolean> {
  const first = await leaseOf(stores, tenantId, id);
  const leftMs = first === null ? 0 : first - stores.clock.now();
  // where a clock was set back, only the next lease says whether the call still runs
  if (leftMs > 0 && leftMs <= LEASE_MS + UNHEARD_MS) return true;
  for (let waitedMs = 0; waitedMs < UNHEARD_MS; waitedMs += LOOK_MS) {
    await Bun.sleep(LOOK_MS);
    const lease = await leaseOf(stores, tenantId, id);
    if (lease !== null && lease !== first) return true;
  }
  return false;
}

/** Returns until when the call runs, by the clock of its process; `null` where none says so. */
async function leaseOf({ kept }: MarkedStores, tenantId: string, id: string): Promise<number | null> {
  const found = await kept.find(tenantId, nameOf(id, "run"));
  return found === null ? null : (found.value as { readonly untilMs: number }).untilMs;
}

/** Asks the process that runs the call to end it. Throws `kept_store_unavailable`. */
export async function askToCancel({ kept }: MarkedStores, tenantId: string, id: string): Promise<void> {
  await kept.keep({ tenantId, projectId: null, ids: [nameOf(id, "cancel")], value: {}, size: () => 100 });
}

/**
 * Marks a response in the background as deleted. A process that read the response before its deletion, and keeps it again,
 * finds the mark and removes it. Throws `kept_store_unavailable`.
 */
export async function noteDeleted({ kept }: MarkedStores, tenantId: string, id: string): Promise<void> {
  await kept.keep({ tenantId, projectId: null, ids: [nameOf(id, "deleted")], value: {}, size: () => 100 });
}

/** Throws `kept_store_unavailable`. */
export async function isDeleted({ kept }: MarkedStores, tenantId: string, id: string): Promise<boolean> {
  return (await kept.find(tenantId, nameOf(id, "deleted"))) !== null;
}

/**
 * Returns one part of the events of a stream, in which an empty text stands for an event that was too large to be kept;
 * `null` where there is none yet. Throws `kept_store_unavailable`.
 */
export async function eventsAt(
  { kept }: MarkedStores,
  tenantId: string,
  id: string,
  part: number,
): Promise<readonly string[] | null> {
  const found = await kept.find(tenantId, nameOf(id, `events:${part}`));
  return found === null ? null : (found.value as { readonly events: readonly string[] }).events;
}

/**
 * Removes what `eventsAt` returns, with the texts of the answer: the first `parts` of them, and those that a process has
 * kept behind these before it died. Throws `kept_store_unavailable`.
 */
export async function removeEvents(stores: MarkedStores, tenantId: string, id: string, parts: number): Promise<void> {
  for (let part = 0; part < parts || (await eventsAt(stores, tenantId, id, part)) !== null; part++)
    await stores.kept.remove(tenantId, nameOf(id, `events:${part}`));
}

function nameOf(id: string, mark: string): string {
  return `${id}:${mark}`;
}
