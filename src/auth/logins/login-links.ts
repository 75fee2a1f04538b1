// Codes of links that log in to the console without a token (promise 14.6). Whoever can write to the database, or starts
// the gateway for the first time, may act as one of its users.
import { PERMISSIONS } from "../../core/identity.ts";
import { COMMAND_LINE, type StoredUser } from "../../store/records.ts";
import type { Store } from "../../store/store.ts";
import { newSessionSecret } from "./console-sessions.ts";
import { FIRST_USER } from "../first-identities.ts";
import { hasRole } from "../memberships.ts";

const LIVES_MS = 10 * 60_000;
const LISTED = 50;

export interface LoginLinkRequest {
  /** `null` for the operator of the first start, or the only one. */
  readonly userId: string | null;
  /** What the session may do beyond the roles of its user. */
  readonly permissions: readonly string[];
}

type LinkStore = Pick<Store, "findUser" | "listUsers" | "listMemberships" | "sessions" | "note">;

/**
 * The code goes into the fragment of the link, and is kept as a hash only. Throws an error with the cure when the user or
 * a permission does not exist.
 */
export async function makeLoginLink(store: LinkStore, { userId, permissions }: LoginLinkRequest, nowMs: number) {
  const unknown = permissions.find((name) => !PERMISSIONS.some((known) => known === name && known !== "ops"));
  if (unknown !== undefined)
    throw new Error(
      `A login link cannot give the permission ${JSON.stringify(unknown)}. It can give: ${PERMISSIONS.filter((name) => name !== "ops").join(", ")}.`,
    );
  const user = userId === null ? await onlyOperator(store) : await store.findUser(userId);
  if (user === null) throw new Error(`There is no user ${JSON.stringify(userId)}.`);
  if (!(await hasRole(store, user.id)))
    throw new Error(`The user ${user.id} has no role, so the console would show nothing. Give the user a role first.`);
  const { text: code, hash: codeHash } = newSessionSecret();
  const expiresAtMs = nowMs + LIVES_MS;
  await store.sessions.keepCode({ codeHash, tenantId: user.tenantId, userId: user.id, permissions, expiresAtMs });
  await store.note(COMMAND_LINE, {
    action: "create",
    outcome: "done",
    kind: "login_link",
    tenantId: user.tenantId,
    targetId: user.id,
  });
  return { code, user, expiresAtMs };
}

async function onlyOperator(store: LinkStore): Promise<StoredUser> {
  const { data } = await store.listUsers({ limit: LISTED }, { isOperator: true });
  const only = data.length === 1 ? data[0] : data.find(({ id }) => id === FIRST_USER);
  if (only !== undefined) return only;
  throw new Error(
    data.length === 0
      ? "No user is an operator. Name a user with --user."
      : `Several users are operators. Name one with --user: ${data.map(({ id }) => id).join(", ")}.`,
  );
}

/** The code stands behind the `#`, which browsers send to no server, so that it is in no log of a proxy. */
export function loginLinkAddress(base: string, code: string): string {
  return `${base}/console/#code=${code}`;
}
