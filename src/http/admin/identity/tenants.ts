// Tenants and projects.
import { z } from "zod";
import { type AdminCaller, nothingThere, roleAt } from "../../../auth/grants.ts";
import { GatewayError } from "../../../core/errors.ts";
import type { Project } from "../../../core/identity.ts";
import type { JsonObject } from "../../../core/json.ts";
import type { Kept, StoredTenant, TokenCaps } from "../../../store/records.ts";
import type { Page, Reader } from "../../../store/reader.ts";
import { type AdminOperation, type Answer, reading, writing } from "../operation.ts";
import {
  chosenId,
  requireEtag,
  dryRunQuery,
  etagField,
  etagOf,
  shownVersion,
  label,
  listed,
  listOf,
  pageOf,
  pageQuery,
  search,
  time,
} from "../schemas.ts";

const days = z.int().min(1).max(36_500).nullable().default(null);
const tokenCaps = z
  .strictObject({
    personal_days: days.meta({ description: "Longest lifetime of personal tokens." }),
    project_days: days.meta({ description: "Longest lifetime of project tokens." }),
  })
  .nullable()
  .meta({ id: "TokenCaps", description: "The longest lifetime of access tokens, in days; null for no maximum." });

const tenant = z
  .strictObject({
    id: chosenId,
    name: z.string(),
    token_caps: tokenCaps,
    etag: etagField,
    created_at: time.nullable(),
    updated_at: time.nullable(),
  })
  .meta({ id: "Tenant" });
const project = z
  .strictObject({
    id: chosenId,
    tenant_id: chosenId,
    name: z.string(),
    etag: etagField,
    created_at: time.nullable(),
    updated_at: time.nullable(),
  })
  .meta({ id: "Project" });

const newTenant = z
  .strictObject({ id: chosenId, name: label.optional(), token_caps: tokenCaps.optional() })
  .meta({ id: "NewTenant" });
const tenantChange = z
  .strictObject({ name: label.optional(), token_caps: tokenCaps.optional() })
  .meta({ id: "TenantChange" });
const newProject = z
  .strictObject({
    id: chosenId,
    name: label.optional(),
    tenant_id: chosenId.optional().meta({ description: "The default is the tenant of the access token." }),
  })
  .meta({ id: "NewProject" });
const projectChange = z.strictObject({ name: label.optional() }).meta({ id: "ProjectChange" });

export function shownTenant(kept: Kept<StoredTenant>): JsonObject {
  const { id, name, tokenCaps: caps } = kept;
  return {
    id,
    name,
    token_caps: caps === undefined ? null : { personal_days: caps.personalDays, project_days: caps.projectDays },
    ...shownVersion(kept),
  };
}

function shownProject(kept: Kept<Project>): JsonObject {
  return { id: kept.id, tenant_id: kept.tenantId, name: kept.name, ...shownVersion(kept) };
}

const answerTenant = (kept: Kept<StoredTenant>, status: 200 | 201 = 200): Answer => ({
  status,
  body: shownTenant(kept),
  etag: etagOf(kept),
});
const answerProject = (kept: Kept<Project>, status: 200 | 201 = 200): Answer => ({
  status,
  body: shownProject(kept),
  etag: etagOf(kept),
});

function capsOf(caps: z.output<typeof tokenCaps> | undefined): { readonly tokenCaps?: TokenCaps } {
  return caps == null ? {} : { tokenCaps: { personalDays: caps.personal_days, projectDays: caps.project_days } };
}

async function requireExistingTenant(store: Reader, id: string): Promise<Kept<StoredTenant>> {
  const found = await store.findTenant(id);
  if (found === null) throw nothingThere(`tenant ${id}`);
  return found;
}
async function requireExistingProject(store: Reader, id: string): Promise<Kept<Project>> {
  const found = await store.findProject(id);
  if (found === null) throw nothingThere(`project ${id}`);
  return found;
}

/**
 * All projects of the tenant when the caller has a role in the whole tenant, else the projects in which the caller has
 * a role.
 */
async function visibleProjects(
  caller: AdminCaller,
  store: Reader,
  tenantId: string,
  page: ReturnType<typeof pageOf>,
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
  const after = page.cursor == null ? shown : shown.filter(({ id }) => id > page.cursor!);
  const data = after.slice(0, page.limit);
  return { data, nextCursor: after.length > data.length ? data.at(-1)!.id : null };
}

const listTenants = reading({
  id: "listTenants",
  path: "/tenants",
  tag: "tenants",
  summary: "List the tenants in which the caller has a role; all for operators",
  query: z.strictObject({ ...pageQuery, search }),
  answer: listOf(tenant, "TenantList"),
  run: async ({ caller, query }, store) => {
    const { tenantId } = caller.token;
    const seesAny = caller.isOperator || roleAt(caller, { tenantId, projectId: null }) !== null;
    if (!seesAny) return { body: { data: [], next_cursor: null } };
    return {
      body: listed(
        await store.listTenants(pageOf(query), {
          ...(!caller.isOperator && { id: tenantId }),
          ...(query.search !== undefined && { search: query.search }),
        }),
        shownTenant,
      ),
    };
  },
});
const createTenant = writing({
  method: "post",
  id: "createTenant",
  path: "/tenants",
  tag: "tenants",
  summary: "Create a tenant",
  query: z.strictObject(dryRunQuery),
  body: newTenant,
  answer: tenant,
  run: async ({ body }, writer) =>
    answerTenant(
      await writer.createTenant({ id: body.id, name: body.name ?? body.id, ...capsOf(body.token_caps) }),
      201,
    ),
});
const readTenant = reading({
  id: "readTenant",
  path: "/tenants/{tenant}",
  tag: "tenants",
  summary: "Get a tenant",
  answer: tenant,
  run: async ({ params }, store) => answerTenant(await requireExistingTenant(store, params["tenant"]!)),
});
const updateTenant = writing({
  method: "patch",
  id: "updateTenant",
  path: "/tenants/{tenant}",
  tag: "tenants",
  summary: "Change a tenant's name or its maximum token lifetimes",
  query: z.strictObject(dryRunQuery),
  body: tenantChange,
  answer: tenant,
  run: async ({ params, body, ifMatch }, writer) => {
    const current = await requireExistingTenant(writer, params["tenant"]!);
    requireEtag(ifMatch, current);
    const { tokenCaps: caps, ...rest } = current;
    const changed = {
      ...rest,
      name: body.name ?? current.name,
      ...(body.token_caps === undefined ? caps !== undefined && { tokenCaps: caps } : capsOf(body.token_caps)),
    };
    return answerTenant(await writer.changeTenant(current.id, () => changed));
  },
});
const deleteTenant = writing({
  method: "delete",
  id: "deleteTenant",
  path: "/tenants/{tenant}",
  tag: "tenants",
  summary: "Delete a tenant with everything in it",
  query: z.strictObject(dryRunQuery),
  run: async ({ caller, params, ifMatch }, writer) => {
    const current = await requireExistingTenant(writer, params["tenant"]!);
    requireEtag(ifMatch, current);
    if (current.id === caller.token.tenantId)
      throw new GatewayError(
        "conflict",
        "The access token of this request belongs to this tenant, so it cannot be deleted.",
      );
    await writer.removeTenant(current.id);
    return { body: null };
  },
});

const listProjects = reading({
  id: "listProjects",
  path: "/projects",
  tag: "projects",
  summary: "List the projects of a tenant to which the caller has access",
  query: z.strictObject({
    ...pageQuery,
    search,
    tenant_id: chosenId.optional().meta({ description: "The default is the tenant of the access token." }),
  }),
  answer: listOf(project, "ProjectList"),
  run: async ({ caller, query }, store) => {
    const tenantId = query.tenant_id ?? caller.token.tenantId;
    if (tenantId !== caller.token.tenantId && !caller.isOperator) throw nothingThere(`tenant ${tenantId}`);
    return {
      body: listed(
        await visibleProjects(
          caller,
          store,
          tenantId,
          pageOf(query),
          query.search === undefined ? {} : { search: query.search },
        ),
        shownProject,
      ),
    };
  },
});
const createProject = writing({
  method: "post",
  id: "createProject",
  path: "/projects",
  tag: "projects",
  summary: "Create a project",
  query: z.strictObject(dryRunQuery),
  body: newProject,
  answer: project,
  placeOf: (body, caller) => ({ tenantId: body.tenant_id ?? caller.token.tenantId, projectId: null }),
  run: async ({ body, place }, writer) =>
    answerProject(
      await writer.createProject({ id: body.id, tenantId: place!.tenantId, name: body.name ?? body.id }),
      201,
    ),
});
const readProject = reading({
  id: "readProject",
  path: "/projects/{project}",
  tag: "projects",
  summary: "Get a project",
  answer: project,
  run: async ({ params }, store) => answerProject(await requireExistingProject(store, params["project"]!)),
});
const updateProject = writing({
  method: "patch",
  id: "updateProject",
  path: "/projects/{project}",
  tag: "projects",
  summary: "Change a project's name",
  query: z.strictObject(dryRunQuery),
  body: projectChange,
  answer: project,
  run: async ({ params, body, ifMatch }, writer) => {
    const current = await requireExistingProject(writer, params["project"]!);
    requireEtag(ifMatch, current);
    return answerProject(await writer.changeProject(current.id, (now) => ({ ...now, name: body.name ?? now.name })));
  },
});
const deleteProject = writing({
  method: "delete",
  id: "deleteProject",
  path: "/projects/{project}",
  tag: "projects",
  summary: "Delete a project with its tokens, memberships and configuration",
  query: z.strictObject(dryRunQuery),
  run: async ({ params, ifMatch }, writer) => {
    const current = await requireExistingProject(writer, params["project"]!);
    requireEtag(ifMatch, current);
    await writer.removeProject(current.id);
    return { body: null };
  },
});

export const TENANT_OPERATIONS: readonly AdminOperation[] = [
  listTenants,
  createTenant,
  readTenant,
  updateTenant,
  deleteTenant,
  listProjects,
  createProject,
  readProject,
  updateProject,
  deleteProject,
];
