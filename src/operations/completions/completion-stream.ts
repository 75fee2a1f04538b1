// The events of legacy completions: each entry of `choices` of a strict chunk becomes one, with a piece of the text.
// https://platform.openai.com/docs/api-reference/completions/create
import { type AnswerFrame, answerId, answerTime } from "../../engine/answer/strict-fields.ts";
import type { StreamWriter } from "../../engine/stream/stream-writer.ts";
import { VendorFields } from "../../engine/stream/vendor-fields.ts";
import type { ChatChunk, ChunkChoice, Usage } from "../../core/chat.ts";
import type { JsonObject } from "../../core/json.ts";
import type { PlacesOf } from "./completion-logprobs.ts";
import type { CompletionMemo } from "./parse-completions.ts";

/** The id of the provider, or one of ours that begins as those of this form. */
export function completionId(id: string): string {
  return id.startsWith("chatcmpl-") ? `cmpl-${id.slice("chatcmpl-".length)}` : id;
}

export class CompletionWriter implements StreamWriter {
  readonly #frame: AnswerFrame;
  readonly #memo: Pick<CompletionMemo, "model">;
  readonly #tail: string;
  readonly #includeUsage: boolean;
  readonly #vendor = new VendorFields();
  readonly #placesOf: PlacesOf;
  readonly #places = new Map<number, ReturnType<PlacesOf>>();
  /** The beginning of every event; empty before the first chunk with an id or a choice. */
  #head = "";
  #hasContent = false;

  constructor(frame: AnswerFrame, memo: Pick<CompletionMemo, "model">, placesOf: PlacesOf, includeUsage: boolean) {
    this.#frame = frame;
    this.#memo = memo;
    this.#placesOf = placesOf;
    this.#includeUsage = includeUsage;
    this.#tail = includeUsage ? ',"usage":null}\n\n' : "}\n\n";
  }

  get hasContent(): boolean {
    return this.#hasContent;
  }
  /** False while vendor fields of earlier chunks wait for the next event. */
  get repeatsEvents(): boolean {
    return !this.#vendor.areWaiting;
  }

  write(chunk: ChatChunk): string {
    // Azure's chunk about the prompt comes first, without an id and without a choice
    if (this.#head === "" && (chunk.choices.length > 0 || (typeof chunk.id === "string" && chunk.id !== "")))
      this.#head = this.#headOf(chunk);
    this.#vendor.take(chunk);
    let out = "";
    for (const choice of chunk.choices) out += this.#event(choice);
    this.#vendor.keep(chunk);
    return out;
  }

  /** The gateway runs no tools for raw prompts. */
  activity(): string {
    return "";
  }

  end(chunk: ChatChunk, total: Usage): string {
    if (this.#head === "") this.#head = this.#headOf(chunk);
    let out = "";
    this.#vendor.takeWaiting();
    for (const choice of chunk.choices) out += this.#event(choice);
    if (this.#includeUsage) out += `${this.#head},"choices":[],"usage":${JSON.stringify(total)}}\n\n`;
    return out;
  }

  continued(frame: AnswerFrame, includeUsage: boolean): CompletionWriter {
    return new CompletionWriter(frame, this.#memo, this.#placesOf, includeUsage);
  }

  #headOf({ id, created }: ChatChunk): string {
    const head = {
      id: completionId(answerId(id, this.#frame)),
      object: "text_completion",
      created: answerTime(created, this.#frame.nowSeconds),
      model: this.#memo.model ?? this.#frame.model,
    };
    return `data: ${JSON.stringify(head).slice(0, -1)}`;
  }

  #event({ index, delta, finish_reason: finish, logprobs, ...extras }: ChunkChoice): string {
    const { content, role: _role, ...others } = delta ?? {};
    const text = content ?? "";
    const reason = finish ?? null;
    const lists = logprobs == null ? null : this.#places.getOrInsertComputed(index!, this.#placesOf).lists(logprobs);
    const members: JsonObject = { ...extras, ...others };
    if (text === "" && reason === null && lists === null && isWithoutValues(members)) return "";
    if (text !== "" || lists !== null) this.#hasContent = true;
    const choice = { index, text, logprobs: lists, finish_reason: reason, ...members };
    return `${this.#head}${this.#vendor.use()},"choices":[${JSON.stringify(choice)}]${this.#tail}`;
  }
}

function isWithoutValues(members: JsonObject): boolean {
  return Object.values(members).every((value) => value === null || value === undefined || value === "");
}
