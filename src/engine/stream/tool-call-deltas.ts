// The tool calls of one choice of a stream: which call a delta continues, and its strict form: a dense index, id, type
// and name once, arguments as text (docs/clients.md, S9 to S11).
import type { ToolCallDelta } from "../../core/chat.ts";
import { isObject, isSet, isText, type Json, type JsonObject, jsonIn } from "../../core/json.ts";
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
  /** All arguments received, unless they had no room. */
  argumentText: string;
  isTooLong: boolean;
  /** Whether a piece of the arguments has repeated those before it. */
  repeats: boolean;
  /** The vendor's own members of the call, and of its function, that have not been sent yet. */
  unsent: JsonObject | undefined;
  unsentOfCalled: JsonObject | undefined;
}

/** The members of a call, and of its function or tool, that are not a vendor's own. */
export const CALL: ReadonlySet<string> = new Set(["index", "id", "type", "function", ANY_TEXT]);
export const CALLED: ReadonlySet<string> = new Set(["name", "arguments", "input"]);

/**
 * The number of calls is bounded, because each new delta is compared with the existing calls, and they are kept to the
 * end of the stream.
 */
const MAX_CALLS = 1024;
/** The most characters that are kept of all calls of a stream, whatever the number of its choices. */
const MAX_KEPT = 16 * 1024 * 1024;

/** What the calls of one stream keep together. */
export class CallRoom {
  readonly #left = { names: MAX_KEPT, arguments: MAX_KEPT };

  /**
   * Returns false, and takes nothing, where there is no room for so many characters of ids and names, or of arguments,
   * which are kept to check whether they are complete.
   */
  takes(characters: number, of: "names" | "arguments"): boolean {
    if (characters > this.#left[of]) return false;
    this.#left[of] -= characters;
    return true;
  }
}

/** Nothing can run such a call, and no client could send it back. */
export const NAMELESS_CALL = "The provider's answer has a tool call without a name.";
/** The most characters of a call's name or id; some servers put a signature in the id. */
const MAX_NAME = 65_536;

/**
 * Returns the call that a delta continues or begins; a new one is added to `calls`. It is found by its index, else by
 * its id, else it is the last one. Throws MalformedAnswer.
 */
export function callOf(calls: CallState[], delta: ToolCallDelta, room: CallRoom): CallState {
  const id = typeof delta.id === "string" && delta.id !== "" ? delta.id : null;
  const number = typeof delta.index === "number" && Number.isInteger(delta.index) ? delta.index : null;
  const known = number === null ? unnumberedCall(calls, delta, id) : numberedCall(calls, delta, number, id);
  if (known !== undefined) return known;
  if (calls.length >= MAX_CALLS)
    throw new MalformedAnswer(`The provider's answer has more than ${MAX_CALLS} tool calls.`);
  if (id !== null && (id.length > MAX_NAME || !room.takes(id.length, "names")))
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
    isTooLong: false,
    repeats: false,
    unsent: undefined,
    unsentOfCalled: undefined,
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

/** Whether a piece may repeat the arguments before it: it is as long, and begins with an object as they do. */
export function mayRepeat({ hasArguments, argumentText }: CallState, text: string): boolean {
  // the lengths first: the start of a text that has grown piece by piece is read only after the whole of it was copied
  return hasArguments && text.length >= argumentText.length && text.startsWith("{") && argumentText.startsWith("{");
}

/**
 * Returns what of a piece is new. Some servers send all arguments once more at the end, or those so far with each piece:
 * https://github.com/NousResearch/hermes-agent/pull/35718, https://github.com/decolua/9router/pull/2869. Valid JSON has no
 * object behind an object, a name, a string or an opening brace. Where a value may stand, a piece that begins like the
 * arguments is a value, unless an earlier piece has repeated them; and so is one that ends the first name of `{"`.
 */
function newText(call: CallState, text: string): string {
  const { argumentText: before } = call;
  if (!mayRepeat(call, text) || call.isTooLong || !text.startsWith(before)) return text;
  const rest = text.slice(before.length);
  if (!call.repeats && (/[:,[]\s*$/.test(before) || (/^\{\s*"$/.test(before) && /^\s*(?::|$)/.test(rest)))) return text;
  call.repeats = true;
  return rest;
}

/**
 * Records what a delta contains, except for the vendor's own members, and returns its new piece of arguments. Throws
 * MalformedAnswer.
 */
export function addDelta(call: CallState, delta: ToolCallDelta, room: CallRoom): string {
  const called = calledIn(delta);
  const sent = typeof called.text === "string" ? called.text : "";
  if (called.takesText) call.takesText = true;
  const text = call.takesText ? sent : newText(call, sent);
  if (call.name === "" && typeof called.name === "string") {
    if (called.name.length > MAX_NAME || !room.takes(called.name.length, "names"))
      throw new MalformedAnswer("The provider's answer has a tool call whose name is too long.");
    call.name = called.name;
  }
  if (text !== "") {
    call.hasArguments = true;
    if (!call.isTooLong && room.takes(text.length, "arguments")) call.argumentText += text;
    else call.isTooLong = true;
  }
  return text;
}

/**
 * Whether the call can be run: it has a name, and its arguments are one JSON text. Arguments that are too long to be
 * kept count as incomplete.
 */
export function isWholeCall({ name, argumentText, isTooLong, takesText }: CallState): boolean {
  if (takesText) return name !== "";
  if (name === "" || isTooLong) return false;
  return jsonIn(argumentText) !== undefined;
}

/**
 * Returns an id that no other call has. `used` holds the ids of the answer so far, and `position` is the place of the call
 * among those of its choice.
 */
export function uniqueCallId(preferred: string, position: number, used: Set<string>): string {
  let id = preferred;
  while (used.has(id)) id += `_${position}`;
  used.add(id);
  return id;
}

/** Keeps the vendor's own members of a delta until they are sent. */
export function keepOwnMembers(call: CallState, delta: ToolCallDelta): void {
  const { function: called, custom } = delta;
  call.unsent = withOwn(call.unsent, delta, CALL);
  call.unsentOfCalled = withOwn(call.unsentOfCalled, isObject(custom) ? custom : called, CALLED);
}

/** Returns what is unsent with the vendor's own members of an object, those that are not known. */
function withOwn(
  unsent: JsonObject | undefined,
  object: Json | undefined,
  known: ReadonlySet<string>,
): JsonObject | undefined {
  if (!hasOthers(object, known)) return unsent;
  const own = Object.entries(object as JsonObject).filter(([name, value]) => !known.has(name) && isSet(value));
  return { ...unsent, ...Object.fromEntries(own) };
}

/** Whether a delta has members of a vendor's own, or its function or tool has. */
export function hasOwnMembers(delta: ToolCallDelta): boolean {
  return hasOthers(delta, CALL) || hasOthers(delta.function, CALLED) || hasOthers(delta["custom"], CALLED);
}

function hasOthers(object: Json | undefined, known: ReadonlySet<string>): boolean {
  if (isObject(object)) for (const name in object) if (!known.has(name) && isSet(object[name])) return true;
  return false;
}

/** Whether a call has members that have to be sent with its next delta. */
export function hasUnsent({ unsent, unsentOfCalled }: CallState): boolean {
  return unsent !== undefined || unsentOfCalled !== undefined;
}

/** Returns the first delta of a call, with the arguments that came before its name. */
export function openingDelta(call: CallState, id: string): ToolCallDelta {
  const { index, name, held, takesText, unsent, unsentOfCalled } = call;
  call.held = "";
  call.unsent = call.unsentOfCalled = undefined;
  return takesText
    ? { index, id, type: ANY_TEXT, custom: { name, input: held, ...unsentOfCalled }, ...unsent }
    : { index, id, type: "function", function: { name, arguments: held, ...unsentOfCalled }, ...unsent };
}

export function argumentsDelta(call: CallState, text: string): ToolCallDelta {
  const { index, takesText, unsent, unsentOfCalled } = call;
  if (!hasUnsent(call)) return pieceOf(index, text, takesText);
  call.unsent = call.unsentOfCalled = undefined;
  return takesText
    ? { index, custom: { input: text, ...unsentOfCalled }, ...unsent }
    : { index, function: { arguments: text, ...unsentOfCalled }, ...unsent };
}
