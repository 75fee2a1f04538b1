// The grammar of streams of the Responses API as a table: which parts an item has, which events begin, lengthen and end
// each, and which member holds its text. Streams are read (decode-stream.ts), passed to a client (native/ of the operation)
// and written (its answer/) by this table. Events that are not in it pass, or say nothing in other forms.
// https://platform.openai.com/docs/api-reference/responses-streaming

/** The lists of an item in which parts stand. */
const LISTS = {
  content: { at: "content_index", events: "response.content_part" },
  summary: { at: "summary_index", events: "response.reasoning_summary_part" },
} as const;

interface Row {
  /** The member with the parts; `null` for the input of a call, which is a member of the item itself. */
  readonly list: keyof typeof LISTS | null;
  /** The member with the text, in the part or item, and in the event that ends the text; that of the row's name by default. */
  readonly whole?: string;
  /** What the events of the text are called before `.delta` and `.done`. */
  readonly events: string;
  /** What the text is in a chat completion: a member of the message, or the input of a call; `null` where it is nothing. */
  readonly chat: "content" | "refusal" | "reasoning" | "function" | "custom" | null;
  /** Its events have log probabilities, and the part has those and annotations. */
  readonly isAnnotated?: true;
  /** The event that ends it repeats the name of its call. */
  readonly isNamed?: true;
}

/** By the type of the item, and that of the part or the name of the input. */
const ROWS = {
  message: {
    output_text: { list: "content", whole: "text", events: "response.output_text", chat: "content", isAnnotated: true },
    refusal: { list: "content", events: "response.refusal", chat: "refusal" },
  },
  reasoning: {
    reasoning_text: { list: "content", whole: "text", events: "response.reasoning_text", chat: "reasoning" },
    summary_text: { list: "summary", whole: "text", events: "response.reasoning_summary_text", chat: "reasoning" },
  },
  function_call: {
    arguments: { list: null, events: "response.function_call_arguments", chat: "function", isNamed: true },
  },
  custom_tool_call: { input: { list: null, events: "response.custom_tool_call_input", chat: "custom" } },
  mcp_call: { arguments: { list: null, events: "response.mcp_call_arguments", chat: null } },
  code_interpreter_call: { code: { list: null, events: "response.code_interpreter_call_code", chat: null } },
} as const satisfies Readonly<Record<string, Readonly<Record<string, Row>>>>;

/** The types of items with texts. */
export type ItemType = keyof typeof ROWS;

/** A row with the names of its events. */
export interface PartForm extends Required<Omit<Row, "isAnnotated" | "isNamed">> {
  readonly item: ItemType;
  readonly type: string;
  /** The member of its events with its index; `null` for the input of a call, of which there is one. */
  readonly at: "content_index" | "summary_index" | null;
  readonly isAnnotated: boolean;
  readonly isNamed: boolean;
  /** The event that brings a piece of the text, and the one that ends the text. */
  readonly delta: string;
  readonly done: string;
  /** The events that begin and end the part; `null` for the input of a call. */
  readonly partAdded: string | null;
  readonly partDone: string | null;
}

function formOf(item: ItemType, type: string, row: Row): PartForm {
  const list = row.list === null ? null : LISTS[row.list];
  return {
    item,
    type,
    whole: type,
    isAnnotated: false,
    isNamed: false,
    ...row,
    at: list === null ? null : list.at,
    delta: `${row.events}.delta`,
    done: `${row.events}.done`,
    partAdded: list === null ? null : `${list.events}.added`,
    partDone: list === null ? null : `${list.events}.done`,
  };
}

const FORMS: readonly PartForm[] = Object.entries(ROWS).flatMap(([item, rows]) =>
  Object.entries(rows).map(([type, row]: readonly [string, Row]) => formOf(item as ItemType, type, row)),
);
export const PARTS = Object.fromEntries(
  Object.entries(Object.groupBy(FORMS, ({ item }) => item)).map(([item, forms]) => [
    item,
    Object.fromEntries(forms.map((form) => [form.type, form])),
  ]),
) as unknown as { readonly [Item in ItemType]: Readonly<Record<keyof (typeof ROWS)[Item], PartForm>> };

/** The events that begin and end an item. */
export const ITEM_ADDED = "response.output_item.added";
export const ITEM_DONE = "response.output_item.done";
/** The event that adds an annotation to a part that is annotated. */
export const ANNOTATION_ADDED = `${PARTS.message.output_text.events}.annotation.added`;
/** The events that begin and end parts. */
export const PARTS_ADDED: ReadonlySet<string> = new Set(Object.values(LISTS).map(({ events }) => `${events}.added`));
export const PARTS_DONE: ReadonlySet<string> = new Set(Object.values(LISTS).map(({ events }) => `${events}.done`));

const BY_EVENT: ReadonlyMap<string, PartForm> = new Map(
  FORMS.flatMap((form) => [form.delta, form.done].map((event) => [event, form])),
);
const INPUTS: ReadonlyMap<unknown, PartForm> = new Map(
  FORMS.flatMap((form) => (form.list === null ? [[form.item, form]] : [])),
);
const IN_CHAT: ReadonlySet<unknown> = new Set(FORMS.flatMap(({ item, chat }) => (chat === null ? [] : [item])));

/** Returns the form of the part whose text an event lengthens or ends; `null` for other events. */
export function formOfEvent(type: string): PartForm | null {
  return BY_EVENT.get(type) ?? null;
}

/**
 * Returns the form of the parts with a type in the lists of an item; undefined for parts that are not in the table. An
 * item that is not known is `null`.
 */
export function formOfPart(item: string | null, type: unknown): PartForm | undefined {
  return FORMS.find((form) => form.type === type && form.list !== null && (item === null || form.item === item));
}

/** Returns the form of the input of an item; `null` for items without one. */
export function formOfInput(item: unknown): PartForm | null {
  return INPUTS.get(item) ?? null;
}

/** Returns the form of the input of a call that the client makes, as a chat completion has it; `null` for other items. */
export function formOfCall(item: unknown): PartForm | null {
  return IN_CHAT.has(item) ? formOfInput(item) : null;
}

/** Whether a chat completion has a place for what items of a type say. */
export function isInChat(item: unknown): item is ItemType {
  return IN_CHAT.has(item);
}
