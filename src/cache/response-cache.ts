// The response cache of one process: the store in which answers are kept, and the flights that equal calls share. A
// store that is away, full, or holds garbage is a miss and never an error (promise 13.5).

// Decides (the response cache): What if the store of answers fails? By: `ResponseCache`. Also: `cache/sealed.ts`.
// Rule: It is a miss; the store then rests for a second.
import type { CancelSignal } from "../core/concurrency/cancellation.ts";
import type { Clock } from "../core/clock.ts";
import { isPending, type MaybePromise, whenReady } from "../core/maybe-promise.ts";
import { LATE, within } from "../core/concurrency/timeout.ts";
import type { CacheCounts } from "../observe/metrics/cache-meters.ts";
import { type AnswerCache, type CacheAddress, type CachePlace, isAskedBefore, isAt } from "./answer-cache.ts";
import type { CacheSecrets } from "./cache-secrets.ts";
import { Flight, type FlightReader } from "./flight.ts";
import { SharedBytes } from "../core/concurrency/shared-bytes.ts";
import { keptBody, readKeptBody, type KeptResponse } from "./kept-body.ts";

/** What the store did wrong. `full`: it refused to keep an answer. */
export type StoreFault = "away" | "full";

export interface ResponseCacheOptions {
  readonly store: AnswerCache;
  readonly keys: Pick<CacheSecrets, "addressOf">;
  readonly clock: Pick<Clock, "now" | "monotonic">;
  readonly maxAnswerBytes: number;
  /** Called for the first fault of a kind, and with `null` when the store works again. */
  readonly onFault: (fault: StoreFault | null, error: unknown) => void;
}

/** What a call asks for. */
export interface CacheQuestion extends CacheAddress {
  /** The name of the route that serves the call. */
  readonly route: string;
  /** How old an answer may be. */
  readonly maxAgeMs: number;
  /** For how long the answer is kept. */
  readonly ttlMs: number;
  /** False when the provider has to be asked anew; the answer is kept all the same. */
  readonly reads: boolean;
  /** True for a call that shares no request with equal calls. */
  readonly isAlone?: boolean;
}

/** An answer that was kept. */
export interface KeptAnswer extends KeptResponse {
  readonly askedAtMs: number;
}

/** A call waits no longer for the store. */
const LOOK_UP_MS = 200;
/** By how much clocks of gateways that share a store may differ. */
const MOST_AHEAD_MS = 10_000;
/** After a fault the store is left alone for this long, so that calls do not wait for it one after the other. */
const REST_MS = 1000;
/** How many of the longest answers may arrive at the same time and be kept. */
const LONGEST_TOGETHER = 64;

export class ResponseCache {
  readonly #options: ResponseCacheOptions;
  readonly #flights = new Map<string, Flight>();
  /** What arrives of responses that may be kept. */
  readonly #memory = new SharedBytes();
  #restsUntilMs = 0;
  #fault: StoreFault | null = null;
  #faults = 0;
  #garbage = 0;

  constructor(options: ResponseCacheOptions) {
    this.#options = options;
  }

  addressOf(circumstances: string, body: string | Uint8Array): string {
    return this.#options.keys.addressOf(circumstances, body);
  }

  /**
   * Returns an answer that was kept, or a reader of the flight that the equal calls of this moment share. A reader that
   * leads has to send the request.
   */
  lookUp(question: CacheQuestion, signal: CancelSignal): MaybePromise<KeptAnswer | FlightReader> {
    if (!question.reads) return this.#begin(question, signal);
    const under = this.#underWay(question, signal);
    if (under !== null) return under;
    const found = this.#found(question);
    // while the store was asked, an equal call may have begun
    return whenReady(
      found,
      (kept): KeptAnswer | FlightReader => kept ?? this.#underWay(question, signal) ?? this.#begin(question, signal),
    );
  }

  /** Keeps the complete answer that the reader has read. */
  keep(reader: FlightReader, { tenantId, key, route, ttlMs }: CacheQuestion, headers: KeptResponse["headers"]): void {
    const bytes = reader.complete();
    if (bytes === null) return;
    const body = keptBody({ headers, bytes });
    if (body === null) return reader.close();
    const { askedAtMs } = reader;
    const { store, clock } = this.#options;
    const kept = this.#asked("full", () =>
      store.put({ tenantId, key, route, askedAtMs, expiresAtMs: askedAtMs + ttlMs, body }, clock.now()),
    );
    if (isPending(kept)) void kept.then(() => reader.close());
    else reader.close();
  }

  /** Removes an answer that was kept but cannot be read. */
  forget({ tenantId, key }: CacheAddress): void {
    const { store, clock } = this.#options;
    void this.#asked("away", () => store.purge({ tenantId, key }, clock.now(), clock.now()));
  }

  /**
   * Removes what was asked for until `atMs`, and makes that none of it is kept or shared any more. Returns the number of
   * answers that were removed. Throws, or rejects, when the store is away.
   */
  async purge(place: CachePlace, atMs = this.#options.clock.now()): Promise<number> {
    const nowMs = this.#options.clock.now();
    this.#detach(place, atMs, nowMs);
    return await this.#options.store.purge(place, atMs, nowMs);
  }

  /** Whether a purge may have something to do here. */
  mayHold(): boolean {
    return this.#flights.size > 0 || this.#options.store.figures()?.entries !== 0;
  }

  /** Removes what was kept of all other tenants. */
  async keepOnly(tenants: ReadonlySet<string>): Promise<void> {
    const { store, clock } = this.#options;
    for (const { tenantId } of this.#flights.values()) if (!tenants.has(tenantId)) this.#detach({ tenantId });
    const known = (await this.#asked("away", () => store.tenants())) ?? [];
    for (const tenantId of known)
      if (!tenants.has(tenantId)) await this.#asked("away", () => store.purge({ tenantId }, clock.now(), clock.now()));
  }

  /** Called when the store returned something that the gateway has not kept there. */
  readonly garbageFound = (): void => void (this.#garbage += 1);

  figures(): CacheCounts {
    const { entries, bytes } = this.#options.store.figures() ?? { entries: 0, bytes: 0 };
    return { entries, bytes, faults: this.#faults, garbage: this.#garbage, flights: this.#flights.size };
  }

  async close(): Promise<void> {
    await this.#options.store.close();
  }

  #detach(place: CachePlace, atMs = Number.POSITIVE_INFINITY, nowMs = Number.POSITIVE_INFINITY): void {
    for (const flight of this.#flights.values())
      if (isAskedBefore(flight, atMs, nowMs) && isAt(flight, place)) flight.spoil();
  }

  #underWay({ tenantId, key, maxAgeMs, isAlone }: CacheQuestion, signal: CancelSignal): FlightReader | null {
    const flight = this.#flights.get(key);
    if (isAlone === true || flight?.tenantId !== tenantId || this.#options.clock.now() - flight.askedAtMs > maxAgeMs)
      return null;
    return flight.join(signal);
  }

  #begin({ tenantId, key, route }: CacheQuestion, signal: CancelSignal): FlightReader {
    // the answer of an older flight would replace a newer one
    this.#flights.get(key)?.spoil();
    const flight = new Flight({
      tenantId,
      key,
      route,
      askedAtMs: this.#options.clock.now(),
      maxBytes: this.#options.maxAnswerBytes,
      memory: this.#memory,
      maxBytesTogether: LONGEST_TOGETHER * this.#options.maxAnswerBytes,
      onClosed: (closed) => {
        if (this.#flights.get(key) === closed) this.#flights.delete(key);
      },
    });
    this.#flights.set(key, flight);
    return flight.join(signal);
  }

  #found({ tenantId, key, maxAgeMs }: CacheQuestion): MaybePromise<KeptAnswer | null> {
    const { store, clock } = this.#options;
    const nowMs = clock.now();
    const entry = this.#asked("away", () => {
      const asked = store.get({ tenantId, key }, nowMs);
      return isPending(asked) ? inTime(asked) : asked;
    });
    return whenReady(entry, (there) => {
      // how old an answer of the future is was lost when the clock was set back
      if (there === null || nowMs - there.askedAtMs > maxAgeMs || there.askedAtMs > nowMs + MOST_AHEAD_MS) return null;
      const response = readKeptBody(there.body);
      if (response === null) this.garbageFound();
      return response === null ? null : { ...response, askedAtMs: there.askedAtMs };
    });
  }

  /** Asks the store; `null` when it fails, or has failed a moment ago. */
  #asked<T>(kind: StoreFault, ask: () => MaybePromise<T>): MaybePromise<T | null> {
    if (this.#options.clock.monotonic() < this.#restsUntilMs) return null;
    const failed = (error: unknown): null => {
      this.#faults += 1;
      if (kind === "away") this.#restsUntilMs = this.#options.clock.monotonic() + REST_MS;
      // a store that is away keeps nothing either
      if (this.#fault !== kind && this.#fault !== "away") {
        this.#fault = kind;
        this.#options.onFault(kind, error);
      }
      return null;
    };
    const worked = (answer: T): T => {
      if (this.#fault === kind) {
        this.#fault = null;
        this.#options.onFault(null, null);
      }
      return answer;
    };
    try {
      const answer = ask();
      return isPending(answer) ? answer.then(worked, failed) : worked(answer);
    } catch (error) {
      return failed(error);
    }
  }
}

async function inTime<T>(asked: Promise<T>): Promise<T> {
  const answer = await within(asked, LOOK_UP_MS);
  if (answer === LATE) throw new Error(`the store of answers did not answer within ${LOOK_UP_MS} ms`);
  return answer;
}
