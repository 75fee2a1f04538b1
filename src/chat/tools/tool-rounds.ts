// The rounds of one call with tools (promises 10.2, 10.3): the gateway runs the tool calls of the model concurrently
// and sends the results back, until the model answers, makes calls that the client must run, or reaches the maximum
// number of rounds. Streamed and non-streaming answers follow the same rules.
import type { ChatRequest, FinishReason, Message, ToolCall } from "../../core/chat.ts";
import { asGatewayError, type ErrorCode, GatewayError } from "../../core/errors.ts";
import type { JsonObject } from "../../core/json.ts";
import type { ToolActivity } from "../../core/tool.ts";
import { MultiRoundAnswer } from "./multi-round-answer.ts";
import type { Call } from "../call/call.ts";
import { reserveInAdvance } from "../plan/complete.ts";
import type { OpenAttempt } from "../attempt/run-attempt.ts";
import { everyStage, type Prepared, type RouteCandidate } from "../plan/stages.ts";
import type { ToolRunRecorder } from "./tool-run-recorder.ts";
import type { ToolOutcome, ToolSession } from "./tool-session.ts";
import { nextTurn } from "../../wire/turn.ts";

export type Tell = (activity: ToolActivity) => void;

/** What happens after a round. */
export interface AfterRound {
  /** The calls that the gateway runs now. */
  readonly ours: readonly ToolCall[];
  /** True if the answer ends with this round. */
  readonly ends: boolean;
  /** True if the answer ends only because no further round is allowed, and the client has no calls to run either. */
  readonly isCut: boolean;
}

/** The most tool calls of one call, so that a model cannot fill the memory or the record. */
const MAX_RUNS = 1000;
/** How long tool calls may be started without letting other work run. Checking arguments can take long. */
const TURN_MS = 10;

export class ToolRounds {
  readonly thread: MultiRoundAnswer;
  readonly #session: ToolSession;
  readonly #call: Call;
  readonly #prepare: (request: ChatRequest) => Prepared;
  #request: ChatRequest;
  /** What the next round needs, if it has been prepared already. */
  #prepared: Prepared | null;
  #last: OpenAttempt | null = null;
  /** The calls that ran, and those of the last round that did not, in the model's order. */
  readonly #runs: JsonObject[] = [];

  /** `prepare` finds the candidates for a request. The constructor throws what `prepare` throws. */
  constructor(session: ToolSession, prepare: (request: ChatRequest) => Prepared, call: Call) {
    this.#session = session;
    this.#call = call;
    this.#prepare = prepare;
    this.#request = session.request;
    // a request that cannot be answered must fail before a tool runs
    this.#prepared = prepare(this.#request);
    this.thread = new MultiRoundAnswer(
      (name) => session.ownerOf({ id: "", type: "function", function: { name, arguments: "{}" } }) !== "gateway",
    );
  }

  /**
   * Prepares the next round. The candidate that answered the previous round comes first, because other targets cannot
   * use what it has signed.
   */
  prepared(): Prepared {
    const prepared = this.#prepared ?? this.#prepare(this.#request);
    if (this.#last === null) return prepared;
    // this attempt counts as the winner until another one succeeds
    this.#call.won(this.#last);
    return continuedAt(prepared, this.#last.candidate);
  }

  /** Runs the calls that the client has approved, before the first round. */
  async runApproved(tell: Tell): Promise<void> {
    const { approved } = this.#session;
    if (approved.length === 0) return;
    await reserveInAdvance(this.prepared(), this.#call);
    await this.run(null, approved, tell);
  }

  /**
   * Decides what follows a round. `turn` is the assistant message of that round. Throws `upstream_invalid_response` if
   * it has more calls than can run.
   */
  after(attempt: OpenAttempt, turn: Message, finish: FinishReason | null): AfterRound {
    this.#last = attempt;
    const calls = turn.tool_calls ?? [];
    const ours = calls.filter((call) => this.#session.ownerOf(call) === "gateway");
    if (ours.length === 0) return { ours, ends: true, isCut: false };
    // an answer that was cut off may contain incomplete calls
    const isWhole = finish !== "length" && finish !== "content_filter";
    if (!isWhole || this.#call.record.rounds >= this.#session.maxRounds) {
      this.#runs.push(
        ...ours.map((call) =>
          this.#undone(
            call,
            isWhole
              ? "It was not run: the maximum number of rounds was reached."
              : "It was not run: the model's answer was cut off.",
          ),
        ),
      );
      return { ours: [], ends: true, isCut: isWhole && ours.length === calls.length };
    }
    if (this.#runs.length + ours.length > MAX_RUNS)
      throw new GatewayError(
        "upstream_invalid_response",
        `The model made more tool calls than one request may have (${MAX_RUNS}).`,
      );
    return { ours, ends: ours.length < calls.length, isCut: false };
  }

  #undone({ id, function: { name } }: ToolCall, error: string): JsonObject {
    const places = this.#session.servers.flatMap(({ label, tools }) =>
      tools.map((tool) => ({ server_label: label, ...tool })),
    );
    const place = places.find((tool) => tool.name === name);
    return {
      call_id: id,
      ...(place && { server_label: place.server_label, tool: place.tool }),
      round: this.#call.record.rounds,
      status: "error",
      duration_ms: 0,
      error,
    };
  }

  /** Runs calls concurrently and appends their results to the conversation. Throws errors that end the whole call. */
  async run(turn: Message | null, calls: readonly ToolCall[], tell: Tell): Promise<void> {
    const { record, recorder } = this.#call;
    const { finishReasons, nativeFinishReasons } = record;
    // the call has no finish reason while tools run
    recorder.unfinished();
    const outcomes = await this.#outcomes(turn, calls, tell);
    if (calls.length < (turn?.tool_calls?.length ?? 0)) recorder.finished({ finishReasons, nativeFinishReasons });
    const round = turn === null ? 0 : record.rounds;
    this.#prepared = null;
    const before = new Set(this.#request.messages);
    this.#request = this.#session.next(this.#request, turn, outcomes, round + 1 >= this.#session.maxRounds);
    await this.#call.policies?.searchInAdvance(this.#request.messages.filter((message) => !before.has(message)));
  }

  async #outcomes(turn: Message | null, calls: readonly ToolCall[], tell: Tell): Promise<readonly ToolOutcome[]> {
    const round = turn === null ? 0 : this.#call.record.rounds;
    const first = this.#runs.length;
    this.#runs.push(...calls.map(({ id }) => ({ call_id: id })));
    this.#call.clock.waitBegins();
    try {
      return await Promise.all(
        await this.#begun(calls, (call, index) => this.#runOne(call, round, first + index, tell)),
      );
    } catch (thrown) {
      // the other tool calls are not awaited
      this.#call.lifetime.abandon(thrown);
      throw thrown;
    } finally {
      this.#call.clock.waitEnds();
    }
  }

  /** Starts the tool calls, and lets other work run in between. */
  async #begun(
    calls: readonly ToolCall[],
    begin: (call: ToolCall, index: number) => Promise<ToolOutcome>,
  ): Promise<readonly Promise<ToolOutcome>[]> {
    const { clock } = this.#call.context;
    const begun: Promise<ToolOutcome>[] = [];
    let sinceMs = clock.monotonic();
    for (const [index, call] of calls.entries()) {
      const outcome = begin(call, index);
      // the caller awaits all of them after the last has started
      outcome.catch(() => {});
      begun.push(outcome);
      if (clock.monotonic() - sinceMs < TURN_MS) continue;
      await nextTurn();
      this.#call.signal.throwIfAborted();
      sinceMs = clock.monotonic();
    }
    return begun;
  }

  async #runOne(call: ToolCall, round: number, place: number, tell: Tell): Promise<ToolOutcome> {
    const { recorder, lifetime, signal } = this.#call;
    let run: ToolRunRecorder | null = null;
    let isOver = false;
    const spanId = recorder.newSpanId();
    const end = (code: ErrorCode | null, isError: boolean, resultBytes: number | null): void => {
      ended();
      if (isOver) return;
      isOver = true;
      run?.ended(code, isError, resultBytes);
    };
    // the record may be published while the tool still runs, and must not change afterwards
    const ended = lifetime.began(() => end(asGatewayError(signal.reason).code, true, null));
    const hear: Tell = (activity) => {
      if (isOver) return;
      const { type, server_label: server, tool, duration_ms: ms, error } = activity;
      if (type === "tool_start") run = recorder.beginTool({ callId: call.id, server, tool, round, spanId });
      else {
        this.#runs[place] = {
          call_id: call.id,
          server_label: server,
          tool,
          round,
          status: type === "tool_end" ? "ok" : "error",
          duration_ms: ms ?? 0,
          ...(error !== undefined && { error }),
        };
        run?.answered();
      }
      tell(activity);
    };
    try {
      const outcome = await this.#session.run(call, round, hear, spanId);
      end(outcome.code, outcome.isError, outcome.bytes);
      return outcome;
    } catch (thrown) {
      end(asGatewayError(thrown).code, true, null);
      throw thrown;
    }
  }

  /** Returns `x_gateway_mcp` of the answer. */
  told(): JsonObject {
    const replay = this.#session.replay(this.#request);
    return { rounds: this.#call.record.rounds, calls: this.#runs, ...(replay.length > 0 && { replay }) };
  }
}

/** Returns a plan with one of its candidates before all others. */
function continuedAt(prepared: Prepared, last: RouteCandidate): Prepared {
  for (const stage of everyStage(prepared)) {
    const same = stage.candidates.find(
      ({ key, variant, route, redirectedTo: insteadOf }) =>
        key === last.key &&
        variant === last.variant &&
        route.name === last.route.name &&
        insteadOf === last.redirectedTo,
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
