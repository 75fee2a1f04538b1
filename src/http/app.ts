// Serves every path but those of operations: models, health, metrics, what is kept of responses, and unknown paths. The admin
// API, the console and the MCP server are loaded with the first request for them. Errors have the form of the path.
import { Hono, type Context } from "hono";
import { getPath } from "hono/utils/url";
import { clientAddress, isOnThisMachine } from "../auth/client-address.ts";
import { inNamedProject } from "../auth/authorize.ts";
import { requireMoreThanOps, runsGateway } from "../auth/grants.ts";
import { identify, presentedToken } from "../auth/identify.ts";
import { requireRecentLogin } from "../auth/logins/recent-login.ts";
import type { Logins } from "../auth/logins/logins.ts";
import { isEnabled, permittedTargets, restrictionsOf } from "../auth/permitted-models.ts";
import { inTurns } from "../core/concurrency/steps.ts";
import { insufficientRole, invalidRequest, modelNotFound, notFound } from "../core/refusals.ts";
import type { Operation } from "../engine/operation.ts";
import { type CalledOperation, GATEWAY_ERRORS } from "../engine/call/called-operation.ts";
import { baseHeaders, corsHeaders, errorResponse, STREAM_HEADERS } from "../engine/call/reply-headers.ts";
import type { Clock } from "../core/clock.ts";
import { deviates } from "../core/configured/client-deviations.ts";
import { asGatewayError } from "../core/errors.ts";
import { loadedOnce } from "../core/concurrency/loaded-once.ts";
import { newTraceId } from "../core/ids.ts";
import { type AccessToken, OPS } from "../core/identity.ts";
import type { JsonObject } from "../core/json.ts";
import type { OperationName } from "../core/operation.ts";
import type { MaybePromise } from "../core/maybe-promise.ts";
import { percentDecoded } from "../core/text/percent-encoding.ts";
import type { Route } from "../core/configured/route.ts";
import {
  cancelledResponse,
  deletedResponse,
  inputItems,
  type KeptResponseRequest,
  retrievedResponse,
} from "../operations/responses/kept-response-requests.ts";
import { settingsOf, type Snapshot, snapshotSeenBy } from "../core/snapshot.ts";
import { OPERATIONS } from "../operations/operations.ts";
import type { KeptStores } from "../operations/responses/keeping/kept-responses.ts";
import type { Reader } from "../operations/responses/keeping/opened-responses.ts";
import { listCapabilities } from "../providers/interface/capability-listing.ts";
import { splitName } from "../routing/compile-routes.ts";
import { findRoute, namedRoutes, routesFor } from "../routing/resolve-route.ts";
import type { DocumentDependencies } from "./admin/configured/document-rule.ts";

import type { AdminContext, CalledAs } from "./admin/operation.ts";
import type { AdminBindings, AdminEnv } from "./admin/request/admin-request.ts";
import { addressOf, arrivalOf } from "./console/arrival.ts";
import type { ConsoleApp } from "./console/app.ts";
import type { ConsoleCaller, ConsoleContext } from "./console/console-context.ts";
import { EventStreams } from "./event-streams.ts";
import { innerRequest } from "./inner-request.ts";
import type { McpContext } from "./mcp/serving.ts";
import { methodNotAllowed } from "./method-not-allowed.ts";
import { type ListingRequest, listingFor, modelFor } from "./model-forms.ts";
import { shownStanding, shownTargets, type Standing } from "./standing.ts";
import {
  CHAT_COMPLETIONS,
  errorsAt,
  errorsBeside,
  type RefuseUnserved,
  unservedOperation,
} from "./unserved-operations.ts";
import {
  ADMIN_BASE,
  BASES,
  CALL_PATHS,
  KEY_PATHS,
  LIVE_PATHS,
  MCP_PATHS,
  MODEL_PATHS,
  OPENAPI_PATHS,
  PARAMS_PATHS,
  READY_PATHS,
} from "./paths.ts";
import { operationsAt } from "./model-operations.ts";
import {
  describeModel,
  describeRoute,
  findModel,
  type ListingView,
  listModels,
  type ModelSources,
  type NamedModel,
} from "./models.ts";

export interface AppContext {
  readonly clock: Clock;
  readonly version: string;
  snapshot(): Snapshot;
  readonly models: ModelSources;
  readonly logins: Logins;
  metrics(): Promise<{ readonly text: string; readonly contentType: string }>;
  /** Null while the gateway is ready, otherwise the reason why it is not. */
  notReady(): string | null;
  /** For `/readyz?verbose`. */
  standing(): MaybePromise<Standing>;
  readonly refuseUnserved: RefuseUnserved;
  /** What operations keep of calls; absent where nothing is kept. */
  readonly kept?: KeptStores;
  /** When absent, the admin API is not served. */
  readonly admin?: AdminSources;
  /** When absent, the web console is not served. */
  readonly console?: ConsoleSources;
  /** When absent, registered tools are not served. */
  readonly mcp?: Pick<McpContext, "toolServers" | "call" | "suspend" | "kept" | "held" | "isEnding" | "isRetiring">;
}

export interface ConsoleSources extends Pick<ConsoleContext, "store" | "files" | "settings" | "upstream" | "warn"> {
  /** Answers a request for an operation, for the caller who was identified already. */
  call(operation: Operation, request: Request, caller: ConsoleCaller): Promise<Response>;
}

/** What the admin API has beside what the app has for all requests. */
export interface AdminSources
  extends
    DocumentDependencies,
    Pick<
      AdminContext,
      | "store"
      | "limits"
      | "calls"
      | "contents"
      | "simulations"
      | "auditReads"
      | "toolServers"
      | "cache"
      | "follow"
      | "started"
      | "auditSigner"
      | "isEnding"
      | "turns"
      | "held"
    > {
  /** Makes a call for a caller who was identified already. */
  call(operation: Operation, request: Request, token: AccessToken): Promise<Response>;
}

interface Bindings {
  /** Address of the socket's peer; null when unknown. */
  readonly peer: string | null;
  /** A request of the console: the path below which it is served, and who asks. */
  readonly console?: { readonly path: string } & Pick<ConsoleCaller, "token" | "tokenNow" | "session">;
}
type AppEnv = {
  Bindings: Bindings;
  Variables: { traceId: string; startedMs: number; errors: CalledOperation["errors"] };
};

const CORS_MAX_AGE_S = "600";
const PREFLIGHT_CURE = " Web pages may call only from the origins listed in cors.origins of the configuration.";

export function createApp(context: AppContext): Hono<AppEnv> {
  const app = new Hono<AppEnv>({ getPath: (request, own) => own?.env?.console?.path ?? getPath(request) });
  const elapsedMs = (c: Context<AppEnv>): number => context.clock.monotonic() - c.get("startedMs");
  const cors = (c: Context<AppEnv>) =>
    c.env.console === undefined ? corsHeaders(c.req.header("origin") ?? null, context.snapshot().corsOrigins) : {};
  const ownHeaders = (c: Context<AppEnv>) => baseHeaders(c.get("traceId"), elapsedMs(c));
  const headersOf = (c: Context<AppEnv>) => ({ ...ownHeaders(c), ...cors(c) });
  const reply: Reply = (c, body, status = 200) =>
    new Response(JSON.stringify(body), { status, headers: { ...headersOf(c), "content-type": "application/json" } });

  app.use(async (c, next) => {
    c.set("traceId", newTraceId(context.clock.now()));
    c.set("errors", GATEWAY_ERRORS);
    c.set("startedMs", context.clock.monotonic());
    await next();
  });
  app.onError((thrown, c) =>
    errorResponse(c.get("errors"), asGatewayError(thrown), c.get("traceId"), elapsedMs(c), cors(c)),
  );
  app.notFound((c) => {
    const operation = unservedOperation(c.req.method, c.req.path);
    if (operation !== null) return context.refuseUnserved(operation, c.req.raw, c.env.peer);
    c.set("errors", errorsBeside(c.req.path));
    throw notFound(
      `Unknown path: ${c.req.method} ${c.req.path.slice(0, 200)}. Chat completions are at POST /api/v1/chat/completions.`,
    );
  });

  // before the preflights: the console answers none
  serveConsole(app, context, elapsedMs);
  app.options("*", (c, next) => {
    const allowed = cors(c);
    // Without CORS, OPTIONS is a method like any other: an existing path rejects it and names the methods that it
    // supports.
    if (Object.keys(allowed).length === 0) return next();
    const preflight = {
      "access-control-allow-methods": "GET, POST, PUT, PATCH, DELETE, OPTIONS",
      "access-control-allow-headers": c.req.header("access-control-request-headers") ?? "authorization, content-type",
      "access-control-max-age": CORS_MAX_AGE_S,
    };
    return new Response(null, { status: 204, headers: { ...ownHeaders(c), ...allowed, ...preflight } });
  });

  serveListings(app, context, reply);
  serveAdmin(app, context, headersOf);
  serveMcp(app, context, headersOf);
  for (const [path, { errors }] of CALL_PATHS) {
    app.use(path, async (c, next) => {
      c.set("errors", errors);
      await next();
    });
    app.get(path, (c, next) => {
      const isList = path.endsWith(`/${CHAT_COMPLETIONS}`);
      if (!isList && c.req.header("upgrade") === undefined) return next();
      const name = isList ? CHAT_COMPLETIONS : path.slice(path.lastIndexOf("/") + 1);
      return context.refuseUnserved(name, c.req.raw, c.env.peer);
    });
    refuseOthers(app, path, "POST");
  }

  // a path of an operation is no id of a response
  const streams = new EventStreams();
  for (const base of BASES) serveKeptResponses(app, base, context, reply, streams);

  serveProbes(app, context, reply, ownHeaders);
  return app;
}

type Reply = (c: Context<AppEnv>, body: JsonObject, status?: number) => Response;

/** What programs ask of the gateway beside calls: whether it is there, ready, and its metrics. */
function serveProbes(
  app: Hono<AppEnv>,
  context: AppContext,
  reply: Reply,
  ownHeaders: (c: Context<AppEnv>) => Record<string, string>,
): void {
  // some clients ask these before their first call
  app.get("/api/hello", (c) => new Response(null, { headers: ownHeaders(c) }));
  app.get("/", (c, next) => (c.req.method === "HEAD" ? new Response(null, { headers: ownHeaders(c) }) : next()));
  for (const path of LIVE_PATHS) app.get(path, (c) => reply(c, { status: "ok" }));
  const ready = async (c: Context<AppEnv>): Promise<Response> => {
    const why = context.notReady();
    const status = why === null ? 200 : 503;
    if (c.req.query("verbose") === undefined)
      return reply(c, why === null ? { status: "ready" } : { status: "not_ready", reason: why }, status);
    await requireOpsAccess(c, context);
    return reply(c, readiness(context, why, await context.standing()), status);
  };
  for (const path of READY_PATHS) app.get(path, ready);
  app.get("/metrics", async (c) => {
    await requireOpsAccess(c, context);
    const { text, contentType } = await context.metrics();
    return new Response(text, { headers: { ...ownHeaders(c), "content-type": contentType } });
  });
  for (const path of [...LIVE_PATHS, ...READY_PATHS, "/metrics"]) refuseOthers(app, path, "GET");
}

/** The code of the console is loaded with the first request for it. Reports are asked for soon after. */
function serveConsole(app: Hono<AppEnv>, context: AppContext, elapsedMs: (c: Context<AppEnv>) => number): void {
  const { console: sources } = context;
  const opened = loadedOnce(async (): Promise<ConsoleApp> => {
    context.admin?.calls?.prepareReports();
    const { createConsoleApp } = await import("./console/app.ts");
    return createConsoleApp({
      ...sources!,
      clock: context.clock,
      logins: context.logins,
      snapshot: () => context.snapshot(),
      follow: async () => await context.admin?.follow(),
      serve(request, path, caller) {
        const operation = request.method === "POST" ? CALL_PATHS.get(path) : undefined;
        return operation === undefined
          ? app.fetch(request, { peer: caller.peer, console: { ...caller, path } })
          : sources!.call(operation, request, caller);
      },
    });
  });
  for (const path of ["/console", "/console/*"])
    app.all(path, async (c) => {
      if (sources === undefined)
        throw notFound(
          "The web console is not served here. By default it is served only where server.host is an address of this machine; the operator sets console.enabled.",
        );
      const { peer } = c.env;
      return await (
        await opened()
      ).fetch(c.req.raw, c.req.path, { peer, traceId: c.get("traceId"), ownMs: () => elapsedMs(c) });
    });
}

/** The address of the gateway in browsers: as the request says it, unless the configuration does. */
function consoleAddress(c: Context<AppEnv>, context: AppContext): string | null {
  const { console: sources } = context;
  if (sources === undefined) return null;
  const settings = sources.settings();
  return settings.url ?? addressOf(arrivalOf(c.req.raw.headers, c.env.peer, settings, context.snapshot().proxyTrust));
}

const TENANT_ID = "x-gateway-tenant-id";
const PROJECT_ID = "x-gateway-project-id";

/** The tenant and the project that the head of a request without a body names (promise 2.1). */
function scopeInHead({ req: { raw } }: Context<AppEnv>): Parameters<typeof inNamedProject>[1] {
  return { tenantId: raw.headers.get(TENANT_ID), projectId: raw.headers.get(PROJECT_ID) };
}

/** A call that the admin API makes for its caller. */
async function calledFor(
  admin: AdminSources,
  operation: OperationName,
  body: JsonObject,
  { token, projectId }: CalledAs,
): Promise<Response> {
  const [path, served] = [...OPERATIONS].find(([, { name }]) => name === operation)!;
  return await admin.call(served, innerRequest(`/api/v1${path}`, body, { [PROJECT_ID]: projectId }), token);
}

/** The code of the admin API is loaded with the first request for it. */
function serveAdmin(
  app: Hono<AppEnv>,
  context: AppContext,
  headersOf: (c: Context<AppEnv>) => Readonly<Record<string, string>>,
): void {
  const { admin } = context;
  if (admin === undefined) return;
  const opened = loadedOnce(async (): Promise<Hono<AdminEnv>> => {
    const { createAdminApp } = await import("./admin/app.ts");
    return createAdminApp(
      {
        ...admin,
        clock: context.clock,
        version: context.version,
        targets: async () => (await context.standing()).targets,
        integrations: async () => (await context.standing()).integrations,
        notReady: () => context.notReady(),
        call: (operation, sent, caller) => calledFor(admin, operation, sent, caller),
        snapshot: () => context.snapshot(),
      },
      admin,
    );
  });
  for (const path of [ADMIN_BASE, `${ADMIN_BASE}/*`, ...KEY_PATHS, ...OPENAPI_PATHS])
    app.all(path, async (c) => {
      const bindings: AdminBindings = {
        path: c.req.path,
        session: c.env.console?.session ?? null,
        consoleAddress: () => consoleAddress(c, context),
        identify: () => authenticated(c, context),
        identifyAgain: () => authenticatedAgain(c, context),
        address: () => clientAddress(c.env.peer, c.req.raw.headers, context.snapshot().proxyTrust),
        reply: ({ status, headers, body }) => new Response(body, { status, headers: { ...headersOf(c), ...headers } }),
      };
      return await (await opened()).fetch(c.req.raw, bindings);
    });
}

/** The code of the MCP server is loaded with the first request for it. */
function serveMcp(
  app: Hono<AppEnv>,
  context: AppContext,
  headersOf: (c: Context<AppEnv>) => Readonly<Record<string, string>>,
): void {
  const { mcp } = context;
  if (mcp === undefined) return;
  const opened = loadedOnce(async () => {
    const { createMcpApp } = await import("./mcp/mcp-app.ts");
    return createMcpApp({ ...mcp, clock: context.clock, snapshot: () => context.snapshot() });
  });
  for (const path of MCP_PATHS) {
    const answer = async (c: Context<AppEnv>): Promise<Response> => {
      const served = await opened();
      const response = await served.answer({
        http: c.req.raw,
        address: clientAddress(c.env.peer, c.req.raw.headers, context.snapshot().proxyTrust),
        identify: () => authenticatedAgain(c, context),
      });
      for (const [name, value] of Object.entries(headersOf(c))) response.headers.set(name, value);
      return response;
    };
    for (const each of [path, `${path}/`]) {
      // a message may be no call at all, and the id of a call is known only after the head: results have it as `_meta`
      app.use(each, async (c, next) => {
        await next();
        c.res.headers.delete("x-gateway-trace-id");
      });
      app.all(each, answer);
    }
  }
}

/**
 * What is kept of responses: `GET` and `DELETE /responses/{id}`, and the lists of their input (promise 12.8). `streams`
 * counts the streams of events that are read, on all paths.
 */
function serveKeptResponses(
  app: Hono<AppEnv>,
  base: string,
  context: AppContext,
  reply: Reply,
  streams: EventStreams,
): void {
  const serve =
    (answer: (asked: KeptResponseRequest) => Promise<JsonObject | ReadableStream<string>>) =>
    async (c: Context<AppEnv>): Promise<Response> => {
      c.set("errors", errorsAt("responses"));
      const id = percentDecoded(c.req.param("id") ?? "");
      const address = (): string | null => clientAddress(c.env.peer, c.req.raw.headers, context.snapshot().proxyTrust);
      const kept = context.kept ?? { kept: null, durable: null, background: null, audit: null, clock: context.clock };
      const session = c.env.console?.session ?? null;
      const readerNow = async (): Promise<Reader> => {
        const token = await authenticatedAgain(c, context);
        requireMoreThanOps(token);
        const snapshot = context.snapshot();
        inNamedProject(token, scopeInHead(c), snapshot);
        return { token, address, ...(session !== null && { session }), snapshot };
      };
      const reader = await readerNow();
      // each of these answers with what was said
      requireRecentLogin(session, context.clock.now());
      const answered = await answer({ ...reader, kept, readerNow, id, query: (name) => c.req.query(name) });
      if (!(answered instanceof ReadableStream)) return reply(c, answered);
      const counted = streams.counted(answered, reader.token, c.req.raw.signal);
      const { headers } = reply(c, {});
      headers.set("content-type", "text/event-stream; charset=utf-8");
      for (const [name, value] of Object.entries(STREAM_HEADERS)) headers.set(name, value);
      return new Response(counted, { headers });
    };
  const path = `${base}/responses/:id`;
  app.get(path, serve(retrievedResponse)).delete(path, serve(deletedResponse));
  app.get(`${path}/input_items`, serve(inputItems)).post(`${path}/cancel`, serve(cancelledResponse));
}

/** Lists what a caller may call and the dispositions of each parameter there, for every caller with a token. */
function serveListings(app: Hono<AppEnv>, context: AppContext, reply: Reply): void {
  const requireToken = async (c: Context<AppEnv>): Promise<AccessToken> => {
    const token = await authenticated(c, context);
    requireMoreThanOps(token);
    return inNamedProject(token, scopeInHead(c), context.snapshot());
  };
  const viewOf = (token: AccessToken): ListingView => ({
    snapshot: snapshotSeenBy(context.snapshot(), token),
    scope: token,
    restrictions: restrictionsOf(token),
    nowMs: context.clock.now(),
  });
  const listingRequest = (c: Context<AppEnv>, token: AccessToken): ListingRequest => ({
    headers: c.req.raw.headers,
    query: (name) => c.req.query(name),
    deviates: (name) => deviates(name, settingsOf(token, context.snapshot())),
  });
  for (const path of MODEL_PATHS) {
    const list = async (c: Context<AppEnv>): Promise<Response> => {
      const token = await requireToken(c);
      const listed = listModels(viewOf(token), callableRoutes(token, context), context.models);
      return reply(c, listingFor(await inTurns(listed, context.clock), listingRequest(c, token)));
    };
    app.get(path, list).get(`${path}/`, list);
    app.get(`${path}/*`, async (c) => {
      const id = percentDecoded(c.req.path.slice(path.length + 1));
      const token = await requireToken(c);
      const route = findRoute(id, new Map(callableRoutes(token, context).map((each) => [each.name, each])), null);
      const model =
        route === undefined
          ? describeModel(namedModel(id, token, context), context.models, viewOf(token))
          : { ...describeRoute(route, viewOf(token), context.models), id };
      return reply(c, modelFor(model, { headers: c.req.raw.headers }));
    });
    refuseOthers(app, path, "GET");
  }
  for (const path of PARAMS_PATHS) {
    const params = async (c: Context<AppEnv>): Promise<Response> => {
      const token = await requireToken(c);
      const id = c.req.query("model") ?? "";
      if (id === "")
        throw invalidRequest("model", `${path} needs the query parameter model, as <provider>:<model_name>.`);
      const { settings, provider, model } = namedModel(id, token, context);
      return reply(c, {
        ...listCapabilities(settings.id, provider, model),
        operations: operationsAt(settings, provider, model),
      });
    };
    app.get(path, params).get(`${path}/`, params);
    refuseOthers(app, path, "GET");
  }
}

/** Throws what the authentication throws for a token that is not valid, or not valid from this address. */
async function authenticated(c: Context<AppEnv>, context: AppContext): Promise<AccessToken> {
  if (c.env.console !== undefined) return c.env.console.token;
  const snapshot = context.snapshot();
  const address = (): string | null => clientAddress(c.env.peer, c.req.raw.headers, snapshot.proxyTrust);
  return identify(presentedToken(c.req.raw.headers, snapshot), address, snapshot, context.logins, context.clock.now());
}

/** The same for a request that goes on for long: a session of the console may have ended since its request came. */
async function authenticatedAgain(c: Context<AppEnv>, context: AppContext): Promise<AccessToken> {
  return (await c.env.console?.tokenNow()) ?? authenticated(c, context);
}

function callableRoutes(token: AccessToken, context: AppContext): readonly Route[] {
  const snapshot = context.snapshot();
  return namedRoutes(routesFor(snapshot, token)).filter((route) => mayAnswer(route, snapshot, token));
}

/** Whether the token permits a target of the route, and one of those or a fallback is enabled in the place. */
function mayAnswer(route: Route, snapshot: Snapshot, token: AccessToken): boolean {
  const targets = permittedTargets(restrictionsOf(token), route);
  const isModelEnabled = (name: string): boolean => {
    const split = splitName(name);
    return split !== null && isEnabled(snapshot, token, `${split.providerId}:${split.model}`);
  };
  return (
    targets.some(({ name }) => isEnabled(snapshot, token, name)) ||
    (targets.length > 0 && route.fallbacks.some(({ model }) => model === null || isModelEnabled(model)))
  );
}

/** Throws `model_not_found`. */
function namedModel(id: string, token: AccessToken, context: AppContext): NamedModel {
  const found = findModel(id, snapshotSeenBy(context.snapshot(), token), context.models, restrictionsOf(token), token);
  if (found === null)
    throw modelNotFound("model", `The model ${JSON.stringify(id.slice(0, 100))} is unknown or not enabled.`);
  return found;
}

function refuseOthers(app: Hono<AppEnv>, path: string, allow: string): void {
  const refuse = (c: Context<AppEnv>): never => {
    throw methodNotAllowed(
      allow,
      `${path} takes ${allow}; got ${c.req.method}.${c.req.method === "OPTIONS" ? PREFLIGHT_CURE : ""}`,
    );
  };
  app.all(path, refuse).all(`${path}/`, refuse);
}

/**
 * Admits programs on this machine, operators, and tokens with the permission `ops`, unless the configuration opens the
 * path (promise 9.5).
 */
async function requireOpsAccess(c: Context<AppEnv>, context: AppContext): Promise<void> {
  const snapshot = context.snapshot();
  if (snapshot.opsOpen || isOnThisMachine(c.env.peer, c.req.raw.headers)) return;
  const token = await authenticated(c, context);
  if (!runsGateway(token, snapshot) && !token.permissions.includes(OPS))
    throw insufficientRole(
      "This path is open to programs on the gateway's machine, personal tokens of operators, and tokens with the permission ops; to open it to all, set ops.open in the configuration.",
    );
}

function readiness(context: AppContext, why: string | null, standing: Standing): JsonObject {
  return {
    status: why === null ? "ready" : "not_ready",
    reason: why,
    version: context.version,
    ...shownStanding(standing),
    providers: [...context.snapshot().providers.values()]
      .filter((settings) => settings.enabled)
      .map((settings) => settings.id),
    targets: shownTargets(standing.targets),
  };
}
