// Databases of earlier versions, with data in them, are migrated: their contents are there afterwards, and can be
// changed. They are written as SQL text, as the earlier version wrote them. A released version gets its text here,
// which is never edited again.
import { Database as SqliteFile } from "bun:sqlite";
import { afterAll, describe, expect, test } from "bun:test";
import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { checkChain } from "../../src/store/audit/audit-check.ts";
import type { Database } from "../../src/store/database/database.ts";
import { migrate } from "../../src/store/migrations.ts";
import { openPostgresDatabase } from "../../src/store/postgres.ts";
import { openSqliteDatabase, openSqliteStore } from "../../src/store/sqlite.ts";
import type { Store } from "../../src/store/store.ts";
import { postgresDatabases, statement } from "../harness/postgres-server.ts";
import { writes } from "../harness/store-writes.ts";

const HASH = "ab".repeat(32);

/** After 0001-identities, as SQLite and PostgreSQL both take it. */
const IDENTITIES = `
create table kysely_migration (name varchar(255) not null primary key, timestamp varchar(255) not null);
create table kysely_migration_lock (id varchar(255) not null primary key, is_locked integer default 0 not null);
insert into kysely_migration_lock (id, is_locked) values ('migration_lock', 0);
create table revisions (name text primary key, counter bigint not null);
create table tenants (id text primary key, name text not null, personal_token_max_ms bigint, project_token_max_ms bigint);
create table projects (id text primary key, tenant_id text not null references tenants (id) on delete cascade, name text not null, constraint projects_by_tenant unique (tenant_id, id));
create table users (id text primary key, tenant_id text not null references tenants (id) on delete cascade, name text not null, constraint users_by_tenant unique (tenant_id, id));
create table memberships (tenant_id text not null, user_id text not null, project_id text, role text not null,
  constraint memberships_user foreign key (tenant_id, user_id) references users (tenant_id, id) on delete cascade,
  constraint memberships_project foreign key (tenant_id, project_id) references projects (tenant_id, id) on delete cascade);
create unique index memberships_in_project on memberships (user_id, project_id) where project_id is not null;
create unique index memberships_in_tenant on memberships (user_id) where project_id is null;
create table access_tokens (id text primary key, kind text not null, name text not null, tenant_id text not null, project_id text, user_id text, role text, permissions text not null,
  created_at_ms bigint not null, lifetime_ms bigint not null, expires_at_ms bigint not null, revoked_at_ms bigint,
  constraint access_tokens_project foreign key (tenant_id, project_id) references projects (tenant_id, id) on delete cascade,
  constraint access_tokens_user foreign key (tenant_id, user_id) references users (tenant_id, id) on delete cascade,
  constraint access_tokens_kind check ((kind = 'project' and project_id is not null and user_id is null) or (kind = 'personal' and user_id is not null and project_id is null)));
create index access_tokens_by_user on access_tokens (user_id);
create table token_secrets (token_id text not null references access_tokens (id) on delete cascade, sha256 text not null, retires_at_ms bigint, constraint token_secrets_key primary key (token_id, sha256));
insert into kysely_migration (name, timestamp) values ('0001-identities', '2026-09-01T00:00:00.000Z');
insert into revisions (name, counter) values ('snapshot', 41);
insert into tenants (id, name, personal_token_max_ms, project_token_max_ms) values ('default', 'Default', null, null), ('acme', 'Acme', 864000000, null);
insert into projects (id, tenant_id, name) values ('default', 'default', 'Default'), ('site', 'acme', 'Site');
insert into users (id, tenant_id, name) values ('owner', 'default', 'Owner'), ('ann', 'acme', 'Ann');
insert into memberships (tenant_id, user_id, project_id, role) values ('default', 'owner', null, 'owner'), ('acme', 'ann', 'site', 'developer'), ('acme', 'ann', null, 'viewer');
insert into access_tokens (id, kind, name, tenant_id, project_id, user_id, role, permissions, created_at_ms, lifetime_ms, expires_at_ms, revoked_at_ms) values
  ('AAAAAAAAAAAA', 'project', 'first', 'default', 'default', null, 'developer', '["byo_endpoint"]', 1700000000000, 31536000000, 1731536000000, null),
  ('BBBBBBBBBBBB', 'personal', 'of ann', 'acme', null, 'ann', null, '[]', 1700000000000, 864000000, 1700864000000, 1700000001000);
insert into token_secrets (token_id, sha256, retires_at_ms) values ('AAAAAAAAAAAA', '${HASH}', null);
`;

const EARLIER: Readonly<Record<string, string>> = { "0001-identities": IDENTITIES };

const folder = mkdtempSync(join(tmpdir(), "dragoman-migrations-"));
const server = await postgresDatabases();
afterAll(async () => {
  rmSync(folder, { recursive: true });
  await server?.dispose();
});

async function holdsEverything(store: Store): Promise<void> {
  await store.migrate();
  const { tenants, projects, users, memberships, tokens } = (await store.readContents()).identities;
  expect(tenants).toEqual([
    { id: "acme", name: "Acme", tokenCaps: { personalDays: 10, projectDays: null } },
    { id: "default", name: "Default" },
  ]);
  expect([projects.length, users.length, memberships.length]).toEqual([2, 2, 3]);
  expect(tokens[0]).toMatchObject({
    id: "AAAAAAAAAAAA",
    permissions: ["byo_endpoint"],
    models: [],
    routes: [],
    ipRanges: [],
    expiresAtMs: 1_731_536_000_000,
    secrets: [{ sha256: new Uint8Array(32).fill(0xab), retiresAtMs: null }],
  });
  expect(tokens[1]).toMatchObject({ id: "BBBBBBBBBBBB", userId: "ann", revokedAtMs: 1_700_000_001_000 });
  expect(await store.revision()).toBe("41");
  expect(await store.findUser("ann")).toMatchObject({ version: 1, createdAtMs: null, email: null, login: null });
  await writes(store).changeUser("ann", (user) => ({ ...user, email: "ann@acme.test" }), 1);
  await writes(store).changeToken("AAAAAAAAAAAA", (token) => ({ ...token, models: ["a:*"] }), 1);
  await writes(store).putMembership({ userId: "ann", tenantId: "acme", projectId: null, role: "admin" }, 1);
  await writes(store).createResource({ kind: "limit", tenantId: "acme", projectId: "site", name: "new", document: {} });
  expect((await store.listAudit({ limit: 10 })).data).toHaveLength(4);
  await writes(store).removeTenant("acme");
  expect((await store.readIdentities()).tokens.map(({ id }) => id)).toEqual(["AAAAAAAAAAAA"]);
}

const AUDITED_BEFORE = 450;

/** As many rows as there were before rows had chains, in three of them. */
async function chainsWhatIsThere({ db, store, name }: Database): Promise<void> {
  await migrate(db, name, { last: "0023-claims" });
  const rows = Array.from({ length: AUDITED_BEFORE }, (_, at) => ({
    id: `row-${at}`,
    at_ms: BigInt(at >> 3),
    action: "change",
    outcome: "done",
    kind: "limit",
    tenant_id: [null, "acme", "else"][at % 3]!,
    value_after: JSON.stringify({ at }),
  }));
  for (let at = 0; at < rows.length; at += 50)
    await db
      .insertInto("audit_log")
      .values(rows.slice(at, at + 50))
      .execute();
  await store.migrate();
  expect(await store.auditChains()).toEqual(["", "acme", "else"]);
  for (const chain of ["", "acme", "else"])
    expect(await checkChain(store, chain)).toMatchObject({
      rows: AUDITED_BEFORE / 3,
      head: { sequence: AUDITED_BEFORE / 3 },
      problems: [],
    });
  expect(await store.unchainedAudit("acme")).toBe(0);
  await store.close();
}

describe("rows of the audit log that are older than its chain are chained by the migration", () => {
  test("in SQLite", async () => chainsWhatIsThere(await openSqliteDatabase({ file: join(folder, "audit.db") })));

  test.skipIf(server === null)("in PostgreSQL", async () =>
    chainsWhatIsThere(openPostgresDatabase({ url: await server!.newDatabase() })),
  );
});

describe("a database of an earlier version is migrated with its contents", () => {
  for (const [version, text] of Object.entries(EARLIER)) {
    test(`SQLite after ${version}`, async () => {
      const file = join(folder, `${version}.db`);
      const database = new SqliteFile(file, { create: true });
      database.run(text);
      database.close();
      const store = await openSqliteStore({ file });
      await holdsEverything(store);
      await store.close();
    });

    test.skipIf(server === null)(`PostgreSQL after ${version}`, async () => {
      const url = await server!.newDatabase();
      await statement(url, text);
      const { store } = openPostgresDatabase({ url });
      await holdsEverything(store);
      await store.close();
    });
  }
});
