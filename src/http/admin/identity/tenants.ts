// Tenants and projects.
import { z } from "zod";
import { type AdminCaller, nothingThere, requireOperator, roleAt } from "../../../auth/grants.ts";
import type { Project } from "../../../core/identity.ts";
import { conflict } from "../../../core/refusals.ts";
import type { Kept, StoredTenant } from "../../../store/records.ts";
import { byId, cursorAt, keyBefore } from "../../../store/database/pages.ts";
import { type Page, type PageRequest, type Reader, everyRow } from "../../../store/reader.ts";
import type { AdminOperation } from "../operation.ts";
import { chosenId } from "../schemas.ts";
import { identityOperations, NAME, type Thing } from "./identity-operations.ts";

const days = z.int().min(1).max(36_500).nullable();
const CAPS = {
  personal_days: "Longest lifetime of personal tokens.",
  project_days: "Longest lifetime of project tokens.",
} as const;
const tokenCaps = z
  .strictObject({
    personal_days: days.default(null).meta({ description: CAPS.personal_days }),
    project_days: days.default(null).meta({ description: CAPS.project_days }),
  })
  .nullable()
  .meta({ id: "TokenCaps", description: "The longest lifetime of access tokens, in days; null for no maximum." });
const tokenCapsChange = z
  .strictObject({
    personal_days: days.optional().meta({ description: CAPS.personal_days }),
    project_days: days.optional().meta({ description: CAPS.project_days }),
  })
  .nullable()
  .meta({
    id: "TokenCapsChange",
    description: "The longest lifetime of access tokens, in days; null for no maximum. One that is left out stays.",
  });

/** As the store lists them, so that a caller whose role changes goes on from the same page. */
const PROJECTS = byId("projects");

/**
 * All projects of the tenant when the caller has a role in the whole tenant, else the projects in which the caller has
 * a role.
 */
async function visibleProjects(
  caller: AdminCaller,
  store: Reader,
  tenantId: string,
  page: PageRequest,
  filter: { readonly search?: string },
): Promise<Page<Kept<Project>>> {
  if (roleAt(caller, { tenantId, projectId: null }) !== null)
    return await store.listProjects(page, { tenantId, ...filter });
  const ids =
    caller.token.projectId === null
      ? caller.memberships.flatMap(({ projectId }) => (projectId === null ? [] : [projectId]))
      : [caller.token.projectId];
  const own = await Promise.all([...new Set(ids)].toSorted().map((id) => store.findProject(id)));
  const word = filter.search?.toLowerCase();
  const shown = own
    .filter((one) => one !== null)
    .filter(
      ({ id, name, tenantId: of }) =>
        of === tenantId && (word === undefined || id.toLowerCase().includes(word) || name.toLowerCase().includes(word)),
    );
  const [before] = keyBefore(page, PROJECTS) ?? [];
  const after = before === undefined ? shown : shown.filter(({ id }) => id > before);
  const data = after.slice(0, page.limit);
  return { data, nextCursor: after.length > data.length ? cursorAt(PROJECTS, [data.at(-1)!.id]) : null };
}

const TENANT: Thing<StoredTenant> = {
  word: "Tenant",
  base: "/tenants",
  summaries: {
    list: "List the tenants in which the caller has a role; all for operators",
    create: "Create a tenant",
    read: "Get a tenant",
    update: "Change a tenant's name or its maximum token lifetimes",
    delete: "Delete a tenant with everything in it",
  },
  fields: {
    name: NAME,
    token_caps: {
      created: tokenCaps.optional(),
      changed: tokenCapsChange.optional(),
      shown: tokenCaps,
      of: ({ tokenCaps: caps }) =>
        caps === undefined ? null : { personal_days: caps.personalDays, project_days: caps.projectDays },
      into: (caps: z.output<typeof tokenCapsChange>, current) => {
        const { personalDays = null, projectDays = null } = (caps === null ? null : current?.tokenCaps) ?? {};
        const { personal_days: personal = personalDays, project_days: project = projectDays } = caps ?? {};
        return { tokenCaps: { personalDays: personal, projectDays: project } };
      },
    },
  },
  async list({ caller }, store, page, filter) {
    const { tenantId } = caller.token;
    if (caller.isOperator) return await store.listTenants(page, filter);
    if (roleAt(caller, { tenantId, projectId: null }) === null) return { data: [], nextCursor: null };
    return await store.listTenants(page, { ...filter, id: tenantId });
  },
  async require({ params: { tenant: id } }, store) {
    const found = await store.findTenant(id!);
    if (found === null) throw nothingThere(`tenant ${id}`);
    return found;
  },
  async allowDelete({ caller }, _store, { id }) {
    if (id === caller.token.tenantId)
      throw conflict("The access token of this request belongs to this tenant, so it cannot be deleted.");
  },
  create: (writer, tenant) => writer.createTenant(tenant),
  change: (writer, id, change) => writer.changeTenant(id, change),
  remove: (writer, id) => writer.removeTenant(id),
};

/** As if the roles in the project were removed one by one: only operators take the last role of one, and none their own. */
async function requireOperatorsKeepRoles(caller: AdminCaller, store: Reader, { id, tenantId }: Project): Promise<void> {
  for await (const { id: userId } of everyRow((page) => store.listUsers(page, { tenantId, isOperator: true }))) {
    const { data } = await store.listMemberships({ limit: 2 }, { userId });
    if (data.length !== 1 || data[0]!.projectId !== id) continue;
    requireOperator(caller, "project");
    if (userId === caller.token.userId)
      throw conflict("Your only role is in this project. Ask another operator to give you another one first.");
  }
}

const ofTenant = chosenId.optional().meta({ description: "The default is the tenant of the access token." });

const PROJECT: Thing<Project> = {
  word: "Project",
  base: "/projects",
  summaries: {
    list: "List the projects of a tenant to which the caller has access",
    create: "Create a project",
    read: "Get a project",
    update: "Change a project's name",
    delete: "Delete a project with its tokens, memberships and configuration",
  },
  fields: { name: NAME, tenant_id: { created: ofTenant } },
  filters: { tenant_id: ofTenant },
  placeOf: (body, caller) => ({
    tenantId: (body as { readonly tenant_id?: string }).tenant_id ?? caller.token.tenantId,
    projectId: null,
  }),
  async list({ caller }, store, page, { tenant_id: tenantId = caller.token.tenantId, ...filter }) {
    if (tenantId !== caller.token.tenantId && !caller.isOperator) throw nothingThere(`tenant ${tenantId}`);
    return await visibleProjects(caller, store, tenantId, page, filter);
  },
  async require({ params: { project: id } }, store) {
    const found = await store.findProject(id!);
    if (found === null) throw nothingThere(`project ${id}`);
    return found;
  },
  allowDelete: ({ caller }, store, project) => requireOperatorsKeepRoles(caller, store, project),
  create: (writer, project) => writer.createProject(project),
  change: (writer, id, change) => writer.changeProject(id, change),
  remove: (writer, id) => writer.removeProject(id),
};

export const TENANT_OPERATIONS: readonly AdminOperation[] = [
  ...identityOperations(TENANT),
  ...identityOperations(PROJECT),
];
