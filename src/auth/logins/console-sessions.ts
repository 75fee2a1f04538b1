// What a session of the web console is: made of an identity at the login, and turned into an access token at each request
// by what the snapshot says now. It ends with the token that it came from, and as soon as the rights are not those of the
// login (promise 14.2).
import { type AccessToken, type Membership, PERMISSIONS, type User } from "../../core/identity.ts";
import type { Snapshot } from "../../core/snapshot.ts";
import type { LoginIssuer } from "../../core/configured/login.ts";
import type { LoginCode, LoginWay, StoredSession } from "../../store/identity/sessions.ts";
import { runsGateway } from "../grants.ts";
import { actingToken, keptLogin, keptToken, keptUser } from "./kept-identity.ts";
import { membershipsOf } from "../memberships.ts";

/** How long a login counts as recent: `ADMIN_OPERATIONS` says for what. */
export const RECENT_LOGIN_MS = 15 * 60_000;

/** 256 random bits in 43 characters that need no quoting in cookies and URLs. */
export function newSessionSecret() {
  const text = crypto.getRandomValues(new Uint8Array(32)).toBase64({ alphabet: "base64url", omitPadding: true });
  return { text, hash: secretHash(text) };
}

export const secretHash = (text: string): string => new Bun.CryptoHasher("sha256").update(text).digest("hex");

/** Whose session it is, as it is kept. */
export interface LoggedIn {
  readonly way: LoginWay;
  readonly token: AccessToken;
  /** As kept-identity.ts writes it. */
  readonly identity: string;
  /** When the identity ends by itself. */
  readonly endsAtMs: number;
}

/** Of an access token of the gateway. `sha256` is the hash of its text. */
export function loggedInByToken(token: AccessToken, sha256: Uint8Array): LoggedIn {
  return { way: "token", token, identity: keptToken(token.id, sha256), endsAtMs: token.expiresAtMs };
}

/** Of a login at a company's issuer, whose claims hold for the whole session. */
export function loggedInByIssuer(token: AccessToken, issuer: LoginIssuer, endsAtMs: number): LoggedIn {
  return { way: "oidc", token, identity: keptLogin(token, issuer), endsAtMs };
}

/** Of a login link. */
export function loggedInByLink({ tenantId, userId, permissions }: LoginCode, nowMs: number): LoggedIn {
  const known = PERMISSIONS.filter((permission) => permissions.includes(permission));
  const identity = keptUser(tenantId, userId, known, nowMs);
  return { way: "link", token: actingToken(identity, NOTHING_ELSE, nowMs)!, identity, endsAtMs: Infinity };
}

/** A user needs neither a token nor an issuer. */
const NOTHING_ELSE = { tokens: new Map<string, AccessToken>(), logins: [], loginUsers: new Map<string, User>() };

type Read = Pick<Snapshot, "tokens" | "memberships" | "operators" | "logins" | "loginUsers">;

/** The token with which a session acts now; `null` when the session has ended. */
export function sessionToken(session: StoredSession, snapshot: Read, nowMs: number): AccessToken | null {
  if (nowMs >= session.endsAtMs) return null;
  const token = actingToken(session.identity, snapshot, nowMs);
  return token === null || rightsOf(token, snapshot) !== session.rights ? null : token;
}

/** Whether a token has any right: the user of a personal token may have lost the last role. */
export function hasRights(token: AccessToken, snapshot: Pick<Snapshot, "memberships">): boolean {
  return token.kind === "project" || membershipsOf(token, snapshot).length > 0;
}

/** A hash of everything that decides what a token may do. */
export function rightsOf(token: AccessToken, snapshot: Pick<Snapshot, "memberships" | "operators">): string {
  const roles = membershipsOf(token, snapshot).map(({ projectId, role }: Membership) => `${projectId ?? ""} ${role}`);
  const { tenantId, projectId, userId, role, permissions, models, routes, tools, ipRanges } = token;
  const isOperator = runsGateway(token, snapshot);
  return secretHash(
    JSON.stringify([
      hasRights(token, snapshot),
      [tenantId, projectId, userId, role, isOperator],
      roles.toSorted(),
      [permissions, models, routes, tools, ipRanges].map((names) => names.toSorted()),
    ]),
  );
}
