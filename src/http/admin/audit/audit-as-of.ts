// Who could call what at a time in the past: the users with their roles and the access tokens that were valid then.
import { z } from "zod";
import { restrictionsOf } from "../../../auth/permitted-models.ts";
import { type AccessToken, PERMISSIONS, ROLES, roleAtLeast } from "../../../core/identity.ts";
import { isText, type Json, type JsonObject, listIn, textOrEmpty } from "../../../core/json.ts";
import { conflict, invalidRequest } from "../../../core/refusals.ts";
import { normalizedName } from "../../../core/target.ts";
import type { EarlierIdentities, EarlierIdentity } from "../../../store/audit/audit-as-of.ts";
import type { AuditReads } from "../../../store/audit/audit-reads.ts";
import { type AdminOperation, reading } from "../operation.ts";
import { chosenId, instant, time } from "../schemas.ts";
import { shownAs, type ThingOf } from "../shown.ts";

const role = z
  .strictObject({
    project_id: z.string().nullable().meta({ description: "Null for the role in the whole tenant." }),
    role: z.enum(ROLES),
  })
  .meta({ id: "HeldRole" });
const texts = z.array(z.string());
const user = z.strictObject({
  id: z.string(),
  name: z.string(),
  operator: z.boolean(),
  company_login: z.boolean().meta({
    description: "Whether the user has a company login, whose claims can give further roles at each login.",
  }),
  roles: z.array(role),
});
const token = z.strictObject({
  id: z.string(),
  name: z.string(),
  kind: z.enum(["project", "personal"]),
  project_id: z.string().nullable(),
  user_id: z.string().nullable(),
  roles: z.array(role).meta({ description: "Calls need the role developer or a higher one." }),
  permissions: z.array(z.enum(PERMISSIONS)),
  models: texts,
  routes: texts,
  tools: texts,
  ip: texts,
  expires_at: time,
});
const asOf = z
  .strictObject({
    at: time,
    configuration_version: z.int().meta({
      description: "The version of the configuration then; the versions of the tenant say what it contained.",
    }),
    users: z.array(user),
    tokens: z.array(token).meta({ description: "The access tokens that were valid then." }),
  })
  .meta({ id: "AccessAsOf" });

const name = z.string().min(1).max(256).optional();
const query = z.strictObject({
  at: instant.meta({ description: "The time, or a day for its beginning in UTC." }),
  project_id: chosenId.optional().meta({ description: "Only who had a role in this project, or in the whole tenant." }),
  model: name.meta({ description: "Only tokens that were not restricted to other models." }),
  route: name.meta({ description: "Only tokens that were not restricted to other routes." }),
});
type Wanted = z.output<typeof query>;

type EarlierRole = ThingOf<typeof role.shape>;

export const auditAsOfOperation = (reads: AuditReads | null): AdminOperation =>
  reading({
    id: "readTenantAuditAsOf",
    path: "/tenants/{tenant}/audit/as_of",
    tag: "audit",
    summary: "Show who had which role and which access token at a time in the past",
    query,
    answer: asOf,
    run: async ({ place, query: wanted, nowMs }, store) => {
      const { tenantId } = place!;
      if (wanted.at > nowMs) throw invalidRequest("at", "at is in the future: give a time that has passed.");
      const identities = await reads!.asOf(tenantId, wanted.at);
      if (identities === null)
        throw conflict(
          "Rows of the audit log after this time were removed because of their age (audit.keep_days), so that the roles and tokens of that time are not known. Give a later time.",
          { param: "at" },
        );
      const configurationVersion = await store.versionAt(wanted.at);
      return { body: shownAs(asOf, { atMs: wanted.at, configurationVersion, ...accessIn(identities, wanted) }) };
    },
  });

function accessIn({ users, memberships, tokens }: EarlierIdentities, wanted: Wanted) {
  const roles = Map.groupBy(memberships.map(roleOf), ({ userId }) => userId);
  const rolesOf = (userId: string): readonly EarlierRole[] =>
    (roles.get(userId) ?? []).map(({ role: given }) => given).filter((given) => concerns(given, wanted));
  return {
    users: users
      .map(({ id, value }) => ({
        id,
        name: textOrEmpty(value["name"]),
        operator: value["operator"] === true,
        companyLogin: value["login"] != null,
        roles: rolesOf(id),
      }))
      .filter(({ operator, roles: held }) => wanted.project_id === undefined || operator || held.length > 0),
    tokens: tokens
      .filter(({ value }) => wasValid(value, wanted.at) && permits(value, wanted))
      .map((one) => tokenOf(one, rolesOf, wanted))
      .filter(({ roles: held }) => held.some((one) => roleAtLeast(one.role, "developer"))),
  };
}

function roleOf({ id, projectId, value }: EarlierIdentity): { readonly userId: string; readonly role: EarlierRole } {
  const named = ROLES.find((one) => one === value["role"]) ?? "viewer";
  return { userId: id.slice(0, id.lastIndexOf("/")), role: { projectId, role: named } };
}

const concerns = ({ projectId }: EarlierRole, { project_id: wanted }: Wanted): boolean =>
  wanted === undefined || projectId === null || projectId === wanted;

function wasValid(value: JsonObject, atMs: number): boolean {
  const after = (text: Json | undefined): boolean => typeof text === "string" && Date.parse(text) > atMs;
  return after(value["expires_at"]) && (value["revoked_at"] == null || after(value["revoked_at"]));
}

function permits(value: JsonObject, { model, route }: Wanted): boolean {
  const restrictions = restrictionsOf({
    models: textsOf(value["models"]),
    routes: textsOf(value["routes"]),
  } as unknown as AccessToken);
  return (
    restrictions === null ||
    ((model === undefined || restrictions.permitsModel(normalizedName(model))) &&
      (route === undefined || restrictions.permitsRoute(route)))
  );
}

function tokenOf(
  { id, projectId, value }: EarlierIdentity,
  rolesOf: (userId: string) => readonly EarlierRole[],
  wanted: Wanted,
): ThingOf<typeof token.shape> {
  const userId = typeof value["user_id"] === "string" ? value["user_id"] : null;
  const own: EarlierRole = { projectId, role: ROLES.find((one) => one === value["role"]) ?? "developer" };
  const isPersonal = value["kind"] === "personal";
  return {
    id,
    name: textOrEmpty(value["name"]),
    kind: isPersonal ? "personal" : "project",
    projectId,
    userId,
    roles: isPersonal ? rolesOf(userId ?? "") : [own].filter((one) => concerns(one, wanted)),
    permissions: textsOf(value["permissions"]).flatMap((one) => PERMISSIONS.filter((known) => known === one)),
    models: textsOf(value["models"]),
    routes: textsOf(value["routes"]),
    tools: textsOf(value["tools"]),
    ip: textsOf(value["ip"]),
    expiresAtMs: Date.parse(textOrEmpty(value["expires_at"])),
  };
}

const textsOf = (value: Json | undefined): readonly string[] => listIn(value).filter(isText);
