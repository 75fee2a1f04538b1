// Writes the events of one attempt at a round, from the strict chunks of the stream normalizer.
import { LONG_TEXT } from "../../../engine/long-bodies/read-in-turns.ts";
import type { StreamWriter } from "../../../engine/stream/stream-writer.ts";
import type { ChatChunk, ChunkChoice, FinishReason, Usage } from "../../../core/chat.ts";
import type { JsonObject } from "../../../core/json.ts";
import type { ReportedActivity } from "../../../core/configured/tool.ts";
import { AnswerItems, carriersIn, flatCitations, flatLogprobs } from "./answer-items.ts";
import { addActivity } from "./served-tools.ts";
import { ItemEvents } from "./item-events.ts";
import type { KeepResponse } from "../keeping/response-keeping.ts";
import { eventText } from "../response-events.ts";
import { endedState, incompleteReason, type ResponseFrame, responseObject } from "../response-object.ts";

interface WhatFollows {
  /** Returns a writer whose events continue those of this one. */
  continued(before: ResponseWriter): ResponseWriter;
  /** Called with the response when it has ended. */
  readonly ended: KeepResponse;
}

export class ResponseWriter implements StreamWriter {
  readonly #frame: ResponseFrame;
  readonly #place: string;
  readonly #events: ItemEvents;
  readonly #items: AnswerItems;
  readonly #next: WhatFollows;
  #finish: FinishReason | null = null;
  #tier: string | null = null;
  #hasContent = false;

  constructor(frame: ResponseFrame, place: string, before: ResponseWriter | null, next: WhatFollows) {
    this.#frame = frame;
    this.#place = place;
    this.#events = new ItemEvents(place);
    this.#items = new AnswerItems(frame.memo, this.#events, before === null ? null : before.#items);
    this.#next = next;
  }

  get hasContent(): boolean {
    return this.#hasContent;
  }
  /** Log probabilities are kept with their text. */
  get repeatsEvents(): boolean {
    return !this.#frame.memo.showsLogprobs && this.#items.isGrowing;
  }
  get kept(): number {
    return this.#items.kept;
  }
  get place(): number {
    return this.#items.place;
  }
  /** The items so far, of which the last may be incomplete. */
  get shown(): readonly JsonObject[] {
    return this.#items.shown;
  }

  write(chunk: ChatChunk): string {
    if (typeof chunk["service_tier"] === "string") this.#tier = chunk["service_tier"];
    for (const choice of chunk.choices) if ((choice.index ?? 0) === 0) this.#add(choice);
    return this.#events.take();
  }

  preview({ choices: [choice] }: ChatChunk): string {
    const { content, refusal, reasoning_content: reasoning } = choice?.delta ?? {};
    const piece = content ?? refusal ?? reasoning;
    return typeof piece === "string" ? this.#events.deltaText(piece) : "";
  }

  repeated(piece: string): void {
    this.#items.grow(piece);
  }

  /** Adds what stands before the first round. Its events are written with the first that follow. */
  begin(add: (items: AnswerItems) => void): void {
    add(this.#items);
  }

  activity(reported: ReportedActivity): string {
    this.#hasContent = true;
    addActivity(this.#items, reported);
    return this.#events.take();
  }

  end(chunk: ChatChunk, total: Usage): string {
    const text = this.write(chunk);
    const ended = this.#ended(total);
    return text + this.#events.take() + ended();
  }

  get endsLong(): boolean {
    return this.#items.characters >= LONG_TEXT;
  }

  endInSteps(chunk: ChatChunk, total: Usage): readonly (() => string)[] {
    const text = this.write(chunk);
    this.#events.writeInSteps();
    const ended = this.#ended(total);
    return [() => text, ...this.#events.takeSteps(), ended];
  }

  /** Closes what is open, and returns what writes the last event. */
  #ended(total: Usage): () => string {
    const output = this.#items.end(incompleteReason(this.#finish) !== null);
    const state = endedState(this.#finish, output, total);
    const response = responseObject(this.#frame, { ...state, tier: this.#tier });
    this.#next.ended(response, this.#items.hidden);
    return () => eventText(this.#place, `response.${state.status}`, { response });
  }

  continued(): ResponseWriter {
    return this.#next.continued(this);
  }

  #add(choice: ChunkChoice): void {
    const { delta, finish_reason: finish, logprobs } = choice;
    if (finish !== null && finish !== undefined) this.#finish = finish;
    if (delta === undefined) return;
    const { content, refusal, reasoning_content: reasoning, tool_calls: calls } = delta;
    if (typeof reasoning === "string" && reasoning !== "") {
      this.#hasContent = true;
      this.#items.addReasoning(reasoning);
    }
    for (const carrier of carriersIn(delta.reasoning_details)) this.#items.addCarrier(carrier);
    const probabilities = this.#frame.memo.showsLogprobs ? flatLogprobs(logprobs) : [];
    if (typeof content === "string" && (content !== "" || probabilities.length > 0)) {
      this.#hasContent = true;
      this.#items.addText("output_text", content, probabilities);
    }
    if (typeof refusal === "string" && refusal !== "") {
      this.#hasContent = true;
      this.#items.addText("refusal", refusal, []);
    }
    if (delta["annotations"] !== undefined) this.#items.addCitations(flatCitations(delta["annotations"]));
    for (const { index, id, function: called } of calls ?? []) {
      this.#hasContent = true;
      if (typeof called?.name === "string") this.#items.beginCall(index!, id!, called.name);
      this.#items.addArguments(index!, called?.arguments ?? "");
    }
  }
}
