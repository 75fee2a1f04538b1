// Creates, rotates and revokes access tokens, and makes the first one (promises 2.4 to 2.8). Used by the command
// line and the admin API. An invalid request throws an Error whose message lists the valid choices, and one too many a
// GatewayError; no message repeats a token.

// Decides (who may call, and with what): For how long is the old secret of a rotated token valid? By: `rotateToken`.
// Rule: 24 h, or as the request says, at least 30 minutes; never longer than it was valid before. The token keeps its
// id, and with it its limits.
import { conflict } from "../../core/refusals.ts";
import {
  highestRole,
  OPS,
  PERMISSIONS,
  ROLES,
  roleAtLeast,
  type AccessToken,
  type Permission,
  type Role,
  type TokenSecret,
} from "../../core/identity.ts";
import type { Page, PageRequest, Reader, TokenFilter } from "../../store/reader.ts";
import type { StoredToken } from "../../store/records.ts";
import { StoreError } from "../../store/store-error.ts";
import type { Writer } from "../../store/writer.ts";
import { isIpRange } from "../../wire/ip-range.ts";
import { DEFAULT_LIFETIME_MS, newAccessToken, newTokenText, parseTokenText, type TokenKind } from "./access-token.ts";
import { MOST_RESTRICTIONS, RESTRICTIONS } from "../permitted-models.ts";
import { FIRST_USER } from "../first-identities.ts";
import { hasRole } from "../memberships.ts";

export const DAY_MS = 86_400_000;
export const LONGEST_DAYS = 36_500;
const DEFAULT_OVERLAP_MS = DAY_MS;
export const SHORTEST_OVERLAP_MS = 30 * 60_000;
/** Of one token, with those in the overlap of a rotation. */
const MOST_SECRETS = 10;
const LISTED = 20;

export interface TokenRequest {
  /** 1 to 100 characters, for people. */
  readonly name: string;
  /** False by default, which makes a project token. */
  readonly personal?: boolean;
  /** For a project token. Optional when there is exactly one project. */
  readonly projectId?: string | null;
  /** For a personal token. Optional when there is exactly one user. */
  readonly userId?: string | null;
  /**
   * For a project token: the cap of its role, `developer` by default, at most `maintainer`. For a personal token: the
   * role that its user must have in the tenant. A user that is not named is found by this role.
   */
  readonly role?: string | null;
  readonly permissions?: readonly string[];
  /** Globs; omitted or empty for no restriction. */
  readonly models?: readonly string[];
  readonly routes?: readonly string[];
  readonly tools?: readonly string[];
  /** Addresses and CIDR ranges; omitted or empty for no restriction. */
  readonly ipRanges?: readonly string[];
  /** Above 0. By default 90 (personal) or 365 (project), or the tenant's cap if that is lower. */
  readonly expiresInDays?: number | null;
  /** The token does not live beyond this, whatever its lifetime: the end of the token that makes it (promise 2.13). */
  readonly endsByMs?: number | null;
  /** How many live tokens its project or its user may have; without it there is no bound. */
  readonly mostLive?: number | null;
  /** As in StoredToken. */
  readonly createdBy?: string | null;
}

export interface IssuedToken {
  readonly id: string;
  /** To be shown once; it is not stored. */
  readonly text: string;
  readonly record: AccessToken;
}

export interface RotationOptions {
  /** How long the old secret stays valid: 24 h by default, at least 30 min. This never extends its previous end. */
  readonly overlapMs?: number | null;
  /** By default the lifetime with which the token was created, within the tenant's cap. */
  readonly expiresInDays?: number | null;
  /** As in TokenRequest. */
  readonly endsByMs?: number | null;
  /** As in TokenRequest, for a token that has expired and becomes live again. */
  readonly mostLive?: number | null;
}

/** Throws Error for an unknown project, user, role or permission, and StoreError. */
export async function createToken(writer: Writer, request: TokenRequest, nowMs: number): Promise<IssuedToken> {
  const { id, text, sha256 } = newAccessToken(request.personal === true ? "personal" : "project");
  const record = await recordOf(writer, request, { id, secret: { sha256, retiresAtMs: null } }, nowMs);
  return { id, text, record };
}

/**
 * Makes a project token for a key of another gateway, of which only the SHA-256 is known: the key is accepted until the
 * token ends. Faults as of createToken.
 */
export async function acceptForeignKey(
  writer: Writer,
  request: TokenRequest & { readonly expiresInDays: number },
  sha256: Uint8Array,
  nowMs: number,
): Promise<StoredToken> {
  const { id } = newAccessToken("project");
  const endsMs = nowMs + Math.ceil(request.expiresInDays * DAY_MS);
  return recordOf(writer, request, { id, secret: { sha256, retiresAtMs: endsMs } }, nowMs);
}

async function recordOf(
  writer: Writer,
  request: TokenRequest,
  { id, secret }: { readonly id: string; readonly secret: TokenSecret },
  nowMs: number,
): Promise<StoredToken> {
  const kind: TokenKind = request.personal === true ? "personal" : "project";
  const owner = await (kind === "personal" ? personalOwner(request, writer) : projectOwner(request, writer));
  const lifetimeMs = lifetime(
    request.expiresInDays ?? null,
    DEFAULT_LIFETIME_MS[kind],
    await capMs(writer, owner.tenantId, kind),
  );
  await requireRoom(writer, owner, request.mostLive);
  const record: StoredToken = {
    id,
    kind,
    name: checkedName(request.name),
    ...owner,
    permissions: checkedPermissions(request.permissions ?? []),
    models: checkedPatterns(request.models ?? [], "model"),
    routes: checkedPatterns(request.routes ?? [], "route"),
    tools: checkedPatterns(request.tools ?? [], "tool"),
    ipRanges: checkedRanges(request.ipRanges ?? []),
    secrets: [secret],
    createdAtMs: nowMs,
    lifetimeMs,
    expiresAtMs: Math.min(nowMs + lifetimeMs, request.endsByMs ?? Infinity),
    revokedAtMs: null,
    createdBy: request.createdBy ?? null,
  };
  await writer.createToken(record);
  return record;
}

/**
 * Gives the token another secret and a new lifetime. Throws Error for an unknown or revoked token and for an overlap
 * that is too short, and StoreError.
 */
export async function rotateToken(
  writer: Writer,
  tokenId: string,
  options: RotationOptions,
  nowMs: number,
): Promise<IssuedToken> {
  const overlapMs = options.overlapMs ?? DEFAULT_OVERLAP_MS;
  if (!(overlapMs >= SHORTEST_OVERLAP_MS) || !Number.isFinite(overlapMs))
    throw new Error(
      "The overlap of a rotation must be at least 30 minutes, so that clients can change to the new secret. To end a token at once, revoke it.",
    );
  const known = await knownToken(tokenId, writer);
  const { id, kind, tenantId } = known;
  if (nowMs >= known.expiresAtMs) await requireRoom(writer, known, options.mostLive);
  const cap = await capMs(writer, tenantId, kind);
  const { text, sha256 } = newTokenText(kind, id);
  const record = await writer.changeToken(id, (token) => {
    if (token.revokedAtMs !== null)
      throw new Error(
        `The access token ${id} is revoked, which cannot be undone. Create a new one with \`dragoman token create\`.`,
      );
    const lifetimeMs = lifetime(options.expiresInDays ?? null, token.lifetimeMs, cap);
    const secrets = [...retired(token, nowMs, nowMs + overlapMs), { sha256, retiresAtMs: null }];
    if (secrets.length > MOST_SECRETS)
      throw conflict(
        `The access token ${id} has ${MOST_SECRETS} secrets that still work. Rotate it when the overlap of one has ended, or create another token.`,
      );
    const expiresAtMs = Math.min(nowMs + lifetimeMs, options.endsByMs ?? Infinity);
    return { ...token, secrets, lifetimeMs, expiresAtMs };
  });
  return { id, text, record };
}

/**
 * Revokes the token permanently and at once. The time of a first revocation is kept. Throws Error for an unknown token,
 * and StoreError.
 */
export async function revokeToken(writer: Writer, tokenId: string, nowMs: number): Promise<AccessToken> {
  const { id } = await knownToken(tokenId, writer);
  return writer.changeToken(id, (token) => ({ ...token, revokedAtMs: token.revokedAtMs ?? nowMs }));
}

type Owner = Pick<AccessToken, "tenantId" | "projectId" | "userId" | "role">;

async function projectOwner(request: TokenRequest, reader: Reader): Promise<Owner> {
  if (request.userId != null)
    throw new Error(
      "A project token belongs to a project and has no user. For a token of a user, ask for a personal one.",
    );
  const project = await chosen(
    "project",
    request.projectId ?? null,
    (id) => reader.findProject(id),
    (page) => reader.listProjects(page),
  );
  return {
    tenantId: project.tenantId,
    projectId: project.id,
    userId: null,
    role: checkedRole(request.role ?? "developer"),
  };
}

async function personalOwner(request: TokenRequest, reader: Reader): Promise<Owner> {
  if (request.projectId != null)
    throw new Error("A personal token has no project: it has access to the projects in which its user has a role.");
  const role = request.role ?? null;
  const user =
    role === null || request.userId != null
      ? await chosen(
          "user",
          request.userId ?? null,
          (id) => reader.findUser(id),
          (page) => reader.listUsers(page),
        )
      : await userWithRole(knownRole(role), reader);
  if (role !== null) await requireRole(user.id, knownRole(role), reader);
  if (!(await hasRole(reader, user.id)))
    throw new Error(
      `The user ${user.id} has no role, so the token could not be used. Give the user a membership first.`,
    );
  return { tenantId: user.tenantId, projectId: null, userId: user.id, role: null };
}

/** The only user with this role in a whole tenant; if several have it, the user that the first start created. */
async function userWithRole(role: Role, reader: Reader): Promise<{ readonly id: string; readonly tenantId: string }> {
  const { data } = await reader.listMemberships({ limit: LISTED }, { projectId: null, role });
  const only = data.length === 1 ? data[0] : data.find(({ userId }) => userId === FIRST_USER);
  if (only === undefined)
    throw new Error(
      data.length === 0
        ? `No user has the role ${role} in a tenant. Name the user with --user.`
        : `Several users have the role ${role}. Name one with --user: ${listed(
            data.map(({ userId }) => userId),
            false,
          )}.`,
    );
  return { id: only.userId, tenantId: only.tenantId };
}

/** A personal token has no role of its own, so its user must have the role. */
async function requireRole(userId: string, role: Role, reader: Reader): Promise<void> {
  const { data } = await reader.listMemberships({ limit: 1000 }, { userId });
  const highest = highestRole(data.map((membership) => membership.role));
  if (highest === null || !roleAtLeast(highest, role))
    throw new Error(
      `The highest role of the user ${userId} is ${highest ?? "none"}, and a personal token has the roles of its user. Give the user the role ${role} first.`,
    );
}

function knownRole(word: string): Role {
  const role = ROLES.find((known) => known === word);
  if (role === undefined) throw new Error(`Unknown role ${JSON.stringify(word)}. The roles are: ${ROLES.join(", ")}.`);
  return role;
}

async function chosen<T extends { readonly id: string }>(
  what: "project" | "user",
  id: string | null,
  find: (id: string) => Promise<T | null>,
  list: (page: PageRequest) => Promise<Page<T>>,
): Promise<T> {
  const found = id === null ? null : await find(id);
  if (found !== null) return found;
  const { data: all, nextCursor } = await list({ limit: LISTED });
  if (id === null && all.length === 1) return all[0]!;
  if (all.length === 0) throw new Error(`There is no ${what} yet. The first start of the server creates one.`);
  throw new Error(
    `${id === null ? `There is more than one ${what}: name one.` : `There is no ${what} ${JSON.stringify(id)}.`} There ${all.length === 1 ? "is" : "are"}: ${listed(
      all.map((one) => one.id),
      nextCursor !== null,
    )}.`,
  );
}

function checkedRole(word: string): Role {
  const allowed = ROLES.filter((role) => roleAtLeast("maintainer", role));
  const role = allowed.find((known) => known === word);
  if (role !== undefined) return role;
  const known = ROLES.some((one) => one === word);
  throw new Error(
    `${known ? `A project token cannot have the role ${word}; its highest role is maintainer.` : `Unknown role ${JSON.stringify(word)}.`} A project token's roles are: ${listed(allowed)}.`,
  );
}

function checkedPermissions(names: readonly string[]): readonly Permission[] {
  const unknown = names.find((word) => !PERMISSIONS.some((permission) => permission === word));
  if (unknown !== undefined)
    throw new Error(`Unknown permission ${JSON.stringify(unknown)}. The permissions are: ${listed(PERMISSIONS)}.`);
  if (names.includes(OPS) && new Set(names).size > 1)
    throw new Error(
      "The permission ops cannot be combined with others: a token with it only has access to /metrics and /readyz?verbose.",
    );
  return PERMISSIONS.filter((permission) => names.includes(permission));
}

function checkedPatterns(names: readonly string[], what: keyof typeof RESTRICTIONS): readonly string[] {
  const { form, expected } = RESTRICTIONS[what];
  const wrong = names.find((word) => !form.test(word));
  if (wrong !== undefined)
    throw new Error(`${JSON.stringify(wrong.slice(0, 100))} is invalid: a ${what} of an access token is ${expected}.`);
  return checkedCount(names);
}

function checkedRanges(names: readonly string[]): readonly string[] {
  const wrong = names.find((word) => !isIpRange(word));
  if (wrong !== undefined)
    throw new Error(
      `${JSON.stringify(wrong.slice(0, 100))} is not an address or address range: expected something like 192.0.2.7, 10.0.0.0/8 or 2001:db8::/32.`,
    );
  return checkedCount(names);
}

function checkedCount(names: readonly string[]): readonly string[] {
  if (names.length > MOST_RESTRICTIONS)
    throw new Error(
      `An access token can be restricted to at most ${MOST_RESTRICTIONS} models, routes, tools and addresses each.`,
    );
  return [...new Set(names)];
}

function checkedName(name: string): string {
  const trimmed = name.trim();
  if (trimmed === "" || trimmed.length > 100)
    throw new Error("The name of an access token must have 1 to 100 characters.");
  if (parseTokenText(trimmed) !== null)
    throw new Error("The name of an access token is shown and stored in plain text, so it cannot be an access token.");
  return trimmed;
}

/** A requested lifetime is accepted or refused; the default lifetime is shortened to the cap. */
function lifetime(days: number | null, defaultMs: number, cap: number): number {
  if (days === null) return Math.min(defaultMs, cap);
  if (!(days > 0) || days > LONGEST_DAYS)
    throw new Error(`The lifetime of an access token must be above 0 and at most ${LONGEST_DAYS} days.`);
  const ms = Math.ceil(days * DAY_MS);
  if (ms > cap) throw new Error(`The tenant limits the lifetime of these tokens to ${cap / DAY_MS} days.`);
  return ms;
}

/** Throws Error for a lifetime that `createToken` would refuse. */
export async function requireLifetime(
  reader: Reader,
  { kind, tenantId }: Pick<AccessToken, "kind" | "tenantId">,
  days: number | null | undefined,
): Promise<void> {
  lifetime(days ?? null, DEFAULT_LIFETIME_MS[kind], await capMs(reader, tenantId, kind));
}

async function capMs(reader: Reader, tenantId: string, kind: TokenKind): Promise<number> {
  const caps = (await reader.findTenant(tenantId))?.tokenCaps;
  const days = kind === "personal" ? caps?.personalDays : caps?.projectDays;
  return days == null ? Infinity : days * DAY_MS;
}

/** Every process that serves calls holds all live tokens, so one caller may not make any number. Throws `conflict`. */
async function requireRoom(reader: Reader, of: Owner, mostLive: number | null | undefined): Promise<void> {
  if (mostLive == null || !(await reader.hasLiveTokens(of, mostLive))) return;
  throw conflict(
    `The ${of.projectId === null ? `user ${of.userId}` : `project ${of.projectId}`} has ${mostLive} live access tokens, the most that it may have. Revoke those that are no longer used; the operator can raise server.max_live_tokens.`,
  );
}

/** The secrets that still work, each with an end: the end of the overlap or its previous end, whichever comes first. */
function retired(token: AccessToken, nowMs: number, overlapEndsMs: number): readonly TokenSecret[] {
  return token.secrets
    .map((secret) => ({
      ...secret,
      retiresAtMs: Math.min(secret.retiresAtMs ?? token.expiresAtMs, token.expiresAtMs, overlapEndsMs),
    }))
    .filter((secret) => secret.retiresAtMs > nowMs);
}

/** `live`, unless it was revoked or has expired. */
export function stateOfToken(
  { revokedAtMs, expiresAtMs }: Pick<AccessToken, "revokedAtMs" | "expiresAtMs">,
  nowMs: number,
): NonNullable<TokenFilter["state"]> {
  if (revokedAtMs !== null) return "revoked";
  return nowMs >= expiresAtMs ? "expired" : "live";
}

/** Finds a token by its id or by its whole text. */
async function knownToken(idOrText: string, reader: Reader): Promise<AccessToken> {
  const token = await reader.findToken(parseTokenText(idOrText)?.id ?? idOrText);
  if (token !== null) return token;
  // Anything longer than an id may be a token with a typing error in it.
  const named = /^\w{1,12}$/.test(idOrText) ? ` with the id ${idOrText}` : " with this id";
  const { data: tokens, nextCursor } = await reader.listTokens({ limit: LISTED });
  const known = tokens.map(({ id, name }) => `${id} (${name})`);
  throw new StoreError(
    "unknown",
    `There is no access token${named}. ${known.length === 0 ? "There are none yet." : `There are: ${listed(known, nextCursor !== null)}.`}`,
  );
}

function listed(names: readonly string[], areMore = false): string {
  return areMore ? `${names.join(", ")} and others` : names.join(", ");
}
