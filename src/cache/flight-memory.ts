// The memory that responses take in this process while they arrive and may yet be kept (promise 5.8): bounded for all
// calls, and for each tenant by half of that. A response without room is passed on as any other, and not kept.
import { changeCount, mostOfTenant } from "../core/concurrency/open-count.ts";

export class FlightMemory {
  readonly #most: number;
  readonly #ofTenant = new Map<string, number>();
  #all = 0;

  /** `most` is the number of bytes for all tenants together. */
  constructor(most: number) {
    this.#most = most;
  }

  /** Returns false, and then holds none of them, where there is no room for so many bytes. */
  hold(tenantId: string, bytes: number): boolean {
    const own = (this.#ofTenant.get(tenantId) ?? 0) + bytes;
    if (this.#all + bytes > this.#most || own > mostOfTenant(this.#most)) return false;
    this.#all += bytes;
    changeCount(this.#ofTenant, tenantId, bytes);
    return true;
  }

  release(tenantId: string, bytes: number): void {
    this.#all -= bytes;
    changeCount(this.#ofTenant, tenantId, -bytes);
  }
}
