// What a session of the web console is: made of an identity at the login, and turned into an access token at each request
// by what the snapshot says now. It ends with the token that it came from, and as soon as the rights are not those of the
// login (promise 14.2).
import type { AccessToken, Membership, Permission } from "../core/identity.ts";
import { PERMISSIONS, UNRESTRICTED } from "../core/identity.ts";
import { isObject, type Json } from "../core/json.ts";
import type { LoginIssuer } from "../core/login.ts";
import type { Snapshot } from "../core/snapshot.ts";
import type { LoginCode, LoginWay, StoredSession } from "../store/sessions.ts";
import { runsGateway } from "./grants.ts";
import { membershipsOf } from "./memberships.ts";

/** How long a login counts as recent: recent-login.ts says for what. */
export const RECENT_LOGIN_MS = 15 * 60_000;
/** How exactly the time of the last use is kept. */
export const SEEN_EVERY_MS = 60_000;

export interface SessionSecret {
  readonly text: string;
  readonly hash: string;
}

/** 256 random bits in 43 characters that need no quoting in cookies and URLs. */
export function newSessionSecret(): SessionSecret {
  const text = crypto.getRandomValues(new Uint8Array(32)).toBase64({ alphabet: "base64url", omitPadding: true });
  return { text, hash: secretHash(text) };
}

export const secretHash = (text: string): string => new Bun.CryptoHasher("sha256").update(text).digest("hex");

/** Whose session it is, as it is kept. */
export interface LoggedIn {
  readonly way: LoginWay;
  readonly token: AccessToken;
  /** JSON that `sessionToken` reads. */
  readonly identity: string;
  /** When the identity ends by itself. */
  readonly endsAtMs: number;
}

type KeptIdentity =
  /** `secret` is the SHA-256 of the token's text: the session ends when a rotation retires it. */
  | { readonly kind: "token"; readonly secret: string }
  | { readonly kind: "user"; readonly permissions: readonly Permission[] }
  | { readonly kind: "issuer"; readonly issuer: string; readonly token: CompanyToken };

type CompanyToken = Pick<
  AccessToken,
  "id" | "name" | "tenantId" | "userId" | "permissions" | "isOperator" | "login" | "granted" | "createdAtMs"
>;

/** Of an access token of the gateway. `sha256` is the hash of its text. */
export function loggedInByToken(token: AccessToken, sha256: Uint8Array): LoggedIn {
  return {
    way: "token",
    token,
    identity: kept({ kind: "token", secret: sha256.toHex() }),
    endsAtMs: token.expiresAtMs,
  };
}

/** Of a login at a company's issuer, whose claims hold for the whole session. */
export function loggedInByIssuer(token: AccessToken, issuer: LoginIssuer, endsAtMs: number): LoggedIn {
  const { id, name, tenantId, userId, permissions, isOperator, login, granted, createdAtMs } = token;
  return {
    way: "oidc",
    token,
    identity: kept({
      kind: "issuer",
      issuer: issuerHash(issuer),
      token: {
        id,
        name,
        tenantId,
        userId,
        permissions,
        createdAtMs,
        ...(isOperator !== undefined && { isOperator }),
        ...(login !== undefined && { login }),
        ...(granted !== undefined && { granted }),
      },
    }),
    endsAtMs,
  };
}

/** Of a login link. */
export function loggedInByLink({ tenantId, userId, permissions }: LoginCode, nowMs: number): LoggedIn {
  const known = PERMISSIONS.filter((permission) => permissions.includes(permission));
  return {
    way: "link",
    token: linkToken(tenantId, userId, known, nowMs),
    identity: kept({ kind: "user", permissions: known }),
    endsAtMs: Infinity,
  };
}

const kept = (identity: KeptIdentity): string => JSON.stringify(identity);

function linkToken(tenantId: string, userId: string, permissions: readonly Permission[], nowMs: number): AccessToken {
  return {
    // ids of tokens and of users of companies have no colons
    id: `console:${userId}`,
    kind: "personal",
    name: "console",
    tenantId,
    projectId: null,
    userId,
    role: null,
    permissions,
    ...UNRESTRICTED,
    secrets: [],
    createdAtMs: nowMs,
    expiresAtMs: Number.MAX_SAFE_INTEGER,
    revokedAtMs: null,
  };
}

type Read = Pick<Snapshot, "tokens" | "memberships" | "operators" | "logins">;

/** The token with which a session acts now; `null` when the session has ended. */
export function sessionToken(session: StoredSession, snapshot: Read, nowMs: number): AccessToken | null {
  if (nowMs >= session.endsAtMs) return null;
  const token = identityNow(session, snapshot, nowMs);
  return token === null || rightsOf(token, snapshot) !== session.rights ? null : token;
}

function identityNow(session: StoredSession, snapshot: Read, nowMs: number): AccessToken | null {
  const identity = parsedIdentity(session.identity);
  if (identity === null) return null;
  if (identity.kind === "token") {
    const token = snapshot.tokens.get(session.tokenId ?? "");
    return token !== undefined && isLive(token, identity.secret, nowMs) ? token : null;
  }
  if (identity.kind === "user")
    return linkToken(session.tenantId, session.userId ?? "", identity.permissions, session.startedAtMs);
  if (!snapshot.logins.some((issuer) => issuerHash(issuer) === identity.issuer)) return null;
  return {
    ...identity.token,
    kind: "personal",
    projectId: null,
    role: null,
    ...UNRESTRICTED,
    secrets: [],
    expiresAtMs: session.endsAtMs,
    revokedAtMs: null,
  };
}

function parsedIdentity(text: string): KeptIdentity | null {
  const identity = JSON.parse(text) as Json;
  return isObject(identity) ? (identity as unknown as KeptIdentity) : null;
}

function isLive({ revokedAtMs, expiresAtMs, secrets }: AccessToken, sha256: string, nowMs: number): boolean {
  const secret = secrets.find((one) => Buffer.from(one.sha256).toString("hex") === sha256);
  return (
    revokedAtMs === null &&
    nowMs < expiresAtMs &&
    secret !== undefined &&
    (secret.retiresAtMs === null || nowMs < secret.retiresAtMs)
  );
}

/** Whether a token has any right: the user of a personal token may have lost the last role. */
export function hasRights(token: AccessToken, snapshot: Pick<Snapshot, "memberships">): boolean {
  return token.kind === "project" || membershipsOf(token, snapshot).length > 0;
}

/** A hash of everything that decides what a token may do. */
export function rightsOf(token: AccessToken, snapshot: Pick<Snapshot, "memberships" | "operators">): string {
  const roles = membershipsOf(token, snapshot).map(({ projectId, role }: Membership) => `${projectId ?? ""} ${role}`);
  const { tenantId, projectId, userId, role, permissions, models, routes, ipRanges } = token;
  const isOperator = runsGateway(token, snapshot);
  return secretHash(
    JSON.stringify([
      hasRights(token, snapshot),
      [tenantId, projectId, userId, role, isOperator],
      roles.toSorted(),
      [permissions, models, routes, ipRanges].map((names) => names.toSorted()),
    ]),
  );
}

/** Changes with every setting of the issuer that decides whom it identifies and what it grants. */
function issuerHash(issuer: LoginIssuer): string {
  return secretHash(JSON.stringify(issuer));
}
