// Ids of tool calls for providers that accept only ids of a certain form. The id is changed in the same way in a tool
// call and in its result, and on every turn, so that no mapping has to be kept.
import { createHash } from "node:crypto";

export interface CallIdForm {
  /** An id that matches is sent unchanged. */
  readonly fits: RegExp;
  /**
   * The length of a replacement id. It consists of hexadecimal characters of a digest: digits and the letters a to f.
   */
  readonly length: number;
}

export function fittingCallId(id: string, { fits, length }: CallIdForm): string {
  return fits.test(id) ? id : createHash("sha256").update(id).digest("hex").slice(0, length);
}
