// Answers a call with tool rounds by one answer or one stream, whose texts are joined from all rounds (promise 10.4). A
// streamed and a non-streaming answer have the same content.
import type { AnswerMessage, FinishReason, Message, ReasoningDetail, ToolCall } from "../../core/chat.ts";
import { isObject, type Json, type JsonObject } from "../../core/json.ts";
import type { ToolActivity } from "../../core/tool.ts";
import type { Outcome } from "../../routing/health.ts";
import { isJoinedText, type RoundAccumulator } from "./multi-round-answer.ts";
import { closeAttempt } from "../attempt/upstream-requests.ts";
import type { Call } from "../call/call.ts";
import { complete, withAttempts } from "../plan/complete.ts";
import type { Answered, OpenAttempt } from "../attempt/run-attempt.ts";
import { asFunctionCall } from "../request/legacy-functions.ts";
import { type BegunStream, noteStream, replySending, streaming } from "../answer/reply-stream.ts";
import {
  recordNonStreaming,
  type RoundAnswer,
  sendLong,
  sendNonStreaming,
  nonStreamingRound,
} from "../answer/reply-non-streaming.ts";
import type { Sending } from "../answer/stream-session.ts";
import type { ToolRounds } from "./tool-rounds.ts";

/**
 * `opening` lists the tools. For a stream, this happens while the response head is held back, like everything before
 * the first content (promise 7.4).
 */
export async function replyRounds(opening: Promise<ToolRounds>, call: Call): Promise<Response> {
  if (call.record.stream) return replySending(begunRounds(opening, call), call);
  try {
    return await replyWholeRounds(await opening, call);
  } catch (thrown) {
    throw withAttempts(thrown, call);
  }
}

async function replyWholeRounds(rounds: ToolRounds, call: Call): Promise<Response> {
  await rounds.runApproved(() => {});
  const joined = new JoinedAnswer();
  let first: OpenAttempt | null = null;
  for (;;) {
    const won = await complete(rounds.prepared(), call, nonStreamingRound(call));
    const { answer, attempt } = won;
    first ??= attempt;
    recordNonStreaming(won, call);
    attempt.settle("success");
    const part = rounds.thread.begin();
    const legacy = attempt.fitted.request.options.legacyFunctions;
    joined.add(answer, part, legacy);
    rounds.thread.ended(part);
    const finish = answer.finishReasons[0] ?? null;
    const turn = part.turn(finish);
    const { ours, ends, isCut } = rounds.after(attempt, turn, finish);
    if (ours.length > 0) await rounds.run(turn, ours, () => {});
    if (!ends) {
      call.recorder.nextRound();
      continue;
    }
    const body = joined.body(shownCalls(turn, part), isCut, legacy, rounds.told(), call.record.usage!);
    call.recorder.finishedWith([joined.finish]);
    return joined.isLong ? await sendLong(body, first, call) : sendNonStreaming(body, first, call);
  }
}

function shownCalls({ tool_calls: calls = [] }: Message, part: RoundAccumulator): readonly ToolCall[] {
  return calls.filter((_, index) => part.calls[index]!.isShown);
}

/** Joins the answers of all rounds. */
class JoinedAnswer {
  #first: JsonObject | null = null;
  #last: JsonObject = {};
  #message: Record<string, Json | undefined> = {};
  readonly #details: ReasoningDetail[] = [];
  readonly #annotations: Json[] = [];
  readonly #logprobs: Record<"content" | "refusal", Json[] | null> = { content: null, refusal: null };
  finish: FinishReason = "stop";
  /** True if any of the rounds has a long answer. */
  isLong = false;

  add({ body, finishReasons, isLong }: RoundAnswer, part: RoundAccumulator, legacy: boolean): void {
    this.isLong ||= isLong;
    this.#first ??= body;
    this.#last = body;
    this.finish = finishReasons[0] ?? "stop";
    const choice = choiceOf(body);
    const message = choice["message"] as AnswerMessage & Message;
    const {
      content: _content,
      refusal: _refusal,
      reasoning_content: _reasoning,
      reasoning_details: details = [],
      annotations,
      tool_calls: calls = [],
      ...rest
    } = message;
    for (const name of ["content", "refusal", "reasoning_content"] as const) {
      const text = message[name];
      if (typeof text === "string" && isJoinedText(name))
        this.#message[name] = ((this.#message[name] as string | undefined) ?? "") + part.text(name, text);
    }
    this.#details.push(...part.details(details));
    if (Array.isArray(annotations)) this.#annotations.push(...part.annotations(annotations as readonly Json[]));
    part.extraContent(message["extra_content"]);
    for (const [index, made] of calls.entries()) addMade(made, index, part, legacy);
    const { content, reasoning_content, refusal } = this.#message;
    this.#message = { ...rest, content, refusal, reasoning_content };
    const logprobs = choice["logprobs"] as JsonObject | null;
    for (const name of ["content", "refusal"] as const)
      if (Array.isArray(logprobs?.[name])) (this.#logprobs[name] ??= []).push(...(logprobs[name] as readonly Json[]));
  }

  body(calls: readonly ToolCall[], isCut: boolean, legacy: boolean, told: JsonObject, usage: JsonObject): JsonObject {
    const { id, created, model, route } = this.#first!;
    const { role, content, refusal, reasoning_content: reasoning, ...rest } = this.#message;
    if (isCut) this.finish = "length";
    else if (legacy && calls.length > 0 && this.finish === "tool_calls") this.finish = "function_call";
    const message = {
      role: role ?? "assistant",
      content: content ?? null,
      refusal: refusal ?? null,
      ...rest,
      ...(reasoning !== undefined && { reasoning_content: reasoning }),
      ...(this.#details.length > 0 && { reasoning_details: this.#details }),
      ...(this.#annotations.length > 0 && { annotations: this.#annotations }),
      ...(calls.length > 0 && (legacy ? { function_call: asFunctionCall(calls)! } : { tool_calls: calls })),
      x_gateway_mcp: told,
    };
    const logprobs = this.#logprobs.content === null && this.#logprobs.refusal === null ? null : this.#logprobs;
    return {
      ...this.#last,
      id,
      created,
      model,
      route,
      choices: [{ ...choiceOf(this.#last), index: 0, message, logprobs, finish_reason: this.finish }],
      usage,
    };
  }
}

function addMade(made: ToolCall, index: number, part: RoundAccumulator, legacy: boolean): void {
  const { function: called, extra_content: extra } = made;
  const isOfFunction = isObject(called);
  // the deprecated form has room for only one call that the client runs
  if (legacy && (!isOfFunction || !part.hides(called.name)) && part.calls.some(({ isShown }) => isShown)) return;
  const id = part.callId(made.id, index);
  if (isOfFunction) part.addCall(id, called.name, called.arguments, extra);
  else part.addWhole({ ...made, id });
}

function choiceOf(body: JsonObject): JsonObject {
  return (body["choices"] as readonly JsonObject[])[0]!;
}

async function begunRounds(opening: Promise<ToolRounds>, call: Call): Promise<Sending> {
  const rounds = await opening;
  const early: ToolActivity[] = [];
  await rounds.runApproved((activity) => early.push(activity));
  return new SentRounds(rounds, call, await nextRound(rounds, call), early);
}

/** Starts the next round and reads it up to its first content, or to its end if it has only calls that run here. */
function nextRound(rounds: ToolRounds, call: Call): Promise<Answered<BegunStream>> {
  return complete(
    rounds.prepared(),
    call,
    streaming(call, () => rounds.thread.begin()),
  );
}

/** Sends the rounds as one stream. Each round is read, its tools run, and the next one begins as the client reads. */
class SentRounds implements Sending {
  readonly held: string;
  readonly #rounds: ToolRounds;
  readonly #call: Call;
  #won: Answered<BegunStream>;
  #phase: "answer" | "tools" | "next" | "over" = "answer";
  #noted = false;
  #running: Promise<void> | null = null;
  /** The answer ends after the tools have run, because the client runs the other calls of the round. */
  #endsAfter = false;
  #told: ToolActivity[] = [];
  #wake: () => void = () => {};

  constructor(rounds: ToolRounds, call: Call, won: Answered<BegunStream>, early: readonly ToolActivity[]) {
    this.#rounds = rounds;
    this.#call = call;
    this.#won = won;
    const { held, normalizer } = won.answer;
    // the first event contains the role and must stay the first
    const at = held.indexOf("\n\n") + 2;
    this.held =
      early.length === 0
        ? held
        : held.slice(0, at) + early.map((activity) => normalizer.activity(activity)).join("") + held.slice(at);
  }

  get attempt(): OpenAttempt {
    return this.#won.attempt;
  }
  get hasContent(): boolean {
    return this.#won.answer.normalizer.hasContent;
  }
  get isFinished(): boolean {
    return this.#won.answer.normalizer.isFinished;
  }

  async next(): Promise<string | null> {
    while (this.#phase !== "over") {
      const text =
        this.#phase === "answer"
          ? await this.#answer()
          : this.#phase === "tools"
            ? await this.#tools()
            : await this.#next();
      if (text !== "") return text;
    }
    return null;
  }

  async #answer(): Promise<string> {
    const { stream, normalizer, part } = this.#won.answer;
    const text = await stream.next();
    if (text !== null) return text;
    this.note();
    this.settle("success");
    const { thread } = this.#rounds;
    thread.head = normalizer.head;
    thread.ended(part!);
    const finish = normalizer.finishReasons[0] ?? null;
    const turn = part!.turn(finish);
    const { ours, ends, isCut } = this.#rounds.after(this.attempt, turn, finish);
    if (ours.length === 0) return this.#end(isCut);
    this.#endsAfter = ends;
    this.#phase = "tools";
    this.#running = this.#rounds.run(turn, ours, (activity) => {
      this.#told.push(activity);
      this.#wake();
    });
    // this prevents an unhandled rejection while the client is not reading
    this.#running.catch(() => {});
    return "";
  }

  /** Returns what the tools report, as it happens; an empty text when all have run. */
  async #tools(): Promise<string> {
    let isOver = false;
    const over = (): void => {
      isOver = true;
      this.#wake();
    };
    this.#running!.then(over, over);
    while (this.#told.length === 0 && !isOver) await new Promise<void>((wake) => (this.#wake = wake));
    if (this.#told.length > 0) {
      const { normalizer } = this.#won.answer;
      return this.#told
        .splice(0)
        .map((activity) => normalizer.activity(activity))
        .join("");
    }
    await this.#running;
    if (this.#endsAfter) return this.#end(false);
    this.#phase = "next";
    return "";
  }

  async #next(): Promise<string> {
    this.#call.recorder.nextRound();
    const won = await nextRound(this.#rounds, this.#call);
    const { aborted, reason } = this.#call.signal;
    if (aborted) {
      won.answer.stream.cancel();
      won.attempt.settle("cancelled");
      throw reason;
    }
    this.#won = won;
    this.#noted = false;
    this.#phase = "answer";
    this.#call.won(won.attempt);
    return won.answer.held;
  }

  #end(isCut: boolean): string {
    const { normalizer, usage } = this.#won.answer;
    this.#phase = "over";
    const text = normalizer.end(
      this.#call.record.usage ?? usage(),
      isCut,
      `,"x_gateway_mcp":${JSON.stringify(this.#rounds.told())}`,
    );
    this.#call.recorder.finishedWith(normalizer.finishReasons);
    return text;
  }

  note(): void {
    if (this.#noted || this.#phase !== "answer") return;
    this.#noted = true;
    for (const request of this.attempt.requests) request.ended();
    noteStream(this.#won, this.#call);
  }

  settle(outcome: Outcome): void {
    this.attempt.settle(outcome);
  }

  cancel(): void {
    this.#won.answer.stream.cancel();
  }

  fail(thrown: unknown): unknown {
    if (this.#phase !== "answer") return thrown;
    this.cancel();
    return closeAttempt(thrown, this.attempt, this.#call);
  }
}
