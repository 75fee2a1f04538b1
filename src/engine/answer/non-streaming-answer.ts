// Turns the lenient answer of a decoder into the body that the client receives: it has every field that the schema
// requires, and nothing that clients cannot handle (promises 2.5 and 8.6 to 8.9; docs/clients.md, N1 to N5).
import { newTally, tally, type TokenTally } from "../../accounting/estimate.ts";
import { TRACE_TIME_DIGITS } from "../../core/ids.ts";
import {
  type AnswerChoice,
  type ChatAnswer,
  type FinishReason,
  isFinishReason,
  type ToolCall,
  type Usage,
} from "../../core/chat.ts";
import { isObject, type Json, type JsonObject } from "../../core/json.ts";
import { MalformedAnswer } from "../../providers/interface/upstream-failure.ts";
import { asFunctionCall } from "../request/legacy-functions.ts";
import { ANY_TEXT, NAMELESS_CALL } from "../stream/tool-call-deltas.ts";
import { withOrderOf } from "../../core/request/turn-order.ts";
import { isVendorField, strictAnnotations, strictFinishReason, strictLogprobs, unsaidFinish } from "./strict-fields.ts";
import { estimateWithTold, strictUsage } from "../../providers/answers/strict-usage.ts";
import { summedUsage } from "../../accounting/summed-usage.ts";

/** What an answer states about its call; it is the same in a non-streaming answer and in every chunk. */
export interface AnswerFrame {
  readonly traceId: string;
  /** `<provider>:<model_name>` of the target that answered. */
  readonly model: string;
  readonly route: string;
  readonly nowSeconds: number;
  readonly sameShape: boolean;
  readonly legacyFunctions: boolean;
  /** The number of choices that were requested. */
  readonly choices: number;
  /** The least number of choices of a complete answer. */
  readonly leastChoices: number;
  /** Every call of a choice but the first is left out. */
  readonly firstCallAlone?: true;
  /** The answer was given before, or to another call, so that it gets an id of its own (promise 13.5). */
  readonly isRepeated: boolean;
}

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

/** Throws MalformedAnswer when there is no choice. `estimate` is called only when the provider reported no usage. */
export function nonStreamingAnswer(
  answer: ChatAnswer,
  frame: AnswerFrame,
  estimate: (generated: TokenTally) => Usage,
): NonStreamingAnswer {
  // a decoder passes on what the provider sent
  const given: unknown = answer.choices;
  if (!Array.isArray(given) || given.length === 0) throw new MalformedAnswer("The provider's answer has no choices.");
  const choices = answer.choices.map((choice, position) => wholeChoice(choice, position, frame));
  if (choices.length > 1 && denseIndexes(answer.choices))
    choices.forEach((choice, position) => (choice.json["index"] = answer.choices[position]!.index as number));
  const reported = strictUsage(answer.usage, answer["service_tier"]);
  const usage = reported ?? estimateWithTold(estimate(generatedBy(choices)), answer.usage, answer["service_tier"]);
  const body: Record<string, Json> = {
    id: answerId(answer.id, frame),
    object: "chat.completion",
    created: answerTime(answer.created, frame.nowSeconds),
    model: frame.model,
    route: frame.route,
    choices: choices.map((choice) => choice.json),
    usage,
  };
  for (const name in answer) if (isVendorField(name, answer[name])) body[name] = answer[name]!;
  body["x_gateway_trace_id"] = frame.traceId;
  const finishReasons = choices.map((choice) => choice.finishReason);
  return {
    body,
    finishReasons,
    nativeFinishReasons: answer.choices.flatMap((choice) =>
      typeof choice.native_finish_reason === "string" ? [choice.native_finish_reason] : [],
    ),
    usage,
    usageEstimated: reported === null,
    isEmpty: choices.every(isWithoutContent) && isNothing(finishReasons, reported),
  };
}

/**
 * Whether an answer without content is empty (promise 7.1): it ended normally, and the provider reported no generated
 * tokens.
 */
export function isNothing(finishReasons: readonly (FinishReason | null)[], reported: Usage | null): boolean {
  return finishReasons.every((reason) => reason === "stop") && (reported === null || reported.completion_tokens === 0);
}

function isNothingAtAll(value: Json | undefined): boolean {
  return value === null || value === "" || (Array.isArray(value) && value.length === 0);
}

function isWithoutContent({ message }: WholeChoice): boolean {
  for (const name in message) if (name !== "role" && !isNothingAtAll(message[name])) return false;
  return true;
}

/** A longer text is not used as an id, because every event of a stream begins with it. */
const MAX_ID = 256;

export function answerId(
  id: Json | undefined,
  { traceId, isRepeated }: Pick<AnswerFrame, "traceId" | "isRepeated">,
): string {
  return typeof id === "string" && id !== "" && id.length <= MAX_ID && !isRepeated ? id : `chatcmpl-${traceId}`;
}

/** Returns Unix seconds; some vendors send milliseconds, fractions or nothing. */
export function answerTime(created: Json | undefined, nowSeconds: number): number {
  if (typeof created !== "number" || !(created > 0)) return nowSeconds;
  return Math.floor(created > 1e11 ? created / 1000 : created);
}

function denseIndexes(choices: readonly AnswerChoice[]): boolean {
  const seen = new Set<unknown>(choices.map((choice) => choice.index));
  return seen.size === choices.length && choices.every((_, position) => seen.has(position));
}

type WholeChoice = ReturnType<typeof wholeChoice>;

function generatedBy(choices: readonly WholeChoice[]): TokenTally {
  const generated = newTally();
  for (const { message, calls } of choices) {
    for (const text of [message["content"], message["refusal"], message["reasoning_content"]])
      if (typeof text === "string") tally(generated, text);
    for (const call of calls)
      if (call.function !== undefined) tally(generated, call.function.name + call.function.arguments);
  }
  return generated;
}

function wholeChoice(choice: AnswerChoice, position: number, frame: AnswerFrame) {
  const source: JsonObject = isObject(choice.message) ? choice.message : {};
  const message: Record<string, Json> = {
    role: "assistant",
    content: typeof source["content"] === "string" ? source["content"] : null,
    refusal: typeof source["refusal"] === "string" ? source["refusal"] : null,
  };
  for (const name in source) {
    const value = source[name];
    if (value === null || value === undefined || name in message || name === "tool_calls") continue;
    if (name === "annotations") {
      const annotations = strictAnnotations(value);
      if (annotations !== null) message[name] = annotations;
    } else if (name !== "reasoning_content" || value !== "") message[name] = value;
  }
  const calls = namedCalls(wholeCalls(source["tool_calls"], frame, position), choice.finish_reason);
  if (calls.length > 0) {
    if (frame.legacyFunctions) message["function_call"] = asFunctionCall(calls)!;
    else message["tool_calls"] = frame.firstCallAlone === true ? calls.slice(0, 1) : calls;
  }
  // an answer whose transport ended as it should is complete, even if the server names no finish reason
  const finishReason = strictFinishReason(
    isFinishReason(choice.finish_reason) ? choice.finish_reason : unsaidFinish(calls.length > 0),
    calls.length > 0,
    frame.sameShape,
    frame.legacyFunctions,
  );
  const json: Record<string, Json> = {
    index: position,
    message: withOrderOf(message, source),
    logprobs: strictLogprobs(choice.logprobs),
    finish_reason: finishReason,
  };
  for (const name in choice)
    if (!(name in json) && choice[name] !== null && choice[name] !== undefined) json[name] = choice[name]!;
  return { json, message, calls, finishReason };
}

/** Some servers send calls in which nothing stands. */
function saysAnything({ id, function: called, type }: JsonObject): boolean {
  return (
    (typeof id === "string" && id !== "") ||
    (typeof type === "string" && type !== "function") ||
    (isObject(called) && Object.values(called).some((member) => member !== "" && member !== null))
  );
}

/**
 * Leaves out a call whose name was cut off at the answer's bound. Throws MalformedAnswer for
 * any other call without a name, as streams do.
 */
function namedCalls(calls: readonly ToolCall[], finish: Json | undefined): readonly ToolCall[] {
  if (!calls.some(isNameless)) return calls;
  if (finish !== "length") throw new MalformedAnswer(NAMELESS_CALL);
  return calls.filter((call) => !isNameless(call));
}

function isNameless({ type, function: called, custom }: ToolCall): boolean {
  return type === "function" ? called.name === "" : type === ANY_TEXT && isObject(custom) && custom["name"] === "";
}

function wholeCalls(value: Json | undefined, frame: AnswerFrame, position: number): readonly ToolCall[] {
  if (!Array.isArray(value)) return [];
  const ids = new Set<string>();
  return (value as readonly Json[])
    .filter(isObject)
    .filter(saysAnything)
    .map((call, index) => {
      // the ids stay as the provider wrote them; what another provider requires of ids is handled when a request is sent
      // there
      const made =
        typeof call["id"] === "string" && call["id"] !== ""
          ? call["id"]
          : `call_${frame.traceId.slice(TRACE_TIME_DIGITS)}_${position}_${index}`;
      let id = made;
      while (ids.has(id)) id += `_${index}`;
      ids.add(id);
      const { index: _index, ...rest } = call;
      if (typeof call["type"] === "string" && call["type"] !== "function" && isObject(call[call["type"]]))
        return { ...rest, id } as unknown as ToolCall;
      const called = isObject(call["function"]) ? call["function"] : {};
      const text = called["arguments"];
      return {
        ...rest,
        id,
        type: "function",
        function: {
          ...called,
          name: typeof called["name"] === "string" ? called["name"] : "",
          arguments:
            typeof text === "string" ? text : text === null || text === undefined ? "{}" : JSON.stringify(text),
        },
      };
    });
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
