// Which targets another server or another account answers for since the configuration was replaced. What was known of
// the former one, such as a wait of an hour that it asked for, says nothing about the new one (promise 7.5).
import { isDeepStrictEqual } from "node:util";
import { type ProviderSettings, serverOf, type Snapshot, snapshotSeenBy } from "../../core/snapshot.ts";
import { targetOfKey } from "./target-key.ts";

type ConfiguredProviders = Pick<Snapshot, "providers" | "tenantProviders" | "projectProviders">;

/** Returns whether a target's key is of a provider that was replaced; `null` when none was. */
export function replacedAccounts(
  before: ConfiguredProviders,
  after: ConfiguredProviders,
): ((key: string) => boolean) | null {
  const tables = ["providers", "tenantProviders", "projectProviders"] as const;
  // where no provider has changed, these are the same objects
  if (tables.every((table) => before[table] === after[table])) return null;
  const [former, present] = [providersOf(before), providersOf(after)];
  const replaced = new Set(
    [...new Set([...former.keys(), ...present.keys()])].filter((id) => !isSame(former.get(id), present.get(id))),
  );
  if (replaced.size === 0) return null;
  const isMoved = (id: string): boolean => serverAt(former.get(id)) !== serverAt(present.get(id));
  return (key) => {
    const target = targetOfKey(key);
    if (target === null) return false;
    const id = withOwner(target.providerId, target.owner ?? undefined);
    if (!replaced.has(id)) return false;
    // a credential of a caller is sent to the provider's address, and an address of a caller is its own
    if (target.brought === "credential") return isMoved(id);
    return target.brought !== "address";
  };
}

function serverAt(settings: ProviderSettings | undefined): string | null {
  return settings === undefined ? null : serverOf(settings);
}

/**
 * Whether another server or another account has replaced a provider since a call took its snapshot. `before` is that
 * snapshot as the caller sees it.
 */
export function isReplacedSince(
  before: Snapshot,
  now: Snapshot,
  providerId: string,
  { tenantId, projectId }: { readonly tenantId: string | null; readonly projectId: string | null },
): boolean {
  const former = before.providers.get(providerId);
  const seen = former?.owner === undefined ? now : snapshotSeenBy(now, { tenantId: tenantId ?? "", projectId });
  return !isSame(former, seen.providers.get(providerId));
}

/** By id, and by whose they are where they belong to a tenant or a project. */
function providersOf({ providers, tenantProviders, projectProviders }: ConfiguredProviders) {
  const all = new Map<string, ProviderSettings>();
  for (const table of [providers, ...tenantProviders.values(), ...projectProviders.values()])
    for (const [id, settings] of table) all.set(withOwner(id, settings.owner), settings);
  return all;
}

function withOwner(id: string, owner: string | undefined): string {
  return owner === undefined ? id : `${id} of ${owner}`;
}

function isSame(one: ProviderSettings | undefined, other: ProviderSettings | undefined): boolean {
  if (one === other) return true;
  if (one === undefined || other === undefined) return false;
  return serverOf(one) === serverOf(other) && isDeepStrictEqual(one.credentials, other.credentials);
}
