// Everything below /console: the built files, the session, and the APIs of the gateway with the rights of the session.
// The cookie counts here and nowhere else (promise 14.2). It is loaded with the first request that needs it.
import { z } from "zod";
import { clientAddress } from "../../auth/client-address.ts";
import { RECENT_LOGIN_MS } from "../../auth/logins/console-sessions.ts";
import { GATEWAY_ERRORS } from "../../engine/call/called-operation.ts";
import { baseHeaders, errorResponse } from "../../engine/call/reply-headers.ts";
import { asGatewayError, GatewayError } from "../../core/errors.ts";
import { notFound } from "../../core/refusals.ts";
import type { JsonObject } from "../../core/json.ts";
import { checked, readJsonBody } from "../admin/input.ts";
import { redeemedClaim } from "../admin/identity/redeemed-claim.ts";
import { addressOf, type Arrival, arrivalOf } from "./arrival.ts";
import { CLAIM_PAGE, CLAIM_PATH, CLAIM_SCRIPT, CLAIM_SCRIPT_PATH } from "./claim-page.ts";
import {
  companyLogin,
  companyLoginBegun,
  endedState,
  offeredIssuers,
  OIDC_CALLBACK_PATH,
  OIDC_LOGIN_PATH,
  redirected,
} from "./company-login.ts";
import type { ConsoleBindings, ConsoleContext } from "./console-context.ts";
import { countFailure } from "./login-failures.ts";
import { loggedIn, loginBody } from "./login.ts";
import { describeMe } from "./me.ts";
import { DATA_HEADERS, PAGE_HEADERS } from "./page-headers.ts";
import { PAGE_SESSION_HEADER, requireOwnPage } from "./request-checks.ts";
import { endedCookie, secretInCookie, sessionCookie } from "./session-cookie.ts";
import {
  currentSession,
  endSession,
  type NewSession,
  type OpenSession,
  openSession,
  sessionRequired,
} from "./sessions.ts";
import { methodNotAllowed } from "../method-not-allowed.ts";

const BASE = "/console";
const API = `${BASE}/api`;
const PAGE_METHODS: ReadonlySet<string> = new Set(["GET", "HEAD"]);

export type ConsoleApp = ReturnType<typeof createConsoleApp>;

/** One request with what is known of where it comes from. */
interface Asked extends ConsoleBindings {
  readonly request: Request;
  readonly path: string;
  readonly arrival: Arrival;
  readonly address: string | null;
}

export function createConsoleApp(context: ConsoleContext) {
  return {
    /** `path` is that of the request's URL. Never rejects. */
    async fetch(request: Request, path: string, bindings: ConsoleBindings): Promise<Response> {
      const { proxyTrust } = context.snapshot();
      const asked: Asked = {
        ...bindings,
        request,
        path,
        arrival: arrivalOf(request.headers, bindings.peer, context.settings(), proxyTrust),
        address: clientAddress(bindings.peer, request.headers, proxyTrust),
      };
      const isData = path === API || path.startsWith(`${API}/`);
      let answer: Response;
      try {
        answer = await (isData ? data : page)(asked, context);
      } catch (thrown) {
        answer = errorResponse(GATEWAY_ERRORS, asGatewayError(thrown), bindings.traceId, bindings.ownMs(), {});
      }
      return withHeaders(answer, {
        ...baseHeaders(bindings.traceId, bindings.ownMs()),
        ...(isData ? DATA_HEADERS : PAGE_HEADERS),
      });
    },
  };
}

async function page(asked: Asked, context: ConsoleContext): Promise<Response> {
  const { request, path, arrival } = asked;
  requireMethod(request, path, PAGE_METHODS);
  if (arrival.refusal !== null) return messagePage("The console cannot be used here", arrival.refusal, arrival);
  const claim = CLAIM_FILES.get(path);
  if (claim !== undefined)
    return new Response(request.method === "HEAD" ? null : claim.text, {
      headers: { "content-type": claim.type, "cache-control": "no-store" },
    });
  if (path === OIDC_LOGIN_PATH) return await companyLoginBegun(new URL(request.url), arrival, context);
  if (path === OIDC_CALLBACK_PATH) return await companyLoginEnded(asked, context);
  return await context.files.serve(path.slice(BASE.length + 1), request, arrival.basePath);
}

const CLAIM_FILES = new Map([
  [CLAIM_PATH, { text: CLAIM_PAGE, type: "text/html; charset=utf-8" }],
  [CLAIM_SCRIPT_PATH, { text: CLAIM_SCRIPT, type: "text/javascript; charset=utf-8" }],
]);

/** A page without scripts, for what the person has to know before the console's own page is there. */
function messagePage(title: string, text: string, { basePath }: Arrival, status = 403): Response {
  const home = `${basePath}${BASE}/`;
  return new Response(
    `<!doctype html><html lang="en"><meta charset="utf-8"><title>Dragoman</title><h1>${title}</h1><p>${Bun.escapeHTML(text)}</p><p><a href="${home}">${home}</a></p></html>`,
    { status, headers: { "content-type": "text/html; charset=utf-8", "cache-control": "no-store" } },
  );
}

async function companyLoginEnded(asked: Asked, context: ConsoleContext): Promise<Response> {
  const { request, arrival, address } = asked;
  try {
    const { identity, to } = await companyLogin(request, arrival, address, context);
    const former = secretInCookie(request.headers, arrival);
    const opened = await openSession(identity, { address, headers: request.headers, former }, context);
    return redirected(to, [cookieOf(opened, arrival), endedState(arrival)]);
  } catch (thrown) {
    if (!(thrown instanceof GatewayError)) throw thrown;
    const shown = messagePage("Nobody is logged in", thrown.message, arrival, thrown.entry.status);
    shown.headers.append("set-cookie", endedState(arrival));
    return shown;
  }
}

const OWN_PATHS: ReadonlyMap<
  string,
  ReadonlyMap<string, (asked: Asked, context: ConsoleContext) => Promise<Response>>
> = new Map([
  [
    `${API}/session`,
    new Map([
      ["POST", login],
      ["DELETE", logout],
    ]),
  ],
  [`${API}/me`, new Map([["GET", me]])],
  [`${API}/claims`, new Map([["POST", redeemed]])],
]);

async function data(asked: Asked, context: ConsoleContext): Promise<Response> {
  const { request, path, arrival, address, peer } = asked;
  requireOwnPage(request, arrival);
  const own = OWN_PATHS.get(path);
  if (own !== undefined) {
    requireMethod(request, path, new Set(own.keys()));
    return await own.get(request.method)!(asked, context);
  }
  const secret = secretInCookie(request.headers, arrival);
  const { token, session } = await sessionOfPage(secret, asked, context);
  const inner = path.slice(BASE.length);
  if (!inner.startsWith("/api/v1/"))
    throw notFound(`Unknown path: ${request.method} ${path.slice(0, 200)}. ${API}/v1/ has what is below /api/v1/.`);
  return await context.serve(request, inner, {
    token,
    tokenNow: async () => (await currentSession(secret, address, context)).token,
    peer,
    session: { id: session.id, recentUntilMs: session.startedAtMs + RECENT_LOGIN_MS },
  });
}

async function login(asked: Asked, context: ConsoleContext): Promise<Response> {
  const { request, arrival, address } = asked;
  const body = checked(loginBody, (await readJsonBody(request, context.snapshot().limits, null)).value);
  const identity = await loggedIn(body, { request, address }, context);
  const former = secretInCookie(request.headers, arrival);
  const opened = await openSession(identity, { address, headers: request.headers, former }, context);
  const snapshot = context.snapshot();
  return json(await describeMe(opened, snapshot, context, offeredIssuers(snapshot, arrival)), {
    "set-cookie": cookieOf(opened, arrival),
  });
}

function cookieOf({ session, secret }: NewSession, arrival: Arrival): string {
  return sessionCookie(arrival, secret, session.endsAtMs - session.startedAtMs);
}

const claimBody = z.strictObject({ code: z.string().min(1).max(200) });

/** Needs no session: whoever has the code receives the token. */
async function redeemed({ request, arrival, address }: Asked, context: ConsoleContext): Promise<Response> {
  const { code } = checked(claimBody, (await readJsonBody(request, context.snapshot().limits, null)).value);
  const made = await redeemedClaim(code, address, context);
  if (made === null) {
    await countFailure({ address, account: null, what: { action: "redeem", kind: "claim" } }, context);
    throw new GatewayError(
      "login_failed",
      "The link gives nothing: it is incomplete, was opened before, has expired or was revoked, or the one who gave it may not give the token any more. Ask for another one.",
    );
  }
  await context.follow();
  const { record, text } = made;
  return json({
    token: text,
    id: record.id,
    name: record.name,
    kind: record.kind,
    tenant_id: record.tenantId,
    project_id: record.projectId,
    user_id: record.userId,
    expires_at: new Date(record.expiresAtMs).toISOString(),
    base_url: `${addressOf(arrival)}/api/v1`,
  });
}

/** Throws `session_required`, also where another session has begun in the browser since the page was opened. */
async function sessionOfPage(
  secret: string | null,
  { request, address }: Asked,
  context: ConsoleContext,
): Promise<OpenSession> {
  const open = await currentSession(secret, address, context);
  if ((request.headers.get(PAGE_SESSION_HEADER) ?? open.session.id) !== open.session.id)
    throw sessionRequired("Another session has begun in this browser since the page was opened.");
  return open;
}

async function logout(asked: Asked, context: ConsoleContext): Promise<Response> {
  const { request, arrival, address } = asked;
  const open = await sessionOfPage(secretInCookie(request.headers, arrival), asked, context);
  await endSession(open, address, context);
  return new Response(null, { status: 204, headers: { "set-cookie": endedCookie(arrival) } });
}

/** A visitor is told how one can log in: that is no error, which browsers would print. */
async function me(asked: Asked, context: ConsoleContext): Promise<Response> {
  const { request, arrival, address } = asked;
  const logins = offeredIssuers(context.snapshot(), arrival);
  try {
    const open = await currentSession(secretInCookie(request.headers, arrival), address, context);
    return json(await describeMe(open, context.snapshot(), context, logins));
  } catch (thrown) {
    if (thrown instanceof GatewayError && thrown.code === "session_required") return json({ session: null, logins });
    throw thrown;
  }
}

function json(body: JsonObject, further: Readonly<Record<string, string>> = {}): Response {
  return new Response(JSON.stringify(body), { headers: { "content-type": "application/json", ...further } });
}

function requireMethod({ method }: Request, path: string, allowed: ReadonlySet<string>): void {
  if (allowed.has(method)) return;
  const allow = [...allowed].join(", ");
  throw methodNotAllowed(allow, `${path.slice(0, 200)} takes ${allow}; got ${method}.`);
}

/** Headers that the response has already are kept. */
function withHeaders(response: Response, headers: Readonly<Record<string, string>>): Response {
  for (const [name, value] of Object.entries(headers))
    if (!response.headers.has(name)) response.headers.set(name, value);
  return response;
}
