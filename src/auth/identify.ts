// Who calls, by any token that is taken: one of our own, or one of a company's login. And from where: a token may be narrowed by addresses.
import { GatewayError } from "../core/errors.ts";
import type { AccessToken } from "../core/identity.ts";
import type { Snapshot } from "../core/snapshot.ts";
import { authenticate } from "./authenticate.ts";
import { demandAddress } from "./client-address.ts";
import type { Logins } from "./logins.ts";
import { membershipsOf } from "./memberships.ts";

type Read = Pick<Snapshot, "tokens" | "memberships" | "logins">;

/** At once, but for the first call with a login. Throws, or rejects with, what authenticate, Logins and demandAddress say; `insufficient_role` for a login without any role. */
export function identify(authorization: string | null, address: () => string | null, snapshot: Read, logins: Logins, nowMs: number): AccessToken | Promise<AccessToken> {
  const login = snapshot.logins.length === 0 ? null : loginText(authorization);
  if (login !== null) return identifyLogin(login, snapshot, logins, nowMs);
  const token = authenticate(authorization, snapshot, nowMs);
  demandAddress(token, address);
  return token;
}

function identifyLogin(text: string, snapshot: Read, logins: Logins, nowMs: number): AccessToken | Promise<AccessToken> {
  const token = logins.identify(text, snapshot.logins, nowMs);
  return token instanceof Promise ? token.then((one) => withRole(one, snapshot)) : withRole(token, snapshot);
}

function withRole(token: AccessToken, snapshot: Read): AccessToken {
  if (membershipsOf(token, snapshot).length > 0) return token;
  throw new GatewayError("insufficient_role", `The login is valid, and gives no role here. An administrator gives the user ${token.userId} one, or maps a claim of the login to one.`);
}

const MAX_LENGTH = 16_384;
/** A signed JWT; our own tokens have no dots. */
const LOGIN = /^bearer +(eyJ[\w-]+\.[\w-]{2,}\.[\w-]+)\s*$/i;

/** Null for everything else, which authenticate judges. */
function loginText(authorization: string | null): string | null {
  return authorization === null || authorization.length > MAX_LENGTH ? null : (LOGIN.exec(authorization)?.[1] ?? null);
}
