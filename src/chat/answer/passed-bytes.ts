// A long answer in the form of the operation, as the thread of long bodies has read it, before that form has completed it.
import type { JsonObject } from "../../core/json.ts";

export interface PassedBytes {
  readonly bytes: Uint8Array;
  /** The answer with the members that a form looks at, and without long texts. */
  readonly outline: JsonObject;
  /** The JSON of what the recorder of content receives; `null` when nothing is kept. */
  readonly kept: string | null;
}
