// The port to claim links: access tokens that somebody may fetch once, with a code that the giver passes on. The token is
// made when it is fetched, so that the giver never sees it. Part of the store (store.ts), in its reader and writer.
import type { JsonObject } from "../../core/json.ts";

export interface StoredClaim {
  readonly id: string;
  /** SHA-256 of the code, in hexadecimal digits. */
  readonly codeHash: string;
  readonly tenantId: string;
  /** `null` for a personal token. */
  readonly projectId: string | null;
  /** The body of the request that makes the token. */
  readonly request: JsonObject;
  /** JSON of the giver's identity (auth/logins/kept-identity.ts), by which the right is judged again. */
  readonly giver: string;
  /** Id of the user who made it, or `token:` and the id of the token that made it. */
  readonly createdBy: string;
  readonly createdAtMs: number;
  readonly expiresAtMs: number;
  readonly redeemedAtMs: number | null;
  /** The token that was made of it. */
  readonly tokenId: string | null;
  readonly revokedAtMs: number | null;
}

/** `null` as the project selects those of personal tokens. */
export interface ClaimFilter {
  readonly tenantId: string;
  readonly projectId: string | null;
}
