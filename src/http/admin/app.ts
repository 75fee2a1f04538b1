// Assembles the admin API. It is loaded with the first request that needs it, so that the start does not pay for it.
import { type Context, Hono } from "hono";
import { getPath } from "hono/utils/url";
import { requireMoreThanOps } from "../../auth/grants.ts";
import { notFound } from "../../core/refusals.ts";
import { attentionOperations } from "./health/attention.ts";
import { auditOperations } from "./audit/audit.ts";
import { cacheOperations } from "./cache.ts";
import { callEventOperations } from "./calls/call-events.ts";
import { callOperations } from "./calls/calls.ts";
import { CLAIM_OPERATIONS } from "./identity/claims.ts";
import { configuredOperations } from "./configured/configured.ts";
import { draftOperations } from "./configured/drafts.ts";
import { documentRules } from "./configured/documents.ts";
import type { DocumentDependencies } from "./configured/document-rule.ts";
import { fileDocuments } from "./configured/file-documents.ts";
import { checked, queryOf } from "./input.ts";
import { describeKey, keyQuery } from "./identity/key.ts";
import { methodNotAllowed } from "../method-not-allowed.ts";
import { KEY_PATHS, OPENAPI_PATHS } from "../paths.ts";
import { gatewayOperations } from "./about-gateway.ts";
import { integrationOperations } from "./health/integrations.ts";
import { historyOperations } from "./configured/history.ts";
import { limitStateOperations } from "./health/limit-states.ts";
import { LOGIN_OPERATIONS } from "./identity/logins.ts";
import { logOperations } from "./calls/logs.ts";
import type { AuditReads } from "../../store/audit/audit-reads.ts";
import type { AdminContext, AdminOperation, AdminReply, AdminStore } from "./operation.ts";
import { type AdminEnv, refuseOtherMethods, serveOperations } from "./request/admin-request.ts";
import { routeComparisonOperations } from "./configured/route-comparison.ts";
import { routeSimulationOperations } from "./configured/route-simulation.ts";
import { SESSION_OPERATIONS } from "./identity/sessions.ts";
import { DRAIN_OPERATIONS } from "./health/drains.ts";
import { objectVersionOperations } from "./configured/object-versions.ts";
import { policySimulationOperations } from "./configured/policy-simulation.ts";
import { providerHealthOperations } from "./health/provider-health.ts";
import { providerTestOperations } from "./health/provider-test.ts";
import { keptCalls, openReportReads } from "./report-reads.ts";
import { TENANT_OPERATIONS } from "./identity/tenants.ts";
import { tokenOperations } from "./identity/tokens.ts";
import { toolOperations } from "./health/tools.ts";
import { usageOperations } from "./calls/usage.ts";
import { webhookAdminOperations } from "./health/webhooks.ts";
import { USER_OPERATIONS } from "./identity/users.ts";
import { VIEW_OPERATIONS } from "./views.ts";

/** Every operation below `/api/v1/admin`. */
export function adminOperations(
  dependencies: DocumentDependencies,
  context: Omit<AdminContext, "store" | "auditReads" | "follow" | "turns" | "held"> & {
    /** `null` where the operations are only described. */
    readonly store: Pick<AdminStore, "drafts"> | null;
    readonly auditReads: AuditReads | null;
  },
): readonly AdminOperation[] {
  const { contents, simulations, clock, limits, targets } = context;
  const rules = documentRules(dependencies);
  const configured = { rules, dependencies, inFile: fileDocuments(dependencies) };
  const reads = context.calls === null ? null : openReportReads(context.calls, clock);
  const calls = keptCalls(reads);
  return [
    ...TENANT_OPERATIONS,
    ...USER_OPERATIONS,
    ...tokenOperations(reads),
    ...SESSION_OPERATIONS,
    ...LOGIN_OPERATIONS,
    ...CLAIM_OPERATIONS,
    ...VIEW_OPERATIONS,
    ...configuredOperations(configured, simulations, {
      webhooks: webhookAdminOperations,
      routes: objectVersionOperations("routes", reads),
      policies: objectVersionOperations("policies", reads),
    }),
    ...routeSimulationOperations(simulations, configured),
    ...routeComparisonOperations(calls, configured),
    ...policySimulationOperations(simulations, configured),
    ...draftOperations(() => context.store!.drafts, configured),
    ...historyOperations({ rules, dependencies }),
    ...auditOperations({ reads: context.auditReads, signer: context.auditSigner }),
    ...usageOperations(calls),
    ...callOperations(calls, {
      providers: dependencies.providers,
      contents,
      integrations: () => dependencies.configuration().integrations,
    }),
    ...callEventOperations(calls, context),
    ...limitStateOperations({ calls, limits }),
    ...providerHealthOperations({ calls, targets }),
    ...integrationOperations(dependencies, context.integrations),
    ...gatewayOperations(dependencies, context),
    ...DRAIN_OPERATIONS,
    ...providerTestOperations({
      targets,
      call: context.call,
      providers: dependencies.providers,
      monotonic: () => clock.monotonic(),
    }),
    ...attentionOperations({ calls, limits, targets }),
    ...logOperations(calls, contents),
    ...toolOperations(context.toolServers, () => clock.monotonic()),
    ...cacheOperations(context.cache),
  ];
}

/** Errors are thrown to the enclosing app, which gives all errors the same body. */
export function createAdminApp(context: AdminContext, dependencies: DocumentDependencies): Hono<AdminEnv> {
  const app = new Hono<AdminEnv>({ getPath: (request, own) => own?.env?.path ?? getPath(request) });
  const operations = adminOperations(dependencies, context);
  serveOperations(app, operations, context);
  refuseOtherMethods(app, operations);
  serveKey(app, context);
  serveDocument(app, operations, context);
  app.onError((thrown) => {
    throw thrown;
  });
  app.notFound((c) => {
    throw notFound(
      `Unknown path: ${c.req.method} ${c.req.path.slice(0, 200)}. GET /api/v1/openapi.json lists all paths.`,
    );
  });
  return app;
}

type AdminHttp = Context<AdminEnv>;

/** Paths of the API that are none of the admin API's, and of which one can only get something. */
function serveGet(
  app: Hono<AdminEnv>,
  paths: readonly string[],
  answer: (c: AdminHttp) => Promise<Omit<AdminReply, "status">>,
): void {
  for (const path of paths)
    app
      .get(path, async (c) => c.env.reply({ status: 200, ...(await answer(c)) }))
      .all(path, (c) => {
        throw methodNotAllowed("GET", `${path} accepts GET only; got ${c.req.method}.`);
      });
}

function serveKey(app: Hono<AdminEnv>, context: AdminContext): void {
  serveGet(app, KEY_PATHS, async (c) => {
    const token = await c.env.identify();
    requireMoreThanOps(token);
    const { user = null } = checked(keyQuery, queryOf(c.req.url));
    const body = await describeKey(token, context.snapshot(), context.limits, user);
    return {
      headers: { "content-type": "application/json", "cache-control": "no-store" },
      body: JSON.stringify(body),
    };
  });
}

/** The document needs no token, because it contains nothing about any tenant. */
function serveDocument(app: Hono<AdminEnv>, operations: readonly AdminOperation[], { version }: AdminContext): void {
  let document: string | null = null;
  serveGet(app, OPENAPI_PATHS, async () => {
    const { openapiDocument } = await import("./openapi.ts");
    document ??= JSON.stringify(openapiDocument(operations, version));
    return { headers: { "content-type": "application/json" }, body: document };
  });
}
