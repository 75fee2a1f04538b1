// Headers of a request that turn something on.
import { GatewayError } from "../core/errors.ts";
import { describe } from "../core/json.ts";

/** False where it was not sent. Throws `invalid_request` for what is neither true nor false. */
export function isOn(sent: string | null, header: string): boolean {
  if (sent === null || sent === "false") return false;
  if (sent === "true") return true;
  throw new GatewayError("invalid_request", `The header ${header} must be true or false; got ${describe(sent)}.`, {
    param: header,
  });
}
