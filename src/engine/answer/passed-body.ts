// An answer in the form of the operation, before that form has completed it.
import type { JsonObject } from "../../core/json.ts";

export interface PassedText {
  readonly text: string;
  /** What the text says. */
  readonly value: JsonObject;
}

/** A long answer, as the thread of long bodies has read it. */
export interface PassedBytes {
  readonly bytes: Uint8Array;
  /** The answer with the members that a form looks at, and without long texts. */
  readonly outline: JsonObject;
  /** The JSON of what the recorder of content receives; `null` when nothing is kept. */
  readonly kept: string | null;
}
