// The roles of a personal token's user: those that the store has, and those that a login of the company's gives.
import type { AccessToken, Membership } from "../core/identity.ts";
import type { Snapshot } from "../core/snapshot.ts";

const NONE: readonly Membership[] = [];

/** In the token's own tenant; none for a project token. */
export function membershipsOf(
  token: AccessToken,
  { memberships }: Pick<Snapshot, "memberships">,
): readonly Membership[] {
  if (token.userId === null) return NONE;
  const stored = memberships.get(token.userId)?.filter((membership) => membership.tenantId === token.tenantId) ?? NONE;
  return token.granted === undefined ? stored : [...stored, ...token.granted];
}
