// Streams of providers that speak the Responses API themselves: valid events pass as they are, but for the model and the
// gateway's id; what a server leaves out is supplied, and what comes twice or too late does not pass.
// https://platform.openai.com/docs/api-reference/responses-streaming
import type { EventNumbers, Growing, NativeEvents } from "../../../engine/answer-form.ts";
import type { Sealing } from "../../../engine/carriers/vendor-reasoning.ts";
import { isObject, type JsonObject } from "../../../core/json.ts";
import { type JsonEdit, withEdits } from "../../../core/request/json-edit.ts";
import { editedJson } from "../../../wire/json/json-edit.ts";
import { valueOfEvent } from "../../../providers/answers/sent-json.ts";
import {
  ANNOTATION_ADDED,
  formOfEvent,
  ITEM_ADDED,
  ITEM_DONE,
  PARTS_ADDED,
  PARTS_DONE,
} from "../../../providers/responses/stream-grammar.ts";
import type { SseEvent } from "../../../wire/sse.ts";
import { dataLines } from "../../written-events.ts";
import { carriersIn, HiddenReasoning } from "../keeping/hidden-reasoning.ts";
import { type Keep, keepEdited, responseEdits } from "./native-answers.ts";
import { itemsIn } from "./passed-item.ts";
import { PassedItems } from "./passed-items.ts";
import { eventText, numberedRun } from "../response-events.ts";
import { type ResponseFrame, responseObject, type ResponseState } from "../response-object.ts";

/** Stands for a sequence number until the place of the number is written. */
const STAND_IN = 8_111_111_111_111_113;

/** The end of the names of events that bring pieces, to which nothing is added. */
const PIECE = ".delta";

/** Within so many characters stands the type of an event without a name. */
const MAX_NAME = 256;

/** In characters: a longer event is written anew from its value, because changes of its text read it once per level. */
const LONG = 131_072;

/** The member at any depth; texts have their quotes escaped. */
const NUMBER = /"sequence_number":\d+(?=[,}])/;

const OPENING: ReadonlySet<string> = new Set(["response.created", "response.queued", "response.in_progress"]);
const TERMINAL: ReadonlyMap<string, ResponseState["status"]> = new Map([
  ["response.completed", "completed"],
  ["response.incomplete", "incomplete"],
  // some servers end with this event of another API
  ["response.done", "completed"],
]);

export class NativeResponseEvents implements NativeEvents {
  readonly numbers: EventNumbers;
  readonly #frame: ResponseFrame;
  readonly #place: string;
  readonly #keep: Keep;
  readonly #items: PassedItems;
  readonly #sealing: Sealing;
  /** `null` where the client is shown encrypted reasoning. */
  readonly #hidden: HiddenReasoning | null;
  #opening = "";
  #hasOpened = false;
  #isInProgress = false;
  #hasContent = false;
  #hasEnded = false;
  /** The present event. */
  #event: JsonObject = {};
  /** What was written for the present event. */
  #text = "";
  /** Where events are written in turns: what writes those of the present one. */
  #writes: (() => string)[] | null = null;

  /** `place` stands in each event where its sequence number is written when it leaves. */
  constructor(frame: ResponseFrame, place: string, keep: Keep, sealing: Sealing) {
    this.#sealing = sealing;
    this.#hidden = sealing.hides ? new HiddenReasoning() : null;
    this.#frame = frame;
    this.#keep = keep;
    this.#place = place;
    this.numbers = { place, run: (events, first, count) => numberedRun(place, events, first, count) };
    this.#items = new PassedItems({
      own: (type, members) => this.#write(() => eventText(place, type, members)),
      passed: (type, data, edits) => {
        const event = this.#event;
        this.#write(() => this.#counted(type, data, event, edits));
      },
    });
  }

  /** The items so far. */
  get shown(): readonly JsonObject[] {
    return this.#items.shown;
  }
  get growing(): Growing | null {
    return this.#items.growing;
  }

  get opening(): string {
    return this.#opening;
  }
  get hasContent(): boolean {
    return this.#hasContent;
  }
  get kept(): number {
    return this.#items.characters;
  }

  pass(event: SseEvent): string {
    if (this.#hasEnded) return "";
    this.#take(event.event, event.data, readEvent(event));
    const text = this.#text;
    this.#text = "";
    return text;
  }

  repeats({ event: name, data }: SseEvent, characters: number): boolean {
    if (this.#items.characters < characters) return false;
    return !(name === "" ? data.slice(0, MAX_NAME).includes(`${PIECE}"`) : name.endsWith(PIECE));
  }

  *steps(event: SseEvent): Generator<string> {
    if (this.#hasEnded) return;
    const value = readEvent(event);
    yield "";
    const writes: (() => string)[] = [];
    this.#writes = writes;
    try {
      this.#take(event.event, event.data, value);
    } finally {
      this.#writes = null;
    }
    for (const write of writes) yield write();
  }

  /** The provider's own last event has come, because a stream without one is not complete. */
  end(): string {
    return "";
  }

  #take(name: string, sent: string, whole: JsonObject): void {
    const { event, data } = this.#hidden === null ? { event: whole, data: sent } : this.#hidden.take(whole, sent);
    const type = typeof event["type"] === "string" ? event["type"] : name;
    this.#event = event;
    if (OPENING.has(type) && !this.#hasOpened) {
      this.#open(type, data, event);
      return;
    }
    this.#endOpening();
    this.#pass(type, data, event);
  }

  #write(write: () => string): void {
    if (this.#writes === null) this.#text += write();
    else this.#writes.push(write);
  }

  #open(type: string, data: string, event: JsonObject): void {
    if (type === "response.in_progress") this.#isInProgress = true;
    if (this.#opening === "" && type !== "response.created") this.#opening = this.#own("response.created");
    this.#opening += this.#withResponse(type, data, event);
  }

  /** Completes the events with which every stream begins. */
  #endOpening(): void {
    if (this.#hasOpened) return;
    this.#hasOpened = true;
    if (this.#opening === "") this.#opening = this.#own("response.created");
    if (!this.#isInProgress) this.#opening += this.#own("response.in_progress");
  }

  #pass(type: string, data: string, event: JsonObject): void {
    const status = TERMINAL.get(type);
    if (status !== undefined) {
      this.#hasEnded = true;
      this.#end(type === "response.done" ? "response.completed" : type, status, data, event);
      return;
    }
    if (isObject(event["response"])) {
      // a second beginning would begin a second response
      if (type !== "response.created") this.#write(() => this.#withResponse(type, data, event));
      return;
    }
    if (type.endsWith(PIECE) || type === ITEM_DONE) this.#hasContent = true;
    this.#passItem(type, data, event);
  }

  #passItem(type: string, data: string, event: JsonObject): void {
    const form = formOfEvent(type);
    if (form !== null) this.#items.piece(form, type, event, data);
    else if (type === ITEM_ADDED) this.#items.added(event, data);
    else if (type === ITEM_DONE) this.#items.done(event, data);
    else if (PARTS_ADDED.has(type)) this.#items.partAdded(type, event, data);
    else if (PARTS_DONE.has(type)) this.#items.partDone(type, event, data);
    else if (type === ANNOTATION_ADDED) this.#items.annotation(type, event, data);
    else this.#items.other(type, event, data);
  }

  /** The last event repeats the whole answer: what of it the client does not have comes before it. */
  #end(type: string, status: ResponseState["status"], data: string, event: JsonObject): void {
    const sent = isObject(event["response"]) ? event["response"] : {};
    const outputEdits = this.#items.end(itemsIn(sent["output"]), status === "incomplete");
    const edits = [...responseEdits(sent, status, this.#frame), ...outputEdits];
    keepEdited(sent, edits, this.#keep, (whole) => carriersIn(whole, this.#sealing.seal, this.#hidden?.taken));
    this.#write(() => this.#counted(type, data, event, [...typeEdits(event, type), ...inResponse(edits)]));
  }

  #withResponse(type: string, data: string, event: JsonObject): string {
    const { response } = event;
    const edits = responseEdits(isObject(response) ? response : {}, "in_progress", this.#frame);
    return this.#counted(type, data, event, [...typeEdits(event, type), ...inResponse(edits)]);
  }

  #own(type: string): string {
    return eventText(this.#place, type, {
      response: responseObject(this.#frame, { status: "in_progress", output: [], usage: null }),
    });
  }

  /** Nearly every event has one number, which is found without a search for the members around it. */
  #counted(type: string, data: string, event: JsonObject, edits: readonly JsonEdit[]): string {
    // what is added to it may be long too, and is not searched
    const isAnew = edits.length > 0 && (data.length >= LONG || this.#items.characters >= LONG);
    if (isAnew) return this.#anew(type, event, edits);
    if (typeof event["sequence_number"] !== "number") return this.#numbered(type, data, event, edits);
    const text = editedJson(data, edits);
    const found = NUMBER.exec(text);
    if (found === null) return this.#numbered(type, data, event, edits);
    const end = found.index + found[0].length;
    if (text.includes('"sequence_number"', end)) return this.#numbered(type, data, event, edits);
    return eventOf(type, `${text.slice(0, found.index)}"sequence_number":`, this.#place, text.slice(end));
  }

  #numbered(type: string, data: string, event: JsonObject, edits: readonly JsonEdit[]): string {
    if (data.length >= LONG) return this.#anew(type, event, edits);
    const text = editedJson(data, [...edits, { path: ["sequence_number"], value: STAND_IN }]);
    const [before = "", after = ""] = text.split(String(STAND_IN));
    return eventOf(type, before, this.#place, after);
  }

  #anew(type: string, event: JsonObject, edits: readonly JsonEdit[]): string {
    const { type: _type, sequence_number: _number, ...members } = withEdits(event, edits);
    return eventText(this.#place, type, members);
  }
}

function eventOf(type: string, before: string, number: string, after: string): string {
  return `event: ${type}\ndata: ${dataLines(before)}${number}${dataLines(after)}\n\n`;
}

/** The change of an event that goes by another name. */
function typeEdits(event: JsonObject, type: string): readonly JsonEdit[] {
  return event["type"] === type ? [] : [{ path: ["type"], value: type }];
}

function readEvent(event: SseEvent): JsonObject {
  const value = valueOfEvent(event);
  return isObject(value) ? value : {};
}

function inResponse(edits: readonly JsonEdit[]): readonly JsonEdit[] {
  return edits.map(({ path, value }) => ({ path: ["response", ...path], value }));
}
