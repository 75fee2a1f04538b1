// Joins the rounds of a call with tools into one non-streaming answer (promise 10.4). The texts, reasoning blocks,
// annotations, images and log probabilities of all rounds are in it; the calls are those of the last round that the client
// runs.
import type { ChatChunk, ChunkDelta, FinishReason } from "../../core/chat.ts";
import { isFilled, type JsonObject, listIn, objectsIn } from "../../core/json.ts";
import { turnPieces, withOrderOf } from "../../core/request/turn-order.ts";
import type { ReportedActivity } from "../../core/configured/tool.ts";
import type { OpenAttempt } from "../attempt/run-attempt.ts";
import type { AnswerForm, RoundOrigin } from "../answer-form.ts";
import type { Call } from "../call/call.ts";
import { complete, withAttempts } from "../plan/complete.ts";
import type { Prepared } from "../plan/stages.ts";
import { CollectedChoices, type WholeChoice } from "../answer/non-streaming-answer.ts";
import { LegacyFunctionStage } from "../stream/legacy-function-stage.ts";
import { RoundStage } from "../stream/round-stage.ts";
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
    return { attempt, accumulator, finish: completed.answer.finishReasons[0] ?? null };
  }

  /** Later rounds are in the report. */
  activities(activities: readonly ReportedActivity[]): string {
    if (this.#first === null) for (const reported of activities) this.#form.stream.tools?.ran(reported);
    return "";
  }

  end({ isCut, report }: AnswerEnd): string {
    const { record, recorder } = this.#call;
    const { legacyFunctions } = this.#first!.fitted.request.options;
    this.#body = this.#joined.end(isCut, legacyFunctions, report, record.usage!);
    recorder.finishedWith([this.#joined.finish]);
    return "";
  }

  async reply(form: AnswerForm): Promise<Response> {
    const { isLong, origins } = this.#joined;
    const ofRounds: AnswerForm = { ...form, body: (answer, request) => form.body(answer, request, origins) };
    return (isLong ? sendLong : sendNonStreaming)(this.#body, this.#first!, this.#call, ofRounds);
  }
}

/** The body of the answer, as the rounds so far have filled it. */
class JoinedBody {
  #first: JsonObject | null = null;
  #last: JsonObject = {};
  readonly #chunks: ChatChunk[] = [];
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
    const { message, native_finish_reason: _native, ...choice } = choiceOf(body);
    const stage = new RoundStage(round);
    this.#chunks.push({ choices: [{ ...choice, index: 0 }] });
    for (const chunk of chunksOfTurn(message)) this.#chunks.push(stage.write(chunk));
    this.origins.push({ model: body["model"] as string, details: listIn(message["reasoning_details"]).length });
  }

  end(isCut: boolean, isLegacy: boolean, report: JsonObject, usage: JsonObject): JsonObject {
    const { id, created, model, route } = this.#first!;
    if (isCut) this.finish = "length";
    const collected = new CollectedChoices();
    const legacy = isLegacy ? new LegacyFunctionStage() : null;
    const { message: last, native_finish_reason: native = null } = choiceOf(this.#last);
    const ending = { finish_reason: this.finish, native_finish_reason: native };
    this.#chunks.push({ choices: [{ index: 0, delta: { x_gateway_mcp: report }, ...ending }] });
    for (const chunk of this.#chunks) collected.add(legacy === null ? chunk : legacy.write(chunk));
    const choice = collected.choices[0]!;
    this.finish = choice.finish_reason;
    // what was generated after the last tools has no place of its own in the report
    const message = withOrderOf(choice.message, last);
    return { ...this.#last, id, created, model, route, choices: [{ ...choice, message }], usage };
  }
}

function choiceOf(body: JsonObject): WholeChoice {
  return (body["choices"] as readonly WholeChoice[])[0]!;
}

/** Returns a turn as strict chunks, in the order in which it was generated. */
function chunksOfTurn(message: JsonObject): readonly ChatChunk[] {
  let count = 0;
  return turnPieces(message).map((piece) => {
    const { reasoning_content: reasoning, reasoning_details: details, content, refusal, ...others } = piece;
    const { tool_calls: calls, annotations, ...rest } = others;
    const deltas: readonly JsonObject[] = [
      { reasoning_content: isFilled(reasoning) ? reasoning : null },
      { reasoning_details: isFilled(details) ? details : null },
      { content },
      { refusal },
      ...objectsIn(calls).map((call) => ({ tool_calls: [{ ...call, index: count++ }] })),
      { annotations: isFilled(annotations) ? annotations : null },
      rest,
    ];
    return { choices: deltas.map((delta) => ({ index: 0, delta: delta as ChunkDelta })) };
  });
}
