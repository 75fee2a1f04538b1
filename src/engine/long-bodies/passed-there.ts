// Long non-streaming answers of targets that speak the operation of the call, as the thread of long bodies reads them:
// their figures, what the form of the operation needs to know to complete them, and the text that the client receives.
import { isObject, type Json, type JsonObject } from "../../core/json.ts";
import { type JsonEdit, withEdits } from "../../core/json-edit.ts";
import { setMember } from "../../core/json-object.ts";
import { decodeUtf8 } from "../../wire/body-bytes.ts";
import { editedJson } from "../../wire/json-edit.ts";
import { parseJson } from "../../wire/json.ts";
import { answerWithoutKeys } from "../answer/answer-keys.ts";
import type { PassedBytes } from "../answer/passed-body.ts";
import { keptAnswer } from "../content/kept-answer.ts";
import { type PackedJson, packJson } from "./long-texts.ts";
import { type AnswerQuestion, readAnswers, type ReadAnswer, readerOf } from "./written-answer.ts";

export interface PassedAnswer extends ReadAnswer {
  readonly passed: PassedBytes;
}

export interface EditQuestion {
  readonly bytes: Uint8Array;
  readonly edits: readonly JsonEdit[];
  /** The changes of what the client gets, and not of the value. */
  readonly hiding: readonly JsonEdit[];
  /** The operation keeps the answer, and needs its value. */
  readonly asValue: boolean;
}

export interface EditedBytes {
  readonly bytes: Uint8Array;
  readonly packed: PackedJson | null;
}

/** Throws StreamError or MalformedAnswer. */
export function passedThere(question: AnswerQuestion): PassedAnswer {
  const [{ bytes, decode }] = question.answers as readonly [AnswerQuestion["answers"][number]];
  const { answer, read } = readAnswers(question, readerOf(question, decode));
  const text = answerWithoutKeys(decodeUtf8(bytes), question.credential);
  const kept = question.keeps === null ? null : JSON.stringify(keptAnswer(answer.body, question.keeps));
  return {
    ...read,
    passed: { bytes: new TextEncoder().encode(text), outline: outlineOf(parseJson(text)), kept },
  };
}

export function editedThere({ bytes, edits, hiding, asValue }: EditQuestion): EditedBytes {
  const text = decodeUtf8(bytes);
  const packed = asValue ? packJson(withEdits(parseJson(text) as JsonObject, edits)) : null;
  return { bytes: new TextEncoder().encode(editedJson(text, [...edits, ...hiding])), packed };
}

/** Lists that a form completes item by item. All other lists are empty in an outline. */
const LISTS: ReadonlySet<string> = new Set(["output", "content"]);
const MAX_TEXT = 256;
const MAX_LEVELS = 6;

/** Returns an answer with the members that a form looks at, and without long texts. */
function outlineOf(answer: Json): JsonObject {
  return isObject(answer) ? (outlined(answer, "", 1) as JsonObject) : {};
}

function outlined(value: Json, name: string, level: number): Json {
  // a form makes a list of parts of a content that is one text
  if (typeof value === "string") return name === "content" ? value : value.slice(0, MAX_TEXT);
  if (typeof value !== "object" || value === null) return value;
  if (Array.isArray(value))
    return LISTS.has(name) ? (value as readonly Json[]).map((item) => outlined(item, "", level + 1)) : [];
  const holder: Record<string, Json> = {};
  if (!isObject(value) || level > MAX_LEVELS) return holder;
  for (const member in value)
    if (value[member] !== undefined) setMember(holder, member, outlined(value[member], member, level + 1));
  return holder;
}
