// Turns an error of one thread into data, from which another thread creates and throws the same error.
import { asGatewayError, type ErrorCode, GatewayError } from "../../core/errors.ts";
import type { JsonObject } from "../../core/json.ts";
import {
  MalformedAnswer,
  StreamError,
  type ToldUsage,
  type UpstreamFailure,
} from "../../providers/interface/upstream-failure.ts";
import { MAX_SEARCHED_CHARACTERS } from "../attempt/upstream-errors.ts";

interface ErrorData {
  readonly code: ErrorCode;
  readonly message: string;
  readonly param: string | null;
  readonly metadata: JsonObject | undefined;
  readonly headers: Readonly<Record<string, string>>;
  readonly detail: string | null;
}

/**
 * `failure` is an error that the provider reports in a response with a success status. `malformed` says what is wrong
 * with the provider's answer, and `told` what it counted for it.
 */
export type TransferredError =
  | { readonly error: ErrorData }
  | { readonly failure: UpstreamFailure }
  | { readonly malformed: string; readonly told: ToldUsage | null };

export function transferableError(thrown: unknown): TransferredError {
  if (thrown instanceof StreamError)
    return { failure: { ...thrown.failure, message: thrown.failure.message.slice(0, MAX_SEARCHED_CHARACTERS) } };
  if (thrown instanceof MalformedAnswer) return { malformed: thrown.message, told: thrown.told };
  const { code, message, param, metadata, headers, detail } = asGatewayError(thrown);
  return { error: { code, message, param, metadata, headers, detail } };
}

export function receivedError(thrown: TransferredError): Error {
  if ("failure" in thrown) return new StreamError(thrown.failure);
  if ("malformed" in thrown) return new MalformedAnswer(thrown.malformed, thrown.told);
  const { code, message, metadata, detail, ...more } = thrown.error;
  return new GatewayError(code, message, {
    ...more,
    ...(metadata && { metadata }),
    ...(detail !== null && { detail }),
  });
}
