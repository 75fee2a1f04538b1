// What cannot be done of a request, each refused at its path.
import { type ErrorCode, type ErrorDetails, GatewayError } from "./errors.ts";
import { describe, isObject, type Json, type JsonObject } from "./json.ts";

/** The error `invalid_request` at a path of the request; `null` where it is about the whole body. */
export function invalidRequest(path: string | null, message: string): GatewayError {
  return new GatewayError("invalid_request", message, { param: path });
}

export function invalid(path: string, expected: string, value: Json | undefined): GatewayError {
  return invalidRequest(path, `${path} must be ${expected}; got ${describe(value)}.`);
}

/** Returns a member that has to be there as a text. Throws `invalid_request` with its path. */
export function textAt(holder: JsonObject, name: string, path: string): string {
  const value = holder[name];
  if (typeof value !== "string") throw invalid(`${path}.${name}`, "a string", value);
  return value;
}

/** Returns a member that has to be there as an object. Throws `invalid_request` with its path. */
export function objectAt(holder: JsonObject, name: string, path: string): JsonObject {
  const value = holder[name];
  if (!isObject(value)) throw invalid(`${path}.${name}`, "an object", value);
  return value;
}

/** Makes the error with this code at a path of the request. */
const refusedAs =
  (code: ErrorCode) =>
  (path: string, message: string): GatewayError =>
    new GatewayError(code, message, { param: path });

/** A common parameter that the provider does not have. */
export const unsupportedParameter = refusedAs("unsupported_parameter");
export const unsupportedValue = refusedAs("unsupported_value");
export const unsupportedBlock = refusedAs("unsupported_content_block");
export const reservedParameter = refusedAs("reserved_parameter");
export const modelNotFound = refusedAs("model_not_found");

/** `common` is the parameter of all providers that says the same. */
export function setByGateway(path: string, common: string): GatewayError {
  return reservedParameter(path, `${path} is set by the gateway; send ${common} instead.`);
}

/** `path` is the member that asks for what the role does not allow; `null` where the request as a whole does. */
export function insufficientRole(message: string, path: string | null = null): GatewayError {
  return new GatewayError("insufficient_role", message, { param: path });
}

export function notFound(message: string): GatewayError {
  return new GatewayError("not_found", message);
}

/** The state of what is there does not allow it. */
export function conflict(message: string, details?: ErrorDetails): GatewayError {
  return new GatewayError("conflict", message, details);
}

/** The error `unknown_reference` at a path in what the client wrote. */
export function unknownReference(path: string, message: string): GatewayError {
  return new GatewayError("unknown_reference", message, { param: path, isWritten: true });
}
