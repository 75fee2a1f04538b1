// What every store does, whatever its database. A driver's test passes in how a new, empty database is created and
// inspected from outside.
import { afterEach, beforeEach, describe, expect, test } from "bun:test";
import type { Identities, StoredToken } from "../../../src/store/records.ts";
import type { Store } from "../../../src/store/store.ts";
import { openSecretCipher, type SecretCipher } from "../../../src/config/secret-cipher.ts";
import type { Clock } from "../../../src/core/clock.ts";
import { writes } from "../../harness/store-writes.ts";
import { storedSample } from "../../harness/sample-tokens.ts";

export interface StorePlaceOptions {
  readonly cipher: SecretCipher;
  readonly clock: Clock;
}

export interface StorePlace {
  /** A new handle on the same database, as another process would have it. */
  open(options: StorePlaceOptions): Promise<Store>;
  /** A statement from outside, past the store. */
  run(sql: string): Promise<void>;
  /** What a statement from outside gives. */
  read(sql: string): Promise<unknown>;
  dispose(): Promise<void>;
}

/** The time of all stores of a test; it stands still. */
let nowMs = 0;
const clock: Clock = { now: () => nowMs, monotonic: () => performance.now() };
export const cipher = openSecretCipher([new Uint8Array(32).fill(7)]);

export function storeSuite(name: string, newPlace: () => Promise<StorePlace>): void {
  describe(`the store in ${name}`, () => {
    const places: StorePlace[] = [];
    const stores: Store[] = [];
    const fresh = async (): Promise<StorePlace> => {
      const place = await newPlace();
      places.push(place);
      return place;
    };
    const open = async (place: StorePlace, migrated = true): Promise<Store> => {
      const store = await place.open({ cipher, clock });
      stores.push(store);
      if (migrated) await store.migrate();
      return store;
    };
    const opened = async (): Promise<Store> => open(await fresh());
    beforeEach(() => void (nowMs = 1_700_000_000_000));
    afterEach(async () => {
      for (const store of stores.splice(0)) await store.close();
      for (const place of places.splice(0)) await place.dispose();
    });

    schemaTests(fresh, open);
    identityTests(opened);
    membershipTests(opened);
    tokenTests(opened);
    sharingTests(fresh, open);
  });
}

type Open = (place: StorePlace, migrated?: boolean) => Promise<Store>;
type Opened = () => Promise<Store>;

function schemaTests(fresh: () => Promise<StorePlace>, open: Open): void {
  test("a second migration changes nothing", async () => {
    const store = await open(await fresh());
    await writes(store).createTenant({ id: "acme", name: "Acme" });
    const before = await store.revision();
    await store.migrate();
    expect(await store.revision()).toBe(before);
    expect((await store.readIdentities()).tenants).toEqual([{ id: "acme", name: "Acme" }]);
  });

  test("is new until it is migrated for the first time", async () => {
    const place = await fresh();
    await place.run("create table another_program (id integer)");
    const store = await open(place, false);
    expect(await store.isNew()).toBe(true);
    await store.migrate();
    expect(await store.isNew()).toBe(false);
  });

  test("six handles migrate the same database at once", async () => {
    const place = await fresh();
    const stores = await Promise.all(Array.from({ length: 6 }, () => open(place, false)));
    await Promise.all(stores.map((store) => store.migrate()));
    for (const store of stores) expect((await store.readIdentities()).tenants).toEqual([]);
  });

  test("[d15.4] a database whose schema a newer version has contracted is refused with the cure", async () => {
    const place = await fresh();
    const store = await open(place);
    await place.run(
      "insert into kysely_migration (name, timestamp) values ('9999-from-the-future', '2030-01-01T00:00:00.000Z')",
    );
    await store.migrate();
    await place.run(
      "insert into schema_contraction (name, oldest_step, oldest_version) values ('without-old', 9999, '99.0.0')",
    );
    const error = await failure(store.migrate());
    expect(error).toMatchObject({ name: "StoreError", kind: "unusable" });
    expect(error.message).toContain("Start 99.0.0 or newer");
  });

  test("tables of another program in the way are named, and nothing of the failed step is kept", async () => {
    const place = await fresh();
    await place.run("create table users (id integer)");
    const store = await open(place, false);
    const error = await failure(store.migrate());
    expect(error).toMatchObject({ name: "StoreError", kind: "unusable" });
    expect(error.message).toContain("users");
    await place.run("drop table users");
    await store.migrate();
    expect((await store.readIdentities()).users).toEqual([]);
  });

  test("a revision above 2^53 counts on exactly", async () => {
    const place = await fresh();
    const store = await open(place);
    await place.run("update revisions set counter = 9007199254740993");
    expect(await store.revision()).toBe("9007199254740993");
    await writes(store).createTenant({ id: "acme", name: "Acme" });
    expect(await store.revision()).toBe("9007199254740994");
  });

  test("a stored time beyond exact numbers is an error and is not rounded", async () => {
    const place = await fresh();
    const store = await open(place);
    await firstTenant(store);
    await writes(store).createToken(projectToken("AAAAAAAAAAAA"));
    await place.run("update access_tokens set expires_at_ms = 9007199254740993");
    expect((await failure(store.readIdentities())).message).toContain("9007199254740993");
  });
}

function identityTests(opened: Opened): void {
  test("stored objects come back unchanged, ordered by id", async () => {
    const store = await opened();
    await writes(store).createTenant({ id: "beta", name: "Beta", tokenCaps: { personalDays: 30, projectDays: null } });
    await writes(store).createTenant({ id: "acme", name: "Acme 'Δ' \"corp\"" });
    await writes(store).createProject({ id: "site", tenantId: "acme", name: "Site" });
    await writes(store).createProject({ id: "app", tenantId: "beta", name: "App" });
    await writes(store).createUser({ id: "ann", tenantId: "acme", name: "Ann" });
    await writes(store).putMembership({ userId: "ann", tenantId: "acme", projectId: null, role: "viewer" });
    const { tenants, projects, users, memberships } = await store.readIdentities();
    expect(tenants).toEqual([
      { id: "acme", name: "Acme 'Δ' \"corp\"" },
      { id: "beta", name: "Beta", tokenCaps: { personalDays: 30, projectDays: null } },
    ]);
    expect(projects).toEqual([
      { id: "app", tenantId: "beta", name: "App", createdAtMs: nowMs },
      { id: "site", tenantId: "acme", name: "Site", createdAtMs: nowMs },
    ]);
    expect(users).toEqual([{ id: "ann", tenantId: "acme", name: "Ann", createdAtMs: nowMs }]);
    expect(memberships).toEqual([{ userId: "ann", tenantId: "acme", projectId: null, role: "viewer" }]);
  });

  test("caps on lifetimes are set and removed", async () => {
    const store = await opened();
    await firstTenant(store);
    await writes(store).setTokenCaps("acme", { personalDays: 7.5, projectDays: 30 });
    expect((await store.readIdentities()).tenants[0]?.tokenCaps).toEqual({ personalDays: 7.5, projectDays: 30 });
    await writes(store).setTokenCaps("acme", { personalDays: null, projectDays: null });
    expect((await store.readIdentities()).tenants[0]?.tokenCaps).toBeUndefined();
    expect(await failure(writes(store).setTokenCaps("nobody", { personalDays: 1, projectDays: 1 }))).toMatchObject({
      kind: "unknown",
    });
  });

  test("an id that is in use and an unknown tenant are errors that name them", async () => {
    const store = await opened();
    await firstTenant(store);
    for (const [kind, named, attempt] of [
      ["exists", "acme", () => writes(store).createTenant({ id: "acme", name: "Again" })],
      ["exists", "site", () => writes(store).createProject({ id: "site", tenantId: "acme", name: "Again" })],
      ["exists", "ann", () => writes(store).createUser({ id: "ann", tenantId: "acme", name: "Again" })],
      ["unknown", "nobody", () => writes(store).createProject({ id: "other", tenantId: "nobody", name: "Other" })],
      ["unknown", "nobody", () => writes(store).createUser({ id: "other", tenantId: "nobody", name: "Other" })],
    ] as const) {
      const error = await failure(attempt());
      expect(error).toMatchObject({ name: "StoreError", kind });
      expect(error.message).toContain(JSON.stringify(named));
    }
  });

  test("the first identities are created once, also by six at once", async () => {
    const store = await opened();
    const made = await Promise.all(
      Array.from({ length: 6 }, (_, index) => store.createFirst(firstIdentities(`${index}`.repeat(12)))),
    );
    expect(made.filter(Boolean)).toHaveLength(1);
    const { tenants, projects, users, memberships, tokens } = await store.readIdentities();
    expect([tenants.length, projects.length, users.length, memberships.length, tokens.length]).toEqual([1, 1, 1, 1, 1]);
    const before = await store.revision();
    expect(await store.createFirst(firstIdentities("BBBBBBBBBBBB"))).toBe(false);
    expect(await store.revision()).toBe(before);
  });

  test("a transaction that fails in the middle leaves nothing", async () => {
    const store = await opened();
    const first = firstIdentities("AAAAAAAAAAAA");
    const before = await store.revision();
    // The token comes last, and its project is not there.
    const error = await failure(store.createFirst({ ...first, token: { ...first.token, projectId: "elsewhere" } }));
    expect(error).toMatchObject({ kind: "unknown" });
    expect(await store.readIdentities()).toEqual({ tenants: [], projects: [], users: [], memberships: [], tokens: [] });
    expect(await store.revision()).toBe(before);
  });
}

function membershipTests(opened: Opened): void {
  test("a membership in a project and one in the tenant stand beside each other, and a second put changes the role", async () => {
    const store = await opened();
    await firstTenant(store);
    await writes(store).putMembership({ userId: "ann", tenantId: "acme", projectId: null, role: "viewer" });
    await writes(store).putMembership({ userId: "ann", tenantId: "acme", projectId: "site", role: "developer" });
    await writes(store).putMembership({ userId: "ann", tenantId: "acme", projectId: null, role: "admin" });
    await writes(store).putMembership({ userId: "ann", tenantId: "acme", projectId: "site", role: "maintainer" });
    const roles = (await store.readIdentities()).memberships.map(({ projectId, role }) => `${projectId}: ${role}`);
    expect(roles.toSorted()).toEqual(["null: admin", "site: maintainer"]);
    await writes(store).removeMembership("ann", null);
    expect(await failure(writes(store).removeMembership("ann", null))).toMatchObject({ kind: "unknown" });
    expect((await store.readIdentities()).memberships).toEqual([
      { userId: "ann", tenantId: "acme", projectId: "site", role: "maintainer" },
    ]);
  });

  test("no membership and no token crosses from one tenant into another", async () => {
    const store = await opened();
    await firstTenant(store);
    await writes(store).createTenant({ id: "beta", name: "Beta" });
    await writes(store).createProject({ id: "app", tenantId: "beta", name: "App" });
    for (const attempt of [
      () => writes(store).putMembership({ userId: "ann", tenantId: "beta", projectId: null, role: "owner" }),
      () => writes(store).putMembership({ userId: "ann", tenantId: "acme", projectId: "app", role: "developer" }),
      () => writes(store).createToken({ ...projectToken("AAAAAAAAAAAA"), projectId: "app" }),
      () => writes(store).createToken({ ...personalToken("AAAAAAAAAAAA"), tenantId: "beta" }),
    ])
      expect(await failure(attempt())).toMatchObject({ name: "StoreError", kind: "unknown" });
    const { memberships, tokens } = await store.readIdentities();
    expect({ memberships, tokens }).toEqual({ memberships: [], tokens: [] });
  });

  test("with the last membership the user's personal tokens are revoked, and not before", async () => {
    const store = await opened();
    await firstTenant(store);
    await writes(store).createUser({ id: "bob", tenantId: "acme", name: "Bob" });
    await writes(store).putMembership({ userId: "ann", tenantId: "acme", projectId: null, role: "viewer" });
    await writes(store).putMembership({ userId: "ann", tenantId: "acme", projectId: "site", role: "developer" });
    await writes(store).createToken(personalToken("AAAAAAAAAAAA"));
    await writes(store).createToken({ ...personalToken("BBBBBBBBBBBB"), revokedAtMs: 7 });
    await writes(store).createToken({ ...personalToken("CCCCCCCCCCCC"), userId: "bob" });
    const revokedAt = async () => (await store.readIdentities()).tokens.map((token) => token.revokedAtMs);
    await writes(store).removeMembership("ann", null);
    expect(await revokedAt()).toEqual([null, 7, null]);
    nowMs = 2000;
    await writes(store).removeMembership("ann", "site");
    expect(await revokedAt()).toEqual([2000, 7, null]);
    await writes(store).putMembership({ userId: "ann", tenantId: "acme", projectId: null, role: "owner" });
    expect(await revokedAt()).toEqual([2000, 7, null]);
  });

  test("removing a user removes memberships and personal tokens", async () => {
    const store = await opened();
    await firstTenant(store);
    await writes(store).putMembership({ userId: "ann", tenantId: "acme", projectId: null, role: "viewer" });
    await writes(store).createToken(personalToken("AAAAAAAAAAAA"));
    await writes(store).createToken(projectToken("BBBBBBBBBBBB"));
    await writes(store).removeUser("ann");
    expect(await failure(writes(store).removeUser("ann"))).toMatchObject({ kind: "unknown" });
    const { users, memberships, tokens } = await store.readIdentities();
    expect([users.length, memberships.length, tokens.map((token) => token.id)]).toEqual([0, 0, ["BBBBBBBBBBBB"]]);
  });
}

function tokenTests(opened: Opened): void {
  test("a token comes back unchanged, its secrets byte by byte", async () => {
    const store = await opened();
    await firstTenant(store);
    const secrets = [
      { sha256: Uint8Array.from({ length: 32 }, (_, index) => index), retiresAtMs: null },
      { sha256: Uint8Array.from({ length: 32 }, (_, index) => 255 - index), retiresAtMs: 1_900_000_000_000 },
    ];
    const token: StoredToken = {
      ...personalToken("AAAAAAAAAAAA"),
      permissions: ["byo_endpoint", "debug"],
      secrets,
      expiresAtMs: 8_640_000_000_000_000,
      revokedAtMs: 0,
    };
    await writes(store).createToken(token);
    await writes(store).createToken({ ...projectToken("BBBBBBBBBBBB"), role: "maintainer", secrets: [] });
    expect((await store.readIdentities()).tokens).toEqual([
      token,
      { ...projectToken("BBBBBBBBBBBB"), role: "maintainer", secrets: [] },
    ]);
    expect(await failure(writes(store).createToken(token))).toMatchObject({ kind: "exists" });
  });

  test("a change is read, decided and written in one step, also by ten at once", async () => {
    const store = await opened();
    await firstTenant(store);
    await writes(store).createToken({ ...projectToken("AAAAAAAAAAAA"), lifetimeMs: 0 });
    const longer = (token: StoredToken): StoredToken => ({
      ...token,
      lifetimeMs: token.lifetimeMs + 1,
      secrets: [...token.secrets, { sha256: new Uint8Array(32).fill(token.lifetimeMs + 100), retiresAtMs: null }],
    });
    await Promise.all(Array.from({ length: 10 }, () => writes(store).changeToken("AAAAAAAAAAAA", longer)));
    const [token] = (await store.readIdentities()).tokens;
    expect(token).toMatchObject({ lifetimeMs: 10 });
    expect(token?.secrets).toHaveLength(11);
  });

  test("a change that throws changes nothing, and an unknown token is null", async () => {
    const store = await opened();
    await firstTenant(store);
    await writes(store).createToken(projectToken("AAAAAAAAAAAA"));
    const [before, revision] = [await store.readIdentities(), await store.revision()];
    const refused = writes(store).changeToken("AAAAAAAAAAAA", () => {
      throw new RangeError("no");
    });
    expect(await failure(refused)).toBeInstanceOf(RangeError);
    expect(await store.readIdentities()).toEqual(before);
    expect(await store.revision()).toBe(revision);
    expect(await failure(writes(store).changeToken("unknown", (token) => token))).toMatchObject({ kind: "unknown" });
  });
}

function sharingTests(fresh: () => Promise<StorePlace>, open: Open): void {
  test("the commits of one handle are visible to the other, and its revision moves with every change", async () => {
    const place = await fresh();
    const [writer, reader] = [await open(place), await open(place)];
    const seen = [await reader.revision()];
    const steps: readonly (() => Promise<unknown>)[] = [
      () => firstTenant(writer),
      () => writes(writer).putMembership({ userId: "ann", tenantId: "acme", projectId: null, role: "viewer" }),
      () => writes(writer).createToken(projectToken("AAAAAAAAAAAA")),
      () => writes(writer).changeToken("AAAAAAAAAAAA", (token) => ({ ...token, revokedAtMs: 5 })),
      () => writes(writer).removeMembership("ann", null),
      () => writes(reader).removeUser("ann"),
    ];
    for (const step of steps) {
      await step();
      const revision = await reader.revision();
      expect(seen).not.toContain(revision);
      expect(revision).toBe(await writer.revision());
      seen.push(revision);
      expect(await reader.readIdentities()).toEqual(await writer.readIdentities());
    }
    expect((await reader.readIdentities()).tokens[0]?.revokedAtMs).toBe(5);
    await reader.readIdentities();
    expect(await reader.revision()).toBe(seen.at(-1)!);
  });

  test("two handles that write at once lose nothing, and a reader between them sees whole commits only", async () => {
    const place = await fresh();
    const [one, two, reader] = [await open(place), await open(place), await open(place)];
    await firstTenant(one);
    const twenty = Array.from({ length: 20 }, async (_, index) => {
      await writes(index % 2 === 0 ? one : two).createToken(projectToken(`token${index}`));
    });
    const reads = Array.from({ length: 10 }, () => reader.readIdentities());
    await Promise.all(twenty);
    for (const identities of await Promise.all(reads)) expect(halfWritten(identities)).toEqual([]);
    expect((await reader.readIdentities()).tokens).toHaveLength(20);
  });

  test("closing twice is harmless, and a closed store says so", async () => {
    const store = await open(await fresh());
    await store.close();
    await store.close();
    expect((await failure(store.revision())).message).toMatch(/destroyed|closed/);
  });
}

/** Tokens without their secret: the two are written by one transaction. */
const halfWritten = ({ tokens }: Identities): readonly string[] =>
  tokens.filter((token) => token.secrets.length === 0).map((token) => token.id);

async function failure(attempt: Promise<unknown>): Promise<Error> {
  try {
    await attempt;
  } catch (error) {
    if (error instanceof Error) return error;
    throw error;
  }
  throw new Error("It was expected to fail, and did not.");
}

async function firstTenant(store: Store): Promise<void> {
  await writes(store).createTenant({ id: "acme", name: "Acme" });
  await writes(store).createProject({ id: "site", tenantId: "acme", name: "Site" });
  await writes(store).createUser({ id: "ann", tenantId: "acme", name: "Ann" });
}

function projectToken(id: string): StoredToken {
  const secrets = [{ sha256: new Uint8Array(32).fill(id.charCodeAt(0)), retiresAtMs: null }];
  const times = {
    createdAtMs: 1_700_000_000_000,
    lifetimeMs: 86_400_000,
    expiresAtMs: 1_700_086_400_000,
    revokedAtMs: null,
  };
  return storedSample({
    id,
    name: `token ${id}`,
    secrets,
    ...times,
  });
}

function personalToken(id: string): StoredToken {
  return { ...projectToken(id), kind: "personal", projectId: null, userId: "ann", role: null };
}

function firstIdentities(tokenId: string) {
  return {
    tenant: { id: "acme", name: "Acme" },
    project: { id: "site", tenantId: "acme", name: "Site" },
    user: { id: "ann", tenantId: "acme", name: "Ann" },
    membership: { userId: "ann", tenantId: "acme", projectId: null, role: "owner" },
    token: projectToken(tokenId),
  } as const;
}
