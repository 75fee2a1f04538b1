// The size of what is kept of a call: notes in the place of files, and texts that end where there is no more room. What is cut before it is redacted keeps a margin
// that is cut off afterwards, so that no part of a secret stands at a cut.
import { isObject, type Json, type JsonObject } from "../core/json.ts";
import type { Message } from "../core/chat.ts";

/** The longest secret that is looked for. */
export const MARGIN = 16_384;
/** Behind a text that was cut with its margin. */
export const CUT = "\uFFFE\uFFFF";

const DATA_URI = /data:([\w.+-]+\/[\w.+-]+)?((?:;[\w.+-]+=[^;,\s"']*)*);base64,([A-Za-z0-9+/=_-]{16,})/g;
const BYTES_OF: ReadonlySet<string> = new Set(["file_data", "data"]);

export function withoutFiles(messages: readonly Message[]): readonly Message[] {
  return messages.map((message) => noted(message as unknown as Json, "", {}) as unknown as Message);
}

function noted(value: Json, name: string, owner: JsonObject): Json {
  if (typeof value === "string") return notedText(value, name, owner);
  if (Array.isArray(value)) return (value as readonly Json[]).map((one) => noted(one, name, owner));
  if (!isObject(value)) return value;
  return Object.fromEntries(Object.entries(value).flatMap(([key, member]) => (member === undefined ? [] : [[key, noted(member, key, value)] as const])));
}

function notedText(text: string, name: string, owner: JsonObject): string {
  // a pattern over megabytes takes its time: an address of data as a whole is known by its beginning
  if (text.startsWith("data:")) return note(/^data:([^;,]{0,100})/.exec(text)?.[1] ?? "", text.length - text.indexOf(",") - 1);
  if (BYTES_OF.has(name) && owner["type"] !== "text" && text.length > 64) return note(typeof owner["format"] === "string" ? owner["format"] : "file", text.length);
  // what stands behind an address often lets in whoever has it
  if (name === "url" || name === "file_uri") return text.replace(/[?#].*$/s, "?[left out]");
  return text.includes(";base64,") ? text.replaceAll(DATA_URI, (_, type: string | undefined, _parameters, data: string) => note(type ?? "", data.length)) : text;
}

function note(type: string, base64Length: number): string {
  return `[${type === "" ? "file" : type}, ${Math.floor((base64Length * 3) / 4)} bytes]`;
}

export interface Room {
  /** Characters; below 0: something did not fit. */
  left: number;
}

/** The last of them that fit; the first of these is cut. */
export function cutList(messages: readonly Message[], room: Room, margin: number): { readonly kept: readonly Message[]; readonly leftOut: number; readonly isCut: boolean } {
  const kept: Message[] = [];
  let isCut = false;
  for (let index = messages.length - 1; index >= 0 && room.left > 0; index--) {
    kept.push(cut(messages[index] as unknown as Json, room, margin) as unknown as Message);
    isCut ||= room.left < 0;
  }
  return { kept: kept.toReversed(), leftOut: messages.length - kept.length, isCut };
}

function cut(value: Json, room: Room, margin: number): Json {
  if (typeof value === "string") return cutText(value, room, margin);
  if (Array.isArray(value)) return (value as readonly Json[]).map((one) => cut(one, room, margin));
  if (!isObject(value)) return value;
  return Object.fromEntries(Object.entries(value).map(([name, member]) => [name, member === undefined ? null : cut(member, room, margin)]));
}

function cutText(given: string, room: Room, margin: number): string {
  const wasCut = given.endsWith(CUT);
  const text = wasCut ? given.slice(0, Math.max(0, given.length - CUT.length - MARGIN)) : given;
  if (text.length <= room.left) {
    room.left = wasCut ? -1 : room.left - text.length;
    return wasCut ? `${text}…` : text;
  }
  const most = Math.max(0, room.left);
  const isFirst = room.left >= 0;
  room.left = -1;
  if (margin > 0) return isFirst ? text.slice(0, most + margin) + (text.length > most + margin ? CUT : "") : "";
  return isFirst ? `${text.slice(0, most).replace(/[\uD800-\uDBFF]$/, "")}…` : "";
}
