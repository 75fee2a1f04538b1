// Turns the lenient answer of a decoder into the body that the client receives: it has every field that the schema
// requires, and nothing that clients cannot handle (promises 2.5 and 8.6 to 8.9; docs/clients.md, N1 to N5). The answer is
// repaired as a stream of one chunk is, and collected again.
import type { TokenTally } from "../../accounting/estimate.ts";
import {
  type AnswerChoice,
  type AnswerMessage,
  type ChatAnswer,
  type ChatChunk,
  type ChunkChoice,
  type ChunkDelta,
  type FinishReason,
  isFinishReason,
  type ToolCall,
  type ToolCallDelta,
  type Usage,
} from "../../core/chat.ts";
import { isObject, isSet, isText, type Json, type JsonObject } from "../../core/json.ts";
import { MalformedAnswer } from "../../providers/interface/upstream-failure.ts";
import { LegacyFunctionStage } from "../stream/legacy-function-stage.ts";
import { calledIn } from "../stream/tool-call-deltas.ts";
import { VendorRepair } from "../stream/vendor-repair.ts";
import { withOrderOf } from "../../core/request/turn-order.ts";
import { type AnswerFrame, answerId, answerTime, isVendorField, unsaidFinish } from "./strict-fields.ts";
import { summedUsage } from "../../accounting/summed-usage.ts";

/** What the record and the engine need to know of an answer. */
export interface AnswerFigures {
  readonly finishReasons: readonly FinishReason[];
  readonly nativeFinishReasons: readonly string[];
  readonly usage: Usage;
  readonly usageEstimated: boolean;
  /** Nothing at all was generated (promise 7.1). */
  readonly isEmpty: boolean;
}

/** An answer in the form of the operation, before that form has completed it. */
export interface PassedText {
  readonly text: string;
  /** What the text says. */
  readonly value: JsonObject;
}

export interface NonStreamingAnswer extends AnswerFigures {
  readonly body: JsonObject;
  /** The text of the provider's own body, where that is passed on. */
  readonly passed?: PassedText;
}

/**
 * Repairs an answer as if it were a stream of one chunk. Throws MalformedAnswer when there is no choice. `estimate` is
 * called only when the provider reported no usage.
 */
export function nonStreamingAnswer(
  answer: ChatAnswer,
  frame: AnswerFrame,
  estimate: (generated: TokenTally) => Usage,
): NonStreamingAnswer {
  // a decoder passes on what the provider sent
  const given: unknown = answer.choices;
  if (!Array.isArray(given) || given.length === 0) throw new MalformedAnswer("The provider's answer has no choices.");
  const repair = new VendorRepair(frame, false);
  const collected = new CollectedChoices();
  const legacy = frame.legacyFunctions ? new LegacyFunctionStage() : null;
  for (const chunk of [repair.write(chunkOfAnswer(answer)), repair.end(false)])
    collected.add(legacy === null ? chunk : legacy.write(chunk));
  const choices = collected.choices.map((choice, position) => withGiven(choice, answer.choices[position]?.message));
  const reported = repair.reported.usage;
  const usage = reported ?? repair.reported.estimate(estimate(repair.generated));
  const body: Record<string, Json> = {
    id: answerId(answer.id, frame),
    object: "chat.completion",
    created: answerTime(answer.created, frame.nowSeconds),
    model: frame.model,
    route: frame.route,
    choices,
    usage,
  };
  for (const name in answer) if (isVendorField(name, answer[name])) body[name] = answer[name]!;
  body["x_gateway_trace_id"] = frame.traceId;
  return {
    body,
    finishReasons: choices.map(({ finish_reason: finish }) => finish),
    nativeFinishReasons: repair.nativeFinishReasons,
    usage,
    usageEstimated: reported === null,
    isEmpty: repair.isEmpty,
  };
}

/** Returns a choice with what chunks do not say: empty texts, and the order of what was generated. */
function withGiven(choice: WholeChoice, given: AnswerMessage | undefined): WholeChoice {
  if (!isObject(given)) return choice;
  const message = withOrderOf<Record<string, Json | undefined>>({ ...choice.message }, given);
  for (const name of ["content", "refusal"] as const) if (given[name] === "") message[name] ??= "";
  return { ...choice, message };
}

/** Turns a non-streaming answer into one chunk. Its numbers of choices are kept only where they say which is which. */
export function chunkOfAnswer(answer: ChatAnswer): ChatChunk {
  const isNumbered = denseIndexes(answer.choices);
  const choices = answer.choices.map(({ message: given, ...choice }, position): ChunkChoice => {
    const message: Partial<AnswerMessage> = isObject(given) ? given : {};
    const calls = Array.isArray(message.tool_calls) ? (message.tool_calls as readonly ToolCall[]).filter(isObject) : [];
    return {
      ...choice,
      index: isNumbered ? choice.index! : position,
      // an answer whose transport ended as it should is complete, even if the server names no finish reason
      finish_reason: isFinishReason(choice.finish_reason) ? choice.finish_reason : unsaidFinish(calls.some(hasName)),
      delta: { ...message, tool_calls: calls.map((call, index) => ({ ...call, index })) },
    };
  });
  return { ...answer, choices };
}

function hasName(call: ToolCall): boolean {
  return isText(calledIn(call).name);
}

/** A choice of a whole answer. */
export interface WholeChoice extends JsonObject {
  readonly index: number;
  readonly message: JsonObject;
  readonly logprobs: JsonObject | null;
  readonly finish_reason: FinishReason;
  readonly native_finish_reason?: string;
}

type OwnChoice = Record<string, Json> & { readonly message: Record<string, Json> };

/** Collects strict chunks as the choices of one answer, in the order in which they begin. */
export class CollectedChoices {
  readonly #choices = new Map<number, OwnChoice>();

  get choices(): readonly WholeChoice[] {
    return [...this.#choices.values()] as unknown as readonly WholeChoice[];
  }

  add({ choices }: ChatChunk): void {
    for (const source of choices) {
      const { index = 0, delta } = source;
      const choice = this.#choices.getOrInsertComputed(index, () => ({
        index,
        message: { role: "assistant", content: null, refusal: null },
        logprobs: null,
        finish_reason: null,
      }));
      if (delta !== undefined) addDelta(choice.message, delta);
      for (const name in source)
        if (name !== "delta" && isSet(source[name]))
          choice[name] = name === "logprobs" ? continued(choice[name], source[name]) : source[name];
    }
  }
}

function addDelta(message: Record<string, Json>, delta: ChunkDelta): void {
  for (const name in delta) {
    const value = delta[name];
    if (value === null || value === undefined || name === "role") continue;
    if (name === "tool_calls") addCalls(message, delta.tool_calls!);
    else message[name] = isObject(value) && name !== "function_call" ? value : continued(message[name], value);
  }
}

/** Adds deltas of calls, whose indexes are dense, to the calls of a message. */
function addCalls(message: Record<string, Json>, deltas: readonly ToolCallDelta[]): void {
  if (deltas.length === 0) return;
  const calls = [...((message["tool_calls"] as readonly JsonObject[] | undefined) ?? [])];
  for (const { index, ...delta } of deltas) calls[index!] = continued(calls[index!], delta) as JsonObject;
  message["tool_calls"] = calls;
}

/** Returns a value with the one that continues it: texts and lists grow, objects by their members. */
function continued(before: Json | undefined, value: Json): Json {
  if (typeof before === "string" && typeof value === "string") return before + value;
  if (Array.isArray(before) && Array.isArray(value))
    return [...(before as readonly Json[]), ...(value as readonly Json[])];
  if (!isObject(before) || !isObject(value)) return value ?? before ?? null;
  const joined: Record<string, Json | undefined> = { ...before };
  for (const name in value) joined[name] = continued(before[name], value[name]!);
  return joined;
}

function denseIndexes(choices: readonly AnswerChoice[]): boolean {
  const seen = new Set<unknown>(choices.map((choice) => choice.index));
  return seen.size === choices.length && choices.every((_, position) => seen.has(position));
}

export interface JoinedFigures extends AnswerFigures {
  /** The usage of each upstream request. */
  readonly parts: readonly { readonly usage: Usage; readonly isEstimated: boolean }[];
}

/**
 * Joins the answers of one attempt, one for each upstream request. `estimate` is called for the usage of each answer that
 * came without figures. Throws MalformedAnswer.
 */
export function joinedAnswer(
  answers: readonly ChatAnswer[],
  frame: AnswerFrame,
  estimate: (generated: TokenTally) => Usage,
): NonStreamingAnswer & JoinedFigures {
  const wholes = answers.map((answer) => nonStreamingAnswer(answer, frame, estimate));
  const parts = wholes.map(({ usage, usageEstimated }) => ({ usage, isEstimated: usageEstimated }));
  if (wholes.length === 1) return { ...wholes[0]!, parts };
  const merged = { ...mergedChoices(answers), usage: summedUsage(parts.map(({ usage }) => usage)) };
  const usageEstimated = parts.some(({ isEstimated }) => isEstimated);
  return { ...nonStreamingAnswer(merged, frame, estimate), usageEstimated, parts };
}

/** Merges answers in their order, without their usage. */
function mergedChoices(answers: readonly ChatAnswer[]): ChatAnswer {
  return {
    ...answers[0]!,
    choices: answers.flatMap(({ choices }, index) => choices.slice(0, 1).map((choice) => ({ ...choice, index }))),
  };
}
