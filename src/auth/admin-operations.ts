// Every operation of the admin API and the access that it requires (promise 2.3), in one table: the API enforces it,
// its OpenAPI document shows it, and the test matrix of roles is made from it. An operation that is not in this table
// cannot be served.

// Decides (who may call, and with what): Who may do what in the admin API? By: `ADMIN_OPERATIONS`. Also: `grants.ts`
// (`requireRole`). Rule: The table has a role and a reach for each operation.
import { CONFIGURED_NOUNS, type ConfiguredNoun, EVERY_NOUN } from "../core/configured/configured.ts";
import type { Permission, Role } from "../core/identity.ts";

/**
 * What an operation is about. `own`: what the caller can see, for every live token. `operator`: the whole gateway.
 * `tenant` and `project`: the one that the path names.
 */
export type OperationScope = "own" | "operator" | "tenant" | "project";

export interface Requirement {
  readonly reach: OperationScope;
  /** The lowest role that suffices there. */
  readonly role: Role;
  /** Required in addition to the role. */
  readonly permission?: Permission;
}

/** The roles that may change objects of the configuration. Every role may read them, because their secrets are masked. */
const WRITERS: Readonly<Record<ConfiguredNoun, { readonly tenant: Role; readonly project: Role | null }>> = {
  // Addresses and credentials belong to the tenant; a project has none of its own.
  providers: { tenant: "admin", project: null },
  tool_servers: { tenant: "admin", project: "admin" },
  policies: { tenant: "admin", project: "admin" },
  // Budgets of money count with these prices.
  prices: { tenant: "admin", project: "admin" },
  routes: { tenant: "admin", project: "maintainer" },
  limits: { tenant: "admin", project: "maintainer" },
  budgets: { tenant: "admin", project: "maintainer" },
  webhooks: { tenant: "admin", project: "maintainer" },
  settings: { tenant: "admin", project: "maintainer" },
};

export type ConfiguredVerb = "list" | "create" | "read" | "replace" | "update" | "delete";
const READING: ReadonlySet<ConfiguredVerb> = new Set(["list", "read"]);

/** Each place has one settings document, which always exists. */
export function verbsOf(noun: ConfiguredNoun): readonly ConfiguredVerb[] {
  return noun === "settings"
    ? ["read", "replace", "update", "delete"]
    : ["list", "create", "read", "replace", "update", "delete"];
}

/** Whether projects have entries of their own. */
export function mayBelongToProject(noun: ConfiguredNoun): boolean {
  return WRITERS[noun].project !== null;
}

/** For example `createProjectLimit` or `listTenantRoutes`. */
export function configuredOperationId(verb: ConfiguredVerb, reach: "tenant" | "project", noun: ConfiguredNoun): string {
  const { id, ids } = CONFIGURED_NOUNS[noun];
  return `${verb}${reach === "tenant" ? "Tenant" : "Project"}${verb === "list" ? ids : id}`;
}

/** Drafts and versions of the nouns that have them, by the role that writes each. */
function draftsAndVersions(
  reach: "tenant" | "project",
  writers: Readonly<Record<"Route" | "Policy", Role>>,
): Readonly<Record<string, Requirement>> {
  const place = reach === "tenant" ? "Tenant" : "Project";
  const ofNoun = Object.entries(writers).flatMap(([one, role]) => [
    [`list${place}${one}Versions`, { reach, role: "viewer" }],
    [`rollBack${place}${one}`, { reach, role }],
    // Everybody sees only their own drafts.
    [`read${place}${one}Draft`, { reach, role: "viewer" }],
    [`put${place}${one}Draft`, { reach, role }],
    [`delete${place}${one}Draft`, { reach, role: "viewer" }],
  ]);
  return Object.fromEntries([...ofNoun, [`list${place}Drafts`, { reach, role: "viewer" }]]) as Record<
    string,
    Requirement
  >;
}

const FIXED: Readonly<Record<string, Requirement>> = {
  readKey: { reach: "own", role: "viewer" },
  listTenants: { reach: "own", role: "viewer" },
  createTenant: { reach: "operator", role: "owner" },
  readTenant: { reach: "tenant", role: "viewer" },
  updateTenant: { reach: "tenant", role: "owner" },
  deleteTenant: { reach: "operator", role: "owner" },
  listProjects: { reach: "own", role: "viewer" },
  createProject: { reach: "tenant", role: "admin" },
  readProject: { reach: "project", role: "viewer" },
  updateProject: { reach: "project", role: "admin" },
  deleteProject: { reach: "project", role: "admin" },
  listUsers: { reach: "tenant", role: "admin" },
  createUser: { reach: "tenant", role: "admin" },
  readUser: { reach: "tenant", role: "admin" },
  updateUser: { reach: "tenant", role: "admin" },
  deleteUser: { reach: "tenant", role: "admin" },
  listTenantMemberships: { reach: "tenant", role: "admin" },
  putTenantMembership: { reach: "tenant", role: "admin" },
  deleteTenantMembership: { reach: "tenant", role: "admin" },
  listProjectMemberships: { reach: "project", role: "admin" },
  putProjectMembership: { reach: "project", role: "admin" },
  deleteProjectMembership: { reach: "project", role: "admin" },
  // A personal token acts as its user, so the role to create one has to be as high.
  listTenantTokens: { reach: "tenant", role: "admin" },
  createTenantToken: { reach: "tenant", role: "admin" },
  readTenantToken: { reach: "tenant", role: "admin" },
  updateTenantToken: { reach: "tenant", role: "admin" },
  rotateTenantToken: { reach: "tenant", role: "admin" },
  revokeTenantToken: { reach: "tenant", role: "admin" },
  listProjectTokens: { reach: "project", role: "maintainer" },
  createProjectToken: { reach: "project", role: "maintainer" },
  readProjectToken: { reach: "project", role: "maintainer" },
  updateProjectToken: { reach: "project", role: "maintainer" },
  rotateProjectToken: { reach: "project", role: "maintainer" },
  revokeProjectToken: { reach: "project", role: "maintainer" },
  // A claim link gives a token, so the rights are those for tokens.
  listTenantClaims: { reach: "tenant", role: "admin" },
  createTenantClaim: { reach: "tenant", role: "admin" },
  revokeTenantClaim: { reach: "tenant", role: "admin" },
  listProjectClaims: { reach: "project", role: "maintainer" },
  createProjectClaim: { reach: "project", role: "maintainer" },
  revokeProjectClaim: { reach: "project", role: "maintainer" },
  listSessions: { reach: "own", role: "viewer" },
  endSession: { reach: "own", role: "viewer" },
  listTenantSessions: { reach: "tenant", role: "admin" },
  endTenantSession: { reach: "tenant", role: "admin" },
  listTenantLogins: { reach: "tenant", role: "admin" },
  listTenantVersions: { reach: "tenant", role: "viewer" },
  readTenantVersion: { reach: "tenant", role: "viewer" },
  diffTenantVersions: { reach: "tenant", role: "viewer" },
  // A version holds resources of every kind.
  rollBackTenant: { reach: "tenant", role: "admin" },
  listProjectVersions: { reach: "project", role: "viewer" },
  readProjectVersion: { reach: "project", role: "viewer" },
  diffProjectVersions: { reach: "project", role: "viewer" },
  rollBackProject: { reach: "project", role: "admin" },
  // A tool acts with the credentials of the tool server, past every policy and limit.
  listTenantTools: { reach: "tenant", role: "developer" },
  testTenantToolServer: { reach: "tenant", role: "maintainer" },
  callTenantTool: { reach: "tenant", role: "admin" },
  listProjectTools: { reach: "project", role: "developer" },
  testProjectToolServer: { reach: "project", role: "maintainer" },
  callProjectTool: { reach: "project", role: "maintainer" },
  // Whoever configures a provider may keep calls from it; a test costs what a call of the project costs.
  listTenantDrains: { reach: "tenant", role: "viewer" },
  drainTenantProvider: { reach: "tenant", role: "admin" },
  endTenantDrain: { reach: "tenant", role: "admin" },
  testProjectProvider: { reach: "project", role: "maintainer" },
  // The audit log says which caller did what from where, so not every reader of a configuration may see it.
  listTenantAudit: { reach: "tenant", role: "admin" },
  listProjectAudit: { reach: "project", role: "maintainer" },
  listAudit: { reach: "operator", role: "owner" },
  verifyAudit: { reach: "operator", role: "owner" },
  exportAudit: { reach: "operator", role: "owner" },
  verifyTenantAudit: { reach: "tenant", role: "admin" },
  exportTenantAudit: { reach: "tenant", role: "admin" },
  readTenantAuditAsOf: { reach: "tenant", role: "admin" },
  // The answers of webhook receivers are visible to the roles that may configure webhooks.
  listWebhookDeliveries: { reach: "operator", role: "owner" },
  readWebhookDelivery: { reach: "operator", role: "owner" },
  redeliverWebhookDelivery: { reach: "operator", role: "owner" },
  listTenantWebhookDeliveries: { reach: "tenant", role: "admin" },
  readTenantWebhookDelivery: { reach: "tenant", role: "admin" },
  redeliverTenantWebhookDelivery: { reach: "tenant", role: "admin" },
  listProjectWebhookDeliveries: { reach: "project", role: "maintainer" },
  readProjectWebhookDelivery: { reach: "project", role: "maintainer" },
  redeliverProjectWebhookDelivery: { reach: "project", role: "maintainer" },
  rotateTenantWebhook: { reach: "tenant", role: "admin" },
  testTenantWebhook: { reach: "tenant", role: "admin" },
  rotateProjectWebhook: { reach: "project", role: "maintainer" },
  testProjectWebhook: { reach: "project", role: "maintainer" },
  readUsage: { reach: "operator", role: "owner" },
  // Whose calls they get; figures and errors are in it for operators only, and so is how the gateway is run.
  listIntegrations: { reach: "operator", role: "owner" },
  listTenantIntegrations: { reach: "tenant", role: "viewer" },
  listProjectIntegrations: { reach: "project", role: "viewer" },
  readGateway: { reach: "own", role: "viewer" },
  listViews: { reach: "own", role: "viewer" },
  createView: { reach: "own", role: "viewer" },
  updateView: { reach: "own", role: "viewer" },
  deleteView: { reach: "own", role: "viewer" },
  listProjectViews: { reach: "project", role: "viewer" },
  // They are what everybody in the project begins with.
  createProjectView: { reach: "project", role: "developer" },
  updateProjectView: { reach: "project", role: "developer" },
  deleteProjectView: { reach: "project", role: "developer" },
  // Each place that it names has to be one whose calls the caller may list.
  followCalls: { reach: "own", role: "viewer" },
  listCalls: { reach: "operator", role: "owner" },
  readCall: { reach: "operator", role: "owner" },
  readCallHistogram: { reach: "operator", role: "owner" },
  readCallFacets: { reach: "operator", role: "owner" },
  listLogs: { reach: "operator", role: "owner" },
  readLog: { reach: "operator", role: "owner" },
  listTenantLogs: { reach: "tenant", role: "viewer" },
  readTenantLog: { reach: "tenant", role: "viewer" },
  listProjectLogs: { reach: "project", role: "viewer" },
  readProjectLog: { reach: "project", role: "viewer" },
  // No role suffices to read content: the token needs the permission too.
  readTenantLogContent: { reach: "tenant", role: "viewer", permission: "read_content" },
  readProjectLogContent: { reach: "project", role: "viewer", permission: "read_content" },
  // The tenant has to pay again for answers that are removed.
  purgeTenantCache: { reach: "tenant", role: "admin" },
  removeTenantContent: { reach: "tenant", role: "admin" },
  removeProjectContent: { reach: "project", role: "admin" },
  ...draftsAndVersions("tenant", { Route: "admin", Policy: "admin" }),
  ...draftsAndVersions("project", { Route: "maintainer", Policy: "admin" }),
  // It shows what the calls and the routes show that the same caller may list.
  simulateTenantRoute: { reach: "tenant", role: "viewer" },
  simulateProjectRoute: { reach: "project", role: "viewer" },
  compareTenantRoute: { reach: "tenant", role: "viewer" },
  compareProjectRoute: { reach: "project", role: "viewer" },
  simulateTenantPolicy: { reach: "tenant", role: "viewer" },
  simulateProjectPolicy: { reach: "project", role: "viewer" },
  listTenantLimitStates: { reach: "tenant", role: "viewer" },
  readTenantLimitState: { reach: "tenant", role: "viewer" },
  listTenantProviderHealth: { reach: "tenant", role: "viewer" },
  // Tokens are in it only for the roles that may list them.
  listTenantAttention: { reach: "tenant", role: "viewer" },
  readTenantUsage: { reach: "tenant", role: "viewer" },
  listTenantCalls: { reach: "tenant", role: "viewer" },
  readTenantCallHistogram: { reach: "tenant", role: "viewer" },
  readTenantCallFacets: { reach: "tenant", role: "viewer" },
  readTenantCall: { reach: "tenant", role: "viewer" },
  listProjectLimitStates: { reach: "project", role: "viewer" },
  readProjectLimitState: { reach: "project", role: "viewer" },
  listProjectProviderHealth: { reach: "project", role: "viewer" },
  // Tokens are in it only for the roles that may list them.
  listProjectAttention: { reach: "project", role: "viewer" },
  readProjectUsage: { reach: "project", role: "viewer" },
  listProjectCalls: { reach: "project", role: "viewer" },
  readProjectCallHistogram: { reach: "project", role: "viewer" },
  readProjectCallFacets: { reach: "project", role: "viewer" },
  readProjectCall: { reach: "project", role: "viewer" },
};

function configuredRequirements(noun: ConfiguredNoun): readonly (readonly [string, Requirement])[] {
  const writers = WRITERS[noun];
  const at = (reach: "tenant" | "project", writer: Role): readonly (readonly [string, Requirement])[] =>
    verbsOf(noun).map(
      (verb) =>
        [configuredOperationId(verb, reach, noun), { reach, role: READING.has(verb) ? "viewer" : writer }] as const,
    );
  return [...at("tenant", writers.tenant), ...(writers.project === null ? [] : at("project", writers.project))];
}

/** The requirements by operation id. */
export const ADMIN_OPERATIONS: ReadonlyMap<string, Requirement> = new Map([
  ...Object.entries(FIXED),
  ...EVERY_NOUN.flatMap(configuredRequirements),
]);
