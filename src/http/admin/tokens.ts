// Access tokens of projects, and personal ones of users (promises 2.4 to 2.7, 2.11). A secret appears only in the
// response to the request that made it.
import { z } from "zod";
import { parseTokenText, type TokenKind } from "../../auth/access-token.ts";
import { requireOperator, requirePermissionsWithin, requireRoleWithin, nothingThere } from "../../auth/grants.ts";
import { requireRestrictionsWithin } from "../../auth/restriction-grants.ts";
import {
  createToken,
  type IssuedToken,
  LONGEST_DAYS,
  rotateToken,
  SHORTEST_OVERLAP_MS,
} from "../../auth/token-admin.ts";
import { GatewayError } from "../../core/errors.ts";
import { type AccessToken, OPS, PERMISSIONS, ROLES } from "../../core/identity.ts";
import type { JsonObject } from "../../core/json.ts";
import { isIpRange } from "../../wire/ip-range.ts";
import type { Kept, StoredToken } from "../../store/records.ts";
import type { Reader } from "../../store/reader.ts";
import { StoreError } from "../../store/store.ts";
import type { Writer } from "../../store/writer.ts";
import { type AdminCall, type AdminOperation, type Answer, reading, writing } from "./operation.ts";
import {
  chosenId,
  requireEtag,
  dryRunQuery,
  etagField,
  etagOf,
  iso,
  isoOrNull,
  label,
  listed,
  listOf,
  pageOf,
  pageQuery,
  search,
  time,
} from "./schemas.ts";

const MAX_RESTRICTIONS = 100;
const PROJECT_ROLES = ["viewer", "developer", "maintainer"] as const;
const STATES = ["live", "expired", "revoked"] as const;

const name = label
  .refine(
    (text) => parseTokenText(text) === null,
    "a name is shown and stored in plain text, so it cannot be an access token",
  )
  .meta({ description: "A name for display." });
const unique = (names: readonly string[]): boolean => new Set(names).size === names.length;
const standsAlone = (names: readonly string[]): boolean => names.length === 1 || !names.includes(OPS);
const listOfWords = (word: z.ZodType<string>, description: string) =>
  z.array(word).max(MAX_RESTRICTIONS).refine(unique, "expected each entry once").meta({ description });
const models = listOfWords(
  z.string().regex(/^[\x21-\x7e]{1,256}$/, "expected <provider>:<model_name>, with * for any text"),
  "Models that the token may call, as globs over `<provider>:<model_name>`; empty for all.",
);
const routes = listOfWords(
  z.string().regex(/^[A-Za-z0-9_.*-]{1,64}$/, "expected a route's name, with * for any text"),
  "Routes that the token may call, as globs over their names; empty for all.",
);
const ip = listOfWords(
  z.string().max(64).refine(isIpRange, "expected an address or a range such as 10.0.0.0/8"),
  "Addresses and ranges from which the token may be used; empty for all.",
);
const permissions = z
  .array(z.enum(PERMISSIONS))
  .max(PERMISSIONS.length)
  .refine(unique, "expected each entry once")
  .refine(standsAlone, "expected `ops` alone: it cannot be combined with other permissions")
  .meta({
    description:
      "Special permissions. Only admins and owners can give them; only operators can give `ops`, which cannot be combined with others.",
  });
const expiresInDays = z.number().gt(0).max(LONGEST_DAYS).nullish().meta({
  description:
    "Lifetime in days. The default is 365 for project tokens and 90 for personal tokens, or the tenant's maximum if that is less.",
});

const TOKEN_SHAPE = {
  id: z.string(),
  kind: z.enum(["project", "personal"]),
  name: z.string(),
  tenant_id: chosenId,
  project_id: chosenId.nullable(),
  user_id: chosenId.nullable(),
  role: z.enum(ROLES).nullable().meta({
    description: "The role of a project token; null for personal tokens, which have the roles of their user.",
  }),
  permissions: z.array(z.enum(PERMISSIONS)),
  models: z.array(z.string()),
  routes: z.array(z.string()),
  ip: z.array(z.string()),
  state: z.enum(STATES),
  created_at: time,
  created_by: z.string().nullable(),
  expires_at: time,
  revoked_at: time.nullable(),
  etag: etagField,
};
const token = z.strictObject(TOKEN_SHAPE).meta({ id: "Token" });
const issuedToken = z
  .strictObject({
    ...TOKEN_SHAPE,
    token: z.string().nullable().meta({
      description:
        "The access token itself. It is shown only once: null in a dry run and when a request is repeated with the same idempotency key.",
    }),
  })
  .meta({ id: "IssuedToken" });

const NEW_SHAPE = {
  name,
  models: models.optional(),
  routes: routes.optional(),
  permissions: permissions.optional(),
  ip: ip.optional(),
  expires_in_days: expiresInDays,
};
const newProjectToken = z
  .strictObject({
    ...NEW_SHAPE,
    role: z
      .enum(PROJECT_ROLES)
      .nullish()
      .meta({ description: "At most the caller's own role; the default is `developer`." }),
  })
  .meta({ id: "NewProjectToken" });
const newPersonalToken = z
  .strictObject({
    ...NEW_SHAPE,
    user_id: chosenId.nullish().meta({
      description: "The user to whom the token belongs. The default is the caller, or else the only user with `role`.",
    }),
    role: z.enum(ROLES).nullish().meta({
      description: "A role that the user must have in the whole tenant. The token itself has the roles of its user.",
    }),
  })
  .meta({ id: "NewPersonalToken" });
const tokenChange = z
  .strictObject({
    name: name.optional(),
    models: models.optional(),
    routes: routes.optional(),
    permissions: permissions.optional(),
    ip: ip.optional(),
  })
  .meta({ id: "TokenChange" });
const rotation = z
  .strictObject({
    overlap_minutes: z
      .number()
      .min(SHORTEST_OVERLAP_MS / 60_000)
      .max(LONGEST_DAYS * 1440)
      .nullish()
      .meta({
        description: "How long the old secret stays valid, but not beyond its own expiry; the default is 24 h.",
      }),
    expires_in_days: expiresInDays,
  })
  .meta({ id: "TokenRotation" });

function shownToken(kept: Kept<StoredToken>, nowMs: number): JsonObject {
  const { id, kind, tenantId, projectId, userId, role, createdBy, expiresAtMs, revokedAtMs } = kept;
  const state = revokedAtMs !== null ? "revoked" : nowMs >= expiresAtMs ? "expired" : "live";
  return {
    id,
    kind,
    name: kept.name,
    tenant_id: tenantId,
    project_id: projectId,
    user_id: userId,
    role,
    permissions: kept.permissions,
    models: kept.models,
    routes: kept.routes,
    ip: kept.ipRanges,
    state,
    created_at: iso(kept.createdAtMs ?? 0),
    created_by: createdBy ?? null,
    expires_at: iso(expiresAtMs),
    revoked_at: isoOrNull(revokedAtMs),
    etag: etagOf(kept),
  };
}

const answer = (kept: Kept<StoredToken>, { nowMs }: Pick<AdminCall<unknown, unknown>, "nowMs">): Answer => ({
  body: shownToken(kept, nowMs),
  etag: etagOf(kept),
});

/**
 * The token's text appears in the response to the request that made it, and nowhere else. `make` throws an Error that
 * says what is wrong with `expires_in_days`.
 */
async function issued(
  call: AdminCall<unknown, unknown>,
  writer: Writer,
  status: 200 | 201,
  make: () => Promise<IssuedToken>,
): Promise<Answer> {
  const { id, text } = await withLifetime("expires_in_days", make);
  const kept = await writer.findToken(id);
  if (kept === null) throw nothingThere(`access token ${id}`);
  const repeated = { ...shownToken(kept, call.nowMs), token: null };
  return { status, body: call.dryRun ? repeated : { ...repeated, token: text }, repeated, etag: etagOf(kept) };
}

async function requireToken({ place, params }: AdminCall<unknown, unknown>, store: Reader): Promise<Kept<StoredToken>> {
  const { tenantId, projectId } = place!;
  const found = await store.findToken(params["id"]!);
  if (
    found === null ||
    found.tenantId !== tenantId ||
    (projectId === null ? found.kind !== "personal" : found.projectId !== projectId)
  )
    throw nothingThere(
      projectId === null
        ? `personal access token ${params["id"]!} in the tenant ${tenantId}`
        : `access token ${params["id"]!} of the project ${projectId}`,
    );
  return found;
}

type Rights = Pick<AccessToken, "role" | "permissions" | "models" | "routes" | "ipRanges" | "userId">;

/** The holder of a token's secret has all its rights, so the rights have to lie within those of the caller. */
async function requireWithin(call: AdminCall<unknown, unknown>, store: Reader, rights: Rights): Promise<void> {
  if (rights.role !== null) requireRoleWithin(call.role, rights.role, "role");
  requirePermissionsWithin(call, rights.permissions, "permissions");
  requireRestrictionsWithin(call.caller.token, rights);
  if (rights.userId === null) return;
  if ((await store.findUser(rights.userId))?.isOperator === true) requireOperator(call.caller, "user_id");
  const { data } = await store.listMemberships(
    { limit: 1000 },
    { tenantId: call.place!.tenantId, userId: rights.userId },
  );
  for (const { role } of data) requireRoleWithin(call.role, role, "user_id");
}

/** Once the form of a request is valid, only the lifetime of the token can be wrong. */
async function withLifetime<T>(param: string, rule: () => Promise<T>): Promise<T> {
  try {
    return await rule();
  } catch (thrown) {
    if (thrown instanceof GatewayError || thrown instanceof StoreError || !(thrown instanceof Error)) throw thrown;
    throw new GatewayError("invalid_request", thrown.message, { param, cause: thrown });
  }
}

interface OwnerWords {
  readonly user_id?: string | null | undefined;
  readonly role?: AccessToken["role"] | undefined;
}

async function owner(
  call: AdminCall<OwnerWords, unknown>,
  store: Reader,
): Promise<Pick<AccessToken, "kind" | "tenantId" | "projectId" | "userId" | "role">> {
  const { tenantId, projectId } = call.place!;
  const { role = null } = call.body;
  if (projectId !== null) return { kind: "project", tenantId, projectId, userId: null, role: role ?? "developer" };
  const userId = call.body.user_id ?? (await userFor(call, store));
  const user = await store.findUser(userId);
  if (user === null || user.tenantId !== tenantId) throw wrong("user_id", "the tenant has no user with this id");
  const { data } = await store.listMemberships({ limit: 1000 }, { tenantId, userId: user.id });
  if (data.length === 0)
    throw wrong("user_id", "the user has no role, so the token could not be used; give the user a role first");
  if (role !== null && !data.some((one) => one.projectId === null && one.role === role))
    throw wrong("role", "the user does not have this role in the tenant, and a personal token cannot give it");
  return { kind: "personal", tenantId, projectId: null, userId: user.id, role: null };
}

/** The user of the new token when the request names none. */
async function userFor(
  { caller: { token: own, memberships }, body: { role = null }, place }: AdminCall<OwnerWords, unknown>,
  store: Reader,
): Promise<string> {
  const { tenantId } = place!;
  const isOwn =
    own.userId !== null &&
    own.tenantId === tenantId &&
    (role === null || memberships.some((one) => one.projectId === null && one.role === role));
  if (isOwn) return own.userId;
  if (role === null) throw wrong("user_id", "is missing: name the user to whom the token belongs");
  const { data } = await store.listMemberships({ limit: 2 }, { tenantId, projectId: null, role });
  if (data.length !== 1)
    throw wrong(
      "user_id",
      data.length === 0
        ? `no user has the role ${role} in the tenant`
        : `several users have the role ${role} in the tenant: name one in user_id`,
    );
  return data[0]!.userId;
}

function wrong(param: string, message: string): GatewayError {
  return new GatewayError("invalid_request", `${param}: ${message}`, { param });
}

/** The tokens that a path concerns. */
interface TokenPath {
  readonly reach: "tenant" | "project";
  readonly word: "Tenant" | "Project";
  readonly kind: TokenKind;
  readonly base: string;
  /** The description of these tokens in messages. */
  readonly what: string;
}
const ABOUT = { tag: "tokens" };

function listOfTokens({ reach, word, kind, base }: TokenPath): AdminOperation {
  return reading({
    ...ABOUT,
    id: `list${word}Tokens`,
    path: base,
    summary:
      reach === "tenant"
        ? "List the personal tokens of the tenant's users, the newest first"
        : "List the tokens of a project, the newest first",
    query: z.strictObject({
      ...pageQuery,
      search,
      state: z.enum(STATES).optional(),
      ...(reach === "tenant" && { user_id: chosenId.optional() }),
    }),
    answer: listOf(token, `${word}TokenList`),
    run: async ({ place, query, nowMs }, store) => {
      const { tenantId, projectId } = place!;
      const { user_id: userId } = query as { readonly user_id?: string };
      const filter = {
        tenantId,
        kind,
        ...(projectId !== null && { projectId }),
        ...(userId !== undefined && { userId }),
        ...(query.state !== undefined && { state: query.state }),
        ...(query.search !== undefined && { search: query.search }),
      };
      return { body: listed(await store.listTokens(pageOf(query), filter), (one) => shownToken(one, nowMs)) };
    },
  });
}

function creation({ reach, word, kind, base, what }: TokenPath): AdminOperation {
  return writing({
    ...ABOUT,
    method: "post",
    id: `create${word}Token`,
    path: base,
    summary: `Create a ${what}; the response shows it this once`,
    query: z.strictObject(dryRunQuery),
    body: reach === "tenant" ? newPersonalToken : newProjectToken,
    answer: issuedToken,
    run: async (call, writer) => {
      const body = call.body as Omit<z.output<typeof newProjectToken>, "role"> & OwnerWords;
      const of = await owner({ ...call, body }, writer);
      const rights = {
        ...of,
        permissions: body.permissions ?? [],
        models: body.models ?? [],
        routes: body.routes ?? [],
        ipRanges: body.ip ?? [],
      };
      await requireWithin(call, writer, rights);
      const { caller, nowMs } = call;
      const request = {
        ...rights,
        name: body.name,
        personal: kind === "personal",
        expiresInDays: body.expires_in_days ?? null,
        createdBy: caller.token.userId ?? `token:${caller.token.id}`,
      };
      return await issued(call, writer, 201, () => createToken(writer, request, nowMs));
    },
  });
}

function oneToken({ word, base, what }: TokenPath): AdminOperation {
  return reading({
    ...ABOUT,
    id: `read${word}Token`,
    path: `${base}/{id}`,
    summary: `One ${what}`,
    answer: token,
    run: async (call, store) => answer(await requireToken(call, store), call),
  });
}

function changeOfToken({ word, base, what }: TokenPath): AdminOperation {
  return writing({
    ...ABOUT,
    method: "patch",
    id: `update${word}Token`,
    path: `${base}/{id}`,
    summary: `Change the name and the restrictions of a ${what}`,
    query: z.strictObject(dryRunQuery),
    body: tokenChange,
    answer: token,
    run: async (call, writer) => {
      const current = await requireToken(call, writer);
      await requireWithin(call, writer, current);
      requireEtag(call.ifMatch, current);
      const { body } = call;
      const changed = {
        name: body.name ?? current.name,
        permissions: body.permissions ?? current.permissions,
        models: body.models ?? current.models,
        routes: body.routes ?? current.routes,
        ipRanges: body.ip ?? current.ipRanges,
      };
      await requireWithin(call, writer, { ...current, ...changed });
      return answer(await writer.changeToken(current.id, (now) => ({ ...now, ...changed })), call);
    },
  });
}

function rotationOfToken({ word, base, what }: TokenPath): AdminOperation {
  return writing({
    ...ABOUT,
    method: "post",
    id: `rotate${word}Token`,
    path: `${base}/{id}/rotate`,
    summary: `Rotate a ${what}: a new secret and expiry; the old secret stays valid for a while`,
    query: z.strictObject(dryRunQuery),
    body: rotation,
    bodyOptional: true,
    answer: issuedToken,
    run: async (call, writer) => {
      const current = await requireToken(call, writer);
      await requireWithin(call, writer, current);
      requireEtag(call.ifMatch, current);
      if (current.revokedAtMs !== null)
        throw new GatewayError("conflict", "The access token is revoked, which cannot be undone. Create a new one.");
      const { overlap_minutes: minutes, expires_in_days: expires } = call.body;
      const options = { overlapMs: minutes == null ? null : minutes * 60_000, expiresInDays: expires ?? null };
      return await issued(call, writer, 200, () => rotateToken(writer, current.id, options, call.nowMs));
    },
  });
}

function revocation({ word, base, what }: TokenPath): AdminOperation {
  return writing({
    ...ABOUT,
    method: "post",
    id: `revoke${word}Token`,
    path: `${base}/{id}/revoke`,
    summary: `Revoke a ${what} at once; this cannot be undone`,
    query: z.strictObject(dryRunQuery),
    answer: token,
    run: async (call, writer) => {
      const current = await requireToken(call, writer);
      if (current.userId !== null) await requireWithin(call, writer, { ...current, permissions: [] });
      requireEtag(call.ifMatch, current);
      if (current.id === call.caller.token.id)
        throw new GatewayError(
          "conflict",
          "An access token cannot revoke itself. Rotate it, or revoke it with another token.",
        );
      return answer(
        await writer.changeToken(current.id, (now) => ({ ...now, revokedAtMs: now.revokedAtMs ?? call.nowMs })),
        call,
      );
    },
  });
}

function tokenOperations(reach: "tenant" | "project"): readonly AdminOperation[] {
  const path: TokenPath =
    reach === "tenant"
      ? { reach, word: "Tenant", kind: "personal", base: "/tenants/{tenant}/tokens", what: "personal token" }
      : { reach, word: "Project", kind: "project", base: "/projects/{project}/tokens", what: "project token" };
  return [listOfTokens, creation, oneToken, changeOfToken, rotationOfToken, revocation].map((operation) =>
    operation(path),
  );
}

export const TOKEN_OPERATIONS: readonly AdminOperation[] = [
  ...tokenOperations("tenant"),
  ...tokenOperations("project"),
];
