// The roles of a personal token's user: those in the store, and those that a company login grants.
import type { AccessToken, Membership } from "../core/identity.ts";
import { memoizePerObject } from "../core/memoization.ts";
import type { Snapshot } from "../core/snapshot.ts";
import type { Reader } from "../store/reader.ts";

const NONE: readonly Membership[] = [];

/** Only those in the token's own tenant; a project token has none. */
export function membershipsOf(
  token: AccessToken,
  { memberships }: Pick<Snapshot, "memberships">,
): readonly Membership[] {
  return token.userId === null ? NONE : membershipsByToken(memberships)(token);
}

/** A call needs the memberships of its token several times. */
const membershipsByToken = memoizePerObject((memberships: Snapshot["memberships"]) =>
  memoizePerObject(({ userId, tenantId, granted = NONE }: AccessToken): readonly Membership[] => [
    ...(memberships.get(userId!)?.filter((membership) => membership.tenantId === tenantId) ?? NONE),
    ...granted,
  ]),
);

/** Whether the store has a role of the user. A user without a role cannot log in. */
export async function hasRole(reader: Pick<Reader, "listMemberships">, userId: string): Promise<boolean> {
  return (await reader.listMemberships({ limit: 1 }, { userId })).data.length > 0;
}
