// A store of kept objects that follows the tenants of the gateway: what was kept of a tenant goes when the tenant does, so
// that another one that is given its id later finds nothing, and calls that outlive their tenant leave nothing.
import type { Snapshot } from "../../core/snapshot.ts";
import type { KeptStore } from "./kept-store.ts";

export interface FollowedTenants {
  readonly snapshot: () => Pick<Snapshot, "projects">;
  readonly subscribe: (changed: () => void) => void;
}

/** How often it is tried again to remove what a tenant has left, because the store may be away. */
const RETRY_MS = 60_000;

/** Returns the store, and what ends the following. */
export function tenantsStore<Value>(
  store: KeptStore<Value>,
  { snapshot, subscribe }: FollowedTenants,
): { readonly kept: KeptStore<Value>; readonly end: () => void } {
  let seen = snapshot();
  let known = tenantsOf(seen);
  const gone = new Set<string>();
  const look = (): void => {
    const now = snapshot();
    if (now === seen) return;
    seen = now;
    const tenants = tenantsOf(now);
    for (const tenantId of known) if (!tenants.has(tenantId)) gone.add(tenantId);
    known = tenants;
  };
  const removeGone = async (): Promise<void> => {
    for (const tenantId of gone) {
      try {
        await store.removeTenant(tenantId);
        gone.delete(tenantId);
      } catch {
        // the store is away, which it says itself
      }
    }
  };
  subscribe(() => {
    look();
    void removeGone();
  });
  const timer = setInterval(() => void removeGone(), RETRY_MS);
  timer.unref();
  const kept: KeptStore<Value> = {
    get untilMs() {
      return store.untilMs;
    },
    get isAway() {
      return store.isAway;
    },
    keep(object) {
      look();
      return known.has(object.tenantId) ? store.keep(object) : true;
    },
    find: (tenantId, id) => store.find(tenantId, id),
    remove: (tenantId, id) => store.remove(tenantId, id),
    removeTenant: (tenantId) => store.removeTenant(tenantId),
    close: () => store.close(),
  };
  return { kept, end: () => clearInterval(timer) };
}

function tenantsOf({ projects }: Pick<Snapshot, "projects">): ReadonlySet<string> {
  return new Set([...projects.values()].map(({ tenantId }) => tenantId));
}
