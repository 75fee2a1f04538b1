// Answers of the Responses API, streamed or not, from the engine's strict answers and chunks.
import type { AnswerForm, StreamForm } from "../../engine/answer-form.ts";
import type { AnswerFrame } from "../../engine/answer/strict-fields.ts";
import type { Sealing } from "../../engine/carriers/vendor-reasoning.ts";
import type { FinishReason } from "../../core/chat.ts";
import type { GatewayError } from "../../core/errors.ts";
import { isObject, type Json, type JsonObject, textOrEmpty } from "../../core/json.ts";
import { answeredItems } from "./answer/answered-items.ts";
import type { Steps } from "../../core/concurrency/steps.ts";
import type { HiddenCarrier } from "./keeping/hidden-carriers.ts";
import { hidingEdits } from "./keeping/hidden-reasoning.ts";
import { keepAnswer, passedEdits } from "./native/native-answers.ts";
import { NativeResponseEvents } from "./native/native-events.ts";
import { chunksOfEvents } from "./recorded-chunks.ts";
import { ResponseWriter } from "./answer/response-writer.ts";
import type { KeepResponse } from "./keeping/response-keeping.ts";
import { errorEvent, eventText, lastWriterIn, SequenceNumbers, sequencePlace } from "./response-events.ts";
import { ToolsBefore } from "./answer/served-tools.ts";
import { endedState, incompleteReason, responseError, type ResponseFrame, responseObject } from "./response-object.ts";

/** Makes the form of one call. `keep` is called with the response, if it is complete or was cut at its bound. */
export function responseAnswers(frame: ResponseFrame, keep: KeepResponse | null): AnswerForm {
  const stream = new ResponseStream(frame, keep);
  return {
    isEngines: false,
    body: (answer) => responseBody(answer, frame, stream.tools, keep),
    stream,
    native: {
      edits: (response) => passedEdits(response, frame),
      hidden: hidingEdits,
      ...(keep !== null && { keep: (response, sealing) => keepAnswer(response, keep, sealing) }),
      stream: (sealing) => stream.native(sealing),
    },
  };
}

function* responseBody(
  answer: JsonObject,
  frame: ResponseFrame,
  tools: ToolsBefore,
  keep: KeepResponse | null,
): Steps<JsonObject> {
  frame.used.model = textOrEmpty(answer["model"]);
  const choices = answer["choices"];
  const choice = Array.isArray(choices) && isObject(choices[0] as Json) ? (choices[0] as JsonObject) : {};
  const finish = (choice["finish_reason"] ?? null) as FinishReason | null;
  const items = yield* answeredItems(choice, frame.memo, tools);
  const output = items.end(incompleteReason(finish) !== null);
  const state = { ...endedState(finish, output, answer["usage"]), tier: answer["service_tier"] };
  const response = responseObject(frame, state);
  keep?.(response, items.hidden);
  return response;
}

/** The stream of one call. Several attempts may write events of it, of which those of one are sent. */
class ResponseStream implements StreamForm {
  readonly hasBlocks = true;
  readonly end = "data: [DONE]\n\n";
  readonly tools: ToolsBefore;
  readonly #frame: ResponseFrame;
  readonly #numbers = new SequenceNumbers();
  readonly #writers: Pick<ResponseWriter, "shown" | "hasContent">[] = [];

  readonly #keep: KeepResponse | null;
  /** What keeps the responses that have ended and of which the last event was not sent yet, by their writers. */
  readonly #ended = new Map<number, () => void>();

  constructor(frame: ResponseFrame, keep: KeepResponse | null) {
    this.#frame = frame;
    this.#keep = keep;
    this.tools = new ToolsBefore(frame.memo.listed);
  }

  opening(model: string | null): string {
    if (model !== null) this.#frame.used.model = model;
    const response = responseObject(this.#frame, { status: "in_progress", output: [], usage: null });
    const place = sequencePlace(null);
    return eventText(place, "response.created", { response }) + eventText(place, "response.in_progress", { response });
  }

  keepAlive(): string {
    const response = responseObject(this.#frame, { status: "in_progress", output: [], usage: null });
    return eventText(sequencePlace(null), "response.in_progress", { response });
  }

  failed(error: GatewayError): string {
    const { lastWriter } = this.#numbers;
    const writer =
      lastWriter === null ? this.#writers.findLast(({ hasContent }) => hasContent) : this.#writers[lastWriter];
    const { code, message, param, entry } = error;
    const response = responseObject(this.#frame, {
      status: "failed",
      output: writer?.shown ?? [],
      usage: null,
      error: responseError(error),
    });
    const place = sequencePlace(null);
    return errorEvent(place, entry.type, { code, message, param }) + eventText(place, "response.failed", { response });
  }

  writer({ model }: AnswerFrame): ResponseWriter {
    this.#frame.used.model = model;
    // of several attempts, each tells its own model to the end
    const frame = { ...this.#frame, used: { model } };
    return this.#added((place, index) => {
      const writer = this.#writer(frame, place, index, null);
      writer.begin((items) => this.tools.addTo(items));
      return writer;
    });
  }

  /** Returns what passes on the events of a provider that speaks the API. */
  native(sealing: Sealing): NativeResponseEvents {
    return this.#added((place, index) => new NativeResponseEvents(this.#frame, place, this.#keepingOf(index), sealing));
  }

  /** An attempt that has ended without content is repeated, so that only what the client gets is kept. */
  sending(text: string): void {
    const writer = this.#ended.size === 0 ? null : lastWriterIn(text);
    if (writer === null) return;
    const keep = this.#ended.get(writer);
    this.#ended.delete(writer);
    keep?.();
  }

  leaving(text: string): string {
    return this.#numbers.numbered(text);
  }

  chunksIn(events: string): readonly JsonObject[] {
    return chunksOfEvents(events);
  }

  #keepingOf(writer: number): KeepResponse | null {
    const keep = this.#keep;
    if (keep === null) return null;
    return (response, hidden) => void this.#ended.set(writer, () => keep(response, hidden));
  }

  #writer(frame: ResponseFrame, place: string, index: number, before: ResponseWriter | null): ResponseWriter {
    const keep = this.#keepingOf(index);
    const next = {
      continued: (writer: ResponseWriter) => this.#continued(frame, writer),
      ended: (response: JsonObject, hidden?: readonly HiddenCarrier[]) => keep?.(response, hidden),
    };
    return new ResponseWriter(frame, place, before, next);
  }

  #continued(frame: ResponseFrame, before: ResponseWriter): ResponseWriter {
    return this.#added((place, index) => this.#writer(frame, place, index, before));
  }

  #added<Writer extends Pick<ResponseWriter, "shown" | "hasContent">>(
    make: (place: string, index: number) => Writer,
  ): Writer {
    const index = this.#writers.length;
    const writer = make(sequencePlace(index), index);
    this.#writers.push(writer);
    return writer;
  }
}
