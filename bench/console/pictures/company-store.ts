// Puts the made company into a store, as if people had done it in the course of two months: the clock is turned to each of their changes.
import { createToken } from "../../../src/auth/tokens/token-admin.ts";
import type { Permission } from "../../../src/core/identity.ts";
import { LOCAL_ACTOR } from "../../../src/store/records.ts";
import type { Store } from "../../../src/store/store.ts";
import type { Writer } from "../../../src/store/writer.ts";
import type { TurnedClock } from "../../../test/harness/time/turned-clock.ts";
import { by, CALLERS, DAY_MS, HOUR_MS, LIFETIME_DAYS, NOW_MS, PEOPLE, PROJECTS, TENANT } from "./company.ts";
import { type Configured, STEPS } from "./company-history.ts";

export interface Identities {
  /** Texts of personal tokens, by person. */
  readonly texts: ReadonlyMap<string, string>;
  /** Ids of project tokens, by name. */
  readonly callers: ReadonlyMap<string, string>;
}

export async function makePeople(store: Store, clock: TurnedClock): Promise<Identities> {
  const texts = new Map<string, string>();
  const callers = new Map<string, string>();
  await store.createFirst({
    tenant: { id: TENANT, name: "Kestrel Travel" },
    project: { id: "support", tenantId: TENANT, name: PROJECTS.support },
    user: { id: "maya", tenantId: TENANT, name: PEOPLE["maya"]!.name, isOperator: false },
    membership: { userId: "maya", tenantId: TENANT, projectId: null, role: "owner" },
    token: null,
  });
  clock.turnTo(NOW_MS - 60 * DAY_MS);
  await store.change({ ...LOCAL_ACTOR, via: "cli" }, async (writer) => {
    for (const [id, name] of Object.entries(PROJECTS))
      if (id !== "support") await writer.createProject({ id, tenantId: TENANT, name });
    for (const [id, { name, tenantRole, roles }] of Object.entries(PEOPLE)) {
      const user = { id, tenantId: TENANT, name, isOperator: false, email: `${id}@kestrel.example` };
      if (id === "maya") await writer.changeUser(id, () => user);
      else await writer.createUser(user);
      if (tenantRole !== null)
        await writer.putMembership({ userId: id, tenantId: TENANT, projectId: null, role: tenantRole });
      for (const [projectId, role] of Object.entries(roles))
        await writer.putMembership({ userId: id, tenantId: TENANT, projectId, role });
    }
  });
  texts.set("nils", await makeNewTenant(store));
  for (const [id, { tenantRole }] of Object.entries(PEOPLE)) {
    clock.turnTo(NOW_MS - 20 * DAY_MS);
    const permissions: readonly Permission[] = tenantRole === "owner" ? ["read_content", "debug"] : [];
    await store.change(by("tomasz", "admin"), async (writer) => {
      const request = { name: `${id}'s laptop`, personal: true, userId: id, permissions };
      texts.set(id, (await createToken(writer, request, writer.nowMs)).text);
    });
  }
  for (const [name, { project, daysOld }] of Object.entries(CALLERS)) {
    clock.turnTo(NOW_MS - daysOld * DAY_MS);
    const giver = project === "support" ? "priya" : "tomasz";
    await store.change(by(giver, "maintainer"), async (writer) => {
      const request = { name, projectId: project, expiresInDays: LIFETIME_DAYS[name] ?? null, createdBy: giver };
      callers.set(name, (await createToken(writer, request, writer.nowMs)).id);
    });
  }
  return { texts, callers };
}

/** Another tenant, in which nothing has happened yet. Returns the token of its owner. */
async function makeNewTenant(store: Store): Promise<string> {
  const { result } = await store.change({ ...LOCAL_ACTOR, via: "cli" }, async (writer) => {
    await writer.createTenant({ id: "harbour", name: "Harbour Books" });
    await writer.createProject({ id: "site", tenantId: "harbour", name: "Web shop" });
    await writer.createUser({ id: "nils", tenantId: "harbour", name: "Nils Berg", isOperator: false });
    await writer.putMembership({ userId: "nils", tenantId: "harbour", projectId: null, role: "owner" });
    const request = { name: "Nils' laptop", personal: true, userId: "nils" };
    return (await createToken(writer, request, writer.nowMs)).text;
  });
  return result;
}

/** Ids of what is configured, by kind, project and name: `route support chat`. */
export type MadeIds = ReadonlyMap<string, string>;

export async function makeConfiguration(store: Store, clock: TurnedClock): Promise<MadeIds> {
  const ids = new Map<string, string>();
  const keyOf = ({ kind, projectId, name }: Configured): string => `${kind} ${projectId ?? "-"} ${name}`;
  for (const { daysAgo, actor, note, create = [], change = [] } of STEPS) {
    clock.turnTo(NOW_MS - daysAgo * DAY_MS);
    await store.change(actor, async (writer: Writer) => {
      if (note !== undefined) writer.annotate(note);
      for (const made of create) {
        const { kind, projectId = null, name, document } = made;
        const { id } = await writer.createResource({ kind, tenantId: TENANT, projectId, name, document });
        ids.set(keyOf(made), id);
      }
      for (const made of change)
        await writer.changeResource(made.kind, ids.get(keyOf(made))!, () => ({
          name: made.name,
          document: made.document,
        }));
    });
  }
  return ids;
}

/** What stands beside: links that were given, saved views, sessions of others, and refused attempts. */
export async function makeTraces(store: Store, clock: TurnedClock): Promise<void> {
  clock.turnTo(NOW_MS - 5 * HOUR_MS);
  await store.change(by("priya", "maintainer"), async (writer) => {
    await writer.createClaim({
      id: "clm_partner_agency",
      codeHash: "partner-agency",
      tenantId: TENANT,
      projectId: "support",
      request: { name: "partner-agency", role: "developer", routes: ["chat"] },
      giver: "{}",
      createdBy: "priya",
      createdAtMs: writer.nowMs,
      expiresAtMs: writer.nowMs + DAY_MS,
      redeemedAtMs: null,
      tokenId: null,
      revokedAtMs: null,
    });
    for (const [name, query] of [
      ["Slow answers", "q=ms%3E8000&range=7d"],
      ["Refused by limits", "q=status%3A429"],
    ] as const)
      await writer.createView({
        id: `viw_${name.toLowerCase().replaceAll(" ", "_")}`,
        owner: { tenantId: TENANT, projectId: "support", userId: null },
        screen: "calls",
        name,
        query,
        isDefault: false,
        createdBy: "priya",
        createdAtMs: writer.nowMs,
      });
  });
  clock.turnTo(NOW_MS - 3 * HOUR_MS);
  await store.note(by("henrik", "viewer"), {
    action: "change",
    outcome: "refused",
    kind: "route",
    tenantId: TENANT,
    projectId: "support",
    targetName: "chat",
    note: "insufficient_role",
  });
  for (const [person, hoursAgo, browser] of [
    ["tomasz", 26, "Mozilla/5.0 (Macintosh; Intel Mac OS X 10.15; rv:143.0) Gecko/20100101 Firefox/143.0"],
    ["priya", 5.5, "Mozilla/5.0 (X11; Linux x86_64) AppleWebKit/537.36 Chrome/141.0.0.0 Safari/537.36"],
    ["lucia", 1.2, "Mozilla/5.0 (iPhone; CPU iPhone OS 18_7) AppleWebKit/605.1.15 Mobile/15E148 Safari/604.1"],
  ] as const)
    await store.sessions.openSession({
      id: `ses_${person}`,
      secretHash: person,
      way: person === "lucia" ? "link" : "token",
      tenantId: TENANT,
      userId: person,
      tokenId: null,
      identity: "{}",
      rights: "",
      address: PEOPLE[person]!.address,
      browser,
      startedAtMs: NOW_MS - hoursAgo * HOUR_MS,
      seenAtMs: NOW_MS - hoursAgo * 0.3 * HOUR_MS,
      endsAtMs: NOW_MS + 6 * DAY_MS,
    });
}
