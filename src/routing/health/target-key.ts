// Under which text the health of a target is known. What a provider's server says concerns the account that calls it:
// the operator's, that of the tenant or project to which the provider belongs, or what one caller brings.
import type { BreakerSettings } from "../../core/configured/route.ts";

const KEY = /^([^\s:]+):(\S+?)(?: of (\S+))?(?: by \S+ (address|credential|settings) \S+)?$/;

/**
 * What a caller sends that changes where, or as whom, a target is called: the whole `address`, or else a `credential` for
 * the provider's own address, or else only `settings` of that address, which is then called with the stored credential.
 */
export type Brought = "address" | "credential" | "settings";

/** What one caller brings; `digest` is equal for equal addresses, settings and credentials, and has no spaces. */
export interface CallersAccount {
  readonly tokenId: string;
  readonly brought: Brought;
  readonly digest: string;
}

export interface TargetOfKey {
  readonly providerId: string;
  readonly model: string;
  /** The tenant, or `tenant/project`, to which the provider belongs; `null` when it is available to all tenants. */
  readonly owner: string | null;
  /** What the caller sends of its own, so that the health concerns this caller alone; `null` when the target is called as it is configured. */
  readonly brought: Brought | null;
}

/** Returns what follows the name of a target in its key: nothing for an account of the operator. */
export function accountInKey(owner: string | undefined, callers: CallersAccount | null): string {
  const ofOwner = owner === undefined ? "" : ` of ${owner}`;
  return callers === null ? ofOwner : `${ofOwner} by ${callers.tokenId} ${callers.brought} ${callers.digest}`;
}

/**
 * Whether events, metrics and lists show a breaker of the target. One whose settings a tenant's own people have written is
 * shown only where the provider is also the tenant's own.
 */
export function isShownBreaker(key: string, { ofTenant }: BreakerSettings): boolean {
  return ofTenant === undefined || (targetOfKey(key)?.owner ?? null) !== null;
}

/** Returns `null` for a text that is no key of a target. */
export function targetOfKey(key: string): TargetOfKey | null {
  const [, providerId, model, owner = null, brought = null] = KEY.exec(key) ?? [];
  if (providerId === undefined || model === undefined) return null;
  return { providerId, model, owner, brought: brought as Brought | null };
}

/**
 * Whose key it is, where room is shared: the tenant's of the provider, or `by` for what callers bring, of whom anybody may
 * bring much. `null` for an account of the operator.
 */
export function tenantOfKey(key: string): string | null {
  const target = targetOfKey(key);
  if (target === null) return null;
  if (target.owner !== null) return `of ${target.owner.split("/", 1)[0]!}`;
  return target.brought === null ? null : "by";
}
