// The tables of sessions, login codes and failed logins, and what makes them.
import type { Kysely } from "kysely";
import type { RowOf } from "../database/columns.ts";
import { runStatements } from "../database/run-statements.ts";
import type { CODE, SESSION } from "./sessions.ts";

export interface SessionSchema {
  readonly console_sessions: RowOf<typeof SESSION>;
  readonly console_codes: RowOf<typeof CODE>;
  readonly login_failures: {
    readonly failure_key: string;
    readonly failures: bigint;
    readonly since_ms: bigint;
  };
}

export const createSessions = (db: Kysely<unknown>): Promise<void> =>
  runStatements(
    db,
    `create table console_sessions (
      id text primary key, secret_hash text not null unique, way text not null,
      tenant_id text not null references tenants (id) on delete cascade, user_id text, token_id text,
      identity text not null, rights text not null, address text, browser text,
      started_at_ms bigint not null, seen_at_ms bigint not null, ends_at_ms bigint not null
    )`,
    "create index console_sessions_by_tenant on console_sessions (tenant_id, user_id)",
    `create table console_codes (
      code_hash text primary key, tenant_id text not null references tenants (id) on delete cascade,
      user_id text not null, permissions text not null, expires_at_ms bigint not null
    )`,
    `create table login_failures (
      failure_key text primary key, failures bigint not null, since_ms bigint not null
    )`,
  );
