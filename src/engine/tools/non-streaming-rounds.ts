// Joins the rounds of a call with tools into one non-streaming answer (promise 10.4). The texts, reasoning blocks,
// annotations, images and log probabilities of all rounds are in it; the calls are those of the last round that the client
// runs.
import type { AnswerMessage, FinishReason, Message, ReasoningDetail, ToolCall } from "../../core/chat.ts";
import { isObject, type Json, type JsonObject } from "../../core/json.ts";
import { turnPieces } from "../../core/request/turn-order.ts";
import type { ReportedActivity } from "../../core/configured/tool.ts";
import type { OpenAttempt } from "../attempt/run-attempt.ts";
import type { AnswerForm, RoundOrigin } from "../answer-form.ts";
import type { Call } from "../call/call.ts";
import { complete, withAttempts } from "../plan/complete.ts";
import type { Prepared } from "../plan/stages.ts";
import { asFunctionCall } from "../request/legacy-functions.ts";
import {
  nonStreaming,
  recordNonStreaming,
  type WholeAnswer,
  sendLong,
  sendNonStreaming,
} from "../answer/reply-non-streaming.ts";
import { type MultiRoundAnswer, type RoundAccumulator } from "./multi-round-answer.ts";
import type { AnswerEnd, CompletedRound, RoundSink, ToolRounds } from "./tool-rounds.ts";

/** `opening` lists the tools. */
export async function replyNonStreamingRounds(
  opening: Promise<ToolRounds>,
  call: Call,
  form: AnswerForm,
): Promise<Response> {
  try {
    const sink = new NonStreamingRounds(call, form);
    const rounds = (await opening).run(sink);
    // nothing is sent before the answer is complete
    while ((await rounds.next()).done !== true);
    return await sink.reply(form);
  } catch (thrown) {
    throw withAttempts(thrown, call);
  }
}

class NonStreamingRounds implements RoundSink {
  readonly #call: Call;
  readonly #form: AnswerForm;
  readonly #joined = new JoinedBody();
  /** The attempt of the first round. The head of the response names its target. */
  #first: OpenAttempt | null = null;
  #last: RoundAccumulator | null = null;
  #body: JsonObject = {};

  constructor(call: Call, form: AnswerForm) {
    this.#call = call;
    this.#form = form;
  }

  // oxlint-disable-next-line require-yield
  async *round(prepared: Prepared, answer: MultiRoundAnswer): AsyncGenerator<never, CompletedRound> {
    const completed = await complete(prepared, this.#call, nonStreaming(this.#call, true));
    const { attempt } = completed;
    this.#first ??= attempt;
    recordNonStreaming(completed, this.#call);
    attempt.settle("success");
    const accumulator = answer.begin();
    this.#joined.add(completed.answer, accumulator);
    this.#last = accumulator;
    return { attempt, accumulator, finish: completed.answer.finishReasons[0] ?? null };
  }

  /** Later rounds are in the report. */
  activities(activities: readonly ReportedActivity[]): string {
    if (this.#first === null) for (const reported of activities) this.#form.stream.tools?.ran(reported);
    return "";
  }

  end({ turn, isCut, report }: AnswerEnd): string {
    const { record, recorder } = this.#call;
    const { legacyFunctions } = this.#first!.fitted.request.options;
    this.#body = this.#joined.end(shownCalls(turn, this.#last!), isCut, legacyFunctions, report, record.usage!);
    recorder.finishedWith([this.#joined.finish]);
    return "";
  }

  async reply(form: AnswerForm): Promise<Response> {
    const { isLong, origins } = this.#joined;
    const ofRounds: AnswerForm = { ...form, body: (answer) => form.body(answer, origins) };
    return (isLong ? sendLong : sendNonStreaming)(this.#body, this.#first!, this.#call, ofRounds);
  }
}

function shownCalls(
  { tool_calls: calls = [] }: Message,
  { calls: accumulated }: RoundAccumulator,
): readonly ToolCall[] {
  return calls.filter((_, index) => accumulated[index]!.isShown);
}

/** The body of the answer, as the rounds so far have filled it. */
class JoinedBody {
  #first: JsonObject | null = null;
  #last: JsonObject = {};
  #message: Record<string, Json | undefined> = {};
  readonly #details: ReasoningDetail[] = [];
  readonly #annotations: Json[] = [];
  readonly #images: Json[] = [];
  readonly #logprobs: Record<"content" | "refusal", Json[] | null> = { content: null, refusal: null };
  finish: FinishReason = "stop";
  /** Rounds may have been answered by different targets, each of which takes only its own reasoning back. */
  readonly origins: RoundOrigin[] = [];
  /** True if any of the rounds has a long answer. */
  isLong = false;

  add({ body, finishReasons, isLong }: WholeAnswer, round: RoundAccumulator): void {
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
      reasoning_details: _details,
      annotations,
      images,
      tool_calls: _calls,
      ...rest
    } = message;
    let calls = 0;
    const detailsBefore = this.#details.length;
    const add = (name: "reasoning_content" | "content" | "refusal", text: unknown): void => {
      if (typeof text === "string")
        this.#message[name] = ((this.#message[name] as string | undefined) ?? "") + round.text(name, text);
    };
    for (const piece of turnPieces(message)) {
      add("reasoning_content", piece.reasoning_content);
      this.#details.push(...round.details(piece.reasoning_details ?? []));
      add("content", piece.content);
      add("refusal", piece.refusal);
      for (const call of piece.tool_calls ?? []) addCall(call, calls++, round);
    }
    this.origins.push({ model: body["model"] as string, details: this.#details.length - detailsBefore });
    if (Array.isArray(annotations)) this.#annotations.push(...round.annotations(annotations as readonly Json[]));
    if (Array.isArray(images)) this.#images.push(...(images as readonly Json[]));
    round.addExtraContent(message["extra_content"]);
    const { content, reasoning_content, refusal } = this.#message;
    this.#message = { ...rest, content, refusal, reasoning_content };
    const logprobs = choice["logprobs"] as JsonObject | null;
    for (const name of ["content", "refusal"] as const)
      if (Array.isArray(logprobs?.[name])) (this.#logprobs[name] ??= []).push(...(logprobs[name] as readonly Json[]));
  }

  end(calls: readonly ToolCall[], isCut: boolean, legacy: boolean, report: JsonObject, usage: JsonObject): JsonObject {
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
      ...(this.#images.length > 0 && { images: this.#images }),
      ...(calls.length > 0 && (legacy ? { function_call: asFunctionCall(calls)! } : { tool_calls: calls })),
      x_gateway_mcp: report,
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

function addCall(call: ToolCall, index: number, round: RoundAccumulator): void {
  const { function: called, extra_content: extra } = call;
  const id = round.callId(call.id, index);
  if (isObject(called)) round.addCall(id, called.name, called.arguments, extra);
  else round.addWhole({ ...call, id });
}

function choiceOf(body: JsonObject): JsonObject {
  return (body["choices"] as readonly JsonObject[])[0]!;
}
