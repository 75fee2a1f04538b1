// Vendor fields at the top level of a stream's chunks, such as `system_fingerprint`. They are sent with the next event,
// and wait when their chunk yields none.
import type { ChatChunk } from "../../core/chat.ts";
import { isVendorField } from "../answer/strict-fields.ts";

/** The most fields that wait or are cached, whatever a provider sends. */
const MAX_FIELDS = 32;
/** In characters of JSON. A longer field is sent with the event of its own chunk, or not at all. */
const MAX_WAITING = 262_144;
const MAX_REMEMBERED = 4096;

export class VendorFields {
  /** The last JSON of each field, because most of these fields have the same value on every chunk. */
  readonly #repeated = new Map<string, { readonly value: unknown; readonly json: string }>();
  /** The fields of chunks that yielded no event; the last value of each name. */
  #waiting: Map<string, string> | null = null;
  #next = "";

  /** Whether the next event gets fields of earlier chunks. */
  get areWaiting(): boolean {
    return this.#waiting !== null;
  }

  /** Takes the fields of a chunk for the next event. */
  take(chunk: ChatChunk): void {
    let members = "";
    for (const name in chunk) {
      const value = chunk[name];
      if (!isVendorField(name, value)) continue;
      if (this.#waiting === null) members += this.#member(name, value);
      else this.#wait(this.#waiting, name, value);
    }
    this.#next = this.#waiting === null ? members : joined(this.#waiting);
  }

  /** Returns the fields for an event, as further members of its object; they are sent once. */
  use(): string {
    const members = this.#next;
    this.#next = "";
    return members;
  }

  /** Called after a chunk: fields that no event has used wait. */
  keep(chunk: ChatChunk): void {
    if (this.#next === "") {
      this.#waiting = null;
      return;
    }
    this.#next = "";
    this.#waiting ??= new Map();
    for (const name in chunk) if (isVendorField(name, chunk[name])) this.#wait(this.#waiting, name, chunk[name]);
  }

  /** Called before the last events, which get the fields that still wait. */
  takeWaiting(): void {
    this.#next = this.#waiting === null ? "" : joined(this.#waiting);
  }

  #wait(waiting: Map<string, string>, name: string, value: unknown): void {
    const json = JSON.stringify(value);
    if (name.length + json.length <= MAX_WAITING && (waiting.size < MAX_FIELDS || waiting.has(name)))
      waiting.set(name, json);
  }

  #member(name: string, value: unknown): string {
    const known = this.#repeated.get(name);
    if (known !== undefined && known.value === value) return known.json;
    const json = `,${JSON.stringify(name)}:${JSON.stringify(value)}`;
    if (
      typeof value === "string" &&
      json.length <= MAX_REMEMBERED &&
      (known !== undefined || this.#repeated.size < MAX_FIELDS)
    )
      this.#repeated.set(name, { value, json });
    return json;
  }
}

function joined(fields: ReadonlyMap<string, string>): string {
  let members = "";
  for (const [name, json] of fields) members += `,${JSON.stringify(name)}:${json}`;
  return members;
}
