// What operations keep of calls for a while, so that a later call can refer to it (promise 12.8). It is in the memory of
// this process alone, each tenant has a bound, and the oldest objects make room for new ones.
import type { Clock } from "../../core/clock.ts";

export interface KeptOwner {
  readonly tenantId: string;
  readonly projectId: string;
  readonly tokenId: string;
  /** `null` when the token belongs to no user. */
  readonly userId: string | null;
}

export interface KeptObject {
  readonly owner: KeptOwner;
  /** Only the operation that keeps it knows what it is. */
  readonly value: unknown;
  /** The first names the object; the others are those of its parts. */
  readonly ids: readonly string[];
  readonly bytes: number;
  readonly untilMs: number;
}

export interface KeepingBounds {
  readonly lifetimeMs: number;
  /** An object that is larger is not kept. */
  readonly objectBytes: number;
  readonly tenantBytes: number;
  readonly bytes: number;
}

const MIB = 1024 * 1024;
export const KEEPING_BOUNDS: KeepingBounds = {
  lifetimeMs: 3_600_000,
  objectBytes: 8 * MIB,
  tenantBytes: 64 * MIB,
  bytes: 256 * MIB,
};

export class KeptObjects {
  readonly #clock: Pick<Clock, "now">;
  readonly #bounds: KeepingBounds;
  /** In the order in which they were kept, which is that in which they expire. */
  readonly #objects = new Set<KeptObject>();
  readonly #byId = new Map<string, KeptObject>();
  readonly #tenants = new Map<string, { bytes: number; readonly objects: Set<KeptObject> }>();
  #bytes = 0;
  #timer: ReturnType<typeof setTimeout> | undefined;

  constructor(clock: Pick<Clock, "now">, bounds: KeepingBounds = KEEPING_BOUNDS) {
    this.#clock = clock;
    this.#bounds = bounds;
  }

  /** When an object that is kept now expires. */
  get untilMs(): number {
    return this.#clock.now() + this.#bounds.lifetimeMs;
  }

  /** Returns false for an object that is too large. `bytes` is about what it takes. */
  keep(ids: readonly string[], owner: KeptOwner, value: unknown, bytes: number): boolean {
    if (bytes > this.#bounds.objectBytes) return false;
    this.#removeExpired();
    const kept: KeptObject = { owner, value, ids, bytes, untilMs: this.untilMs };
    this.#add(kept);
    const tenant = this.#tenants.get(owner.tenantId)!;
    while (tenant.bytes > this.#bounds.tenantBytes) this.#remove(firstOf(tenant.objects));
    while (this.#bytes > this.#bounds.bytes) this.#remove(firstOf(this.#objects));
    this.#wait();
    return true;
  }

  /** Returns the object that has the id, or a part with it; `null` when it is not kept any more. */
  find(id: string): KeptObject | null {
    const found = this.#byId.get(id);
    return found === undefined || found.untilMs <= this.#clock.now() ? null : found;
  }

  remove(kept: KeptObject): void {
    if (this.#objects.has(kept)) this.#remove(kept);
  }

  close(): void {
    clearTimeout(this.#timer);
    this.#timer = undefined;
    for (const kept of this.#objects) this.#remove(kept);
  }

  #add(kept: KeptObject): void {
    const { tenantId } = kept.owner;
    const tenant = this.#tenants.get(tenantId) ?? { bytes: 0, objects: new Set<KeptObject>() };
    this.#tenants.set(tenantId, tenant);
    tenant.bytes += kept.bytes;
    tenant.objects.add(kept);
    this.#bytes += kept.bytes;
    this.#objects.add(kept);
    for (const id of kept.ids) this.#byId.set(id, kept);
  }

  #remove(kept: KeptObject): void {
    this.#objects.delete(kept);
    this.#bytes -= kept.bytes;
    for (const id of kept.ids) if (this.#byId.get(id) === kept) this.#byId.delete(id);
    const tenant = this.#tenants.get(kept.owner.tenantId)!;
    tenant.objects.delete(kept);
    tenant.bytes -= kept.bytes;
    if (tenant.objects.size === 0) this.#tenants.delete(kept.owner.tenantId);
  }

  #removeExpired(): void {
    const nowMs = this.#clock.now();
    for (const kept of this.#objects) {
      if (kept.untilMs > nowMs) return;
      this.#remove(kept);
    }
  }

  /** Removes objects when they expire, also where no call comes any more. The timer keeps no process running. */
  #wait(): void {
    if (this.#timer !== undefined || this.#objects.size === 0) return;
    const waitMs = Math.max(1000, firstOf(this.#objects).untilMs - this.#clock.now());
    this.#timer = setTimeout(() => {
      this.#timer = undefined;
      this.#removeExpired();
      this.#wait();
    }, waitMs);
    this.#timer.unref();
  }
}

/** The set is not empty. */
function firstOf(objects: ReadonlySet<KeptObject>): KeptObject {
  const [first] = objects;
  return first!;
}
