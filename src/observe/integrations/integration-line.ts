// The line of text in which a call goes from the serving thread to the threads that deliver its record. JSON text
// contains neither tabs nor line breaks, so these separate its parts.
import type { CallContent } from "../../core/configured/content.ts";
import { parseCallRecord } from "../../wire/json/record-json.ts";
import type { RecordedCall } from "./sink.ts";

export type LineKind = "end" | "start" | "chunk";
const LETTERS = { end: "e", start: "s", chunk: "c" } as const;
const KINDS = new Map<string, LineKind>(Object.entries(LETTERS).map(([kind, letter]) => [letter, kind as LineKind]));

/** `mask` has a bit for each integration of the receiving thread. */
export function lineOf(kind: LineKind, mask: number, json: string, contentJson: string | null): string {
  return contentJson === null ? `${LETTERS[kind]}${mask}\t${json}` : `${LETTERS[kind]}${mask}\t${json}\t${contentJson}`;
}

export interface ReceivedLine {
  readonly kind: LineKind;
  readonly mask: number;
  /** The JSON text of the value, followed by that of the content if there is one. */
  readonly text: string;
}

export function readLine(line: string): ReceivedLine {
  const tab = line.indexOf("\t");
  return { kind: KINDS.get(line[0]!)!, mask: Number(line.slice(1, tab)), text: line.slice(tab + 1) };
}

export function recordedCall(text: string): RecordedCall {
  const tab = text.indexOf("\t");
  if (tab < 0) return { record: parseCallRecord(text), content: null };
  return {
    record: parseCallRecord(text.slice(0, tab)),
    content: JSON.parse(text.slice(tab + 1)) as CallContent,
  };
}
