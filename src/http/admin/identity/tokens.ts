// Access tokens of projects, and personal ones of users (promises 2.4 to 2.7, 2.11). A secret appears only in the
// response to the request that made it.
import { z } from "zod";
import type { TokenKind } from "../../../auth/tokens/access-token.ts";
import {
  endOfTokensMadeBy,
  nothingThere,
  requireLifetimeWithin,
  requirePermissionsWithin,
  requireRoleWithin,
  scopeOf,
} from "../../../auth/grants.ts";
import { requireRecentLogin } from "../../../auth/logins/recent-login.ts";
import { requireRestrictionsWithin } from "../../../auth/tokens/restriction-grants.ts";
import { createToken, type IssuedToken, requireLifetime, rotateToken } from "../../../auth/tokens/token-admin.ts";
import { GatewayError } from "../../../core/errors.ts";
import type { JsonObject } from "../../../core/json.ts";
import { type AccessToken, makerOf, UNRESTRICTED } from "../../../core/identity.ts";
import { conflict, invalidRequest } from "../../../core/refusals.ts";
import type { Kept, StoredToken } from "../../../store/records.ts";
import type { Reader } from "../../../store/reader.ts";
import { StoreError } from "../../../store/store-error.ts";
import type { Writer } from "../../../store/writer.ts";
import { askedBy } from "../asked.ts";
import { type AdminCall, type AdminOperation, type Answer, PLACES, reading, writing } from "../operation.ts";
import { chosenId, requireEtag, etagOf, isoOrNull, listed, listOf, pageOf, pageQuery, search } from "../schemas.ts";
import type { AdminCalls } from "../report-reads.ts";
import {
  STATES,
  listedToken,
  token,
  issuedToken,
  newProjectToken,
  newPersonalToken,
  tokenChange,
  rotation,
  shownToken,
  answer,
} from "./token-shapes.ts";
import { requireNotAbove } from "./users.ts";

/**
 * The token's text appears in the response to the request that made it, and nowhere else. `make` throws an Error that
 * says what is wrong with `expires_in_days`.
 */
async function issued(
  call: AdminCall,
  writer: Writer,
  status: 200 | 201,
  make: () => Promise<IssuedToken>,
): Promise<Answer> {
  const { id, text } = await withLifetime(make);
  const kept = await writer.findToken(id);
  if (kept === null) throw nothingThere(`access token ${id}`);
  const repeated = { ...shownToken(kept, call.nowMs), token: null };
  return { status, body: call.dryRun ? repeated : { ...repeated, token: text }, repeated, etag: etagOf(kept) };
}

async function requireToken({ place, params }: AdminCall, store: Reader): Promise<Kept<StoredToken>> {
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

type Rights = Pick<AccessToken, "role" | "permissions" | "models" | "routes" | "tools" | "ipRanges" | "userId">;

/** Who gives a token, where, and when. */
type Giving = Pick<AdminCall, "caller" | "role" | "place" | "nowMs" | "snapshot">;

/** The holder of a token's secret has all its rights, so the rights have to lie within those of the caller. */
async function requireWithin(call: Giving, store: Reader, rights: Rights): Promise<void> {
  if (rights.role !== null) requireRoleWithin(call.role, rights.role, "role");
  requirePermissionsWithin(call, rights.permissions);
  requireRestrictionsWithin(call.caller.token, rights);
  const { userId } = rights;
  if (userId !== null) await requireNotAbove(call, store, (await store.findUser(userId)) ?? { id: userId }, "user_id");
}

type GivenRights = Omit<Rights, "role" | "userId">;

/** The rights that a body names; what it leaves out stays as it is. */
const rightsIn = (body: z.output<typeof tokenChange>, now: GivenRights): GivenRights => ({
  permissions: body.permissions ?? now.permissions,
  models: body.models ?? now.models,
  routes: body.routes ?? now.routes,
  tools: body.tools ?? now.tools,
  ipRanges: body.ip ?? now.ipRanges,
});

/** Once the form of a request is valid, only the lifetime of the token can be wrong. */
export async function withLifetime<T>(rule: () => Promise<T>): Promise<T> {
  try {
    return await rule();
  } catch (thrown) {
    if (thrown instanceof GatewayError || thrown instanceof StoreError || !(thrown instanceof Error)) throw thrown;
    throw new GatewayError("invalid_request", thrown.message, { param: "expires_in_days", cause: thrown });
  }
}

interface OwnerWords {
  readonly user_id?: string | null | undefined;
  readonly role?: AccessToken["role"] | undefined;
}

async function owner(
  call: Giving & { readonly body: OwnerWords },
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
  { caller: { token: own, memberships }, body: { role = null }, place }: Giving & { readonly body: OwnerWords },
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
  return invalidRequest(param, `${param}: ${message}`);
}

const tokenFilters = { search, state: z.enum(STATES).optional() };

const FILTERS = { project: tokenFilters, tenant: { ...tokenFilters, user_id: chosenId.optional() } } as const;

/** What is known of the last use of tokens, from the calls that are kept: no call writes it down. */
async function lastUses(
  tenantId: string,
  ids: readonly string[],
  calls: AdminCalls | null,
): Promise<(id: string) => { readonly last_used_at: string | null }> {
  const uses = (await calls?.lastUses(tenantId, ids)) ?? [];
  const lastMs = new Map(uses.map(({ tokenId, timeMs }) => [tokenId, timeMs]));
  return (id) => ({ last_used_at: isoOrNull(lastMs.get(id) ?? null) });
}

/** The body of a request for a new token. */
export type TokenWords = Omit<z.output<typeof newProjectToken>, "role"> & OwnerWords;

/** What a new token is made of. Throws what is wrong with the request, or what the caller may not give. */
export async function permittedRequest(
  call: Giving & { readonly body: TokenWords },
  store: Reader,
): Promise<Parameters<typeof createToken>[1]> {
  const { body, caller } = call;
  const of = await owner(call, store);
  const rights = { ...of, ...rightsIn(body, { ...UNRESTRICTED, permissions: [] }) };
  await requireWithin(call, store, rights);
  requireLifetimeWithin(call, body.expires_in_days);
  await withLifetime(() => requireLifetime(store, of, body.expires_in_days));
  return {
    ...rights,
    name: body.name,
    personal: of.kind === "personal",
    expiresInDays: body.expires_in_days ?? null,
    endsByMs: endOfTokensMadeBy(caller),
    mostLive: call.snapshot.limits.maxLiveTokens,
    createdBy: makerOf(caller.token),
  };
}

function operationsOf(reach: "tenant" | "project", calls: AdminCalls | null): readonly AdminOperation[] {
  const { name: word, base: placeBase } = PLACES[reach];
  const base = `${placeBase}/tokens`;
  const kind: TokenKind = reach === "tenant" ? "personal" : "project";
  const tag = "tokens";
  const filters = FILTERS[reach];
  return [
    reading({
      tag,
      id: `list${word}Tokens`,
      path: base,
      summary:
        reach === "tenant"
          ? "List the personal tokens of the tenant's users, the newest first"
          : "List the tokens of a project, the newest first",
      query: z.strictObject({ ...pageQuery, ...filters }),
      answer: listOf(listedToken, `${word}TokenList`),
      run: async ({ place, query, nowMs }, store) => {
        const filter = { kind, ...scopeOf(place!), ...askedBy(filters, query) };
        const page = await store.listTokens(pageOf(query), filter);
        const ids = page.data.map(({ id }) => id);
        const lastUse = await lastUses(place!.tenantId, ids, calls);
        return { body: listed(page, (one) => ({ ...shownToken(one, nowMs), ...lastUse(one.id) })) };
      },
    }),
    writing({
      tag,
      method: "post",
      id: `create${word}Token`,
      path: base,
      summary: `Create a ${kind} token; the response shows it this once`,
      body: reach === "tenant" ? newPersonalToken : newProjectToken,
      answer: issuedToken,
      run: async (call, writer) => {
        const request = await permittedRequest(call, writer);
        return await issued(call, writer, 201, () => createToken(writer, request, call.nowMs));
      },
    }),
    reading({
      tag,
      id: `read${word}Token`,
      path: `${base}/{id}`,
      summary: `One ${kind} token`,
      answer: listedToken,
      run: async (call, store) => {
        const one = await requireToken(call, store);
        const shown = answer(one, call);
        const lastUse = await lastUses(one.tenantId, [one.id], calls);
        return { ...shown, body: { ...(shown.body as JsonObject), ...lastUse(one.id) } };
      },
    }),
    writing({
      tag,
      method: "patch",
      id: `update${word}Token`,
      path: `${base}/{id}`,
      summary: `Change the name and the restrictions of a ${kind} token`,
      body: tokenChange,
      answer: token,
      run: async (call, writer) => {
        const current = await requireToken(call, writer);
        await requireWithin(call, writer, current);
        requireEtag(call.ifMatch, current);
        const { body } = call;
        const changed = { name: body.name ?? current.name, ...rightsIn(body, current) };
        await requireWithin(call, writer, { ...current, ...changed });
        return answer(await writer.changeToken(current.id, (now) => ({ ...now, ...changed })), call);
      },
    }),
    writing({
      tag,
      method: "post",
      id: `rotate${word}Token`,
      path: `${base}/{id}/rotate`,
      summary: `Rotate a ${kind} token: a new secret and expiry; the old secret stays valid for a while`,
      body: rotation,
      bodyOptional: true,
      answer: issuedToken,
      run: async (call, writer) => {
        const current = await requireToken(call, writer);
        await requireWithin(call, writer, current);
        // the secret gives the permissions, as when the token was made
        if (current.permissions.length > 0) requireRecentLogin(call.session, call.nowMs);
        requireEtag(call.ifMatch, current);
        if (current.revokedAtMs !== null)
          throw conflict("The access token is revoked, which cannot be undone. Create a new one.");
        const { overlap_minutes: minutes, expires_in_days: expires } = call.body;
        requireLifetimeWithin(call, expires);
        const options = {
          overlapMs: minutes == null ? null : minutes * 60_000,
          expiresInDays: expires ?? null,
          endsByMs: endOfTokensMadeBy(call.caller),
          mostLive: call.snapshot.limits.maxLiveTokens,
        };
        return await issued(call, writer, 200, () => rotateToken(writer, current.id, options, call.nowMs));
      },
    }),
    writing({
      tag,
      method: "post",
      id: `revoke${word}Token`,
      path: `${base}/{id}/revoke`,
      summary: `Revoke a ${kind} token at once; this cannot be undone`,
      answer: token,
      run: async (call, writer) => {
        const current = await requireToken(call, writer);
        if (current.userId !== null) await requireWithin(call, writer, { ...current, permissions: [] });
        requireEtag(call.ifMatch, current);
        if (current.id === call.caller.token.id)
          throw conflict("An access token cannot revoke itself. Rotate it, or revoke it with another token.");
        return answer(
          await writer.changeToken(current.id, (now) => ({ ...now, revokedAtMs: now.revokedAtMs ?? call.nowMs })),
          call,
        );
      },
    }),
  ];
}

export const tokenOperations = (calls: AdminCalls | null): readonly AdminOperation[] => [
  ...operationsOf("tenant", calls),
  ...operationsOf("project", calls),
];
