// An issuer of OpenID Connect whose logins are accepted as personal tokens, as the configuration names it, and what the
// claims of its tokens grant.
import type { Login, Permission, Role } from "../identity.ts";

export interface LoginIssuer {
  /** The prefix of the ids of its users. */
  readonly name: string;
  /** Must equal the claim `iss`. */
  readonly issuer: string;
  /** The claim `aud` must contain one of these. */
  readonly audiences: readonly string[];
  /** The tenant to which its users belong. */
  readonly tenantId: string;
  /** The address of its keys; `null` when its discovery document names it. */
  readonly keysUrl: string | null;
  readonly algorithms: readonly string[];
  /** The path of the claim that identifies the user, such as `sub`. Paths may be nested, like `realm_access.roles`. */
  readonly subjectClaim: string;
  readonly nameClaim: string;
  readonly clockToleranceMs: number;
  readonly keysRefreshMs: number;
  readonly grants: readonly LoginGrant[];
  /** How people log in to the web console there; absent when they cannot. */
  readonly console?: ConsoleClient;
}

/** The console as a client of the issuer. */
export interface ConsoleClient {
  readonly clientId: string;
  /** `null` for a public client. */
  readonly clientSecret: string | null;
  readonly scopes: readonly string[];
  /** What the login page shows. */
  readonly label: string;
}

/**
 * The key of a login within a tenant, because another tenant may know the same login as a user of its own. Ids and
 * issuers contain no spaces.
 */
export const loginKey = (tenantId: string, { issuer, subject }: Login): string => `${tenantId} ${issuer} ${subject}`;

/** What a token whose claim matches grants. */
export interface LoginGrant {
  readonly claim: string;
  /** A glob over the value of the claim, or over each of its values; `null` when the claim need not be present. */
  readonly value: string | null;
  readonly role: Role;
  /** `null` when the role applies to the whole tenant. */
  readonly projectId: string | null;
  readonly permissions: readonly Permission[];
  /** Whether such a login makes its user an operator. */
  readonly isOperator?: boolean;
}
