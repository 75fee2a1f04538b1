// Who calls: which of the tokens that a request presents counts, whose it is (a stored token of the gateway's own, or a
// company's login), and whether it may be used from the client's address. This is on the path of every call and uses no
// database.

// Decides (who may call, and with what): Who is the caller: a token, or a company's login? By: `identify`. Also:
// `auth/logins/logins.ts`. Rule: Where issuers are configured, a bearer token that is a JWT is a login, whose user is
// made of issuer and subject; any other text is looked up as a token of the gateway.
// Decides (who may call, and with what): When is a token refused as expired or revoked? By: `requireLive`. Rule: By
// the snapshot, which follows the store within a second (`POLL_MS` of `snapshot/source.ts`).
import { loginKey } from "../core/configured/login.ts";
import { GatewayError } from "../core/errors.ts";
import type { AccessToken, TokenSecret, User } from "../core/identity.ts";
import { isObject, jsonIn } from "../core/json.ts";
import { type MaybePromise, whenReady } from "../core/maybe-promise.ts";
import { memoizePerObject } from "../core/memoization.ts";
import { insufficientRole } from "../core/refusals.ts";
import type { Snapshot } from "../core/snapshot.ts";
import { requireAddress } from "./client-address.ts";
import type { Logins } from "./logins/logins.ts";
import { membershipsOf } from "./memberships.ts";
import { hasTokenForm, isSameSecret, parseTokenText, secretSha256, TOKEN_TEXT_LENGTH } from "./tokens/access-token.ts";

/** A longer text is no token. */
const MAX_LENGTH = 16_384;

/**
 * Returns which token of a request counts, as the value of an `Authorization` header; `null` when the request has none.
 * Clients send one as `Authorization: Bearer`, as `x-api-key`, or one of each, of which the other is meant for a provider
 * and is neither checked nor recorded (promise 12.1). Throws `invalid_token` when both headers have a token of this
 * gateway and these differ.
 */
export function presentedToken(headers: Headers, { logins }: Pick<Snapshot, "logins">): string | null {
  const authorization = headers.get("authorization");
  const key = headers.get("x-api-key");
  if (key === null || key.length > MAX_LENGTH) return authorization;
  const asBearer = `Bearer ${key.trim()}`;
  if (authorization === null || authorization.trim() === "") return key.trim() === "" ? authorization : asBearer;
  const isOurs = (text: string): boolean => hasTokenForm(text) || isOfIssuer(text, logins);
  if (!isOurs(key.trim())) return authorization;
  const bearer = /^bearer +(.*\S)\s*$/is.exec(authorization)?.[1] ?? "";
  if (!isOurs(bearer)) return asBearer;
  if (bearer === key.trim()) return authorization;
  throw new GatewayError(
    "invalid_token",
    "The headers Authorization and x-api-key present two different tokens of this gateway. Send one of them.",
  );
}

/** Whether a text is a JWT that names one of the configured issuers. */
function isOfIssuer(text: string, logins: Snapshot["logins"]): boolean {
  if (logins.length === 0 || !text.includes(".")) return false;
  const claims = jsonIn(Buffer.from(text.split(".")[1] ?? "", "base64url").toString("utf8"));
  return isObject(claims) && logins.some(({ issuer }) => issuer === claims["iss"]);
}

type Read = Pick<Snapshot, "tokens" | "tokensByHash" | "memberships" | "logins" | "loginUsers">;

/**
 * Synchronous except for the first call with a login. Throws or rejects with the errors of the functions that it uses,
 * and with `insufficient_role` for a login without any role. `onKnown` is called with a valid token before its address
 * and role are checked, so that a refusal for these reasons is recorded for the owner of the token.
 */
export function identify(
  authorization: string | null,
  address: () => string | null,
  snapshot: Read,
  logins: Logins,
  nowMs: number,
  onKnown: (token: AccessToken) => void = ignore,
): MaybePromise<AccessToken> {
  const login = snapshot.logins.length === 0 ? null : loginText(authorization);
  if (login !== null)
    return whenReady(logins.identify(login, snapshot.logins, nowMs), (known) => withRole(known, snapshot, onKnown));
  const token = authenticate(authorization, snapshot, nowMs);
  onKnown(token);
  requireAddress(token, address);
  return token;
}

const ignore = (): void => {};

function withRole(verified: AccessToken, snapshot: Read, onKnown: (token: AccessToken) => void): AccessToken {
  const token = ofUser(verified, snapshot);
  onKnown(token);
  if (membershipsOf(token, snapshot).length > 0) return token;
  throw insufficientRole(
    `The login is valid, but its user has no role. An administrator has to give the user ${token.userId} a role, or map a claim of the login to one.`,
  );
}

/** Returns the same token for each call of a user, because what is compiled of a token is kept for the object. */
const ofLinkedUser = memoizePerObject(({ id: userId }: User) =>
  memoizePerObject((token: AccessToken): AccessToken => ({
    ...token,
    userId,
    granted: token.granted!.map((membership) => ({ ...membership, userId })),
  })),
);

/** Replaces the user by the one in the database that is linked to this login, if the tenant has one. */
export function ofUser(token: AccessToken, { loginUsers }: Pick<Snapshot, "loginUsers">): AccessToken {
  const user =
    loginUsers.size === 0 || token.login === undefined
      ? undefined
      : loginUsers.get(loginKey(token.tenantId, token.login));
  return user === undefined ? token : ofLinkedUser(user)(token);
}

/** A signed JWT; the gateway's own tokens contain no dots. */
const LOGIN = /^bearer +(eyJ[\w-]+\.[\w-]{2,}\.[\w-]+)\s*$/i;

/** `null` for everything else, which authenticate handles. */
function loginText(authorization: string | null): string | null {
  return authorization === null || authorization.length > MAX_LENGTH ? null : (LOGIN.exec(authorization)?.[1] ?? null);
}

const SCHEME = /^bearer +/i;
const USUAL_SCHEME = "Bearer ";
const USUAL_LENGTH = USUAL_SCHEME.length + TOKEN_TEXT_LENGTH;

/**
 * Finds the stored token for an `Authorization` header (promise 2.7, RFC 6750). Throws GatewayError `missing_token`, `invalid_token`, `expired_token` or `revoked_token`; no message repeats what was
 * sent. Only a client with the right secret learns of expiry and revocation. A personal token whose user has no
 * membership left is `revoked_token`.
 */
export function authenticate(
  authorization: string | null,
  snapshot: Pick<Snapshot, "tokens" | "tokensByHash" | "memberships">,
  nowMs: number,
): AccessToken {
  const text = bearerText(authorization);
  const parsed = parseTokenText(text);
  if (parsed === null) {
    const foreign = foreignKey(text, snapshot, nowMs);
    if (foreign !== null) return foreign;
    throw new GatewayError(
      "invalid_token",
      "The access token is malformed: it is truncated, mistyped, or not a token of this gateway. Tokens begin with dgm_pt_ or dgm_ut_.",
    );
  }
  const token = snapshot.tokens.get(parsed.id);
  const secret = token && matchingSecret(token.secrets, parsed.sha256);
  if (token === undefined || secret === undefined)
    throw new GatewayError(
      "invalid_token",
      "The access token is unknown. It was created for another gateway, deleted, or replaced by a rotation.",
    );
  requireLive(token, secret, snapshot, nowMs);
  return token;
}

/** A longer text is no key of another gateway, and is not hashed. */
const MAX_FOREIGN_LENGTH = 256;

/** The token for which a key of another gateway was accepted (promise 15.2); `null` for any other text. */
function foreignKey(
  text: string,
  snapshot: Pick<Snapshot, "tokensByHash" | "memberships">,
  nowMs: number,
): AccessToken | null {
  if (snapshot.tokensByHash.size === 0 || text.length > MAX_FOREIGN_LENGTH || hasTokenForm(text)) return null;
  const sha256 = secretSha256(text);
  const token = snapshot.tokensByHash.get(Buffer.from(sha256).toString("hex"));
  const secret = token && matchingSecret(token.secrets, sha256);
  if (token === undefined || secret === undefined) return null;
  requireLive(token, secret, snapshot, nowMs);
  return token;
}

/** Returns the text after `Bearer`; throws when the header cannot hold a token. */
function bearerText(authorization: string | null): string {
  // The usual header needs no further checks: the text after the scheme is parsed as a token.
  if (authorization?.length === USUAL_LENGTH && authorization.startsWith(USUAL_SCHEME))
    return authorization.slice(USUAL_SCHEME.length);
  const header = authorization?.trim() ?? "";
  if (header === "")
    throw new GatewayError(
      "missing_token",
      "No access token was sent. Send the header `Authorization: Bearer <token>`.",
    );
  // Two headers arrive joined by a comma. The gateway does not choose between them, because a proxy in front may have
  // checked the other one.
  if (header.includes(","))
    throw new GatewayError(
      "invalid_token",
      "The Authorization header was sent twice or contains a comma. Send one header `Authorization: Bearer <token>`.",
    );
  const text = header.replace(SCHEME, "");
  if (text.toLowerCase() === "bearer")
    throw new GatewayError("missing_token", "The Authorization header has no token after `Bearer`.");
  if (text.length === header.length)
    throw new GatewayError("invalid_token", "The Authorization header does not have the form `Bearer <token>`.");
  return text;
}

function matchingSecret(secrets: readonly TokenSecret[], sha256: Uint8Array): TokenSecret | undefined {
  for (const secret of secrets) if (isSameSecret(secret.sha256, sha256)) return secret;
  return undefined;
}

function requireLive(
  token: AccessToken,
  secret: TokenSecret,
  snapshot: Pick<Snapshot, "memberships">,
  nowMs: number,
): void {
  requireHeld(token, snapshot);
  if (nowMs >= token.expiresAtMs)
    throw new GatewayError("expired_token", `The access token ${token.id} expired at ${isoTime(token.expiresAtMs)}.`);
  if (secret.retiresAtMs !== null && nowMs >= secret.retiresAtMs)
    throw new GatewayError(
      "expired_token",
      `The access token ${token.id} was rotated, and this old secret expired at ${isoTime(secret.retiresAtMs)}. Use the new one.`,
    );
}

/**
 * Throws `revoked_token`, whatever the time, because the clock of the replica that revoked the token may be ahead of this
 * one.
 */
export function requireHeld(token: AccessToken, snapshot: Pick<Snapshot, "memberships">): void {
  if (token.revokedAtMs !== null)
    throw new GatewayError(
      "revoked_token",
      `The access token ${token.id} was revoked at ${isoTime(token.revokedAtMs)}.`,
    );
  if (token.userId !== null && membershipsOf(token, snapshot).length === 0)
    throw new GatewayError(
      "revoked_token",
      `The access token ${token.id} is no longer valid, because its user has no role in the tenant any more.`,
    );
}

function isoTime(atMs: number): string {
  const time = new Date(atMs);
  return Number.isNaN(time.getTime()) ? `${atMs} ms` : time.toISOString();
}
