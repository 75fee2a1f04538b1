// Runs the tool calls of one round concurrently, and keeps a row for each of them: in the record of the call, and in
// `x_gateway_mcp.calls` of its answer (promises 10.2, 10.4).

// Decides (the answer): What becomes of a running tool when the client leaves? By: `ToolRuns`. Also:
// `mcp/server-connection.ts`. Rule: The tool server is told that the call was cancelled. The row of the call is published
// at once and has the run with the code `client_closed`. A background call goes on.
import type { ToolCall } from "../../core/chat.ts";
import { asGatewayError, type ErrorCode, GatewayError } from "../../core/errors.ts";
import type { JsonObject } from "../../core/json.ts";
import type { ReportedActivity } from "../../core/configured/tool.ts";
import { inTurns, type Steps } from "../../core/concurrency/steps.ts";
import type { Call } from "../call/call.ts";
import type { ToolRunRecorder } from "../call/tool-run-recorder.ts";
import type { ToolOutcome, ToolSession } from "./tool-session.ts";

export type OnActivity = (reported: ReportedActivity) => void;

/** The most tool calls of one call, so that a model cannot fill the memory or the record. */
const MAX_RUNS = 1000;

export function notRun(what: "rounds" | "tool calls"): string {
  return `It was not run: the maximum number of ${what} was reached.`;
}

/** What runs the calls. */
export type RunningSession = Pick<ToolSession, "servers" | "maxCalls" | "run">;

export class ToolRuns {
  readonly #session: RunningSession;
  readonly #call: Call;
  /** The calls that ran, and those of the last round that did not, in the model's order. */
  readonly #rows: JsonObject[] = [];

  constructor(session: RunningSession, call: Call) {
    this.#session = session;
    this.#call = call;
  }

  get rows(): readonly JsonObject[] {
    return this.#rows;
  }

  /** Whether the client allows no further call. */
  get isFull(): boolean {
    const { maxCalls } = this.#session;
    return maxCalls !== null && this.#rows.length >= maxCalls;
  }

  /** Throws `upstream_invalid_response` if no `count` further calls can run. */
  requireRoom(count: number): void {
    if (this.#rows.length + count > MAX_RUNS)
      throw new GatewayError(
        "upstream_invalid_response",
        `The model made more tool calls than one request may have (${MAX_RUNS}).`,
      );
  }

  /** Notes calls that the gateway does not run. `error` says why. */
  skip(calls: readonly ToolCall[], error: string): void {
    const offered = this.#session.servers.flatMap(({ label, tools }) =>
      tools.map(({ tool, name }) => ({ server_label: label, tool, name })),
    );
    for (const { id, function: called } of calls) {
      const place = offered.find(({ name }) => name === called.name);
      this.#rows.push({
        call_id: id,
        ...(place && { server_label: place.server_label, tool: place.tool }),
        round: this.#call.record.rounds,
        status: "error",
        duration_ms: 0,
        error,
      });
    }
  }

  /** Runs calls concurrently. `round` is 0 before the first round. Rejects with errors that end the whole call. */
  async run(calls: readonly ToolCall[], round: number, onActivity: OnActivity): Promise<readonly ToolOutcome[]> {
    const first = this.#rows.length;
    this.#rows.push(...calls.map(({ id }) => ({ call_id: id })));
    const { context, signal } = this.#call;
    this.#call.clock.waitBegins();
    try {
      const begun = this.#begun(calls, (call, index) => this.#runOne(call, round, first + index, onActivity));
      return await Promise.all(await inTurns(begun, context.clock, signal));
    } catch (thrown) {
      // the other tool calls are not awaited
      this.#call.lifetime.abandon(thrown);
      throw thrown;
    } finally {
      this.#call.clock.waitEnds();
    }
  }

  /** Starts the tool calls in steps, because checking arguments can take long. */
  *#begun(
    calls: readonly ToolCall[],
    begin: (call: ToolCall, index: number) => Promise<ToolOutcome>,
  ): Steps<readonly Promise<ToolOutcome>[]> {
    const begun: Promise<ToolOutcome>[] = [];
    for (const [index, call] of calls.entries()) {
      const running = begin(call, index);
      // the caller awaits all of them after the last has started
      running.catch(() => {});
      begun.push(running);
      yield;
    }
    return begun;
  }

  async #runOne(call: ToolCall, round: number, row: number, onActivity: OnActivity): Promise<ToolOutcome> {
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
    const report: OnActivity = (reported) => {
      if (isOver) return;
      const { type, server_label: server, tool, duration_ms: ms, error } = reported.activity;
      if (type === "tool_start") run = recorder.beginTool({ callId: call.id, server, tool, round, spanId });
      else {
        this.#rows[row] = {
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
      onActivity(reported);
    };
    try {
      const { maxCalls } = this.#session;
      const refused = maxCalls !== null && row >= maxCalls ? notRun("tool calls") : null;
      const outcome = await this.#session.run(call, round, report, spanId, refused);
      end(outcome.code, outcome.isError, outcome.bytes);
      return outcome;
    } catch (thrown) {
      end(asGatewayError(thrown).code, true, null);
      throw thrown;
    }
  }
}
