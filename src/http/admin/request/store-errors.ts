// Translates a store's errors into errors of the catalogue. The database's own messages appear only in the log.
import { type ErrorCode, GatewayError } from "../../../core/errors.ts";
import type { StoreError } from "../../../store/store-error.ts";

const CODES: Readonly<Record<string, ErrorCode>> = {
  exists: "already_exists",
  unknown: "not_found",
  invalid: "invalid_request",
  conflict: "conflict",
  moved: "conflict",
};

const AWAY: Readonly<Record<string, string>> = {
  busy: "The database is busy and did not answer in time. Nothing was changed; calls of models still work. Try again.",
  unusable: "The database cannot be read or written now. Nothing was changed; calls of models still work.",
};

const UNCERTAIN =
  "The database was lost while it stored the change, so it is not known whether the change was made. Read what it is about before you try again; a request that had an idempotency-key can be repeated with it.";

/** `param` is the part of the request that a rejection concerns, when only one is possible. */
export function fromStoreError(error: StoreError, param: string | null): GatewayError {
  const code = CODES[error.kind];
  if (code !== undefined)
    return new GatewayError(code, error.message, { cause: error, ...(code === "invalid_request" && { param }) });
  const options = { detail: error.stack ?? error.message, cause: error };
  // The message is the gateway's own, and a retry does not help.
  if (error.kind === "encryption")
    return new GatewayError(
      "store_unavailable",
      `${error.message} An operator of the gateway has to provide the master key: docs/operations.md.`,
      { ...options, headers: { "x-should-retry": "false" } },
    );
  if (error.kind === "uncertain")
    return new GatewayError("store_unavailable", UNCERTAIN, { ...options, headers: { "x-should-retry": "false" } });
  return new GatewayError("store_unavailable", AWAY[error.kind] ?? AWAY["unusable"]!, {
    ...options,
    headers: { "retry-after": "1" },
  });
}
