// Ids of tool calls for providers that demand a form of them. Both ends of a call are changed alike, and the same id becomes the same on every turn, so
// that nothing has to be remembered.
import { createHash } from "node:crypto";

export interface CallIdForm {
  /** An id of this form goes as it is. */
  readonly fits: RegExp;
  /** Of an id that takes the place of another: so many characters of a digest, which are digits and the letters a to f. */
  readonly length: number;
}

export function fittingCallId(id: string, { fits, length }: CallIdForm): string {
  return fits.test(id) ? id : createHash("sha256").update(id).digest("hex").slice(0, length);
}
