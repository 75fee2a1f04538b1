// Request headers that switch something on.
import { describe } from "../../core/json.ts";
import { invalidRequest } from "../../core/refusals.ts";

/** Returns false when the header was not sent. Throws `invalid_request` for a value that is neither true nor false. */
export function isOn(sent: string | null, header: string): boolean {
  if (sent === null || sent === "false") return false;
  if (sent === "true") return true;
  throw invalidRequest(header, `The header ${header} must be true or false; got ${describe(sent)}.`);
}
