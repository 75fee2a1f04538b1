// The parts of the items in a stream that a provider speaks itself: texts, refusals, reasoning, and the inputs of calls.
// Each grows by deltas and is repeated as a whole in the events that end it, its item and the answer.
// https://platform.openai.com/docs/api-reference/responses-streaming
import { isObject, type Json, type JsonObject } from "../../../core/json.ts";
import { MalformedAnswer } from "../../../providers/provider.ts";
import { objectsIn, textOrEmpty } from "../../../providers/answers/sent-json.ts";

/** How the pieces of one kind of part are named. */
export interface PartForm {
  /** What the events of its pieces are called before `.delta` and `.done`. */
  readonly stem: string;
  /** The type of the items that have it. */
  readonly item: string;
  /** The member with the index of the part; `null` for the input of a call, which has one. */
  readonly at: "content_index" | "summary_index" | null;
  /** The member with the whole text, in the event that ends the text and in the part or the item itself. */
  readonly whole: "text" | "refusal" | "arguments" | "input" | "code";
  /** The type of the part within the content or summary of its item. */
  readonly type: string;
}

const OUTPUT_TEXT: PartForm = {
  stem: "response.output_text",
  item: "message",
  at: "content_index",
  whole: "text",
  type: "output_text",
};

const FORMS: readonly PartForm[] = [
  OUTPUT_TEXT,
  { stem: "response.refusal", item: "message", at: "content_index", whole: "refusal", type: "refusal" },
  { stem: "response.reasoning_text", item: "reasoning", at: "content_index", whole: "text", type: "reasoning_text" },
  {
    stem: "response.reasoning_summary_text",
    item: "reasoning",
    at: "summary_index",
    whole: "text",
    type: "summary_text",
  },
  ...(
    [
      ["response.function_call_arguments", "function_call", "arguments"],
      ["response.custom_tool_call_input", "custom_tool_call", "input"],
      ["response.mcp_call_arguments", "mcp_call", "arguments"],
      ["response.code_interpreter_call_code", "code_interpreter_call", "code"],
    ] as const
  ).map(([stem, item, whole]) => ({ stem, item, at: null, whole, type: whole })),
];
const BY_STEM: ReadonlyMap<string, PartForm> = new Map(FORMS.map((form) => [form.stem, form]));

/** Returns the form of the parts that an event is about; `null` for other events. */
export function formOfEvent(type: string): PartForm | null {
  return BY_STEM.get(type.slice(0, type.lastIndexOf("."))) ?? null;
}

/** Returns the form of the parts of an item with a type; undefined for parts that pass without being known. */
export function formOfPart(item: string, part: Json | undefined): PartForm | undefined {
  return FORMS.find((form) => form.item === item && form.at !== null && form.type === part);
}

/** Returns the form of the input of a call that the client makes; `null` for other items. */
export function formOfInput(item: string): PartForm | null {
  return isClientsCall(item) ? FORMS.find((form) => form.item === item)! : null;
}

/** Calls that the client makes are nothing without a name, and always have an input. */
export function isClientsCall(item: string): boolean {
  return item === "function_call" || item === "custom_tool_call";
}

export function isText(form: PartForm): boolean {
  return form === OUTPUT_TEXT;
}

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
  if (whole.startsWith(part.text)) return whole.slice(part.text.length);
  throw new MalformedAnswer("The provider's stream repeats a part of the answer with other text than its pieces had.");
}

/** Throws MalformedAnswer for a part whose pieces came in another order and whose whole text did not come. */
export function requireOrder({ isDisordered }: PassedPart): void {
  if (isDisordered) throw new MalformedAnswer("The provider's stream has the pieces of a text in another order.");
}

/** The part as it stands in its item. */
export function partJson({ form, text, annotations, logprobs }: PassedPart): JsonObject {
  return isText(form)
    ? { type: form.type, text, annotations: annotations.slice(), logprobs: logprobs.slice() }
    : { type: form.type, [form.whole]: text };
}

/** The part when it begins. */
export function emptyPart(form: PartForm): JsonObject {
  return isText(form)
    ? { type: form.type, text: "", annotations: [], logprobs: [] }
    : { type: form.type, [form.whole]: "" };
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
  const input = FORMS.find((form) => form.item === type && form.at === null);
  if (input !== undefined) {
    const text = item[input.whole];
    return typeof text === "string" && text !== "" ? [{ form: input, at: 0, text, annotations: [], logprobs: [] }] : [];
  }
  return (["summary", "content"] as const).flatMap((name) => {
    const parts = item[name];
    if (!Array.isArray(parts)) return [];
    return (parts as readonly Json[]).flatMap((part, at): readonly WholeText[] => {
      const form = isObject(part) ? formOfPart(type, part["type"]) : undefined;
      if (form === undefined || !isObject(part)) return [];
      const logprobs = Array.isArray(part["logprobs"]) ? (part["logprobs"] as readonly Json[]) : [];
      const text = textOrEmpty(part[form.whole]);
      return [{ form, at, text, annotations: objectsIn(part["annotations"]), logprobs }];
    });
  });
}
