// How an operation writes an answer of generated text. The engine makes every answer strict in its own form, which is
// that of chat completions, and hands it over here. A form that depends on the call is made anew for each call.
import type { ChatRequest } from "../core/chat.ts";
import type { GatewayError } from "../core/errors.ts";
import type { JsonObject } from "../core/json.ts";
import type { Steps } from "../core/concurrency/steps.ts";
import type { JsonEdit } from "../core/request/json-edit.ts";
import type { ReportedActivity } from "../core/configured/tool.ts";
import type { SessionServer } from "./tools/tool-session.ts";
import type { AnswerFrame } from "./answer/strict-fields.ts";
import type { Sealing } from "./carriers/vendor-reasoning.ts";
import type { SseEvent } from "../wire/sse.ts";
import type { StreamWriter } from "./stream/stream-writer.ts";

/** Which target one of several rounds of tools has answered, and how much of the joined answer is its own. */
export interface RoundOrigin {
  /** `<provider>:<model_name>`. */
  readonly model: string;
  /** The number of its reasoning details. */
  readonly details: number;
}

export interface AnswerForm {
  /** Whether the body is the engine's own, which the thread of long bodies may have written. */
  readonly isEngines: boolean;
  /**
   * Makes the body of a non-streaming answer, in steps that are short however long the answer is. `request` is as the
   * target got it. `rounds` says of what an answer is joined; absent for an answer of one target.
   */
  body(answer: JsonObject, request: ChatRequest, rounds?: readonly RoundOrigin[]): Steps<JsonObject>;
  readonly stream: StreamForm;
  /** Absent in a form that no provider is asked in. */
  readonly native?: NativeAnswers;
}

/** How what a provider answered in the form itself is passed on (promise 12.5). */
export interface NativeAnswers {
  /**
   * Returns the changes of an answer: the model that the client named, and what the form requires and the provider left
   * out. Of a long answer, `answer` has only what this depends on. `isRepeated`: another call has had the answer too, so
   * that its id is replaced (promise 13.5).
   */
  readonly edits: (answer: JsonObject, isRepeated: boolean) => readonly JsonEdit[];
  /** Returns the changes of an answer of which the client is not shown the encrypted reasoning; absent where none is asked for. */
  readonly hidden?: (answer: JsonObject) => readonly JsonEdit[];
  /** Called with an answer after its changes, which has its encrypted reasoning; absent where none is kept. */
  readonly keep?: (answer: JsonObject, sealing: Sealing) => void;
  /** Begins a stream, which is that of one attempt. */
  stream(sealing: Sealing, isRepeated: boolean): NativeEvents;
}

/** A text of the answer, as far as the client has it. */
export interface Growing {
  /** Adds a piece that has passed. Its number is 0 where pieces have none. Throws MalformedAnswer for more than is kept. */
  grow(piece: string, number: number): void;
}

/** How the numbers of events are passed on, which are written when the events leave. */
export interface EventNumbers {
  /** What stands in a passed event in place of its number. */
  readonly place: string;
  /**
   * Returns events that have the numbers of the provider, each of them one more than that of the event before, the
   * first being `first`, as they are passed on.
   */
  run(events: string, first: number, count: number): string;
}

/** Passes on the events of one stream, which the provider's decoder has accepted. */
export interface NativeEvents {
  /** Absent where events have no numbers. */
  readonly numbers?: EventNumbers;
  /** The events with which the stream begins, as far as they have come. They are not returned by `pass`. */
  readonly opening: string;
  /** Whether an event has come that brings something of the answer. */
  readonly hasContent: boolean;
  /** How many characters of the answer are kept for later events. Absent where none are. */
  readonly kept?: number;
  /** What the last event has lengthened, so that pieces that pass without being read lengthen it too. */
  readonly growing?: Growing | null;
  /** Returns the text for the client: that of the event, with what had to come before it. */
  pass(event: SseEvent): string;
  /**
   * Does the same in steps, each of which can be done in one turn of the event loop. Each returns whole events, or
   * nothing. Absent in a form that adds no long texts to an event.
   */
  steps?(event: SseEvent): Iterable<string>;
  /** Whether the event may be answered with events that repeat what is kept of the answer, and at least so much of it. */
  repeats?(event: SseEvent, characters: number): boolean;
  /** Returns the events that are missing at the end of a stream that is complete. */
  end(): string;
}

/** Learns what tools of tool servers do, for a form whose answers have items for it. */
export interface ToolsForm {
  /** Called once, before the first round. */
  listed(servers: readonly SessionServer[]): void;
  /** Called for tools that run before the first round; later ones are reported to the writer of the round. */
  ran(reported: ReportedActivity): void;
}

export interface StreamForm {
  /** Whether clients read an answer in blocks, in the order in which they come: a text ends where another block begins. */
  readonly hasBlocks: boolean;
  /** Absent in a form that shows no lists of tools. */
  readonly tools?: ToolsForm;
  /**
   * Returns the events with which every stream begins. It is called once, and its text sent before all other: with the
   * first content, or with the head where that goes before any content. `model` is that of the attempt whose answer is
   * sent, as its frame has it; null where it is not known yet.
   */
  opening(model: string | null): string;
  /** Returns what is sent while nothing comes, and with a head that goes before any content and has no opening. */
  keepAlive(): string;
  /** Sent last, whether the answer is complete or has failed. */
  readonly end: string;
  /** Returns the event of a failure after the head was sent. */
  failed(error: GatewayError, traceId: string): string;
  /** Returns the writer of one attempt at the first round. `request` is as the target got it. */
  writer(frame: AnswerFrame, includeUsage: boolean, request: ChatRequest): StreamWriter;
  /**
   * Called with each text that is about to be sent, before the wait for what holds up the call: what a client may name once
   * it has the text is kept now. Of attempts that are given up, no text is sent.
   */
  sending?(text: string): void;
  /**
   * Returns a text as it is sent. It is called once for each text, in the order of sending, before `chunksIn`; where it is
   * absent, texts are sent as they were written.
   */
  leaving?(text: string): string;
  /** Returns the chunks of chat completions that say the same as whole events. Called where content is kept. */
  chunksIn(events: string): readonly JsonObject[];
}
