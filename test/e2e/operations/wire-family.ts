// What a scripted provider can answer in one vendor's form, and functions with which all forms are written.
import type { ScriptedAnswer, ScriptedFailure } from "./scripted-answers.ts";

export interface WireFamily {
  whole(answer: ScriptedAnswer, request: Readonly<Record<string, any>>): object;
  /** The events; of the content alone when the script goes on with something else than the end. */
  stream(answer: ScriptedAnswer, request: Readonly<Record<string, any>>): string | Uint8Array;
  /** Of a stream; server-sent events unless it is said. */
  readonly contentType?: string;
  /** The event of an error in the middle of a stream. */
  readonly errorEvent: string | Uint8Array;
  readonly failures: Readonly<Record<ScriptedFailure, WireFailure>>;
}
export interface WireFailure {
  readonly status: number;
  readonly body: object;
  readonly headers: Readonly<Record<string, string>>;
}

export const joined = (pieces: readonly string[] | undefined): string => (pieces ?? []).join("");
export const told = (status: number, body: object, headers: Readonly<Record<string, string>> = {}): WireFailure => ({
  status,
  body,
  headers,
});
export const data = (value: object): string => `data: ${JSON.stringify(value)}\n\n`;
