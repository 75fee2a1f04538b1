// A provider's stream -> the event stream of the client. The head is held until the first content or an error (decisions 7.4); after it a failure is
// one error event (8.3). Reading follows the client: a client that does not read stops the reading from upstream (8.5).
import { estimatedUsage } from "../accounting/estimate.ts";
import type { Usage } from "../core/chat.ts";
import { asGatewayError, errorBody, GatewayError } from "../core/errors.ts";
import { MalformedAnswer } from "../providers/provider.ts";
import { createAwsEventStreamParser } from "../wire/aws-event-stream.ts";
import { createNdjsonParser } from "../wire/ndjson.ts";
import { createSseParser } from "../wire/sse.ts";
import { answerFrame, answerHeaders } from "./answer-frame.ts";
import { type AnswerStream, type ChunkWriter, chunkOfAnswer, openAnswerStream } from "./answer-stream.ts";
import { attempts, closeAttempt, type OpenAnswer } from "./attempt.ts";
import type { AttemptScope } from "./attempt-scope.ts";
import type { Call } from "./call.ts";
import { charge, chargeUntold } from "./call-price.ts";
import { ChoiceWriter, mergedStream, summedUsage } from "./fan-out.ts";
import type { Outcome } from "../routing/health.ts";
import { type Attempting, outcomeOf, type Tried, withAttempts, type Won } from "./complete.ts";
import type { Resolved } from "./resolve.ts";
import { StreamGuard } from "./guard-answer.ts";
import { strictUsage } from "./strict-fields.ts";
import { StreamGrammar } from "./stream-grammar.ts";

const PARSERS = { sse: createSseParser, ndjson: createNdjsonParser, "aws-event-stream": createAwsEventStreamParser } as const;
const DONE = "data: [DONE]\n\n";
const KEEP_ALIVE = ": keep-alive\n\n";
/** Text without content that is held back for its head at most. */
const MAX_HELD = 1024 * 1024;

/** A stream up to its first content: nothing of it has been sent. */
export interface BegunStream {
  readonly stream: AnswerStream;
  readonly grammar: StreamGrammar;
  /** Text that came before and with the first content. */
  readonly held: string;
  readonly usage: () => Usage;
}

export function streaming(call: Call): Attempting<BegunStream> {
  return { run: (tried) => tryStream(tried, call), isEmpty: ({ grammar }) => grammar.isEmpty, usage: ({ grammar }) => grammar.reportedUsage, discard: ({ stream }) => stream.cancel() };
}

/** One attempt at a stream, up to its first content or its end. Throws GatewayError. */
async function tryStream(tried: Tried, call: Call): Promise<BegunStream> {
  const { fitted, resolved, route, outputGuards, scope } = tried;
  const includeUsage = fitted.request.params.stream_options?.include_usage === true;
  const grammar = new StreamGrammar(answerFrame(call, fitted, resolved, route), includeUsage, outputGuards.length === 0 ? null : new StreamGuard(outputGuards, call.policies!.guardSpoke));
  const usage = () => grammar.reportedUsage ?? estimatedUsage(fitted.request.messages, grammar.generated);
  scope.reported = () => grammar.reportedUsage;
  scope.usage = () => grammar.reportedUsage ?? (grammar.hasGenerated ? usage() : null);
  const openStream = (open: OpenAnswer, writer: ChunkWriter): AnswerStream => {
    if (/^application\/json/i.test(open.response.header("content-type") ?? "")) return oneChunk(open, resolved, call, writer, usage);
    const parser = PARSERS[resolved.provider.framing]({ maxEventBytes: call.snapshot.limits.maxEventBytes });
    return openAnswerStream(open.response.body, parser, resolved.provider.openStream(open.decode), writer, call, usage);
  };
  const answers = attempts(fitted.request, resolved, call, scope);
  const stream = answers.length === 1 ? streamOf(answers[0]!, (open) => openStream(open, grammar)) : fannedStream(answers, openStream, grammar, usage, scope);
  try {
    let held = "";
    while ((!grammar.hasContent || grammar.isEmpty) && held.length < MAX_HELD) {
      const text = await stream.next();
      if (text === null) break;
      held += text;
    }
    // nothing has been sent: what failed behind the first content may still fail as a whole
    const failure = stream.failure();
    // oxlint-disable-next-line typescript/only-throw-error
    if (failure !== undefined) throw failure;
    const elapsedMs = call.elapsedMs();
    for (const attempt of scope.attempts) attempt.firstContentMs = elapsedMs;
    return { stream, grammar, held, usage };
  } catch (thrown) {
    stream.cancel();
    if (grammar.hasGenerated && isOurRefusal(thrown)) chargeUntold(call, tried, usage(), grammar.reportedUsage === null);
    const record = scope.attempts.at(-1);
    throw record === undefined ? thrown : closeAttempt(record, thrown, resolved, call);
  }
}

function isOurRefusal(thrown: unknown): boolean {
  return thrown instanceof GatewayError && thrown.code === "policy_violation";
}

/** The head is held for the winner at most `head_hold_s`; after that it goes first, and the winner comes when it comes. */
export async function replyStream(winner: Promise<Won<BegunStream>>, call: Call): Promise<Response> {
  const session = new StreamSession(winner, call);
  const won = await session.holdHead();
  const headers = answerHeaders(call, won?.tried.fitted ?? null, won?.tried.resolved.target ?? null, "text/event-stream; charset=utf-8");
  headers["cache-control"] = "no-cache, no-transform";
  headers["x-accel-buffering"] = "no";
  return new Response(session.readable(), { headers });
}

function streamOf(answer: Promise<OpenAnswer>, openStream: (open: OpenAnswer) => AnswerStream): AnswerStream {
  let stream: AnswerStream | null = null;
  const first = async (): Promise<string | null> => {
    stream = openStream(await answer);
    return stream.next();
  };
  // until the answer is open, the call's signal ends it
  return { next: () => stream?.next() ?? first(), failure: () => stream?.failure(), cancel: () => stream?.cancel() };
}

function fannedStream(answers: readonly Promise<OpenAnswer>[], openStream: (open: OpenAnswer, writer: ChunkWriter) => AnswerStream, grammar: StreamGrammar, usage: () => Usage, scope: AttemptScope): AnswerStream {
  const writers = answers.map((_, index) => new ChoiceWriter(grammar, index));
  scope.reported = (index) => strictUsage(writers[index]?.usage);
  const streams = answers.map((answer, index) => streamOf(answer, (open) => openStream(open, writers[index]!)));
  const merged = mergedStream(streams, () => {
    const summed = summedUsage(writers.map((writer) => writer.usage));
    return (summed === null ? "" : grammar.write({ choices: [], usage: summed })) + grammar.finish(summed ?? usage());
  });
  const cancel = (): void => {
    merged.cancel();
    scope.end(new GatewayError("upstream_error", "Another part of the answer failed."));
  };
  return { ...merged, cancel };
}

/** A server that ignores `stream` and answers with JSON. */
function oneChunk(open: OpenAnswer, resolved: Resolved, call: Call, writer: ChunkWriter, usage: () => Usage): AnswerStream {
  let told = false;
  return {
    cancel: () => open.response.body.cancel(),
    failure: () => undefined,
    async next() {
      if (told) return null;
      told = true;
      const text = await call.waiting(open.response.body.text(call.snapshot.limits.maxAnswerBytes));
      const answer = resolved.provider.decodeResponse(text, open.decode);
      if (answer.choices.length === 0) throw new MalformedAnswer("The provider's answer has no choices.");
      // a plain answer is whole by its transport, also where the server names no reason
      const choices = answer.choices.map((choice) => ({ ...choice, finish_reason: choice.finish_reason ?? ("stop" as const) }));
      return writer.write(chunkOfAnswer({ ...answer, choices })) + writer.finish(usage());
    },
  };
}

/** A winner that nobody waits for any more: the client left before it had its first text. */
function letGo({ answer, settle }: Won<BegunStream>): void {
  answer.stream.cancel();
  settle("cancelled");
}

/** The life of one streamed reply: what is held, what waits, how it ends. */
class StreamSession {
  readonly #winner: Promise<Won<BegunStream>>;
  readonly #call: Call;
  #won: Won<BegunStream> | null = null;
  #held = "";
  #over = false;
  #left = false;
  /** Text is on its way and the client has not asked for more. */
  #awaitsClient = false;
  /** The client has asked for more, and waits. */
  #isAsked = false;
  /** What a client that did not read when the call was closed finds when it reads on. */
  #rest: string | null = null;
  #keepAlive: ReturnType<typeof setTimeout> | undefined;
  #lastSentMs = 0;

  constructor(winner: Promise<Won<BegunStream>>, call: Call) {
    this.#winner = winner;
    this.#call = call;
    // while the head waits alone nobody may be listening any more
    winner.catch(() => {});
    call.signal.addEventListener("abort", this);
  }

  /** The time of the call is over. A read that is under way fails by itself; where the client does not read, the call is closed all the same. */
  handleEvent(): void {
    const { reason } = this.#call.signal;
    if (this.#over || this.#isAsked || asGatewayError(reason).code === "client_closed") return;
    if (this.#awaitsClient) this.#call.waitEnds();
    this.#awaitsClient = false;
    this.#rest = this.#held + (this.#won?.answer.grammar.isFinished === true ? this.#complete() : this.#failed(reason));
  }

  /** Null when the time is over and the head has to go first. Throws what the engine gave up with. */
  async holdHead(): Promise<Won<BegunStream> | null> {
    let timer: ReturnType<typeof setTimeout> | undefined;
    const late = new Promise<null>((resolve) => (timer = setTimeout(resolve, this.#call.snapshot.limits.headHoldMs, null)));
    try {
      const won = await Promise.race([this.#winner, late]);
      if (won !== null) this.#take(won);
      return won;
    } finally {
      clearTimeout(timer);
    }
  }

  #take(won: Won<BegunStream>): void {
    this.#won = won;
    this.#held = won.answer.held;
    this.#call.won(won.tried);
    if (won.answer.grammar.hasContent) this.#call.record.firstContentMs = this.#call.elapsedMs();
  }

  /** Text, which Bun's server encodes where it writes: a copy less for each piece. */
  readable(): ReadableStream<string> {
    return new ReadableStream<string>(
      {
        start: (controller) => this.#startKeepAlive(controller),
        pull: async (controller) => {
          if (this.#awaitsClient) this.#call.waitEnds();
          this.#awaitsClient = false;
          this.#isAsked = true;
          const text = await this.#text();
          if (this.#over && this.#call.written !== null) await this.#call.written;
          this.#isAsked = false;
          this.#lastSentMs = this.#call.context.clock.monotonic();
          if (this.#left) return;
          if (text === null) return controller.close();
          controller.enqueue(text);
          // until it reads on, it is the client that is waited for
          this.#awaitsClient = true;
          this.#call.waitBegins();
        },
        cancel: () => this.#cancelled(),
      },
      { highWaterMark: 0 },
    );
  }

  /** The next text; the failure of a stream that has begun is text as well. */
  async #text(): Promise<string | null> {
    if (this.#over) {
      const rest = this.#rest;
      this.#rest = null;
      return rest;
    }
    try {
      if (this.#won === null) {
        const won = await this.#winner;
        if (this.#over) return null;
        this.#take(won);
      }
      if (this.#held !== "") {
        const held = this.#held;
        this.#held = "";
        return held;
      }
      return (await this.#won!.answer.stream.next()) ?? this.#complete();
    } catch (thrown) {
      // the client left while the read was under way: the call is closed
      if (this.#over) return null;
      return this.#failed(thrown);
    }
  }

  #failed(thrown: unknown): string {
    return this.#errorEvent(asGatewayError(withAttempts(this.#won === null ? thrown : this.#close(thrown, this.#won), this.#call)));
  }

  #complete(): string {
    this.#call.record.status = 200;
    this.#settle("success");
    return DONE;
  }

  #errorEvent(error: GatewayError): string {
    this.#call.failed(error);
    this.#settle(outcomeOf(error, this.#call, this.#won?.tried.scope.attempts.at(-1)));
    return `data: ${JSON.stringify(errorBody(error, this.#call.traceId))}\n\n${DONE}`;
  }

  #cancelled(): void {
    this.#left = true;
    this.#call.cancel();
    this.#won?.answer.stream.cancel();
    if (this.#over) return;
    const attempt = this.#call.record.attempts.at(-1);
    if (attempt !== undefined) attempt.code = "client_closed";
    this.#call.record.status = 499;
    this.#call.record.code = "client_closed";
    this.#settle("cancelled");
  }

  #settle(outcome: Outcome): void {
    if (this.#over) return;
    this.#over = true;
    clearTimeout(this.#keepAlive);
    this.#call.signal.removeEventListener("abort", this);
    const { record } = this.#call;
    for (const attempt of record.attempts) attempt.totalMs ??= this.#call.elapsedMs();
    if (this.#won !== null) {
      const { answer: { grammar, usage }, tried } = this.#won;
      record.finishReasons = [...grammar.finishReasons];
      record.nativeFinishReasons = [...grammar.nativeFinishReasons];
      const reported = grammar.reportedUsage;
      record.usage = reported ?? (grammar.hasContent ? usage() : null);
      record.usageSource = record.usage === null ? null : reported === null ? "estimated" : "provider";
      if (record.usage !== null) charge(this.#call, tried.fitted.request, tried.resolved, record.usage);
      this.#won.settle(outcome);
    } else this.#winner.then(letGo, () => {});
    this.#call.publish();
  }

  /** Ends the upstream and gives the error that the call fails with. */
  #close(thrown: unknown, { answer, tried }: Won<BegunStream>): unknown {
    answer.stream.cancel();
    return closeAttempt(tried.scope.attempts.at(-1)!, thrown, tried.resolved, this.#call);
  }

  /** One timer that looks how long nothing was sent, not one for each chunk. */
  #startKeepAlive(controller: ReadableStreamDefaultController<string>): void {
    const { keepAliveMs } = this.#call.snapshot.limits;
    this.#lastSentMs = this.#call.context.clock.monotonic();
    // the head had to go before there was anything to send: a comment takes it along
    if (this.#won === null) controller.enqueue(KEEP_ALIVE);
    const look = (): void => {
      const quietMs = this.#call.context.clock.monotonic() - this.#lastSentMs;
      if (quietMs >= keepAliveMs) {
        // a client that does not read gets none: they would pile up, and one that reads slowly would get nothing else
        if (this.#isAsked && (controller.desiredSize ?? -1) >= 0) controller.enqueue(KEEP_ALIVE);
        this.#lastSentMs = this.#call.context.clock.monotonic();
      }
      this.#keepAlive = setTimeout(look, Math.max(1, keepAliveMs - (quietMs >= keepAliveMs ? 0 : quietMs)));
    };
    this.#keepAlive = setTimeout(look, keepAliveMs);
  }
}
