// How a service is asked for its judgement of texts: pure translation, as for providers. What a service finds are
// stretches of the texts, or whole texts where it names no stretch.
import type { GuardPlace, GuardService } from "../../core/configured/outside-guard.ts";
import type { Json } from "../../core/json.ts";
import type { UpstreamRequest } from "../../wire/upstream.ts";

export interface ServiceQuestion {
  readonly texts: readonly string[];
  readonly place: GuardPlace;
  /** The name of the policy. */
  readonly policy: string;
}

export interface ServiceFinding {
  /** The index of the text; `null` for all texts of the request. */
  readonly text: number | null;
  /** In UTF-16 units; `null` for the whole text. */
  readonly span: { readonly start: number; readonly end: number } | null;
  /** The service's own name for what it found, for the record. */
  readonly label: string;
}

export interface ServiceForm {
  /** The page that describes the request and its answer. */
  readonly docs: string;
  /** The most texts of one request, and the most characters of all of them. A longer text is sent in overlapping parts. */
  readonly maxTexts: number;
  readonly maxCharacters: number;
  encode(question: ServiceQuestion, service: GuardService): UpstreamRequest;
  /** `answer` is the body of an answer with a status of success. Throws NonsenseAnswer. */
  decode(answer: Json, texts: readonly string[], service: GuardService): readonly ServiceFinding[];
}

/** An answer that is none. The message completes "the service's answer". */
export class NonsenseAnswer extends Error {}

/** A part of a text: all of it, or as much as one request takes. */
export interface Part {
  /** The index of the text, and where the part begins in it. */
  readonly text: number;
  readonly offset: number;
  readonly part: string;
}

/** What two parts of a text that is too long for one request have in common, in characters. */
const OVERLAP = 256;

/** Divides the texts among requests. */
export function batchesOf(
  texts: readonly string[],
  { maxTexts, maxCharacters }: Pick<ServiceForm, "maxTexts" | "maxCharacters">,
): readonly (readonly Part[])[] {
  const batches: Part[][] = [];
  let characters = 0;
  for (const part of texts.flatMap((text, index) => partsOf(text, index, maxCharacters))) {
    const last = batches.at(-1);
    if (last === undefined || last.length >= maxTexts || characters + part.part.length > maxCharacters) {
      batches.push([part]);
      characters = part.part.length;
    } else {
      last.push(part);
      characters += part.part.length;
    }
  }
  return batches;
}

function partsOf(text: string, index: number, max: number): readonly Part[] {
  const parts: Part[] = [];
  for (let offset = 0; ;) {
    let end = Math.min(text.length, offset + max);
    if (end < text.length && isHighSurrogate(text.charCodeAt(end - 1))) end -= 1;
    parts.push({ text: index, offset, part: text.slice(offset, end) });
    if (end === text.length) return parts;
    offset = Math.max(offset + 1, end - OVERLAP);
    if (isHighSurrogate(text.charCodeAt(offset - 1))) offset -= 1;
  }
}

function isHighSurrogate(code: number): boolean {
  return code >= 0xd800 && code <= 0xdbff;
}

/**
 * Returns the span of UTF-16 units for one of Unicode code points, as most services count. Throws NonsenseAnswer for
 * one that is not in the text, or empty.
 */
export function spanOfCodePoints(text: string, start: unknown, end: unknown): { start: number; end: number } {
  if (!isPlace(start) || !isPlace(end) || start >= end)
    throw new NonsenseAnswer("has a finding whose start and end are not whole numbers in their order");
  const units = [start, end].map((points) => unitsOf(text, points));
  if (units.includes(-1)) throw new NonsenseAnswer("has a finding outside of its text");
  return { start: units[0]!, end: units[1]! };
}

function isPlace(value: unknown): value is number {
  return typeof value === "number" && Number.isSafeInteger(value) && value >= 0;
}

/** Returns -1 for a place behind the end. */
function unitsOf(text: string, points: number): number {
  let units = 0;
  for (let left = points; left > 0; left--) {
    const code = text.codePointAt(units);
    if (code === undefined) return -1;
    units += code > 0xffff ? 2 : 1;
  }
  return units;
}

const LABEL = /^[\x20-\x7e]{1,64}$/;

/** The label as it is recorded; a text that could hold more than a name becomes `other`. */
export function labelOf(value: unknown): string {
  return typeof value === "string" && LABEL.test(value) ? value : "other";
}

export function jsonRequest(url: string, headers: Readonly<Record<string, string>>, body: unknown): UpstreamRequest {
  return {
    url,
    headers: { accept: "application/json", ...headers, "content-type": "application/json" },
    body: JSON.stringify(body),
  };
}
