// What is known of ids that vendors handed out: which project received them, from which provider, with which credential
// (promise 12.15). Ids are looked up and kept by their hash.

// Decides (who may call, and with what): Which things at a vendor may a request name? By: `openVendorObjects`. Also:
// `call-objects.ts` (`CallObjects`); which members are such ids: `vendor-references.ts`, `handed-out.ts`. Rule: Those whose
// ids the project received within thirty days, at the provider and with the credential that made them; any with the
// permission `vendor_objects`, or with a key of the caller.
import { hash } from "node:crypto";
import type { Clock } from "../../core/clock.ts";
import { within, withTimeout } from "../../core/concurrency/timeout.ts";
import { GatewayError } from "../../core/errors.ts";
import { messageOf } from "../../core/thrown.ts";
import type { VendorObject, VendorObjectTable } from "../../store/calls/vendor-objects.ts";

/** An id lasts this long after it was last handed out. Vendors keep nothing longer but uploaded files. */
export const OBJECT_LIFETIME_MS = 30 * 86_400_000;
/** A database that does not answer is not waited for any longer. */
const WAIT_MS = 5_000;

export type BoundPlace = Pick<VendorObject, "tenantId" | "projectId" | "providerId" | "credential">;

/** An id as a client received it; `vendorId` is the vendor's own where that is another one. */
export interface ToldId {
  readonly id: string;
  readonly vendorId: string | null;
}

export type VendorObjects = ReturnType<typeof openVendorObjects>;

export function openVendorObjects(
  table: Pick<VendorObjectTable, "bindObjects" | "boundObjects">,
  clock: Pick<Clock, "now">,
  onFault: (thrown: unknown) => void,
) {
  return {
    /** Returns what is bound, by id. Throws `store_unavailable`. */
    async find(ids: readonly string[]): Promise<ReadonlyMap<string, readonly VendorObject[]>> {
      const hashes = new Map(ids.map((id) => [hashOf(id), id]));
      const found = await answered(table.boundObjects([...hashes.keys()], clock.now()));
      return Map.groupBy(found, ({ idHash }) => hashes.get(idHash)!);
    },
    /** Never rejects: a failure is reported, and the ids are then not known. */
    async bind(place: BoundPlace, ids: readonly ToldId[]): Promise<void> {
      const expiresMs = clock.now() + OBJECT_LIFETIME_MS;
      const rows = ids.map(({ id, vendorId }): VendorObject => ({ ...place, idHash: hashOf(id), vendorId, expiresMs }));
      const writing = table.bindObjects(rows).catch(onFault);
      await within(writing, WAIT_MS);
    },
  };
}

async function answered<Answer>(asking: Promise<Answer>): Promise<Answer> {
  const message = "The database, which knows what the project has received of a vendor, cannot be read now.";
  try {
    return await withTimeout(asking, WAIT_MS, () => new Error(`no answer within ${WAIT_MS / 1000} s`));
  } catch (error) {
    throw new GatewayError("store_unavailable", message, { cause: error, detail: messageOf(error) });
  }
}

const hashOf = (id: string): string => hash("sha256", id, "hex");
