// The audit log, and the versions of the configuration with their differences and the rollback to one of them.
import { z } from "zod";
import { nothingThere, placeText } from "../../auth/grants.ts";
import { ROLES } from "../../core/identity.ts";
import type { JsonObject } from "../../core/json.ts";
import {
  type Actor,
  AUDIT_WAYS,
  type AuditRow,
  type Change,
  type Version,
  type VersionSummary,
} from "../../store/records.ts";
import { type AdminOperation, reading, writing } from "./operation.ts";
import { rollBackTo, type RollBackContext } from "./rollback.ts";
import { chosenId, dryRunQuery, instant, iso, listed, listOf, pageOf, pageQuery, time } from "./schemas.ts";

const actor = z
  .strictObject({
    token_id: z.string().nullable(),
    user_id: z.string().nullable(),
    tenant_id: z.string().nullable(),
    role: z.enum(ROLES).nullable(),
  })
  .meta({
    id: "Actor",
    description: "Who did it. All fields are null for the command line on the database's machine.",
  });
const anything = z.unknown().meta({ description: "Values before and after the change; secrets are masked." });
const auditRow = z
  .strictObject({
    id: z.string(),
    at: time,
    actor,
    address: z.string().nullable().meta({ description: "Address of the client." }),
    via: z.enum(AUDIT_WAYS).nullable().meta({
      description:
        "How it was asked for: on a page of the console, with the command line, or by another client of the API; null where that is not known.",
    }),
    session_id: z.string().nullable().meta({ description: "The session of the console." }),
    action: z.string(),
    outcome: z.enum(["done", "refused"]),
    kind: z.string(),
    target_id: z.string().nullable(),
    target_name: z.string().nullable(),
    tenant_id: z.string().nullable(),
    project_id: z.string().nullable(),
    before: anything,
    after: anything,
    note: z.string().nullable(),
    version: z.int().nullable(),
    sequence: z.int().nullable().meta({ description: "Its number in the chain of its tenant: docs/audit.md." }),
    hash: z.string().nullable().meta({ description: "Its hash in the chain, which depends on all rows before it." }),
  })
  .meta({ id: "AuditRow" });
const change = z
  .strictObject({
    action: z.enum(["create", "change", "remove"]),
    kind: z.string(),
    id: z.string(),
    name: z.string().nullable(),
    tenant_id: z.string(),
    project_id: z.string().nullable(),
    before: anything,
    after: anything,
  })
  .meta({ id: "Change" });
const versionHead = { number: z.int(), at: time, actor, rolled_back_to: z.int().nullable() };
const versionSummary = z.strictObject({ ...versionHead, changes: z.int() }).meta({ id: "VersionSummary" });
const version = z.strictObject({ ...versionHead, changes: z.array(change) }).meta({ id: "Version" });
const difference = z.strictObject({ from: z.int(), to: z.int(), changes: z.array(change) }).meta({ id: "Difference" });
const rolledBack = z.strictObject({ rolled_back_to: z.int(), changes: z.array(change) }).meta({ id: "RolledBack" });

const number = z.coerce.number().int().min(0).max(Number.MAX_SAFE_INTEGER);
const versionNumber = z.int().min(0).max(Number.MAX_SAFE_INTEGER);

const shownActor = ({ tokenId, userId, tenantId, role }: Actor): JsonObject => ({
  token_id: tokenId,
  user_id: userId,
  tenant_id: tenantId,
  role,
});
const shownChange = ({ action, kind, id, name, tenantId, projectId, before, after }: Change): JsonObject => ({
  action,
  kind,
  id,
  name,
  tenant_id: tenantId,
  project_id: projectId,
  before,
  after,
});
const shownHead = ({
  number: of,
  atMs,
  actor: who,
  rolledBackTo,
}: Pick<Version, "number" | "atMs" | "actor" | "rolledBackTo">): JsonObject => ({
  number: of,
  at: iso(atMs),
  actor: shownActor(who),
  rolled_back_to: rolledBackTo,
});
const shownSummary = (summary: VersionSummary): JsonObject => ({ ...shownHead(summary), changes: summary.changes });

function shownAudit({
  id,
  atMs,
  actor: who,
  action,
  outcome,
  kind,
  targetId,
  targetName,
  tenantId,
  projectId,
  before,
  after,
  note,
  version: made,
  link,
}: AuditRow): JsonObject {
  return {
    id,
    at: iso(atMs),
    actor: shownActor(who),
    address: who.address,
    via: who.via ?? null,
    session_id: who.sessionId ?? null,
    action,
    outcome,
    kind,
    target_id: targetId,
    target_name: targetName,
    tenant_id: tenantId,
    project_id: projectId,
    before,
    after,
    note,
    version: made,
    sequence: link?.sequence ?? null,
    hash: link?.hash ?? null,
  };
}

const word = z.string().min(1).max(100).optional();
const auditQuery = z.strictObject({
  ...pageQuery,
  action: word,
  outcome: z.enum(["done", "refused"]).optional(),
  kind: word,
  target_id: z.string().min(1).max(200).optional(),
  token_id: word,
  user_id: chosenId.optional(),
  via: z.enum(AUDIT_WAYS).optional(),
  session_id: word,
  version: number.optional(),
  from: instant.optional().meta({ description: "Only rows at this time or later." }),
  to: instant.optional().meta({ description: "Only rows before this time." }),
});

/** The scopes of the audit log, by who may read them: the whole gateway, one tenant, one project. */
const AUDITED = {
  operator: {
    name: "Audit",
    base: "",
    scopeText: "in all tenants",
    further: { tenant_id: chosenId.optional(), project_id: chosenId.optional() },
  },
  tenant: {
    name: "TenantAudit",
    base: "/tenants/{tenant}",
    scopeText: "in the tenant",
    further: { project_id: chosenId.optional() },
  },
  project: { name: "ProjectAudit", base: "/projects/{project}", scopeText: "in the project", further: {} },
} as const;

function auditOperation(reach: keyof typeof AUDITED): AdminOperation {
  const { name, base, scopeText, further } = AUDITED[reach];
  return reading({
    id: `list${name}`,
    path: `${base}/audit`,
    tag: "audit",
    summary: `List changes and refused attempts ${scopeText}, the newest first`,
    query: auditQuery.extend(further),
    answer: listOf(auditRow, `${name}List`),
    run: async ({ place: at, query }, store) => {
      const {
        limit,
        cursor,
        target_id: targetId,
        token_id: tokenId,
        user_id: userId,
        session_id: sessionId,
        from: fromMs,
        to: toMs,
        ...same
      } = query;
      const {
        tenant_id: queriedTenant,
        project_id: queriedProject,
        ...rest
      } = same as typeof same & { readonly tenant_id?: string; readonly project_id?: string };
      // The place of the path takes precedence over the query.
      const place = { tenantId: at?.tenantId ?? queriedTenant, projectId: at?.projectId ?? queriedProject };
      const given = Object.fromEntries(
        Object.entries({ ...place, targetId, tokenId, userId, sessionId, fromMs, toMs, ...rest }).filter(
          ([, value]) => value !== undefined,
        ),
      );
      return { body: listed(await store.listAudit(pageOf({ limit, cursor }), given), shownAudit) };
    },
  });
}

function versionOperations(reach: "tenant" | "project", context: RollBackContext): readonly AdminOperation[] {
  const place = reach === "tenant" ? "Tenant" : "Project";
  const base = `/${reach}s/{${reach}}`;
  const within = reach === "tenant" ? "the tenant and its projects" : "the project";
  const list = reading({
    id: `list${place}Versions`,
    path: `${base}/versions`,
    tag: "versions",
    summary: `List the versions of the configuration of ${within}, the newest first`,
    query: z.strictObject(pageQuery),
    answer: listOf(versionSummary, `${place}VersionList`),
    run: async ({ place: at, query }, store) => ({
      body: listed(await store.listVersions(pageOf(query), at!), shownSummary),
    }),
  });
  const read = reading({
    id: `read${place}Version`,
    path: `${base}/versions/{id}`,
    tag: "versions",
    summary: "Get a version with its changes",
    answer: version,
    run: async ({ place: at, params }, store) => {
      const parsed = number.safeParse(params["id"]);
      const found = parsed.success ? await store.findVersion(parsed.data, at!) : null;
      if (found === null) throw nothingThere(`version ${params["id"]!} of the ${placeText(at!)}`);
      return { body: { ...shownHead(found), changes: found.changes.map(shownChange) } };
    },
  });
  const diff = reading({
    id: `diff${place}Versions`,
    path: `${base}/diff`,
    tag: "versions",
    summary: "Compare two versions; 0 stands for the state before the first",
    query: z.strictObject({ from: number, to: number }),
    answer: difference,
    run: async ({ place: at, query: { from, to } }, store) => ({
      body: { from, to, changes: (await store.diffVersions(from, to, at!)).map(shownChange) },
    }),
  });
  const rollBack = writing({
    method: "post",
    id: `rollBack${place}`,
    path: `${base}/rollback`,
    tag: "versions",
    summary: `Restore the configuration of ${within} to what it was after a version`,
    query: z.strictObject(dryRunQuery),
    body: z.strictObject({ to: versionNumber }).meta({ id: `${place}Rollback` }),
    answer: rolledBack,
    run: async (call, writer) => ({
      body: {
        rolled_back_to: call.body.to,
        changes: (await rollBackTo(call.body.to, call, writer, context)).map(shownChange),
      },
    }),
  });
  return [list, read, diff, rollBack];
}

export function historyOperations(context: RollBackContext): readonly AdminOperation[] {
  return [
    auditOperation("operator"),
    auditOperation("tenant"),
    auditOperation("project"),
    ...versionOperations("tenant", context),
    ...versionOperations("project", context),
  ];
}
