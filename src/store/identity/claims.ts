// The port to claim links: access tokens that somebody may fetch once, with a code that the giver passes on. The token is
// made when it is fetched, so that the giver never sees it. Part of the store (store.ts), in its reader and writer.
import type { JsonObject } from "../../core/json.ts";
import { integer, integerOrNull, json, type KeptIn, text, textOrNull } from "../database/columns.ts";

/** The columns of a claim link, whose members are in StoredClaim. */
export const CLAIM = {
  id: text,
  /** SHA-256 of the code, in hexadecimal digits. */
  code_hash: text,
  tenant_id: text,
  /** `null` for a personal token. */
  project_id: textOrNull,
  /** The body of the request that makes the token. */
  request: json<JsonObject>(),
  /** JSON of the giver's identity (auth/logins/kept-identity.ts), by which the right is judged again. */
  giver: text,
  /** Id of the user who made it, or `token:` and the id of the token that made it. */
  created_by: text,
  created_at_ms: integer,
  expires_at_ms: integer,
  redeemed_at_ms: integerOrNull,
  /** The token that was made of it. */
  token_id: textOrNull,
  revoked_at_ms: integerOrNull,
};
export type StoredClaim = KeptIn<typeof CLAIM>;

/** `null` as the project selects those of personal tokens. */
export interface ClaimFilter {
  readonly tenantId: string;
  readonly projectId: string | null;
}
