// Merges pass-through fields into what the gateway encodes (promise 6.5).
import type { GatewayError } from "../../core/errors.ts";
import type { Json } from "../../core/json.ts";
import { reservedParameter } from "../../core/refusals.ts";

/**
 * A resolver for `mergeObjects`: what the gateway encoded is never overwritten. The same value again, or null, changes
 * nothing. Throws GatewayError `reserved_parameter` for another value.
 */
export function keepEncoded(path: string, there: Json, added: Json): Json {
  if (added === null || JSON.stringify(there) === JSON.stringify(added)) return there;
  throw conflict(path);
}

export function conflict(path: string): GatewayError {
  return reservedParameter(path, `${path} conflicts with another field of the request; send only one of them.`);
}
