// The users of a tenant and their roles, in the whole tenant and in single projects (promises 2.2, 2.3, 2.11).
import { z } from "zod";
import { hasRole } from "../../../auth/memberships.ts";
import { requireOperator, requireRoleWithin, nothingThere, placeText } from "../../../auth/grants.ts";
import { loginUserId } from "../../../auth/logins/logins.ts";
import { requireGivesRoles } from "../../../auth/tokens/restriction-grants.ts";
import { UNSTORED_ETAG } from "../../../core/configured/configured.ts";
import { conflict } from "../../../core/refusals.ts";
import { type Membership, type Role, ROLES, roleAtLeast } from "../../../core/identity.ts";
import type { JsonObject } from "../../../core/json.ts";
import { everyRow, type Reader } from "../../../store/reader.ts";
import type { Kept, StoredUser } from "../../../store/records.ts";
import { askedBy } from "../asked.ts";
import { type AdminCall, type AdminOperation, PLACES, reading, writing } from "../operation.ts";
import {
  chosenId,
  requireEtag,
  requireTag,
  etagField,
  etagOf,
  listed,
  listOf,
  pageOf,
  pageQuery,
  time,
} from "../schemas.ts";
import { shownAs } from "../shown.ts";
import { identityOperations, memberOf, NAME, type Thing } from "./identity-operations.ts";
import { PROJECT_ROLES } from "./token-shapes.ts";

const login = z
  .strictObject({
    issuer: z.url({ protocol: /^https?$/ }).max(500),
    subject: z.string().regex(/^[\x20-\x7e]{1,255}$/, "expected 1 to 255 printable ASCII characters"),
  })
  .meta({ id: "Login", description: "The user's identity at a login provider: `iss` and `sub` of its tokens." });
const operator = z.boolean().meta({
  description:
    "Whether the user is an operator of the gateway, with access to all tenants, `/metrics` and `/readyz?verbose`. Only operators can change it. The user also needs a role in a tenant or project.",
});
const email = z.email().max(254);
const membership = z
  .strictObject({
    user_id: chosenId,
    tenant_id: chosenId,
    project_id: chosenId.nullable(),
    role: z.enum(ROLES),
    etag: etagField,
    created_at: time.nullable(),
    updated_at: time.nullable(),
  })
  .meta({ id: "Membership" });
const tenantRole = z.strictObject({ role: z.enum(ROLES) }).meta({ id: "TenantRole" });
const projectRole = z.strictObject({ role: z.enum(PROJECT_ROLES) }).meta({ id: "ProjectRole" });

const shownMembership = (kept: Kept<Membership>): JsonObject => shownAs(membership, { ...kept, etag: etagOf(kept) });

async function requireUser(store: Reader, tenantId: string, id: string): Promise<Kept<StoredUser>> {
  const found = await store.findUser(id);
  if (found === null || found.tenantId !== tenantId) throw nothingThere(`user ${id} in the tenant ${tenantId}`);
  return found;
}

/**
 * Throws if the user has a higher role in the tenant than the caller, or is an operator and the caller is not. `param` is
 * the field that names the user.
 */
export async function requireNotAbove(
  { caller, role: own, place }: Pick<AdminCall, "caller" | "role" | "place">,
  store: Reader,
  { id: userId, isOperator = false }: Pick<StoredUser, "id" | "isOperator">,
  param: string,
): Promise<void> {
  if (isOperator) requireOperator(caller, param);
  const { data } = await store.listMemberships({ limit: 1000 }, { tenantId: place!.tenantId, userId });
  for (const { role } of data) requireRoleWithin(own, role, param);
}

/**
 * A login that is linked to another user no longer reaches the one to whom it belonged by its own id. Throws if that one
 * has a higher role than the caller, or is an operator and the caller is not.
 */
async function requireNoneAboveLosesLogin(
  call: AdminCall,
  store: Reader,
  { issuer, subject }: z.output<typeof login>,
  linkedId: string | undefined,
): Promise<void> {
  const { tenantId } = call.place!;
  for (const one of call.snapshot.logins) {
    if (one.tenantId !== tenantId || one.issuer !== issuer) continue;
    const user = await store.findUser(loginUserId(one, subject));
    if (user === null || user.tenantId !== tenantId || user.id === linkedId) continue;
    await requireNotAbove(call, store, user, "login");
  }
}

/** No user could administer a tenant without an owner any more. */
async function requireAnotherOwner(store: Reader, tenantId: string, userId: string): Promise<void> {
  const { data } = await store.listMemberships({ limit: 2 }, { tenantId, projectId: null, role: "owner" });
  if (data.length === 1 && data[0]!.userId === userId)
    throw conflict("This is the tenant's last owner. Make another user an owner first.");
}

/**
 * A gateway without an operator can get a new one only on its own machine. An operator without a role does not count: such
 * a user cannot log in, and only another operator may give them a role.
 */
async function requireAnotherOperator(store: Reader, { id, isOperator = false }: StoredUser): Promise<void> {
  if (!isOperator) return;
  for await (const other of everyRow((page) => store.listUsers(page, { isOperator: true })))
    if (other.id !== id && (await hasRole(store, other.id))) return;
  throw conflict("This is the gateway's last operator with a role. Give another operator a role first.");
}

const member = memberOf<StoredUser>();

const USER: Thing<StoredUser> = {
  word: "User",
  base: "/tenants/{tenant}/users",
  summaries: {
    list: "List the users of a tenant",
    create: "Create a user, optionally with a role in the tenant",
    read: "Get a user",
    update: "Change a user's name, address, login or operator status",
    delete: "Delete a user with memberships and personal tokens",
  },
  fields: {
    name: NAME,
    email: member("email", z.string().nullable(), email.nullish()),
    login: member("login", login.nullable(), login.nullish(), {
      async allow(call, store, given, current) {
        if (given == null) return;
        requireGivesRoles(call.caller.token, "login");
        await requireNoneAboveLosesLogin(call, store, given, current?.id);
      },
    }),
    role: {
      created: z
        .enum(ROLES)
        .nullish()
        .meta({ description: "The role in the whole tenant, at most the caller's own; none by default." }),
      async allow({ caller, role: own }, _store, role: Role | null) {
        if (role === null) return;
        requireRoleWithin(own, role, "role");
        requireGivesRoles(caller.token, "role");
      },
      async alsoCreate(writer, role: Role | null, { id: userId, tenantId }) {
        if (role !== null) await writer.putMembership({ userId, tenantId, projectId: null, role });
      },
    },
    operator: member("isOperator", z.boolean(), operator.optional(), {
      async allow({ caller }, store, isOperator, current) {
        if (isOperator !== (current?.isOperator ?? false)) requireOperator(caller, "operator");
        if (current !== null && isOperator === false) await requireAnotherOperator(store, current);
      },
    }),
  },
  filters: { email: email.optional() },
  list: ({ place }, store, page, filter) => store.listUsers(page, { ...filter, tenantId: place!.tenantId }),
  require: ({ place, params }, store) => requireUser(store, place!.tenantId, params["user"]!),
  // with another login the account would belong to another person
  allow: (call, store, user) => requireNotAbove(call, store, user, "user"),
  async allowDelete({ caller }, store, user) {
    if (user.id === caller.token.userId)
      throw conflict("Users cannot delete themselves. Ask another user with the necessary role.");
    await requireAnotherOwner(store, user.tenantId, user.id);
    await requireAnotherOperator(store, user);
  },
  create: (writer, user) => writer.createUser(user),
  change: (writer, id, change) => writer.changeUser(id, change),
  remove: (writer, id) => writer.removeUser(id),
};

const membershipFilters = { user_id: chosenId.optional(), role: z.enum(ROLES).optional() };

function membershipOperations(reach: "tenant" | "project"): readonly AdminOperation[] {
  const { name: word, base: placeBase } = PLACES[reach];
  const base = `${placeBase}/memberships`;
  const where = reach === "tenant" ? "the whole tenant" : "a project";
  const list = reading({
    id: `list${word}Memberships`,
    path: base,
    tag: "memberships",
    summary: `List the users' roles in ${where}`,
    query: z.strictObject({ ...pageQuery, ...membershipFilters }),
    answer: listOf(membership, `${word}MembershipList`),
    run: async ({ place, query }, store) => {
      const filter = { ...place!, ...askedBy(membershipFilters, query) };
      return { body: listed(await store.listMemberships(pageOf(query), filter), shownMembership) };
    },
  });
  const put = writing({
    method: "put",
    id: `put${word}Membership`,
    path: `${base}/{user}`,
    tag: "memberships",
    summary: `Set a user's role in ${where}`,
    body: reach === "tenant" ? tenantRole : projectRole,
    answer: membership,
    run: async (call, writer) => {
      const { place, params, body, ifMatch, caller, role: own } = call;
      const { tenantId, projectId } = place!;
      const { id: userId, isOperator } = await requireUser(writer, tenantId, params["user"]!);
      if (isOperator === true) requireOperator(caller, "user");
      const given: Role = body.role;
      requireRoleWithin(own, given, "role");
      requireGivesRoles(caller.token, "role");
      const current = await writer.findMembership(userId, projectId);
      if (current !== null) {
        requireRoleWithin(own, current.role, "role");
        requireEtag(ifMatch, current);
        if (userId === caller.token.userId && current.role !== given)
          throw conflict("Users cannot change their own role. Ask a user with the same or a higher role.");
        if (projectId === null && current.role === "owner" && !roleAtLeast(given, "owner"))
          await requireAnotherOwner(writer, tenantId, userId);
      } else requireTag(ifMatch, UNSTORED_ETAG);
      const kept = await writer.putMembership({ userId, tenantId, projectId, role: given });
      return { status: current === null ? 201 : 200, body: shownMembership(kept), etag: etagOf(kept) };
    },
  });
  const remove = writing({
    method: "delete",
    id: `delete${word}Membership`,
    path: `${base}/{user}`,
    tag: "memberships",
    summary: `Remove a user's role in ${where}`,
    run: async ({ place, params, ifMatch, caller, role: own }, writer) => {
      const { tenantId, projectId } = place!;
      const { id: userId, isOperator } = await requireUser(writer, tenantId, params["user"]!);
      if (isOperator === true) requireOperator(caller, "user");
      const current = await writer.findMembership(userId, projectId);
      if (current === null) throw nothingThere(`role of the user ${userId} in the ${placeText(place!)}`);
      requireRoleWithin(own, current.role, "role");
      requireEtag(ifMatch, current);
      if (userId === caller.token.userId)
        throw conflict("Users cannot remove their own role. Ask a user with the same or a higher role.");
      if (projectId === null && current.role === "owner") await requireAnotherOwner(writer, tenantId, userId);
      await writer.removeMembership(userId, projectId);
      return { body: null };
    },
  });
  return [list, put, remove];
}

export const USER_OPERATIONS: readonly AdminOperation[] = [
  ...identityOperations(USER),
  ...membershipOperations("tenant"),
  ...membershipOperations("project"),
];
