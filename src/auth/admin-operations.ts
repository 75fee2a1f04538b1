// Every operation of the admin API and the access that it requires (promise 2.3), in one table: the API enforces it,
// its OpenAPI document shows it, and the test matrix of roles is made from it. An operation that is not in this table
// cannot be served.

// Decides (who may call, and with what): Who may do what in the admin API? By: `ADMIN_OPERATIONS`. Also: `grants.ts`
// (`requireRole`). Rule: The table has a reach, a role, and the login that a session of the console needs, for each
// operation.
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
  /**
   * The login that a session of the console needs for the operation. `recent` is for operations that give rights, take
   * away many rights at once, or show or remove the content of calls, so that a person who finds an open browser cannot
   * perform them. `recent_for_rights` requires a recent login only if the body gives rights, or if the token that is
   * rotated has them.
   */
  readonly login: "any" | "recent" | "recent_for_rights";
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
    [`list${place}${one}Versions`, { reach, role: "viewer", login: "any" }],
    [`rollBack${place}${one}`, { reach, role, login: "any" }],
    // Everybody sees only their own drafts.
    [`read${place}${one}Draft`, { reach, role: "viewer", login: "any" }],
    [`put${place}${one}Draft`, { reach, role, login: "any" }],
    [`delete${place}${one}Draft`, { reach, role: "viewer", login: "any" }],
  ]);
  return Object.fromEntries([...ofNoun, [`list${place}Drafts`, { reach, role: "viewer", login: "any" }]]) as Record<
    string,
    Requirement
  >;
}

const FIXED: Readonly<Record<string, Requirement>> = {
  readKey: { reach: "own", role: "viewer", login: "any" },
  listTenants: { reach: "own", role: "viewer", login: "any" },
  createTenant: { reach: "operator", role: "owner", login: "any" },
  readTenant: { reach: "tenant", role: "viewer", login: "any" },
  updateTenant: { reach: "tenant", role: "owner", login: "any" },
  deleteTenant: { reach: "operator", role: "owner", login: "recent" },
  listProjects: { reach: "own", role: "viewer", login: "any" },
  createProject: { reach: "tenant", role: "admin", login: "any" },
  readProject: { reach: "project", role: "viewer", login: "any" },
  updateProject: { reach: "project", role: "admin", login: "any" },
  deleteProject: { reach: "project", role: "admin", login: "recent" },
  listUsers: { reach: "tenant", role: "admin", login: "any" },
  createUser: { reach: "tenant", role: "admin", login: "recent" },
  readUser: { reach: "tenant", role: "admin", login: "any" },
  updateUser: { reach: "tenant", role: "admin", login: "recent_for_rights" },
  deleteUser: { reach: "tenant", role: "admin", login: "recent" },
  listTenantMemberships: { reach: "tenant", role: "admin", login: "any" },
  putTenantMembership: { reach: "tenant", role: "admin", login: "recent" },
  deleteTenantMembership: { reach: "tenant", role: "admin", login: "any" },
  listProjectMemberships: { reach: "project", role: "admin", login: "any" },
  putProjectMembership: { reach: "project", role: "admin", login: "recent" },
  deleteProjectMembership: { reach: "project", role: "admin", login: "any" },
  // A personal token acts as its user, so the role to create one has to be as high.
  listTenantTokens: { reach: "tenant", role: "admin", login: "any" },
  createTenantToken: { reach: "tenant", role: "admin", login: "recent" },
  readTenantToken: { reach: "tenant", role: "admin", login: "any" },
  updateTenantToken: { reach: "tenant", role: "admin", login: "recent_for_rights" },
  rotateTenantToken: { reach: "tenant", role: "admin", login: "recent" },
  revokeTenantToken: { reach: "tenant", role: "admin", login: "any" },
  listProjectTokens: { reach: "project", role: "maintainer", login: "any" },
  createProjectToken: { reach: "project", role: "maintainer", login: "recent_for_rights" },
  readProjectToken: { reach: "project", role: "maintainer", login: "any" },
  updateProjectToken: { reach: "project", role: "maintainer", login: "recent_for_rights" },
  rotateProjectToken: { reach: "project", role: "maintainer", login: "recent_for_rights" },
  revokeProjectToken: { reach: "project", role: "maintainer", login: "any" },
  // A claim link gives a token, so the rights are those for tokens.
  listTenantClaims: { reach: "tenant", role: "admin", login: "any" },
  createTenantClaim: { reach: "tenant", role: "admin", login: "recent" },
  revokeTenantClaim: { reach: "tenant", role: "admin", login: "any" },
  listProjectClaims: { reach: "project", role: "maintainer", login: "any" },
  createProjectClaim: { reach: "project", role: "maintainer", login: "recent_for_rights" },
  revokeProjectClaim: { reach: "project", role: "maintainer", login: "any" },
  listSessions: { reach: "own", role: "viewer", login: "any" },
  endSession: { reach: "own", role: "viewer", login: "any" },
  listTenantSessions: { reach: "tenant", role: "admin", login: "any" },
  endTenantSession: { reach: "tenant", role: "admin", login: "any" },
  listTenantLogins: { reach: "tenant", role: "admin", login: "any" },
  listTenantVersions: { reach: "tenant", role: "viewer", login: "any" },
  readTenantVersion: { reach: "tenant", role: "viewer", login: "any" },
  diffTenantVersions: { reach: "tenant", role: "viewer", login: "any" },
  // A version holds resources of every kind.
  rollBackTenant: { reach: "tenant", role: "admin", login: "any" },
  listProjectVersions: { reach: "project", role: "viewer", login: "any" },
  readProjectVersion: { reach: "project", role: "viewer", login: "any" },
  diffProjectVersions: { reach: "project", role: "viewer", login: "any" },
  rollBackProject: { reach: "project", role: "admin", login: "any" },
  // A tool acts with the credentials of the tool server, past every policy and limit.
  listTenantTools: { reach: "tenant", role: "developer", login: "any" },
  testTenantToolServer: { reach: "tenant", role: "maintainer", login: "any" },
  callTenantTool: { reach: "tenant", role: "admin", login: "any" },
  listProjectTools: { reach: "project", role: "developer", login: "any" },
  testProjectToolServer: { reach: "project", role: "maintainer", login: "any" },
  callProjectTool: { reach: "project", role: "maintainer", login: "any" },
  // Whoever configures a provider may keep calls from it; a test costs what a call of the project costs.
  listTenantDrains: { reach: "tenant", role: "viewer", login: "any" },
  drainTenantProvider: { reach: "tenant", role: "admin", login: "any" },
  endTenantDrain: { reach: "tenant", role: "admin", login: "any" },
  testProjectProvider: { reach: "project", role: "maintainer", login: "any" },
  // The audit log says which caller did what from where, so not every reader of a configuration may see it.
  listTenantAudit: { reach: "tenant", role: "admin", login: "any" },
  listProjectAudit: { reach: "project", role: "maintainer", login: "any" },
  listAudit: { reach: "operator", role: "owner", login: "any" },
  verifyAudit: { reach: "operator", role: "owner", login: "any" },
  exportAudit: { reach: "operator", role: "owner", login: "any" },
  verifyTenantAudit: { reach: "tenant", role: "admin", login: "any" },
  exportTenantAudit: { reach: "tenant", role: "admin", login: "any" },
  readTenantAuditAsOf: { reach: "tenant", role: "admin", login: "any" },
  // The answers of webhook receivers are visible to the roles that may configure webhooks.
  listWebhookDeliveries: { reach: "operator", role: "owner", login: "any" },
  readWebhookDelivery: { reach: "operator", role: "owner", login: "any" },
  redeliverWebhookDelivery: { reach: "operator", role: "owner", login: "any" },
  listTenantWebhookDeliveries: { reach: "tenant", role: "admin", login: "any" },
  readTenantWebhookDelivery: { reach: "tenant", role: "admin", login: "any" },
  redeliverTenantWebhookDelivery: { reach: "tenant", role: "admin", login: "any" },
  listProjectWebhookDeliveries: { reach: "project", role: "maintainer", login: "any" },
  readProjectWebhookDelivery: { reach: "project", role: "maintainer", login: "any" },
  redeliverProjectWebhookDelivery: { reach: "project", role: "maintainer", login: "any" },
  rotateTenantWebhook: { reach: "tenant", role: "admin", login: "any" },
  testTenantWebhook: { reach: "tenant", role: "admin", login: "any" },
  rotateProjectWebhook: { reach: "project", role: "maintainer", login: "any" },
  testProjectWebhook: { reach: "project", role: "maintainer", login: "any" },
  readUsage: { reach: "operator", role: "owner", login: "any" },
  // Whose calls they get; figures and errors are in it for operators only, and so is how the gateway is run.
  listIntegrations: { reach: "operator", role: "owner", login: "any" },
  listTenantIntegrations: { reach: "tenant", role: "viewer", login: "any" },
  listProjectIntegrations: { reach: "project", role: "viewer", login: "any" },
  readGateway: { reach: "own", role: "viewer", login: "any" },
  listViews: { reach: "own", role: "viewer", login: "any" },
  createView: { reach: "own", role: "viewer", login: "any" },
  updateView: { reach: "own", role: "viewer", login: "any" },
  deleteView: { reach: "own", role: "viewer", login: "any" },
  listProjectViews: { reach: "project", role: "viewer", login: "any" },
  // They are what everybody in the project begins with.
  createProjectView: { reach: "project", role: "developer", login: "any" },
  updateProjectView: { reach: "project", role: "developer", login: "any" },
  deleteProjectView: { reach: "project", role: "developer", login: "any" },
  // Each place that it names has to be one whose calls the caller may list.
  followCalls: { reach: "own", role: "viewer", login: "any" },
  listCalls: { reach: "operator", role: "owner", login: "any" },
  readCall: { reach: "operator", role: "owner", login: "any" },
  readCallHistogram: { reach: "operator", role: "owner", login: "any" },
  readCallFacets: { reach: "operator", role: "owner", login: "any" },
  listLogs: { reach: "operator", role: "owner", login: "any" },
  readLog: { reach: "operator", role: "owner", login: "any" },
  listTenantLogs: { reach: "tenant", role: "viewer", login: "any" },
  readTenantLog: { reach: "tenant", role: "viewer", login: "any" },
  listProjectLogs: { reach: "project", role: "viewer", login: "any" },
  readProjectLog: { reach: "project", role: "viewer", login: "any" },
  // No role suffices to read content: the token needs the permission too.
  readTenantLogContent: { reach: "tenant", role: "viewer", permission: "read_content", login: "recent" },
  readProjectLogContent: { reach: "project", role: "viewer", permission: "read_content", login: "recent" },
  // The tenant has to pay again for answers that are removed.
  purgeTenantCache: { reach: "tenant", role: "admin", login: "any" },
  removeTenantContent: { reach: "tenant", role: "admin", login: "recent" },
  removeProjectContent: { reach: "project", role: "admin", login: "recent" },
  ...draftsAndVersions("tenant", { Route: "admin", Policy: "admin" }),
  ...draftsAndVersions("project", { Route: "maintainer", Policy: "admin" }),
  // It shows what the calls and the routes show that the same caller may list.
  simulateTenantRoute: { reach: "tenant", role: "viewer", login: "any" },
  simulateProjectRoute: { reach: "project", role: "viewer", login: "any" },
  compareTenantRoute: { reach: "tenant", role: "viewer", login: "any" },
  compareProjectRoute: { reach: "project", role: "viewer", login: "any" },
  simulateTenantPolicy: { reach: "tenant", role: "viewer", login: "any" },
  simulateProjectPolicy: { reach: "project", role: "viewer", login: "any" },
  listTenantLimitStates: { reach: "tenant", role: "viewer", login: "any" },
  readTenantLimitState: { reach: "tenant", role: "viewer", login: "any" },
  listTenantProviderHealth: { reach: "tenant", role: "viewer", login: "any" },
  // Tokens are in it only for the roles that may list them.
  listTenantAttention: { reach: "tenant", role: "viewer", login: "any" },
  readTenantUsage: { reach: "tenant", role: "viewer", login: "any" },
  listTenantCalls: { reach: "tenant", role: "viewer", login: "any" },
  readTenantCallHistogram: { reach: "tenant", role: "viewer", login: "any" },
  readTenantCallFacets: { reach: "tenant", role: "viewer", login: "any" },
  readTenantCall: { reach: "tenant", role: "viewer", login: "any" },
  listProjectLimitStates: { reach: "project", role: "viewer", login: "any" },
  readProjectLimitState: { reach: "project", role: "viewer", login: "any" },
  listProjectProviderHealth: { reach: "project", role: "viewer", login: "any" },
  // Tokens are in it only for the roles that may list them.
  listProjectAttention: { reach: "project", role: "viewer", login: "any" },
  readProjectUsage: { reach: "project", role: "viewer", login: "any" },
  listProjectCalls: { reach: "project", role: "viewer", login: "any" },
  readProjectCallHistogram: { reach: "project", role: "viewer", login: "any" },
  readProjectCallFacets: { reach: "project", role: "viewer", login: "any" },
  readProjectCall: { reach: "project", role: "viewer", login: "any" },
};

function configuredRequirements(noun: ConfiguredNoun): readonly (readonly [string, Requirement])[] {
  const writers = WRITERS[noun];
  const at = (reach: "tenant" | "project", writer: Role): readonly (readonly [string, Requirement])[] =>
    verbsOf(noun).map(
      (verb) =>
        [
          configuredOperationId(verb, reach, noun),
          { reach, role: READING.has(verb) ? "viewer" : writer, login: "any" },
        ] as const,
    );
  return [...at("tenant", writers.tenant), ...(writers.project === null ? [] : at("project", writers.project))];
}

/** The requirements by operation id. */
export const ADMIN_OPERATIONS: ReadonlyMap<string, Requirement> = new Map([
  ...Object.entries(FIXED),
  ...EVERY_NOUN.flatMap(configuredRequirements),
]);
