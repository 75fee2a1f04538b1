// The roles of a personal token's user: those in the store, and those that a company login grants.
import type { AccessToken, Membership } from "../core/identity.ts";
import type { Snapshot } from "../core/snapshot.ts";

const NONE: readonly Membership[] = [];

/** Only those in the token's own tenant; a project token has none. */
export function membershipsOf(
  token: AccessToken,
  { memberships }: Pick<Snapshot, "memberships">,
): readonly Membership[] {
  if (token.userId === null) return NONE;
  const stored = memberships.get(token.userId)?.filter((membership) => membership.tenantId === token.tenantId) ?? NONE;
  return token.granted === undefined ? stored : [...stored, ...token.granted];
}
