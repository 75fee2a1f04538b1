// Everything below /console: the built files, the session, and the APIs of the gateway with the rights of the session.
// The cookie counts here and nowhere else (promise 14.2). It is loaded with the first request that needs it.
import { clientAddress } from "../../auth/client-address.ts";
import { RECENT_LOGIN_MS } from "../../auth/console-sessions.ts";
import { GATEWAY_ERRORS } from "../../chat/call/called-operation.ts";
import { baseHeaders, errorResponse } from "../../chat/call/reply-headers.ts";
import { asGatewayError, GatewayError } from "../../core/errors.ts";
import type { JsonObject } from "../../core/json.ts";
import { checked, readJsonBody } from "../admin/input.ts";
import { type Arrival, arrivalOf } from "./arrival.ts";
import type { ConsoleBindings, ConsoleContext } from "./console-context.ts";
import { loggedIn, loginBody } from "./login.ts";
import { describeMe } from "./me.ts";
import { DATA_HEADERS, PAGE_HEADERS } from "./page-headers.ts";
import { requireOwnPage } from "./request-checks.ts";
import { endedCookie, secretInCookie, sessionCookie } from "./session-cookie.ts";
import { currentSession, endSession, openSession } from "./sessions.ts";

const BASE = "/console";
const API = `${BASE}/api`;
const PAGE_METHODS: ReadonlySet<string> = new Set(["GET", "HEAD"]);

export interface ConsoleApp {
  /** `path` is that of the request's URL. Never rejects. */
  fetch(request: Request, path: string, bindings: ConsoleBindings): Promise<Response>;
}

/** One request with what is known of where it comes from. */
interface Asked extends ConsoleBindings {
  readonly request: Request;
  readonly path: string;
  readonly arrival: Arrival;
  readonly address: string | null;
}

export function createConsoleApp(context: ConsoleContext): ConsoleApp {
  return {
    async fetch(request, path, bindings) {
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

async function page({ request, path, arrival }: Asked, { files }: ConsoleContext): Promise<Response> {
  requireMethod(request, path, PAGE_METHODS);
  if (arrival.refusal !== null) return refusalPage(arrival.refusal);
  return await files.serve(path.slice(BASE.length + 1), request);
}

/** The cookie would not be kept or not be safe, and a page that shows nothing but a login would not say so. */
function refusalPage(why: string): Response {
  return new Response(
    `<!doctype html><html lang="en"><meta charset="utf-8"><title>Dragoman</title><h1>The console cannot be used here</h1><p>${Bun.escapeHTML(why)}</p></html>`,
    {
      status: 403,
      headers: { ...PAGE_HEADERS, "content-type": "text/html; charset=utf-8", "cache-control": "no-store" },
    },
  );
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
]);

async function data(asked: Asked, context: ConsoleContext): Promise<Response> {
  const { request, path, arrival, address, peer } = asked;
  requireOwnPage(request, arrival);
  const own = OWN_PATHS.get(path);
  if (own !== undefined) {
    requireMethod(request, path, new Set(own.keys()));
    return await own.get(request.method)!(asked, context);
  }
  const { token, session } = await currentSession(secretInCookie(request.headers, arrival), address, context);
  const inner = path.slice(BASE.length);
  if (!inner.startsWith("/api/v1/"))
    throw new GatewayError(
      "not_found",
      `Unknown path: ${request.method} ${path.slice(0, 200)}. ${API}/v1/ has what is below /api/v1/.`,
    );
  return await context.serve(request, inner, {
    token,
    peer,
    session: { id: session.id, recentUntilMs: session.startedAtMs + RECENT_LOGIN_MS },
  });
}

async function login(asked: Asked, context: ConsoleContext): Promise<Response> {
  const { request, arrival, address } = asked;
  const body = checked(loginBody, (await readJsonBody(request, context.snapshot().limits)).value);
  const identity = await loggedIn(body, { request, address }, context);
  const former = secretInCookie(request.headers, arrival);
  const opened = await openSession(identity, { address, headers: request.headers, former }, context);
  const lifeMs = opened.session.endsAtMs - opened.session.startedAtMs;
  return json(await describeMe(opened, context.snapshot(), context.store), {
    "set-cookie": sessionCookie(arrival, opened.secret, lifeMs),
  });
}

async function logout(asked: Asked, context: ConsoleContext): Promise<Response> {
  const { request, arrival, address } = asked;
  await endSession(await currentSession(secretInCookie(request.headers, arrival), address, context), address, context);
  return new Response(null, { status: 204, headers: { "set-cookie": endedCookie(arrival) } });
}

async function me(asked: Asked, context: ConsoleContext): Promise<Response> {
  const { request, arrival, address } = asked;
  const open = await currentSession(secretInCookie(request.headers, arrival), address, context);
  return json(await describeMe(open, context.snapshot(), context.store));
}

function json(body: JsonObject, further: Readonly<Record<string, string>> = {}): Response {
  return new Response(JSON.stringify(body), { headers: { "content-type": "application/json", ...further } });
}

function requireMethod({ method }: Request, path: string, allowed: ReadonlySet<string>): void {
  if (allowed.has(method)) return;
  const allow = [...allowed].join(", ");
  throw new GatewayError("method_not_allowed", `${path.slice(0, 200)} takes ${allow}; got ${method}.`, {
    headers: { allow },
  });
}

/** Headers that the response has already are kept. */
function withHeaders(response: Response, headers: Readonly<Record<string, string>>): Response {
  for (const [name, value] of Object.entries(headers))
    if (!response.headers.has(name)) response.headers.set(name, value);
  return response;
}
