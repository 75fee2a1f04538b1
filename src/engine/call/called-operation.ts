// What every call needs of its operation, from the arrival of the head: the name for its record, and the form of errors.
import type { ClientDeviationName } from "../../core/configured/client-deviations.ts";
import { errorBody, type GatewayError } from "../../core/errors.ts";
import type { JsonObject } from "../../core/json.ts";
import type { RecordedOperation } from "../../core/operation.ts";

export interface CalledOperation {
  readonly name: RecordedOperation;
  readonly errors: ErrorForm;
  /** Adds headers that only clients of this operation read, to answers and errors. */
  addHeaders?(head: Headers, nowMs: number): void;
}

/** How an operation writes its errors. */
export interface ErrorForm {
  /** The body of an error response, and the last event of a stream that fails. */
  body(error: GatewayError, traceId: string): JsonObject;
  /** Returns further headers of an error response. */
  headers?(error: GatewayError, traceId: string): Readonly<Record<string, string>>;
  /** The form where what it does for named clients is switched off; absent where it does nothing for them. */
  readonly without?: { readonly deviation: ClientDeviationName; readonly form: ErrorForm };
}

/** The errors of chat completions, of the listings, of the admin API, and of paths that belong to no operation. */
export const GATEWAY_ERRORS: ErrorForm = { body: errorBody };

/** The errors of forms that are not the gateway's own: the same without further fields of the gateway, which stand in the head. */
export const BARE_ERRORS: ErrorForm = {
  body: ({ message, entry, param, code }) => ({ error: { message, type: entry.type, param, code } }),
};
