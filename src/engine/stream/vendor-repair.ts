// The first stage of the stream normalizer: repairs what providers do differently. Chunks come as a decoder yields them
// and leave strict: each entry of `choices` is one event with one kind of content, the role comes first and once,
// indexes are dense, and ids and names of tool calls come once (docs/clients.md, S1 to S28). Finish reasons are held
// back until the end of the stream. What was generated is counted here, before guards hold any of it back.

// Decides (the answer): What is repaired in a stream? By: `VendorRepair`.
import { newTally, tally } from "../../accounting/estimate.ts";
import { TRACE_TIME_DIGITS } from "../../core/ids.ts";
import {
  type ChatChunk,
  type ChunkChoice,
  type ChunkDelta,
  type FinishReason,
  isFinishReason,
  type ReasoningDetail,
  type ToolCallDelta,
} from "../../core/chat.ts";
import { CHOICE_MEMBERS, DELTA_MEMBERS } from "../../core/delta-members.ts";
import { isFilled, isObject, isSet, isText, isWholeNumber, type Json, type JsonObject } from "../../core/json.ts";
import { MalformedAnswer } from "../../providers/interface/upstream-failure.ts";
import type { AnswerFrame } from "../answer/strict-fields.ts";
import { strictAnnotations, strictFinishReason, strictLogprobs, unsaidFinish } from "../answer/strict-fields.ts";
import { ReportedUsage } from "../../providers/answers/strict-usage.ts";
import type { StreamStage } from "./stream-stage.ts";
import {
  addDelta,
  argumentsDelta,
  callOf,
  CallRoom,
  type CallState,
  hasOwnMembers,
  hasUnsent,
  isOpened,
  NAMELESS_CALL,
  isWholeCall,
  keepOwnMembers,
  mayRepeat,
  openingDelta,
  uniqueCallId,
} from "./tool-call-deltas.ts";

interface ChoiceState {
  readonly index: number;
  readonly calls: CallState[];
  finish: FinishReason | null;
  native: string | null;
  /** Whether something was generated. */
  hasGenerated: boolean;
}

const MAX_CHOICES = 128;
/** The most characters of arguments that wait for the names of their calls, over the whole stream. */
const MAX_HELD_ARGUMENTS = 4 * 1024 * 1024;
const OPENING: ChunkDelta = { role: "assistant" };

export class VendorRepair implements StreamStage {
  /** What was generated so far, for an estimate. */
  readonly generated = newTally();
  readonly reported = new ReportedUsage();
  readonly #frame: AnswerFrame;
  /** A round has one choice. */
  readonly #isRound: boolean;
  readonly #choices: ChoiceState[] = [];
  readonly #bySource = new Map<number, ChoiceState>();
  readonly #callIds = new Set<string>();
  #madeRoom: CallRoom | null = null;
  #hasGenerated = false;
  #isFinishInferred = false;
  #model: string | null = null;
  #heldArguments = 0;

  constructor(frame: AnswerFrame, isRound: boolean) {
    this.#frame = frame;
    this.#isRound = isRound;
  }

  /** Made with the first call: most answers have none. */
  get #room(): CallRoom {
    return (this.#madeRoom ??= new CallRoom());
  }

  /** Whether something other than finish reasons has come. */
  get hasGenerated(): boolean {
    return this.#hasGenerated;
  }
  /** Whether a choice has its finish reason. */
  get hasFinish(): boolean {
    return this.#choices.some((choice) => choice.finish !== null);
  }
  /** Whether at least the required number of choices has begun, and every choice that began has its finish reason. */
  get isComplete(): boolean {
    return this.#choices.length >= this.#frame.leastChoices && this.#choices.every((choice) => choice.finish !== null);
  }
  /**
   * Whether the answer is complete, ended normally, and nothing at all was generated (promise 7.1): the provider
   * reported no generated tokens either.
   */
  get isEmpty(): boolean {
    if (this.#hasGenerated || !this.isComplete || this.#choices.some(({ finish }) => finish !== "stop")) return false;
    const { usage } = this.reported;
    return usage === null || usage.completion_tokens === 0;
  }
  get finishReasons(): readonly (FinishReason | null)[] {
    return this.#choices.map((choice) => choice.finish);
  }
  get nativeFinishReasons(): readonly string[] {
    return this.#choices.flatMap((choice) => (choice.native === null ? [] : [choice.native]));
  }
  /** Whether the stream ended without a finish reason, and one was inferred. */
  get isFinishInferred(): boolean {
    return this.#isFinishInferred;
  }
  /** The model that answered, as the provider reports it; `null` when it has reported none. */
  get reportedModel(): string | null {
    return this.#model;
  }

  write(chunk: ChatChunk): ChatChunk {
    const repaired = this.#repairedChunk(chunk);
    this.reported.take(chunk, this.#hasGenerated);
    return repaired;
  }

  #repairedChunk(chunk: ChatChunk): ChatChunk {
    if (this.#model === null && isText(chunk["model"])) this.#model = chunk["model"];
    const given: unknown = chunk.choices;
    if (!Array.isArray(given)) return { ...chunk, choices: [] };
    const choices = given as readonly ChunkChoice[];
    // most chunks are strict already: one piece of a text or of arguments, and nothing else
    if (choices.length === 1 && this.#addStrict(choices[0]!)) return chunk;
    return { ...chunk, choices: choices.flatMap((choice) => (isObject(choice) ? this.#repaired(choice) : [])) };
  }

  /** Returns the events that end the choices. `isCut` means that a bound of the gateway has cut the answer. */
  end(isCut: boolean): ChatChunk {
    return { choices: this.#choices.flatMap((choice) => this.#ended(choice, isCut)) };
  }

  /**
   * Called when the protocol's own terminator came while a choice has no finish reason. It is inferred where the
   * provider sent none at all, something was generated, and every tool call is complete (promise 8.3). `source`
   * restricts this to one choice. Returns true when the reason was inferred.
   */
  inferFinish(source: number | null): boolean {
    const ending =
      source === null ? this.#choices : this.#choices.filter((choice) => choice === this.#bySource.get(source));
    if (
      ending.length === 0 ||
      ending.some((choice) => choice.finish !== null || !choice.hasGenerated || !choice.calls.every(isWholeCall))
    )
      return false;
    for (const choice of ending) choice.finish = unsaidFinish(choice.calls.length > 0);
    this.#isFinishInferred = true;
    return true;
  }

  /** Counts a choice that needs no repair. Returns false for any other choice. */
  #addStrict(source: ChunkChoice): boolean {
    if (!isObject(source) || !isObject(source.delta)) return false;
    const { index, finish_reason: finish, native_finish_reason: native, logprobs } = source;
    if (isSet(finish) || isSet(native) || isSet(logprobs)) return false;
    const choice = this.#bySource.get(index as number);
    if (choice === undefined || choice.index !== index) return false;
    const content = onlyContent(source.delta);
    if (content === null) return false;
    if (typeof content === "object") return this.#addArguments(choice, content);
    this.#count(choice, content);
    return true;
  }

  /** Counts a piece of arguments that needs no repair. Returns false for any other delta of a call. */
  #addArguments(choice: ChoiceState, delta: ToolCallDelta): boolean {
    if (!isObject(delta) || isSet(delta.id) || !isObject(delta.function)) return false;
    const { name, arguments: text } = delta.function;
    if (isSet(name) || !isText(text) || hasOwnMembers(delta)) return false;
    const call = choice.calls.findLast(({ sourceIndex: index }) => index === delta.index);
    if (call === undefined || call.index !== delta.index || hasUnsent(call) || mayRepeat(call, text)) return false;
    tally(this.generated, addDelta(call, delta, this.#room));
    return true;
  }

  #repaired(source: ChunkChoice): readonly ChunkChoice[] {
    const from = sourceIndex(source.index);
    const known = this.#bySource.get(from);
    if (known === undefined && this.#isRound && this.#choices.length > 0) return [];
    const choice = known ?? this.#begin(from);
    const { index } = choice;
    const deltas = isObject(source.delta) ? this.#deltas(choice, source.delta) : [];
    if (isFinishReason(source.finish_reason)) choice.finish ??= source.finish_reason;
    if (typeof source.native_finish_reason === "string") choice.native = source.native_finish_reason;
    const events: ChunkChoice[] = known === undefined ? [{ index, delta: OPENING }] : [];
    // members of the choice are sent once, with the first of its events
    const extras = choiceExtras(source);
    if (extras !== null) events.push({ ...extras, index, delta: deltas.shift() ?? {} });
    for (const delta of deltas) events.push({ index, delta });
    return events;
  }

  /** A provider's own indexes are kept while they fit the number of choices requested; others are numbered in order. */
  #begin(source: number): ChoiceState {
    const isTaken = (index: number): boolean => this.#choices.some((other) => other.index === index);
    let index = source;
    if (source >= this.#frame.choices || isTaken(source)) for (index = 0; isTaken(index);) index++;
    const choice: ChoiceState = { index, calls: [], finish: null, native: null, hasGenerated: false };
    this.#choices.push(choice);
    this.#bySource.set(source, choice);
    return choice;
  }

  /** Returns one delta for each kind of content. */
  #deltas(choice: ChoiceState, delta: ChunkDelta): ChunkDelta[] {
    const { reasoning_content: reasoning, reasoning_details: details, content, refusal, tool_calls: calls } = delta;
    const deltas: ChunkDelta[] = [];
    if (isText(reasoning)) {
      this.#count(choice, reasoning);
      deltas.push({ reasoning_content: reasoning });
    }
    if (Array.isArray(details) && details.length > 0) {
      this.#hasGenerated = choice.hasGenerated = true;
      deltas.push({ reasoning_details: details as readonly ReasoningDetail[] });
    }
    if (isText(content)) {
      this.#count(choice, content);
      deltas.push({ content });
    }
    if (isText(refusal)) {
      this.#count(choice, refusal);
      deltas.push({ refusal });
    }
    if (Array.isArray(calls))
      for (const call of calls as readonly ToolCallDelta[]) {
        const repaired = isObject(call) ? this.#call(choice, call) : null;
        if (repaired !== null) deltas.push({ tool_calls: [repaired] });
      }
    const annotations = strictAnnotations(delta["annotations"]);
    if (annotations !== null) deltas.push({ annotations });
    const members = vendorMembers(delta);
    if (members !== null) {
      if (Object.values(members).some(isFilled)) this.#hasGenerated = choice.hasGenerated = true;
      deltas.push(members);
    }
    return deltas;
  }

  #count(choice: ChoiceState, text: string): void {
    tally(this.generated, text);
    this.#hasGenerated = choice.hasGenerated = true;
  }

  /** Returns `null` while the call has no name, and for a delta that has nothing. */
  #call(choice: ChoiceState, delta: ToolCallDelta): ToolCallDelta | null {
    choice.hasGenerated = true;
    const call = callOf(choice.calls, delta, this.#room);
    const hadName = call.name !== "";
    const text = addDelta(call, delta, this.#room);
    keepOwnMembers(call, delta);
    tally(this.generated, text);
    if (!hadName) tally(this.generated, call.name);
    // a call that is left out was generated nevertheless
    if (!isOpened(call) && this.#frame.firstCallAlone === true && choice.calls.some(isOpened)) return null;
    if (isOpened(call)) return text === "" && !hasUnsent(call) ? null : argumentsDelta(call, text);
    call.held += text;
    this.#heldArguments += text.length;
    if (call.name === "") {
      if (this.#heldArguments <= MAX_HELD_ARGUMENTS) return null;
      throw new MalformedAnswer("The provider's answer has too many arguments of tool calls before the calls' names.");
    }
    this.#hasGenerated = true;
    this.#heldArguments -= call.held.length;
    const id = this.#callId(choice, call);
    call.index = choice.calls.filter(isOpened).length;
    return openingDelta(call, id);
  }

  #callId({ index, calls }: ChoiceState, { sourceId }: CallState): string {
    const position = calls.filter(isOpened).length;
    // the id stays as the provider wrote it; what another provider requires of ids is handled when a request is sent there
    const id = sourceId ?? `call_${this.#frame.traceId.slice(TRACE_TIME_DIGITS)}_${index}_${position}`;
    return uniqueCallId(id, position, this.#callIds);
  }

  #ended(choice: ChoiceState, isCut: boolean): readonly ChunkChoice[] {
    const { index, calls, native } = choice;
    if (isCut) choice.finish = "length";
    // the name of a call at which an answer met its bound may be what was cut off
    if (choice.finish !== "length" && calls.some(isNameless)) throw new MalformedAnswer(NAMELESS_CALL);
    const reason = strictFinishReason(choice.finish!, calls.some(isOpened), this.#frame.sameShape);
    // a call without arguments gets an empty object, unless the answer was cut off before them
    const empty =
      choice.finish === "length" ? [] : calls.filter((call) => isOpened(call) && !call.hasArguments && !call.takesText);
    return [
      ...empty.map((call) => ({ index, delta: { tool_calls: [argumentsDelta(call, "{}")] } })),
      { index, delta: {}, finish_reason: reason, ...(native !== null && { native_finish_reason: native }) },
    ];
  }
}

/** Whether a call has an id or arguments and never got a name. Some servers send deltas that say nothing at all. */
function isNameless(call: CallState): boolean {
  return call.name === "" && (call.sourceId !== null || call.hasArguments);
}

function sourceIndex(index: number | undefined): number {
  return isWholeNumber(index, 0, MAX_CHOICES - 1) ? index : 0;
}

/**
 * Returns the content of a delta that has one piece of text, or one delta of a call, and at most a role beside it;
 * `null` for any other delta.
 */
function onlyContent(delta: ChunkDelta): string | ToolCallDelta | null {
  let content: string | ToolCallDelta | null = null;
  for (const name in delta) {
    const value = delta[name];
    if (value === null || value === undefined || name === "role") continue;
    switch (name) {
      case "content":
      case "refusal":
      case "reasoning_content":
        if (value === "") break;
        if (typeof value !== "string" || content !== null) return null;
        content = value;
        break;
      case "tool_calls":
        if (!Array.isArray(value) || value.length !== 1 || content !== null) return null;
        if (!isObject(value[0] as Json)) return null;
        content = value[0] as ToolCallDelta;
        break;
      default:
        return null;
    }
  }
  return content;
}

/** Returns the log probabilities and a vendor's own members of a choice; `null` when there are none. */
function choiceExtras(choice: ChunkChoice): JsonObject | null {
  let extras: Record<string, Json> | null = null;
  for (const name in choice) {
    // the provider's own finish reason goes with the finish reason, at the end of the stream
    if (name === "native_finish_reason" || (CHOICE_MEMBERS.has(name) && name !== "logprobs")) continue;
    const value = name === "logprobs" ? strictLogprobs(choice.logprobs) : choice[name];
    if (value !== null && value !== undefined) (extras ??= {})[name] = value;
  }
  return extras;
}

/** Returns a vendor's own members of a delta; `null` when there are none. */
function vendorMembers(delta: ChunkDelta): ChunkDelta | null {
  let members: Record<string, Json> | null = null;
  for (const name in delta) {
    const value = delta[name];
    if (!DELTA_MEMBERS.has(name) && value !== null && value !== undefined) (members ??= {})[name] = value;
  }
  return members;
}
