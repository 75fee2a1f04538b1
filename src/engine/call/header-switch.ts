// Request headers that switch something on.
import { GatewayError } from "../../core/errors.ts";
import { describe } from "../../core/json.ts";

/** Returns false when the header was not sent. Throws `invalid_request` for a value that is neither true nor false. */
export function isOn(sent: string | null, header: string): boolean {
  if (sent === null || sent === "false") return false;
  if (sent === "true") return true;
  throw new GatewayError("invalid_request", `The header ${header} must be true or false; got ${describe(sent)}.`, {
    param: header,
  });
}
