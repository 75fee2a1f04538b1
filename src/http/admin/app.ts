// The admin API put together. Loaded with the first request that needs it: a start without one does not pay for it.
import { Hono } from "hono";
import { GatewayError } from "../../core/errors.ts";
import { configuredOperations } from "./configured.ts";
import { documentRules } from "./documents.ts";
import type { DocumentWorld } from "./document-rule.ts";
import { fileDocuments } from "./file-documents.ts";
import { HISTORY_OPERATIONS } from "./history.ts";
import type { AdminContext, AdminOperation } from "./operation.ts";
import { type AdminEnv, refuseOtherMethods, serveOperations } from "./serve.ts";
import { TENANT_OPERATIONS } from "./tenants.ts";
import { TOKEN_OPERATIONS } from "./tokens.ts";
import { USER_OPERATIONS } from "./users.ts";

/** Every operation below `/api/v1/admin`. */
export function adminOperations(world: DocumentWorld): readonly AdminOperation[] {
  return [...TENANT_OPERATIONS, ...USER_OPERATIONS, ...TOKEN_OPERATIONS, ...configuredOperations({ rules: documentRules(world), inFile: fileDocuments(world) }), ...HISTORY_OPERATIONS];
}

/** What it throws is for the app around it, which has one body for every error. */
export function createAdminApp(context: AdminContext, world: DocumentWorld): Hono<AdminEnv> {
  const app = new Hono<AdminEnv>();
  const operations = adminOperations(world);
  serveOperations(app, operations, context);
  refuseOtherMethods(app, operations);
  app.onError((thrown) => {
    throw thrown;
  });
  app.notFound((c) => {
    throw new GatewayError("not_found", `There is nothing at ${c.req.method} ${c.req.path.slice(0, 200)}. GET /api/v1/openapi.json describes what is there.`);
  });
  return app;
}
