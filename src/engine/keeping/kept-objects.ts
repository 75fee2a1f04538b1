// Objects that are kept in the memory of this process: each tenant has a bound, and the oldest objects make room for new
// ones. Setting the machine's clock neither removes an object nor keeps it for longer.
import type { Clock } from "../../core/clock.ts";
import {
  KEEPING_BOUNDS,
  type KeepingBounds,
  type KeptObject,
  type KeptStore,
  type NewKeptObject,
} from "./kept-store.ts";

interface OwnedObject<Value> extends KeptObject<Value> {
  readonly tenantId: string;
  readonly projectId: string | null;
  readonly bytes: number;
  /** Monotonic time at which it expires. */
  readonly endsMs: number;
}

interface TenantObjects<Value> {
  bytes: number;
  readonly objects: Set<OwnedObject<Value>>;
  /** By their own ids and those of their parts. */
  readonly byId: Map<string, OwnedObject<Value>>;
}

export class KeptObjects<Value = unknown> implements KeptStore<Value> {
  readonly #clock: Clock;
  readonly #bounds: KeepingBounds;
  /** In the order in which they were kept, which is that in which they expire. */
  readonly #objects = new Set<OwnedObject<Value>>();
  readonly #tenants = new Map<string, TenantObjects<Value>>();
  #bytes = 0;
  #timer: ReturnType<typeof setTimeout> | undefined;

  constructor(clock: Clock, bounds: KeepingBounds = KEEPING_BOUNDS) {
    this.#clock = clock;
    this.#bounds = bounds;
  }

  get isAway(): boolean {
    return false;
  }

  get untilMs(): number {
    return this.#clock.now() + this.#bounds.lifetimeMs;
  }

  keep({ tenantId, projectId, ids, value, size }: NewKeptObject<Value>): boolean {
    const bytes = size();
    if (bytes > this.#bounds.objectBytes) return false;
    this.#removeExpired();
    this.remove(tenantId, ids[0]!);
    const endsMs = this.#clock.monotonic() + this.#bounds.lifetimeMs;
    const tenant = this.#add({ tenantId, projectId, ids, value, bytes, untilMs: this.untilMs, endsMs });
    while (tenant.bytes > this.#bounds.tenantBytes) this.#remove(firstOf(tenant.objects));
    while (this.#bytes > this.#bounds.bytes) this.#remove(firstOf(this.#objects));
    this.#wait();
    return true;
  }

  find(tenantId: string, id: string): KeptObject<Value> | null {
    const found = this.#tenants.get(tenantId)?.byId.get(id);
    return found === undefined || found.endsMs <= this.#clock.monotonic() ? null : found;
  }

  remove(tenantId: string, id: string): void {
    const found = this.#tenants.get(tenantId)?.byId.get(id);
    if (found?.ids[0] === id) this.#remove(found);
  }

  removeAll(tenantId: string, projectId: string | null): void {
    for (const kept of this.#tenants.get(tenantId)?.objects ?? [])
      if (projectId === null || kept.projectId === projectId) this.#remove(kept);
  }

  close(): void {
    clearTimeout(this.#timer);
    this.#timer = undefined;
    for (const kept of this.#objects) this.#remove(kept);
  }

  #add(kept: OwnedObject<Value>): TenantObjects<Value> {
    const { tenantId } = kept;
    const tenant = this.#tenants.get(tenantId) ?? { bytes: 0, objects: new Set(), byId: new Map() };
    this.#tenants.set(tenantId, tenant);
    tenant.bytes += kept.bytes;
    tenant.objects.add(kept);
    this.#bytes += kept.bytes;
    this.#objects.add(kept);
    for (const id of kept.ids) tenant.byId.set(id, kept);
    return tenant;
  }

  #remove(kept: OwnedObject<Value>): void {
    this.#objects.delete(kept);
    this.#bytes -= kept.bytes;
    const tenant = this.#tenants.get(kept.tenantId)!;
    for (const id of kept.ids) if (tenant.byId.get(id) === kept) tenant.byId.delete(id);
    tenant.objects.delete(kept);
    tenant.bytes -= kept.bytes;
    if (tenant.objects.size === 0) this.#tenants.delete(kept.tenantId);
  }

  #removeExpired(): void {
    const nowMs = this.#clock.monotonic();
    for (const kept of this.#objects) {
      if (kept.endsMs > nowMs) return;
      this.#remove(kept);
    }
  }

  /** Removes objects when they expire, also where no call comes any more. The timer keeps no process running. */
  #wait(): void {
    if (this.#timer !== undefined || this.#objects.size === 0) return;
    const waitMs = Math.max(1000, firstOf(this.#objects).endsMs - this.#clock.monotonic());
    this.#timer = setTimeout(() => {
      this.#timer = undefined;
      this.#removeExpired();
      this.#wait();
    }, waitMs).unref();
  }
}

/** The set is not empty. */
function firstOf<Value>(objects: ReadonlySet<Value>): Value {
  const [first] = objects;
  return first!;
}
