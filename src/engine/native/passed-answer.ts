// Completes a non-streaming answer of a target that speaks the operation, as the form of the operation says: here, or in
// the thread of long bodies.
import { isObject, type JsonObject } from "../../core/json.ts";
import { withEdits } from "../../core/json-edit.ts";
import { editedJson } from "../../wire/json-edit.ts";
import type { NativeAnswers } from "../answer-form.ts";
import type { Sealing } from "../carriers/vendor-reasoning.ts";
import type { Call } from "../call/call.ts";
import { KEEPING_BOUNDS } from "../keeping/kept-store.ts";
import { unpackJson } from "../long-bodies/long-texts.ts";
import type { PassedBytes, PassedText } from "../answer/passed-body.ts";

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

/** Returns a long body as the client gets it, and its value where the operation keeps answers. */
export async function completedThere(
  { bytes, outline }: PassedBytes,
  { edits: editsOf, hidden, keep }: NativeAnswers,
  { hides }: Sealing,
  isRepeated: boolean,
  { context, record }: Call,
): Promise<{ readonly bytes: Uint8Array; readonly value: JsonObject | null }> {
  // what is longer than this is not kept
  const asValue = keep !== undefined && bytes.length <= KEEPING_BOUNDS.objectBytes;
  const hiding = hides ? (hidden?.(outline) ?? []) : [];
  const question = { bytes, edits: editsOf(outline, isRepeated), hiding, asValue };
  const edited = await context.longAnswers!.edit(question, record.tenantId ?? "");
  const value = edited.packed === null ? null : await unpackJson(edited.packed);
  return { bytes: edited.bytes, value: isObject(value) ? value : null };
}
