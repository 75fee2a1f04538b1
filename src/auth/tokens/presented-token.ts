// Which of the tokens that a request presents counts: clients send one as `Authorization: Bearer`, as `x-api-key`, or
// one of each, of which the other is meant for a provider (promise 12.1). The other is neither checked nor recorded.
import { GatewayError } from "../../core/errors.ts";
import { isObject, jsonIn } from "../../core/json.ts";
import type { Snapshot } from "../../core/snapshot.ts";
import { hasTokenForm } from "./access-token.ts";

const KEY_HEADER = "x-api-key";
/** A longer text is no token. */
const MAX_LENGTH = 16_384;

/**
 * Returns the token that counts, as the value of an `Authorization` header; `null` when the request has no token. Throws
 * `invalid_token` when both headers have a token of this gateway and these differ.
 */
export function presentedToken(headers: Headers, { logins }: Pick<Snapshot, "logins">): string | null {
  const authorization = headers.get("authorization");
  const key = headers.get(KEY_HEADER);
  if (key === null || key.length > MAX_LENGTH) return authorization;
  const asBearer = `Bearer ${key.trim()}`;
  if (authorization === null || authorization.trim() === "") return key.trim() === "" ? authorization : asBearer;
  const isOurs = (text: string): boolean => hasTokenForm(text) || isOfIssuer(text, logins);
  if (!isOurs(key.trim())) return authorization;
  const bearer = /^bearer +(.*\S)\s*$/is.exec(authorization)?.[1] ?? "";
  if (!isOurs(bearer)) return asBearer;
  if (bearer === key.trim()) return authorization;
  throw new GatewayError(
    "invalid_token",
    "The headers Authorization and x-api-key present two different tokens of this gateway. Send one of them.",
  );
}

/** Whether a text is a JWT that names one of the configured issuers. */
function isOfIssuer(text: string, logins: Snapshot["logins"]): boolean {
  if (logins.length === 0 || !text.includes(".")) return false;
  const claims = jsonIn(Buffer.from(text.split(".")[1] ?? "", "base64url").toString("utf8"));
  return isObject(claims) && logins.some(({ issuer }) => issuer === claims["iss"]);
}
