// Sends the rounds of a call with tools as one stream (promise 10.4). Each round is read, its tools run, and the next
// one begins as the client reads.
import { targetName } from "../../core/target.ts";
import type { ReportedActivity } from "../../core/configured/tool.ts";
import type { StreamForm } from "../answer-form.ts";
import type { Answered } from "../attempt/run-attempt.ts";
import { closeAttempt } from "../attempt/upstream-requests.ts";
import type { Call } from "../call/call.ts";
import { type BegunStream, noteStream, replySending, sendingOf, streaming } from "../stream/reply-stream.ts";
import type { Sending } from "../stream/stream-session.ts";
import { complete } from "../plan/complete.ts";
import type { Prepared } from "../plan/stages.ts";
import type { MultiRoundAnswer } from "./multi-round-answer.ts";
import type { AnswerEnd, CompletedRound, RoundSink, ToolRounds } from "./tool-rounds.ts";

/**
 * `opening` lists the tools. This happens while the response head is held back, like everything before the first
 * content (promise 7.4).
 */
export function replyStreamedRounds(opening: Promise<ToolRounds>, call: Call, form: StreamForm): Promise<Response> {
  return replySending(begunRounds(opening, call, form), call, form);
}

async function begunRounds(opening: Promise<ToolRounds>, call: Call, form: StreamForm): Promise<Sending> {
  const sink = new StreamedRounds(call, form);
  const texts = (await opening).run(sink);
  const first = await texts.next();
  return sink.sending(first.done === true ? "" : first.value, texts);
}

class StreamedRounds implements RoundSink {
  readonly #call: Call;
  readonly #form: StreamForm;
  /** The round in progress, or the last one; null before the first round has begun. */
  #round: Answered<BegunStream> | null = null;
  /** Of the first round. */
  #model = "";
  /** Whether the stream of the round is still being read. */
  #isReading = false;
  /** Activities of tools that ran before the first round. */
  readonly #early: ReportedActivity[] = [];

  constructor(call: Call, form: StreamForm) {
    this.#call = call;
    this.#form = form;
  }

  async *round(prepared: Prepared, answer: MultiRoundAnswer): AsyncGenerator<string, CompletedRound> {
    const round = await this.#begin(prepared, answer);
    const { stream, normalizer, accumulator, held } = round.answer;
    const first = this.#withEarlyActivities(held);
    if (first !== "") yield first;
    for (let text = await stream.next(); text !== null; text = await stream.next()) yield text;
    this.#note();
    round.attempt.settle("success");
    answer.writer = normalizer.writer;
    return { attempt: round.attempt, accumulator: accumulator!, finish: normalizer.finishReasons[0] ?? null };
  }

  /** Starts a round and reads it up to its first content, or to its end if it has only calls that run here. */
  async #begin(prepared: Prepared, answer: MultiRoundAnswer): Promise<Answered<BegunStream>> {
    const round = await complete(
      prepared,
      this.#call,
      streaming(this.#call, { stream: this.#form }, () => answer.begin()),
    );
    if (this.#round !== null) {
      const { aborted, reason } = this.#call.signal;
      if (aborted) {
        round.answer.stream.cancel();
        round.attempt.settle("cancelled");
        throw reason;
      }
      this.#call.won(round.attempt);
    } else this.#model = targetName(round.attempt.resolved.target);
    this.#round = round;
    this.#isReading = true;
    return round;
  }

  /** The first event contains the role and must stay the first. */
  #withEarlyActivities(text: string): string {
    if (this.#early.length === 0) return text;
    const at = text.indexOf("\n\n") + 2;
    return text.slice(0, at) + this.activities(this.#early.splice(0)) + text.slice(at);
  }

  activities(activities: readonly ReportedActivity[]): string {
    if (this.#round !== null) return this.#activityEvents(this.#round.answer, activities);
    const { tools } = this.#form;
    if (tools !== undefined) {
      for (const reported of activities) tools.ran(reported);
      return "";
    }
    // before the first content, a failure is still an error with a status of its own
    this.#early.push(...activities);
    return "";
  }

  #activityEvents({ normalizer }: BegunStream, activities: readonly ReportedActivity[]): string {
    return activities.map((activity) => normalizer.activity(activity)).join("");
  }

  end({ isCut, report }: AnswerEnd): string {
    const { normalizer, usage } = this.#round!.answer;
    const { record, recorder } = this.#call;
    const text = normalizer.end(record.usage ?? usage(), isCut, report);
    recorder.finishedWith(normalizer.finishReasons);
    return text;
  }

  /** Returns the stream for a session once `held`, its first text, is there; `texts` has the others. */
  sending(held: string, texts: AsyncGenerator<string, void>): Sending {
    return sendingOf(() => this.#round!, {
      held,
      opening: null,
      model: this.#model,
      async next() {
        const { done, value } = await texts.next();
        return done === true ? null : value;
      },
      // answers of tool servers are never kept
      keep: () => {},
      note: () => this.#note(),
      fail: (thrown) => this.#fail(thrown),
    });
  }

  /** Records the round once, when its stream has ended or the client has left. */
  #note(): void {
    if (!this.#isReading) return;
    this.#isReading = false;
    const round = this.#round!;
    for (const request of round.attempt.requests) request.ended();
    noteStream(round.answer.normalizer, round.attempt, this.#call);
  }

  #fail(thrown: unknown): unknown {
    if (!this.#isReading) return thrown;
    const { answer, attempt } = this.#round!;
    answer.stream.cancel();
    return closeAttempt(thrown, attempt, this.#call);
  }
}
