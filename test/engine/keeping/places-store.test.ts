// What is kept of a tenant or a project that is deleted, also where another one gets its id later.
import { expect, test } from "bun:test";
import { KeptObjects } from "../../../src/engine/keeping/kept-objects.ts";
import type { KeptStore } from "../../../src/engine/keeping/kept-store.ts";
import { placesStore } from "../../../src/engine/keeping/places-store.ts";
import type { Project } from "../../../src/core/identity.ts";
import { turnedClock } from "../../harness/time/turned-clock.ts";

/** Each is written `tenant/project`. */
const projectsOf = (...places: readonly string[]): { readonly projects: ReadonlyMap<string, Project> } => ({
  projects: new Map(
    places.map((place) => {
      const [tenantId, id] = place.split("/") as [string, string];
      return [id, { id, tenantId, name: "" }];
    }),
  ),
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
    async removeAll(tenantId, projectId) {
      if (away.isAway) throw new Error("the store is away");
      objects.removeAll(tenantId, projectId);
    },
    close: () => objects.close(),
  };
  let snapshot = projectsOf("one/a", "one/b", "two/c");
  let changed = (): void => {};
  const { kept, end } = placesStore(store, {
    snapshot: () => snapshot,
    subscribe: (listener) => void (changed = listener),
  });
  /** The place is `tenant/project`, or a tenant for what is of no project. */
  const keep = (place: string, id: string) => {
    const [tenantId, projectId = null] = place.split("/") as [string, string | undefined];
    return kept.keep({ tenantId, projectId, ids: [id], value: id, size: () => 10 });
  };
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

test("[d12.8] what is kept of a tenant or a project goes with it, so that a later one of its id finds nothing", async () => {
  const { keep, has, change, close } = following();
  for (const [place, id] of [
    ["one/a", "1"],
    ["one/b", "2"],
    ["one", "3"],
    ["two/c", "4"],
  ] as const)
    expect(await keep(place, id)).toBe(true);
  await change("one/b", "two/c");
  // a call that outlives its project
  await keep("one/a", "late");
  await change("one/a", "one/b", "two/c");
  expect([await has("one", "1"), await has("one", "late")]).toEqual([false, false]);
  expect([await has("one", "2"), await has("one", "3"), await has("two", "4")]).toEqual([true, true, true]);
  await keep("one/a", "new");
  expect(await has("one", "new")).toBe(true);
  await change("two/c");
  await keep("one", "late");
  await change("one/a", "two/c");
  for (const id of ["new", "2", "3", "late"]) expect([id, await has("one", id)]).toEqual([id, false]);
  expect(await has("two", "4")).toBe(true);
  close();
});

test("[d12.8] what a store that was away has of a project goes with the next change", async () => {
  const { keep, has, change, away, close } = following();
  await keep("one/a", "1");
  away.isAway = true;
  await change("one/b", "two/c");
  away.isAway = false;
  await change("one/b", "two/c", "two/d");
  expect(await has("one", "1")).toBe(false);
  close();
});
