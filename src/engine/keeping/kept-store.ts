// The port behind which operations keep objects of calls for a while, so that a later call can refer to them (promise
// 12.8). Its drivers are kept-objects.ts (this process), valkey-store.ts and the supervisor of a machine; outside of the
// process objects are sealed (sealed-store.ts). They pass test/contract/kept-store.suite.ts. A driver may lose objects at
// any time, and never returns one of another tenant or after its time.
import type { MaybePromise } from "../../core/maybe-promise.ts";

export interface NewKeptObject<Value> {
  readonly tenantId: string;
  /** `null` for what is of no project. */
  readonly projectId: string | null;
  /** The first names the object; the others are those of its parts. */
  readonly ids: readonly string[];
  readonly value: Value;
  /** Returns about how many bytes it takes in memory. */
  readonly size: () => number;
}

export interface KeptObject<Value> {
  readonly ids: readonly string[];
  readonly value: Value;
  readonly untilMs: number;
}

export interface KeptStore<Value> {
  /** When an object that is kept now expires. */
  readonly untilMs: number;
  /** Whether the store could not be reached when it was last asked. */
  readonly isAway: boolean;
  /**
   * Keeps an object in the place of an earlier one with the same first id. Returns false for one that is too large. The
   * oldest objects of the tenant make room. Throws, or rejects, when the store is away, and with NoRoom when others need
   * its memory.
   */
  keep(object: NewKeptObject<Value>): MaybePromise<boolean>;
  /**
   * Returns the object that has the id, or a part with it; `null` when it is not kept any more. Throws, or rejects, when
   * the store is away.
   */
  find(tenantId: string, id: string): MaybePromise<KeptObject<Value> | null>;
  /** Removes the object that has this id. Throws, or rejects, when the store is away. */
  remove(tenantId: string, id: string): MaybePromise<void>;
  /** Removes all objects of a project; with `null`, of the tenant. Throws, or rejects, when the store is away. */
  removeAll(tenantId: string, projectId: string | null): MaybePromise<void>;
  close(): void;
}

/** The store can be reached, and takes nothing now. */
export class NoRoom extends Error {}

export interface KeepingBounds {
  readonly lifetimeMs: number;
  /** An object that is larger is not kept. */
  readonly objectBytes: number;
  readonly tenantBytes: number;
  /** In one process. */
  readonly bytes: number;
}

const MIB = 1024 * 1024;
export const KEEPING_BOUNDS: KeepingBounds = {
  lifetimeMs: 3_600_000,
  objectBytes: 8 * MIB,
  tenantBytes: 64 * MIB,
  bytes: 256 * MIB,
};
