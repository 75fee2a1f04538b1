// What every store of calls knows of ids that vendors handed out: a model with two tenants, expiry, and removal of what
// has expired.
import { expect, test } from "bun:test";
import fc from "fast-check";
import type { CallStore } from "../../../src/store/calls/calls.ts";
import type { VendorObject } from "../../../src/store/calls/vendor-objects.ts";
import { drawCount } from "../../harness/time/long-run.ts";

/** Projects of the furnished store by their tenants, and one that no longer exists. */
export const PLACES = [
  { tenantId: "acme", projectId: "p" },
  { tenantId: "acme", projectId: "q" },
  { tenantId: "other", projectId: "r" },
  { tenantId: "other", projectId: "gone" },
] as const;
const IDS = ["a", "b", "c", "d"];

export type Step =
  | { readonly kind: "bind"; readonly objects: readonly VendorObject[] }
  | { readonly kind: "find"; readonly ids: readonly string[]; readonly nowMs: number }
  | { readonly kind: "prune"; readonly nowMs: number };

const time = fc.integer({ min: 0, max: 20 });
const objects: fc.Arbitrary<VendorObject> = fc
  .record({
    place: fc.constantFrom(...PLACES),
    idHash: fc.constantFrom(...IDS),
    providerId: fc.constantFrom("one", "two"),
    credential: fc.constantFrom("", "k"),
    vendorId: fc.constantFrom(null, "v"),
    expiresMs: time,
  })
  .map(({ place, ...rest }) => ({ ...place, ...rest }));
export const steps: fc.Arbitrary<Step> = fc.oneof(
  fc.record({ kind: fc.constant("bind" as const), objects: fc.array(objects, { maxLength: 4 }) }),
  fc.record({ kind: fc.constant("find" as const), ids: fc.subarray(IDS), nowMs: time }),
  fc.record({ kind: fc.constant("prune" as const), nowMs: time }),
);

const keyOf = ({ idHash, projectId, providerId, credential }: VendorObject): string =>
  JSON.stringify([idHash, projectId, providerId, credential]);

/** What the store should know. */
export class ObjectModel {
  #known = new Map<string, VendorObject>();

  /** The model as it is, for a copy of the database. */
  copied(): ObjectModel {
    const copy = new ObjectModel();
    copy.#known = new Map(this.#known);
    return copy;
  }

  bind(bound: readonly VendorObject[]): void {
    for (const one of bound) if (one.projectId !== "gone") this.#known.set(keyOf(one), one);
  }
  find(ids: readonly string[], nowMs: number): readonly VendorObject[] {
    return [...this.#known.values()].filter(({ idHash, expiresMs }) => ids.includes(idHash) && expiresMs > nowMs);
  }
  prune(nowMs: number): void {
    for (const [key, { expiresMs }] of this.#known) if (expiresMs <= nowMs) this.#known.delete(key);
  }
}

const sorted = (list: readonly VendorObject[]): readonly string[] =>
  list.map((one) => JSON.stringify(one, Object.keys(one).toSorted())).toSorted();

/** Does the same in the store and in the model, and compares what they find. */
export async function step(calls: CallStore, model: ObjectModel, one: Step): Promise<void> {
  if (one.kind === "bind") {
    await calls.bindObjects(one.objects);
    model.bind(one.objects);
  } else if (one.kind === "prune") {
    while ((await calls.pruneObjects(one.nowMs)) > 0);
    model.prune(one.nowMs);
  } else expect(sorted(await calls.boundObjects(one.ids, one.nowMs))).toEqual(sorted(model.find(one.ids, one.nowMs)));
}

export function vendorObjectSuite(newStore: () => Promise<CallStore>): void {
  test("[d12.15] ids are known to the projects that received them until they expire, and to no project that is gone", async () => {
    await fc.assert(
      fc.asyncProperty(fc.array(steps, { maxLength: 12 }), async (all) => {
        const calls = await newStore();
        const model = new ObjectModel();
        for (const one of all) await step(calls, model, one);
        await step(calls, model, { kind: "find", ids: IDS, nowMs: 0 });
      }),
      { numRuns: drawCount(8, 100) },
    );
  }, 120_000);
}
