// The events of one item after another: each is announced, written piece by piece, and closed with all that it has.
import type { Json, JsonObject } from "../../../core/json.ts";
import {
  type CallItem,
  customInput,
  itemJson,
  type ItemStatus,
  type MessageItem,
  type OpenItem,
  partJson,
  type ReasoningItem,
  type ServedItem,
  type TextPart,
} from "./item-parts.ts";
import { deltaHead, eventText } from "../response-events.ts";

export class ItemEvents {
  readonly #place: string;
  /** What was written and not taken. */
  #text = "";
  /** Where events are written one by one: what writes those that were not taken. */
  #steps: (() => string)[] | null = null;
  /** The beginning of the deltas of the part that is open. */
  #head = "";

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
    if (item.kind === "message") this.#head = this.#partHead(item, at);
    else if (item.kind === "reasoning") this.#head = this.#reasoningHead(item, at);
    else if (item.kind === "call") this.#head = this.#callHead(item, at);
  }

  /** Announces an item, with the pieces that it has already. */
  open(item: OpenItem, at: number): void {
    this.#event("response.output_item.added", { output_index: at, item: itemJson(begun(item), "in_progress") });
    if (item.kind === "message")
      for (const [index, part] of item.parts.entries()) {
        if (index > 0) this.#closePart(item, index - 1, at);
        this.#openPart(item, at, index);
        if (part.text !== "") this.delta(part.text, part.logprobs);
        for (const [number] of part.annotations.entries()) this.annotated(item, at, number);
      }
    else if (item.kind === "reasoning") {
      if (item.text === "") return;
      this.#event("response.reasoning_summary_part.added", {
        item_id: item.id,
        output_index: at,
        summary_index: 0,
        part: { type: "summary_text", text: "" },
      });
      this.continueAt(item, at);
      this.delta(item.text);
    } else if (item.kind === "list")
      this.#event("response.mcp_list_tools.in_progress", { item_id: item.id, output_index: at });
    else if (item.kind === "served") this.#openServed(item, at);
    else if (item.tool.kind === "function") {
      this.continueAt(item, at);
      if (item.text !== "") this.delta(item.text);
    }
  }

  #openServed({ id, text }: ServedItem, at: number): void {
    const place = { item_id: id, output_index: at };
    this.#event("response.mcp_call.in_progress", place);
    this.#event("response.mcp_call_arguments.delta", { ...place, delta: text });
    this.#event("response.mcp_call_arguments.done", { ...place, arguments: text });
  }

  /** Announces the last part of a message, and closes the one before it. */
  openPart(item: MessageItem, at: number): void {
    const index = item.parts.length - 1;
    if (index > 0) this.#closePart(item, index - 1, at);
    this.#openPart(item, at, index);
  }

  delta(piece: string, logprobs: readonly Json[] | null = null): void {
    const head = this.#head;
    this.#write(() => deltaText(head, piece, logprobs));
  }

  /** Returns the delta of the part that is open. */
  deltaText(piece: string, logprobs: readonly Json[] | null = null): string {
    return deltaText(this.#head, piece, logprobs);
  }

  annotated(item: MessageItem, at: number, number: number): void {
    const index = item.parts.length - 1;
    this.#event("response.output_text.annotation.added", {
      item_id: item.id,
      output_index: at,
      content_index: index,
      annotation_index: number,
      annotation: item.parts[index]!.annotations[number]!,
    });
  }

  close(item: OpenItem, at: number, status: ItemStatus): void {
    if (item.kind === "message") {
      if (item.parts.length > 0) this.#closePart(item, item.parts.length - 1, at);
    } else if (item.kind === "reasoning") this.#closeReasoning(item, at);
    else if (item.kind === "call") this.#closeCall(item, at);
    else {
      const hasFailed = item.kind === "list" ? item.error !== null : item.result?.isError !== false;
      const type = item.kind === "list" ? "response.mcp_list_tools" : "response.mcp_call";
      this.#event(`${type}.${hasFailed ? "failed" : "completed"}`, { item_id: item.id, output_index: at });
    }
    this.#event("response.output_item.done", { output_index: at, item: itemJson(item, status) });
  }

  #openPart(item: MessageItem, at: number, index: number): void {
    const { type } = item.parts[index]!;
    const empty: TextPart = { type, text: "", annotations: [], logprobs: [], start: 0 };
    this.#event("response.content_part.added", {
      item_id: item.id,
      output_index: at,
      content_index: index,
      part: partJson(empty),
    });
    this.#head = this.#partHead(item, at, index);
  }

  #closePart(item: MessageItem, index: number, at: number): void {
    const part = item.parts[index]!;
    const place = { item_id: item.id, output_index: at, content_index: index };
    if (part.type === "refusal") this.#event("response.refusal.done", { ...place, refusal: part.text });
    else this.#event("response.output_text.done", { ...place, text: part.text, logprobs: part.logprobs });
    this.#event("response.content_part.done", { ...place, part: partJson(part) });
  }

  #closeReasoning(item: ReasoningItem, at: number): void {
    if (item.text === "") return;
    const place = { item_id: item.id, output_index: at, summary_index: 0 };
    this.#event("response.reasoning_summary_text.done", { ...place, text: item.text });
    this.#event("response.reasoning_summary_part.done", { ...place, part: { type: "summary_text", text: item.text } });
  }

  #closeCall(item: CallItem, at: number): void {
    const place = { item_id: item.id, output_index: at };
    if (item.tool.kind === "function")
      this.#event("response.function_call_arguments.done", { ...place, name: item.tool.name, arguments: item.text });
    if (item.tool.kind !== "freeform") return;
    const input = customInput(item.text);
    if (input !== "") this.#event("response.custom_tool_call_input.delta", { ...place, delta: input });
    this.#event("response.custom_tool_call_input.done", { ...place, input });
  }

  #partHead(item: MessageItem, at: number, index = item.parts.length - 1): string {
    const type = item.parts[index]?.type === "refusal" ? "response.refusal.delta" : "response.output_text.delta";
    return deltaHead(this.#place, type, { item_id: item.id, output_index: at, content_index: index });
  }
  #reasoningHead(item: ReasoningItem, at: number): string {
    return deltaHead(this.#place, "response.reasoning_summary_text.delta", {
      item_id: item.id,
      output_index: at,
      summary_index: 0,
    });
  }
  #callHead(item: CallItem, at: number): string {
    return deltaHead(this.#place, "response.function_call_arguments.delta", { item_id: item.id, output_index: at });
  }

  #event(type: string, members: JsonObject): void {
    this.#write(() => eventText(this.#place, type, members));
  }
}

function deltaText(head: string, piece: string, logprobs: readonly Json[] | null): string {
  const more =
    logprobs === null || logprobs.length === 0 ? noLogprobs(head) : `,"logprobs":${JSON.stringify(logprobs)}`;
  return `${head}${JSON.stringify(piece)}${more}}\n\n`;
}

/** Deltas of texts have the member even when it is empty. */
function noLogprobs(head: string): string {
  return head.startsWith("event: response.output_text") ? ',"logprobs":[]' : "";
}

/** The item without what its deltas bring, and without what only its end has. */
function begun(item: OpenItem): OpenItem {
  switch (item.kind) {
    case "message":
      return { ...item, parts: [] };
    case "reasoning":
      return { ...item, text: "", carrier: null };
    case "list":
      return item;
    case "served":
      return { ...item, text: "" };
    default:
      return { ...item, text: "" };
  }
}
