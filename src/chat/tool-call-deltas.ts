// The tool calls of one choice of a stream: which call a delta continues, and its form on the client's wire: dense index, id, type and name once,
// arguments as text, `{}` where there were none (research on clients, S9 to S11).
import type { ToolCallDelta } from "../core/chat.ts";
import { isObject, type Json } from "../core/json.ts";
import { strictCallId } from "./strict-fields.ts";

export interface CallState {
  readonly index: number;
  /** The provider's own number of the call, and its id as it came. */
  readonly sourceIndex: number | null;
  readonly sourceId: string | null;
  name: string;
  /** Arguments that came before the name did. */
  held: string;
  opened: boolean;
  hasArguments: boolean;
  extra: Json | undefined;
}

/** Gives the call that a delta continues or begins; a new one is added to `calls`. By its number, else by its id, else the last one. */
export function callOf(calls: CallState[], delta: ToolCallDelta): CallState {
  const id = typeof delta.id === "string" && delta.id !== "" ? delta.id : null;
  const number = typeof delta.index === "number" && Number.isInteger(delta.index) ? delta.index : null;
  const known = knownCall(calls, delta, number, id);
  // some servers number every call 0 and tell them apart by id alone
  const isAnother = known !== undefined && id !== null && known.sourceId !== null && known.sourceId !== id && namesAnother(delta, known);
  if (known !== undefined && !isAnother) return known;
  const sameId = isAnother ? calls.find((call) => call.sourceId === id) : undefined;
  if (sameId !== undefined) return sameId;
  const call: CallState = { index: calls.length, sourceIndex: known === undefined ? number : null, sourceId: id, name: "", held: "", opened: false, hasArguments: false, extra: undefined };
  calls.push(call);
  return call;
}

function knownCall(calls: readonly CallState[], delta: ToolCallDelta, number: number | null, id: string | null): CallState | undefined {
  if (number !== null) return calls.find((call) => call.sourceIndex === number);
  if (id !== null) return calls.find((call) => call.sourceId === id);
  const last = calls.at(-1);
  return namesAnother(delta, last) ? undefined : last;
}

/** A delta without number and id that brings a name begins a call, unless it only repeats the name of the one that is open without arguments. */
function namesAnother(delta: ToolCallDelta, open: CallState | undefined): boolean {
  const name = delta.function?.name;
  return typeof name === "string" && name !== "" && open !== undefined && open.name !== "" && (open.hasArguments || open.name !== name);
}

/** Notes what a delta says; gives its piece of arguments. */
export function takeDelta(call: CallState, delta: ToolCallDelta): string {
  const said = isObject(delta.function) ? delta.function : {};
  const text = typeof said["arguments"] === "string" ? said["arguments"] : "";
  if (delta.extra_content !== undefined && delta.extra_content !== null) call.extra = delta.extra_content as Json;
  if (call.name === "" && typeof said["name"] === "string") call.name = said["name"];
  if (text !== "") call.hasArguments = true;
  return text;
}

/** The first delta of a call. `taken` holds the ids of the stream so far: no two calls share one. */
export function openingDelta(call: CallState, fallbackId: string, taken: Set<string>): string {
  const wanted = call.sourceId === null ? fallbackId : strictCallId(call.sourceId);
  const id = taken.has(wanted) ? strictCallId(`${wanted}_${fallbackId}`) : wanted;
  taken.add(id);
  return `{"tool_calls":[{"index":${call.index},"id":${JSON.stringify(id)},"type":"function","function":{"name":${JSON.stringify(call.name)},"arguments":${JSON.stringify(call.held)}}${extraContent(call)}}]}`;
}

export function argumentsDelta(call: CallState, text: string): string {
  return `{"tool_calls":[{"index":${call.index},"function":{"arguments":${JSON.stringify(text)}}${extraContent(call)}}]}`;
}

/** The deprecated form, which has room for one call. */
export function legacyOpeningDelta(call: CallState): string {
  return `{"function_call":{"name":${JSON.stringify(call.name)},"arguments":${JSON.stringify(call.held)}}}`;
}

export function legacyArgumentsDelta(text: string): string {
  return `{"function_call":{"arguments":${JSON.stringify(text)}}}`;
}

function extraContent(call: CallState): string {
  return call.extra === undefined ? "" : `,"extra_content":${JSON.stringify(call.extra)}`;
}
