// The events of one item after another: each is announced, written piece by piece, and closed with all that it has.
import type { Json, JsonObject } from "../../../core/json.ts";
import {
  ANNOTATION_ADDED,
  ITEM_ADDED,
  ITEM_DONE,
  type PartForm,
  PARTS,
} from "../../../providers/responses/stream-grammar.ts";
import {
  type CallItem,
  customInput,
  itemJson,
  type ItemStatus,
  type ListItem,
  type MessageItem,
  type OpenItem,
  type ServedItem,
} from "./item-parts.ts";
import { endedText, NOTHING, partJson, partPlace, type WrittenPart } from "../part-members.ts";
import { deltaHead, eventText } from "../response-events.ts";

export class ItemEvents {
  readonly #place: string;
  /** What was written and not taken. */
  #text = "";
  /** Where events are written one by one: what writes those that were not taken. */
  #steps: (() => string)[] | null = null;
  /** The beginning of the deltas of the part that is open, and whether they have log probabilities. */
  #head = "";
  #hasLogprobs = false;

  constructor(place: string) {
    this.#place = place;
  }

  take(): string {
    const text = this.#text;
    this.#text = "";
    return text;
  }

  /** From now on each event is written when its function is called. */
  writeInSteps(): void {
    this.#steps = [];
  }

  takeSteps(): readonly (() => string)[] {
    const steps = this.#steps ?? [];
    this.#steps = null;
    return steps;
  }

  #write(write: () => string): void {
    if (this.#steps === null) this.#text += write();
    else this.#steps.push(write);
  }

  /** A writer that continues an open item begins with this. */
  continueAt(item: OpenItem, at: number): void {
    if (item.kind === "message") {
      const last = item.parts.length - 1;
      this.#grow(PARTS.message[item.parts[last]!.type], item, at, last);
    } else if (item.kind === "reasoning") this.#grow(PARTS.reasoning.summary_text, item, at);
    else if (item.kind === "call") this.#grow(PARTS.function_call.arguments, item, at);
  }

  /** Announces an item, with the pieces that it has already. */
  open(item: OpenItem, at: number): void {
    this.#event(ITEM_ADDED, { output_index: at, item: itemJson(begun(item), "in_progress") });
    if (item.kind === "message")
      for (const [index, part] of item.parts.entries()) {
        this.#openPart(item, at, index);
        if (part.text !== "") this.delta(part.text, part.logprobs);
        for (const number of part.annotations.keys()) this.annotated(item, at, number, index);
      }
    else if (item.kind === "reasoning") {
      if (item.text === "") return;
      this.#begin(PARTS.reasoning.summary_text, item, at);
      this.delta(item.text);
    } else if (item.kind === "call") {
      if (item.tool.kind !== "function") return;
      this.#begin(PARTS.function_call.arguments, item, at);
      if (item.text !== "") this.delta(item.text);
    } else {
      this.#progress(item, at, "in_progress");
      if (item.kind === "list") return;
      this.#begin(PARTS.mcp_call.arguments, item, at);
      this.delta(item.text);
      this.#end(PARTS.mcp_call.arguments, item, at, item);
    }
  }

  /** Announces the last part of a message, and closes the one before it. */
  openPart(item: MessageItem, at: number): void {
    this.#openPart(item, at, item.parts.length - 1);
  }

  delta(piece: string, logprobs: readonly Json[] | null = null): void {
    const head = this.#head;
    const hasLogprobs = this.#hasLogprobs;
    this.#write(() => deltaText(head, piece, hasLogprobs ? (logprobs ?? []) : null));
  }

  /** Returns the delta of the part that is open. */
  deltaText(piece: string, logprobs: readonly Json[] | null = null): string {
    return deltaText(this.#head, piece, this.#hasLogprobs ? (logprobs ?? []) : null);
  }

  /** Announces an annotation of a part, the last one if it is not named. */
  annotated(item: MessageItem, at: number, number: number, index = item.parts.length - 1): void {
    this.#event(ANNOTATION_ADDED, {
      ...partPlace(PARTS.message.output_text, item.id, at, index),
      annotation_index: number,
      annotation: item.parts[index]!.annotations[number]!,
    });
  }

  close(item: OpenItem, at: number, status: ItemStatus): void {
    if (item.kind === "message") this.#closePart(item, at, item.parts.length - 1);
    else if (item.kind === "reasoning") {
      if (item.text !== "") this.#end(PARTS.reasoning.summary_text, item, at, item);
    } else if (item.kind === "call") this.#closeCall(item, at);
    else {
      const hasFailed = item.kind === "list" ? item.error !== null : item.result?.isError !== false;
      this.#progress(item, at, hasFailed ? "failed" : "completed");
    }
    this.#event(ITEM_DONE, { output_index: at, item: itemJson(item, status) });
  }

  #openPart(item: MessageItem, at: number, index: number): void {
    if (index > 0) this.#closePart(item, at, index - 1);
    this.#begin(PARTS.message[item.parts[index]!.type], item, at, index);
  }

  #closePart(item: MessageItem, at: number, index: number): void {
    const part = item.parts[index]!;
    this.#end(PARTS.message[part.type], item, at, part, index);
  }

  #closeCall(item: CallItem, at: number): void {
    if (item.tool.kind === "function") this.#end(PARTS.function_call.arguments, item, at, item, 0, item.tool.name);
    if (item.tool.kind !== "freeform") return;
    const text = customInput(item.text);
    this.#begin(PARTS.custom_tool_call.input, item, at);
    if (text !== "") this.delta(text);
    this.#end(PARTS.custom_tool_call.input, item, at, { text });
  }

  /** Announces a part; what is written next are its deltas. */
  #begin(form: PartForm, item: OpenItem, at: number, index = 0): void {
    if (form.partAdded !== null)
      this.#event(form.partAdded, { ...partPlace(form, item.id, at, index), part: partJson(form, NOTHING) });
    this.#grow(form, item, at, index);
  }

  #grow(form: PartForm, item: OpenItem, at: number, index = 0): void {
    this.#hasLogprobs = form.isAnnotated;
    this.#head = deltaHead(this.#place, form.delta, partPlace(form, item.id, at, index));
  }

  /** Ends the text of a part, and the part. `name` is that of a call. */
  #end(form: PartForm, item: OpenItem, at: number, part: WrittenPart, index = 0, name = ""): void {
    const place = partPlace(form, item.id, at, index);
    this.#event(form.done, { ...place, ...endedText(form, part, name) });
    if (form.partDone !== null) this.#event(form.partDone, { ...place, part: partJson(form, part) });
  }

  /** Events of this form tell how an item comes along that the gateway makes itself. */
  #progress({ kind, id }: ServedItem | ListItem, at: number, state: "in_progress" | "completed" | "failed"): void {
    const type = kind === "list" ? "mcp_list_tools" : "mcp_call";
    this.#event(`response.${type}.${state}`, { item_id: id, output_index: at });
  }

  #event(type: string, members: JsonObject): void {
    this.#write(() => eventText(this.#place, type, members));
  }
}

/** Deltas that have log probabilities have the member even when it is empty. */
function deltaText(head: string, piece: string, logprobs: readonly Json[] | null): string {
  const more = logprobs === null ? "" : `,"logprobs":${logprobs.length === 0 ? "[]" : JSON.stringify(logprobs)}`;
  return `${head}${JSON.stringify(piece)}${more}}\n\n`;
}

/** The item without what its deltas bring, and without what only its end has. */
function begun(item: OpenItem): OpenItem {
  if (item.kind === "message") return { ...item, parts: [] };
  if (item.kind === "reasoning") return { ...item, text: "", carrier: null };
  return item.kind === "list" ? item : { ...item, text: "" };
}
