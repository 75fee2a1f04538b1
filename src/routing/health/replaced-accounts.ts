// Which targets another server or another account answers for since the configuration was replaced. What was known of
// the former one, such as a wait of an hour that it asked for, says nothing about the new one (promise 7.5).
import { isDeepStrictEqual } from "node:util";
import { type ProviderSettings, serverOf, type Snapshot, snapshotSeenBy } from "../../core/snapshot.ts";

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
  const moved = new Set([...replaced].filter(isMoved).map(providerOf));
  return (key) => {
    const id = idOf(key);
    if (former.has(id) || present.has(id)) return replaced.has(id);
    // of a caller's credential, which is sent to the provider's address unless the caller names one
    return !key.includes(" at ") && moved.has(providerOf(key));
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
  if (before.version === now.version) return false;
  const former = before.providers.get(providerId);
  const seen = former?.owner === undefined ? now : snapshotSeenBy(now, { tenantId: tenantId ?? "", projectId });
  return !isSame(former, seen.providers.get(providerId));
}

/** By id, and by whose they are where they belong to a tenant or a project, as keys of targets name them. */
function providersOf({ providers, tenantProviders, projectProviders }: ConfiguredProviders) {
  const all = new Map<string, ProviderSettings>();
  for (const table of [providers, ...tenantProviders.values(), ...projectProviders.values()])
    for (const [id, settings] of table) all.set(withOwner(id, settings.owner), settings);
  return all;
}

function withOwner(id: string, owner: string | undefined): string {
  return owner === undefined ? id : `${id} of ${owner}`;
}

function providerOf(idOrKey: string): string {
  return /^[^ :]*/.exec(idOrKey)![0];
}

/** `<provider>:<model>`, and ` of <owner>` where the provider has one. */
function idOf(key: string): string {
  const at = key.lastIndexOf(" of ");
  return withOwner(providerOf(key), at < 0 ? undefined : key.slice(at + " of ".length));
}

function isSame(one: ProviderSettings | undefined, other: ProviderSettings | undefined): boolean {
  if (one === other) return true;
  if (one === undefined || other === undefined) return false;
  return serverOf(one) === serverOf(other) && isDeepStrictEqual(one.credentials, other.credentials);
}
