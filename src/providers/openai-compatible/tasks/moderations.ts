// Moderations as their vendors serve them, whose categories are the vendors' own:
// https://platform.openai.com/docs/api-reference/moderations, https://docs.mistral.ai/api/endpoint/classifiers
import type { ChatRequest, Message } from "../../../core/chat.ts";
import type { GuardServiceOptions } from "../../../core/configured/outside-guard.ts";
import { isObject, type Json, type JsonObject } from "../../../core/json.ts";
import type { Target } from "../../../core/target.ts";
import type { TaskForm, Tasks } from "../../interface/task-form.ts";
import { MalformedAnswer, StreamError } from "../../interface/upstream-failure.ts";
import { jsonRequest, labelOf, NonsenseAnswer, type ProviderForm } from "../../interface/judging-form.ts";
import { parseSentObject } from "../../answers/sent-json.ts";
import { taskMemoOf, taskRequest } from "../../tasks/task.ts";
import type { ErrorClassifier } from "../errors.ts";
import type { ModerationRow } from "./task-rows.ts";

interface ModerationProvider {
  readonly row: ModerationRow;
  readonly base: (target: Target) => string;
  readonly errors: ErrorClassifier;
}

export function compatibleModerations({ row, base, errors }: ModerationProvider): NonNullable<Tasks["moderations"]> {
  const form: TaskForm<JsonObject> = {
    docs: row.docs,
    mostInputs: Number.POSITIVE_INFINITY,
    takes: new Set(),
    encode(request: ChatRequest, target: Target) {
      const inputs = request.messages.map(inputOf);
      const { isSingle } = taskMemoOf(request);
      // the parts of one message are the whole list
      const input = isSingle ? inputs[0]! : inputs;
      const body: JsonObject = { model: target.model, input };
      return {
        request: taskRequest(`${base(target)}/moderations`, body, request, target, new Set()),
        memo: { inputs: inputs.length, isSingle } satisfies ModerationMemo,
      };
    },
    decode(body, context) {
      const answer = parseSentObject(body, "answer");
      if (errors.isError(answer)) throw new StreamError(errors.classifyParsed(200, answer, body));
      requireResults(answer["results"], context.memo as ModerationMemo);
      return { values: [answer], tokens: null, model: answer["model"] };
    },
  };
  return () => form;
}

interface ModerationMemo {
  readonly inputs: number;
  /** One text, or a list of parts that are judged together. */
  readonly isSingle: boolean;
}

/** A client that looks for flagged results would take a text without a result for a harmless one. Throws MalformedAnswer. */
function requireResults(results: Json | undefined, { inputs, isSingle }: ModerationMemo): void {
  if (!Array.isArray(results)) throw new MalformedAnswer("The provider's answer has no list of results.");
  const isWhole = isSingle ? results.length > 0 : results.length === inputs;
  if (!isWhole || !(results as readonly Json[]).every(isObject))
    throw new MalformedAnswer("The provider's answer does not have a result for each text.");
}

/** The same for guards, which may ask about several texts at once. */
export function compatibleJudging({ row, base }: Pick<ModerationProvider, "row" | "base">): ProviderForm {
  return {
    docs: row.docs,
    maxTexts: 100,
    maxCharacters: 100_000,
    encode: ({ texts }, target) =>
      jsonRequest(`${base(target)}/moderations`, target.headers, { model: target.model, input: texts }),
    decode(answer, texts, options) {
      const results = isObject(answer) ? answer["results"] : undefined;
      if (!Array.isArray(results) || results.length !== texts.length)
        throw new NonsenseAnswer("has no list with a result for each text");
      return (results as readonly Json[]).flatMap((result, text) =>
        categoriesFound(result, options).map((label) => ({ text, span: null, label })),
      );
    },
  };
}

/** By the vendor's own verdict, or by the scores where a threshold is set. */
function categoriesFound(result: Json, { entities, scoreThreshold }: GuardServiceOptions): readonly string[] {
  const { flagged, categories, category_scores: scores } = isObject(result) ? result : {};
  const judged = scoreThreshold === null ? categories : scores;
  if (!isObject(judged)) throw new NonsenseAnswer("has a result without categories");
  const found = Object.entries(judged).flatMap(([name, value]) => {
    const isFound = typeof value === "number" && scoreThreshold !== null ? value >= scoreThreshold : value === true;
    return isFound && (entities.length === 0 || entities.includes(name)) ? [labelOf(name)] : [];
  });
  const isFlaggedAlone = flagged === true && found.length === 0 && entities.length === 0 && scoreThreshold === null;
  return isFlaggedAlone ? ["flagged"] : found;
}

function inputOf({ content }: Message): Json {
  return content ?? "";
}
