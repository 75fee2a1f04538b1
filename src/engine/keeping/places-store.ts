// A store of kept objects that follows the tenants and projects of the gateway: what was kept of one goes when it does, so
// that another one that is given its id later finds nothing, and calls that outlive their project leave nothing.
import type { Snapshot } from "../../core/snapshot.ts";
import type { KeptStore } from "./kept-store.ts";

export interface FollowedPlaces {
  readonly snapshot: () => Pick<Snapshot, "projects">;
  readonly subscribe: (changed: () => void) => void;
}

/** How often it is tried again to remove what a project has left, because the store may be away. */
const RETRY_MS = 60_000;

/** Returns the store, and what ends the following. */
export function placesStore<Value>(
  store: KeptStore<Value>,
  { snapshot, subscribe }: FollowedPlaces,
): { readonly kept: KeptStore<Value>; readonly end: () => void } {
  let known = snapshot().projects;
  /** By project. */
  const gone = new Map<string, { readonly tenantId: string; readonly projectId: string | null }>();
  const look = (): void => {
    const { projects } = snapshot();
    if (projects === known) return;
    const there = tenantsOf(projects);
    for (const { id, tenantId } of known.values())
      if (projects.get(id)?.tenantId !== tenantId)
        gone.set(id, { tenantId, projectId: there.has(tenantId) ? id : null });
    known = projects;
  };
  const removeGone = async (): Promise<void> => {
    for (const [id, { tenantId, projectId }] of gone) {
      try {
        await store.removeAll(tenantId, projectId);
        gone.delete(id);
      } catch {
        // the store is away, which it says itself
      }
    }
  };
  subscribe(() => {
    look();
    void removeGone();
  });
  const timer = setInterval(() => void removeGone(), RETRY_MS).unref();
  const kept: KeptStore<Value> = {
    get untilMs() {
      return store.untilMs;
    },
    get isAway() {
      return store.isAway;
    },
    keep(object) {
      look();
      const { tenantId, projectId } = object;
      const isThere = projectId === null ? tenantsOf(known).has(tenantId) : known.get(projectId)?.tenantId === tenantId;
      return isThere ? store.keep(object) : true;
    },
    find: (tenantId, id) => store.find(tenantId, id),
    remove: (tenantId, id) => store.remove(tenantId, id),
    removeAll: (tenantId, projectId) => store.removeAll(tenantId, projectId),
    close: () => store.close(),
  };
  return { kept, end: () => clearInterval(timer) };
}

function tenantsOf(projects: Snapshot["projects"]): ReadonlySet<string> {
  return new Set([...projects.values()].map(({ tenantId }) => tenantId));
}
