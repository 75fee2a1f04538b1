// Whom a response that is kept opens to (promise 12.8), and what the audit log says of those who did not make it: reading it
// is reading the content of another (promise 14.4).

// Decides (who may call, and with what): Which kept responses may a request name or read? By: `opensTo`. Also: a response
// that does not open counts as one that is not kept: `operations/responses/request/translate-request.ts`, or at the vendor
// `engine/objects/call-objects.ts`. Rule: Those of its token or user, and with the permission `read_content` those of
// projects in which it has a role.
import { adminCaller, roleAt } from "../../../auth/grants.ts";
import { type CallingSession, requireRecentLogin, wayOf } from "../../../auth/logins/recent-login.ts";
import { GatewayError } from "../../../core/errors.ts";
import { type AccessToken, type Created, createdOf, type Principal, roleAtLeast } from "../../../core/identity.ts";
import { insufficientRole } from "../../../core/refusals.ts";
import type { Snapshot } from "../../../core/snapshot.ts";
import type { Store } from "../../../store/store.ts";

export interface KeptOwner extends Pick<Principal, "tenantId" | "projectId" | "tokenId" | "userId"> {
  readonly created: Created;
}

/** Who asks for what is kept. */
export interface Reader {
  readonly token: AccessToken;
  /** Returns the address of the client; `null` where it is unknown. */
  readonly address: () => string | null;
  /** The session of the console that asks; absent where the API itself is asked. */
  readonly session?: CallingSession;
  /** What says which roles the token has. */
  readonly snapshot: Pick<Snapshot, "memberships" | "operators" | "projects" | "users">;
}

/**
 * A response opens to the token or user that made it, and to those who may read the content of its project: with a role
 * there and the permission, as the admin API asks for the content of calls. To a project or a user that has the id of a
 * removed one, it does not open.
 */
export function opensTo(owner: KeptOwner, { token, snapshot }: Reader): boolean {
  if (token.tenantId !== owner.tenantId) return false;
  if (createdOf(owner, snapshot).projectMs !== owner.created.projectMs) return false;
  if (isOwn(owner, { token, snapshot })) return true;
  return token.permissions.includes("read_content") && roleAt(adminCaller(token, snapshot), owner) !== null;
}

/**
 * Reading is all that a viewer may do, also with the permission `read_content` (promise 2.3). Throws `insufficient_role` for
 * who may neither remove nor cancel a response that opens.
 */
export function requireChanging(owner: KeptOwner, { token, snapshot }: Reader): void {
  const role = roleAt(adminCaller(token, snapshot), owner);
  if (role !== null && !roleAtLeast(role, "developer"))
    throw insufficientRole(
      `Responses are deleted and cancelled with the role developer or higher; the role here is ${role}.`,
    );
}

/**
 * What a call refers to is sent on, and its answer may repeat it, so that a session of the console refers to what another
 * caller has made only shortly after its login (promise 14.4). Throws `recent_login_required`.
 */
export function requireRecentReading(owner: KeptOwner, { session, ...reader }: Reader, nowMs: number): void {
  if (!isOwn(owner, reader)) requireRecentLogin(session ?? null, nowMs);
}

function isOwn(owner: KeptOwner, { token, snapshot }: Pick<Reader, "token" | "snapshot">): boolean {
  const { tokenId, userId, created } = owner;
  // the session of a login link has the id of its user; a later user may get the same id, and was made at another time
  if (userId !== null) return token.userId === userId && createdOf(owner, snapshot).userMs === created.userMs;
  return token.id === tokenId;
}

/**
 * Writes into the audit log that a response was opened by a caller other than its owner. What is kept may be shown, sent on
 * or removed only after that. Throws `store_unavailable`.
 */
export async function noteOpened(
  audit: Pick<Store, "note"> | null,
  { token, address, session, snapshot }: Reader,
  { id, owner, action }: { readonly id: string; readonly owner: KeptOwner; readonly action: "read" | "remove" },
): Promise<void> {
  if (audit === null || isOwn(owner, { token, snapshot })) return;
  const { tenantId, projectId } = owner;
  const actor = {
    tokenId: token.id,
    userId: token.userId,
    role: token.role,
    tenantId: token.tenantId,
    address: address(),
    ...wayOf(session),
  };
  try {
    await audit.note(actor, { action, outcome: "done", kind: "kept_response", tenantId, projectId, targetId: id });
  } catch (error) {
    throw new GatewayError(
      "store_unavailable",
      "The audit log, which has to say that a response of another caller is read, cannot be written now.",
      { cause: error },
    );
  }
}
