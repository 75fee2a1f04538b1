// Users, their roles and their sessions, as the admin API answers them.
export interface User {
  readonly id: string;
  readonly name: string;
  readonly email: string | null;
  readonly login: { readonly issuer: string; readonly subject: string } | null;
  readonly operator: boolean;
  readonly etag: string;
}

export interface Membership {
  readonly user_id: string;
  readonly project_id: string | null;
  readonly role: string;
  readonly etag: string;
}

export interface Session {
  readonly id: string;
  readonly user_id: string | null;
  readonly token_id: string | null;
  readonly login: string;
  readonly address: string | null;
  readonly browser: string | null;
  readonly started_at: string;
  readonly seen_at: string;
  readonly ends_at: string;
  readonly current: boolean;
}

export interface Page<T> {
  readonly data: readonly T[];
  readonly next_cursor: string | null;
}

export const PAGE = "?limit=1000";
export const TENANT_ROLES = ["viewer", "developer", "maintainer", "admin", "owner"];
export const PROJECT_ROLES = ["viewer", "developer", "maintainer"];
