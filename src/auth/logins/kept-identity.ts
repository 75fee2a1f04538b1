// An identity that outlives the request that proved it, as text for the database: of a session of the console, and of the
// giver of a claim link. What a token or a user may do is judged anew each time, by what the snapshot says then. A login at
// a company keeps the roles that its claims gave it, while the settings of the issuer stay the same; it acts as the user to
// whom the database links it now.
import { type AccessToken, LINKED, type Permission, UNRESTRICTED } from "../../core/identity.ts";
import { isObject, type Json } from "../../core/json.ts";
import type { LoginIssuer } from "../../core/configured/login.ts";
import type { Snapshot } from "../../core/snapshot.ts";
import { digestOf } from "../../core/text/digest.ts";
import { ofUser } from "../identify.ts";

type KeptIdentity =
  /** With the SHA-256 of the token's text, it ends when a rotation retires that; `null` follows the token. */
  | { readonly kind: "token"; readonly id: string; readonly secret: string | null }
  | {
      readonly kind: "user";
      readonly tenantId: string;
      readonly userId: string;
      readonly permissions: readonly Permission[];
      readonly sinceMs: number;
    }
  | { readonly kind: "issuer"; readonly issuer: string; readonly token: CompanyToken };

type CompanyToken = Pick<
  AccessToken,
  "id" | "name" | "tenantId" | "userId" | "permissions" | "isOperator" | "login" | "granted" | "createdAtMs"
>;

const kept = (identity: KeptIdentity): string => JSON.stringify(identity);

/** Of an access token of the gateway. */
export const keptToken = (id: string, sha256: Uint8Array | null): string =>
  kept({ kind: "token", id, secret: sha256?.toHex() ?? null });

/** Of a user of the database who needs no token. */
export const keptUser = (
  tenantId: string,
  userId: string,
  permissions: readonly Permission[],
  sinceMs: number,
): string => kept({ kind: "user", tenantId, userId, permissions, sinceMs });

/** Of a login at a company's issuer, whose claims go on to hold. */
export function keptLogin(token: AccessToken, issuer: LoginIssuer): string {
  const { id, name, tenantId, userId, permissions, isOperator, login, granted, createdAtMs } = token;
  return kept({
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
  });
}

/** Of whoever acts with this token, whatever the way; `null` when its issuer is not configured any more. */
export function keptCaller(token: AccessToken, { logins }: Pick<Snapshot, "logins">): string | null {
  if (token.id.startsWith(LINKED)) return keptUser(token.tenantId, token.userId!, token.permissions, token.createdAtMs);
  if (token.login === undefined) return keptToken(token.id, null);
  const issuer = issuerOf(token, logins);
  return issuer === undefined ? null : keptLogin(token, issuer);
}

/** The issuer that has made a token of a company login. */
export function issuerOf(
  { id, login, tenantId }: AccessToken,
  issuers: readonly LoginIssuer[],
): LoginIssuer | undefined {
  // the same issuer may be configured for several audiences, each with users of its own
  return issuers.find(
    (one) => one.issuer === login?.issuer && one.tenantId === tenantId && id.startsWith(`${one.name}.`),
  );
}

/** The token with which the identity acts now; `null` when it has ended. */
export function actingToken(
  identity: string,
  { tokens, logins, loginUsers }: Pick<Snapshot, "tokens" | "logins" | "loginUsers">,
  nowMs: number,
): AccessToken | null {
  const parsed = JSON.parse(identity) as Json;
  if (!isObject(parsed)) return null;
  const of = parsed as unknown as KeptIdentity;
  if (of.kind === "token") {
    const token = tokens.get(of.id);
    return token !== undefined && isLive(token, of.secret, nowMs) ? token : null;
  }
  const common = {
    kind: "personal",
    projectId: null,
    role: null,
    ...UNRESTRICTED,
    secrets: [],
    revokedAtMs: null,
  } as const;
  if (of.kind === "user")
    return {
      ...common,
      id: `${LINKED}${of.userId}`,
      name: "console",
      tenantId: of.tenantId,
      userId: of.userId,
      permissions: of.permissions,
      createdAtMs: of.sinceMs,
      expiresAtMs: Number.MAX_SAFE_INTEGER,
    };
  if (!logins.some((issuer) => issuerHash(issuer) === of.issuer)) return null;
  // The id of the token is that of the user whom the issuer names. Another user may have been linked to the login since.
  const own = { ...common, ...of.token, userId: of.token.id, expiresAtMs: Number.MAX_SAFE_INTEGER };
  return ofUser(own, { loginUsers });
}

function isLive({ revokedAtMs, expiresAtMs, secrets }: AccessToken, sha256: string | null, nowMs: number): boolean {
  if (revokedAtMs !== null || nowMs >= expiresAtMs) return false;
  if (sha256 === null) return true;
  const secret = secrets.find((one) => Buffer.from(one.sha256).toString("hex") === sha256);
  return secret !== undefined && (secret.retiresAtMs === null || nowMs < secret.retiresAtMs);
}

/** Changes with every setting of the issuer that decides whom it identifies and what it grants. */
function issuerHash(issuer: LoginIssuer): string {
  return digestOf(issuer);
}
