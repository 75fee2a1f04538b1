// The caller of a change by what the database says within it. The snapshot by which a request was admitted may be older:
// another administrator can have taken the caller's right away while the request arrived or waited for its turn.

// Decides (who may call, and with what): May a change be made whose caller loses the right meanwhile? By: `callerWithin`.
// Rule: No; token, user and roles are read again in the transaction of the change.
import { GatewayError } from "../core/errors.ts";
import type { Snapshot } from "../core/snapshot.ts";
import { everyRow, type Reader } from "../store/reader.ts";
import { requireHeld } from "./identify.ts";
import { type AdminCaller, adminCaller } from "./grants.ts";

/** Within a change, what it reads holds until the commit. Throws `revoked_token`. */
export async function callerWithin(
  { token }: Pick<AdminCaller, "token">,
  reader: Pick<Reader, "findToken" | "findUser" | "listMemberships">,
): Promise<AdminCaller> {
  const { id, tenantId, userId } = token;
  // logins have no secret and no row
  const held = token.secrets.length === 0 ? token : await reader.findToken(id);
  if (held === null)
    throw new GatewayError("revoked_token", `The access token ${id} is no longer valid, because it was deleted.`);
  const rights = userId === null ? NO_RIGHTS : await rightsOf(userId, tenantId, reader);
  requireHeld(held, rights);
  return adminCaller(held, rights);
}

type Rights = Pick<Snapshot, "memberships" | "operators">;

const NO_RIGHTS: Rights = { memberships: new Map(), operators: new Map() };

async function rightsOf(
  userId: string,
  tenantId: string,
  reader: Pick<Reader, "findUser" | "listMemberships">,
): Promise<Rights> {
  const user = await reader.findUser(userId);
  const memberships = await Array.fromAsync(everyRow((page) => reader.listMemberships(page, { tenantId, userId })));
  return {
    memberships: new Map([[userId, memberships]]),
    operators: new Map(user?.isOperator === true ? [[userId, user.tenantId]] : []),
  };
}
