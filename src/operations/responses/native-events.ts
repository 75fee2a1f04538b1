// Streams of providers that speak the Responses API themselves: valid events pass as they are, but for the model and the
// gateway's id; what a server leaves out is supplied, and what comes twice or too late does not pass.
// https://platform.openai.com/docs/api-reference/responses-streaming
import type { Growing, NativeEvents } from "../../chat/answer-form.ts";
import { isObject, type JsonObject } from "../../core/json.ts";
import type { JsonEdit } from "../../core/json-edit.ts";
import { editedJson } from "../../wire/json-edit.ts";
import { valueOfEvent } from "../../providers/sent-json.ts";
import type { SseEvent } from "../../wire/sse.ts";
import { type Keep, keepEdited, responseEdits } from "./native-answers.ts";
import { itemsIn } from "./passed-item.ts";
import { PassedItems } from "./passed-items.ts";
import { formOfEvent } from "./passed-parts.ts";
import { type ResponseFrame, responseObject, type ResponseState } from "./response-object.ts";

/** Stands for a sequence number until the place of the number is written. */
const STAND_IN = 8_111_111_111_111_113;

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
  readonly #frame: ResponseFrame;
  readonly #place: string;
  readonly #keep: Keep;
  readonly #items: PassedItems;
  #opening = "";
  #hasOpened = false;
  #isInProgress = false;
  #hasContent = false;
  #hasEnded = false;
  /** Whether the present event has a number. */
  #isCounted = false;

  /** `place` stands in each event where its sequence number is written when it leaves. */
  constructor(frame: ResponseFrame, place: string, keep: Keep) {
    this.#frame = frame;
    this.#keep = keep;
    this.#place = place;
    this.#items = new PassedItems({
      own: (type, members) => this.#written(type, members),
      passed: (type, data, edits) => this.#counted(type, data, edits),
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

  pass(sent: SseEvent): string {
    if (this.#hasEnded) return "";
    const { event: name, data } = sent;
    const value = valueOfEvent(sent);
    const event = isObject(value) ? value : {};
    const type = typeof event["type"] === "string" ? event["type"] : name;
    this.#isCounted = typeof event["sequence_number"] === "number";
    if (OPENING.has(type) && !this.#hasOpened) {
      this.#open(type, data, event);
      return "";
    }
    this.#endOpening();
    return this.#passed(type, data, event);
  }

  /** The provider's own last event has come, because a stream without one is not complete. */
  end(): string {
    return "";
  }

  #open(type: string, data: string, event: JsonObject): void {
    if (type === "response.in_progress") this.#isInProgress = true;
    if (this.#opening === "" && type !== "response.created") this.#opening = this.#own("response.created");
    this.#opening += this.#withResponse(type, "in_progress", data, event);
  }

  /** Completes the events with which every stream begins. */
  #endOpening(): void {
    if (this.#hasOpened) return;
    this.#hasOpened = true;
    if (this.#opening === "") this.#opening = this.#own("response.created");
    if (!this.#isInProgress) this.#opening += this.#own("response.in_progress");
  }

  #passed(type: string, data: string, event: JsonObject): string {
    const status = TERMINAL.get(type);
    if (status !== undefined) {
      this.#hasEnded = true;
      return this.#terminal(type === "response.done" ? "response.completed" : type, status, data, event);
    }
    if (isObject(event["response"]))
      // a second beginning would begin a second response
      return type === "response.created" ? "" : this.#withResponse(type, "in_progress", data, event);
    if (type.endsWith(".delta") || type === "response.output_item.done") this.#hasContent = true;
    switch (type) {
      case "response.output_item.added":
        return this.#items.added(event, data);
      case "response.output_item.done":
        return this.#items.done(event, data);
      case "response.content_part.added":
      case "response.reasoning_summary_part.added":
        return this.#items.partAdded(type, event, data);
      case "response.content_part.done":
      case "response.reasoning_summary_part.done":
        return this.#items.partDone(type, event, data);
      case "response.output_text.annotation.added":
        return this.#items.annotation(type, event, data);
      default: {
        const form = formOfEvent(type);
        return form === null ? this.#items.other(type, event, data) : this.#items.piece(form, type, event, data);
      }
    }
  }

  /** The last event repeats the whole answer: what of it the client does not have comes before it. */
  #terminal(type: string, status: ResponseState["status"], data: string, event: JsonObject): string {
    const { response } = event;
    const sent = isObject(response) ? response : {};
    const { text, edits: outputEdits } = this.#items.ended(itemsIn(sent["output"]), status === "incomplete");
    const edits = [...responseEdits(sent, status, this.#frame), ...outputEdits];
    keepEdited(sent, edits, this.#keep);
    return text + this.#counted(type, data, [...typeEdits(event, type), ...inResponse(edits)]);
  }

  #withResponse(type: string, status: ResponseState["status"], data: string, event: JsonObject): string {
    const { response } = event;
    const edits = responseEdits(isObject(response) ? response : {}, status, this.#frame);
    return this.#counted(type, data, [...typeEdits(event, type), ...inResponse(edits)]);
  }

  #own(type: string): string {
    return this.#written(type, {
      response: responseObject(this.#frame, { status: "in_progress", output: [], usage: null }),
    });
  }

  #written(type: string, members: JsonObject): string {
    return this.#numbered(type, JSON.stringify({ type, ...members }), []);
  }

  /** Nearly every event has one number, which is found without a search for the members around it. */
  #counted(type: string, data: string, edits: readonly JsonEdit[]): string {
    if (!this.#isCounted) return this.#numbered(type, data, edits);
    const text = editedJson(data, edits);
    const found = NUMBER.exec(text);
    if (found === null) return this.#numbered(type, data, edits);
    const end = found.index + found[0].length;
    if (text.includes('"sequence_number"', end)) return this.#numbered(type, data, edits);
    return eventOf(type, `${text.slice(0, found.index)}"sequence_number":`, this.#place, text.slice(end));
  }

  #numbered(type: string, data: string, edits: readonly JsonEdit[]): string {
    const text = editedJson(data, [...edits, { path: ["sequence_number"], value: STAND_IN }]);
    const [before = "", after = ""] = text.split(String(STAND_IN));
    return eventOf(type, before, this.#place, after);
  }
}

/** Data of several lines has several fields. */
function eventOf(type: string, before: string, number: string, after: string): string {
  return `event: ${type}\ndata: ${withLines(before)}${number}${withLines(after)}\n\n`;
}

function withLines(text: string): string {
  return text.includes("\n") ? text.replaceAll("\n", "\ndata: ") : text;
}

/** The change of an event that goes by another name. */
function typeEdits(event: JsonObject, type: string): readonly JsonEdit[] {
  return event["type"] === type ? [] : [{ path: ["type"], value: type }];
}

function inResponse(edits: readonly JsonEdit[]): readonly JsonEdit[] {
  return edits.map(({ path, value }) => ({ path: ["response", ...path], value }));
}
