// Joins the non-streaming answers of one attempt, one for each upstream request, into the body that the client receives
// (see fan-out.ts for when there are several).
import type { TokenTally } from "../../accounting/estimate.ts";
import { summedUsage } from "../../accounting/summed-usage.ts";
import type { ChatAnswer, Usage } from "../../core/chat.ts";
import {
  type AnswerFigures,
  type AnswerFrame,
  nonStreamingAnswer,
  type NonStreamingAnswer,
} from "./non-streaming-answer.ts";

export interface JoinedFigures extends AnswerFigures {
  /** The usage of each upstream request. */
  readonly parts: readonly { readonly usage: Usage; readonly isEstimated: boolean }[];
}

/** `estimate` is called for the usage of each answer that came without figures. Throws MalformedAnswer. */
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
