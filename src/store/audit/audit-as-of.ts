// Who had which role and which access token at a time in the past. The state at that time is the present one with every
// change since then taken back, as the audit log has it, so nothing has to be stored twice.
import { chainOf } from "./audit-chain.ts";
import type { Json, JsonObject } from "../../core/json.ts";
import { everyRow, type Reader } from "../reader.ts";
import type { AuditRow } from "../records.ts";
import { auditedOf, USER_FIELDS } from "../database/identity-fields.ts";
import { auditedMembership, auditedToken } from "../database/row-values.ts";

/** An identity as the audit log shows it. */
export interface EarlierIdentity {
  readonly id: string;
  readonly projectId: string | null;
  readonly value: JsonObject;
}

export interface EarlierIdentities {
  readonly users: readonly EarlierIdentity[];
  /** The id is `<user>/<project>`, or `<user>/` in the whole tenant. */
  readonly memberships: readonly EarlierIdentity[];
  readonly tokens: readonly EarlierIdentity[];
}

type Kind = "user" | "membership" | "token";
type States = Map<string, EarlierIdentity>;

/** `null` when rows that would have to be taken back were removed because of their age. */
export async function identitiesAsOf(reader: Reader, tenantId: string, ms: number): Promise<EarlierIdentities | null> {
  if (await reader.isAuditRemovedSince(chainOf(tenantId), ms)) return null;
  const states: Readonly<Record<Kind, States>> = { user: new Map(), membership: new Map(), token: new Map() };
  await presentIdentities(reader, tenantId, ms, states);
  for (const { kind, targetId, projectId, before } of await firstChanges(reader, tenantId, ms))
    takeBack(states[kind], targetId, projectId, before);
  const of = (kind: Kind): readonly EarlierIdentity[] =>
    [...states[kind].values()].toSorted((a, b) => (a.id < b.id ? -1 : 1));
  return { users: of("user"), memberships: of("membership"), tokens: of("token") };
}

type IdentityChange = AuditRow & { readonly kind: Kind; readonly targetId: string };

const KINDS: readonly string[] = ["user", "membership", "token"] satisfies readonly Kind[];
/** Other rows about an identity, such as a login, change nothing. */
const ACTIONS: ReadonlySet<string> = new Set(["create", "change", "remove"]);

function isOfIdentity(row: AuditRow): row is IdentityChange {
  return row.targetId !== null && KINDS.includes(row.kind) && ACTIONS.has(row.action);
}

/**
 * Of each identity the first change since then, which says how it was before. The chain tells which is the first: the
 * clocks of several gateways differ, and a clock may be set back.
 */
async function firstChanges(reader: Reader, tenantId: string, ms: number): Promise<Iterable<IdentityChange>> {
  const first = new Map<string, IdentityChange>();
  for await (const row of everyRow((page) => reader.listAudit(page, { tenantId, outcome: "done", fromMs: ms + 1 }))) {
    if (!isOfIdentity(row)) continue;
    const key = `${row.kind} ${row.targetId}`;
    const known = first.get(key);
    if (known === undefined || row.link.sequence < known.link.sequence) first.set(key, row);
  }
  return first.values();
}

function takeBack(states: States, id: string, projectId: string | null, before: Json): void {
  if (before === null) states.delete(id);
  else states.set(id, { id, projectId, value: before as JsonObject });
}

async function presentIdentities(
  reader: Reader,
  tenantId: string,
  ms: number,
  states: Record<Kind, States>,
): Promise<void> {
  const put = (kind: Kind, id: string, projectId: string | null, value: JsonObject): void =>
    void states[kind].set(id, { id, projectId, value });
  for await (const user of everyRow((page) => reader.listUsers(page, { tenantId })))
    put("user", user.id, null, auditedOf(USER_FIELDS, user));
  for await (const one of everyRow((page) => reader.listMemberships(page, { tenantId })))
    put("membership", `${one.userId}/${one.projectId ?? ""}`, one.projectId, auditedMembership(one));
  for await (const token of everyRow((page) => reader.listTokens(page, { tenantId })))
    put("token", token.id, token.projectId, auditedToken(token, ms));
}
