// Exchanges a token or the code of a login link for the identity of a session. Whatever was wrong, the answer is the same.
import { z } from "zod";
import { parseTokenText } from "../../auth/tokens/access-token.ts";
import { headerOfProxy } from "../../auth/client-address.ts";
import {
  hasRights,
  type LoggedIn,
  loggedInByIssuer,
  loggedInByLink,
  loggedInByToken,
  secretHash,
} from "../../auth/logins/console-sessions.ts";
import { identify } from "../../auth/identify.ts";
import { issuerOf } from "../../auth/logins/kept-identity.ts";
import { isLocalHost } from "../../config/loopback.ts";
import { GatewayError } from "../../core/errors.ts";
import { OPS } from "../../core/identity.ts";
import type { ConsoleContext } from "./console-context.ts";
import { countFailure } from "./login-failures.ts";
import { OWN_HEADER, PAGE_SESSION_HEADER } from "./request-checks.ts";

const MAX_LENGTH = 16_384;
export const loginBody = z.union([
  z.strictObject({ token: z.string().min(1).max(MAX_LENGTH) }),
  z.strictObject({ code: z.string().min(1).max(200) }),
]);
export type LoginBody = z.output<typeof loginBody>;

export interface LoginAttempt {
  readonly request: Request;
  readonly address: string | null;
}

/** Throws `login_failed` for every cause that concerns what was sent, `too_many_logins`, or `console_refused`. */
export async function loggedIn(body: LoginBody, attempt: LoginAttempt, context: ConsoleContext): Promise<LoggedIn> {
  if ("code" in body) requireDirect(attempt.request.headers);
  const text = "token" in body ? body.token.trim() : null;
  const account = text === null ? null : (parseTokenText(text)?.id ?? null);
  const found = await ("code" in body ? byCode(body.code, context) : byToken(text!, attempt, context));
  if (found !== null) return found;
  await countFailure({ address: attempt.address, account }, context);
  throw new GatewayError(
    "login_failed",
    "The login failed. A personal token opens the console if it is complete, has neither expired nor been revoked, has a role, and may be used from this address. A login link works once, for ten minutes.",
  );
}

async function byToken(text: string, { address }: LoginAttempt, context: ConsoleContext): Promise<LoggedIn | null> {
  const { clock, logins } = context;
  const snapshot = context.snapshot();
  try {
    const token = await identify(`Bearer ${text}`, () => address, snapshot, logins, clock.now());
    if (token.permissions.includes(OPS) || !hasRights(token, snapshot)) return null;
    if (token.kind === "project" && !context.settings().projectTokens) return null;
    const parsed = parseTokenText(text);
    if (parsed !== null) return loggedInByToken(token, parsed.sha256);
    const issuer = issuerOf(token, snapshot.logins);
    return issuer === undefined ? null : loggedInByIssuer(token, issuer, token.expiresAtMs);
  } catch (thrown) {
    if (thrown instanceof GatewayError && (thrown.entry.status === 401 || thrown.entry.status === 403)) return null;
    throw thrown;
  }
}

async function byCode(code: string, { clock, store, ...context }: ConsoleContext): Promise<LoggedIn | null> {
  const taken = await store.sessions.takeCode(secretHash(code), clock.now());
  if (taken === null) return null;
  const login = loggedInByLink(taken, clock.now());
  return hasRights(login.token, context.snapshot()) ? login : null;
}

/** What a browser sends beside the headers of other programs. */
const OF_BROWSERS: ReadonlySet<string> = new Set([
  "cookie",
  "origin",
  "referer",
  "save-data",
  OWN_HEADER,
  PAGE_SESSION_HEADER,
]);

/** Throws `console_refused` where a proxy may have passed the code on (promise 14.6). */
function requireDirect(headers: Headers): void {
  const host = headers.get("host") ?? "";
  const added = headerOfProxy(headers, OF_BROWSERS);
  if (isLocalHost(host) && added === null) return;
  throw new GatewayError(
    "console_refused",
    `A login link works only in a browser that reaches the gateway directly, at a name of this machine; ${added === null ? `this request came to ${JSON.stringify(host.slice(0, 100))}` : `this request has the header ${added}`}. Log in with a personal token, or open an SSH tunnel to the gateway's machine.`,
  );
}
