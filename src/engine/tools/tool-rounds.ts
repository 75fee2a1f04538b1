// The loop of a call with tools (promises 10.2, 10.3): it completes a round, runs the tool calls that the gateway runs,
// and appends their results to the conversation, until the model answers, makes calls that the client must run, or
// reaches the maximum number of rounds. A sink receives the rounds: streamed-rounds.ts or non-streaming-rounds.ts.

// Decides (the answer): What ends the rounds of tools? By: `ToolRounds`. Also: `tool-runs.ts` (`ToolRuns`). Rule: A turn that
// has no call for the gateway, or one for the client; `max_tool_rounds` (10, at most 50) and `max_tool_calls`, after which
// calls are not run; the time of the call. More than 1,000 calls fail it.
import type { ChatRequest, FinishReason, Message, ToolCall } from "../../core/chat.ts";
import type { GrowingBytes } from "../../core/concurrency/shared-bytes.ts";
import type { JsonObject } from "../../core/json.ts";
import type { ReportedActivity } from "../../core/configured/tool.ts";
import { closeAttempt } from "../attempt/upstream-requests.ts";
import type { OpenAttempt } from "../attempt/run-attempt.ts";
import type { Call } from "../call/call.ts";
import { reserveInAdvance } from "../plan/complete.ts";
import { everyStage, type Prepared } from "../plan/stages.ts";
import type { RouteCandidate } from "../plan/candidate.ts";
import { MultiRoundAnswer, type RoundAccumulator } from "./multi-round-answer.ts";
import { notRun, type OnActivity, ToolRuns } from "./tool-runs.ts";
import type { ToolSession } from "./tool-session.ts";

/** Receives the rounds of one answer and makes of them what the client receives. */
export interface RoundSink {
  /**
   * Completes one round and settles its attempt. Yields the text that the client may receive as it arrives; a
   * non-streaming answer has none.
   */
  round(prepared: Prepared, answer: MultiRoundAnswer): AsyncGenerator<string, CompletedRound>;
  /** Returns the text that reports what tools do; empty in a non-streaming answer. */
  activities(activities: readonly ReportedActivity[]): string;
  /** Ends the answer. Returns its last text; empty in a non-streaming answer. */
  end(end: AnswerEnd): string;
}

export interface CompletedRound {
  readonly attempt: OpenAttempt;
  readonly accumulator: RoundAccumulator;
  readonly finish: FinishReason | null;
}

export interface AnswerEnd {
  /** The assistant message of the last round. */
  readonly turn: Message;
  /** True if the answer ends only because no further round is allowed, and the client has no calls to run either. */
  readonly isCut: boolean;
  /** `x_gateway_mcp` of the answer. */
  readonly report: JsonObject;
}

/** What follows a round. */
interface AfterRound {
  /** The calls that the gateway runs now. */
  readonly calls: readonly ToolCall[];
  /** True if the answer ends with this round. */
  readonly ends: boolean;
  readonly isCut: boolean;
}

export class ToolRounds {
  readonly #session: ToolSession;
  readonly #call: Call;
  readonly #prepare: (request: ChatRequest) => Prepared;
  readonly #answer: MultiRoundAnswer;
  readonly #runs: ToolRuns;
  #request: ChatRequest;
  /** What the next round needs, if it has been prepared already. */
  #prepared: Prepared | null;
  #last: OpenAttempt | null = null;
  /** The messages that the rounds have added to the conversation, as the client sees them. */
  readonly #replay: Message[] = [];
  /** The memory of what the rounds have added, which is sent again with every further round. */
  readonly #added: GrowingBytes;

  /** `prepare` finds the candidates for a request. The constructor throws what `prepare` throws. */
  constructor(session: ToolSession, prepare: (request: ChatRequest) => Prepared, call: Call) {
    this.#session = session;
    this.#call = call;
    this.#prepare = prepare;
    this.#request = session.request;
    this.#runs = new ToolRuns(session, call);
    this.#added = call.lifetime.growing();
    // a request that cannot be answered must fail before a tool runs
    this.#prepared = prepare(this.#request);
    this.#answer = new MultiRoundAnswer(
      (name) => session.ownerOfName(name) !== "gateway",
      session.request.options.legacyFunctions,
    );
  }

  /** Runs all rounds. Yields the texts that the sink makes of them; each step runs only when the next text is asked for. */
  async *run(sink: RoundSink): AsyncGenerator<string, void> {
    const { approved } = this.#session;
    if (approved.length > 0) {
      (await reserveInAdvance(this.#preparedRound(), this.#call))?.countCall();
      yield* this.#runTools(null, approved, sink);
    }
    for (;;) {
      const round = yield* sink.round(this.#preparedRound(), this.#answer);
      this.#answer.continueAfter(round.accumulator);
      this.#last = round.attempt;
      const { turn, calls, ends, isCut } = this.#after(round);
      if (calls.length > 0) {
        this.#added.grownBy(2 * round.accumulator.kept);
        yield* this.#runTools(turn, calls, sink);
      }
      if (ends) {
        const text = sink.end({ turn, isCut, report: this.#report() });
        if (text !== "") yield text;
        return;
      }
      this.#call.recorder.nextRound();
    }
  }

  /**
   * Prepares the next round. The candidate that answered the previous round comes first, because other targets cannot
   * use what it has signed.
   */
  #preparedRound(): Prepared {
    const prepared = this.#prepared ?? this.#prepare(this.#request);
    if (this.#last === null) return prepared;
    // this attempt counts as the winner until another one succeeds
    this.#call.won(this.#last);
    return continuedAt(prepared, this.#last.candidate);
  }

  /** Decides what follows a round. Throws `upstream_invalid_response` if its message is too long or has too many calls. */
  #after({ attempt, accumulator, finish }: CompletedRound): AfterRound & { readonly turn: Message } {
    try {
      const turn = accumulator.turn(finish);
      return { turn, ...this.#afterTurn(turn, finish) };
    } catch (thrown) {
      throw closeAttempt(thrown, attempt, this.#call);
    }
  }

  #afterTurn({ tool_calls: all = [] }: Message, finish: FinishReason | null): AfterRound {
    const calls = all.filter((call) => this.#session.ownerOf(call) === "gateway");
    if (calls.length === 0) return { calls, ends: true, isCut: false };
    // an answer that was cut off may contain incomplete calls
    const isWhole = finish !== "length" && finish !== "content_filter";
    const isLast = this.#call.record.rounds >= this.#session.maxRounds;
    if (!isWhole || isLast || this.#runs.isFull) {
      this.#runs.skip(
        calls,
        isWhole ? notRun(isLast ? "rounds" : "tool calls") : "It was not run: the model's answer was cut off.",
      );
      return { calls: [], ends: true, isCut: isWhole && calls.length === all.length };
    }
    this.#runs.requireRoom(calls.length);
    return { calls, ends: calls.length < all.length, isCut: false };
  }

  /**
   * Runs tool calls and prepares the request of the next round. `turn` is the message with the calls, or null for calls
   * that the client has approved. Yields the texts about their activities as they happen.
   */
  async *#runTools(turn: Message | null, calls: readonly ToolCall[], sink: RoundSink): AsyncGenerator<string, void> {
    for await (const activities of activitiesDuring((onActivity) => this.#advance(turn, calls, onActivity))) {
      const text = sink.activities(activities);
      if (text !== "") yield text;
    }
  }

  /** Runs calls and appends their results to the conversation. Throws errors that end the whole call. */
  async #advance(turn: Message | null, calls: readonly ToolCall[], onActivity: OnActivity): Promise<void> {
    const { record, recorder } = this.#call;
    const { finishReasons, nativeFinishReasons } = record;
    const round = turn === null ? 0 : record.rounds;
    // the call has no finish reason while tools run
    recorder.unfinished();
    const outcomes = await this.#runs.run(calls, round, onActivity);
    for (const { bytes } of outcomes) this.#added.grownBy(bytes ?? 0);
    if (calls.length < (turn?.tool_calls?.length ?? 0)) recorder.finished({ finishReasons, nativeFinishReasons });
    this.#prepared = null;
    const isLast = round + 1 >= this.#session.maxRounds || this.#runs.isFull;
    const next = this.#session.next(this.#request, turn, outcomes, isLast);
    this.#request = next.request;
    this.#replay.push(...next.replay);
    await this.#call.policies?.requests.searchInAdvance(next.added);
  }

  #report(): JsonObject {
    return {
      rounds: this.#call.record.rounds,
      calls: this.#runs.rows,
      ...(this.#replay.length > 0 && { replay: this.#replay }),
    };
  }
}

/** Yields the activities that `work` reports, as they happen. Rejects as `work` does, after its last activities. */
async function* activitiesDuring(
  work: (onActivity: OnActivity) => Promise<void>,
): AsyncGenerator<readonly ReportedActivity[], void> {
  const waiting: ReportedActivity[] = [];
  let isOver = false;
  let wake = (): void => {};
  const working = work((reported) => {
    waiting.push(reported);
    wake();
  });
  const over = (): void => {
    isOver = true;
    wake();
  };
  working.then(over, over);
  for (;;) {
    while (waiting.length === 0 && !isOver) await new Promise<void>((resolve) => (wake = resolve));
    if (waiting.length === 0) break;
    yield waiting.splice(0);
  }
  await working;
}

/** Returns a plan with one of its candidates before all others. */
function continuedAt(prepared: Prepared, last: RouteCandidate): Prepared {
  for (const stage of everyStage(prepared)) {
    const same = stage.candidates.find(
      ({ key, variant, route, redirect }) =>
        key === last.key && variant === last.variant && route.name === last.route.name && redirect === last.redirect,
    );
    if (same !== undefined)
      return {
        ...prepared,
        stages: [
          {
            ...stage,
            label: `${same.target.name}, which answered the previous round`,
            candidates: [same],
            stickyKey: null,
          },
          ...prepared.stages,
        ],
      };
  }
  return prepared;
}
