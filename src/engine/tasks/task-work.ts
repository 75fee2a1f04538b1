// One attempt at a task: its inputs in as many upstream requests as the target needs, a few at a time. The answers are
// put together in the order of the inputs; the first failure ends the attempt.
import { summedUsage } from "../../accounting/summed-usage.ts";
import type { Usage } from "../../core/chat.ts";
import type { JsonObject } from "../../core/json.ts";
import { isPending } from "../../core/maybe-promise.ts";
import { TURNS_BYTES, yieldToLoop } from "../../core/concurrency/event-loop.ts";
import type { TaskAnswer } from "../../providers/interface/task-form.ts";
import { MalformedAnswer, StreamError, type ToldUsage } from "../../providers/interface/upstream-failure.ts";
import { isCount } from "../../core/record/token-count.ts";
import { answerBytes, closed, type RecordedFigures } from "../answer/reply-non-streaming.ts";
import type { AttemptRecorder } from "../attempt/attempt-recorder.ts";
import { encodedFor } from "../attempt/encode-attempt.ts";
import type { AttemptWork, OpenAttempt } from "../attempt/run-attempt.ts";
import { closeAttempt, type OpenAnswer, reportedModel, sendRequest } from "../attempt/upstream-requests.ts";
import type { Call } from "../call/call.ts";
import { estimatePart, taskFormOf, type TaskPart, taskParts } from "../fit/task-parts.ts";
import { UnfitForTarget } from "../fit/unfit-for-target.ts";
import type { AttemptUsage } from "../call/call-recorder.ts";
import { LONG_BODY_BYTES } from "../long-bodies/long-body-thread.ts";
import { decodedTask, type TaskQuestion } from "../long-bodies/decoded-task.ts";
import { searchedWords } from "../guards/guard-answer.ts";

/** What a target answered for all inputs. */
export interface TaskResult extends RecordedFigures {
  readonly values: readonly unknown[];
  /** The sum of the search units that the vendor says it bills; `null` where it tells none. */
  readonly searchUnits: number | null;
  /** The sum of the providers' own figures, as far as they are passed on. */
  readonly figures: JsonObject;
}

/** The most upstream requests of an attempt that are in flight at once. */
const MAX_AT_ONCE = 8;

export function taskWork(call: Call): AttemptWork<TaskResult> {
  return {
    run: async (attempt) => searched(await new TaskRun(attempt, call).result(), attempt, call),
    isEmpty: () => false,
    discard: () => {},
  };
}

/** Returns the result as guards on answers let the client have it. Throws `policy_violation`. */
async function searched(result: TaskResult, attempt: OpenAttempt, call: Call): Promise<TaskResult> {
  const { outputGuards, fitted } = attempt;
  if (outputGuards.length === 0) return result;
  const isPassed = fitted.request.form.task?.passesAnswer === true;
  const words = { values: isPassed ? (result.values as readonly JsonObject[]) : [], figures: result.figures };
  try {
    const { values, figures } = await call.policies!.answers.apply(searchedWords(words), outputGuards);
    return { ...result, ...(isPassed && { values }), figures };
  } catch (thrown) {
    call.recorder.used(result.usage, result.usageEstimated);
    throw closeAttempt(thrown, attempt, call);
  }
}

/** What the answer to one upstream request tells of what was used. */
interface Told {
  readonly tokens: number | null;
  readonly searchUnits: number | null;
}

class TaskRun {
  readonly #attempt: OpenAttempt;
  readonly #call: Call;
  readonly #parts: readonly TaskPart[];
  readonly #answers: (TaskAnswer<unknown> | null)[];
  /** The inputs of each request that was sent and not refused. */
  readonly #sent = new Map<AttemptRecorder, TaskPart>();
  readonly #told = new Map<AttemptRecorder, Told>();
  #next = 0;

  constructor(attempt: OpenAttempt, call: Call) {
    const {
      fitted: { request },
      resolved: { provider, target },
    } = attempt;
    this.#attempt = attempt;
    this.#call = call;
    this.#parts = taskParts(request, taskFormOf(request.form.task!, provider, target.model));
    this.#answers = this.#parts.map(() => null);
  }

  /** Rejects with GatewayError or UnfitForTarget. */
  async result(): Promise<TaskResult> {
    const { meter, requests } = this.#attempt;
    meter.readFrom((index) => this.#usageOf(requests[index]!));
    try {
      const lanes = Math.min(MAX_AT_ONCE, this.#parts.length);
      await Promise.all(Array.from({ length: lanes }, () => this.#sendRest()));
    } catch (thrown) {
      throw thrown instanceof UnfitForTarget && requests.length > 0 ? thrown.reason : thrown;
    }
    this.#call.signal.throwIfAborted();
    const used = requests.map((request) => this.#usageOf(request)).filter((one) => one !== null);
    return {
      values: this.#answers.flatMap((answer) => answer!.values),
      usage: summedUsage(used.map(({ usage }) => usage))!,
      figures: summedUsage(this.#answers.map((answer) => (answer?.usage ?? {}) as Usage))!,
      usageEstimated: used.some(({ isEstimated }) => isEstimated),
      finishReasons: [],
      nativeFinishReasons: [],
      searchUnits: this.#answers.reduce<number | null>(
        (sum, answer) => (answer?.searchUnits === undefined ? sum : (sum ?? 0) + answer.searchUnits),
        null,
      ),
    };
  }

  /** What a request has used: what the provider reported, or else an estimate of its inputs once the provider has them. */
  #usageOf(request: AttemptRecorder): AttemptUsage | null {
    const told = this.#told.get(request);
    const part = this.#sent.get(request);
    if (part === undefined || (told === undefined && !request.isAccepted)) return null;
    const { fitted, resolved } = this.#attempt;
    const { task } = fitted.request.form;
    const tokens = told?.tokens ?? estimatePart(fitted.request, part);
    const units =
      told?.searchUnits ?? taskFormOf(task!, resolved.provider, resolved.target.model).searchUnits?.(part.count);
    return {
      usage: {
        prompt_tokens: tokens,
        completion_tokens: 0,
        total_tokens: tokens,
        ...(units !== undefined && { search_units: units }),
      },
      isEstimated: told?.tokens == null,
    };
  }

  async #sendRest(): Promise<void> {
    while (this.#next < this.#parts.length) {
      this.#attempt.lifetime.signal.throwIfAborted();
      const place = this.#next++;
      this.#answers[place] = await this.#answerTo(this.#parts[place]!);
    }
  }

  async #answerTo(part: TaskPart): Promise<TaskAnswer<unknown>> {
    const attempt = this.#attempt;
    const {
      fitted: { request },
      resolved,
      cached,
    } = attempt;
    const encoding = cached?.encoded ?? encodedFor(request, attempt, this.#call, part);
    const sending = sendRequest(isPending(encoding) ? await encoding : encoding, attempt, this.#call);
    this.#sent.set(attempt.requests.at(-1)!, part);
    const open = await sending;
    try {
      const answer = await this.#read(open);
      open.response.body.accept();
      this.#tell(open, answer);
      open.request.answeredBy(reportedModel(answer.model, resolved));
      return answer;
    } catch (thrown) {
      // an error of the provider inside a response counts as a refusal
      if (thrown instanceof StreamError) this.#sent.delete(open.request);
      // one that cannot be used is billed all the same
      if (thrown instanceof MalformedAnswer) this.#tell(open, thrown.told ?? { tokens: null });
      throw closed(open, thrown, attempt, this.#call);
    }
  }

  /** Notes what the provider counted for the answer, in its body or in a header. */
  #tell({ request, response }: OpenAnswer, { tokens, searchUnits }: ToldUsage): void {
    const { fitted, resolved } = this.#attempt;
    const { tokenHeader } = taskFormOf(fitted.request.form.task!, resolved.provider, resolved.target.model);
    const counted = tokens ?? tokensIn(tokenHeader === undefined ? null : response.header(tokenHeader));
    this.#told.set(request, { tokens: counted, searchUnits: searchUnits ?? null });
  }

  async #read(open: OpenAnswer): Promise<TaskAnswer<unknown>> {
    const { resolved, fitted } = this.#attempt;
    const { longTasks } = this.#call.context;
    const arriving = answerBytes(open, this.#attempt, this.#call);
    const bytes = isPending(arriving) ? await arriving : arriving;
    const { family, credential } = resolved.target;
    const question: TaskQuestion = {
      bytes,
      decode: open.decode,
      family,
      credential,
      task: fitted.request.form.task!,
    };
    if (longTasks !== null && bytes.length >= LONG_BODY_BYTES)
      return longTasks.decode(question, this.#call.record.tenantId ?? "");
    if (bytes.length < TURNS_BYTES) return decodedTask(question, resolved.provider);
    await yieldToLoop();
    const answer = decodedTask(question, resolved.provider);
    await yieldToLoop();
    return answer;
  }
}

function tokensIn(header: string | null): number | null {
  const tokens = header === null || !/^\d{1,15}$/.test(header) ? Number.NaN : Number(header);
  return isCount(tokens) ? tokens : null;
}
