// Answers and streams of providers that speak the Responses API themselves: they pass with the client's own word for the
// model and the gateway's id, and with what the API requires where a compatible server has left it out.
// https://platform.openai.com/docs/api-reference/responses-streaming
import type { NativeEvents } from "../../chat/answer-form.ts";
import { isObject, type Json, type JsonObject } from "../../core/json.ts";
import type { JsonEdit } from "../../core/json-edit.ts";
import { editedJson } from "../../wire/json-edit.ts";
import { parseJson } from "../../wire/json.ts";
import type { SseEvent } from "../../wire/sse.ts";
import { type ResponseFrame, responseObject, type ResponseState } from "./response-object.ts";

/** Returns the text of a body as the client gets it. */
export function passedResponse(text: string, frame: ResponseFrame, keep: Keep): string {
  const parsed = parseJson(text);
  const sent = isObject(parsed) ? parsed : {};
  const edits = responseEdits(sent, "completed", frame);
  keepEdited(sent, edits, keep);
  return editedJson(text, edits);
}

/** Called with a response that is kept; `null` where none is. */
type Keep = ((response: JsonObject) => void) | null;

function keepEdited(sent: JsonObject, edits: readonly JsonEdit[], keep: Keep): void {
  if (keep === null) return;
  const edited = new Map(edits.map(({ path, value }) => [String(path[0]), value]));
  const response: JsonObject = { ...sent, ...Object.fromEntries(edited) };
  if ((response["status"] === "completed" || response["status"] === "incomplete") && Array.isArray(response["output"]))
    keep(response);
}

/**
 * The id is the gateway's, because that of the vendor means nothing here: the answer is not stored there, or only for
 * the gateway's account.
 */
function responseEdits(sent: JsonObject, status: ResponseState["status"], frame: ResponseFrame): JsonEdit[] {
  const { model, repeated } = frame.memo;
  const edits: JsonEdit[] = [
    { path: ["id"], value: frame.id },
    // a request that names only a route has no word for it
    ...(model === "" && sent["model"] !== undefined ? [] : [{ path: ["model"], value: model }]),
  ];
  // what the gateway does itself is not what its request to the provider said
  for (const name of ["background", "previous_response_id"])
    if (sent[name] !== repeated[name]) edits.push({ path: [name], value: repeated[name] ?? null });
  const whole = responseObject(frame, { status, output: [], usage: null });
  for (const [name, value] of Object.entries(whole)) if (sent[name] === undefined) edits.push({ path: [name], value });
  return edits;
}

/** Stands for a sequence number until the place of the number is written. */
const STAND_IN = 8_111_111_111_111_113;

const OPENING: ReadonlySet<string> = new Set(["response.created", "response.queued", "response.in_progress"]);
const TERMINAL: ReadonlyMap<string, ResponseState["status"]> = new Map([
  ["response.completed", "completed"],
  ["response.incomplete", "incomplete"],
  // some servers end with this event of another API
  ["response.done", "completed"],
]);
/** The parts of a message that grow, by the event that brings a piece. */
const PARTS: ReadonlyMap<string, JsonObject> = new Map<string, JsonObject>([
  ["response.output_text.delta", { type: "output_text", text: "", annotations: [], logprobs: [] }],
  ["response.refusal.delta", { type: "refusal", refusal: "" }],
]);

export class NativeResponseEvents implements NativeEvents {
  readonly #frame: ResponseFrame;
  readonly #place: string;
  readonly #keep: Keep;
  /** The items that have ended. */
  readonly shown: JsonObject[] = [];
  /** The items that have begun, by their index in the output. */
  readonly #begun = new Set<Json | undefined>();
  /** The parts that have begun, by the index of their item and their own. */
  readonly #parts = new Set<string>();
  #opening = "";
  #hasOpened = false;
  #isInProgress = false;
  #hasContent = false;
  #hasEnded = false;

  /** `place` stands in each event where its sequence number is written when it leaves. */
  constructor(frame: ResponseFrame, place: string, keep: Keep) {
    this.#frame = frame;
    this.#keep = keep;
    this.#place = place;
  }

  get opening(): string {
    return this.#opening;
  }
  get hasContent(): boolean {
    return this.#hasContent;
  }

  pass({ event: name, data }: SseEvent): string {
    if (this.#hasEnded) return "";
    const value = parseJson(data);
    const event = isObject(value) ? value : {};
    const type = typeof event["type"] === "string" ? event["type"] : name;
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
      return this.#withResponse(type === "response.done" ? "response.completed" : type, status, data, event);
    }
    if (isObject(event["response"])) return this.#withResponse(type, "in_progress", data, event);
    const { item, output_index: index } = event;
    switch (type) {
      case "response.output_item.added":
        this.#begun.add(index);
        return this.#numbered(type, data, itemEdits(item, ["item"]));
      case "response.output_item.done":
        if (isObject(item)) this.shown.push(item);
        this.#hasContent = true;
        return this.#numbered(type, data, []);
      case "response.content_part.added":
        this.#parts.add(JSON.stringify([index, event["content_index"]]));
        return this.#begin(event, null) + this.#numbered(type, data, []);
      default:
        if (type.endsWith(".delta")) this.#hasContent = true;
        return this.#begin(event, PARTS.get(type) ?? null) + this.#counted(type, data, event);
    }
  }

  /** Returns the beginning of a message and of its part, whose provider has left them out. */
  #begin({ output_index: index, content_index: at, item_id: id }: JsonObject, part: JsonObject | null): string {
    let text = "";
    if (part === null || typeof index !== "number") return text;
    if (!this.#begun.has(index)) {
      this.#begun.add(index);
      const item = { id: id ?? null, type: "message", status: "in_progress", role: "assistant", content: [] };
      text += this.#written("response.output_item.added", { output_index: index, item });
    }
    const place = JSON.stringify([index, at]);
    if (this.#parts.has(place)) return text;
    this.#parts.add(place);
    const members = { item_id: id ?? null, output_index: index, content_index: at ?? 0, part };
    return text + this.#written("response.content_part.added", members);
  }

  #withResponse(type: string, status: ResponseState["status"], data: string, { response }: JsonObject): string {
    const sent = isObject(response) ? response : {};
    const edits = responseEdits(sent, status, this.#frame);
    const output = sent["output"];
    if (status !== "in_progress" && !(Array.isArray(output) && output.length > 0))
      edits.push({ path: ["output"], value: this.shown });
    if (status !== "in_progress") keepEdited(sent, edits, this.#keep);
    return this.#numbered(type, data, [
      { path: ["type"], value: type },
      ...edits.map(({ path, value }) => ({ path: ["response", ...path], value })),
    ]);
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
  #counted(type: string, data: string, { sequence_number: number }: JsonObject): string {
    if (typeof number !== "number" || data.includes("\n")) return this.#numbered(type, data, []);
    const member = `"sequence_number":${number}`;
    const at = data.indexOf(member);
    const end = at + member.length;
    // the digits may go on, as in another spelling of the number
    const isOnly = at >= 0 && ",}".includes(data.charAt(end)) && !data.includes('"sequence_number"', end);
    if (!isOnly) return this.#numbered(type, data, []);
    return `event: ${type}\ndata: ${data.slice(0, end - String(number).length)}${this.#place}${data.slice(end)}\n\n`;
  }

  #numbered(type: string, data: string, edits: readonly JsonEdit[]): string {
    const text = editedJson(data, [...edits, { path: ["sequence_number"], value: STAND_IN }]);
    return `event: ${type}\ndata: ${text.replace(String(STAND_IN), this.#place).replaceAll("\n", "\ndata: ")}\n\n`;
  }
}

/** Returns what an item has to have when it begins. */
function itemEdits(item: Json | undefined, path: readonly string[]): JsonEdit[] {
  const { type, content, summary } = isObject(item) ? item : {};
  if (type === "message" && content === undefined) return [{ path: [...path, "content"], value: [] }];
  return type === "reasoning" && summary === undefined ? [{ path: [...path, "summary"], value: [] }] : [];
}
