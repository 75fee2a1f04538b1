// Turns a provider's stream into the event stream of the client. The response head is held until the first content or
// an error (promise 7.4); a failure after that is one error event (promise 8.3). The upstream is read only as fast as
// the client reads (promise 8.5).
import { decoderAround, type StreamDecoder } from "../../providers/interface/stream-decoder.ts";
import type { AnswerForm, NativeAnswers, StreamForm } from "../answer-form.ts";
import { sealingAt } from "../carriers/vendor-reasoning.ts";
import { endingUnderGuards } from "../guards/guarded-ending.ts";
import { estimatedUsage } from "../../accounting/estimate.ts";
import { promptTokens } from "../metering/attempt-estimate.ts";
import { summedUsage } from "../../accounting/summed-usage.ts";
import type { ChatChunk, Usage } from "../../core/chat.ts";
import { createAwsEventStreamParser } from "../../wire/aws-event-stream.ts";
import { createNdjsonParser } from "../../wire/ndjson.ts";
import { createSseParser } from "../../wire/sse.ts";
import { decodeUtf8 } from "../../wire/body-bytes.ts";
import type { UpstreamResponse } from "../../wire/upstream.ts";
import { TURNS_BYTES, yieldToLoop } from "../../core/concurrency/event-loop.ts";
import { targetName } from "../../core/target.ts";
import { answerFrame, answerHeaders } from "../answer/answer-frame.ts";
import { chunkOfAnswer } from "../answer/non-streaming-answer.ts";
import { type AnswerStream, type ChunkWriter, ResponseStream } from "./answer-stream.ts";
import { decoderWithoutKeys, eventsWithoutKeys } from "../answer/answer-keys.ts";
import {
  closeAttempt,
  closeRequest,
  type OpenAnswer,
  sendRequests,
  reportedModel,
  collectedBytes,
} from "../attempt/upstream-requests.ts";
import type { AttemptLifetime } from "../attempt/attempt-lifetime.ts";
import type { AttemptRecorder } from "../attempt/attempt-recorder.ts";
import type { Call } from "../call/call.ts";
import { STREAM_HEADERS } from "../call/reply-headers.ts";
import type { RoundAccumulator } from "../tools/multi-round-answer.ts";
import { streamUsage } from "../metering/attempt-meter.ts";
import { ChoiceWriter, mergedStream } from "./fan-out.ts";
import type { Answered, AttemptWork, OpenAttempt } from "../attempt/run-attempt.ts";
import { splitChunk } from "../guards/guarded-chunks.ts";
import { LONG_TEXT } from "../long-bodies/read-in-turns.ts";
import type { StreamUnderGuards } from "../guards/stream-under-guards.ts";
import { readAnswer, requireChoices } from "../answer/read-answer.ts";
import { NativePassing } from "../native/native-passing.ts";
import { streamByBeginning } from "./stream-or-answer.ts";
import { StreamNormalizer } from "./stream-normalizer.ts";
import { type Sending, StreamSession } from "./stream-session.ts";

const PARSERS = {
  sse: createSseParser,
  ndjson: createNdjsonParser,
  "aws-event-stream": createAwsEventStreamParser,
} as const;
/** The most text without content that is held back together with the head. */
const MAX_HELD = 1024 * 1024;

/** A stream that was read up to its first content, and of which nothing has been sent. */
export interface BegunStream {
  readonly stream: AnswerStream;
  readonly normalizer: StreamNormalizer;
  /** `null` when the answer has one round. */
  readonly accumulator: RoundAccumulator | null;
  /** The text that came before and with the first content. */
  readonly held: string;
  /** The events with which the stream begins, where the provider has sent them; `null` where the form makes them. */
  readonly opening: string | null;
  readonly usage: () => Usage;
}

/** `begin` returns what one attempt at the next round adds to a multi-round answer. */
export function streaming(
  call: Call,
  { stream: form, native }: Pick<AnswerForm, "stream" | "native">,
  begin: () => RoundAccumulator | null = () => null,
): AttemptWork<BegunStream> {
  return {
    run: (attempt) => tryStream(attempt, call, form, native, begin()),
    isEmpty: ({ normalizer }) => normalizer.isEmpty,
    discard: ({ stream }) => stream.cancel(),
  };
}

/** Makes one attempt at a stream, up to its first content or its end. Throws GatewayError. */
async function tryStream(
  attempt: OpenAttempt,
  call: Call,
  form: StreamForm,
  native: NativeAnswers | undefined,
  accumulator: RoundAccumulator | null,
): Promise<BegunStream> {
  const { fitted, resolved, outputGuards, requests, lifetime } = attempt;
  const includeUsage = fitted.request.params.stream_options?.include_usage === true;
  const frame = answerFrame(attempt, call);
  const before = accumulator?.writerBefore ?? null;
  const translating =
    before === null ? form.writer(frame, includeUsage, fitted.request) : before.continued(frame, includeUsage);
  const passing =
    fitted.native === undefined
      ? null
      : new NativePassing(native!.stream(sealingAt(attempt, call), frame.isRepeated), fitted.native, resolved.target);
  const normalizer = new StreamNormalizer(frame, passing?.writer(translating) ?? translating, accumulator);
  const decoders = new Map<AttemptRecorder, StreamDecoder>();
  const decoderOf = (index: number) => decoders.get(requests[index]!);
  const used = () => streamUsage(fitted.request, normalizer, decoderOf(0));
  const usage = () => used()?.usage ?? estimatedUsage(promptTokens(fitted.request), normalizer.generated);
  attempt.meter.readFrom(used);
  const isHeldBack = accumulator !== null || outputGuards.length > 0;
  const openStream = (open: OpenAnswer, receiver: ChunkWriter): AnswerStream => {
    const writer = isHeldBack ? listening(receiver, normalizer, lifetime) : receiver;
    const guarded = outputGuards.length === 0 ? null : call.policies!.answers.stream(outputGuards, form.hasBlocks);
    const { maxEventBytes } = call.snapshot.limits;
    const eventStream = ({ body }: UpstreamResponse): AnswerStream => {
      const parser = PARSERS[resolved.provider.framing]({ maxEventBytes });
      const opened = resolved.provider.openStream({ ...open.decode, maxEventBytes });
      decoders.set(open.request, opened);
      const decoder = watched(decoderWithoutKeys(opened, resolved.target.credential), attempt);
      const parts = { body, parser, decoder, writer, guarded, usage, passing, maxEventBytes };
      const search = eventsWithoutKeys(resolved.target.credential);
      const fast = writer === normalizer ? normalizer : null;
      return new ResponseStream({ ...parts, search, normalizer: fast }, call.clock);
    };
    const { framing } = resolved.provider;
    const isCalledJson = /^application\/json/i.test(open.response.header("content-type") ?? "");
    if (!isCalledJson && framing !== "sse") return eventStream(open.response);
    const facts = { framing, isCalledJson, maxBytes: maxEventBytes };
    return streamByBeginning(open.response, facts, call.clock, (response, isStream) => {
      if (isStream) return eventStream(response);
      passing?.translate();
      return jsonAnswerStream({ ...open, response }, attempt, call, writer, guarded, usage);
    });
  };
  const answers = sendRequests(attempt, call);
  const stream =
    answers.length === 1
      ? streamOf(answers[0]!, (open) => openStream(open, normalizer))
      : fannedStream(answers, openStream, normalizer, attempt, call, decoderOf);
  try {
    let held = "";
    while ((!normalizer.hasContent || normalizer.isEmpty) && held.length < MAX_HELD) {
      const text = await stream.next();
      if (text === null) break;
      held += text;
    }
    // nothing has been sent, so that a failure after the first content can still fail the whole attempt
    const failure = stream.failure();
    // oxlint-disable-next-line typescript/only-throw-error
    if (failure !== undefined) throw failure;
    for (const request of requests) {
      request.firstContent();
      request.answeredBy(reportedModel(normalizer.reportedModel, resolved));
    }
    return { stream, normalizer, accumulator, held, opening: passing?.opening ?? null, usage };
  } catch (thrown) {
    stream.cancel();
    throw closeAttempt(thrown, attempt, call);
  }
}

/** Reads what the events hand out, where they may hand out anything. */
function watched(decoder: StreamDecoder, { objects, fitted: { native } }: OpenAttempt): StreamDecoder {
  if (objects === null) return decoder;
  return decoderAround(decoder, {
    ...(decoder.passes !== undefined && { passes: decoder.passes }),
    push(event) {
      objects.saw((native?.eventIn === undefined ? event : native.eventIn(event))?.data ?? "");
      return decoder.push(event);
    },
    end: () => decoder.end(),
  });
}

/**
 * Reports to the attempt's lifetime when the provider has sent content, even where the client gets no text yet, because
 * tools run here or a guard holds it back.
 */
function listening(
  writer: ChunkWriter,
  normalizer: Pick<StreamNormalizer, "hasGenerated">,
  lifetime: AttemptLifetime,
): ChunkWriter {
  return {
    repair(chunk) {
      const repaired = writer.repair(chunk);
      if (!lifetime.hasContent && normalizer.hasGenerated) lifetime.contentCame();
      return repaired;
    },
    serialize: (chunk) => writer.serialize(chunk),
    get isComplete() {
      return writer.isComplete;
    },
    inferFinish: () => writer.inferFinish(),
    finish: (total) => writer.finish(total),
    finishInSteps: (total) => writer.finishInSteps?.(total) ?? null,
  };
}

/**
 * Holds the head for the winning attempt for at most `head_hold_s`. After that the head is sent, and the stream follows
 * once an attempt has won.
 */
export async function replyStream(
  winner: Promise<Answered<BegunStream>>,
  call: Call,
  form: StreamForm,
): Promise<Response> {
  return replySending(
    winner.then((answered) => sendingOfOne(answered, call)),
    call,
    form,
  );
}

/** Sends the stream with its head as soon as it begins. */
export async function replySending(begun: Promise<Sending>, call: Call, form: StreamForm): Promise<Response> {
  const session = new StreamSession(begun, call, form);
  const sending = await session.holdHead();
  const headers = {
    ...sending?.attempt.passedHeaders,
    ...answerHeaders(
      call,
      sending?.attempt.fitted ?? null,
      sending?.attempt.resolved.target ?? null,
      "text/event-stream; charset=utf-8",
    ),
    ...STREAM_HEADERS,
  };
  return new Response(session.readable(), { headers });
}

function streamOf(answer: Promise<OpenAnswer>, openStream: (open: OpenAnswer) => AnswerStream): AnswerStream {
  let stream: AnswerStream | null = null;
  const first = async (): Promise<string | null> => {
    stream = openStream(await answer);
    return stream.next();
  };
  // until the answer has begun, the call's signal ends it
  return { next: () => stream?.next() ?? first(), failure: () => stream?.failure(), cancel: () => stream?.cancel() };
}

function fannedStream(
  answers: readonly Promise<OpenAnswer>[],
  openStream: (open: OpenAnswer, writer: ChunkWriter) => AnswerStream,
  normalizer: StreamNormalizer,
  attempt: OpenAttempt,
  call: Call,
  decoderOf: (index: number) => StreamDecoder | undefined,
): AnswerStream {
  const { fitted, meter } = attempt;
  const writers = answers.map((_, index) => new ChoiceWriter(normalizer, index));
  meter.readFrom((index) => streamUsage(fitted.request, writers[index]!, decoderOf(index)));
  const streams = answers.map((answer, index) =>
    streamOf(answer, (open) => attributed(openStream(open, writers[index]!), open, attempt, call)),
  );
  return mergedStream(streams, () => {
    const summed = summedUsage(writers.map(({ reported }) => reported.usage));
    const text = summed === null ? "" : normalizer.write({ choices: [], usage: summed });
    return text + normalizer.finish(meter.usage!.usage);
  });
}

/** One of several streams, whose failures are recorded with its own upstream request. */
function attributed(stream: AnswerStream, { request }: OpenAnswer, attempt: OpenAttempt, call: Call): AnswerStream {
  return {
    cancel: () => stream.cancel(),
    failure() {
      const failure = stream.failure();
      return failure === undefined ? undefined : closeRequest(request, failure, attempt, call);
    },
    async next() {
      try {
        return await stream.next();
      } catch (thrown) {
        throw closeRequest(request, thrown, attempt, call);
      }
    },
  };
}

/**
 * Streams the answer of a server that ignores `stream` and answers with JSON. A long answer is sent in several chunks.
 */
function jsonAnswerStream(
  open: OpenAnswer,
  attempt: OpenAttempt,
  call: Call,
  writer: ChunkWriter,
  guarded: StreamUnderGuards | null,
  usage: () => Usage,
): AnswerStream {
  let rest: ChatChunk[] | null = null;
  const serialize = (chunks: readonly ChatChunk[]): string => chunks.map((one) => writer.serialize(one)).join("");
  const write = async (chunk: ChatChunk): Promise<string> => {
    if (guarded === null) return writer.serialize(writer.repair(chunk));
    const shown = await guarded.take([writer.repair(await endingUnderGuards(chunk, guarded))]);
    await yieldToLoop();
    return serialize(shown);
  };
  return {
    cancel() {
      guarded?.close();
      open.response.body.cancel();
    },
    failure: () => undefined,
    async next() {
      rest ??= await chunksOf(open, attempt, call, writer);
      for (let chunk = rest.shift(); chunk !== undefined; chunk = rest.shift()) {
        let text = await write(chunk);
        if (rest.length === 0)
          text += (guarded === null ? "" : serialize(await guarded.end())) + writer.finish(usage());
        else await yieldToLoop();
        if (text !== "") return text;
      }
      return null;
    },
  };
}

async function chunksOf(
  open: OpenAnswer,
  { resolved, objects, fitted }: OpenAttempt,
  call: Call,
  writer: ChunkWriter,
): Promise<ChatChunk[]> {
  const bytes = await collectedBytes(open.response.body, call);
  objects?.saw(decodeUtf8(bytes));
  const isLong = bytes.length >= TURNS_BYTES;
  const { answer } = await readAnswer(bytes, open, resolved);
  // what the provider counted is charged, also where the answer cannot be used
  writer.repair(chunkOfAnswer({ ...answer, choices: [] }));
  requireChoices(answer, fitted.request);
  open.response.body.accept();
  const chunk = chunkOfAnswer(answer);
  if (!isLong) return [chunk];
  const pieces = [...splitChunk(chunk, LONG_TEXT)];
  await yieldToLoop();
  return pieces;
}

/** `current` returns the answer that is being read, or was read last; `own` is what differs by the number of rounds. */
export function sendingOf(
  current: () => Answered<BegunStream>,
  own: Pick<Sending, "held" | "opening" | "model" | "next" | "keep" | "note" | "fail">,
): Sending {
  return {
    ...own,
    get attempt() {
      return current().attempt;
    },
    get hasContent() {
      return current().answer.normalizer.hasContent;
    },
    get isFinished() {
      return current().answer.normalizer.isFinished;
    },
    get kept() {
      return current().answer.normalizer.kept;
    },
    settle: (outcome) => current().attempt.settle(outcome),
    cancel: () => current().answer.stream.cancel(),
  };
}

function sendingOfOne(answered: Answered<BegunStream>, call: Call): Sending {
  const {
    answer: { stream, normalizer, held, opening },
    attempt,
  } = answered;
  return sendingOf(() => answered, {
    held,
    opening,
    model: targetName(attempt.resolved.target),
    next: () => stream.next(),
    keep() {
      if (!normalizer.isEmpty) attempt.cached?.keep(normalizer.finishReasons, attempt.objects?.hasHandedOut);
    },
    note: () => noteStream(normalizer, attempt, call),
    fail(thrown) {
      stream.cancel();
      return closeAttempt(thrown, attempt, call);
    },
  });
}

/** Records what a stream has answered and used so far, and charges it. */
export function noteStream(normalizer: StreamNormalizer, attempt: OpenAttempt, call: Call): void {
  const { recorder } = call;
  recorder.finished(normalizer);
  if (normalizer.isFinishInferred) recorder.finishInferred();
  recorder.streamedBy(reportedModel(normalizer.reportedModel, attempt.resolved));
  const used = attempt.meter.usage;
  if (used !== null) attempt.meter.charge(used);
}
