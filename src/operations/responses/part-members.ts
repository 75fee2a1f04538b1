// The members of the events that the gateway writes of a part of an item: in answers that it translates, and where a server
// that speaks the API leaves an event out. https://platform.openai.com/docs/api-reference/responses-streaming
import type { Json, JsonObject } from "../../core/json.ts";
import type { PartForm } from "../../providers/responses/stream-grammar.ts";

/** A part with what it has so far. */
export interface WrittenPart {
  readonly text: string;
  readonly annotations?: readonly Json[];
  readonly logprobs?: readonly Json[];
}

/** What a part has when it begins. */
export const NOTHING: WrittenPart = { text: "" };

/** `index` is that of the item, `at` that of the part. */
export function partPlace({ at: member }: PartForm, id: string, index: number, at: number): JsonObject {
  return { item_id: id, output_index: index, ...(member !== null && { [member]: at }) };
}

/** The part as it stands in its item. */
export function partJson({ type, whole, isAnnotated }: PartForm, part: WrittenPart): JsonObject {
  const { text, annotations = [], logprobs = [] } = part;
  return {
    type,
    [whole]: text,
    ...(isAnnotated && { annotations: annotations.slice(), logprobs: logprobs.slice() }),
  };
}

/** What the event that ends a text has beside its place. `name` is that of the call. */
export function endedText({ whole, isAnnotated, isNamed }: PartForm, part: WrittenPart, name: Json): JsonObject {
  return {
    ...(isNamed && { name }),
    [whole]: part.text,
    ...(isAnnotated && { logprobs: (part.logprobs ?? []).slice() }),
  };
}
