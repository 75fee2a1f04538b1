// Makes the tables of tenants, projects, users, memberships and access tokens. Composite foreign keys keep every row inside
// its tenant, whatever errors the code above makes.
import type { Kysely } from "kysely";
import { belongsTo, uniqueInPlace } from "../database/place-tables.ts";
import { runStatements } from "../database/run-statements.ts";

export const createIdentities = (db: Kysely<unknown>): Promise<void> =>
  runStatements(db, ...TENANTS, ...MEMBERSHIPS, ...ACCESS_TOKENS);

const TENANTS = [
  `create table tenants (
    id text primary key, name text not null, personal_token_max_ms bigint, project_token_max_ms bigint,
    version bigint default 1 not null, created_at_ms bigint, updated_at_ms bigint
  )`,
  `create table projects (
    id text primary key, tenant_id text not null references tenants (id) on delete cascade,
    name text not null, version bigint default 1 not null, created_at_ms bigint, updated_at_ms bigint,
    constraint projects_by_tenant unique (tenant_id, id)
  )`,
  `create table users (
    id text primary key, tenant_id text not null references tenants (id) on delete cascade,
    name text not null, email text, issuer text, subject text, is_operator bigint default 0 not null,
    version bigint default 1 not null, created_at_ms bigint, updated_at_ms bigint,
    constraint users_by_tenant unique (tenant_id, id)
  )`,
  // One login may belong to several tenants, with a different user in each.
  "create unique index users_by_login on users (tenant_id, issuer, subject) where issuer is not null",
];

const MEMBERSHIPS = [
  `create table memberships (
    tenant_id text not null, user_id text not null, project_id text, role text not null,
    version bigint default 1 not null, created_at_ms bigint, updated_at_ms bigint,
    ${belongsTo("user", "memberships")},
    ${belongsTo("project", "memberships")}
  )`,
  ...uniqueInPlace("memberships", ["user_id", "project_id"]),
];

const ACCESS_TOKENS = [
  `create table access_tokens (
    id text primary key, kind text not null, name text not null,
    tenant_id text not null, project_id text, user_id text, role text, permissions text not null,
    created_at_ms bigint not null, lifetime_ms bigint not null, expires_at_ms bigint not null, revoked_at_ms bigint,
    version bigint default 1 not null, updated_at_ms bigint,
    models text default '[]' not null, routes text default '[]' not null, tools text default '[]' not null,
    ip_ranges text default '[]' not null, created_by text,
    ${belongsTo("project", "access_tokens")},
    ${belongsTo("user", "access_tokens")},
    constraint access_tokens_kind check (
      (kind = 'project' and project_id is not null and user_id is null)
      or (kind = 'personal' and user_id is not null and project_id is null)
    )
  )`,
  "create index access_tokens_by_user on access_tokens (user_id)",
  "create index access_tokens_by_scope on access_tokens (tenant_id, project_id)",
  `create table token_secrets (
    token_id text not null references access_tokens (id) on delete cascade,
    sha256 text not null, retires_at_ms bigint,
    constraint token_secrets_key primary key (token_id, sha256)
  )`,
];
