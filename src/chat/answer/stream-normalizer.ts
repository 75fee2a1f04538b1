// The stream normalizer: turns the lenient chunks of a decoder into the one strict form of stream that every client can
// read, whatever the provider did (promises 8.1, 8.2 and 8.6 to 8.8; docs/clients.md, S1 to S28). The role comes once,
// each delta has one kind of content, indexes are dense, tool ids and names come once, there is one finish reason, and
// usage comes only in its place.
import { newTally, tally } from "../../accounting/estimate.ts";
import {
  type ChatChunk,
  type ChunkChoice,
  type ChunkDelta,
  type FinishReason,
  isFinishReason,
  type ReasoningDetail,
  type ToolCallDelta,
  type Usage,
} from "../../core/chat.ts";
import { isObject, type JsonObject } from "../../core/json.ts";
import type { ToolActivity } from "../../core/tool.ts";
import { MalformedAnswer } from "../../providers/provider.ts";
import { isJoinedText, type RoundAccumulator } from "../tools/multi-round-answer.ts";
import { strictAnnotations, strictFinishReason, strictLogprobs, strictUsage } from "./strict-fields.ts";
import {
  argumentsDelta,
  callOf,
  type CallState,
  isOpened,
  isWholeCall,
  legacyArgumentsDelta,
  legacyOpeningDelta,
  openingDelta,
  openingId,
  takeDelta,
} from "./tool-call-deltas.ts";
import { VendorFields } from "./vendor-fields.ts";
import { type AnswerFrame, answerId, answerTime, isNothing } from "./non-streaming-answer.ts";

interface ChoiceState {
  readonly index: number;
  readonly calls: CallState[];
  finish: FinishReason | null;
  native: string | null;
  /** Whether something was generated. */
  hasSaid: boolean;
}

/** Members of a choice that are sent once, with the first of its events. */
interface Companions {
  logprobs: string;
  extra: string;
}

const MAX_CHOICES = 128;
/** The most characters of arguments that wait for the names of their calls, over the whole stream. */
const MAX_HELD_ARGUMENTS = 4 * 1024 * 1024;
const ROLE = '{"role":"assistant","content":""}';

/** The state of one stream. The output is whole server-sent events, without `[DONE]`. */
export class StreamNormalizer {
  /** What was generated so far, for an estimate. */
  readonly generated = newTally();
  readonly #frame: AnswerFrame;
  readonly #includeUsage: boolean;
  readonly #tail: string;
  /**
   * Whether the chunks that are written have passed guards, which may hold some of them back. In that case `hear`
   * receives what the provider sent.
   */
  readonly #isGuarded: boolean;
  /** `null` when the answer has one round. */
  readonly #part: RoundAccumulator | null;
  readonly #choices: ChoiceState[] = [];
  readonly #bySource = new Map<number, ChoiceState>();
  readonly #callIds = new Set<string>();
  readonly #vendor = new VendorFields();
  /** The beginning of every event; empty before the first chunk with an id or a choice. */
  #head = "";
  #hasContent = false;
  /** Whether something other than finish reasons has come. */
  #hasSaid = false;
  #isFinished = false;
  #isInferred = false;
  #toldModel: string | null = null;
  #heldArguments = 0;
  #usage: Usage | null = null;

  constructor(frame: AnswerFrame, includeUsage: boolean, isGuarded = false, part: RoundAccumulator | null = null) {
    this.#frame = frame;
    this.#isGuarded = isGuarded;
    this.#part = part;
    if (part !== null) this.#head = part.head;
    this.#includeUsage = includeUsage;
    this.#tail = includeUsage ? ',"usage":null}\n\n' : "}\n\n";
  }

  /** True once text, reasoning, a tool call, a refusal or a finish reason has come (promise 7.4). */
  get hasContent(): boolean {
    return this.#hasContent;
  }
  /** Whether the provider has generated something, even if a guard still holds it back. */
  get hasGenerated(): boolean {
    return this.#hasSaid || this.#hasContent;
  }
  /** Whether the answer is complete and nothing at all was generated (promise 7.1). */
  get isEmpty(): boolean {
    return !this.#hasSaid && this.isComplete && isNothing(this.finishReasons, this.#usage);
  }
  /** Whether the last events have been written. */
  get isFinished(): boolean {
    return this.#isFinished;
  }
  /** Whether at least one choice has begun, and every choice that began has its finish reason. */
  get isComplete(): boolean {
    return this.#choices.length > 0 && this.#choices.every((choice) => choice.finish !== null);
  }
  /** The provider's latest figures; `null` when it reported none. */
  get reportedUsage(): Usage | null {
    return this.#usage;
  }
  /** The beginning of every event. */
  get head(): string {
    return this.#head;
  }
  get finishReasons(): readonly (FinishReason | null)[] {
    return this.#choices.map((choice) => choice.finish);
  }
  /** The model that answered, as the provider reports it; `null` when it has reported none. */
  get toldModel(): string | null {
    return this.#toldModel;
  }
  /** Whether the stream ended without a finish reason, and one was inferred. */
  get isFinishInferred(): boolean {
    return this.#isInferred;
  }
  get nativeFinishReasons(): readonly string[] {
    return this.#choices.flatMap((choice) => (choice.native === null ? [] : [choice.native]));
  }

  /**
   * Called when the protocol's own terminator came while a choice has no finish reason. It is inferred where the
   * provider sent none at all, something was generated, and every tool call is complete (promise 8.3). `source`
   * restricts this to one choice. Returns true when the reason was inferred.
   */
  inferFinish(source: number | null = null): boolean {
    const ending =
      source === null ? this.#choices : this.#choices.filter((choice) => choice === this.#bySource.get(source));
    if (
      ending.length === 0 ||
      ending.some((choice) => choice.finish !== null || !choice.hasSaid || !choice.calls.every(isWholeCall))
    )
      return false;
    for (const choice of ending) choice.finish = choice.calls.length > 0 ? "tool_calls" : "stop";
    this.#isInferred = true;
    return true;
  }

  /**
   * Counts what the provider sent before guards held any of it back: it was generated, whether or not the client sees
   * it.
   */
  hear({ choices }: ChatChunk): void {
    if (!Array.isArray(choices)) return;
    for (const { delta } of (choices as readonly ChunkChoice[]).filter((choice) => isObject(choice))) {
      if (!isObject(delta)) continue;
      for (const text of [delta.reasoning_content, delta.content, delta.refusal]) if (isText(text)) this.#made(text);
      if (Array.isArray(delta.reasoning_details) && delta.reasoning_details.length > 0) this.#hasSaid = true;
      if (Array.isArray(delta.tool_calls))
        for (const call of delta.tool_calls as readonly ToolCallDelta[])
          if (isObject(call) && isObject(call.function) && isText(call.function["arguments"]))
            tally(this.generated, call.function["arguments"]);
    }
  }

  #made(text: string): void {
    tally(this.generated, text);
    this.#hasSaid = true;
  }

  /**
   * Returns the events for a chunk; empty when it has nothing for a client. Throws MalformedAnswer when a bound is
   * exceeded.
   */
  write(chunk: ChatChunk): string {
    // Azure's chunk about the prompt comes first, without an id and without a choice
    if (this.#head === "" && (isText(chunk.id) || hasChoices(chunk))) this.#open(chunk);
    if (chunk.usage !== null && chunk.usage !== undefined) this.#usage = strictUsage(chunk.usage) ?? this.#usage;
    if (this.#toldModel === null && isText(chunk["model"])) this.#toldModel = chunk["model"];
    this.#vendor.take(chunk);
    let out = "";
    if (Array.isArray(chunk.choices))
      for (const choice of chunk.choices as readonly ChunkChoice[])
        if (isObject(choice)) out += this.#writeChoice(choice);
    this.#vendor.keep(chunk);
    return out;
  }

  /**
   * Returns the last events of a complete stream: finish reasons, then the usage where it was requested. A tool round
   * has none.
   */
  finish(total: Usage): string {
    return this.#part === null ? this.end(total) : "";
  }

  /**
   * `cut` means that tool calls of the gateway were not run, so that the answer is incomplete. `along` has further
   * members of the event with the finish reason.
   */
  end(total: Usage, cut = false, along = ""): string {
    let out = "";
    this.#isFinished = true;
    this.#vendor.takeWaiting();
    for (const choice of this.#choices) {
      if (cut) choice.finish = "length";
      out += this.#finishChoice(choice, along);
    }
    if (this.#includeUsage) out += `${this.#head},"choices":[],"usage":${JSON.stringify(total)}}\n\n`;
    return out;
  }

  /** Returns an event about what the gateway does between two rounds. */
  activity(activity: ToolActivity): string {
    this.#hasContent = true;
    return `${this.#head},"x_gateway_mcp":${JSON.stringify(activity)},"choices":[{"index":0,"delta":{},"logprobs":null,"finish_reason":null}]${this.#tail}`;
  }

  #open(chunk: ChatChunk): void {
    const { traceId, nowSeconds, model, route } = this.#frame;
    // the text is flattened once, because every event begins with it and would traverse a string composed of pieces
    // again
    this.#head = flat(
      `data: {"id":${JSON.stringify(answerId(chunk.id, traceId))},"object":"chat.completion.chunk","created":${answerTime(chunk.created, nowSeconds)},"model":${JSON.stringify(model)},"route":${JSON.stringify(route)},"x_gateway_trace_id":"${traceId}"`,
    );
  }

  #event(
    choice: ChoiceState,
    delta: string,
    finish: FinishReason | null,
    logprobs: string,
    extra: string,
    along = "",
  ): string {
    return `${this.#head}${this.#vendor.use()}${along},"choices":[{"index":${choice.index},"delta":${delta},"logprobs":${logprobs},"finish_reason":${finish === null ? "null" : `"${finish}"`}${extra}}]${this.#tail}`;
  }

  #writeChoice(source: ChunkChoice): string {
    const known = this.#bySource.get(sourceIndex(source.index));
    // rounds have only one choice
    if (known === undefined && this.#part !== null && this.#choices.length > 0) return "";
    const choice = known ?? this.#begin(sourceIndex(source.index));
    let out = known === undefined && this.#part?.continues !== true ? this.#event(choice, ROLE, null, "null", "") : "";
    const along = this.#companions(source);
    if (isObject(source.delta)) out += this.#writeDelta(choice, source.delta, along);
    if (isFinishReason(source.finish_reason) && choice.finish === null) {
      choice.finish = source.finish_reason;
      // calls of tools that the gateway runs are not shown
      if (this.#part?.hasHidden !== true) this.#hasContent = true;
    }
    if (typeof source.native_finish_reason === "string") choice.native = source.native_finish_reason;
    if (along.logprobs !== "null" || along.extra !== "") out += this.#say(choice, "{}", along);
    return out;
  }

  #companions(source: ChunkChoice): Companions {
    const { logprobs } = source;
    return {
      logprobs: logprobs !== null && logprobs !== undefined ? JSON.stringify(strictLogprobs(logprobs)) : "null",
      extra: choiceExtra(source),
    };
  }

  /** A provider's own indexes are kept while they fit the number of choices requested; others are numbered in order. */
  #begin(source: number): ChoiceState {
    const taken = (index: number): boolean => this.#choices.some((other) => other.index === index);
    let index = source;
    if (source >= this.#frame.choices || taken(source)) for (index = 0; taken(index);) index++;
    const choice: ChoiceState = { index, calls: [], finish: null, native: null, hasSaid: false };
    this.#choices.push(choice);
    this.#bySource.set(source, choice);
    return choice;
  }

  #writeDelta(choice: ChoiceState, delta: ChunkDelta, along: Companions): string {
    let out = "";
    if (isText(delta.reasoning_content))
      out += this.#sayText(choice, "reasoning_content", delta.reasoning_content, along);
    if (Array.isArray(delta.reasoning_details) && delta.reasoning_details.length > 0)
      out += this.#sayDetails(choice, delta.reasoning_details as readonly ReasoningDetail[], along);
    if (isText(delta.content)) out += this.#sayText(choice, "content", delta.content, along);
    if (isText(delta.refusal)) out += this.#sayText(choice, "refusal", delta.refusal, along);
    if (Array.isArray(delta.tool_calls))
      for (const call of delta.tool_calls as readonly ToolCallDelta[])
        if (isObject(call)) out += this.#writeCall(choice, call, along);
    const annotations = strictAnnotations(delta["annotations"]);
    if (annotations !== null)
      out += this.#say(
        choice,
        `{"annotations":${JSON.stringify(this.#part === null ? annotations : this.#part.annotations(annotations))}}`,
        along,
      );
    const others = vendorDelta(this.#part === null ? delta : this.#keepExtra(delta, this.#part));
    if (others !== "") out += this.#sayContent(choice, others, along);
    return out;
  }

  /**
   * Keeps the `extra_content` of a delta with the turn of the round. For a round that the gateway continues, the client
   * receives it there, in `x_gateway_mcp.replay`, and not in the delta.
   */
  #keepExtra(delta: ChunkDelta, part: RoundAccumulator): ChunkDelta {
    const { extra_content: extra, ...rest } = delta;
    if (extra === undefined) return delta;
    part.addExtraContent(extra);
    return part.hasHidden ? rest : delta;
  }

  #writeCall(choice: ChoiceState, delta: ToolCallDelta, along: Companions): string {
    choice.hasSaid = true;
    const call = callOf(choice.calls, delta);
    const text = takeDelta(call, delta);
    if (!this.#isGuarded) tally(this.generated, text);
    const legacy = this.#frame.legacyFunctions;
    if (call.made !== null) this.#part!.addArguments(call.made, text);
    if (call.made?.isShown === false) {
      call.made.extra ??= call.extra;
      return "";
    }
    if (!isOpened(call)) {
      const opened = choice.calls.filter(isOpened).length;
      // the deprecated form has room for only one call of the client
      if (legacy && opened > 0 && (this.#part === null || (call.name !== "" && !this.#part.hides(call.name))))
        return "";
      call.held += text;
      this.#heldArguments += text.length;
      if (this.#heldArguments > MAX_HELD_ARGUMENTS)
        throw new MalformedAnswer(
          "The provider's stream has too many arguments of tool calls before the calls' names.",
        );
      if (call.name === "") return "";
      tally(this.generated, call.name);
      const place = `call_${this.#frame.traceId.slice(0, 20)}_${choice.index}_`;
      const id =
        this.#part === null
          ? openingId(call, place + opened, this.#callIds)
          : this.#part.callId(call.sourceId ?? place + choice.calls.indexOf(call), choice.calls.indexOf(call));
      if (this.#part !== null) call.made = this.#part.addCall(id, call.name, call.held, call.extra);
      this.#hasSaid = true;
      this.#heldArguments -= call.held.length;
      if (call.made?.isShown === false) return "";
      call.index = opened;
      const opening = legacy ? legacyOpeningDelta(call) : openingDelta(call, id);
      call.held = "";
      call.extra = undefined;
      return this.#sayContent(choice, opening, along);
    }
    if (call.made !== null) call.made.extra ??= call.extra;
    if (text === "" && call.extra === undefined) return "";
    const piece = legacy ? legacyArgumentsDelta(text) : argumentsDelta(call, text);
    call.extra = undefined;
    return this.#sayContent(choice, piece, along);
  }

  #finishChoice(choice: ChoiceState, along: string): string {
    let out = "";
    const legacy = this.#frame.legacyFunctions;
    // a call without arguments gets an empty object, unless the answer was cut off before them
    for (const call of choice.calls)
      if (choice.finish !== "length" && isOpened(call) && !call.hasArguments)
        out += this.#event(choice, legacy ? legacyArgumentsDelta("{}") : argumentsDelta(call, "{}"), null, "null", "");
    const reason = strictFinishReason(choice.finish!, choice.calls.some(isOpened), this.#frame.sameShape, legacy);
    choice.finish = reason;
    return (
      out +
      this.#event(
        choice,
        "{}",
        reason,
        "null",
        choice.native === null ? "" : `,"native_finish_reason":${JSON.stringify(choice.native)}`,
        along,
      )
    );
  }

  #textDelta(name: string, shown: string): string {
    return `{"${name}":${JSON.stringify(this.#part !== null && isJoinedText(name) ? this.#part.text(name, shown) : shown)}}`;
  }

  #detailsDelta(shown: readonly JsonObject[]): string {
    return `{"reasoning_details":${JSON.stringify(this.#part === null ? shown : this.#part.details(shown as readonly ReasoningDetail[]))}}`;
  }

  #sayText(choice: ChoiceState, name: string, text: string, along: Companions): string {
    choice.hasSaid = true;
    if (!this.#isGuarded) tally(this.generated, text);
    return this.#sayContent(choice, this.#textDelta(name, text), along);
  }

  #sayDetails(choice: ChoiceState, details: readonly ReasoningDetail[], along: Companions): string {
    choice.hasSaid = true;
    return this.#sayContent(choice, this.#detailsDelta(details), along);
  }

  #sayContent(choice: ChoiceState, delta: string, along: Companions): string {
    this.#hasContent = this.#hasSaid = choice.hasSaid = true;
    return this.#say(choice, delta, along);
  }

  #say(choice: ChoiceState, delta: string, along: Companions): string {
    const { logprobs, extra } = along;
    along.logprobs = "null";
    along.extra = "";
    return this.#event(choice, delta, null, logprobs, extra);
  }
}

/** Returns the same text in one piece of memory. */
function flat(text: string): string {
  return Buffer.from(text).toString();
}

function sourceIndex(index: number | undefined): number {
  return typeof index === "number" && Number.isInteger(index) && index >= 0 && index < MAX_CHOICES ? index : 0;
}

function hasChoices({ choices }: ChatChunk): boolean {
  return Array.isArray(choices) && choices.length > 0;
}

function isText(value: unknown): value is string {
  return typeof value === "string" && value !== "";
}

/** Returns a vendor's own members of a choice, as further members of the JSON object. */
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
        if (choice[name] !== null && choice[name] !== undefined)
          extra += `,${JSON.stringify(name)}:${JSON.stringify(choice[name])}`;
    }
  }
  return extra;
}

/** Returns a vendor's own members of a delta as one delta; empty when there are none. */
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
        if (delta[name] !== null && delta[name] !== undefined)
          members += `${members === "" ? "" : ","}${JSON.stringify(name)}:${JSON.stringify(delta[name])}`;
    }
  }
  return members === "" ? "" : `{${members}}`;
}
