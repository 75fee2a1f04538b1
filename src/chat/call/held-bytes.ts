// The memory that bodies of requests hold while they arrive, and answers while they are collected (promise 5.8): bounded for the process, and for each
// tenant by half of that, so that no tenant can fill it.
import { GatewayError } from "../../core/errors.ts";
import type { ServerLimits } from "../../core/snapshot.ts";

/** In bytes. Shorter bodies are bounded by the number of calls in flight. */
export const LEAST_HELD_BYTES = 65_536;

export type HeldBytesBound = Pick<ServerLimits, "maxHeldBytes">;

/** What holds bytes. All of them are released by whoever holds them, however its work ends. */
export interface BytesHolder {
  /** Throws `gateway_overloaded`, and then holds none of them. */
  hold(bytes: number, bound: HeldBytesBound): void;
  release(bytes: number): void;
}

export class HeldBytes {
  #all = 0;
  readonly #ofTenant = new Map<string, number>();

  /** Throws `gateway_overloaded`, and then holds none of them. */
  hold(tenantId: string, bytes: number, { maxHeldBytes }: HeldBytesBound): void {
    const own = (this.#ofTenant.get(tenantId) ?? 0) + bytes;
    if (this.#all + bytes > maxHeldBytes) throw overloaded("of all tenants together", maxHeldBytes);
    const share = Math.floor(maxHeldBytes / 2);
    if (own > share) throw overloaded("of this tenant", share);
    this.#all += bytes;
    this.#ofTenant.set(tenantId, own);
  }

  release(tenantId: string, bytes: number): void {
    const own = this.#ofTenant.get(tenantId)! - bytes;
    this.#all -= bytes;
    if (own > 0) this.#ofTenant.set(tenantId, own);
    else this.#ofTenant.delete(tenantId);
  }
}

function overloaded(whose: string, bytes: number): GatewayError {
  return new GatewayError(
    "gateway_overloaded",
    `The bodies ${whose} that are still arriving would hold more than ${bytes} bytes. Try again shortly; the operator can raise server.max_held_bytes.`,
    { headers: { "retry-after": "1" } },
  );
}
