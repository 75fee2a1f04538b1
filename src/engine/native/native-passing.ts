// Passes on the stream of a provider that speaks the operation of the call, event by event (promise 12.5). Decoder and
// stream normalizer read the same events for what the call needs to know of them; the normalizer writes nothing.
import type { ChatChunk, Usage } from "../../core/chat.ts";
import { TEXT_MEMBERS } from "../../core/delta-members.ts";
import { isSet, isText, type JsonObject } from "../../core/json.ts";
import type { Target } from "../../core/target.ts";
import type { NativeOperation } from "../../providers/interface/native-operation.ts";
import type { SseEvent } from "../../wire/sse.ts";
import { answerKeyFinder, answerWithoutKeys, eventsWithoutKeys } from "../answer/answer-keys.ts";
import type { EventNumbers, Growing, NativeEvents } from "../answer-form.ts";
import { isLongEvent, LONG_TEXT } from "../long-bodies/read-in-turns.ts";
import type { StreamWriter } from "../stream/stream-writer.ts";
import { NativeKeys } from "./native-keys.ts";

export class NativePassing {
  readonly #events: NativeEvents;
  readonly #native: NativeOperation;
  readonly #target: Target;
  /** `null` where there is no key that the provider could repeat. */
  readonly #keys: NativeKeys | null;
  readonly #withoutKeys: (event: SseEvent) => SseEvent;
  /** The provider has answered with one body, of which the form makes the events. */
  #isTranslated = false;

  constructor(events: NativeEvents, native: NativeOperation, target: Target) {
    this.#events = events;
    this.#native = native;
    this.#target = target;
    this.#withoutKeys = eventsWithoutKeys(target.credential);
    const finder = answerKeyFinder(target.credential);
    this.#keys = finder === null ? null : new NativeKeys(finder);
  }

  /** The events with which the stream begins; `null` where those of the form are sent. */
  get opening(): string | null {
    return this.#isTranslated ? null : this.#events.opening;
  }

  /** Called where the provider has answered with one body instead of a stream. */
  translate(): void {
    this.#isTranslated = true;
  }

  /** Returns the text for an event that the decoder has accepted. */
  pass(event: SseEvent): string {
    let passed = "";
    for (const shown of this.#shown(event)) passed += this.#events.pass(shown);
    return passed;
  }

  /** Whether the event is long, or makes long ones, so that it is passed in steps. */
  isLong(event: SseEvent): boolean {
    return isLongEvent(event) || this.#events.repeats?.(event, LONG_TEXT) === true;
  }

  /** Does the same as `pass` in steps, of which each needs a turn of the event loop. Each returns whole events. */
  *steps(event: SseEvent): Generator<string> {
    const events = this.#shown(event);
    yield "";
    for (const shown of events)
      if (this.#events.steps === undefined) yield this.#events.pass(shown);
      else yield* this.#events.steps(shown);
  }

  #shown(event: SseEvent): readonly SseEvent[] {
    const inside = this.#native.eventIn === undefined ? event : this.#native.eventIn(event);
    if (inside === null) return [];
    if (this.#keys === null) return [inside];
    return this.#keys.shown(this.#withoutKeys(inside));
  }

  /** Whether events that differ from passed ones only in their text may pass without being read. */
  passes(events: string): boolean {
    return this.#keys === null || answerWithoutKeys(events, this.#target.credential) === events;
  }

  /** Returns what says whether a further piece of the text may pass so that the last event has lengthened. */
  pieces(): (piece: string) => boolean {
    return this.#keys === null ? () => true : this.#keys.passes();
  }

  get numbers(): EventNumbers | null {
    return this.#events.numbers ?? null;
  }

  /** The text that the last event has lengthened, if the form needs to know it. */
  get growing(): Growing | null {
    return this.#events.growing ?? null;
  }

  /** Returns the events that are held or missing at the end of a complete stream. */
  end(): string {
    let passed = "";
    for (const held of this.#keys?.end() ?? []) passed += this.#events.pass(held);
    return passed + this.#events.end();
  }

  /** Returns the last stage of the stream normalizer, which writes nothing while events are passed on. */
  writer(translating: StreamWriter): StreamWriter {
    return new PassingWriter(translating, this.#events, () => this.#isTranslated);
  }
}

class PassingWriter implements StreamWriter {
  readonly #translating: StreamWriter;
  readonly #passed: Pick<NativeEvents, "hasContent" | "kept">;
  readonly #isTranslated: () => boolean;
  #hasContent = false;

  constructor(
    translating: StreamWriter,
    passed: Pick<NativeEvents, "hasContent" | "kept">,
    isTranslated: () => boolean,
  ) {
    this.#translating = translating;
    this.#passed = passed;
    this.#isTranslated = isTranslated;
  }

  get hasContent(): boolean {
    return this.#isTranslated() ? this.#translating.hasContent : this.#hasContent || this.#passed.hasContent;
  }
  get kept(): number {
    return (this.#isTranslated() ? this.#translating.kept : this.#passed.kept) ?? 0;
  }
  get repeatsEvents(): boolean {
    return this.#isTranslated() ? this.#translating.repeatsEvents : true;
  }

  write(chunk: ChatChunk): string {
    if (this.#isTranslated()) return this.#translating.write(chunk);
    if (!this.#hasContent) this.#hasContent = holdsContent(chunk);
    return "";
  }

  activity(activity: Parameters<StreamWriter["activity"]>[0]): string {
    return this.#translating.activity(activity);
  }

  end(chunk: ChatChunk, total: Usage, report: JsonObject | null): string {
    return this.#isTranslated() ? this.#translating.end(chunk, total, report) : "";
  }

  continued(...round: Parameters<StreamWriter["continued"]>): StreamWriter {
    return this.#translating.continued(...round);
  }
}

function holdsContent({ choices }: ChatChunk): boolean {
  return choices.some(({ delta }) => TEXT_MEMBERS.some((name) => isText(delta?.[name])) || isSet(delta?.tool_calls));
}
