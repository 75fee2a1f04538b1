// Completes a non-streaming answer of a target that speaks the operation, as the form of the operation says.
import { withEdits } from "../../core/request/json-edit.ts";
import { editedJson } from "../../wire/json/json-edit.ts";
import type { NativeAnswers } from "../answer-form.ts";
import type { Sealing } from "../carriers/vendor-reasoning.ts";
import type { PassedText } from "../answer/non-streaming-answer.ts";

/** Returns the text of a body as the client gets it. */
export function passedBody(
  { text, value: sent }: PassedText,
  { edits: editsOf, hidden, keep }: NativeAnswers,
  sealing: Sealing,
  isRepeated: boolean,
): string {
  const edits = editsOf(sent, isRepeated);
  keep?.(withEdits(sent, edits), sealing);
  return editedJson(text, sealing.hides ? [...edits, ...(hidden?.(sent) ?? [])] : edits);
}
