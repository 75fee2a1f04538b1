// The answer to a method that a path does not take.
import { GatewayError } from "../core/errors.ts";

/** The error of a path that does not take the method; `allow` names those that it takes, with commas between them. */
export function methodNotAllowed(allow: string, message: string): GatewayError {
  return new GatewayError("method_not_allowed", message, { headers: { allow } });
}
