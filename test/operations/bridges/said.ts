// The pieces of a turn of the model and of a conversation, and what a provider's form has to say of them in these tests.
import type { JsonObject } from "../../../src/core/json.ts";
import type { CannedAnswer } from "../../harness/in-process.ts";

/** A piece of a turn of the model. */
export type Said =
  | { readonly thinking: string; readonly signature?: string }
  | { readonly redacted: string }
  | { readonly text: string }
  | { readonly call: string; readonly name: string; readonly input: JsonObject };

/** A piece of a conversation. A `result` is that of the call with this id. */
export type Piece =
  | ({ readonly role: "assistant" } & Said)
  | { readonly role: "system" | "user"; readonly text: string }
  | { readonly role: "user"; readonly image: string }
  | { readonly role: "user"; readonly result: string; readonly text: string; readonly images?: readonly string[] };

export type End = "done" | "length" | "refusal";

/** `input` has all parts; `null` where the form has no word for a counter. */
export interface Counted {
  readonly input: number;
  readonly cached: number;
  readonly written: number | null;
  readonly output: number;
  readonly thinking: number | null;
}

export interface Vendor {
  readonly model: string;
  /** What its answers count. */
  readonly counted: Counted;
  readonly answer: (said: readonly Said[], end?: End) => CannedAnswer;
  readonly stream: (said: readonly Said[], end?: End) => CannedAnswer;
  /** What a request says, in order. */
  readonly heard: (body: any) => readonly Piece[];
}

const JSON_TYPE = { "content-type": "application/json" };
export const STREAM_TYPE = { "content-type": "text/event-stream" };
export const json = (body: object): CannedAnswer => ({ headers: JSON_TYPE, body: JSON.stringify(body) });

/** A text in pieces of three characters. */
export const pieces = (text: string): readonly string[] => text.match(/.{1,3}/gsu) ?? [];

export const isText = (one: Said): one is { readonly text: string } => "text" in one;

export const sseText = (events: readonly { readonly event?: string; readonly data: string }[]): string =>
  events.map(({ event, data }) => `${event === undefined ? "" : `event: ${event}\n`}data: ${data}\n\n`).join("");
