// Identifies the caller by any accepted token, one of the gateway's own or one of a company login, and checks that the
// token may be used from the client's address.

// Decides (who may call, and with what): Who is the caller: a token, or a company's login? By: `identify`. Also:
// `auth/logins/logins.ts`.
import { insufficientRole } from "../core/refusals.ts";
import type { AccessToken, User } from "../core/identity.ts";
import { loginKey } from "../core/configured/login.ts";
import { memoizePerObject } from "../core/memoization.ts";
import type { Snapshot } from "../core/snapshot.ts";
import { type MaybePromise, whenReady } from "../core/maybe-promise.ts";
import { authenticate } from "./authenticate.ts";
import { requireAddress } from "./client-address.ts";
import type { Logins } from "./logins/logins.ts";
import { membershipsOf } from "./memberships.ts";

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
  if (login !== null) return identifyLogin(login, snapshot, logins, nowMs, onKnown);
  const token = authenticate(authorization, snapshot, nowMs);
  onKnown(token);
  requireAddress(token, address);
  return token;
}

const ignore = (): void => {};

function identifyLogin(
  text: string,
  snapshot: Read,
  logins: Logins,
  nowMs: number,
  onKnown: (token: AccessToken) => void,
): MaybePromise<AccessToken> {
  return whenReady(logins.identify(text, snapshot.logins, nowMs), (token) => withRole(token, snapshot, onKnown));
}

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

const MAX_LENGTH = 16_384;
/** A signed JWT; the gateway's own tokens contain no dots. */
const LOGIN = /^bearer +(eyJ[\w-]+\.[\w-]{2,}\.[\w-]+)\s*$/i;

/** `null` for everything else, which authenticate handles. */
function loginText(authorization: string | null): string | null {
  return authorization === null || authorization.length > MAX_LENGTH ? null : (LOGIN.exec(authorization)?.[1] ?? null);
}
