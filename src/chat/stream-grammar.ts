// Loose chunks of a decoder -> the one stream grammar that every client can read, whatever the provider did (decisions 8.1, 8.2, 8.6 to 8.8; research
// on clients, S1 to S28): role once, one kind of content per delta, dense indexes, tool id and name once, one finish reason, usage only in its place.
import { newTally, tally, type TokenTally } from "../accounting/estimate.ts";
import { type ChatChunk, type ChunkChoice, type ChunkDelta, type FinishReason, isFinishReason, type ToolCallDelta, type Usage } from "../core/chat.ts";
import { isObject, type Json } from "../core/json.ts";
import { type AnswerFrame, answerId, answerTime } from "./whole-answer.ts";
import { isVendorField, strictAnnotations, strictCallId, strictFinishReason, strictLogprobs, strictUsage } from "./strict-fields.ts";

export interface StreamGrammar {
  /** The events for a chunk, as text; empty when it says nothing that a client may see. */
  write(chunk: ChatChunk): string;
  /** True once text, reasoning, a tool call, a refusal or a finish reason has come (decisions 7.4). */
  hasContent(): boolean;
  /** Every choice that began has its finish reason, and at least one began. */
  isComplete(): boolean;
  /** The last events of a complete stream: finish reasons, then the usage where it was asked for. Without `[DONE]`. */
  finish(usage: Usage): string;
  /** The provider's figures, the last that came; null when it said nothing. */
  reportedUsage(): Usage | null;
  /** What was generated so far, for an estimate. */
  readonly generated: TokenTally;
  finishReasons(): readonly (FinishReason | null)[];
  nativeFinishReasons(): readonly string[];
}

interface ChoiceState {
  readonly index: number;
  readonly calls: CallState[];
  /** How many of them the client has seen. */
  openedCalls: number;
  finish: FinishReason | null;
  native: string | null;
}
interface CallState {
  /** By the order of opening, so that a call whose name comes late or never leaves no hole; -1 before. */
  index: number;
  /** The provider's own number of the call, and its id as it came. */
  readonly sourceIndex: number | null;
  readonly sourceId: string | null;
  name: string;
  /** Arguments that came before the name did. */
  held: string;
  hasArguments: boolean;
  extra: Json | undefined;
}

const MAX_CHOICES = 128;

export function createStreamGrammar(frame: AnswerFrame, includeUsage: boolean): StreamGrammar {
  const choices: ChoiceState[] = [];
  const bySource = new Map<number, ChoiceState>();
  const callIds = new Set<string>();
  const generated = newTally();
  const tail = includeUsage ? ',"usage":null}\n\n' : "}\n\n";
  let head = "";
  let content = false;
  let usage: Usage | null = null;
  /** Vendor fields for the next event; those of chunks that gave none wait, the last of each name. */
  let vendor = "";
  let waiting: Map<string, string> | null = null;
  /** Most vendor fields say the same on every chunk. */
  const repeated = new Map<string, { readonly value: unknown; readonly json: string }>();

  function open(chunk: ChatChunk): void {
    head = `data: {"id":${JSON.stringify(answerId(chunk.id, frame.traceId))},"object":"chat.completion.chunk","created":${answerTime(chunk.created, frame.nowSeconds)},"model":${JSON.stringify(frame.model)},"route":${JSON.stringify(frame.route)},"x_gateway_trace_id":"${frame.traceId}"`;
  }

  function takeVendorFields(chunk: ChatChunk): void {
    vendor = "";
    for (const name in chunk) {
      const value = chunk[name];
      if (!isVendorField(name, value)) continue;
      if (waiting === null) vendor += vendorField(name, value);
      else waiting.set(name, JSON.stringify(value));
    }
    if (waiting !== null) vendor = joined(waiting);
  }

  function vendorField(name: string, value: unknown): string {
    const known = repeated.get(name);
    if (known !== undefined && known.value === value) return known.json;
    const json = `,${JSON.stringify(name)}:${JSON.stringify(value)}`;
    if (typeof value === "string" && (known !== undefined || repeated.size < MAX_WAITING)) repeated.set(name, { value, json });
    return json;
  }

  /** Bounded, whatever a provider sends. */
  function keepVendorFields(chunk: ChatChunk): void {
    vendor = "";
    waiting ??= new Map();
    for (const name in chunk) if (isVendorField(name, chunk[name]) && (waiting.size < MAX_WAITING || waiting.has(name))) waiting.set(name, JSON.stringify(chunk[name]));
  }

  function event(choice: ChoiceState, delta: string, finish: FinishReason | null, logprobs: string, extra: string): string {
    const fields = vendor;
    vendor = "";
    return `${head}${fields},"choices":[{"index":${choice.index},"delta":${delta},"logprobs":${logprobs},"finish_reason":${finish === null ? "null" : `"${finish}"`}${extra}}]${tail}`;
  }

  function choiceOf(source: number | undefined): { readonly choice: ChoiceState; readonly isNew: boolean } {
    const key = typeof source === "number" && Number.isInteger(source) && source >= 0 && source < MAX_CHOICES ? source : 0;
    const known = bySource.get(key);
    if (known !== undefined) return { choice: known, isNew: false };
    // a provider's own numbers stand while they fit what was asked for; others are numbered by order
    const index = key < frame.choices && !choices.some((other) => other.index === key) ? key : freeIndex(choices);
    const choice: ChoiceState = { index, calls: [], openedCalls: 0, finish: null, native: null };
    choices.push(choice);
    bySource.set(key, choice);
    return { choice, isNew: true };
  }

  function writeChoice(source: ChunkChoice): string {
    const { choice, isNew } = choiceOf(source.index);
    let out = isNew ? event(choice, '{"role":"assistant","content":""}', null, "null", "") : "";
    const delta = source.delta;
    const logprobs = source.logprobs === null || source.logprobs === undefined ? "null" : JSON.stringify(strictLogprobs(source.logprobs));
    const extra = choiceExtra(source);
    const before = out.length;
    if (isObject(delta)) out += writeDelta(choice, delta, logprobs, extra);
    if (isFinishReason(source.finish_reason) && choice.finish === null) {
      choice.finish = source.finish_reason;
      content = true;
    }
    if (typeof source.native_finish_reason === "string") choice.native = source.native_finish_reason;
    if (out.length === before && (logprobs !== "null" || extra !== "")) out += event(choice, "{}", null, logprobs, extra);
    return out;
  }

  function writeDelta(choice: ChoiceState, delta: ChunkDelta, logprobs: string, extra: string): string {
    let out = "";
    // the log probabilities belong to the text; where there is none they go with the first event
    let loose = logprobs;
    let rest = extra;
    const say = (json: string, isContent: boolean): void => {
      out += event(choice, json, null, loose, rest);
      loose = "null";
      rest = "";
      if (isContent) content = true;
    };
    if (typeof delta.reasoning_content === "string" && delta.reasoning_content !== "") {
      tally(generated, delta.reasoning_content);
      say(`{"reasoning_content":${JSON.stringify(delta.reasoning_content)}}`, true);
    }
    if (Array.isArray(delta.reasoning_details) && delta.reasoning_details.length > 0) say(`{"reasoning_details":${JSON.stringify(delta.reasoning_details)}}`, true);
    if (typeof delta.content === "string" && delta.content !== "") {
      tally(generated, delta.content);
      say(`{"content":${JSON.stringify(delta.content)}}`, true);
    }
    if (typeof delta.refusal === "string" && delta.refusal !== "") {
      tally(generated, delta.refusal);
      say(`{"refusal":${JSON.stringify(delta.refusal)}}`, true);
    }
    if (Array.isArray(delta.tool_calls)) for (const call of delta.tool_calls as readonly ToolCallDelta[]) if (isObject(call)) writeCall(choice, call, say);
    const annotations = strictAnnotations(delta["annotations"]);
    if (annotations !== null) say(`{"annotations":${JSON.stringify(annotations)}}`, false);
    const others = vendorDelta(delta);
    if (others !== "") say(others, true);
    return out;
  }

  function writeCall(choice: ChoiceState, delta: ToolCallDelta, say: (json: string, isContent: boolean) => void): void {
    const call = callOf(choice, delta);
    const said = isObject(delta.function) ? delta.function : {};
    const text = typeof said["arguments"] === "string" ? said["arguments"] : "";
    if (delta.extra_content !== undefined && delta.extra_content !== null) call.extra = delta.extra_content as Json;
    if (call.name === "" && typeof said["name"] === "string") call.name = said["name"];
    tally(generated, text);
    if (text !== "") call.hasArguments = true;
    // the old form has room for one call
    if (frame.legacyFunctions && call.index < 0 && choice.openedCalls > 0) return;
    if (call.index < 0) {
      call.held += text;
      if (call.name === "") return;
      call.index = choice.openedCalls++;
      tally(generated, call.name);
      say(frame.legacyFunctions ? legacyOpening(call) : opening(choice, call), true);
      call.held = "";
      call.extra = undefined;
    } else if (text !== "" || call.extra !== undefined) {
      if (frame.legacyFunctions) say(`{"function_call":{"arguments":${JSON.stringify(text)}}}`, true);
      else say(`{"tool_calls":[{"index":${call.index},"function":{"arguments":${JSON.stringify(text)}}${extraContent(call)}}]}`, true);
      call.extra = undefined;
    }
  }

  function opening(choice: ChoiceState, call: CallState): string {
    const wanted = call.sourceId === null ? `call_${frame.traceId.slice(0, 20)}_${choice.index}_${call.index}` : strictCallId(call.sourceId);
    const id = callIds.has(wanted) ? strictCallId(`${wanted}_${choice.index}_${call.index}`) : wanted;
    callIds.add(id);
    return `{"tool_calls":[{"index":${call.index},"id":${JSON.stringify(id)},"type":"function","function":{"name":${JSON.stringify(call.name)},"arguments":${JSON.stringify(call.held)}}${extraContent(call)}}]}`;
  }

  function finishChoice(choice: ChoiceState): string {
    let out = "";
    // a call whose name never came has no place in the grammar, one without arguments gets an empty object, unless it was cut off
    if (choice.finish !== "length")
      for (const call of choice.calls)
        if (call.index >= 0 && !call.hasArguments)
          out += event(choice, frame.legacyFunctions ? '{"function_call":{"arguments":"{}"}}' : `{"tool_calls":[{"index":${call.index},"function":{"arguments":"{}"}}]}`, null, "null", "");
    const reason = strictFinishReason(choice.finish!, choice.openedCalls > 0, frame.sameShape, frame.legacyFunctions);
    choice.finish = reason;
    return out + event(choice, "{}", reason, "null", choice.native === null ? "" : `,"native_finish_reason":${JSON.stringify(choice.native)}`);
  }

  return {
    generated,
    write(chunk) {
      if (head === "") open(chunk);
      if (chunk.usage !== null && chunk.usage !== undefined) usage = strictUsage(chunk.usage) ?? usage;
      takeVendorFields(chunk);
      let out = "";
      if (Array.isArray(chunk.choices)) for (const choice of chunk.choices) if (isObject(choice)) out += writeChoice(choice);
      if (vendor === "") waiting = null;
      else keepVendorFields(chunk);
      return out;
    },
    hasContent: () => content,
    isComplete: () => choices.length > 0 && choices.every((choice) => choice.finish !== null),
    finish(total) {
      let out = "";
      vendor = waiting === null ? "" : joined(waiting);
      for (const choice of choices) out += finishChoice(choice);
      if (includeUsage) out += `${head},"choices":[],"usage":${JSON.stringify(total)}}\n\n`;
      return out;
    },
    reportedUsage: () => usage,
    finishReasons: () => choices.map((choice) => choice.finish),
    nativeFinishReasons: () => choices.flatMap((choice) => (choice.native === null ? [] : [choice.native])),
  };
}

const MAX_WAITING = 32;

function joined(fields: ReadonlyMap<string, string>): string {
  let text = "";
  for (const [name, json] of fields) text += `,${JSON.stringify(name)}:${json}`;
  return text;
}

function freeIndex(choices: readonly ChoiceState[]): number {
  let index = 0;
  while (choices.some((choice) => choice.index === index)) index++;
  return index;
}

/** The call that a delta continues: by its number, and among those of one number by its id; without a number by its id; else the last one. */
function callOf(choice: ChoiceState, delta: ToolCallDelta): CallState {
  const id = typeof delta.id === "string" && delta.id !== "" ? delta.id : null;
  const number = typeof delta.index === "number" && Number.isInteger(delta.index) ? delta.index : null;
  const known = number !== null ? numberedCall(choice, delta, number, id) : id !== null ? choice.calls.find((call) => call.sourceId === id) : choice.calls.at(-1);
  if (known !== undefined && !(number === null && id === null && namesAnother(delta, known))) return known;
  const call: CallState = { index: -1, sourceIndex: number, sourceId: id, name: "", held: "", hasArguments: false, extra: undefined };
  choice.calls.push(call);
  return call;
}

/** Some servers number every call 0 and tell them apart by id alone; others give every delta of one call a new id. */
function numberedCall(choice: ChoiceState, delta: ToolCallDelta, number: number, id: string | null): CallState | undefined {
  const last = choice.calls.findLast((call) => call.sourceIndex === number);
  if (last === undefined || id === null || last.sourceId === null || last.sourceId === id) return last;
  return choice.calls.find((call) => call.sourceIndex === number && call.sourceId === id) ?? (namesAnother(delta, last) ? undefined : last);
}

/** A delta without number and id that brings a name begins a call, unless it only repeats the name of the one that is open without arguments. */
function namesAnother(delta: ToolCallDelta, open: CallState | undefined): boolean {
  const name = delta.function?.name;
  return typeof name === "string" && name !== "" && open !== undefined && open.name !== "" && (open.hasArguments || open.name !== name);
}

function extraContent(call: CallState): string {
  return call.extra === undefined ? "" : `,"extra_content":${JSON.stringify(call.extra)}`;
}

function legacyOpening(call: CallState): string {
  return `{"function_call":{"name":${JSON.stringify(call.name)},"arguments":${JSON.stringify(call.held)}}}`;
}

/** A vendor's own keys of a choice, as further members. */
function choiceExtra(choice: ChunkChoice): string {
  let extra = "";
  for (const name in choice) {
    switch (name) {
      case "index":
      case "delta":
      case "finish_reason":
      case "native_finish_reason":
      case "logprobs":
      case "message":
        break;
      default:
        if (choice[name] !== null && choice[name] !== undefined) extra += `,${JSON.stringify(name)}:${JSON.stringify(choice[name])}`;
    }
  }
  return extra;
}

/** A vendor's own keys of a delta, as one delta; empty when there are none. */
function vendorDelta(delta: ChunkDelta): string {
  let members = "";
  for (const name in delta) {
    switch (name) {
      case "role":
      case "content":
      case "refusal":
      case "reasoning_content":
      case "reasoning_details":
      case "tool_calls":
      case "function_call":
      case "annotations":
        break;
      default:
        if (delta[name] !== null && delta[name] !== undefined) members += `${members === "" ? "" : ","}${JSON.stringify(name)}:${JSON.stringify(delta[name])}`;
    }
  }
  return members === "" ? "" : `{${members}}`;
}
