// What is kept of a tenant that is deleted, also where another one gets its id later.
import { expect, test } from "bun:test";
import { KeptObjects } from "../../../src/engine/keeping/kept-objects.ts";
import type { KeptStore } from "../../../src/engine/keeping/kept-store.ts";
import { tenantsStore } from "../../../src/engine/keeping/tenants-store.ts";
import type { Project } from "../../../src/core/identity.ts";
import { turnedClock } from "../../harness/turned-clock.ts";

const projectsOf = (...tenants: readonly string[]): { readonly projects: ReadonlyMap<string, Project> } => ({
  projects: new Map(tenants.map((tenantId) => [`of-${tenantId}`, { id: `of-${tenantId}`, tenantId, name: "" }])),
});

function following() {
  const objects = new KeptObjects<string>(turnedClock(0));
  const away = { isAway: false };
  const store: KeptStore<string> = {
    untilMs: 0,
    isAway: false,
    keep: (object) => objects.keep(object),
    find: (tenantId, id) => objects.find(tenantId, id),
    remove: (tenantId, id) => objects.remove(tenantId, id),
    async removeTenant(tenantId) {
      if (away.isAway) throw new Error("the store is away");
      objects.removeTenant(tenantId);
    },
    close: () => objects.close(),
  };
  let snapshot = projectsOf("one", "two");
  let changed = (): void => {};
  const { kept, end } = tenantsStore(store, {
    snapshot: () => snapshot,
    subscribe: (listener) => void (changed = listener),
  });
  const keep = (tenantId: string, id: string) => kept.keep({ tenantId, ids: [id], value: id, size: () => 10 });
  return {
    keep,
    has: async (tenantId: string, id: string) => (await kept.find(tenantId, id)) !== null,
    away,
    change: async (...tenants: readonly string[]): Promise<void> => {
      snapshot = projectsOf(...tenants);
      changed();
      // the removal answers in later turns
      for (let turn = 0; turn < 10; turn++) await Promise.resolve();
    },
    close: (): void => {
      end();
      kept.close();
    },
  };
}

test("[d12.8] what is kept of a tenant goes with it, so that a later tenant of its id finds nothing", async () => {
  const { keep, has, change, close } = following();
  expect([await keep("one", "a"), await keep("two", "b")]).toEqual([true, true]);
  await change("two");
  // a call that outlives its tenant
  await keep("one", "late");
  await change("one", "two");
  expect([await has("one", "a"), await has("one", "late"), await has("two", "b")]).toEqual([false, false, true]);
  await keep("one", "new");
  expect(await has("one", "new")).toBe(true);
  close();
});

test("[d12.8] what a store that was away has of a tenant goes with the next change", async () => {
  const { keep, has, change, away, close } = following();
  await keep("one", "a");
  away.isAway = true;
  await change("two");
  away.isAway = false;
  await change("two", "three");
  expect(await has("one", "a")).toBe(false);
  close();
});
