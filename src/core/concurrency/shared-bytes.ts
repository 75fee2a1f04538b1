// The bytes that callers hold together in this process: bounded for all of them, and for each tenant by half of that, so
// that no tenant can fill the memory.
import { changeCount, mostOfTenant } from "./open-count.ts";

export class SharedBytes {
  readonly #ofTenant = new Map<string, number>();
  #all = 0;

  /** Returns false, and then holds none of them, where all tenants together would hold more than `most`, or this one half of it. */
  hold(tenantId: string, bytes: number, most: number): boolean {
    const own = (this.#ofTenant.get(tenantId) ?? 0) + bytes;
    if (this.#all + bytes > most || own > mostOfTenant(most)) return false;
    this.#all += bytes;
    changeCount(this.#ofTenant, tenantId, bytes);
    return true;
  }

  release(tenantId: string, bytes: number): void {
    this.#all -= bytes;
    changeCount(this.#ofTenant, tenantId, -bytes);
  }
}
