// Sessions of the web console, the one-time codes of its login links, and the count of logins that failed, as they are kept:
// in the database, so that every replica and worker knows them, and without a change of the snapshot. Secrets are kept as
// hashes only. Part of the store (store.ts), whose reader lists them and whose writer ends those of others.
import { integer, type KeptIn, oneOf, text, textOrNull, texts } from "../database/columns.ts";

/** How the person of a session has logged in. */
export const LOGIN_WAYS = ["link", "token", "oidc"] as const;
export type LoginWay = (typeof LOGIN_WAYS)[number];

/** The columns of a session, whose members are in StoredSession. */
export const SESSION = {
  /** Names the session in lists; it opens nothing. */
  id: text,
  /** SHA-256 of the secret in the cookie, in hexadecimal digits. */
  secret_hash: text,
  way: oneOf(LOGIN_WAYS, "token"),
  tenant_id: text,
  /** `null` for a project token. */
  user_id: textOrNull,
  /** The access token that was exchanged for the session; `null` for the other ways. */
  token_id: textOrNull,
  /** JSON of what the identity of the session is made of. */
  identity: text,
  /** Hash of the rights at the login: the session ends when they change. */
  rights: text,
  /** Where the login came from. */
  address: textOrNull,
  browser: textOrNull,
  started_at_ms: integer,
  seen_at_ms: integer,
  ends_at_ms: integer,
};
export type StoredSession = KeptIn<typeof SESSION>;

/** The columns of the code of a login link, which works once. */
export const CODE = {
  /** SHA-256 of the code, in hexadecimal digits. */
  code_hash: text,
  tenant_id: text,
  user_id: text,
  /** What the session may do beyond the roles of its user. */
  permissions: texts,
  expires_at_ms: integer,
};
export type LoginCode = KeptIn<typeof CODE>;

/** Members that are left out do not restrict the result. */
export interface SessionFilter {
  readonly tenantId?: string;
  /** `null` selects the sessions of project tokens. */
  readonly userId?: string | null;
  readonly tokenId?: string;
}
