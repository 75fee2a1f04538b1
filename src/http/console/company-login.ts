// Logging in to the console at a company's issuer: the browser goes there with a state in a cookie, and comes back with a
// code. The cookie of the state is sent when the issuer's page leads back (`SameSite=Lax`); the session's is not needed
// then, because the page that follows is static and asks by itself.
import { beginLogin, type BegunLogin, type ConsoleIssuer, idTokenFor } from "../../auth/logins/code-flow.ts";
import { hasRights, type LoggedIn, loggedInByIssuer } from "../../auth/logins/console-sessions.ts";
import { ofUser } from "../../auth/identify.ts";
import { GatewayError } from "../../core/errors.ts";
import { OPS } from "../../core/identity.ts";
import { isObject, type JsonObject, jsonIn, isText } from "../../core/json.ts";
import { messageOf } from "../../core/thrown.ts";
import type { Snapshot } from "../../core/snapshot.ts";
import { addressOf, type Arrival } from "./arrival.ts";
import type { ConsoleContext } from "./console-context.ts";
import { countFailure } from "./login-failures.ts";
import { cookieValue } from "./session-cookie.ts";

export const OIDC_LOGIN_PATH = "/console/oidc/login";
export const OIDC_CALLBACK_PATH = "/console/oidc/callback";
const LIVES_S = 600;
const HOME = "/console/";

interface Pending extends BegunLogin {
  /** The page to open after the login. */
  readonly to: string;
}

/** What the login page offers. */
export function offeredIssuers(snapshot: Pick<Snapshot, "logins">, { basePath }: Arrival): JsonObject {
  return {
    oidc: consoleIssuers(snapshot).map(({ name, console: { label } }) => ({
      name,
      label,
      path: `${basePath}${OIDC_LOGIN_PATH}?issuer=${encodeURIComponent(name)}`,
    })),
  };
}

/** Throws `not_found`, or `login_unavailable`. */
export async function companyLoginBegun(
  url: URL,
  arrival: Arrival,
  context: Pick<ConsoleContext, "snapshot" | "logins" | "upstream" | "warn">,
): Promise<Response> {
  const issuer = issuerNamed(url.searchParams.get("issuer"), context.snapshot());
  const redirectUri = `${addressOf(arrival)}${OIDC_CALLBACK_PATH}`;
  const document = await reachable(context.logins.documentOf(issuer), issuer, context);
  const { login, address } = await reachable(
    beginLogin(issuer, document, redirectUri, context.upstream),
    issuer,
    context,
  );
  const pending: Pending = { ...login, to: ownPath(url.searchParams.get("to"), arrival) };
  return redirected(address, [
    stateCookie(arrival, Buffer.from(JSON.stringify(pending)).toString("base64url"), LIVES_S),
  ]);
}

const consoleIssuers = ({ logins }: Pick<Snapshot, "logins">): readonly ConsoleIssuer[] =>
  logins.filter((issuer): issuer is ConsoleIssuer => issuer.console !== undefined);

/** Throws `login_failed` for every cause, `too_many_logins`, or `login_unavailable`. */
export async function companyLogin(
  request: Request,
  arrival: Arrival,
  address: string | null,
  context: ConsoleContext,
) {
  const pending = pendingIn(request.headers, arrival);
  const { searchParams } = new URL(request.url);
  const issuer = consoleIssuers(context.snapshot()).find(({ name }) => name === pending?.issuer);
  if (pending === null || issuer === undefined)
    throw notFinished("it was not begun in this browser, or more than ten minutes ago");
  // the person did not agree, or is not known there
  if (!searchParams.has("code")) throw notFinished("the issuer gave no code");
  const identity = await verifiedIdentity(searchParams, pending, issuer, arrival, context);
  if (identity !== null) return { identity, to: pending.to };
  await countFailure({ address, account: null }, context);
  throw notFinished("the issuer's answer does not count, or its user has no role here");
}

async function verifiedIdentity(
  broughtBack: URLSearchParams,
  pending: Pending,
  issuer: ConsoleIssuer,
  arrival: Arrival,
  context: ConsoleContext,
): Promise<LoggedIn | null> {
  const { clock, logins, upstream, warn } = context;
  const redirectUri = `${addressOf(arrival)}${OIDC_CALLBACK_PATH}`;
  try {
    const document = await reachable(logins.documentOf(issuer), issuer, context);
    const given = idTokenFor(broughtBack, pending, issuer, document, redirectUri, upstream);
    const text = await reachable(given, issuer, context);
    const verified = await logins.identifyFor(issuer.console.clientId, text, issuer, clock.now());
    const snapshot = context.snapshot();
    const token = ofUser(verified, snapshot);
    if (token.permissions.includes(OPS) || !hasRights(token, snapshot)) return null;
    return loggedInByIssuer(token, issuer, Infinity);
  } catch (thrown) {
    if (!(thrown instanceof GatewayError) || thrown.entry.status !== 401) throw thrown;
    warn(`a login to the console at ${issuer.name} failed: ${thrown.message}`);
    return null;
  }
}

export const endedState = (arrival: Arrival): string => stateCookie(arrival, "", 0);

/** The page that a browser shows after it was sent somewhere; it is never kept. */
export function redirected(location: string, cookies: readonly string[]): Response {
  const headers = new Headers({ location, "cache-control": "no-store" });
  for (const cookie of cookies) headers.append("set-cookie", cookie);
  return new Response(null, { status: 303, headers });
}

const notFinished = (why: string): GatewayError =>
  new GatewayError("login_failed", `The login failed: ${why}. Begin again.`);

function issuerNamed(name: string | null, snapshot: Pick<Snapshot, "logins">): ConsoleIssuer {
  const found = consoleIssuers(snapshot).find((issuer) => issuer.name === name);
  if (found === undefined)
    throw new GatewayError("not_found", "No company login of this name opens the console.", { param: "issuer" });
  return found;
}

/** The cause is for operators only. */
async function reachable<T>(
  work: Promise<T>,
  { name }: ConsoleIssuer,
  { warn }: Pick<ConsoleContext, "warn">,
): Promise<T> {
  try {
    return await work;
  } catch (thrown) {
    if (thrown instanceof GatewayError && thrown.code === "invalid_token") throw thrown;
    warn(`a login to the console at ${name} failed: ${messageOf(thrown)}`);
    throw new GatewayError("login_unavailable", "The company's login cannot be reached, or refuses the console.", {
      cause: thrown,
    });
  }
}

function stateName({ isEncrypted, cookieName }: Arrival): string {
  return isEncrypted ? "__Host-dragoman_login" : cookieName.replace("session", "login");
}

function stateCookie(arrival: Arrival, value: string, maxAgeS: number): string {
  return `${stateName(arrival)}=${value}; Path=/; Max-Age=${maxAgeS}; HttpOnly; SameSite=Lax${arrival.isEncrypted ? "; Secure" : ""}`;
}

function pendingIn(headers: Headers, arrival: Arrival): Pending | null {
  const value = cookieValue(headers, stateName(arrival));
  const parsed = value === null ? null : jsonIn(Buffer.from(value, "base64url").toString("utf8"));
  if (!isObject(parsed)) return null;
  const { issuer, state, nonce, verifier, to } = parsed;
  return [issuer, state, nonce, verifier, to].every(isText)
    ? ({ issuer, state, nonce, verifier, to: ownPath(to as string, arrival) } as Pending)
    : null;
}

/** A page of the console, so that a link to a login leads nowhere else. */
function ownPath(path: string | null, { origin, basePath }: Arrival): string {
  const home = basePath + HOME;
  const url = path === null ? null : URL.parse(path, origin);
  return url !== null && url.origin === origin && url.pathname.startsWith(home)
    ? `${url.pathname}${url.search}${url.hash}`
    : home;
}
