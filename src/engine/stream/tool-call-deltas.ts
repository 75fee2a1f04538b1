// The tool calls of one choice of a stream: which call a delta continues, and its strict form: a dense index, id, type
// and name once, arguments as text (docs/clients.md, S9 to S11).
import type { ToolCallDelta } from "../../core/chat.ts";
import { isObject, isText, type Json, type JsonObject, jsonIn } from "../../core/json.ts";
import { MalformedAnswer } from "../../providers/interface/upstream-failure.ts";

/** The type of calls of tools that take any text. */
export const ANY_TEXT = "custom";

export interface CallState {
  /** Assigned in the order of opening, so that a call whose name comes late or never leaves no gap; -1 before that. */
  index: number;
  /** The provider's own index of the call; `sourceId` is its id as it came. */
  readonly sourceIndex: number | null;
  readonly sourceId: string | null;
  name: string;
  /** Whether it calls a tool that takes any text, which is the call's arguments here. */
  takesText: boolean;
  /** Arguments that came before the name. */
  held: string;
  hasArguments: boolean;
  /** All arguments received, up to a bound. */
  argumentText: string;
  /** The vendor's own data that has not been sent yet. */
  extra: JsonObject | undefined;
}

/**
 * The number of calls is bounded, because each new delta is compared with the existing calls, and they are kept to the
 * end of the stream.
 */
const MAX_CALLS = 1024;
/** The most characters of a call's arguments that are kept to check whether they are complete. */
const MAX_KEPT_ARGUMENTS = 4 * 1024 * 1024;
/** Nothing can run such a call, and no client could send it back. */
export const NAMELESS_CALL = "The provider's answer has a tool call without a name.";
/** The most characters of a call's name or id; some servers put a signature in the id. */
const MAX_NAME = 65_536;

/**
 * Returns the call that a delta continues or begins; a new one is added to `calls`. It is found by its index, else by
 * its id, else it is the last one. Throws MalformedAnswer.
 */
export function callOf(calls: CallState[], delta: ToolCallDelta): CallState {
  const id = typeof delta.id === "string" && delta.id !== "" ? delta.id : null;
  const number = typeof delta.index === "number" && Number.isInteger(delta.index) ? delta.index : null;
  const known = number === null ? unnumberedCall(calls, delta, id) : numberedCall(calls, delta, number, id);
  if (known !== undefined) return known;
  if (calls.length >= MAX_CALLS)
    throw new MalformedAnswer(`The provider's answer has more than ${MAX_CALLS} tool calls.`);
  if (id !== null && id.length > MAX_NAME)
    throw new MalformedAnswer("The provider's answer has a tool call whose id is too long.");
  const call: CallState = {
    index: -1,
    sourceIndex: number,
    sourceId: id,
    name: "",
    takesText: false,
    held: "",
    hasArguments: false,
    argumentText: "",
    extra: undefined,
  };
  calls.push(call);
  return call;
}

/**
 * Finds a call by its index. Some servers give every call the index 0 and distinguish them by id alone; others give
 * each delta of one call an id of its own.
 */
function numberedCall(
  calls: readonly CallState[],
  delta: ToolCallDelta,
  number: number,
  id: string | null,
): CallState | undefined {
  const last = calls.findLast((call) => call.sourceIndex === number);
  if (last === undefined || id === null || last.sourceId === null) return last;
  const known = calls.findLast((call) => call.sourceIndex === number && call.sourceId === id);
  if (known !== undefined) return hasOtherName(delta, known) ? undefined : known;
  return namesAnother(delta, last) ? undefined : last;
}

function unnumberedCall(calls: readonly CallState[], delta: ToolCallDelta, id: string | null): CallState | undefined {
  if (id === null) return namesAnother(delta, calls.at(-1)) ? undefined : calls.at(-1);
  const known = calls.findLast((call) => call.sourceId === id);
  return known !== undefined && hasOtherName(delta, known) ? undefined : known;
}

/** Whether the call has its name, and is part of the strict stream. */
export function isOpened(call: CallState): boolean {
  return call.index >= 0;
}

/** Whether the delta begins a call although its id is that of another: some servers give two tools' calls one id. */
function hasOtherName(delta: ToolCallDelta, { name }: CallState): boolean {
  const { name: called } = calledIn(delta);
  return isText(called) && name !== "" && called !== name;
}

/**
 * Whether the delta begins a call, where no id says so: it has a name, and does not only repeat that of the open call,
 * which has no arguments yet.
 */
function namesAnother(delta: ToolCallDelta, open: CallState | undefined): boolean {
  if (open === undefined) return false;
  return hasOtherName(delta, open) || (open.hasArguments && open.name !== "" && calledIn(delta).name === open.name);
}

/** What a delta says of its call. `text` is that of the arguments, or the input of a tool that takes any text. */
export function calledIn({ function: called, custom }: ToolCallDelta): {
  readonly name: Json | undefined;
  readonly text: Json | undefined;
  readonly takesText: boolean;
} {
  if (isObject(custom)) return { name: custom["name"], text: custom["input"], takesText: true };
  return isObject(called)
    ? { name: called["name"], text: called["arguments"], takesText: false }
    : { name: undefined, text: undefined, takesText: false };
}

/** Returns a delta with a piece of the call's text. */
export function pieceOf(index: number, text: string, takesText: boolean): ToolCallDelta {
  return takesText ? { index, custom: { input: text } } : { index, function: { arguments: text } };
}

/** Records what a delta contains, and returns its piece of arguments. Throws MalformedAnswer. */
export function addDelta(call: CallState, delta: ToolCallDelta): string {
  const called = calledIn(delta);
  const text = typeof called.text === "string" ? called.text : "";
  if (called.takesText) call.takesText = true;
  if (delta.extra_content !== undefined && delta.extra_content !== null) call.extra = delta.extra_content;
  if (call.name === "" && typeof called.name === "string") {
    if (called.name.length > MAX_NAME)
      throw new MalformedAnswer("The provider's answer has a tool call whose name is too long.");
    call.name = called.name;
  }
  if (text !== "") {
    call.hasArguments = true;
    if (call.argumentText.length <= MAX_KEPT_ARGUMENTS) call.argumentText += text;
  }
  return text;
}

/**
 * Whether the call can be run: it has a name, and its arguments are one JSON text. Arguments that are too long to be
 * kept count as incomplete.
 */
export function isWholeCall({ name, argumentText, takesText }: CallState): boolean {
  if (takesText) return name !== "";
  if (name === "" || argumentText.length > MAX_KEPT_ARGUMENTS) return false;
  return jsonIn(argumentText) !== undefined;
}

/** `used` holds the ids of the stream so far, because no two calls may share one. */
export function uniqueCallId(call: CallState, fallbackId: string, used: Set<string>): string {
  const preferred = call.sourceId ?? fallbackId;
  const id = used.has(preferred) ? `${preferred}_${fallbackId}` : preferred;
  used.add(id);
  return id;
}

/** Returns the first delta of a call, with the arguments that came before its name. */
export function openingDelta(call: CallState, id: string): ToolCallDelta {
  const { index, name, held, takesText } = call;
  call.held = "";
  return takesText
    ? { index, id, type: ANY_TEXT, custom: { name, input: held }, ...unsentExtra(call) }
    : { index, id, type: "function", function: { name, arguments: held }, ...unsentExtra(call) };
}

export function argumentsDelta(call: CallState, text: string): ToolCallDelta {
  const piece = pieceOf(call.index, text, call.takesText);
  return call.extra === undefined ? piece : { ...piece, ...unsentExtra(call) };
}

function unsentExtra(call: CallState): Pick<ToolCallDelta, "extra_content"> {
  const { extra } = call;
  call.extra = undefined;
  return extra === undefined ? {} : { extra_content: extra };
}
