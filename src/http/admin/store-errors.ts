// What a store says went wrong, as an error of the catalogue. Words of the database itself stay in the log.
import { type ErrorCode, GatewayError } from "../../core/errors.ts";
import type { StoreError } from "../../store/store.ts";

const CODES: Readonly<Record<string, ErrorCode>> = {
  exists: "already_exists",
  unknown: "not_found",
  invalid: "invalid_request",
  stale: "etag_mismatch",
  conflict: "conflict",
};

export function fromStoreError(error: StoreError): GatewayError {
  const code = CODES[error.kind];
  if (code !== undefined) return new GatewayError(code, error.message, { cause: error });
  return new GatewayError("store_unavailable", "The database cannot be reached now, so nothing can be changed or listed. Calls go on.", { headers: { "retry-after": "1" }, detail: error.stack ?? error.message, cause: error });
}
