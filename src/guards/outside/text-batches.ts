// Divides the texts of a question among the requests to a service.
import { isHighSurrogate } from "../../core/text/surrogates.ts";
import type { ServiceForm } from "../../providers/interface/judging-form.ts";

/** A part of a text: all of it, or as much as one request takes. */
export interface Part {
  /** The index of the text, and where the part begins in it. */
  readonly text: number;
  readonly offset: number;
  /** Half of a surrogate pair, which many services refuse, is U+FFFD here. */
  readonly part: string;
}

/** What two parts of a text that is too long for one request have in common, in characters. */
const OVERLAP = 256;

/** Divides the texts among requests. */
export function batchesOf(
  texts: readonly string[],
  { maxTexts, maxCharacters }: Pick<ServiceForm<never>, "maxTexts" | "maxCharacters">,
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
    parts.push({ text: index, offset, part: text.slice(offset, end).toWellFormed() });
    if (end === text.length) return parts;
    offset = Math.max(offset + 1, end - OVERLAP);
    if (isHighSurrogate(text.charCodeAt(offset - 1))) offset -= 1;
  }
}
