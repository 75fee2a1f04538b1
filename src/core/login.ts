// Whose logins are taken for personal tokens: an issuer of OpenID Connect, as the configuration names it, and what the claims of its tokens give.
import type { Login, Permission, Role } from "./identity.ts";

export interface LoginIssuer {
  /** Begins the ids of its users. */
  readonly name: string;
  /** As it stands in `iss`. */
  readonly issuer: string;
  /** One of them stands in `aud`. */
  readonly audiences: readonly string[];
  /** The tenant that its users belong to. */
  readonly tenantId: string;
  /** Where its keys are; null: its discovery document says so. */
  readonly keysUrl: string | null;
  readonly algorithms: readonly string[];
  /** Paths of claims: `sub`, `realm_access.roles`. */
  readonly subjectClaim: string;
  readonly nameClaim: string;
  readonly clockToleranceMs: number;
  readonly keysRefreshMs: number;
  readonly grants: readonly LoginGrant[];
}

/** Of a login in a tenant: another tenant may know the same one as a user of its own. Ids and issuers have no spaces. */
export const loginKey = (tenantId: string, { issuer, subject }: Login): string => `${tenantId} ${issuer} ${subject}`;

/** What a token gives whose claim has the value. */
export interface LoginGrant {
  readonly claim: string;
  /** A glob over the claim's value, or over each of them; null: the claim need not be there. */
  readonly value: string | null;
  readonly role: Role;
  /** Null: in the whole tenant. */
  readonly projectId: string | null;
  readonly permissions: readonly Permission[];
  /** Whether such a login runs the gateway. */
  readonly isOperator?: boolean;
}
