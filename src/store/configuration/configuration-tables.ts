// Makes the tables of resources and their versions, of the audit log, and of answers to repeated requests.
import type { Kysely } from "kysely";
import { belongsTo, uniqueInPlace } from "../database/place-tables.ts";
import { runStatements } from "../database/run-statements.ts";

export const createConfiguration = (db: Kysely<unknown>): Promise<void> =>
  runStatements(db, ...RESOURCES, ...AUDIT_LOG, ...VERSIONS, ...KEPT_ANSWERS);

const RESOURCES = [
  `create table resources (
    id text primary key, kind text not null,
    tenant_id text not null references tenants (id) on delete cascade, project_id text, name text,
    document text not null, set_by text not null, version bigint not null,
    created_at_ms bigint not null, updated_at_ms bigint not null, by_operator bigint default 0 not null,
    ${belongsTo("project", "resources")}
  )`,
  ...uniqueInPlace("resources", ["tenant_id", "project_id", "kind", "name"]),
];

const ACTOR = "actor_token_id text, actor_user_id text, actor_role text, actor_tenant_id text, actor_address text";

const AUDIT_LOG = [
  `create table audit_log (
    id text primary key, at_ms bigint not null, action text not null, outcome text not null,
    kind text not null, target_id text, target_name text, tenant_id text, project_id text,
    value_before text, value_after text, note text, version bigint, revision bigint, via text, session_id text,
    chain text not null, hash text not null, sequence bigint not null,
    ${ACTOR}
  )`,
  "create index audit_log_by_time on audit_log (at_ms, id)",
  "create index audit_log_of_tenant on audit_log (tenant_id, at_ms, id)",
  "create index audit_log_of_target on audit_log (kind, target_id, at_ms)",
  "create index audit_log_by_revision on audit_log (revision) where revision is not null",
];

const VERSIONS = [
  `create table versions (
    number bigint primary key, at_ms bigint not null, rolled_back_to bigint, note text,
    ${ACTOR}
  )`,
  `create table version_changes (
    version bigint not null references versions (number) on delete cascade, ordinal bigint not null,
    action text not null, kind text not null, resource_id text not null, name text,
    tenant_id text not null, project_id text, value_before text, value_after text,
    constraint version_changes_key primary key (version, ordinal)
  )`,
  "create index version_changes_of_scope on version_changes (tenant_id, project_id, version)",
  "create index version_changes_of_resource on version_changes (resource_id, version)",
];

const KEPT_ANSWERS = [
  `create table kept_answers (
    token_id text not null, answer_key text not null, request_hash text not null,
    status bigint not null, body text not null, at_ms bigint not null,
    constraint kept_answers_key primary key (token_id, answer_key)
  )`,
  "create index kept_answers_by_time on kept_answers (at_ms)",
];
