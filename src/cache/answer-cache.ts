// The port behind which answers are kept. Its drivers are memory.ts, sqlite.ts and valkey.ts, which pass
// test/contract/answer-cache.suite.ts. A driver knows neither what a key is made of nor what a body says. It may lose
// entries at any time; it never returns one after its time, of another tenant, or older than a purge.
import type { MaybePromise } from "../core/maybe-promise.ts";

export interface CacheEntry {
  /** 64 hex digits. */
  readonly key: string;
  readonly tenantId: string;
  /** The name of the route that served the call, by which the entry can be purged. */
  readonly route: string;
  /** When the provider was asked, in milliseconds since 1970. */
  readonly askedAtMs: number;
  readonly expiresAtMs: number;
  readonly body: Uint8Array;
}

/** Where one entry is. */
export interface CacheAddress {
  readonly tenantId: string;
  readonly key: string;
}

/** The entries of one tenant, or those of one of its routes or keys. */
export interface CachePlace {
  readonly tenantId: string;
  readonly route?: string | undefined;
  readonly key?: string | undefined;
}

export interface CacheFigures {
  readonly entries: number;
  /** Of the bodies. */
  readonly bytes: number;
}

export interface AnswerCache {
  /** Returns `null` when there is no such entry, or it has expired. Throws, or rejects, when the store is away. */
  get(address: CacheAddress, nowMs: number): MaybePromise<CacheEntry | null>;
  /**
   * Replaces an entry of the same key. An entry that was asked for before a purge of its place is not kept. Throws, or
   * rejects, when the store is away or full.
   */
  put(entry: CacheEntry, nowMs: number): MaybePromise<void>;
  /**
   * Removes the entries that were asked for until `atMs`, and those that were asked for after `nowMs`: the clock has been
   * set back since. Returns their number. Throws, or rejects, as `get` does.
   */
  purge(place: CachePlace, atMs: number, nowMs: number): MaybePromise<number>;
  /** The tenants that have entries. Throws, or rejects, as `get` does. */
  tenants(): MaybePromise<readonly string[]>;
  /** `null` when the driver does not know, because others use the store too. */
  figures(): CacheFigures | null;
  close(): MaybePromise<void>;
}

/** Whether the entry belongs to the place. */
export function isAt(entry: Pick<CacheEntry, "tenantId" | "route" | "key">, place: CachePlace): boolean {
  return (
    entry.tenantId === place.tenantId &&
    (place.route === undefined || entry.route === place.route) &&
    (place.key === undefined || entry.key === place.key)
  );
}

/** Whether a purge of what was asked for until `atMs` removes it: nothing has been asked for in the future. */
export function isAskedBefore({ askedAtMs }: Pick<CacheEntry, "askedAtMs">, atMs: number, nowMs: number): boolean {
  return askedAtMs <= atMs || askedAtMs > nowMs;
}
