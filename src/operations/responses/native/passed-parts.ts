// The parts of the items in a stream that a provider speaks itself: texts, refusals, reasoning, and the inputs of calls.
// Each grows by deltas and is repeated as a whole in the events that end it, its item and the answer.
// https://platform.openai.com/docs/api-reference/responses-streaming
import { isObject, type Json, type JsonObject, listIn, objectsIn, textOrEmpty } from "../../../core/json.ts";
import { restOf } from "../../../core/text/quoted-key.ts";
import { MalformedAnswer } from "../../../providers/interface/upstream-failure.ts";
import { formOfInput, formOfPart, type PartForm } from "../../../providers/responses/stream-grammar.ts";

export interface PassedPart {
  readonly form: PartForm;
  readonly at: number;
  /** What the client has of it. */
  text: string;
  /** The number of the last piece, and the piece; a server that does not count numbers none. */
  number: number;
  lastPiece: string;
  /** Whether a piece came with a number below one that had come, which only the whole text can put right. */
  isDisordered: boolean;
  readonly annotations: Json[];
  readonly logprobs: Json[];
  /** Whether the event has passed that ends its text, and the one that ends the part. */
  hasText: boolean;
  isClosed: boolean;
}

export function newPart(form: PartForm, at: number): PassedPart {
  return {
    form,
    at,
    text: "",
    number: 0,
    lastPiece: "",
    isDisordered: false,
    annotations: [],
    logprobs: [],
    hasText: false,
    isClosed: false,
  };
}

/** Returns whether a piece is new. One with a number below the last is not shown, because its place has gone. */
export function isNewPiece(part: PassedPart, piece: string, number: Json | undefined): boolean {
  if (typeof number !== "number" || number <= 0) return true;
  if (number === part.number && piece === part.lastPiece) return false;
  if (number < part.number) {
    part.isDisordered = true;
    return false;
  }
  part.number = number;
  return true;
}

/**
 * Returns what is missing of the whole text. Throws MalformedAnswer where the client was sent something else: it cannot
 * be taken back.
 */
export function missingText(part: PassedPart, whole: string): string {
  const rest = restOf(whole, part.text);
  if (rest !== null) return rest;
  throw new MalformedAnswer("The provider's stream repeats a part of the answer with other text than its pieces had.");
}

/** Throws MalformedAnswer for a part whose pieces came in another order and whose whole text did not come. */
export function requireOrder({ isDisordered }: PassedPart): void {
  if (isDisordered) throw new MalformedAnswer("The provider's stream has the pieces of a text in another order.");
}

/** The whole texts of an item, with their parts' forms and places. */
export interface WholeText {
  readonly form: PartForm;
  readonly at: number;
  readonly text: string;
  readonly annotations: readonly JsonObject[];
  readonly logprobs: readonly Json[];
}

/** Returns the texts that an item repeats. Absent ones are not repeated, which says nothing of them. */
export function wholeTexts(item: JsonObject): readonly WholeText[] {
  const type = textOrEmpty(item["type"]);
  const input = formOfInput(type);
  if (input !== null) {
    const text = item[input.whole];
    return typeof text === "string" && text !== "" ? [{ form: input, at: 0, text, annotations: [], logprobs: [] }] : [];
  }
  return (["summary", "content"] as const).flatMap((name) => {
    const parts = item[name];
    if (!Array.isArray(parts)) return [];
    return (parts as readonly Json[]).flatMap((part, at): readonly WholeText[] => {
      const form = isObject(part) ? formOfPart(type, part["type"]) : undefined;
      if (form === undefined || !isObject(part)) return [];
      const logprobs = listIn(part["logprobs"]);
      const text = textOrEmpty(part[form.whole]);
      return [{ form, at, text, annotations: objectsIn(part["annotations"]), logprobs }];
    });
  });
}
