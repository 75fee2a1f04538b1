// Merges pass-through fields into what the gateway encodes (promise 6.5).
import { GatewayError } from "../../core/errors.ts";
import type { Json } from "../../core/json.ts";

/**
 * A resolver for `mergeObjects`: what the gateway encoded is never overwritten. The same value again, or null, changes
 * nothing. Throws GatewayError `reserved_parameter` for another value.
 */
export function keepEncoded(path: string, there: Json, added: Json): Json {
  if (added === null || JSON.stringify(there) === JSON.stringify(added)) return there;
  throw conflict(path);
}

export function conflict(path: string): GatewayError {
  return new GatewayError(
    "reserved_parameter",
    `${path} conflicts with another field of the request; send only one of them.`,
    { param: path },
  );
}
