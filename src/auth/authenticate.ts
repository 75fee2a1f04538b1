// Finds the stored access token for an Authorization header (promise 2.7, RFC 6750). This is on the path of every call
// and uses no database.

// Decides (who may call, and with what): When is a token refused as expired or revoked? By: `requireLive`. Rule: By
// the snapshot, which follows the store within a second (`POLL_MS` of `snapshot/source.ts`).
import { GatewayError } from "../core/errors.ts";
import type { AccessToken, TokenSecret } from "../core/identity.ts";
import type { Snapshot } from "../core/snapshot.ts";
import { membershipsOf } from "./memberships.ts";
import { hasTokenForm, isSameSecret, parseTokenText, secretSha256, TOKEN_TEXT_LENGTH } from "./tokens/access-token.ts";

const SCHEME = /^bearer +/i;
const USUAL_SCHEME = "Bearer ";
const USUAL_LENGTH = USUAL_SCHEME.length + TOKEN_TEXT_LENGTH;

/**
 * Throws GatewayError `missing_token`, `invalid_token`, `expired_token` or `revoked_token`; no message repeats what was
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
