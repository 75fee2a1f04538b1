// Who may administer what (promises 2.3, 2.11): every operation of the OpenAPI document, tried by every kind of caller,
// in its own and in a foreign tenant. The expectations are written here independently: an operation that this file does
// not list fails.
import { afterAll, beforeAll, describe, expect, test } from "bun:test";
import Ajv from "ajv/dist/2020";
import formats from "ajv-formats";
import { type Role, ROLES, roleAtLeast } from "../../../src/core/identity.ts";
import type { ConfigurationScope } from "../../../src/store/records.ts";
import { allDatabases, SQLITE } from "../../harness/servers/databases.ts";
import { type AdminWorld, openAdminWorld, type Told } from "../../harness/admin.ts";
import { type Described, describedOperations } from "../../harness/admin-document.ts";
import { exampleRequest, furnish, type PathValues } from "../../harness/admin-examples.ts";

const VIEWER: Role = "viewer";
/** Of nouns with the same five or six verbs in tenants and in projects: who changes them there. Everybody with a role reads them. */
const WRITERS: Readonly<Record<string, readonly [tenant: Role, project: Role | null]>> = {
  Provider: ["admin", null],
  Policy: ["admin", "admin"],
  Price: ["admin", "admin"],
  ToolServer: ["admin", "admin"],
  Route: ["admin", "maintainer"],
  Limit: ["admin", "maintainer"],
  Budget: ["admin", "maintainer"],
  Webhook: ["admin", "maintainer"],
  Settings: ["admin", "maintainer"],
};
/** What no role gives. */
const READS_CONTENT: ReadonlySet<string> = new Set(["readTenantLogContent", "readProjectLogContent"]);
/** All others. `own`: whatever the caller sees. `operator`: who has that right. */
const OTHERS: Readonly<Record<string, Role | "own" | "operator">> = {
  readKey: "own",
  listTenants: "own",
  listProjects: "own",
  createTenant: "operator",
  deleteTenant: "operator",
  readTenant: VIEWER,
  updateTenant: "owner",
  createProject: "admin",
  readProject: VIEWER,
  updateProject: "admin",
  deleteProject: "admin",
  listUsers: "admin",
  createUser: "admin",
  readUser: "admin",
  updateUser: "admin",
  deleteUser: "admin",
  listTenantMemberships: "admin",
  putTenantMembership: "admin",
  deleteTenantMembership: "admin",
  listProjectMemberships: "admin",
  putProjectMembership: "admin",
  deleteProjectMembership: "admin",
  listTenantTokens: "admin",
  createTenantToken: "admin",
  readTenantToken: "admin",
  updateTenantToken: "admin",
  rotateTenantToken: "admin",
  revokeTenantToken: "admin",
  listProjectTokens: "maintainer",
  createProjectToken: "maintainer",
  readProjectToken: "maintainer",
  updateProjectToken: "maintainer",
  rotateProjectToken: "maintainer",
  revokeProjectToken: "maintainer",
  listTenantClaims: "admin",
  createTenantClaim: "admin",
  revokeTenantClaim: "admin",
  listProjectClaims: "maintainer",
  createProjectClaim: "maintainer",
  revokeProjectClaim: "maintainer",
  listSessions: "own",
  endSession: "own",
  listTenantSessions: "admin",
  endTenantSession: "admin",
  listTenantLogins: "admin",
  listTenantVersions: VIEWER,
  readTenantVersion: VIEWER,
  diffTenantVersions: VIEWER,
  rollBackTenant: "admin",
  listProjectVersions: VIEWER,
  readProjectVersion: VIEWER,
  diffProjectVersions: VIEWER,
  rollBackProject: "admin",
  listTenantTools: "developer",
  testTenantToolServer: "maintainer",
  callTenantTool: "admin",
  purgeTenantCache: "admin",
  listProjectTools: "developer",
  testProjectToolServer: "maintainer",
  callProjectTool: "maintainer",
  listTenantDrains: VIEWER,
  drainTenantProvider: "admin",
  endTenantDrain: "admin",
  testProjectProvider: "maintainer",
  listTenantAudit: "admin",
  listProjectAudit: "maintainer",
  rotateTenantWebhook: "admin",
  testTenantWebhook: "admin",
  rotateProjectWebhook: "maintainer",
  testProjectWebhook: "maintainer",
  listWebhookDeliveries: "operator",
  readWebhookDelivery: "operator",
  redeliverWebhookDelivery: "operator",
  listTenantWebhookDeliveries: "admin",
  readTenantWebhookDelivery: "admin",
  redeliverTenantWebhookDelivery: "admin",
  listProjectWebhookDeliveries: "maintainer",
  readProjectWebhookDelivery: "maintainer",
  redeliverProjectWebhookDelivery: "maintainer",
  listAudit: "operator",
  verifyAudit: "operator",
  exportAudit: "operator",
  verifyTenantAudit: "admin",
  exportTenantAudit: "admin",
  readTenantAuditAsOf: "admin",
  readUsage: "operator",
  followCalls: "own",
  listViews: "own",
  createView: "own",
  listIntegrations: "operator",
  listTenantIntegrations: VIEWER,
  listProjectIntegrations: VIEWER,
  readGateway: "own",
  updateView: "own",
  deleteView: "own",
  listProjectViews: VIEWER,
  createProjectView: "developer",
  updateProjectView: "developer",
  deleteProjectView: "developer",
  listCalls: "operator",
  readCall: "operator",
  readCallHistogram: "operator",
  readCallFacets: "operator",
  readTenantCallHistogram: VIEWER,
  readTenantCallFacets: VIEWER,
  readProjectCallHistogram: VIEWER,
  readProjectCallFacets: VIEWER,
  listLogs: "operator",
  readLog: "operator",
  listTenantLogs: VIEWER,
  readTenantLog: VIEWER,
  listProjectLogs: VIEWER,
  readProjectLog: VIEWER,
  readTenantLogContent: VIEWER,
  readProjectLogContent: VIEWER,
  removeTenantContent: "admin",
  removeProjectContent: "admin",
  ...Object.fromEntries(
    ["Tenant", "Project"].flatMap((place) =>
      [`list${place}LimitStates`, `read${place}LimitState`, `list${place}ProviderHealth`, `list${place}Attention`].map(
        (id) => [id, VIEWER] as const,
      ),
    ),
  ),
  ...Object.fromEntries(
    [
      ["Tenant", "Route", "admin"],
      ["Tenant", "Policy", "admin"],
      ["Project", "Route", "maintainer"],
      ["Project", "Policy", "admin"],
    ].flatMap(([place, noun, writer]) => [
      [`list${place}${noun}Versions`, VIEWER],
      [`rollBack${place}${noun}`, writer],
      [`put${place}${noun}Draft`, writer],
      [`read${place}${noun}Draft`, VIEWER],
      [`delete${place}${noun}Draft`, VIEWER],
    ]),
  ),
  listTenantDrafts: VIEWER,
  listProjectDrafts: VIEWER,
  simulateTenantRoute: VIEWER,
  simulateProjectRoute: VIEWER,
  compareTenantRoute: VIEWER,
  compareProjectRoute: VIEWER,
  simulateTenantPolicy: VIEWER,
  simulateProjectPolicy: VIEWER,
  readTenantUsage: VIEWER,
  readProjectUsage: VIEWER,
  listTenantCalls: VIEWER,
  listProjectCalls: VIEWER,
  readTenantCall: VIEWER,
  readProjectCall: VIEWER,
};

function needed(operationId: string): Role | "own" | "operator" | undefined {
  const other = OTHERS[operationId];
  if (other !== undefined) return other;
  const [, verb, place, word] =
    /^(list|create|read|replace|update|delete)(Tenant|Project)(\w+)$/.exec(operationId) ?? [];
  const noun = Object.keys(WRITERS).find(
    (one) => word === one || word === `${one}s` || word === one.replace(/y$/, "ies"),
  );
  if (verb === undefined || noun === undefined) return undefined;
  const writer = WRITERS[noun]![place === "Tenant" ? 0 : 1];
  return writer === null ? undefined : verb === "list" || verb === "read" ? VIEWER : writer;
}

interface Caller {
  /** A name of the world's tokens; null: none is sent. */
  readonly name: string | null;
  readonly isOperator?: true;
  /** Whether the token has the permission `read_content`. */
  readonly reads?: true;
  /** Whether the token has the permission `ops`, and can do nothing else. */
  readonly isScraper?: true;
  readonly tenantId?: string;
  roleIn(place: ConfigurationScope): Role | null;
}

const CALLERS: readonly Caller[] = [
  { name: null, roleIn: () => null },
  { name: "default.owner", isOperator: true, tenantId: "default", roleIn: () => "owner" },
  // the right is checked, and not the name of the tenant: an owner of the first tenant has no right elsewhere
  { name: "default.boss", tenantId: "default", roleIn: () => null },
  { name: "default.scraper", isScraper: true, tenantId: "default", roleIn: () => null },
  {
    name: "acme.reader",
    reads: true,
    tenantId: "acme",
    roleIn: ({ tenantId }) => (tenantId === "acme" ? "viewer" : null),
  },
  {
    name: "acme.site.reader",
    reads: true,
    tenantId: "acme",
    roleIn: ({ projectId }) => (projectId === "site" ? "viewer" : null),
  },
  { name: "default.admin", tenantId: "default", roleIn: () => null },
  ...ROLES.map((role): Caller => ({
    name: `acme.${role}`,
    tenantId: "acme",
    roleIn: ({ tenantId }) => (tenantId === "acme" ? role : null),
  })),
  ...(["viewer", "developer", "maintainer"] as const).flatMap((role): readonly Caller[] => [
    { name: `site-only.${role}`, tenantId: "acme", roleIn: ({ projectId }) => (projectId === "site" ? role : null) },
    { name: `acme.site.${role}`, tenantId: "acme", roleIn: ({ projectId }) => (projectId === "site" ? role : null) },
  ]),
];

/**
 * Who may do what is decided before a database is asked, so that one caller for each kind of answer suffices for the
 * second database.
 */
const FEW: ReadonlySet<string | null> = new Set([
  null,
  "default.owner",
  "default.boss",
  "acme.admin",
  "acme.viewer",
  "acme.site.reader",
  "site-only.maintainer",
]);

const TENANTS: readonly ConfigurationScope[] = [
  { tenantId: "acme", projectId: null },
  { tenantId: "beta", projectId: null },
];
/** The own, another of the same tenant, one of another tenant. */
const PROJECTS: readonly ConfigurationScope[] = [
  { tenantId: "acme", projectId: "site" },
  { tenantId: "acme", projectId: "app" },
  { tenantId: "beta", projectId: "lab" },
];

let world: AdminWorld;
let values: PathValues;
let operations: readonly Described[];
let judge: (operationId: string, body: unknown) => string;

function expected(caller: Caller, { operationId, reach }: Described, place: ConfigurationScope): number {
  const least = operationId === "followCalls" ? VIEWER : needed(operationId)!;
  if (caller.name === null) return 401;
  if (caller.isScraper === true) return 403;
  // those of another user are not the caller's
  if (
    ["endSession", "updateView", "deleteView"].includes(operationId) &&
    (caller.name !== "acme.viewer" || place.tenantId !== "acme")
  )
    return 404;
  if (least === "own")
    return place.tenantId === "acme" || caller.isOperator === true || operationId !== "listProjects" ? 200 : 404;
  if (least === "operator") return caller.isOperator === true ? 200 : 403;
  const role = caller.roleIn(place);
  if (role !== null)
    return roleAtLeast(role, least) && (caller.reads === true || !READS_CONTENT.has(operationId)) ? 200 : 403;
  const isOfTenant = reach === "tenant" || operationId === "followCalls";
  return isOfTenant && place.tenantId === caller.tenantId ? 403 : 404;
}

async function tried(
  caller: Caller,
  operation: Described,
  place: ConfigurationScope,
  wrongBody?: string,
): Promise<Told> {
  const { method, path, body } = exampleRequest(operation, place, values, caller.tenantId);
  return await world.send(caller.name, method, path, body === undefined ? undefined : (wrongBody ?? body));
}

const kinds = await allDatabases();
afterAll(async () => void (await Promise.all(kinds.map((kind) => kind.dispose()))));

for (const kind of kinds)
  describe.skipIf(kind.isMissing)(`in ${kind.name}`, () => {
    const callers = kind === SQLITE ? CALLERS : CALLERS.filter(({ name }) => FEW.has(name));
    beforeAll(async () => {
      world = await openAdminWorld({ kind });
      values = await furnish(world, [...TENANTS, ...PROJECTS]);
      const { body: document } = await world.send(null, "GET", "/api/v1/openapi.json");
      const schemas = new Map<string, unknown>();
      operations = describedOperations(document);
      for (const of of Object.values<Record<string, any>>(document.paths).flatMap((item) => Object.values(item)))
        schemas.set(
          of.operationId,
          Object.entries<any>(of.responses).find(([status]) => status.startsWith("20"))![1].content?.[
            "application/json"
          ]?.schema,
        );
      const ajv = new Ajv({ strict: false });
      formats(ajv);
      ajv.addSchema({ $id: "document", components: document.components });
      const checks = new Map<string, ReturnType<typeof ajv.compile>>();
      judge = (operationId, body) => {
        const check =
          checks.get(operationId) ??
          ajv.compile(
            JSON.parse(
              JSON.stringify(schemas.get(operationId) ?? {}).replaceAll("#/components", "document#/components"),
            ),
          );
        checks.set(operationId, check);
        return check(body) ? "" : ajv.errorsText(check.errors);
      };
    });
    afterAll(() => world.close());

    describe("every operation, every caller, every scope", () => {
      test("[d2.3] [d9.3] each operation of the document is in the table of this file, with the same role", () => {
        expect(operations.length).toBeGreaterThan(100);
        expect(
          operations
            .filter(({ operationId }) => needed(operationId) === undefined)
            .map(({ operationId }) => operationId),
        ).toEqual([]);
        for (const { operationId, role, reach } of operations) {
          const least = needed(operationId)!;
          expect([operationId, least === "own" || least === "operator" ? [least] : [role]]).toEqual([
            operationId,
            least === "own" || least === "operator" ? [reach as "own"] : [least],
          ]);
        }
      });

      test("[d2.3] [d2.11] [d9.3] a caller with the role succeeds, a lower role gets 403, an outsider 404, a caller without a token 401; the answer has the documented shape", async () => {
        const wrong: string[] = [];
        let cells = 0;
        for (const operation of operations) {
          const places = operation.path.includes("{project}") ? PROJECTS : TENANTS;
          for (const place of places)
            for (const caller of callers) {
              cells++;
              const { status, text, body } = await tried(caller, operation, place);
              const due = expected(caller, operation, place);
              const is = status >= 200 && status < 300 ? 200 : status;
              if (is !== due)
                wrong.push(
                  `${operation.operationId} as ${caller.name ?? "nobody"} in ${place.tenantId}/${place.projectId ?? ""}: ${status}, expected ${due}: ${text.slice(0, 200)}`,
                );
              else if (is === 200 && body !== null) {
                const why = judge(operation.operationId, body);
                if (why !== "")
                  wrong.push(`${operation.operationId}: its answer is not what the document says: ${why}`);
              }
            }
        }
        console.log(`${operations.length} operations, ${callers.length} callers, ${cells} cells`);
        expect(wrong.slice(0, 20)).toEqual([]);
      });

      test("[d2.11] [d9.3] a caller without the right is refused whatever the body: mistakes in the body are reported only to callers who may send it", async () => {
        const wrong: string[] = [];
        const bodies = ["{}", "{", '{"surplus": 1}'];
        let cells = 0;
        for (const operation of operations.filter(({ bodySchema }) => bodySchema !== null))
          for (const place of operation.path.includes("{project}") ? PROJECTS : TENANTS)
            for (const caller of callers) {
              const due = expected(caller, operation, place);
              // the place of a project that is to be is in the body: of the tenant beside nothing is known without it
              if (due === 200 || (operation.operationId === "createProject" && place.tenantId !== caller.tenantId))
                continue;
              // everybody changes views of their own, and whose it is, is known after the body
              if (operation.operationId === "updateView" && due === 404) continue;
              const body = bodies[cells++ % bodies.length]!;
              const { status, text } = await tried(caller, operation, place, body);
              if (status !== due)
                wrong.push(
                  `${operation.operationId} as ${caller.name ?? "nobody"} in ${place.tenantId}/${place.projectId ?? ""} with ${body}: ${status}, expected ${due}: ${text.slice(0, 200)}`,
                );
            }
        expect(wrong.slice(0, 20)).toEqual([]);
      });
    });
  });
